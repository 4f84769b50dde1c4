"""Records of the SAGE protocol as a table: one row an answer, with the verdict of every cell beside people's.

Invariant: a row holds what was recorded; a verdict that is missing is None, whatever the reason, and never False.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING

from judgelab.metrics.short_answer import contains_gold, exact_match, token_f1
from judgelab.records import Record
from judgelab.subjects import Trial

if TYPE_CHECKING:
    import pandas as pd

CELLS = ("judged", "none", "reference")
_ITEM = (
    *("item_id", "group", "system", "question", "candidate", "words", "human", "annotators", "published"),
    *("em", "f1", "contains", "steps", "searches", "empty", "repeated", "stopped", "saved"),
)
_CELL = ("verdict", "reason", "asked", "p", "calls", "tokens", "cached", "prompt", "seconds")
COLUMNS = (*_ITEM, *(f"{name}_{cell}" for cell in CELLS for name in _CELL))


def trials(records: Iterable[Record]) -> pd.DataFrame:
    """One row an item, by item id.

    Of each cell: `verdict_CELL` (True, False, or None where there is none), `reason_CELL`, `asked_CELL`, `p_CELL` =
    p(True), and of its calls the number, `tokens_CELL` (prompt and generated), `prompt_CELL` and `cached_CELL` (prompt
    tokens, and those of them from the cache) and `seconds_CELL`. Of the item: `group`, `system`, `question`,
    `candidate` and its length in `words`, `human`, `annotators`, `published`; `em`, `f1` and `contains` against the
    gold answers (without any None, for F1 NaN). Of the judge's evidence: `steps`, `searches` that an engine answered,
    those `empty` or `repeated`, whether the loop `stopped` early and the iterations `saved`.
    """
    import pandas as pd

    by_item: dict[str, dict[str, Record]] = defaultdict(dict)
    for record in records:
        by_item[record.item_id][record.cell] = record
    rows = []
    for item_id in sorted(by_item):
        cells = by_item[item_id]
        first = cells.get("judged") or next(iter(cells.values()))
        subject = first.subject
        assert isinstance(subject, Trial)
        row: dict[str, object] = {
            "item_id": item_id,
            "group": subject.group,
            "system": subject.system,
            "question": subject.question,
            "candidate": subject.candidate,
            "words": len(subject.candidate.split()),
            "human": subject.human,
            "annotators": subject.annotators,
            "published": dict(subject.published or {}),
            "em": exact_match(subject.candidate, subject.answers) if subject.answers else None,
            "f1": token_f1(subject.candidate, subject.answers) if subject.answers else None,
            "contains": contains_gold(subject.candidate, subject.answers) if subject.answers else None,
            "steps": len(subject.steps),
            "searches": sum(bool(step.engine) and step.engine != "gold paragraph" for step in subject.steps),
            "empty": sum(step.status == "empty" for step in subject.steps),
            "repeated": sum(step.repeated for step in subject.steps),
            "stopped": subject.stopped_early,
            "saved": first.extra.get("saved", 0.0),
        }
        for cell in CELLS:
            record_ = cells.get(cell)
            row |= {
                f"verdict_{cell}": None if record_ is None or record_.verdict is None else record_.verdict == "True",
                f"reason_{cell}": record_.unscored.reason.value if record_ and record_.unscored else None,
                f"asked_{cell}": record_ is not None,
                f"p_{cell}": (record_.probabilities or {}).get("True") if record_ else None,
                f"calls_{cell}": len(record_.calls) if record_ else 0,
                f"tokens_{cell}": sum(c.prompt_tokens + c.generated_tokens for c in record_.calls) if record_ else 0,
                f"cached_{cell}": sum(c.cached_tokens for c in record_.calls) if record_ else 0,
                f"prompt_{cell}": sum(c.prompt_tokens for c in record_.calls) if record_ else 0,
                f"seconds_{cell}": sum(c.seconds for c in record_.calls) if record_ else 0.0,
            }
        rows.append(row)
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    objects = ["human", "em", "contains", *(f"verdict_{c}" for c in CELLS), *(f"reason_{c}" for c in CELLS)]
    for name in objects:
        table[name] = table[name].astype(object).where(table[name].notna(), None)
    for name in ("f1", *(f"p_{c}" for c in CELLS)):
        table[name] = pd.to_numeric(table[name]).astype(float)
    for name in ("stopped", *(f"asked_{c}" for c in CELLS)):  # a table without rows would not know
        table[name] = table[name].astype(bool)
    return table


PARTS = {"judged": "the judge", "none": "without evidence", "reference": "with gold answers"}


def judgments(table: pd.DataFrame, truth: Iterable[object]) -> pd.DataFrame:
    """What a comparison of runs needs, one row a judgment that was asked for: `item_id`, `cell`, the `part` of the
    protocol, `group`, `verdict`, `right` against `truth` (one an item; NaN where nobody knows)."""
    import pandas as pd

    rows = [
        {
            "item_id": item["item_id"],
            "cell": cell,
            "part": part,
            "group": item["group"],
            "verdict": None if (verdict := item[f"verdict_{cell}"]) is None else str(verdict),
            "right": math.nan if verdict is None or known is None else float(verdict == known),
        }
        for item, known in zip(table.to_dict("records"), truth, strict=True)
        for cell, part in PARTS.items()
        if item[f"asked_{cell}"]
    ]
    made = pd.DataFrame(rows, columns=["item_id", "cell", "part", "group", "verdict", "right"], dtype=object)
    return made.astype({"right": float})
