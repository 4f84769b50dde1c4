"""Search Arena as published, v1-7k and 24k: battles between models that search the web, with people's votes.

Invariant: only battles of a single turn with a vote are kept, as in arXiv 2504.20006; what is left out is counted
under the reasons used there (`multi_turn`, `no_vote`) and, where a battle holds no question or no answer at all,
`no_question` and `no_answer`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from judgelab.data.battles import VOTES
from judgelab.data.files import read_jsonl, read_parquet
from judgelab.data.question_key import question_group
from judgelab.data.rows import BadFieldError, BadRow, Dropped, Loaded, Row, collect
from judgelab.items import NuggetItem, Page, Response

_SIDES = ("a", "b")
_COLUMNS = (
    "question_id",
    "turn",
    "winner",
    "language",
    "languages",
    *(f"{stem}_{side}" for side in _SIDES for stem in ("messages", "model")),
    *(f"system_{side}_metadata" for side in _SIDES),
)
_INDEX = "row index"  # stands in for the id that the 24k release lacks


def load_search_arena(path: Path) -> Loaded[NuggetItem]:
    """The battles of one `*.parquet` or `*.jsonl` file.

    The id is `question_id`, or the row's index from 0 where there is none (24k). Pages are the addresses that either
    model was shown, first the ones of A, each once; their texts are still to be fetched.
    """
    rows = read_parquet(path, _COLUMNS) if path.suffix.lower() == ".parquet" else read_jsonl(path)
    return collect(path, _numbered(rows), _item, lambda _, item: item.item_id)


def _numbered(rows: Iterator[Row | BadRow]) -> Iterator[Row | BadRow]:
    for index, row in enumerate(rows):
        yield row if isinstance(row, BadRow) else Row(row.where, {**row.values, _INDEX: index})


def _item(row: Row) -> NuggetItem | Dropped:
    turns = row.optional_number("turn")
    if turns is None:
        raise BadFieldError("turn", "missing")
    if turns != 1:
        return Dropped("multi_turn")
    if row.optional_text("winner") is None:
        return Dropped("no_vote")
    vote = row.choice("winner", VOTES)
    chats = {side: row.children(f"messages_{side}") for side in _SIDES}
    if any(len(chat) < 2 or chat[-1].text("role") != "assistant" for chat in chats.values()):
        return Dropped("no_answer")
    question = next((_content(message) for message in chats["a"] if message.text("role") == "user"), "")
    if not question:
        return Dropped("no_question")
    item_id = row.identity("question_id") or row.identity(_INDEX)
    assert item_id is not None
    languages = row.optional_texts("languages")
    urls = [url for side in _SIDES for url in _addresses(row, f"system_{side}_metadata")]
    return NuggetItem(
        item_id,
        question,
        question_group(question),
        tuple(Response(row.optional_text(f"model_{side}") or side, _content(chat[-1])) for side, chat in chats.items()),
        vote,
        language=row.optional_text("language") or (languages[0] if languages else None),
        pages=tuple(Page(url=url) for url in dict.fromkeys(urls)),
    )


def _content(message: Row) -> str:
    """The text of a message, empty where it is null."""
    return "" if message.values.get("content") is None else message.reply("content")


def _addresses(row: Row, field: str) -> Iterator[str]:
    """Addresses of a search trace: steps are objects with `search_results` (v1-7k) or lists of results (24k)."""
    if row.values.get(field) is None:
        return
    trace = row.child(field).values.get("web_search_trace")
    name = f"{field}.web_search_trace"
    if not isinstance(trace, list | None):
        raise BadFieldError(name, "a list is expected")
    for step in trace or ():
        results = step.get("search_results") if isinstance(step, dict) else step
        if not isinstance(results, list | None):
            raise BadFieldError(name, "a step is neither an object with search_results nor a list of results")
        for result in results or ():
            # A result is an object (v1-7k) or a list of title, address and more (24k).
            url = result.get("url") if isinstance(result, dict) else result[1:2] if isinstance(result, list) else None
            url = url[0] if isinstance(url, list) and url else url
            if isinstance(url, str) and url.strip():
                yield url.strip()
