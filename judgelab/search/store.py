"""The evidence store: every search that was answered, kept to be judged on again, and shared as one file.

Invariant: `<folder>/<engine>/evidence-*.jsonl`, append-only, one writer a file; an error is never kept, and a file
from elsewhere is taken whole or not at all.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from judgelab.errors import JudgelabError, UsageError
from judgelab.journal import writer_name
from judgelab.records import canonical_json, content_hash
from judgelab.search.base import SearchResponse
from judgelab.search.evidence import Evidence, read_row
from judgelab.shelf import Shelf

STEM = "evidence"
HEADER = "judgelab evidence"
FORMAT = 1


class EvidenceStore:
    """The evidence of one engine, whatever its settings. Of several answers to one key the newest counts."""

    def __init__(self, folder: Path, engine: str) -> None:
        self.engine = engine
        self._shelf = Shelf(folder / engine, STEM)

    def get(self, key: str) -> SearchResponse | None:
        """The answer kept under `key`, with `recorded` set."""
        place = self._shelf.find(key)
        if place is None:
            return None
        try:
            return read_row(place.read()).response
        except ValueError as error:
            raise JudgelabError(
                f"{place.folder / place.position.segment}: the row at byte {place.position.offset}: {error}"
            ) from error

    def put(self, evidence: Evidence) -> None:
        """Keep an answer; it is on disk when this returns. ValueError for one that failed."""
        if not evidence.response.status.answered:
            raise ValueError("a failed search is no evidence")
        self._shelf.put(evidence.row())

    def rows(self) -> Iterator[Mapping[str, Any]]:
        """Every row that counts, in the order of keys."""
        return (place.read() for place in self._shelf.places())

    def close(self) -> None:
        """Close this process's file; idempotent."""
        self._shelf.close()


def older(response: SearchResponse, days: int) -> bool:
    """Whether a response was fetched more than so many days ago."""
    return datetime.now(UTC) - datetime.fromisoformat(response.fetched_at) > timedelta(days=days)


@dataclass(frozen=True)
class Source:
    """One engine with its settings, as evidence is kept of it. `name` tells it from the others of a store."""

    name: str
    engine: str
    identity: Mapping[str, Any]
    searches: int


def sources(folder: Path) -> tuple[Source, ...]:
    """Whose evidence a store holds, by name: the engine's, with part of a hash where its settings differ."""
    found: dict[str, dict[str, tuple[Mapping[str, Any], int]]] = {}
    for engine in _engines(folder):
        with closing(EvidenceStore(folder, engine)) as store:
            for row in store.rows():
                by_hash = found.setdefault(engine, {})
                digest = content_hash(row["identity"], 8)
                by_hash[digest] = (row["identity"], by_hash.get(digest, ({}, 0))[1] + 1)
    return tuple(
        Source(engine if len(by_hash) == 1 else f"{engine}-{digest}", engine, identity, searches)
        for engine, by_hash in sorted(found.items())
        for digest, (identity, searches) in sorted(by_hash.items())
    )


def export_evidence(store_folder: Path, file: Path) -> int:
    """Write all evidence of a store into one file, packed if its name ends in `.gz`; returns the number of searches.

    The same evidence gives the same bytes. Raises UsageError where there is none.
    """
    engines = _engines(store_folder)
    stores = [EvidenceStore(store_folder, engine) for engine in engines]
    searches = sum(1 for store in stores for _ in store.rows())
    if not searches:
        raise UsageError(f"{store_folder} holds no evidence (give the folder with --from DIR)")
    temporary = file.with_name(f".{file.name}.{writer_name()}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as raw:
            packed = file.suffix.lower() == ".gz"
            out: Any = gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0) if packed else raw
            out.write(_line({"format": HEADER, "version": FORMAT, "engines": engines, "searches": searches}))
            for store in stores:
                for row in store.rows():
                    out.write(_line(row))
            out.flush()
            if packed:
                out.close()
        temporary.replace(file)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise JudgelabError(f"cannot write {file}: {error.strerror}") from error
    return searches


def import_evidence(file: Path, store_folder: Path) -> int:
    """Take the evidence of an exported file into a store; returns how many searches were new to it.

    What the store has already stays as it is. Raises UsageError naming the first line that is damaged; nothing of
    the file is taken then.
    """
    for _ in _exported(file):
        pass  # all of it is looked at before any of it is kept
    stores: dict[str, EvidenceStore] = {}
    new = 0
    try:
        for evidence in _exported(file):
            engine = evidence.response.engine
            store = stores.setdefault(engine, EvidenceStore(store_folder, engine))
            if store.get(evidence.key) is None:
                store.put(evidence)
                new += 1
    finally:
        for store in stores.values():
            store.close()
    return new


def _engines(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("*/") if any(path.glob(f"{STEM}-*.jsonl")))


def _exported(file: Path) -> Iterator[Evidence]:
    """The rows of an exported file, each checked; UsageError naming file and line."""
    expected = found = 0
    number = 1
    try:
        with gzip.open(file) if file.suffix.lower() == ".gz" else file.open("rb") as lines:
            for number, raw in enumerate(lines, 1):
                value = json.loads(raw)
                if not isinstance(value, dict):
                    raise ValueError("an object is expected")
                if number == 1:
                    if value.get("format") != HEADER or value.get("version") != FORMAT:
                        raise ValueError(f"not a file of `judgelab search export` (format {FORMAT})")
                    expected = int(value["searches"])
                    continue
                yield read_row(value)
                found += 1
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        reason = f"not JSON: {error.msg}" if isinstance(error, json.JSONDecodeError) else str(error)
        raise UsageError(f"{file}:{number}: {reason}; nothing was imported") from error
    except (OSError, EOFError) as error:
        raise UsageError(f"{file}: cannot be read: {error}; nothing was imported") from error
    if number == 1 and not expected:
        raise UsageError(f"{file}: not a file of `judgelab search export`; nothing was imported")
    if found != expected:
        raise UsageError(f"{file}: holds {found} of its {expected} searches: it is cut; nothing was imported")


def _line(value: Mapping[str, Any]) -> bytes:
    return canonical_json(value).encode() + b"\n"
