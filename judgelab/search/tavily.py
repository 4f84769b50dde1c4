"""Tavily, over plain HTTP: the library would bring retries and logs of its own.

Invariant: the engine searches and does not answer; its own summary of the results is never asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from judgelab.search.base import Result, SearchRequest, SearchResponse
from judgelab.search.hits import clamp, hit
from judgelab.search.http import JsonClient
from judgelab.settings.search import SearchConfig

VERSION = 1
MAX_CHARS, MAX_COUNT = 400, 20
_RANGES = {"d": "day", "w": "week", "m": "month", "y": "year"}


class Tavily:
    """`POST /search`, of basic depth. The region does not apply: the engine knows countries by name alone."""

    def __init__(
        self, settings: SearchConfig, key: str, base: str = "https://api.tavily.com", pause: float = 1.0
    ) -> None:
        self._settings = settings
        self._key = key
        self._url = f"{base}/search"
        self._client = JsonClient(settings, pause)

    @property
    def identity(self) -> Mapping[str, Any]:
        """Engine and time limit."""
        return {"engine": "tavily", "timelimit": self._settings.timelimit, "version": VERSION}

    async def query(self, request: SearchRequest) -> SearchResponse:
        """Answer one request."""
        body: dict[str, Any] = {
            "query": clamp(request.query, MAX_CHARS),
            "max_results": min(request.k, MAX_COUNT),
            "search_depth": "basic",
            "topic": "general",
            "include_answer": False,
        }
        if self._settings.timelimit:
            body["time_range"] = _RANGES[self._settings.timelimit]
        headers = {"Authorization": f"Bearer {self._key}"}
        return await self._client.search("tavily", _results, request.k, "POST", self._url, json=body, headers=headers)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()


def _results(data: Any) -> Iterable[Result]:
    for each in data["results"]:
        yield hit(each.get("title"), each.get("content"), each["url"], each.get("published_date"))
