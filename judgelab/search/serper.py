"""Google's results through serper.dev.

Invariant: a direct answer counts as the first results, so that k bounds all the evidence of a query.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from judgelab.search.base import Result, SearchRequest, SearchResponse
from judgelab.search.hits import clamp, hit
from judgelab.search.http import JsonClient
from judgelab.settings.search import SearchConfig

VERSION = 1
MAX_CHARS = 2000


class Serper:
    """`POST /search`: answer box, knowledge graph, then organic results."""

    def __init__(
        self, settings: SearchConfig, key: str, base: str = "https://google.serper.dev", pause: float = 1.0
    ) -> None:
        self._settings = settings
        self._key = key
        self._url = f"{base}/search"
        self._client = JsonClient(settings, pause)

    @property
    def identity(self) -> Mapping[str, Any]:
        """Engine, region and time limit."""
        return {
            "engine": "serper",
            "region": self._settings.region,
            "timelimit": self._settings.timelimit,
            "version": VERSION,
        }

    async def query(self, request: SearchRequest) -> SearchResponse:
        """Answer one request."""
        country, _, language = self._settings.region.partition("-")
        body: dict[str, Any] = {"q": clamp(request.query, MAX_CHARS), "gl": country, "num": max(request.k, 10)}
        if language:
            body["hl"] = language
        if self._settings.timelimit:
            body["tbs"] = f"qdr:{self._settings.timelimit}"
        headers = {"X-API-KEY": self._key}
        return await self._client.search("serper", _results, request.k, "POST", self._url, json=body, headers=headers)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()


def _results(data: Any) -> Iterable[Result]:
    if box := data.get("answerBox"):
        yield hit(box.get("title"), box.get("answer") or box.get("snippet"), box.get("link"), box.get("date"))
    if graph := data.get("knowledgeGraph"):
        facts = [f"{name}: {value}" for name, value in (graph.get("attributes") or {}).items()]
        text = ". ".join(part for part in (graph.get("description"), *facts) if part)
        yield hit(graph.get("title"), text, graph.get("descriptionLink") or graph.get("website"))
    for each in data["organic"]:
        yield hit(each.get("title"), each.get("snippet"), each["link"], each.get("date"))
