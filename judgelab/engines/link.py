"""Our end of the pipe to a supervised worker process: JSON lines out, answers matched to their questions.

Invariant: every call ends: with the worker's answer, or with `WorkerDied` once the worker's tree is gone. It is
bound to no event loop, so an engine outlives the loop it was started in.
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, InvalidStateError
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from judgelab.engines.environment import package_path
from judgelab.engines.supervisor import JOB_SIGNALS


class WorkerDied(Exception):  # noqa: N818 - what happened
    """The worker process is gone."""


class Link:
    """A worker, `python -m MODULE ARG...`, under a supervisor; what it prints goes to the end of `log`.

    The worker reads JSON objects, one a line, and writes `{"id": that of the question, ...}` likewise.
    """

    def __init__(self, module: str, args: Sequence[str], environ: Mapping[str, str], log: Path) -> None:
        self.log = log
        log.parent.mkdir(parents=True, exist_ok=True)
        self.log_start = log.stat().st_size if log.exists() else 0
        self._ids = itertools.count(1)
        self._lock = threading.Lock()
        self._waiting: dict[int, Future[dict[str, Any]]] = {}
        self._dead = False
        self._outbox: SimpleQueue[bytes | None] = SimpleQueue()
        env = dict(environ)
        if (path := package_path(environ)) is not None:
            env["PYTHONPATH"] = path
        # -P: a file of the user's own in the working folder must not stand in for a library's module.
        python = [sys.executable, "-P", "-m"]
        with log.open("ab") as log_file:
            self._process = _spawn(
                [*python, "judgelab.engines.supervisor", str(os.getpid()), *python, module, *args],
                env,
                log_file,
            )
        self._reader = threading.Thread(target=self._read, name="judgelab-link-read", daemon=True)
        self._writer = threading.Thread(target=self._write, name="judgelab-link-write", daemon=True)
        self._reader.start()
        self._writer.start()

    @property
    def pid(self) -> int:
        """The supervisor's process id, which is also its session's."""
        return self._process.pid

    @property
    def killed_by(self) -> str | None:
        """The signal that ended the worker, by name; None while it lives, or if it ended by itself."""
        status = self._process.returncode
        # The supervisor exits with the worker's status, of which the system keeps the last byte.
        number = -status if status is not None and status < 0 else 256 - status if status else 0
        return signal.Signals(number).name if number in set(signal.Signals) else None

    def call(self, message: Mapping[str, Any]) -> tuple[int, Future[dict[str, Any]]]:
        """Ask; the question's number (to abort it by) and the future of its answer."""
        number = next(self._ids)
        future: Future[dict[str, Any]] = Future()
        with self._lock:
            if self._dead:
                future.set_exception(WorkerDied())
                return number, future
            self._waiting[number] = future
        self.send({"id": number, **message})
        return number, future

    def send(self, message: Mapping[str, Any]) -> None:
        """Tell the worker something that has no answer."""
        self._outbox.put(json.dumps(message, separators=(",", ":")).encode() + b"\n")

    def close(self, timeout: float = 20.0) -> None:
        """Ask the worker to leave, then end it; blocks until its tree is gone. Idempotent."""
        self.send({"op": "close"})
        try:
            self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            self._process.terminate()  # the supervisor ends the tree on SIGTERM
        try:
            self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._outbox.put(None)
        self._reader.join(timeout)
        self._writer.join(timeout)

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                try:
                    message = json.loads(line)
                except ValueError:
                    continue  # something printed before the worker took its stdout for itself
                with self._lock:
                    future = self._waiting.pop(message["id"], None)
                if future is not None:
                    _resolve(future, message)
        self._process.wait()
        with self._lock:
            self._dead = True
            waiting = list(self._waiting.values())
            self._waiting.clear()
        for future in waiting:
            _resolve(future, None)

    def _write(self) -> None:
        assert self._process.stdin is not None
        try:
            with self._process.stdin as pipe:
                while (line := self._outbox.get()) is not None:
                    pipe.write(line)
                    if self._outbox.empty():
                        pipe.flush()
        except (BrokenPipeError, ValueError):
            return  # the worker is gone; the reader tells everybody


def _spawn(command: list[str], env: dict[str, str], log: Any) -> subprocess.Popen[bytes]:
    """Start in a session of its own, with the job's signals blocked until the supervisor ignores them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, JOB_SIGNALS)
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env=env,
            start_new_session=True,
        )
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _resolve(future: Future[dict[str, Any]], message: dict[str, Any] | None) -> None:
    try:
        if message is None:
            future.set_exception(WorkerDied())
        else:
            future.set_result(message)
    except (InvalidStateError, RuntimeError):
        return  # whoever asked has gone: cancelled, or its event loop is closed
