"""The pages behind the items of a data set, searched for the chunks that bear on a question.

Invariant: what is found for an item depends on its pages (or, with pool=all, on those of the whole set) and the
settings, never on which items are judged or in what order.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from judgelab.errors import UsageError
from judgelab.items import NuggetItem, Page
from judgelab.pages.chunks import chunks
from judgelab.pages.encoder import Encoder
from judgelab.pages.fetch import PageFetcher
from judgelab.pages.retrieval import Bm25, Embedded, Ranking
from judgelab.pages.status import PageStatus
from judgelab.protocols.nuggets import Shelf
from judgelab.settings import ChunkPool, NuggetsConfig, Retriever

SHORTEST = 100  # bytes of text a page must have to be of use
_KEPT = 256  # page sets whose ranking is kept: items of one topic share theirs


class _Ranked(NamedTuple):
    """A set of chunks and what searches it."""

    ranking: Ranking
    chunks: list[str]


class Library:
    """Chunks of the pages of `items`, ranked by question; pages without text are fetched."""

    def __init__(self, settings: NuggetsConfig, items: Sequence[NuggetItem], fetcher: PageFetcher) -> None:
        self._encoder: Encoder | None = None
        if settings.retriever is Retriever.embedding:
            if settings.embedder is None:
                raise UsageError("protocol.retriever=embedding needs protocol.embedder=DIR, the folder of a model")
            self._encoder = Encoder(settings.embedder)
        self._settings = settings
        self._items = items
        self._fetcher = fetcher
        self._texts: dict[str, asyncio.Task[tuple[str | None, str]]] = {}
        self._ranked = lru_cache(maxsize=_KEPT)(self._rank)
        self._pool: asyncio.Task[_Ranked] | None = None

    @property
    def identity(self) -> tuple[str, ...]:
        """What beside the settings decides which chunks are found: the embedder's weights, by content."""
        return () if self._encoder is None else (self._encoder.identity,)

    async def chunks(self, item: NuggetItem) -> Shelf:
        """The best chunks for the item's question, and what became of its own pages."""
        found = [await self._read(page) for page in item.pages]
        counts = Counter(status for _, status in found)
        if self._settings.pool is ChunkPool.all:
            ranking, parts = await self._all()
        else:
            texts = dict.fromkeys(text for text, _ in found if text is not None)
            ranking, parts = await asyncio.to_thread(self._ranked, tuple(texts))
        question = " ".join(item.question.split())
        best = await asyncio.to_thread(ranking.best, question, self._settings.chunks)
        return Shelf(tuple(parts[n] for n in best), dict(sorted(counts.items())))

    async def _all(self) -> _Ranked:
        if self._pool is None:
            self._pool = asyncio.ensure_future(self._rank_all())
        return await asyncio.shield(self._pool)

    async def _rank_all(self) -> _Ranked:
        pages = {(page.url, page.text): page for item in self._items for page in item.pages}
        found = await asyncio.gather(*(self._read(page) for page in pages.values()))
        texts = dict.fromkeys(text for text, _ in found if text is not None)
        return await asyncio.to_thread(self._rank, tuple(texts))

    async def _read(self, page: Page) -> tuple[str | None, str]:
        """The text of a page if it can be used, and its status."""
        if page.text is not None:
            usable = len(page.text.encode(errors="replace")) >= SHORTEST
            return (page.text, "used") if usable else (None, "too_short")
        if page.url not in self._texts:
            self._texts[page.url] = asyncio.ensure_future(self._fetch(page.url))
        return await asyncio.shield(self._texts[page.url])

    async def _fetch(self, url: str) -> tuple[str | None, str]:
        fetched = await self._fetcher.fetch(url)
        return (fetched.text, "used") if fetched.status is PageStatus.OK else (None, str(fetched.status))

    def _rank(self, texts: tuple[str, ...]) -> _Ranked:
        settings = self._settings
        parts = [part for text in texts for part in chunks(text, settings.chunk_sentences, settings.chunk_overlap)]
        return _Ranked(Bm25(parts) if self._encoder is None else Embedded(parts, self._encoder), parts)
