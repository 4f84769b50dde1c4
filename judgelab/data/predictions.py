"""Systems' answers joined to a set of questions, so that any question set can be one of answers to be graded.

Invariant: nothing is joined by guess. An answer names its question by id or by text, and what finds no partner on
either side is counted among the rows left out.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path

from judgelab.data.answers import judged_by, verdict_of
from judgelab.data.files import read_own
from judgelab.data.question_key import question_group, question_key
from judgelab.data.rows import BadFieldError, Dropped, Loaded, Row, collect
from judgelab.items import GradedAnswer, QAItem
from judgelab.records import content_hash

FIELDS = ("id", "question", "candidate", "system", "human", "annotators")


def join_predictions(
    questions: Loaded[QAItem], path: Path, paragraphs: Mapping[str, str] | None = None
) -> Loaded[GradedAnswer]:
    """The answers of a `*.jsonl` or `*.csv` file of FIELDS as graded answers to `questions`.

    Each row has `candidate` (which may be empty) and `id` or `question`; gold answers are the question's answers and
    aliases. `paragraphs` gives gold paragraphs by question key. Raises UsageError for bad rows, for a text that fits
    several questions, and where no answer fits any question.
    """
    by_id = {item.item_id: item for item in questions.values}
    by_key: defaultdict[str, list[QAItem]] = defaultdict(list)
    for item in questions.values:
        by_key[question_key(item.question)].append(item)
    answered: set[str] = set()

    def parse(row: Row) -> GradedAnswer | Dropped:
        row.only(FIELDS)
        item = _question(row, by_id, by_key)
        if item is None:
            return Dropped("answer to a question that is not in the set")
        answered.add(item.item_id)
        system, candidate, annotators = row.optional_text("system") or "", row.reply("candidate"), judged_by(row)
        return GradedAnswer(
            content_hash([item.item_id, system, candidate]),
            item.question,
            question_group(item.question),
            candidate,
            system,
            tuple(dict.fromkeys(item.right)),
            verdict_of(row, annotators),
            annotators,
            context=(paragraphs or {}).get(question_key(item.question)),
        )

    rows = read_own(path, "a file of answers", ("candidate",))
    joined = collect(path, rows, parse, lambda _, answer: answer.item_id, "dataset.predictions")
    dropped = Counter({**questions.dropped, **joined.dropped})
    if unanswered := len(by_id) - len(answered):
        dropped["question without an answer"] = unanswered
    return Loaded(joined.values, dict(dropped))


def _question(row: Row, by_id: Mapping[str, QAItem], by_key: Mapping[str, list[QAItem]]) -> QAItem | None:
    identity = row.identity("id")
    if identity is not None:
        return by_id.get(identity)
    found = by_key.get(question_key(row.text("question")), [])
    if len(found) > 1:
        raise BadFieldError("question", f"fits {len(found)} questions of the set: give the id")
    return found[0] if found else None
