"""Rows of an append-only journal, found by key and read back one at a time.

Invariant: memory holds where rows stand and never the rows, so a shelf may be larger than memory. Of several rows
with one key the newest counts, of equally new ones that at the smallest (segment, offset): the same for every reader.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from judgelab.errors import JudgelabError
from judgelab.journal import JournalWriter, Position, read_segment, segments


@dataclass(frozen=True)
class Place:
    """Where the row of a key stands, and when it was fetched (UTC, ISO 8601 to the second)."""

    folder: Path
    position: Position
    fetched_at: str

    def read(self) -> Mapping[str, Any]:
        """The row."""
        with (self.folder / self.position.segment).open("rb") as file:
            file.seek(self.position.offset)
            row: Mapping[str, Any] = json.loads(file.readline())
        return row


class Shelf:
    """Rows `{"key": str, "fetched_at": str, ...}` in `<folder>/<stem>-*.jsonl`, looked up when first needed."""

    def __init__(self, folder: Path, stem: str) -> None:
        self.folder = folder
        self._stem = stem
        self._writer = JournalWriter(folder, stem)
        self._places: dict[str, Place] | None = None

    def find(self, key: str) -> Place | None:
        """Where the row that counts for `key` stands, if there is one."""
        return self._known().get(key)

    def places(self) -> Iterator[Place]:
        """Where the rows that count stand, in the order of their keys."""
        known = self._known()
        return (known[key] for key in sorted(known))

    def put(self, row: Mapping[str, Any]) -> None:
        """Append a row; it is on disk when this returns."""
        known = self._known()
        _keep(known, row["key"], Place(self.folder, self._writer.append(row), row["fetched_at"]))

    def close(self) -> None:
        """Close this process's segment; idempotent."""
        self._writer.close()

    def _known(self) -> dict[str, Place]:
        if self._places is None:
            places: dict[str, Place] = {}
            for path in segments(self.folder, self._stem):
                for line in read_segment(path):
                    try:
                        key, fetched_at = str(line.value["key"]), str(line.value["fetched_at"])
                    except (LookupError, TypeError) as error:
                        raise JudgelabError(f"{path}: the row at byte {line.position.offset} is not ours") from error
                    _keep(places, key, Place(self.folder, line.position, fetched_at))
            self._places = places
        return self._places


def _keep(places: dict[str, Place], key: str, place: Place) -> None:
    known = places.get(key)
    if (
        known is None
        or place.fetched_at > known.fetched_at
        or (place.fetched_at == known.fetched_at and place.position < known.position)
    ):
        places[key] = place
