"""Where a long run stands: a bar on a terminal, plain lines in a log.

Invariant: it reads counters and writes to standard error; nothing of a run depends on it.
"""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING

from judgelab.engines.cached import CachedEngine
from judgelab.runner import Progress

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

PLAIN_EVERY = 30.0  # seconds between lines where there is no terminal


class Display:
    """Shows items, calls/s, tokens/s, unscored so far and time left."""

    def __init__(self, title: str, asker: CachedEngine) -> None:
        self.title = title
        self._asker = asker
        self._started = time.monotonic()
        self._last = 0.0
        self._bar: Bar | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Display:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
            from rich.progress import Progress as Bar

            self._bar = Bar(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[rates]}"),
                TimeElapsedColumn(),
                console=Console(stderr=True),
                transient=False,
            )
            self._bar.start()
            self._task = self._bar.add_task(f"{self.title}: starting", total=None, rates="")
        else:
            print(f"{self.title}: starting", file=sys.stderr, flush=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def update(self, progress: Progress) -> None:
        """Take note of an item that ended."""
        now = time.monotonic()
        if progress.done == 0:
            self._started = now
        rates = self._rates(progress, now - self._started)
        if self._bar is not None and self._task is not None:
            self._bar.update(
                self._task, description=self.title, total=progress.items, completed=progress.done, rates=rates
            )
        elif now - self._last >= PLAIN_EVERY or progress.done in (0, progress.items):
            self._last = now
            print(f"{self.title}: {progress.done}/{progress.items} items, {rates}", file=sys.stderr, flush=True)

    def _rates(self, progress: Progress, seconds: float) -> str:
        total = self._asker.total()
        tokens = total.prompt_tokens + total.generated_tokens
        per = max(seconds, 1e-6)
        left = ""
        if 0 < progress.done < progress.items:
            left = f", {_clock(per * (progress.items - progress.done) / progress.done)} left"
        if progress.done == 0:
            return f"{total.hits} calls from the cache"
        return (
            f"{total.calls / per:.1f} calls/s, {tokens / per:.0f} tokens/s, {total.hits} from the cache, "
            f"{progress.unscored} unscored{left}"
        )


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
