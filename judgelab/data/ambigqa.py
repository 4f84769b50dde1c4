"""AmbigQA as published: one JSON list of questions with `annotations`, single answers or several readings.

Invariant: an answer that any annotator gave to any reading is right, since the question asked does not choose one.
"""

from __future__ import annotations

from pathlib import Path

from judgelab.data.files import read_json_list
from judgelab.data.rows import BadFieldError, Dropped, Loaded, Row, collect_items
from judgelab.items import QAItem


def load_ambigqa(path: Path) -> Loaded[QAItem]:
    """The questions of a train or dev file, full or light; questions without any answer are left out and counted."""
    return collect_items(path, read_json_list(path), _item)


def _item(row: Row) -> QAItem | Dropped:
    item_id, question = row.identity("id"), row.text("question")
    if item_id is None:
        raise BadFieldError("id", "missing")
    answers: dict[str, None] = {}
    for annotation in row.children("annotations"):
        kind = annotation.text("type")
        if kind == "singleAnswer":
            answers.update(dict.fromkeys(annotation.optional_texts("answer")))
        elif kind == "multipleQAs":
            for pair in annotation.children("qaPairs"):
                answers.update(dict.fromkeys(pair.optional_texts("answer")))
        else:
            raise BadFieldError("annotations.type", f"{kind[:40]!r} is neither singleAnswer nor multipleQAs")
    return QAItem(item_id, question, tuple(answers)) if answers else Dropped("no answer")
