"""Published data sets and sets of one's own, one file a format; the rest of the program sees `Dataset` alone.

Invariant: a set loads whole or not at all. Every refusal is one line that names the file, the line, the field and
the reason, and rows left out on purpose are counted in `Dataset.dropped`.
"""

from __future__ import annotations

from typing import Any

from judgelab.data.dataset import Dataset
from judgelab.data.demo import DEMO_CORPUS, load_demo_persons
from judgelab.data.files import locate
from judgelab.data.formats import load_items
from judgelab.data.persons import load_persons
from judgelab.items import Person
from judgelab.settings import DatasetConfig

__all__ = ["Dataset", "load"]


def load(settings: DatasetConfig) -> Dataset[Any]:
    """The data set that `settings` names, with its persons; its corpus is named here and read where it is searched.

    Raises UsageError, in one line, for a missing file, a bad row, a repeated id, an empty set, an unknown format, a
    knob that the format has no use for.
    """
    items = load_items(settings)
    corpus = tuple(settings.corpus)
    if not corpus and settings.format == "demo_answers":
        corpus = (str(DEMO_CORPUS),)
    return Dataset.of(settings.name, items.values, _persons(settings), items.dropped, corpus)


def _persons(settings: DatasetConfig) -> tuple[Person, ...]:
    if settings.persons is not None:
        return load_persons(locate(settings.persons, "dataset.persons"))
    return load_demo_persons() if settings.format == "demo" else ()
