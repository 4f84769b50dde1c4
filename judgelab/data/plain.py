"""A question set of one's own, as JSON lines or CSV.

Invariant: a field that is not known is an error, because a misspelt `aliases` that is passed over in silence
would let a swap equal a right answer.
"""

from __future__ import annotations

from pathlib import Path

from judgelab.data.entity import ENTITY_TYPES, FRESHNESS
from judgelab.data.files import read_own
from judgelab.data.rows import Loaded, Row, collect_items
from judgelab.items import QAItem
from judgelab.records import content_hash

FIELDS = ("id", "question", "answers", "aliases", "type", "popularity", "freshness")
_TYPES: dict[str, str] = {name: name for name in ENTITY_TYPES}
_FRESHNESS: dict[str, str] = {name: name for name in FRESHNESS}


def load_plain(path: Path) -> Loaded[QAItem]:
    """The questions of a `*.jsonl` or `*.csv` file with `question` and `answers`; the other FIELDS are optional.

    `answers` and `aliases` are a list, or a text: one that begins with `[` is read as a JSON list, any other is
    one answer. The first answer is the reference. `type` is an OntoNotes label, `popularity` a number that is
    not negative, `freshness` never, slow or fast. Without `id`, the id is the hash of question and answers.
    """
    return collect_items(path, read_own(path, "a plain set", ("question", "answers")), _item)


def _item(row: Row) -> QAItem:
    row.only(FIELDS)
    question, answers = row.text("question"), row.texts("answers")
    return QAItem(
        row.identity("id") or content_hash([question, answers]),
        question,
        answers,
        row.optional_texts("aliases"),
        entity_type=_optional(row, "type", _TYPES),
        popularity=row.popularity("popularity"),
        freshness=_optional(row, "freshness", _FRESHNESS),
    )


def _optional(row: Row, name: str, choices: dict[str, str]) -> str | None:
    return None if row.optional_text(name) is None else row.choice(name, choices)
