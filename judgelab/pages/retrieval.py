"""Which chunks answer a question best: BM25 by default, an embedding model where one is named.

Invariant: a chunk that shares nothing with the question is no hit; among equal scores the earlier chunk comes first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from judgelab.pages.encoder import Encoder
from judgelab.text import tokens


class Ranking(Protocol):
    """A set of texts that can be searched."""

    def best(self, question: str, k: int) -> list[int]:
        """Indices of at most `k` texts, best first."""
        ...


class Bm25:
    """BM25 (Lucene's variant, by bm25s) over tokens of any script."""

    def __init__(self, texts: Sequence[str]) -> None:
        import bm25s

        self._size = len(texts)
        corpus = [list(tokens(text)) or [" "] for text in texts]
        self._index = bm25s.BM25()
        if corpus:
            self._index.index(corpus, show_progress=False)

    def best(self, question: str, k: int) -> list[int]:
        """Texts that share a token with the question."""
        asked = (
            [word for word in dict.fromkeys(tokens(question)) if word in self._index.vocab_dict] if self._size else []
        )
        if not asked:
            return []
        scores = self._index.get_scores(asked)
        ranked = sorted(range(self._size), key=lambda n: (-scores[n], n))[:k]
        return [n for n in ranked if scores[n] > 0]


class Embedded:
    """Cosine similarity of an encoder's vectors."""

    def __init__(self, texts: Sequence[str], encoder: Encoder) -> None:
        self._encoder = encoder
        self._vectors = encoder.encode(texts)

    def best(self, question: str, k: int) -> list[int]:
        """The nearest texts; every text is near to some degree."""
        if not len(self._vectors):
            return []
        scores = self._vectors @ self._encoder.encode([question])[0]
        return sorted(range(len(scores)), key=lambda n: (-scores[n], n))[:k]
