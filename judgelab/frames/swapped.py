"""Records as a table: the only thing that metrics and reports ever see of a run.

Invariant: the frame is sorted by record id, so a figure does not depend on the order in which work was finished.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from judgelab.records import Record
from judgelab.subjects import Triplet

if TYPE_CHECKING:
    import pandas as pd

SUBJECT = (
    "swap",
    "entity_type",
    "swapped_type",
    "popularity",
    "swapped_popularity",
    "freshness",
    "candidate_source",
    "question",
    "reference",
    "candidate",
    "original",
    "swapped",
)
COLUMNS = (
    "record_id",
    "item_id",
    "cell",
    "truth",
    "verdict",
    "reason",
    "p_correct",
    "p_incorrect",
    "p_not_attempted",
    *SUBJECT,
    "flags",
    "flagged",
    "attempts",
    "label_mass",
    "known",
)


def frame(records: Iterable[Record]) -> pd.DataFrame:
    """One row a record, columns `COLUMNS`; missing numbers are NaN, missing strings None.

    `flagged` is true for every record of an item of which any candidate failed a fidelity check.
    """
    import pandas as pd

    rows = []
    for record in sorted(records, key=lambda r: r.record_id):
        p = record.probabilities or {}
        subject = record.subject
        assert isinstance(subject, Triplet)
        rows.append(
            {
                "record_id": record.record_id,
                "item_id": record.item_id,
                "cell": record.cell,
                "truth": subject.truth,
                "verdict": record.verdict,
                "reason": record.unscored.reason.value if record.unscored else None,
                "p_correct": p.get("CORRECT"),
                "p_incorrect": p.get("INCORRECT"),
                "p_not_attempted": p.get("NOT_ATTEMPTED"),
                **{name: getattr(subject, name) for name in SUBJECT},
                "flags": ";".join(subject.flags),
                "flagged": bool(subject.flags),
                "attempts": record.attempts,
                "label_mass": record.extra.get("label_mass"),
                "known": record.extra.get("known"),
            }
        )
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    for column in (
        "p_correct",
        "p_incorrect",
        "p_not_attempted",
        "popularity",
        "swapped_popularity",
        "label_mass",
        "known",
    ):
        table[column] = pd.to_numeric(table[column]).astype(float)
    for column in ("verdict", "reason", "entity_type", "swapped_type", "freshness"):
        table[column] = table[column].astype(object).where(table[column].notna(), None)
    table["flagged"] = table.groupby("item_id")["flagged"].transform("any").astype(bool)
    return table
