"""Pages from the web, fetched politely and once.

Invariant: every hop of every page is looked at before it is taken (scheme, address, robots.txt), and whatever becomes
of a page is said by a status of a closed set.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

import judgelab
from judgelab.once import Once
from judgelab.pages.address import Refused, Target, locate
from judgelab.pages.status import PageStatus
from judgelab.pages.text import PageText, page_text
from judgelab.settings.nuggets import PageMode
from judgelab.shelf import Shelf

if TYPE_CHECKING:
    import httpx
    from protego import Protego

STEM = "pages"
AGENT = f"judgelab/{judgelab.__version__}"
MAX_BYTES = 5_000_000
MAX_ROBOTS_BYTES = 500_000
MAX_HOPS = 5
MAX_DELAY = 10.0  # seconds of a site's Crawl-delay that are kept
TIMEOUT = 20.0  # seconds a hop
READING = 60.0  # seconds to find the text of a page
AT_ONCE = 8


@dataclass(frozen=True)
class FetchedPage:
    """A page, or why there is none. `url` is the one asked for, `fetched_at` UTC to the second."""

    url: str
    status: PageStatus
    text: str
    title: str
    fetched_at: str
    detail: str = ""


@dataclass(frozen=True)
class _Reply:
    code: int
    headers: Mapping[str, str]
    body: bytes


@dataclass
class _Host:
    """One at a time, and not too soon after the last."""

    alone: asyncio.Lock = field(default_factory=asyncio.Lock)
    next: float = 0.0


class PageFetcher:
    """Pages by URL, kept in `<folder>/pages-*.jsonl`; with `PageMode.cached` nothing is ever fetched.

    `delay` is the time in seconds between two requests to one host. `allow_private` lets tests reach their own
    servers. It belongs to the event loop of its first page.
    """

    def __init__(
        self,
        folder: Path,
        mode: PageMode = PageMode.fetch,
        *,
        delay: float = 1.0,
        timeout: float = TIMEOUT,
        allow_private: bool = False,
    ) -> None:
        self._shelf = Shelf(folder, STEM)
        self._mode = mode
        self._delay = delay
        self._timeout = timeout
        self._allow_private = allow_private
        self._once: Once[FetchedPage] = Once()
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._hosts: dict[str, _Host] = {}
        self._asked: Once[Protego | None] = Once()
        self._robots: dict[str, Protego | None] = {}
        self._client: httpx.AsyncClient | None = None

    async def fetch(self, url: str) -> FetchedPage:
        """The page at `url`; raises only where what came cannot be kept (JudgelabError)."""
        url = url.strip().partition("#")[0]
        place = self._shelf.find(url)
        if place is not None:
            return _read(place.read())
        if self._mode is PageMode.cached:
            detail = "not kept by an earlier run (knob: protocol.pages=fetch)"
            return FetchedPage(url, PageStatus.NOT_FETCHED, "", "", _now(), detail)
        return await self._once.run(url, lambda: self._fetch(url))

    async def close(self) -> None:
        """Give up what is under way and close everything; idempotent."""
        await self._once.close()
        await self._asked.close()
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()
        self._shelf.close()

    async def _fetch(self, url: str) -> FetchedPage:
        try:
            reply = await self._follow(url, MAX_BYTES, robots=True)
            found = await self._text(reply)
            page = FetchedPage(url, found.status, found.text, found.title, _now(), found.detail)
        except Refused as error:
            page = FetchedPage(url, error.status, "", "", _now(), str(error))
        if page.status.final:
            self._shelf.put(_row(page))
        return page

    async def _follow(self, url: str, limit: int, *, robots: bool) -> _Reply:
        for _ in range(MAX_HOPS + 1):
            target = await locate(url, self._allow_private)
            rules = await self._rules(target) if robots else None
            if rules is not None and not rules.can_fetch(target.origin + target.path, AGENT):
                raise Refused(PageStatus.ROBOTS, f"robots.txt of {target.host} asks programs to stay away")
            reply = await self._get(target, limit, rules)
            if reply.code not in (301, 302, 303, 307, 308):
                return _accepted(reply)
            if not (location := reply.headers.get("location")):
                raise Refused(PageStatus.REDIRECTS, "a redirect that leads nowhere")
            try:
                url = urljoin(target.origin + target.path, location)
            except ValueError as error:
                raise Refused(PageStatus.REDIRECTS, "a redirect to no URL") from error
        raise Refused(PageStatus.REDIRECTS, f"more than {MAX_HOPS} redirects")

    async def _text(self, reply: _Reply) -> PageText:
        try:
            async with asyncio.timeout(READING):
                return await asyncio.to_thread(page_text, reply.body, reply.headers.get("content-type", ""))
        except TimeoutError as error:
            raise Refused(PageStatus.UNREADABLE, f"its text was not found within {READING:g} s") from error

    async def _rules(self, target: Target) -> Protego | None:
        """The site's robots.txt; None where it has none. A site whose rules cannot be learnt now is left alone."""
        if target.origin not in self._robots:
            rules = await self._asked.run(target.origin, lambda: self._ask_robots(target.origin))
            self._robots[target.origin] = rules
        return self._robots[target.origin]

    async def _ask_robots(self, origin: str) -> Protego | None:
        from protego import Protego

        try:
            reply = await self._follow(f"{origin}/robots.txt", MAX_ROBOTS_BYTES, robots=False)
            return Protego.parse(reply.body.decode(errors="replace"))
        except Refused as error:
            if not error.status.final:
                raise Refused(error.status, f"robots.txt: {error}") from error
            return None

    async def _get(self, target: Target, limit: int, rules: Protego | None) -> _Reply:
        host = self._hosts.setdefault(target.netloc, _Host())
        asked = rules.crawl_delay(AGENT) if rules is not None else None
        delay = max(self._delay, min(asked or 0.0, MAX_DELAY))
        async with host.alone:
            await asyncio.sleep(host.next - time.monotonic())
            try:
                async with self._slots:
                    return await self._send(target, limit)
            finally:
                host.next = time.monotonic() + delay

    async def _send(self, target: Target, limit: int) -> _Reply:
        import httpx

        if self._client is None:
            # No proxy and no shared connections: a connection is to the very address that was looked at.
            self._client = httpx.AsyncClient(
                timeout=self._timeout, trust_env=False, limits=httpx.Limits(max_keepalive_connections=0)
            )
        address = f"[{target.address}]" if ":" in target.address else target.address
        extensions: dict[str, Any] = {"sni_hostname": target.host}  # whose certificate is asked for and checked
        headers = {"Host": target.netloc, "User-Agent": AGENT, "Accept": "text/html,application/pdf,text/plain;q=0.9"}
        url = f"{target.scheme}://{address}:{target.port}{target.path}"
        body = bytearray()
        try:
            async with (
                asyncio.timeout(self._timeout),
                self._client.stream("GET", url, headers=headers, extensions=extensions) as reply,
            ):
                if reply.status_code == HTTPStatus.OK:
                    async for chunk in reply.aiter_bytes():
                        body += chunk
                        if len(body) > limit:
                            raise Refused(PageStatus.TOO_LARGE, f"larger than {limit:,} bytes")
                return _Reply(reply.status_code, dict(reply.headers), bytes(body))
        except (TimeoutError, httpx.TimeoutException) as error:
            raise Refused(PageStatus.TIMEOUT, f"no answer within {self._timeout:g} s") from error
        except httpx.TransportError as error:
            raise Refused(PageStatus.UNREACHABLE, f"no connection ({type(error).__name__})") from error
        except httpx.InvalidURL as error:  # the client looks at redirects that it does not follow
            raise Refused(PageStatus.REDIRECTS, "a redirect to no URL") from error
        except httpx.HTTPError as error:
            raise Refused(PageStatus.UNREADABLE, type(error).__name__) from error


