"""How often an engine may be asked: spacing, budget and patience, the same for every engine of the web.

Invariant: no request leaves before its turn or beyond the budget, and none follows a refusal without a pause.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from judgelab.search.base import Status
from judgelab.settings.search import SearchConfig

LONGEST_WAIT = 60.0  # seconds; an engine that asks for more is not waited for


@dataclass(frozen=True)
class Attempt:
    """How one request ended. `again`: another try may end better; `wait`: seconds the engine asked to be left alone."""

    status: Status
    data: Any = None
    detail: str = ""
    again: bool = False
    wait: float | None = None


class Pace:
    """Lets requests through one after another, `settings.rate` a second and `settings.budget` in all.

    `pause` is the first back-off in seconds; it doubles with every try, and half of it is drawn at random.
    """

    def __init__(self, settings: SearchConfig, pause: float = 1.0) -> None:
        self._spacing = 1 / settings.rate
        self._tries = settings.tries
        self._budget = settings.budget
        self._pause = pause
        self._sent = 0
        self._next = 0.0
        self._jitter = random.Random()

    async def ask(self, send: Callable[[], Awaitable[Attempt]]) -> Attempt:
        """Send until it is answered, refused for good, or `settings.tries` are used up."""
        tried = 0
        while True:
            if self._budget is not None and self._sent >= self._budget:
                return Attempt(Status.BUDGET, detail=f"{self._sent} requests made in this launch (knob: search.budget)")
            self._sent += 1
            await self._turn()
            attempt = await send()
            tried += 1
            if not attempt.again:
                return attempt
            if tried >= self._tries or (attempt.wait or 0.0) > LONGEST_WAIT:
                detail = f"{attempt.detail}, after {tried} {'try' if tried == 1 else 'tries'} (knob: search.tries)"
                return Attempt(attempt.status, detail=detail)
            longest = min(self._pause * 2 ** (tried - 1), LONGEST_WAIT)
            wait = max(attempt.wait or 0.0, longest * (0.5 + self._jitter.random() / 2))
            if attempt.status is Status.RATE_LIMITED:  # all requests are meant, not this one
                self._next = max(self._next, time.monotonic() + wait)
            else:
                await asyncio.sleep(wait)

    async def _turn(self) -> None:
        """Wait for this request's turn; the turn is taken before the wait, so nobody else has it."""
        at = max(time.monotonic(), self._next)
        self._next = at + self._spacing
        await asyncio.sleep(at - time.monotonic())
