"""Battles of one's own, as JSON lines or CSV: two answers to a question and which of them people preferred.

Invariant: a field that is not known is an error, so that a misspelt one is not passed over in silence.
"""

from __future__ import annotations

from pathlib import Path

from judgelab.data.files import read_own
from judgelab.data.question_key import question_group
from judgelab.data.rows import Loaded, Row, collect
from judgelab.items import NuggetItem, Page, Response, Vote
from judgelab.records import content_hash

FIELDS = (
    "id",
    "question",
    "response_a",
    "response_b",
    "winner",
    "language",
    "urls",
    "pages",
    "model_a",
    "model_b",
)
PAGE_FIELDS = ("url", "title", "text")
VOTES = {vote.value: vote for vote in Vote}
_REQUIRED = ("question", "response_a", "response_b", "winner")


def load_battles(path: Path) -> Loaded[NuggetItem]:
    """The battles of a `*.jsonl` or `*.csv` file with `question`, `response_a`, `response_b` and `winner`.

    An answer may be empty. `winner` is `model_a`, `model_b`, `tie` or `tie (bothbad)`. `urls` is a list (in CSV a
    JSON list) or one address; `pages`, in JSON lines alone, a list of objects with `text` and, optionally, `title`
    and `url`. Models are called `a` and `b` where they are not named. Without `id`, the id is the hash of question,
    answers and models. Battles over the same question form a group.
    """
    return collect(path, read_own(path, "a set of battles", _REQUIRED), _item, lambda _, item: item.item_id)


def _item(row: Row) -> NuggetItem:
    row.only(FIELDS)
    question = row.text("question")
    responses = tuple(
        Response(row.optional_text(f"model_{side}") or side, row.reply(f"response_{side}")) for side in ("a", "b")
    )
    given = [part for response in responses for part in (response.system, response.text)]
    pages = (*_pages(row), *(Page(url=url) for url in row.optional_texts("urls")))
    return NuggetItem(
        row.identity("id") or content_hash([question, *given]),
        question,
        question_group(question),
        responses,
        row.choice("winner", VOTES),
        language=row.optional_text("language"),
        pages=pages,
    )


def _pages(row: Row) -> tuple[Page, ...]:
    if not row.values.get("pages"):
        return ()
    pages = []
    for page in row.children("pages"):
        page.only(PAGE_FIELDS)
        pages.append(Page(page.optional_text("url") or "", page.optional_text("title") or "", page.text("text")))
    return tuple(pages)
