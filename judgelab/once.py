"""The same thing asked for several times at once is done once.

Invariant: who waits may be cancelled without taking the work from the others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Once(Generic[T]):
    """Work under way, by key."""

    def __init__(self) -> None:
        self._tasks: dict[str, asyncio.Task[T]] = {}

    async def run(self, key: str, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """The outcome of the work under way for `key`, which is started if there is none."""
        task = self._tasks.get(key)
        if task is None:
            task = self._tasks[key] = asyncio.get_running_loop().create_task(work())
            task.add_done_callback(lambda done: self._end(key, done))
        return await asyncio.shield(task)

    async def close(self) -> None:
        """Cancel what is still under way; idempotent."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _end(self, key: str, task: asyncio.Task[T]) -> None:
        del self._tasks[key]
        if not task.cancelled():
            task.exception()  # seen, also where nobody waits any more
