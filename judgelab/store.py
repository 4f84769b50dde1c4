"""The run directory: everything a figure needs, so that scoring and reporting never need a model.

Invariant: `runs/<protocol>/<dataset>/<judge>/<hash>/`, the hash made of what may change a record and nothing else:
same science, same directory, and to launch again is to resume.
"""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judgelab.engines.cached import Tally
from judgelab.errors import JudgelabError, UsageError
from judgelab.journal import JournalWriter, Line, damaged, read_journal, segments, write_atomic
from judgelab.last import Last
from judgelab.lock import held
from judgelab.records import Record, content_hash

if TYPE_CHECKING:
    from pydantic import TypeAdapter


Stamp = tuple[str | tuple[str, int, int], ...]


@dataclass(frozen=True)
class Science:
    """All that may change a record, as plain JSON values; its hash names the run."""

    protocol: Mapping[str, Any]
    dataset: Mapping[str, Any]
    judge: Mapping[str, Any]
    engine: Mapping[str, Any]
    limit: int | None
    seed: int
    prompts: str
    search: Mapping[str, Any] | None = None  # for protocols that search

    def plain(self) -> dict[str, Any]:
        """All of it as plain JSON values; the search only where there is one."""
        values = asdict(self)
        if self.search is None:
            del values["search"]
        return values

    def digest(self) -> str:
        """12 hex digits."""
        return content_hash(self.plain(), 12)


@dataclass(frozen=True)
class Launch:
    """One process that worked on a run: what it did and on what."""

    started: str
    seconds: float
    host: str
    shard: str | None
    ended: str  # complete, part, drained or failed
    tallies: Mapping[str, Tally] = field(default_factory=dict)
    engine: Mapping[str, str] = field(default_factory=dict)
    search: Mapping[str, Any] = field(default_factory=dict)  # searches made and replayed, age of the evidence


@cache
def _record_adapter() -> TypeAdapter[Record]:
    from pydantic import TypeAdapter

    return TypeAdapter(Record)


@cache
def _launch_adapter() -> TypeAdapter[Launch]:
    from pydantic import TypeAdapter

    return TypeAdapter(Launch)


def now() -> str:
    """UTC time, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


class RunDirectory:
    """One run on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._writer = JournalWriter(path, "records")

    @classmethod
    def open(cls, path: Path) -> RunDirectory:
        """An existing run; UsageError if `path` is none."""
        if not (path / "manifest.json").is_file():
            raise UsageError(f"{path} is not a run directory (no manifest.json in it)")
        return cls(path)

    @property
    def manifest(self) -> dict[str, Any]:
        """The manifest as written; empty before the first launch."""
        path = self.path / "manifest.json"
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except (ValueError, RecursionError) as error:
            raise _damaged_manifest(path, str(error)) from error
        if (why := _fault(found)) is not None:
            raise _damaged_manifest(path, why)
        return dict(found)

    def claim(self, science: Science, config_yaml: str, about: Mapping[str, Any]) -> None:
        """Create the directory, or check that it holds this very science.

        Raises JudgelabError naming the first field that differs.
        """
        expected = science.plain()
        with self._manifest_lock():
            manifest = self.manifest
            if not manifest:
                write_atomic(self.path / "config.yaml", config_yaml)
                self._write_manifest({"science": expected, "created": now(), **about, "launches": []})
                return
        found = manifest["science"]
        for name, value in expected.items():
            if found.get(name) != json.loads(json.dumps(value)):
                raise JudgelabError(
                    f"{self.path}: manifest.json does not match this run in {name!r}: "
                    f"it has {found.get(name)!r}, this run has {value!r}"
                )

    def lock(self, shard: str | None) -> AbstractContextManager[None]:
        """Hold the run (or one shard of it) for this process (`lock.held`)."""
        return held(self.path, shard)

    def append(self, records: Iterable[Record]) -> None:
        """Store the records of one item together; they are on disk when this returns."""
        if values := [asdict(record) for record in records]:
            self._writer.append(*values)

    def close(self) -> None:
        """Close this process's journal."""
        self._writer.close()

    def records(self) -> dict[str, Record]:
        """By record id. Of several with one id, the first scored one counts, else the last unscored one."""
        return dict(_RECORDS.get(self.stamp(), lambda: _read(self.path)))

    def stamp(self) -> Stamp:
        """What changes whenever a record is written: it tells whether something made from the records still holds."""
        found = []
        for path in segments(self.path, "records"):
            about = path.stat()
            found.append((path.name, about.st_size, about.st_mtime_ns))
        return (str(self.path.resolve()), *found)

    def add_launch(self, launch: Launch) -> None:
        """Note what this process did, in a file of its own, and renew the manifest's totals."""
        with JournalWriter(self.path, "launches") as writer:
            writer.append(asdict(launch))
        with self._manifest_lock():
            launches = [_launch(line) for line in read_journal(self.path, "launches")]
            launches.sort(key=lambda each: each.started)
            totals: dict[str, Tally] = {}
            for each in launches:
                for purpose, tally in each.tallies.items():
                    totals[purpose] = totals.get(purpose, Tally()) + tally
            manifest = self.manifest
            manifest["launches"] = [asdict(each) for each in launches]
            manifest["totals"] = {purpose: asdict(tally) for purpose, tally in sorted(totals.items())}
            self._write_manifest(manifest)

    @contextmanager
    def _manifest_lock(self) -> Iterator[None]:
        """One shard at a time reads and rewrites the manifest."""
        self.path.mkdir(parents=True, exist_ok=True)
        with (self.path / ".lock-manifest").open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def _write_manifest(self, manifest: Mapping[str, Any]) -> None:
        write_atomic(
            self.path / "manifest.json",
            json.dumps(manifest, indent=1, ensure_ascii=False, allow_nan=False) + "\n",
        )


