"""Servers that jobs of one user find through a shared folder: who serves which judge, where, and whether it lives.

Invariant: an entry is its server's own word and is renewed while the server lives; one that is old is ignored, so a
killed server needs nobody to clean up after it. Keys are in files that their owner alone can read.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from types import TracebackType

from judgelab.errors import JudgelabError
from judgelab.journal import writer_name

BEAT = 10.0  # seconds between renewals
SILENCE = 60.0  # seconds without one after which an entry is dead: clocks of nodes and NFS caches differ a little


@dataclass(frozen=True)
class Endpoint:
    """A server of a judge: `weights` identify what it serves, `key` is what it asks of clients, `state` is `loading`
    or `ready`. `beat` is the time of the last renewal (seconds since the epoch)."""

    url: str
    judge: str
    weights: str
    key: str
    state: str
    host: str
    pid: int
    job: str | None
    beat: float


class Entry:
    """A file in the registry that is renewed in the background until it is closed, and gone then."""

    def __init__(self, folder: Path, stem: str, values: Endpoint | None = None) -> None:
        self._path = folder / f"{stem}-{writer_name()}.json"
        self._values = values
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._renew, name="judgelab-registry", daemon=True)

    def __enter__(self) -> Entry:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._write()
        except OSError as error:
            raise JudgelabError(f"cannot write {self._path}: {error.strerror} (knob: engine.registry)") from error
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()
        self._path.unlink(missing_ok=True)

    def ready(self) -> None:
        """Tell from now on that the server answers."""
        with self._lock:
            assert self._values is not None
            self._values = replace(self._values, state="ready")
        self._write()

    def _renew(self) -> None:
        while not self._stop.wait(BEAT):
            with contextlib.suppress(OSError):  # a file system that is away for a moment; the next beat tries again
                self._write()

    def _write(self) -> None:
        with self._lock:
            values = {} if self._values is None else asdict(replace(self._values, beat=time.time()))
            temporary = self._path.with_name(f".{self._path.name}")
            with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
                json.dump({**values, "beat": time.time()}, file)
            temporary.replace(self._path)


def serving(folder: Path, endpoint: Endpoint) -> Entry:
    """The entry of a server."""
    return Entry(folder, f"server-{endpoint.judge}", endpoint)


def lease(folder: Path, judge: str) -> Entry:
    """The entry of a client: while any lives, servers of the judge stay."""
    return Entry(folder, f"client-{judge}")


def endpoints(folder: Path, judge: str, weights: str) -> list[Endpoint]:
    """The living servers of a judge with these weights, by address."""
    found = []
    for values in _living(folder, f"server-{judge}"):
        try:
            entry = Endpoint(**{f.name: values[f.name] for f in fields(Endpoint)})  # type: ignore[arg-type]
        except (KeyError, TypeError):
            continue
        if entry.judge == judge and entry.weights == weights:
            found.append(entry)
    return sorted(found, key=lambda each: each.url)


def clients(folder: Path, judge: str) -> int:
    """How many clients of a judge live."""
    return sum(1 for _ in _living(folder, f"client-{judge}"))


def _living(folder: Path, stem: str) -> Iterable[dict[str, object]]:
    for path in sorted(folder.glob(f"{stem}-*.json")):
        try:
            values = json.loads(path.read_text(encoding="utf-8"))
            if abs(time.time() - float(values["beat"])) <= SILENCE:
                yield values
        except (OSError, ValueError, KeyError, TypeError):
            continue  # being replaced or removed, or not ours


def this_host() -> str:
    """The name under which other nodes reach this one: its name in Slurm, or, where that is no host's, its own."""
    own = socket.gethostname()
    name = os.environ.get("SLURMD_NODENAME") or own
    with contextlib.suppress(OSError):
        socket.getaddrinfo(name, None)
        return name
    return own
