"""NQ questions with the entity type of their answer: JSON lines with `answer_value` and `ner_tag`.

Invariant: every item has one of the 18 types. Rows whose answer names no entity (`NAN`) are dropped, as in
arXiv 2601.07506, and counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from judgelab.data.entity import ENTITY_TYPES, NOT_AN_ENTITY
from judgelab.data.files import read_jsonl
from judgelab.data.question_key import question_key
from judgelab.data.rows import BadFieldError, Dropped, Loaded, Row, collect, collect_items
from judgelab.items import QAItem

_TAGS = {tag: tag for tag in (*ENTITY_TYPES, NOT_AN_ENTITY)}


def load_nq_typed(path: Path) -> Loaded[QAItem]:
    """The typed questions of a file with `question_id`, `question`, `answer_value`, `answer_aliases`, `ner_tag`.

    The tag belongs to `answer_value`, so that is the reference. `answer_aliases` are the other gold answers,
    which may be different entities (each member of a cast), hence answers and not aliases.
    """
    return collect_items(path, read_jsonl(path), _item)


def _item(row: Row) -> QAItem | Dropped:
    item_id = row.identity("question_id")
    if item_id is None:
        raise BadFieldError("question_id", "missing")
    tag = row.choice("ner_tag", _TAGS)
    answers = dict.fromkeys((row.text("answer_value"), *row.optional_texts("answer_aliases")))
    item = QAItem(item_id, row.text("question"), tuple(answers), entity_type=tag)
    return Dropped("not an entity") if tag == NOT_AN_ENTITY else item


def nq_paragraphs(path: Path) -> Mapping[str, str]:
    """The gold paragraph (`context`) of every question of the file, whatever its type, by question key.

    Where a question has several rows, the first one's.
    """

    def parse(row: Row) -> tuple[str, str] | Dropped:
        context = row.optional_text("context")
        return Dropped("no paragraph") if context is None else (question_key(row.text("question")), context)

    pairs = collect(path, read_jsonl(path), parse, lambda row, _: row.where).values
    return dict(reversed(pairs))
