"""What there is to judge, as the loaders hand it over: one frozen dataclass a kind of item.

Invariant: an item is data alone. It knows what people said of it and never what a judge will say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


@dataclass(frozen=True)
class QAItem:
    """A question with its gold answers. `answers[0]` is the reference; all of `answers` and `aliases` are right."""

    item_id: str
    question: str
    answers: tuple[str, ...]
    aliases: tuple[str, ...] = ()
    entity_type: str | None = None
    popularity: float | None = None
    freshness: str | None = None

    @property
    def reference(self) -> str:
        """The answer that serves as original reference."""
        return self.answers[0]

    @property
    def right(self) -> tuple[str, ...]:
        """Every string that a swap must neither equal, contain nor be contained in."""
        return (*self.answers, *self.aliases)


@dataclass(frozen=True)
class Person:
    """A person for popularity swaps; `decile` 0 (obscure) to 9 (famous) within its pool."""

    name: str
    aliases: tuple[str, ...]
    popularity: float
    decile: int


class Vote(StrEnum):
    """Which of two answers people preferred; `BOTHBAD` is a tie between answers that are both poor."""

    MODEL_A = "model_a"
    MODEL_B = "model_b"
    TIE = "tie"
    BOTHBAD = "tie (bothbad)"


@dataclass(frozen=True)
class Page:
    """A source that an answer rests on. `text` is None where it must be fetched from `url`."""

    url: str = ""
    title: str = ""
    text: str | None = None


@dataclass(frozen=True)
class GivenNugget:
    """A nugget that people wrote. `importance` is `vital` or `okay`, None where nobody said."""

    text: str
    importance: str | None = None


@dataclass(frozen=True)
class Response:
    """One system's answer. `labels` are people's assignments, one a nugget of the item's `nuggets`, or none."""

    system: str
    text: str
    labels: tuple[str, ...] = ()


@dataclass(frozen=True)
class NuggetItem:
    """A question with the answers whose recall of facts is measured: two are a battle, one is a plain answer.

    `group` names what is drawn together when questions are resampled and what never spans two folds: the question
    or topic. `votes` counts single votes where several people voted; `vote` is then what the set made of them.
    """

    item_id: str
    question: str
    group: str
    responses: tuple[Response, ...]
    vote: Vote | None = None
    votes: Mapping[str, int] = field(default_factory=dict)
    language: str | None = None
    pages: tuple[Page, ...] = ()
    nuggets: tuple[GivenNugget, ...] = ()


@dataclass(frozen=True)
class GradedAnswer:
    """A system's answer to a question, with what people said of it.

    `answers` are gold answers, `human` the people's verdict (majority or adjudicated), `annotators` single people's,
    `published` verdicts of judges that the data set came with (name -> verdict). `context` is the gold paragraph.
    """

    item_id: str
    question: str
    group: str
    candidate: str
    system: str = ""
    answers: tuple[str, ...] = ()
    human: bool | None = None
    annotators: tuple[bool, ...] = ()
    published: Mapping[str, bool] = field(default_factory=dict)
    context: str | None = None


Item = QAItem | NuggetItem | GradedAnswer
