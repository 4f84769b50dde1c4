"""Which chunks answer a question best: BM25 by default, an embedding model where one is named.

Invariant: a chunk that shares nothing with the question is no hit; among equal scores the earlier chunk comes first.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from judgelab.errors import UsageError
from judgelab.text import tokens

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_LENGTH = 256  # tokens an embedder reads of a text
_BATCH = 32


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
    """Cosine similarity of mean-pooled embeddings of a transformers model, on one thread of this process."""

    def __init__(self, texts: Sequence[str], model: str) -> None:
        self._encoder = _Encoder(model)
        self._vectors = self._encoder.encode(texts)

    def best(self, question: str, k: int) -> list[int]:
        """The nearest texts; every text is near to some degree."""
        if not len(self._vectors):
            return []
        scores = self._vectors @ self._encoder.encode([question])[0]
        return sorted(range(len(scores)), key=lambda n: (-scores[n], n))[:k]


class _Encoder:
    def __init__(self, model: str) -> None:
        from judgelab.engines.compat import shield_companions

        shield_companions()
        import torch
        from transformers import AutoModel, AutoTokenizer

        if not Path(model).is_dir():
            raise UsageError(
                f"protocol.embedder={model}: no local directory (jobs never download: fetch the model first and name "
                "its folder)"
            )
        self._torch = torch
        self._tokenizer = AutoTokenizer.from_pretrained(model, local_files_only=True)
        if self._tokenizer.pad_token is None:
            self._tokenizer.pad_token = self._tokenizer.eos_token
        self._model = AutoModel.from_pretrained(model, local_files_only=True, dtype=torch.float32).eval()

    def encode(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """One unit vector a text."""
        import numpy as np

        out = []
        for start in range(0, len(texts), _BATCH):
            batch = self._tokenizer(
                list(texts[start : start + _BATCH]),
                padding=True,
                truncation=True,
                max_length=_LENGTH,
                return_tensors="pt",
            )
            with self._torch.inference_mode():
                states = self._model(**batch).last_hidden_state
            mask = batch["attention_mask"].unsqueeze(-1)
            mean = (states * mask).sum(1) / mask.sum(1)
            out.append(self._torch.nn.functional.normalize(mean, dim=1).numpy())
        return np.concatenate(out) if out else np.zeros((0, 1), dtype=np.float32)
