"""FreshQA: questions by how soon their answer goes stale, as published in CSV.

Invariant: every item has a freshness and a premise that holds. Questions with a false premise have a rebuttal
for an answer, which no entity can replace; they are dropped and counted.
"""

from __future__ import annotations

from pathlib import Path

from judgelab.data.files import read_csv
from judgelab.data.rows import BadFieldError, Dropped, Loaded, Row, collect_items
from judgelab.items import QAItem

FACT_TYPES = {"never-changing": "never", "slow-changing": "slow", "fast-changing": "fast"}
ANSWERS = tuple(f"answer_{i}" for i in range(10))
COLUMNS = ("id", "question", "false_premise", "fact_type", "answer_0")
_TRUTH = {"TRUE": True, "True": True, "FALSE": False, "False": False}


def load_freshqa(path: Path) -> Loaded[QAItem]:
    """The questions of a FreshQA release; some carry notices above the header, which are passed over.

    `answer_0` is the reference and the other filled `answer_*` are right too. Answers are those of the
    release's date: a frozen reference, not today's truth.
    """
    return collect_items(path, read_csv(path, COLUMNS, banner=True), _item)


def _item(row: Row) -> QAItem | Dropped:
    item_id = row.identity("id")
    if item_id is None:
        raise BadFieldError("id", "missing")
    freshness = row.choice("fact_type", FACT_TYPES)
    false_premise = row.choice("false_premise", _TRUTH)
    filled = [row.text(ANSWERS[0])]
    filled += [answer for name in ANSWERS[1:] if (answer := row.optional_text(name)) is not None]
    item = QAItem(item_id, row.text("question"), tuple(dict.fromkeys(filled)), freshness=freshness)
    return Dropped("false premise") if false_premise else item
