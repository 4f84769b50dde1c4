"""Append-only JSONL files, one writer each: how anything that must survive a kill is written.

Invariant: lines are written whole, by one system call, and never changed; a torn last line is as if it had not been
written. So a reader may look at any time, and what was finished stays finished.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import secrets
import socket
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from judgelab.errors import JudgelabError
from judgelab.records import canonical_json


@dataclass(frozen=True, order=True)
class Position:
    """Where a line starts: file name, then byte offset. The order is the same for every reader."""

    segment: str
    offset: int


@dataclass(frozen=True)
class Line:
    """One whole line, where it stands for a reader of the journal (`position`) and for a person (`place`)."""

    position: Position
    value: Mapping[str, Any]
    place: str


def writer_name() -> str:
    """A file-name part that no other writer has: host, process and a random tail."""
    return f"{socket.gethostname().split('.')[0]}-{os.getpid()}-{secrets.token_hex(3)}"


class JournalWriter:
    """Appends to a file of its own, opened at the first line so that idle writers leave no file behind."""

    def __init__(self, folder: Path, stem: str) -> None:
        self.path = folder / f"{stem}-{writer_name()}.jsonl"
        self._fd: int | None = None
        self._offset = 0
        self._broken: str | None = None

    def append(self, *values: Mapping[str, Any]) -> Position:
        """Write lines that belong together, in one step; returns where the first starts.

        Raises JudgelabError (a full disk, say) and refuses every later line then.
        """
        if self._broken:
            raise JudgelabError(self._broken)
        data = b"".join(canonical_json(value).encode() + b"\n" for value in values)
        try:
            if self._fd is None:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                self._fd = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o666)
            written = os.write(self._fd, data)
            if written != len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            # A torn line must stay the last one of its file, or the reader would take two lines for a bad one.
            self._broken = (
                f"cannot write {self.path}: {error.strerror}; finished work is kept: free space (or set runs_dir= "
                "and cache_dir= elsewhere) and launch again"
            )
            raise JudgelabError(self._broken) from error
        position = Position(self.path.name, self._offset)
        self._offset += len(data)
        return position

    def close(self) -> None:
        """Flush to the device and close; idempotent."""
        if self._fd is not None:
            with contextlib.suppress(OSError):  # the lines are in the file; a device that cannot sync keeps them too
                os.fsync(self._fd)
            os.close(self._fd)
            self._fd = None

    def __enter__(self) -> JournalWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def segments(folder: Path, stem: str) -> list[Path]:
    """The files of a journal in the order every reader takes them."""
    return sorted(folder.glob(f"{stem}*.jsonl"), key=lambda path: path.name)


def read_segment(path: Path, bad: Callable[[str], None] | None = None) -> Iterator[Line]:
    """The whole lines of one file; a torn tail is skipped.

    A broken line before it is an error that names its place and the way out, or is handed to `bad` and left out.
    """
    offset = 0
    with path.open("rb") as file:
        for number, raw in enumerate(file, 1):
            if raw.endswith(b"\n"):
                try:
                    value = json.loads(raw)
                except (ValueError, RecursionError):
                    value = None
                if isinstance(value, dict):
                    yield Line(Position(path.name, offset), value, f"{path}:{number}")
                elif bad is not None:
                    bad(f"{path}:{number}")
                else:
                    raise damaged(
                        f"{path}:{number}", f"not a line this program wrote: {raw[:40].decode(errors='replace')!r}"
                    )
            offset += len(raw)


def damaged(place: str, why: str) -> JudgelabError:
    """The error for a line that holds something else than it should, with the way out."""
    number = place.rpartition(":")[2]
    return JudgelabError(f"{place}: {why[:300]}; delete line {number} and launch again: what it held is made anew")


def read_journal(folder: Path, stem: str) -> Iterator[Line]:
    """Every whole line of a journal, in (segment, offset) order."""
    for path in segments(folder, stem):
        yield from read_segment(path)


def write_atomic(path: Path, text: str) -> None:
    """Replace `path` in one step, so that a reader sees the old text or the new one."""
    temporary = path.with_name(f".{path.name}.{writer_name()}")
    try:
        try:
            temporary.write_text(text, encoding="utf-8")
        except FileNotFoundError:  # mostly the folder is there, and asking first asks a shared file system
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise JudgelabError(f"cannot write {path}: {error.strerror}; free space or choose another runs_dir=") from error
