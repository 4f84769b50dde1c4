"""How the attempt to read a page ended.

Invariant: the set is closed, and each way out says whether trying again may end otherwise.
"""

from __future__ import annotations

from enum import StrEnum


class PageStatus(StrEnum):
    """`OK`, or why there is no text."""

    OK = "ok"
    NOT_FETCHED = "not_fetched"  # not in the cache, and fetching is switched off
    BAD_URL = "bad_url"  # not http or https, or no address at all
    PRIVATE_ADDRESS = "private_address"  # leads into this machine or its own network
    ROBOTS = "robots"  # the site asks programs to stay away
    NOT_FOUND = "not_found"
    FORBIDDEN = "forbidden"
    HTTP_ERROR = "http_error"  # another refusal of this request
    REDIRECTS = "redirects"  # too many, or one that leads nowhere
    TOO_LARGE = "too_large"
    TOO_SHORT = "too_short"
    UNSUPPORTED = "unsupported"  # neither HTML nor PDF nor text
    UNREADABLE = "unreadable"  # a broken or locked file
    RATE_LIMITED = "rate_limited"
    SERVER_ERROR = "server_error"
    TIMEOUT = "timeout"
    UNREACHABLE = "unreachable"

    @property
    def final(self) -> bool:
        """Whether it is kept: the others may end otherwise another time."""
        return self not in (
            PageStatus.NOT_FETCHED,
            PageStatus.RATE_LIMITED,
            PageStatus.SERVER_ERROR,
            PageStatus.TIMEOUT,
            PageStatus.UNREACHABLE,
        )
