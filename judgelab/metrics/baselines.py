"""Judges that read nothing: what a figure must be compared with before it means anything.

Invariant: a baseline answers exactly the records that the judge gave a verdict on.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from judgelab.metrics.accuracy import CELLS, accuracy, cell_accuracy, in_cell
from judgelab.metrics.estimate import Estimate
from judgelab.metrics.intervals import NO_RECORDS, undefined, wilson
from judgelab.settings import NotAttempted

if TYPE_CHECKING:
    import pandas as pd


def baselines(frame: pd.DataFrame, level: float, resamples: int, seed: int) -> Mapping[str, Mapping[str, Estimate]]:
    """Headline figures of `always_a` (CORRECT), `always_b` (INCORRECT), `majority` (the more frequent truth;
    CORRECT if equal) and `random` (either label with probability 1/2)."""
    scored = frame[frame["verdict"].notna()]
    correct = int((scored["truth"] == "CORRECT").sum())
    majority = "CORRECT" if 2 * correct >= len(scored) else "INCORRECT"
    constant = {
        label: _constant(scored.assign(verdict=label), level, resamples, seed) for label in ("CORRECT", "INCORRECT")
    }
    return {
        "always_a": constant["CORRECT"],
        "always_b": constant["INCORRECT"],
        "random": _random(scored, level),
        "majority": constant[majority],
    }


def ss_rejection(frame: pd.DataFrame, level: float) -> Estimate:
    """P(verdict INCORRECT | ss) over scored records, whatever the coding: the judge rejects what its swapped
    reference says."""
    here = frame[in_cell(frame, "ss") & np.asarray(frame["verdict"].notna(), dtype=bool)]
    return wilson(int((here["verdict"] == "INCORRECT").sum()), len(here), level)


def _constant(frame: pd.DataFrame, level: float, resamples: int, seed: int) -> dict[str, Estimate]:
    return {
        **accuracy(frame, NotAttempted.error, level, resamples, seed).named(),
        **cell_accuracy(frame, NotAttempted.error, level),
        "ss_rejection": ss_rejection(frame, level),
    }


def _random(frame: pd.DataFrame, level: float) -> dict[str, Estimate]:
    """Exact expectations; the intervals hold what a random judge of this n gets with probability `level`."""
    n = {where: int(in_cell(frame, where).sum()) for where in ("o", "s", *CELLS)}
    shares = {where: _coin(count, level) for where, count in n.items()}
    return {
        "acc_o": shares["o"],
        "acc_s": shares["s"],
        "rpag": _coin_gap(n["o"], n["s"], level),
        **{f"acc_{cell}": shares[cell] for cell in CELLS},
        "ss_rejection": shares["ss"],
    }


def _coin(n: int, level: float) -> Estimate:
    if not n:
        return undefined(NO_RECORDS)
    from scipy.stats import binom

    lo, hi = (float(end) / n for end in binom.interval(level, n, 0.5))
    return Estimate(0.5, lo, hi, n, f"exact expectation; central {level:g} range of a random judge")


def _coin_gap(n_o: int, n_s: int, level: float) -> Estimate:
    if not n_o or not n_s:
        return undefined(NO_RECORDS, n_o + n_s, "points")
    from scipy.stats import norm

    half = min(100.0, float(norm.ppf((1.0 + level) / 2.0)) * 50.0 * math.sqrt(1.0 / n_o + 1.0 / n_s))
    method = f"exact expectation; central {level:g} range of a random judge (normal)"
    return Estimate(0.0, -half, half, n_o + n_s, method, "points")
