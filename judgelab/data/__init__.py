"""Published question sets and sets of one's own, one file a format; the rest of the program sees `Dataset` alone.

Invariant: a set loads whole or not at all. Every refusal is one line that names the file, the line, the field and
the reason, and rows left out on purpose are counted in `Dataset.dropped`.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

from judgelab.data.dataset import Dataset
from judgelab.data.demo import load_demo, load_demo_persons
from judgelab.data.files import locate
from judgelab.data.freshqa import load_freshqa
from judgelab.data.nq_open import load_nq_open
from judgelab.data.nq_typed import load_nq_typed
from judgelab.data.persons import load_persons
from judgelab.data.plain import load_plain
from judgelab.data.popqa import load_popqa
from judgelab.data.rows import Loaded
from judgelab.data.sciq import load_sciq
from judgelab.errors import UsageError
from judgelab.items import Person, QAItem
from judgelab.settings import DatasetConfig

__all__ = ["Dataset", "load"]

_FORMATS = ("demo", "nq_open", "nq_typed", "popqa", "freshqa", "sciq", "plain")


def load(settings: DatasetConfig) -> Dataset[Any]:
    """The question set that `settings` names, with its persons.

    Raises UsageError, in one line, for a missing file, a bad row, a repeated id, an empty set, an unknown format.
    """
    items = _items(settings)
    return Dataset.of(settings.name, items.values, _persons(settings), items.dropped)


def _items(settings: DatasetConfig) -> Loaded[QAItem]:
    match settings.format:
        case "demo":
            if settings.path is not None:
                raise UsageError(
                    f"dataset.path={settings.path}: the demo set takes no file "
                    "(for a file of your own: dataset=plain dataset.path=FILE)"
                )
            return load_demo()
        case "nq_open":
            return load_nq_open(locate(settings.path, "dataset.path"))
        case "nq_typed":
            return load_nq_typed(locate(settings.path, "dataset.path"))
        case "popqa":
            return load_popqa(locate(settings.path, "dataset.path"))
        case "freshqa":
            return load_freshqa(locate(settings.path, "dataset.path"))
        case "sciq":
            return load_sciq(locate(settings.path, "dataset.path"))
        case "plain":
            return load_plain(locate(settings.path, "dataset.path"))
        case unknown:
            near = get_close_matches(unknown, _FORMATS, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise UsageError(
                f"dataset.format={unknown}: unknown format{hint} (knob: dataset.format, one of {', '.join(_FORMATS)})"
            )


def _persons(settings: DatasetConfig) -> tuple[Person, ...]:
    if settings.persons is not None:
        return load_persons(locate(settings.persons, "dataset.persons"))
    return load_demo_persons() if settings.format == "demo" else ()