_RECORDS: Last[Mapping[str, Record]] = Last()


def _read(path: Path) -> Mapping[str, Record]:
    found: dict[str, Record] = {}
    for line in read_journal(path, "records"):
        try:
            record = _record_adapter().validate_python(line.value)
        except ValueError as error:
            raise damaged(line.place, f"not a record: {_first_fault(error)}") from error
        known = found.get(record.record_id)
        if known is None or known.verdict is None:
            found[record.record_id] = record
    return found


def _fault(manifest: Any) -> str | None:
    """What a manifest lacks of what every reader relies on."""
    if not isinstance(manifest, dict):
        return "it is no object"
    science = manifest.get("science")
    if not isinstance(science, dict):
        return "it has no object science"
    for name in ("protocol", "dataset", "judge", "engine"):
        if not isinstance(science.get(name), dict):
            return f"it has no object science.{name}"
    for part, name in (("protocol", "name"), ("dataset", "name"), ("judge", "name"), ("engine", "kind")):
        if not isinstance(science[part].get(name), str):
            return f"science.{part}.{name} is no text"
    for name, value in (("science.seed", science.get("seed")), ("n_items", manifest.get("n_items"))):
        if not isinstance(value, int):
            return f"{name} is no whole number"
    if not isinstance(manifest.get("launches"), list):
        return "it has no list launches"
    return None


def _damaged_manifest(path: Path, why: str) -> JudgelabError:
    return JudgelabError(
        f"{path} is damaged ({why}): move it away and launch the same command again, which writes it anew and keeps "
        "the records"
    )


def _launch(line: Line) -> Launch:
    try:
        launch: Launch = _launch_adapter().validate_python(line.value)
    except ValueError as error:
        raise damaged(line.place, f"not the account of a launch: {_first_fault(error)}") from error
    return launch


def _first_fault(error: ValueError) -> str:
    """The first thing that is wrong with a value, and where in it."""
    from pydantic import ValidationError

    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(map(str, first["loc"]))
    return f"{where}: {first['msg']}" if where else str(first["msg"])


def find_runs(paths: Iterable[Path]) -> list[RunDirectory]:
    """The runs at or below each path, in path order; UsageError for a path without any."""
    found: list[RunDirectory] = []
    for path in paths:
        if not path.exists():
            raise UsageError(f"{path} does not exist")
        below = [path] if (path / "manifest.json").is_file() else sorted(m.parent for m in path.rglob("manifest.json"))
        if not below:
            raise UsageError(f"no run directory at or below {path} (none holds a manifest.json)")
        found += [RunDirectory(each) for each in below]
    return found
