"""One answered search as it is kept and shared.

Invariant: a row's key is made of what the row holds, so a row that was changed by hand is found out when it is read
from a stranger's file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from judgelab.search.base import Result, SearchRequest, SearchResponse, Status, evidence_key

_ENGINE = re.compile("[a-z][a-z0-9_]{0,40}")  # names a folder
_FIELDS = ("key", "engine", "identity", "request", "status", "results", "fetched_at", "seconds", "package")


@dataclass(frozen=True)
class Evidence:
    """What engine of `identity` answered to `request`; `package` is the software that asked, with its version."""

    key: str
    identity: Mapping[str, Any]
    request: SearchRequest
    response: SearchResponse
    package: str

    def row(self) -> dict[str, Any]:
        """As plain JSON values."""
        response = self.response
        return {
            "key": self.key,
            "engine": response.engine,
            "identity": dict(self.identity),
            "request": {"query": self.request.query, "k": self.request.k, "hidden": list(self.request.hidden)},
            "status": response.status.value,
            "results": [asdict(each) for each in response.results],
            "fetched_at": response.fetched_at,
            "seconds": response.seconds,
            "package": self.package,
        }


def read_row(row: Mapping[str, Any]) -> Evidence:
    """A row as evidence; ValueError naming the field that is not as `Evidence.row` writes it."""
    for name in _FIELDS:
        if name not in row:
            raise ValueError(f"{name}: missing")
    field = "identity"
    try:
        identity = dict(row["identity"])
        field = "request"
        asked = row["request"]
        request = SearchRequest(_text(asked["query"]), int(asked["k"]), tuple(_text(t) for t in asked["hidden"]))
        field = "status"
        status = Status(row["status"])
        field = "results"
        results = tuple(_result(each, rank) for rank, each in enumerate(row["results"], 1))
        field = "fetched_at"
        if datetime.fromisoformat(_text(row["fetched_at"])).tzinfo is None:
            raise ValueError
        field = "seconds"
        seconds = float(row["seconds"])
        field = "engine"
        engine = _text(row["engine"])
        field = "package"
        package = _text(row["package"])
    except (LookupError, TypeError, ValueError, AttributeError):
        raise ValueError(f"{field}: not as this program writes it") from None
    if not _ENGINE.fullmatch(engine) or identity.get("engine") != engine:
        raise ValueError("engine: not the one that identity names")
    if not status.answered or (status is Status.OK) != bool(results):
        raise ValueError("status: does not fit the results")
    if row["key"] != evidence_key(identity, request):
        raise ValueError("key: is not that of identity and request")
    response = SearchResponse(status, results, engine, row["fetched_at"], "", seconds, recorded=True)
    return Evidence(row["key"], identity, request, response, package)


def _result(value: Mapping[str, Any], rank: int) -> Result:
    if value["rank"] != rank:
        raise ValueError
    date = value["date"]
    return Result(
        rank, _text(value["title"]), _text(value["text"]), _text(value["url"]), None if date is None else _text(date)
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value