def _accepted(reply: _Reply) -> _Reply:
    """The reply if it is the page; Refused by its status code otherwise."""
    code = reply.code
    said = f"HTTP {code}"
    if code == HTTPStatus.OK:
        return reply
    if code in (HTTPStatus.NOT_FOUND, HTTPStatus.GONE):
        raise Refused(PageStatus.NOT_FOUND, said)
    if code in (401, 402, 403, 451):
        raise Refused(PageStatus.FORBIDDEN, said)
    if code in (202, 429):
        raise Refused(PageStatus.RATE_LIMITED, said)
    if code == HTTPStatus.REQUEST_TIMEOUT:
        raise Refused(PageStatus.TIMEOUT, said)
    if code >= HTTPStatus.INTERNAL_SERVER_ERROR:
        raise Refused(PageStatus.SERVER_ERROR, said)
    raise Refused(PageStatus.HTTP_ERROR, said)


def _row(page: FetchedPage) -> dict[str, Any]:
    return {
        "key": page.url,
        "status": page.status.value,
        "text": page.text,
        "title": page.title,
        "fetched_at": page.fetched_at,
        "detail": page.detail,
        "sha256": hashlib.sha256(page.text.encode()).hexdigest() if page.text else None,
    }


def _read(row: Mapping[str, Any]) -> FetchedPage:
    return FetchedPage(
        row["key"], PageStatus(row["status"]), row["text"], row["title"], row["fetched_at"], row["detail"]
    )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
