"""A SearXNG server of one's own, which asks several engines and merges their results.

Invariant: a server whose engines were all refused has not found nothing; it has failed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from judgelab.search.base import Result, SearchRequest, SearchResponse, Status
from judgelab.search.hits import clamp, hit
from judgelab.search.http import JsonClient, Refused
from judgelab.settings.search import SearchConfig

VERSION = 1
MAX_CHARS = 1000
_RANGES = {"d": "day", "w": "week", "m": "month", "y": "year"}


class Searxng:
    """`GET /search?format=json` at `url`, the first page of results."""

    def __init__(self, settings: SearchConfig, url: str, pause: float = 1.0) -> None:
        self._settings = settings
        self._url = url.rstrip("/")
        self._client = JsonClient(settings, pause)

    @property
    def identity(self) -> Mapping[str, Any]:
        """Engine, server (each merges engines of its own), region and time limit."""
        return {
            "engine": "searxng",
            "url": self._url,
            "region": self._settings.region,
            "timelimit": self._settings.timelimit,
            "version": VERSION,
        }

    async def query(self, request: SearchRequest) -> SearchResponse:
        """Answer one request."""
        country, _, language = self._settings.region.partition("-")
        params = {"q": clamp(request.query, MAX_CHARS), "format": "json"}
        if language:
            params["language"] = f"{language}-{country.upper()}"
        if self._settings.timelimit:
            params["time_range"] = _RANGES[self._settings.timelimit]
        answer = await self._client.search("searxng", _results, request.k, "GET", f"{self._url}/search", params=params)
        if answer.status is Status.BLOCKED:
            hint = "; the server must list json under search.formats in its settings.yml"
            return replace(answer, detail=answer.detail + hint)
        return answer

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()


def _results(data: Any) -> Iterable[Result]:
    found = data["results"]
    if not found and (silent := data.get("unresponsive_engines")):
        reasons = " ".join(str(reason).casefold() for _, reason, *_ in silent)
        raise Refused(_why(reasons), "no engine of the server answered (see its own log)")
    for each in found:
        yield hit(each.get("title"), each.get("content"), each["url"], each.get("publishedDate"))


def _why(reasons: str) -> Status:
    if any(word in reasons for word in ("too many", "captcha", "suspended")):
        return Status.RATE_LIMITED
    if "denied" in reasons:
        return Status.BLOCKED
    return Status.TIMEOUT if "timeout" in reasons else Status.BROKEN
