"""Kendall's tau-b with intervals: of systems in two orders, and of single answers scored twice.

Invariant: a resample draws whole questions, also where what is ranked is not a question.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from judgelab.metrics.estimate import Estimate
from judgelab.metrics.intervals import FloatArray, Resampled, draws, ratio, undefined
from judgelab.metrics.votes import Sampling

FEWEST = 3
_SAME = 1e-9  # means of the same scores in another order of summation are equal
_CELLS = 4_000_000  # numbers held at once
SPAN = (-1.0, 1.0)


def taus(first: FloatArray, second: FloatArray) -> FloatArray:
    """Tau-b of `first[:, k]` and `second[:, k]` for every column k; systems with NaN on either side are left out, and
    it is NaN where a side ranks nothing."""
    above, below = np.triu_indices(len(first), 1)
    out = np.empty(first.shape[1])
    size = max(1, _CELLS // max(1, len(above)))
    for start in range(0, first.shape[1], size):
        here = slice(start, start + size)
        one, two = (_signs(each[above, here] - each[below, here]) for each in (first, second))
        known = ~np.isnan(one) & ~np.isnan(two)
        one, two = np.where(known, one, 0.0), np.where(known, two, 0.0)
        both = np.sqrt(np.abs(one).sum(axis=0) * np.abs(two).sum(axis=0))
        out[here] = ratio((one * two).sum(axis=0), both)
    return out


def tau_of_systems(first: FloatArray, second: FloatArray, drawn: Resampled, note: str = "") -> Estimate:
    """Tau-b of systems scored twice, arrays of shape (systems, 1 + resamples)."""
    known = int((~np.isnan(first[:, 0]) & ~np.isnan(second[:, 0])).sum()) if first.size else 0
    if known < FEWEST:
        return undefined(f"{known} systems to rank, at least {FEWEST} needed", known, "kappa")
    return drawn.estimate(
        taus(first, second),
        known,
        span=SPAN,
        unit="kappa",
        why="one side ranks all systems equal",
        note=f"n counts systems{'; ' if note else ''}{note}",
    )


def tau_of_answers(
    groups: npt.NDArray[np.object_], first: FloatArray, second: FloatArray, sampling: Sampling, note: str = ""
) -> Estimate:
    """Tau-b over all pairs of answers, questions mixed.

    Concordant pairs of a resample are a quadratic form in how often each question is drawn, so that pairs are compared
    once: sum over questions g, h of w_g w_h C_gh. A copy of an answer ties with itself.
    """
    n = len(first)
    if n < 2:
        return undefined(f"{n} answers to rank, at least 2 needed", n, "kappa")
    ids, cluster = np.unique(np.asarray(groups, dtype=str), return_inverse=True)
    count = len(ids)
    agreed, told_first, told_second = (np.zeros((count, count)) for _ in range(3))
    size = max(1, _CELLS // n)
    order = np.argsort(cluster, kind="stable")
    first, second, cluster = first[order], second[order], cluster[order]
    starts = np.searchsorted(cluster, np.arange(count))
    for start in range(0, n, size):
        rows = slice(start, start + size)
        one, two = (_signs(each[rows, None] - each[None, :]) for each in (first, second))
        for total, signs in ((agreed, one * two), (told_first, np.abs(one)), (told_second, np.abs(two))):
            np.add.at(total, cluster[rows], np.add.reduceat(signs, starts, axis=1))
    drawn = Resampled({}, count, sampling.level, sampling.resamples, sampling.seed)
    weights = np.concatenate([np.ones((1, count)), *draws(count, sampling.resamples, sampling.seed)])
    forms = [((weights @ total) * weights).sum(axis=1) for total in (agreed, told_first, told_second)]
    return drawn.estimate(
        ratio(forms[0], np.sqrt(forms[1] * forms[2])),
        n,
        span=SPAN,
        unit="kappa",
        why="one side scores all answers equal",
        note=f"n counts answers{'; ' if note else ''}{note}",
    )


def _signs(difference: FloatArray) -> FloatArray:
    return np.asarray(np.sign(np.where(np.abs(difference) <= _SAME, 0.0, difference)), dtype=float)
