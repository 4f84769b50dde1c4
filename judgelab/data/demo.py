"""The demo set: questions and persons of our own making that come with the package.

Invariant: it needs no file, no account and no network, and its facts are stable and undisputed, so that a first
run says something about the judge and not about the data.

`popularity` is a fame score from 1 (known to few) to 100 (known to everyone), given by hand; it is not page views
and is comparable only within this set. `freshness` is `never` for what cannot change and `slow` for what holds
for decades (capitals, owners, makers). Deciles of the persons are by hand, four persons each.
"""

from __future__ import annotations

from pathlib import Path

from judgelab.data.persons import load_persons
from judgelab.data.plain import load_plain
from judgelab.data.rows import Loaded
from judgelab.items import Person, QAItem

_FOLDER = Path(__file__).parent / "demo"


def load_demo() -> Loaded[QAItem]:
    """The demo questions: six entity types, at least eight of each."""
    return load_plain(_FOLDER / "questions.jsonl")


def load_demo_persons() -> tuple[Person, ...]:
    """The demo persons: half of them world-famous, half of them real but little known."""
    return load_persons(_FOLDER / "persons.jsonl")
