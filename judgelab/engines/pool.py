"""Several servers of one model as one: who is up, who is least busy, and what to do when one goes away.

Invariant: a request goes to one server at a time and is sent again only where no answer can have been read: after a
transport error or a server's own failure, a bounded number of times.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx

from judgelab.errors import EngineError, RequestError

TRIES = 4
OUTAGE = 60.0  # seconds that a started pool waits for any server to come back
_BACKOFF = 0.25  # seconds, doubled with each failure in a row
_BACKOFF_MAX = 10.0
_POLL = 0.05
_FIND = 5.0  # seconds between two looks for servers that have come
_CONNECT_TIMEOUT = 10.0

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Address:
    """Where a server listens, and the key that it asks for."""

    url: str
    key: str | None = None


@dataclass(frozen=True)
class Card:
    """A model that a server offers: the name it answers to, what it was loaded from, and its context in tokens."""

    id: str
    root: str
    max_model_len: int | None


@dataclass
class Server:
    """One endpoint. `model` is what it serves, known once it is up; `outstanding` counts requests under way."""

    url: str
    key: str | None = None
    model: str = ""
    root: str = ""
    max_model_len: int | None = None
    up: bool = False
    outstanding: int = 0
    failures: int = 0
    retry_at: float = 0.0
    last_error: str = ""
    connecting: asyncio.Task[None] | None = field(default=None, repr=False)


class Pool:
    """The servers that `find` names, which is asked again every few seconds: servers may come and go.

    `choose` takes from the models that a server offers the one to ask, and raises EngineError where it offers none;
    `check` is awaited for each that comes up, before its first use. `knob` says where they are named.
    """

    def __init__(
        self,
        find: Callable[[], Sequence[Address]],
        timeout: float,
        choose: Callable[[str, Sequence[Card]], Card],
        check: Callable[[Pool, Server], Awaitable[None]],
        knob: str = "engine.endpoints",
    ) -> None:
        self.servers: list[Server] = []
        self._find = find
        self._find_at = 0.0
        self._knob = knob
        self._choose = choose
        self._check = check
        self._refusal: EngineError | None = None
        self._client = httpx.AsyncClient(
            timeout=httpx.Timeout(timeout, connect=_CONNECT_TIMEOUT, pool=None),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=None),
            trust_env=False,  # a cluster's web proxy does not reach its compute nodes
        )

    async def wait(self, seconds: float) -> None:
        """Until a server is up. Raises EngineError naming engine.endpoints after `seconds`, or a failed check."""
        await self._pick(seconds, avoid=None)

    async def post(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """A completion from the least busy server, or from another if that one fails.

        Raises RequestError for an HTTP status in the 400s or repeated ones in the 500s, EngineError where no
        server answers.
        """
        failed: Server | None = None
        for _ in range(TRIES):
            server = await self._pick(OUTAGE, avoid=failed)
            try:
                return await self.post_to(server, body)
            except _ServerFailedError as error:
                self._set_aside(server, str(error))
                failed = server
        assert failed is not None
        raise RequestError(f"{TRIES} tries failed, the last at {failed.url}: {failed.last_error}")

    async def post_to(self, server: Server, body: Mapping[str, Any]) -> dict[str, Any]:
        """The same from one server, once."""
        server.outstanding += 1
        try:
            reply = await self._client.post(
                f"{server.url}/v1/completions", json={"model": server.model, **body}, headers=_headers(server)
            )
        except httpx.HTTPError as error:
            raise _ServerFailedError(str(error) or type(error).__name__) from error
        finally:
            server.outstanding -= 1
        answer = _read(server, reply)
        server.failures = 0
        return answer

    async def close(self) -> None:
        """Close all connections."""
        for server in self.servers:
            if server.connecting is not None:
                server.connecting.cancel()
        await self._client.aclose()

    async def _pick(self, seconds: float, avoid: Server | None) -> Server:
        """The least busy server that is up, `avoid` only if there is no other."""
        deadline = time.monotonic() + seconds
        told = False
        while True:
            self._connect_due()
            if self._refusal is not None:
                raise self._refusal
            if up := [s for s in self.servers if s.up]:
                return min(up, key=lambda s: (s is avoid, s.outstanding))
            if time.monotonic() > deadline:
                each = ", ".join(f"{s.url} ({s.last_error or 'no answer'})" for s in self.servers) or "none is known"
                raise EngineError(f"no server answers: {each}; start one or set {self._knob}")
            if not told and time.monotonic() > deadline - seconds + 5:
                log.warning("waiting for a server at %s", ", ".join(s.url for s in self.servers) or self._knob)
                told = True
            await asyncio.sleep(_POLL)

    def _look(self, now: float) -> None:
        """Take up servers that have come, and let go of those that are down and no longer named."""
        self._find_at = now + _FIND
        named = {each.url.rstrip("/").removesuffix("/v1"): each.key for each in self._find()}
        known = {server.url for server in self.servers}
        self.servers = [s for s in self.servers if s.up or s.url in named]
        self.servers += [Server(url, key) for url, key in named.items() if url not in known]

    def _connect_due(self) -> None:
        now = time.monotonic()
        if now >= self._find_at:
            self._look(now)
        for server in self.servers:
            if not server.up and server.connecting is None and now >= server.retry_at:
                server.connecting = asyncio.create_task(self._connect(server))

    async def _connect(self, server: Server) -> None:
        try:
            reply = await self._client.get(f"{server.url}/v1/models", headers=_headers(server))
            card = self._choose(server.url, _cards(_read(server, reply)))
            server.model, server.root, server.max_model_len = card.id, card.root, card.max_model_len
            await self._check(self, server)
            server.up = True
            server.failures = 0
        except (httpx.HTTPError, _ServerFailedError) as error:
            self._set_aside(server, str(error) or type(error).__name__)
        except EngineError as error:
            self._refusal = error
        except RequestError as error:
            self._refusal = EngineError(f"{server.url} is no vLLM server: {error} (knob: {self._knob})")
        finally:
            server.connecting = None

    def _set_aside(self, server: Server, error: str) -> None:
        server.up = False
        server.last_error = error
        server.retry_at = time.monotonic() + min(_BACKOFF * 2**server.failures, _BACKOFF_MAX)
        server.failures += 1


def _headers(server: Server) -> dict[str, str]:
    return {"Authorization": f"Bearer {server.key}"} if server.key else {}


class _ServerFailedError(Exception):
    """The server could not answer; another may."""


def _read(server: Server, reply: httpx.Response) -> dict[str, Any]:
    status = reply.status_code
    if status >= 500:
        raise _ServerFailedError(f"HTTP {status} {_message(reply)}")
    if status in (401, 403):
        raise EngineError(
            f"{server.url} refuses our key (HTTP {status}): put it in the environment variable that "
            "engine.api_key_env names"
        )
    if status >= 400:
        raise RequestError(f"HTTP {status} {_message(reply)}")
    try:
        answer = reply.json()
    except ValueError:
        raise RequestError(f"HTTP {status} without JSON: {reply.text[:80]!r}") from None
    if not isinstance(answer, dict):
        raise RequestError(f"HTTP {status} with an answer that is no object: {reply.text[:80]!r}")
    return answer


def _cards(answer: Mapping[str, Any]) -> list[Card]:
    """The models of a list of them; raises RequestError naming the field that is not as it should be."""
    rows = answer.get("data")
    if not isinstance(rows, list) or not rows:
        raise RequestError(f"/v1/models has no list of models in its field data: {str(rows)[:80]}")
    out = []
    for row in rows:
        if not isinstance(row, dict) or not isinstance(row.get("id"), str):
            raise RequestError(f"/v1/models lists a model without an id: {str(row)[:80]}")
        length = row.get("max_model_len")
        if length is not None and (not isinstance(length, int) or isinstance(length, bool) or length < 1):
            raise RequestError(f"/v1/models says max_model_len {str(length)[:40]!r} of {row['id'][:80]}")
        root = row.get("root")
        out.append(Card(row["id"], root if isinstance(root, str) and root else row["id"], length))
    return out


def _message(reply: httpx.Response) -> str:
    """The error's own words in one line, whatever shape it has."""
    try:
        body = reply.json()
    except ValueError:
        return " ".join(reply.text.split())[:300]
    error = body.get("error", body) if isinstance(body, dict) else body
    text = error.get("message", error) if isinstance(error, dict) else error
    return " ".join(str(text).split())[:300]
