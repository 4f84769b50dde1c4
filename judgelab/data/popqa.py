"""PopQA: questions made from Wikidata facts, with monthly Wikipedia page views.

Invariant: the reference is the object of the fact the question was made from, and `aliases` are that object's
own names only; further right answers (a second screenwriter) are answers.
"""

from __future__ import annotations

from pathlib import Path

from judgelab.data.files import read_csv, read_jsonl
from judgelab.data.rows import BadFieldError, Loaded, Row, collect_items
from judgelab.items import QAItem

_PERSON = ("author", "composer", "director", "father", "mother", "producer", "screenwriter")
_GPE = ("capital", "capital of", "country", "place of birth")
# The type of nearly every object of a property. The other properties (color, genre, occupation, religion,
# sport) have objects of no entity type, or of mixed ones.
TYPES = {**dict.fromkeys(_PERSON, "PERSON"), **dict.fromkeys(_GPE, "GPE")}
_COLUMNS = ("id", "question", "possible_answers", "prop", "obj", "s_pop")


def load_popqa(path: Path) -> Loaded[QAItem]:
    """The questions of the original table (`*.tsv`) or of the FlashRAG copy (any other name, JSON lines).

    Popularity is `s_pop`, the page views of the subject asked about: what a swap is set against is the memory
    of the fact, which goes with how often its subject is read about. The views of the object (`o_pop`) are not
    used; a negative count stands for an unknown one.
    """
    if path.suffix.lower() == ".tsv":
        return collect_items(path, read_csv(path, _COLUMNS, delimiter="\t"), _original)
    return collect_items(path, read_jsonl(path), _flashrag)


def _original(row: Row) -> QAItem:
    return _item(row, row, "possible_answers")


def _flashrag(row: Row) -> QAItem:
    return _item(row, row.child("metadata"), "golden_answers")


def _item(row: Row, fact: Row, answers_field: str) -> QAItem:
    item_id = row.identity("id")
    if item_id is None:
        raise BadFieldError("id", "missing")
    reference = fact.text("obj")
    aliases = tuple(alias for alias in fact.optional_texts("o_aliases") if alias != reference)
    names = (reference, *aliases)
    others = tuple(answer for answer in row.texts(answers_field) if answer not in names)
    views = fact.optional_number("s_pop")
    return QAItem(
        item_id,
        row.text("question"),
        (reference, *others),
        aliases,
        entity_type=TYPES.get(fact.text("prop")),
        popularity=views if views is not None and views >= 0 else None,
    )
