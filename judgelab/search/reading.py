"""Search that reads the pages it finds: the best passage of a page in the place of the engine's snippet.

Invariant: a page that cannot be had or says nothing about the query leaves its result as the engine gave it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from judgelab.pages.fetch import FetchedPage
from judgelab.pages.retrieval import Bm25
from judgelab.pages.status import PageStatus
from judgelab.search.base import Result, Search, SearchRequest, SearchResponse

VERSION = 1


class Pages(Protocol):
    """Where pages come from (`pages.fetch.PageFetcher`)."""

    async def fetch(self, url: str) -> FetchedPage:
        """The page at `url`, or why there is none."""
        ...

    async def close(self) -> None:
        """Release everything."""
        ...


class ReadingSearch:
    """`inner` with the results' texts read from `pages`: of the chunks that `cut` makes of a page, the best by BM25.

    `cutting` says how chunks are made; it is part of the identity.
    """

    def __init__(
        self, inner: Search, pages: Pages, cut: Callable[[str], Sequence[str]], cutting: Mapping[str, Any]
    ) -> None:
        self._inner = inner
        self._pages = pages
        self._cut = cut
        self._cutting = dict(cutting)

    @property
    def identity(self) -> Mapping[str, Any]:
        """That of the engine, and that and how pages are read."""
        return {**self._inner.identity, "pages": {**self._cutting, "version": VERSION}}

    async def query(self, request: SearchRequest) -> SearchResponse:
        """Answer one request; the pages of its results are fetched together."""
        answer = await self._inner.query(request)
        results = await asyncio.gather(*(self._read(result, request.query) for result in answer.results))
        return replace(answer, results=tuple(results))

    async def close(self) -> None:
        """Close the engine and the pages."""
        try:
            await self._inner.close()
        finally:
            await self._pages.close()

    async def _read(self, result: Result, query: str) -> Result:
        page = await self._pages.fetch(result.url)
        if page.status is not PageStatus.OK:
            return result
        best = await asyncio.to_thread(self._best, page.text, query)
        return replace(result, title=result.title or page.title, text=best) if best else result

    def _best(self, text: str, query: str) -> str | None:
        chunks = self._cut(text)
        return next((chunks[number] for number in Bm25(chunks).best(query, 1)), None)
