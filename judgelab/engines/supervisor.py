"""Ends an engine's whole process tree when its owner or its worker dies, however they die.

Run as `python -m judgelab.engines.supervisor OWNER_PID COMMAND...`. It passes its standard streams on to COMMAND
and watches three things: that somebody holds the write end of its stdin, that its owner is still its parent (a
forked child of the owner may hold the pipe open), and that COMMAND runs. A killed owner runs no clean-up of its
own, and vLLM's engine processes would go on without it, with their memory.

Invariant: when the supervisor exits, no descendant of it is alive. It imports nothing heavy, and signals meant for
the job (USR1, USR2, Ctrl-C) harm neither it nor what it starts.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import subprocess
import sys
import time

import psutil

JOB_SIGNALS = (signal.SIGUSR1, signal.SIGUSR2)
_PR_SET_CHILD_SUBREAPER = 36
_TICK_MS = 200
_GRACE = 0.5  # seconds between SIGTERM and SIGKILL: the owner is gone, nothing is left to save


def supervise(owner: int, command: list[str]) -> int:
    """Run `command` until it exits or the owner is gone, then end the tree; the command's status, or 1."""
    stopped: list[int] = []
    for number in (*JOB_SIGNALS, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, JOB_SIGNALS)
    signal.signal(signal.SIGTERM, lambda number, _frame: stopped.append(number))
    _adopt_orphans()
    worker = subprocess.Popen(command)
    owner_pipe = select.poll()
    owner_pipe.register(0, 0)  # no events asked for: only the hang-up is reported, the worker does the reading
    while worker.poll() is None and os.getppid() == owner and not stopped:
        if owner_pipe.poll(_TICK_MS):
            break
    end_descendants()
    return worker.returncode if worker.returncode is not None else 1


def _adopt_orphans() -> None:
    """Become the parent of grandchildren whose parent dies, so that they can still be found."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end_descendants() -> None:
    """End every descendant of this process: SIGTERM, a short grace, SIGKILL until none is left."""
    me = psutil.Process()
    _signal_all(me.children(recursive=True), signal.SIGTERM)
    give_up = time.monotonic() + 10  # a process in uninterruptible sleep cannot be waited for
    while (left := me.children(recursive=True)) and time.monotonic() < give_up:
        _signal_all(left, signal.SIGKILL)


def _signal_all(processes: list[psutil.Process], number: signal.Signals) -> None:
    for process in processes:
        try:
            process.send_signal(number)
        except psutil.NoSuchProcess:
            continue
    psutil.wait_procs(processes, timeout=_GRACE)


if __name__ == "__main__":
    sys.exit(supervise(int(sys.argv[1]), sys.argv[2:]))
