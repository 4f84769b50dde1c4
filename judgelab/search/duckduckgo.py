"""Free web search through the ddgs package, from one pinned backend.

Invariant: "No results found." is believed only where the backend let us in; the package says it of refusals too.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections.abc import Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import Any

from judgelab.search.base import Result, SearchRequest, SearchResponse, Status
from judgelab.search.hits import clamp, hit
from judgelab.search.http import response
from judgelab.search.pace import Attempt, Pace
from judgelab.settings.search import SearchConfig

VERSION = 1
MAX_CHARS = 500


class DuckDuckGo:
    """`DDGS().text`, at most one request at a time. Best effort: backends refuse at will and say so badly."""

    def __init__(self, settings: SearchConfig, pause: float = 2.0) -> None:
        self._settings = settings
        self._pace = Pace(settings, pause)
        self._alone = asyncio.Lock()

    @property
    def identity(self) -> Mapping[str, Any]:
        """Engine, backend, region and time limit."""
        return {
            "engine": "duckduckgo",
            "backend": self._settings.backend,
            "region": self._settings.region,
            "timelimit": self._settings.timelimit,
            "version": VERSION,
        }

    async def query(self, request: SearchRequest) -> SearchResponse:
        """Answer one request."""
        asked = time.monotonic()
        text = clamp(request.query, MAX_CHARS)
        async with self._alone:
            attempt = await self._pace.ask(lambda: self._send(text, request.k))
        return response("duckduckgo", attempt, _results, request.k, time.monotonic() - asked)

    async def close(self) -> None:
        """Nothing is held between requests."""

    async def _send(self, query: str, k: int) -> Attempt:
        try:
            # Twice the package's own limit, which it keeps for each of its steps; its thread ends by itself.
            async with asyncio.timeout(2 * self._settings.timeout):
                return await asyncio.to_thread(self._ask, query, k)
        except TimeoutError:
            detail = f"no answer within {2 * self._settings.timeout:g} s (knob: search.timeout)"
            return Attempt(Status.TIMEOUT, detail=detail, again=True)

    def _ask(self, query: str, k: int) -> Attempt:
        import ddgs
        from ddgs.exceptions import DDGSException

        client = ddgs.DDGS(timeout=math.ceil(self._settings.timeout))
        codes = _watch(client, self._settings.backend)
        try:
            found = client.text(
                query,
                region=self._settings.region,
                timelimit=self._settings.timelimit,
                max_results=k,
                backend=self._settings.backend,
            )
        except DDGSException as error:
            return classify(str(error), codes)
        return Attempt(Status.OK, found)


def classify(message: str, codes: Sequence[int]) -> Attempt:
    """What a DDGSException stands for, from its message and the HTTP status codes seen on the way.

    The package has a class for rate limits that it never raises, and says that nothing was found where a backend
    refused.
    """
    said = message.casefold()
    code = next((code for code in codes if code != HTTPStatus.OK), None)
    if code in (HTTPStatus.ACCEPTED, HTTPStatus.TOO_MANY_REQUESTS) or "ratelimit" in said or "rate limit" in said:
        return Attempt(Status.RATE_LIMITED, detail=f"HTTP {code}" if code else "rate limit", again=True)
    if code in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN) or "captcha" in said:
        return Attempt(Status.BLOCKED, detail=f"HTTP {code}" if code else "captcha")
    if code is not None:
        return Attempt(Status.BROKEN, detail=f"HTTP {code}", again=code >= HTTPStatus.INTERNAL_SERVER_ERROR)
    if "timed out" in said or "timeout" in said:
        return Attempt(Status.TIMEOUT, detail="timed out (knob: search.timeout)", again=True)
    if "no results found" in said:
        return Attempt(Status.OK, [])
    if any(word in said for word in ("dns", "connect", "resolve", "network", "unreachable", "refused")):
        return Attempt(Status.UNREACHABLE, detail="no connection", again=True)
    return Attempt(Status.BROKEN, detail="the backend's answer cannot be read", again=True)


def backends() -> tuple[str, ...]:
    """The backends that the installed package searches text with."""
    from ddgs.engines import ENGINES

    return tuple(sorted(ENGINES["text"]))


class _Watched:
    """A backend's HTTP client whose status codes are noted: the package drops them."""

    def __init__(self, client: Any, codes: list[int]) -> None:
        self._client = client
        self._codes = codes

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def request(self, *args: Any, **kwargs: Any) -> Any:
        reply = self._client.request(*args, **kwargs)
        self._codes.append(int(reply.status_code))
        return reply


def _watch(client: Any, backend: str) -> Sequence[int]:
    """The status codes that `client` will see; none where the package has changed inside."""
    codes: list[int] = []
    with contextlib.suppress(AttributeError, TypeError):
        for engine in client._get_engines("text", backend):
            engine.http_client = _Watched(engine.http_client, codes)
    return codes


def _results(data: Any) -> Iterable[Result]:
    for each in data:
        yield hit(each.get("title"), each.get("body"), each["href"])
