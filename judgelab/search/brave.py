"""Brave Search.

Invariant: a query is cut to what the engine takes (400 characters, 50 words) instead of being refused by it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from judgelab.search.base import Result, SearchRequest, SearchResponse
from judgelab.search.hits import clamp, hit
from judgelab.search.http import JsonClient
from judgelab.settings.search import SearchConfig

VERSION = 1
MAX_CHARS, MAX_WORDS, MAX_COUNT = 400, 50, 20


class Brave:
    """`GET /res/v1/web/search`."""

    def __init__(
        self, settings: SearchConfig, key: str, base: str = "https://api.search.brave.com", pause: float = 1.0
    ) -> None:
        self._settings = settings
        self._key = key
        self._url = f"{base}/res/v1/web/search"
        self._client = JsonClient(settings, pause)

    @property
    def identity(self) -> Mapping[str, Any]:
        """Engine, region and time limit."""
        return {
            "engine": "brave",
            "region": self._settings.region,
            "timelimit": self._settings.timelimit,
            "version": VERSION,
        }

    async def query(self, request: SearchRequest) -> SearchResponse:
        """Answer one request."""
        country, _, language = self._settings.region.partition("-")
        params: dict[str, Any] = {
            "q": clamp(request.query, MAX_CHARS, MAX_WORDS),
            "count": min(request.k, MAX_COUNT),
            "country": country.upper(),
            "text_decorations": "false",
        }
        if language:
            params["search_lang"] = language
        if self._settings.timelimit:
            params["freshness"] = f"p{self._settings.timelimit}"
        headers = {"X-Subscription-Token": self._key, "Accept": "application/json"}
        return await self._client.search("brave", _results, request.k, "GET", self._url, params=params, headers=headers)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()


def _results(data: Any) -> Iterable[Result]:
    if data["type"] != "search":
        raise ValueError("not the answer to a search")
    for each in (data.get("web") or {}).get("results") or ():  # without web results the answer has no such part
        yield hit(each.get("title"), each.get("description"), each["url"], each.get("page_age"))
