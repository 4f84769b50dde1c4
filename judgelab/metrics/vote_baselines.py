"""Rules for battles that read no nugget: what agreement with people has to beat.

Invariant: a baseline answers exactly the battles that the nuggets decided.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from judgelab.metrics.accuracy import values
from judgelab.metrics.intervals import FloatArray, ratio
from judgelab.metrics.tie_threshold import decide, held_out
from judgelab.metrics.votes import PREDICTED, IntArray, chosen
from judgelab.settings.nuggets import BothBad, Criterion

if TYPE_CHECKING:
    import pandas as pd

NAMES = ("majority", "chance", "random", "always_a", "longer_wins", "longer_wins_chars", "longer_tuned")


def vote_baselines(
    battles: pd.DataFrame,
    votes: IntArray,
    predicted: FloatArray,
    folds: IntArray,
    criterion: Criterion,
    bothbad: BothBad,
) -> Mapping[str, FloatArray]:
    """Each of `NAMES` as predictions like those of `chosen`, for battles with a vote and a prediction.

    `majority`: the most frequent vote. `chance`: every outcome as often as the nuggets predict it, whatever the battle
    (what agreement the margins alone bring about). `random`: every outcome with probability 1/3. `always_a`: the answer
    shown first. `longer_wins`: the answer with more words, either with probability 1/2 if both have as many;
    `longer_wins_chars` with characters. `longer_tuned`: by words, with a tie where (b - a) / (a + b) is within a
    threshold that was chosen on held-out folds as that of the nuggets is.
    """
    n = len(votes)
    words, chars = ([battles[f"{unit}_{side}"].to_numpy(dtype=float) for side in "ab"] for unit in ("words", "chars"))
    classes = np.where(votes == len(PREDICTED), 1 if bothbad is BothBad.tie else -1, votes)
    frequent = np.bincount(classes[classes >= 0], minlength=len(PREDICTED))
    margin = predicted.mean(axis=0) if n else np.zeros(len(PREDICTED))
    relative = np.nan_to_num(ratio(words[1] - words[0], words[0] + words[1]))
    tuned = held_out(values(battles, "group"), relative, votes, folds, criterion, bothbad).thresholds
    return {
        "majority": chosen(np.full(n, int(frequent.argmax()))),
        "chance": np.tile(margin, (n, 1)),
        "random": np.full((n, len(PREDICTED)), 1.0 / len(PREDICTED)),
        "always_a": chosen(np.zeros(n, dtype=int)),
        "longer_wins": _longer(*words),
        "longer_wins_chars": _longer(*chars),
        "longer_tuned": chosen(decide(relative, tuned)),
    }


def _longer(a: FloatArray, b: FloatArray) -> FloatArray:
    first = np.where(a == b, 0.5, a > b)
    return np.stack([first, np.zeros(len(a)), 1.0 - first], axis=1)
