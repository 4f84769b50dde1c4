"""The one door to search: a frozen request in, a response with a status out.

Invariant: a response is evidence only if its status is `ok`; whatever went wrong is a status of a closed set, never
an empty list that looks like an answer.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from judgelab.records import content_hash


class Status(StrEnum):
    """How a search ended. `EMPTY`: the engine worked and found nothing."""

    OK = "ok"
    EMPTY = "empty"
    BLOCKED = "blocked"  # refused: key missing or wrong, forbidden, a page for humans instead of data
    RATE_LIMITED = "rate_limited"  # refused for now, after all tries
    BROKEN = "broken"  # an error of the engine, or an answer nobody can read
    TIMEOUT = "timeout"
    UNREACHABLE = "unreachable"
    BUDGET = "budget"  # search.budget is used up

    @property
    def answered(self) -> bool:
        """Whether the engine gave an answer that may be kept."""
        return self in (Status.OK, Status.EMPTY)


@dataclass(frozen=True)
class SearchRequest:
    """A query for `k` results. `hidden` holds texts that must not be among them (the item's own gold paragraph)."""

    query: str
    k: int
    hidden: tuple[str, ...] = ()


@dataclass(frozen=True)
class Result:
    """One hit; `text` is a snippet or passage, `date` as the engine gave it."""

    rank: int
    title: str
    text: str
    url: str
    date: str | None = None


@dataclass(frozen=True)
class SearchResponse:
    """What came back, from which engine and when (UTC, to the second). `recorded` says that no search was made."""

    status: Status
    results: tuple[Result, ...]
    engine: str
    fetched_at: str
    detail: str = ""
    seconds: float = 0.0
    recorded: bool = False


class Search(Protocol):
    """What every engine offers. `query` raises nothing for one request's failure: that is a status.

    It raises `errors.JudgelabError` where the run cannot go on, as for a replay that misses a query.
    """

    @property
    def identity(self) -> Mapping[str, Any]:
        """Everything of the engine that changes results, as plain JSON values: part of every evidence key."""
        ...

    async def query(self, request: SearchRequest) -> SearchResponse:
        """Answer one request."""
        ...

    async def close(self) -> None:
        """Release everything; idempotent."""
        ...


def plain_query(query: str) -> str:
    """The query as engines are asked and evidence is kept: NFC, on one line, without spaces around."""
    return " ".join(unicodedata.normalize("NFC", query).split())


def evidence_key(identity: Mapping[str, Any], request: SearchRequest) -> str:
    """The key of the evidence store: sha256 over identity and request, 32 hex digits."""
    query = plain_query(request.query)
    return content_hash(
        {"identity": dict(identity), "query": query, "k": request.k, "hidden": list(request.hidden)}, 32
    )
