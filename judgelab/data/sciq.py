"""SciQ as published: one JSON list of questions with `correct_answer`, three distractors and a `support` text.

Invariant: the correct answer is the only answer. The distractors are wrong by design and serve nowhere here.
"""

from __future__ import annotations

from pathlib import Path

from judgelab.data.files import read_json_list
from judgelab.data.rows import Loaded, Row, collect_items
from judgelab.items import QAItem
from judgelab.records import content_hash


def load_sciq(path: Path) -> Loaded[QAItem]:
    """The questions of a SciQ file.

    The set has no ids, so an id is the hash of the row's texts: a question that comes twice with other
    distractors or another support is two items.
    """
    return collect_items(path, read_json_list(path), _item)


def _item(row: Row) -> QAItem:
    question, answer = row.text("question"), row.text("correct_answer")
    rest = [row.optional_text(name) for name in ("distractor1", "distractor2", "distractor3", "support")]
    return QAItem(content_hash([question, answer, *rest]), question, (answer,))
