"""The six nugget scores of an answer.

Invariant: a score over no nuggets of its kind is 0, as in the published tool; where nothing but failures leaves it
empty it does not exist.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from judgelab.settings import Score

if TYPE_CHECKING:
    import pandas as pd

FAILED = "failed"
STRICT = {"support": 1.0}
LENIENT = {"support": 1.0, "partial_support": 0.5}
WEIGHT = {"vital": 1.0, "okay": 0.5}


def scores(importance: Sequence[str], labels: Sequence[str], failed_counts: bool = True) -> Mapping[Score, float]:
    """All six scores, each 0 to 1, of an answer with `labels` for nuggets of `importance` (AutoNuggetizer; TREC RAG
    2024 for the weighted ones: vital 1, okay 1/2).

    A `failed` label counts 0 and stays in the denominator, or (`failed_counts` false) is left out; a score that loses
    all its nuggets that way is NaN. A nugget of failed importance counts in `all` alone.
    """
    kept = [(i, label) for i, label in zip(importance, labels, strict=True) if failed_counts or label != FAILED]
    out: dict[Score, float] = {}
    for strict, worth in ((False, LENIENT), (True, STRICT)):
        weights: dict[Score, Callable[[str], float]] = {
            Score.all_strict if strict else Score.all: lambda _: 1.0,
            Score.vital_strict if strict else Score.vital: lambda i: float(i == "vital"),
            Score.weighted_strict if strict else Score.weighted: lambda i: WEIGHT.get(i, 0.0),
        }
        for score, weight in weights.items():
            whole = sum(weight(i) for i, _ in kept)
            had = sum(weight(i) for i in importance)
            got = sum(weight(i) * worth.get(label, 0.0) for i, label in kept)
            out[score] = got / whole if whole else math.nan if had else 0.0
    return {score: out[score] for score in Score}


def answer_scores(labels: pd.DataFrame, label: str, importance: str) -> pd.DataFrame:
    """One row an answer of a frame of labels, by item id: `group`, `system`, and each of the six scores. `label` and
    `importance` name the columns to read, so that people's and the judge's scores come from the same code; failed
    labels count 0, an importance that is not known counts as failed."""
    import pandas as pd

    answers: dict[tuple[str, int], tuple[str, str, list[str], list[str]]] = {}
    columns = ("item_id", "answer", "group", "system", importance, label)
    for item, answer, group, system, grade, given in zip(*(labels[name].tolist() for name in columns), strict=True):
        found = answers.setdefault((item, answer), (group, system, [], []))
        found[2].append(grade or FAILED)
        found[3].append(given)
    rows = [
        {"group": group, "system": system, **scores(grades, given)}
        for _, (group, system, grades, given) in sorted(answers.items())
    ]
    return pd.DataFrame(rows, columns=["group", "system", *Score])
