"""A question set as a run sees it, whatever file it came from.

Invariant: `content_hash` is taken of the items and persons as loaded, so two files that load to the same content
are the same data to a run, and any change of an answer, an alias or a person is a change of the run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from judgelab.items import Person, QAItem
from judgelab.records import content_hash


@dataclass(frozen=True)
class Dataset:
    """Items with the pool of persons for popularity swaps; `dropped` counts by reason the rows left out."""

    name: str
    items: tuple[QAItem, ...]
    persons: tuple[Person, ...]
    content_hash: str
    dropped: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        name: str,
        items: tuple[QAItem, ...],
        persons: tuple[Person, ...] = (),
        dropped: Mapping[str, int] | None = None,
    ) -> Dataset:
        """The dataset with the hash of its own content; the name and the dropped rows are no part of it."""
        content = {"items": [asdict(item) for item in items], "persons": [asdict(p) for p in persons]}
        return cls(name, items, persons, content_hash(content), dropped or {})
