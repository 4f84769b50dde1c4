"""HotpotQA as published: one JSON list of questions with `answer`, `context` and `supporting_facts`.

Invariant: the gold paragraph of a question is every paragraph that a supporting fact names, and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from judgelab.data.files import read_json_list
from judgelab.data.question_key import question_key
from judgelab.data.rows import BadFieldError, Dropped, Loaded, Row, collect, collect_items
from judgelab.items import QAItem


def load_hotpotqa(path: Path) -> Loaded[QAItem]:
    """The questions of a train or dev file, distractor or fullwiki; test files hold no answers and do not load."""
    return collect_items(path, read_json_list(path), _item)


def hotpotqa_paragraphs(path: Path) -> Mapping[str, str]:
    """The supporting paragraphs of each question, joined, by question key; questions without any are absent."""

    def parse(row: Row) -> tuple[str, str] | Dropped:
        facts = _pairs(row, "supporting_facts")
        titles = {title for title, _ in facts}
        texts = [_joined(title, sentences) for title, sentences in _pairs(row, "context") if title in titles]
        return (question_key(row.text("question")), "\n".join(texts)) if texts else Dropped("no paragraph")

    return dict(collect(path, read_json_list(path), parse, lambda row, _: row.where).values)


def _item(row: Row) -> QAItem:
    item_id = row.identity("_id")
    if item_id is None:
        raise BadFieldError("_id", "missing")
    return QAItem(item_id, row.text("question"), (row.text("answer"),))


def _pairs(row: Row, field: str) -> list[tuple[str, object]]:
    value = row.values.get(field)
    if not isinstance(value, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in value):
        raise BadFieldError(field, "a list of pairs is expected")
    return [(str(title), rest) for title, rest in value]


def _joined(title: str, sentences: object) -> str:
    if not isinstance(sentences, list) or not all(isinstance(sentence, str) for sentence in sentences):
        raise BadFieldError("context", f"the paragraph {title[:40]!r} is not a list of sentences")
    return "".join(sentences).strip()
