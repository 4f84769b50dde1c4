"""BM25 over texts of one's own: the same evidence for every judge, without a network.

Invariant: a passage is a result only if it shares a word with the query, and never if its text is hidden.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from judgelab.records import content_hash
from judgelab.search.base import Result, SearchRequest, SearchResponse, Status
from judgelab.text import normalise, tokens

if TYPE_CHECKING:
    from bm25s import BM25

VERSION = 1
K1, B = 1.5, 0.75


class Passage(Protocol):
    """A text to be found."""

    @property
    def title(self) -> str:
        """What it is from; searched with the text."""
        ...

    @property
    def text(self) -> str:
        """What a judge will read."""
        ...

    @property
    def url(self) -> str:
        """Where it stands, or nothing."""
        ...


@dataclass(frozen=True)
class _Index:
    """`numbers` gives the passages of each normalised text."""

    ranker: BM25
    numbers: Mapping[str, Sequence[int]]


class Bm25:
    """Ranks `passages` by the Lucene form of BM25 (k1 1.5, b .75); of passages with one text the first is kept.

    Words are those of `text.tokens`, so scripts without spaces are searched by character. The index is built by the
    first query (about 4 s for 10,000 passages of 100 words).
    """

    def __init__(self, passages: Iterable[Passage]) -> None:
        first: dict[str, Passage] = {}
        for passage in passages:
            if passage.text.strip():
                first.setdefault(passage.text, passage)
        self._passages = tuple(first.values())
        self._lock = asyncio.Lock()
        self._index: _Index | None = None

    @cached_property
    def identity(self) -> Mapping[str, Any]:
        """Engine, its two constants and the hash of the texts."""
        texts = [[each.title, each.text, each.url] for each in self._passages]
        return {"engine": "bm25", "k1": K1, "b": B, "corpus": content_hash(texts), "version": VERSION}

    async def query(self, request: SearchRequest) -> SearchResponse:
        """Answer one request; of equal scores the earlier passage comes first."""
        asked = time.monotonic()
        async with self._lock:
            if self._index is None and self._passages:
                self._index = await asyncio.to_thread(self._build)
        numbers = await asyncio.to_thread(self._best, self._index, request) if self._index is not None else []
        found = (self._passages[number] for number in numbers)
        results = tuple(Result(rank, each.title, each.text, each.url) for rank, each in enumerate(found, 1))
        return SearchResponse(
            Status.OK if results else Status.EMPTY,
            results,
            "bm25",
            datetime.now(UTC).isoformat(timespec="seconds"),
            seconds=round(time.monotonic() - asked, 3),
        )

    async def close(self) -> None:
        """Drop the index."""
        self._index = None

    def _build(self) -> _Index:
        import bm25s

        ranker = bm25s.BM25(k1=K1, b=B, method="lucene", backend="numpy")
        words = [list(tokens(f"{each.title} {each.text}")) for each in self._passages]
        ranker.index(words, show_progress=False)
        numbers: dict[str, list[int]] = {}
        for number, each in enumerate(self._passages):
            numbers.setdefault(normalise(each.text), []).append(number)
        return _Index(ranker, numbers)

    def _best(self, index: _Index, request: SearchRequest) -> list[int]:
        import numpy as np

        words = [word for word in tokens(request.query) if word in index.ranker.vocab_dict]
        if not words or request.k < 1:
            return []
        scores = index.ranker.get_scores(words)
        for text in request.hidden:
            scores[list(index.numbers.get(normalise(text), ()))] = 0.0
        k = min(request.k, len(scores))
        least = np.partition(scores, -k)[-k]
        candidates = np.flatnonzero(scores >= max(least, np.finfo(scores.dtype).tiny))
        order = np.lexsort((candidates, -scores[candidates]))
        return [int(number) for number in candidates[order][:k]]
