"""A data set as a run sees it, whatever file it came from.

Invariant: items are of one kind. `content_hash` is taken of the items and persons as loaded, so two files that load
to the same content are the same data to a run, and any change of an answer, a vote or a person is a change of the run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Generic, TypeVar

from judgelab.items import GradedAnswer, Item, NuggetItem, Person
from judgelab.records import content_hash

I = TypeVar("I", bound=Item)  # noqa: E741 - the kind of item; all of one set are of one kind


@dataclass(frozen=True)
class Dataset(Generic[I]):
    """Items with the pool of persons for popularity swaps; `dropped` counts by reason the rows left out.

    `corpus` names the files to search, as given: they are looked up and read by whoever searches them.
    """

    name: str
    items: tuple[I, ...]
    persons: tuple[Person, ...]
    content_hash: str
    dropped: Mapping[str, int] = field(default_factory=dict)
    corpus: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """`questions`, `battles` (answers whose nuggets are counted) or `answers` (to be graded)."""
        match self.items[0]:
            case NuggetItem():
                return "battles"
            case GradedAnswer():
                return "answers"
            case _:
                return "questions"

    @classmethod
    def of(
        cls,
        name: str,
        items: tuple[I, ...],
        persons: tuple[Person, ...] = (),
        dropped: Mapping[str, int] | None = None,
        corpus: tuple[str, ...] = (),
    ) -> Dataset[I]:
        """The dataset with the hash of its own content; name, dropped rows and corpus are no part of it."""
        content = {"items": [asdict(item) for item in items], "persons": [asdict(p) for p in persons]}
        return cls(name, items, persons, content_hash(content), dropped or {}, corpus)
