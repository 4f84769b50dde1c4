"""NQ-open as published: JSON lines of `question` and `answer` (a list); other fields are passed over.

Invariant: every gold answer is kept as an answer. The list may name different entities (several annotators,
several right answers), so none of it is an alias of another.
"""

from __future__ import annotations

from pathlib import Path

from judgelab.data.files import read_jsonl
from judgelab.data.rows import Loaded, Row, collect_items
from judgelab.items import QAItem
from judgelab.records import content_hash


def load_nq_open(path: Path) -> Loaded[QAItem]:
    """The questions of an NQ-open file; the set has no ids, so an id is the hash of question and answers."""
    return collect_items(path, read_jsonl(path), _item)


def _item(row: Row) -> QAItem:
    question, answers = row.text("question"), row.texts("answer")
    return QAItem(content_hash([question, answers]), question, answers)
