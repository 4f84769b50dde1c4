"""What was judged, as a record keeps it: all that figures and reports need beside the verdict.

Invariant: a subject repeats what it needs of the item, so that no figure ever goes back to the data set. Each kind
names the verdicts that can be given of it and the cells that its records stand in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal


@dataclass(frozen=True)
class Triplet:
    """What the swapped protocol judges: one reference beside one candidate.

    `cell` is `oo`, `os`, `so` or `ss`: whose reference, whose candidate (original or swapped). `flags` names the
    fidelity checks that the candidate failed. Empty `swapped`/`candidate` where no admissible one exists.
    """

    question: str
    reference: str
    candidate: str
    cell: str
    truth: str
    swap: str
    original: str
    swapped: str
    entity_type: str | None = None
    swapped_type: str | None = None
    popularity: float | None = None
    swapped_popularity: float | None = None
    freshness: str | None = None
    candidate_source: str = "template"
    flags: tuple[str, ...] = ()
    kind: Literal["triplet"] = "triplet"
    verdicts: ClassVar[frozenset[str]] = frozenset(("CORRECT", "INCORRECT", "NOT_ATTEMPTED"))
    cells: ClassVar[frozenset[str]] = frozenset(("oo", "os", "so", "ss"))


@dataclass(frozen=True)
class Nugget:
    """A fact that an answer may hold. `importance` is `vital`, `okay` or `failed`; `labels` has one of `support`,
    `partial_support`, `not_support`, `failed` for each answer. The `human_` ones are people's, where there are any."""

    text: str
    importance: str
    labels: tuple[str, ...]
    human_importance: str | None = None
    human_labels: tuple[str, ...] = ()


@dataclass(frozen=True)
class Window:
    """One step of the nugget creator: the list's `size` after it, how many of the earlier nuggets `survived` word by
    word, how many repeats were removed as `duplicates`, and whether the reply was `degenerate`. `failed` says why
    the window gave nothing and the list stayed as it was."""

    size: int
    survived: int
    duplicates: int = 0
    degenerate: bool = False
    failed: str = ""


@dataclass(frozen=True)
class Sheet:
    """The nuggets of one question and what each answer holds of them: `systems` and `answers` run parallel.

    `source` is where the nuggets were really taken from (after a fallback), `failures` says what failed, one line a
    window.
    """

    question: str
    group: str
    systems: tuple[str, ...]
    answers: tuple[str, ...]
    nuggets: tuple[Nugget, ...]
    source: str
    vote: str | None = None
    votes: Mapping[str, int] | None = None
    language: str | None = None
    windows: tuple[Window, ...] = ()
    removed: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()
    pages: Mapping[str, int] | None = None
    kind: Literal["sheet"] = "sheet"
    verdicts: ClassVar[frozenset[str]] = frozenset(("assigned",))
    cells: ClassVar[frozenset[str]] = frozenset(("nuggets",))


@dataclass(frozen=True)
class Duel:
    """One battle shown to the pairwise judge in one order: `first` is `a` or `b`, the answer shown first. The record's
    verdict is in terms of the battle (`model_a`, `model_b`, `tie`), whichever stood first."""

    question: str
    group: str
    systems: tuple[str, ...]
    answers: tuple[str, ...]
    first: str
    vote: str | None = None
    language: str | None = None
    kind: Literal["duel"] = "duel"
    verdicts: ClassVar[frozenset[str]] = frozenset(("model_a", "tie", "model_b"))
    cells: ClassVar[frozenset[str]] = frozenset(("ab", "ba"))


@dataclass(frozen=True)
class Profile:
    """A question rated 0 to 10 on the eight attributes of query classes; empty where it was not rated."""

    question: str
    group: str
    ratings: Mapping[str, int]
    language: str | None = None
    kind: Literal["profile"] = "profile"
    verdicts: ClassVar[frozenset[str]] = frozenset(("rated",))
    cells: ClassVar[frozenset[str]] = frozenset(("query",))


@dataclass(frozen=True)
class Evidence:
    """One search result as the judge saw it."""

    rank: int
    title: str
    text: str
    url: str


@dataclass(frozen=True)
class Step:
    """One turn of search: `status` is `ok`, `empty`, or the kind of error; `repeated` says that the query had been
    asked before and came back once. `evidence` is the summary, `stance` and `missing` the reflection."""

    query: str
    status: str
    results: tuple[Evidence, ...] = ()
    evidence: str = ""
    sources: tuple[int, ...] = ()
    stance: str = ""
    missing: str = ""
    repeated: bool = False
    fetched_at: str = ""
    engine: str = ""


@dataclass(frozen=True)
class Trial:
    """An answer put before a judge with the evidence that it was given. `human` is people's verdict, `annotators`
    single people's, `published` what judges of the data set said; all `True` or `False`."""

    question: str
    group: str
    candidate: str
    system: str = ""
    answers: tuple[str, ...] = ()
    human: bool | None = None
    annotators: tuple[bool, ...] = ()
    published: Mapping[str, bool] | None = None
    steps: tuple[Step, ...] = ()
    stopped_early: bool = False
    kind: Literal["trial"] = "trial"
    verdicts: ClassVar[frozenset[str]] = frozenset(("True", "False"))
    cells: ClassVar[frozenset[str]] = frozenset(("judged", "none", "reference"))


Subject = Triplet | Sheet | Duel | Profile | Trial
