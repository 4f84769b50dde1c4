"""Every search passes here: answered from the evidence store where it may be, else by the engine, and then kept.

Invariant: what is asked several times at once is asked once; a failure is never kept; a replay asks nobody, and what
it misses is an error.
"""

from __future__ import annotations

import importlib.metadata
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from judgelab.errors import JudgelabError
from judgelab.once import Once
from judgelab.search.base import Search, SearchRequest, SearchResponse, Status, evidence_key, plain_query
from judgelab.search.evidence import Evidence
from judgelab.search.store import EvidenceStore, older
from judgelab.settings.search import SearchMode
from judgelab.text import normalise

EMPTY_DAYS = 7  # after so many days replay_or_live asks again what found nothing
_PACKAGES = {"duckduckgo": "ddgs", "bm25": "bm25s"}


class RecordedSearch:
    """`inner` with a memory. Without an inner engine it replays the evidence of `identity` alone."""

    def __init__(
        self,
        inner: Search | None,
        store: EvidenceStore,
        mode: SearchMode,
        identity: Mapping[str, Any] | None = None,
    ) -> None:
        if inner is None and (mode is not SearchMode.replay or identity is None):
            raise ValueError("without an engine there is only the replay of one that is named")
        self._inner = inner
        self._store = store
        self._mode = mode
        self._identity = dict(inner.identity if inner is not None else identity or {})
        self._once: Once[SearchResponse] = Once()
        self._own: set[str] = set()  # keys that this launch asked and kept
        self._tally: Counter[str] = Counter()
        self._failed: Counter[str] = Counter()
        self._dates: list[str] = []  # at most oldest and newest

    @property
    def identity(self) -> Mapping[str, Any]:
        """That of the engine whose evidence it is, so keys are the same live and in replay."""
        return self._identity

    async def query(self, request: SearchRequest) -> SearchResponse:
        """Answer one request; JudgelabError where a replay has no answer."""
        request = replace(request, query=plain_query(request.query))
        if not request.query:
            now = datetime.now(UTC).isoformat(timespec="seconds")
            return SearchResponse(Status.EMPTY, (), self._store.engine, now, "the query is empty")
        key = evidence_key(self._identity, request)
        return self._counted(await self._once.run(key, lambda: self._answer(key, request)))

    def counts(self) -> Mapping[str, Any]:
        """For the manifest: queries of this launch, those the engine was asked and the others, those that found
        nothing or failed (by status), and the dates (UTC) of the oldest and newest evidence used."""
        return {
            "engine": self._store.engine,
            "mode": self._mode.value,
            "queries": self._tally["queries"],
            "made": self._tally["made"],
            "replayed": self._tally["queries"] - self._tally["made"],
            "empty": self._tally["empty"],
            "failed": dict(sorted(self._failed.items())),
            "oldest": self._dates[0] if self._dates else None,
            "newest": self._dates[-1] if self._dates else None,
        }

    async def close(self) -> None:
        """Give up what is under way, close the engine, then the store."""
        await self._once.close()
        try:
            if self._inner is not None:
                await self._inner.close()
        finally:
            self._store.close()

    async def _answer(self, key: str, request: SearchRequest) -> SearchResponse:
        if (known := self._known(key)) is not None:
            return known
        if self._inner is None or self._mode is SearchMode.replay:
            raise JudgelabError(
                f"no recorded evidence of {self._store.engine} for the query {request.query[:200]!r} (k={request.k}): "
                "record it with search.mode=record or search.mode=replay_or_live, take it from a file with "
                "`judgelab search import FILE`, or name another engine's with search.recorded=NAME"
            )
        asked = time.monotonic()
        answer = await self._inner.query(request)
        self._tally["made"] += 1
        answer = replace(_without(answer, request.hidden), seconds=round(time.monotonic() - asked, 3))
        if answer.status.answered and self._mode is not SearchMode.live:
            self._store.put(Evidence(key, self._identity, request, answer, _package(self._store.engine)))
            self._own.add(key)
        return answer

    def _known(self, key: str) -> SearchResponse | None:
        match self._mode:
            case SearchMode.live:
                return None
            case SearchMode.record:
                return self._store.get(key) if key in self._own else None
            case SearchMode.replay:
                return self._store.get(key)
            case SearchMode.replay_or_live:
                known = self._store.get(key)
                stale = known is not None and known.status is Status.EMPTY and older(known, EMPTY_DAYS)
                return None if stale else known

    def _counted(self, answer: SearchResponse) -> SearchResponse:
        self._tally["queries"] += 1
        if answer.status.answered:
            self._tally["empty"] += answer.status is Status.EMPTY
            self._dates = sorted({*self._dates, answer.fetched_at})
            self._dates = [self._dates[0], self._dates[-1]]
        else:
            self._failed[answer.status.value] += 1
        return answer


def _without(answer: SearchResponse, hidden: tuple[str, ...]) -> SearchResponse:
    """The answer without the results whose text is hidden: engines of the web cannot be told of them."""
    unwanted = {normalise(text) for text in hidden}
    kept = [result for result in answer.results if normalise(result.text) not in unwanted]
    if len(kept) == len(answer.results):
        return answer
    results = tuple(replace(result, rank=rank) for rank, result in enumerate(kept, 1))
    return replace(answer, status=Status.OK if results else Status.EMPTY, results=results)


def _package(engine: str) -> str:
    name = _PACKAGES.get(engine, "judgelab")
    try:
        return f"{name} {importlib.metadata.version(name)}"
    except importlib.metadata.PackageNotFoundError:
        return name
