"""Where a URL leads, decided before anything is sent there.

Invariant: the address that was looked at is the one that is connected to; a name that could answer differently the
second time is never looked up again.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from dataclasses import dataclass

from judgelab.pages.status import PageStatus

_EMBEDDING = (ipaddress.IPv6Network("64:ff9b::/96"), ipaddress.IPv6Network("64:ff9b:1::/48"))  # IPv4 inside IPv6


class Refused(Exception):  # noqa: N818 - what became of the page
    """A page that cannot be had, and why."""

    def __init__(self, status: PageStatus, detail: str) -> None:
        super().__init__(detail)
        self.status = status


@dataclass(frozen=True)
class Target:
    """A URL taken apart, with the address to connect to."""

    scheme: str
    host: str  # ASCII, as names are looked up
    port: int
    path: str  # with the query
    address: str

    @property
    def origin(self) -> str:
        """Scheme, host and port."""
        return f"{self.scheme}://{self.netloc}"

    @property
    def netloc(self) -> str:
        """The Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.scheme == "https" else 80) else f"{host}:{self.port}"


async def locate(url: str, allow_private: bool = False) -> Target:
    """Look a URL's name up and choose an address; Refused for one that must not be connected to.

    A name with any private address is refused as a whole: which of its addresses it would give next is up to it.
    """
    import httpx

    try:
        parts = httpx.URL(url)
        host, path = parts.raw_host.decode("ascii"), parts.raw_path.decode("ascii")
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except (httpx.InvalidURL, UnicodeError, ValueError, TypeError) as error:
        raise Refused(PageStatus.BAD_URL, "not a URL") from error
    if parts.scheme not in ("http", "https"):
        raise Refused(PageStatus.BAD_URL, f"scheme {parts.scheme[:20]!r}: only http and https are fetched")
    if not host or set(host) & set("[]%") or parts.userinfo or not 0 < port < 65536:
        raise Refused(PageStatus.BAD_URL, "no host, or one with a password")
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise Refused(PageStatus.UNREACHABLE, "no such host, or no network") from error
    addresses = [str(entry[4][0]) for entry in found]
    if not addresses:
        raise Refused(PageStatus.UNREACHABLE, "the host has no address")
    if not allow_private and not all(is_public(address) for address in addresses):
        raise Refused(PageStatus.PRIVATE_ADDRESS, "the host has an address that is not of the public internet")
    # IPv4 first: a machine without IPv6 would fail on the other, and there is one connection to try.
    address = next((each for each in addresses if ":" not in each), addresses[0])
    return Target(parts.scheme, host, port, path, address)


def is_public(address: str) -> bool:
    """Whether an address is of the public internet, also where IPv6 carries an IPv4 address inside."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:  # one with a zone, which only addresses of the link have
        return False
    if isinstance(ip, ipaddress.IPv6Address):
        inner = ip.ipv4_mapped or ip.sixtofour or (ip.teredo[1] if ip.teredo else None)
        if inner is None and any(ip in network for network in _EMBEDDING):
            inner = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(str(inner))
    return ip.is_global and not (ip.is_multicast or ip.is_reserved)
