"""The demo sets: questions, persons, battles, graded answers and a corpus of our own making, part of the package.

Invariant: it needs no file, no account and no network, and its facts are stable and undisputed, so that a first
run says something about the judge and not about the data.

`popularity` is a fame score from 1 (known to few) to 100 (known to everyone), given by hand; it is not page views
and is comparable only within this set. `freshness` is `never` for what cannot change and `slow` for what holds
for decades (capitals, owners, makers). Deciles of the persons are by hand, four persons each. Votes and verdicts of the
battles and answers are ours as well: they show how the figures are made and are no one's survey.
"""

from __future__ import annotations

from pathlib import Path

from judgelab.data.answers import load_answers
from judgelab.data.battles import load_battles
from judgelab.data.persons import load_persons
from judgelab.data.plain import load_plain
from judgelab.data.rows import Loaded
from judgelab.items import GradedAnswer, NuggetItem, Person, QAItem

_FOLDER = Path(__file__).parent / "demo"
DEMO_CORPUS = _FOLDER / "corpus.jsonl"


def load_demo() -> Loaded[QAItem]:
    """The demo questions: six entity types, at least eight of each."""
    return load_plain(_FOLDER / "questions.jsonl")


def load_demo_persons() -> tuple[Person, ...]:
    """The demo persons: half of them world-famous, half of them real but little known."""
    return load_persons(_FOLDER / "persons.jsonl")


def load_demo_battles() -> Loaded[NuggetItem]:
    """The demo battles: two answers of unlike completeness to each question, votes of all four kinds, three languages;
    one answer is empty, one pair is equal, and some battles have no pages."""
    return load_battles(_FOLDER / "battles.jsonl")


def load_demo_answers() -> Loaded[GradedAnswer]:
    """The demo answers: right and wrong ones by several systems, whose evidence is in DEMO_CORPUS."""
    return load_answers(_FOLDER / "answers.jsonl")
