"""Records of a SAGE run made from a rule instead of a judge."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from judgelab.frames.sage import trials
from judgelab.records import Reason, Record, Unscored
from judgelab.subjects import Trial

Rule = Callable[[int, str], bool | Reason | None]


def record(number: int, cell: str, verdict: bool | Reason, per_question: int = 1, **subject: object) -> Record:
    """One record; items share a question `per_question` by `per_question`."""
    known = {
        "question": f"Which town is number {number // per_question}?",
        "group": f"g{number // per_question:04d}",
        "candidate": f"It is Aldby {number}.",
        "answers": (f"Aldby {number}",),
        **subject,
    }
    failed = Unscored(verdict) if isinstance(verdict, Reason) else None
    return Record(
        record_id=f"{number}-{cell}",
        item_id=f"i{number:05d}",
        cell=cell,
        verdict=None if failed else str(verdict),
        subject=Trial(**known),  # type: ignore[arg-type]
        unscored=failed,
    )


def run(
    n: int,
    says: Rule,
    human: Callable[[int], bool | None],
    cells: tuple[str, ...] = ("judged",),
    per_question: int = 1,
    system: Callable[[int], str] = lambda _: "",
    **subject: object,
) -> list[Record]:
    """Records of `n` items: `says(number, cell)` gives the verdict or why there is none, None for no record."""
    return [
        record(k, cell, verdict, per_question, human=human(k), system=system(k), **subject)
        for k in range(n)
        for cell in cells
        if (verdict := says(k, cell)) is not None
    ]


def noisy(
    seed: int, questions: int, per_question: int, sensitivity: float = 0.9, specificity: float = 0.75
) -> pd.DataFrame:
    """A run whose answers to one question are right and misjudged together; about .7 of them are right."""
    rng = np.random.default_rng(seed)
    easy = np.repeat(rng.beta(1.4, 0.6, questions), per_question)
    right = rng.random(len(easy)) < easy
    kind = np.repeat(rng.random(questions), per_question)  # questions on which the judge errs at once
    luck = np.where(rng.random(len(easy)) < 0.5, kind, rng.random(len(easy)))
    said = np.where(right, luck < sensitivity, luck >= specificity)
    return trials(run(len(right), lambda k, _: bool(said[k]), lambda k: bool(right[k]), per_question=per_question))
