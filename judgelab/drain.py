"""Stopping on a signal: nothing new is begun, what is under way ends, and all that is finished is kept.

Invariant: a request to stop is one for the whole process, from its first moment to its last, over all runs of a sweep.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from judgelab.errors import Drained


class Drain:
    """Whether this process was told to stop. Make it with `installed`."""

    def __init__(self) -> None:
        self.requested = False
        self._wake: Callable[[], object] | None = None
        self._interrupts: str | None = None

    @classmethod
    @contextmanager
    def installed(cls) -> Iterator[Drain]:
        """A drain that the signals ask for; afterwards they mean what they meant before. For the main thread."""
        drain = cls()
        before = {number: signal.signal(number, drain._handle) for number in signals()}
        try:
            yield drain
        finally:
            for number, handler in before.items():
                signal.signal(number, signal.SIG_DFL if handler is None else handler)

    @staticmethod
    @contextmanager
    def suspended() -> Iterator[None]:
        """For work that has nothing to drain: the signals mean what they mean to any program."""
        before = {number: signal.signal(number, signal.SIG_DFL) for number in signals()}
        signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, signal.SIG_DFL if handler is None else handler)

    @contextmanager
    def waking(self, wake: Callable[[], object]) -> Iterator[None]:
        """Call `wake` when asked to stop, also if that was before."""
        self._wake = wake
        try:
            if self.requested:
                wake()
            yield
        finally:
            self._wake = None

    @contextmanager
    def interrupting(self, left: str) -> Iterator[None]:
        """Work that nothing is lost of is stopped by an exception; `left` says what remains to be done."""
        self.check(left)
        self._interrupts = left
        try:
            yield
        finally:
            self._interrupts = None

    def check(self, left: str) -> None:
        """Raise Drained if asked to stop."""
        if self.requested:
            raise Drained(f"stopped on request: {left}")

    def _handle(self, number: int, _: FrameType | None) -> None:
        if self.requested and number == signal.SIGINT:  # Ctrl-C once more: at once, with what is on disk
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
            return
        self.requested = True
        if self._wake is not None:
            self._wake()
        if self._interrupts is not None:
            left, self._interrupts = self._interrupts, None
            self.check(left)


def signals() -> tuple[signal.Signals, ...]:
    """The signals that stop a run. In a submitit job its own warning is one, and SIGTERM, which `scancel` and
    preemption send with it, is left to submitit."""
    if "SUBMITIT_EXECUTOR" in os.environ:
        return (signal.SIGINT, signal.SIGUSR1, signal.SIGUSR2)
    return (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)
