"""What each process of a run is doing, in small files beside the records.

Invariant: a status is the process's own word, renewed while it works; one that says `running` and is old means that
its process died without a word, whatever the cluster says of the job.
"""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

from judgelab.errors import Drained, JudgelabError
from judgelab.journal import write_atomic
from judgelab.store import now

RENEWAL = 60.0  # seconds between two writes while items end
STALE = 900.0  # seconds after which a `running` process that says nothing counts as dead


@dataclass(frozen=True)
class Status:
    """One process of a run: `state` is running, complete, part (its shard is done, others are not), drained or
    failed; `done` of `items` items were judged in this launch."""

    state: str
    shard: str | None
    host: str
    pid: int
    job: str | None
    restarts: int
    started: str
    updated: str
    done: int = 0
    items: int = 0
    error: str = ""

    def stale(self, seconds: float = STALE) -> bool:
        """Whether it claims to run and has said nothing for so long that it must have died."""
        age = datetime.now(UTC) - datetime.fromisoformat(self.updated)
        return self.state == "running" and age.total_seconds() > seconds

    def line(self) -> str:
        """`running: shard 3/8, 40 of 125 items, job 17 on node3, last heard 2026-01-02T03:04:05+00:00`."""
        parts = [f"shard {self.shard}"] if self.shard else []
        parts += [f"{self.done} of {self.items} items"] if self.items else []
        parts += [f"job {self.job}" if self.job else f"process {self.pid}"]
        state = "died without a word" if self.stale() else self.state
        error = f": {self.error}" if self.error else ""
        return f"{state}{error} ({', '.join(parts)} on {self.host}, last heard {self.updated})"


class Watch:
    """Writes one process's status: `running` on entry, how it ended on exit."""

    def __init__(self, run: Path, shard: str | None) -> None:
        name = "status.json" if shard is None else f"status-{shard.replace('/', '-of-')}.json"
        self._path = run / name
        self._status = Status(
            state="running",
            shard=shard,
            host=socket.gethostname(),
            pid=os.getpid(),
            job=os.environ.get("SLURM_JOB_ID"),
            restarts=int(os.environ.get("SLURM_RESTART_COUNT") or 0),
            started=now(),
            updated=now(),
        )
        self._written = 0.0

    def update(self, done: int, items: int) -> None:
        """Renew the file, at most once in `RENEWAL` seconds."""
        self._status = replace(self._status, done=done, items=items)
        if time.monotonic() - self._written >= RENEWAL:
            self._write()

    def __enter__(self) -> Watch:
        self._write()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        state = "complete" if error is None else "drained" if isinstance(error, Drained) else "failed"
        told = ""
        if state == "failed":
            told = str(error) if isinstance(error, JudgelabError) else f"{type(error).__name__}: {error}"
        self._status = replace(self._status, state=state, error=" ".join(told.split())[:500])
        self._write()

    def _write(self) -> None:
        self._status = replace(self._status, updated=now())
        self._written = time.monotonic()
        write_atomic(self._path, json.dumps(asdict(self._status), indent=1) + "\n")


def statuses(run: Path) -> list[Status]:
    """The status of every process that worked on a run, by shard."""
    found = []
    for path in sorted(run.glob("status*.json")):
        try:
            found.append(_status(json.loads(path.read_text(encoding="utf-8"))))
        except (OSError, ValueError, TypeError):
            continue  # being replaced, or not ours
    return found


def _status(values: Mapping[str, Any]) -> Status:
    return Status(**{f.name: values[f.name] for f in fields(Status) if f.name in values})
