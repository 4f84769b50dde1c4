"""Graded answers of one's own, as JSON lines or CSV: what systems answered and what people said of it.

Invariant: a field that is not known is an error, so that a misspelt one is not passed over in silence.
"""

from __future__ import annotations

from pathlib import Path

from judgelab.data.files import read_own
from judgelab.data.question_key import question_group
from judgelab.data.rows import Loaded, Row, collect, flag, listed
from judgelab.items import GradedAnswer
from judgelab.records import content_hash

FIELDS = ("id", "question", "candidate", "answers", "human", "system", "annotators", "context")


def load_answers(path: Path) -> Loaded[GradedAnswer]:
    """The answers of a `*.jsonl` or `*.csv` file with `question` and `candidate`; the other FIELDS are optional.

    A candidate may be empty. `answers` are gold answers, `human` and `annotators` (a list, in CSV a JSON list) true
    or false; where only annotators are given, `human` is their majority, and none where they are split evenly.
    `context` is a paragraph that holds the gold answer. Without `id`, the id is the hash of question, system and
    candidate. Answers to the same question form a group.
    """
    rows = read_own(path, "a set of answers", ("question", "candidate"))
    return collect(path, rows, _item, lambda _, item: item.item_id)


def _item(row: Row) -> GradedAnswer:
    row.only(FIELDS)
    question, candidate = row.text("question"), row.reply("candidate")
    system = row.optional_text("system") or ""
    annotators = judged_by(row)
    return GradedAnswer(
        row.identity("id") or content_hash([question, system, candidate]),
        question,
        question_group(question),
        candidate,
        system,
        row.optional_texts("answers"),
        verdict_of(row, annotators),
        annotators,
        context=row.optional_text("context"),
    )


def judged_by(row: Row) -> tuple[bool, ...]:
    """Single people's verdicts: the field `annotators`."""
    value = row.values.get("annotators")
    if value is None or value == "":
        return ()
    entries = listed("annotators", value)
    return tuple(flag(f"annotators[{i}]", entry) for i, entry in enumerate(entries))


def verdict_of(row: Row, annotators: tuple[bool, ...]) -> bool | None:
    """People's verdict: the field `human`, else the annotators' majority."""
    human = row.optional_flag("human")
    balance = sum(1 if verdict else -1 for verdict in annotators)
    if human is None and balance != 0:
        return balance > 0
    return human
