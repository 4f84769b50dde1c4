"""Engines that answer over HTTP with JSON: one request out, and whatever comes back turned into a status.

Invariant: no detail quotes what was sent or what came back, so no key and no page of a stranger gets into a log.
"""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from judgelab.search.base import Result, SearchResponse, Status
from judgelab.search.hits import ranked
from judgelab.search.pace import Attempt, Pace
from judgelab.settings.search import SearchConfig

if TYPE_CHECKING:
    import httpx

MAX_BYTES = 4_000_000


class JsonClient:
    """Sends requests of one engine at its pace; belongs to the event loop of its first request."""

    def __init__(self, settings: SearchConfig, pause: float = 1.0) -> None:
        self._pace = Pace(settings, pause)
        self._timeout = settings.timeout
        self._client: httpx.AsyncClient | None = None

    async def search(
        self,
        engine: str,
        parse: Callable[[Any], Iterable[Result]],
        k: int,
        method: str,
        url: str,
        **content: Mapping[str, Any],
    ) -> SearchResponse:
        """Ask, read the answer with `parse`, and keep the first `k` results.

        `content` is `params`, `json` or `headers` of the request. `parse` raises LookupError, TypeError, ValueError
        or AttributeError for an answer that is not in the engine's format, or `Refused` for one that is a refusal.
        """
        asked = time.monotonic()
        attempt = await self._pace.ask(lambda: self._send(method, url, content))
        return response(engine, attempt, parse, k, time.monotonic() - asked)

    async def close(self) -> None:
        """Close the connections; idempotent."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def _send(self, method: str, url: str, content: Mapping[str, Any]) -> Attempt:
        import httpx

        if self._client is None:
            self._client = httpx.AsyncClient(timeout=self._timeout)
        body = bytearray()
        try:
            # The client's own limits are for each read; only a limit on the whole stops an answer that trickles.
            async with asyncio.timeout(self._timeout), self._client.stream(method, url, **content) as reply:
                if (refusal := _refusal(reply.status_code, reply.headers)) is not None:
                    return refusal
                async for chunk in reply.aiter_bytes():
                    body += chunk
                    if len(body) > MAX_BYTES:
                        return Attempt(Status.BROKEN, detail=f"the answer is larger than {MAX_BYTES:,} bytes")
        except (TimeoutError, httpx.TimeoutException):
            detail = f"no answer within {self._timeout:g} s (knob: search.timeout)"
            return Attempt(Status.TIMEOUT, detail=detail, again=True)
        except httpx.TransportError as error:
            return Attempt(Status.UNREACHABLE, detail=f"no connection ({type(error).__name__})", again=True)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            return Attempt(Status.BROKEN, detail=f"the answer cannot be read ({type(error).__name__})")
        return _decoded(bytes(body))


class Refused(Exception):  # noqa: N818 - what the engine said, not a fault of the program
    """An answer in the engine's format which says that it did not search."""

    def __init__(self, status: Status, detail: str) -> None:
        super().__init__(detail)
        self.status = status


def response(
    engine: str, attempt: Attempt, parse: Callable[[Any], Iterable[Result]], k: int, seconds: float
) -> SearchResponse:
    """What an engine's last try amounts to, dated now."""
    status, detail = attempt.status, attempt.detail
    results: tuple[Result, ...] = ()
    if status is Status.OK:
        try:
            results = ranked(parse(attempt.data), k)
            status = Status.OK if results else Status.EMPTY
        except Refused as error:
            status, detail = error.status, str(error)
        except (LookupError, TypeError, ValueError, AttributeError):
            status, detail = Status.BROKEN, f"the answer is not in the format of {engine}"
    fetched_at = datetime.now(UTC).isoformat(timespec="seconds")
    return SearchResponse(status, results, engine, fetched_at, detail, round(seconds, 3))


def retry_after(value: str | None) -> float | None:
    """Seconds that a Retry-After header asks for, a number or a date; None where it says nothing readable."""
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            date = parsedate_to_datetime(value)
        except ValueError:
            return None
        if date.tzinfo is None:
            date = date.replace(tzinfo=UTC)
        seconds = (date - datetime.now(UTC)).total_seconds()
    return max(seconds, 0.0) if math.isfinite(seconds) else None


def _refusal(code: int, headers: Mapping[str, str]) -> Attempt | None:
    """What a status code says short of reading the answer; None for 200."""
    if code == HTTPStatus.OK:
        return None
    said = f"HTTP {code}"
    wait = retry_after(headers.get("retry-after"))
    if code in (HTTPStatus.ACCEPTED, HTTPStatus.TOO_MANY_REQUESTS):
        return Attempt(Status.RATE_LIMITED, detail=said, again=True, wait=wait)
    if code >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return Attempt(Status.BROKEN, detail=said, again=True, wait=wait)
    if code in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return Attempt(Status.BLOCKED, detail=f"{said}: the key is missing, wrong or not allowed this")
    if code in (HTTPStatus.PAYMENT_REQUIRED, 432, 433):  # the last two are Tavily's, for a plan that is used up
        return Attempt(Status.BLOCKED, detail=f"{said}: the plan is used up")
    return Attempt(Status.BROKEN, detail=said)


def _decoded(body: bytes) -> Attempt:
    if body.lstrip()[:1] == b"<":
        return Attempt(Status.BLOCKED, detail="a page for people came instead of JSON")
    try:
        return Attempt(Status.OK, json.loads(body))
    except (ValueError, RecursionError):
        return Attempt(Status.BROKEN, detail="the answer is not JSON")
