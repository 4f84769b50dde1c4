"""Who works on a run: one process, or the shards of one split side by side.

Invariant: a lock is the system's and ends with its process, however that ends; nobody has to clean up.
"""

from __future__ import annotations

import fcntl
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

from judgelab.errors import JudgelabError

TRIES, PAUSE = 50, 0.2  # of a shard, seconds between them: another one may just be writing down what the split is


@contextmanager
def held(run: Path, shard: str | None) -> Iterator[None]:
    """Hold a run directory, or its shard `k/n`, for this process; raises JudgelabError that names who holds it.

    Shards of one split hold it together; the whole run, or another split, would do their items again.
    """
    run.mkdir(parents=True, exist_ok=True)
    split = shard.partition("/")[2] if shard else None
    with (run / ".lock").open("a+", encoding="utf-8") as whole:
        for attempt in range(1 if split is None else TRIES):
            if attempt:
                time.sleep(PAUSE)
            if _take(whole, split):
                break
        else:
            raise _taken(run, whole)
        if shard is None:
            yield
            return
        with (run / f".lock-{shard.replace('/', '-of-')}").open("a+", encoding="utf-8") as part:
            if not _take(part, None):
                raise _taken(run, part)
            yield


def _take(file: TextIO, split: str | None) -> bool:
    """Lock a file for this process alone, or with others of the same `split`; the first writes down who it is."""
    mine = f"{split} shards, the first " if split else ""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.seek(0)
        if not mine or not file.read().startswith(mine):
            return False
    else:
        since = datetime.now(UTC).isoformat(timespec="seconds")
        file.truncate(0)
        file.write(f"{mine}process {os.getpid()} on {socket.gethostname()} since {since}")
        file.flush()
        if not mine:
            return True
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _taken(run: Path, file: TextIO) -> JudgelabError:
    file.seek(0)
    return JudgelabError(
        f"{run} is being worked on by {file.read().strip() or 'another process'}; wait for it, or split the run with "
        "shard=k/n, the same n for all"
    )
