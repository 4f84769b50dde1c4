"""TriviaQA as published: one JSON object whose `Data` lists questions with an `Answer` and its aliases.

Invariant: aliases are other names of the one answer, so they are aliases here. Questions of a test file, whose answers
are withheld, are left out and counted.
"""

from __future__ import annotations

from pathlib import Path

from judgelab.data.files import read_json_member
from judgelab.data.rows import BadFieldError, Dropped, Loaded, Row, collect_items
from judgelab.items import QAItem


def load_triviaqa(path: Path) -> Loaded[QAItem]:
    """The questions of a rc, verified or unfiltered file."""
    return collect_items(path, read_json_member(path, "Data"), _item)


def _item(row: Row) -> QAItem | Dropped:
    item_id, question = row.identity("QuestionId"), row.text("Question")
    if item_id is None:
        raise BadFieldError("QuestionId", "missing")
    if row.values.get("Answer") is None:
        return Dropped("answer withheld")
    answer = row.child("Answer")
    value = answer.text("Value")
    return QAItem(item_id, question, (value,), tuple(a for a in answer.optional_texts("Aliases") if a != value))
