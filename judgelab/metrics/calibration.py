"""Does p(CORRECT) mean what it says: Brier score, AUROC, and the curve that ECE summarises.

Invariant: only records with a verdict and a probability count; Brier and AUROC are the measures, ECE depends on its
bins and is a companion of the plot.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from judgelab.metrics.accuracy import BoolArray, values
from judgelab.metrics.estimate import Estimate
from judgelab.metrics.intervals import FloatArray, IndexArray, Resampled, draws, ratio, resample, undefined, wilson

if TYPE_CHECKING:
    import pandas as pd

BINS = 10
NO_PROBABILITIES = "no scored record with probabilities"


@dataclass(frozen=True)
class Bin:
    """Records with `lo` <= p(CORRECT) < `hi` (the last bin holds 1); `correct` is the share whose truth is CORRECT."""

    lo: float
    hi: float
    n: int
    mean_p: float
    correct: Estimate


@dataclass(frozen=True)
class Calibration:
    """`metrics` holds `brier`, `brier_base_rate` (of the constant that knows the share of CORRECT: the trivial
    baseline), `auroc` (chance: 0.5) and `ece`; `bins` the reliability curve, empty bins left out."""

    metrics: Mapping[str, Estimate]
    bins: tuple[Bin, ...]


def calibrate(frame: pd.DataFrame, level: float, resamples: int, seed: int) -> Calibration:
    """p(CORRECT) against truth CORRECT; intervals by cluster bootstrap over questions."""
    used = frame[frame["verdict"].notna() & frame["p_correct"].notna()]
    p = used["p_correct"].to_numpy(dtype=float)
    y = np.asarray(values(used, "truth") == "CORRECT", dtype=bool)
    return calibration_of(p, y, values(used, "item_id"), level, resamples, seed)


def calibration_of(
    p: FloatArray, y: BoolArray, items: npt.NDArray[np.object_], level: float, resamples: int, seed: int
) -> Calibration:
    """Probabilities `p` of something against whether it was so; `items` are the clusters."""
    which = np.minimum((p * BINS).astype(int), BINS - 1)
    columns = {"n": np.ones(len(p)), "y": y.astype(float), "square": (p - y) ** 2}
    for k in range(BINS):
        columns[f"excess_{k}"] = np.where(which == k, p - y, 0.0)
    drawn = resample(items, columns, level, resamples, seed)
    n = drawn["n"]
    base = ratio(drawn["y"], n)
    excess = np.sum([np.abs(drawn[f"excess_{k}"]) for k in range(BINS)], axis=0)
    estimate = {
        "brier": ratio(drawn["square"], n),
        "brier_base_rate": base * (1.0 - base),
        "ece": ratio(excess, n),
    }
    metrics = {
        name: drawn.estimate(each, len(p), span=(0.0, 0.25 if name == "brier_base_rate" else 1.0), why=NO_PROBABILITIES)
        for name, each in estimate.items()
    }
    metrics["auroc"] = _auroc_estimate(drawn, items, p, y)
    bins = tuple(
        Bin(
            lo=k / BINS,
            hi=(k + 1) / BINS,
            n=int(here.sum()),
            mean_p=float(np.mean(p[here])),
            correct=wilson(int(y[here].sum()), int(here.sum()), level),
        )
        for k in range(BINS)
        for here in [which == k]
        if here.any()
    )
    return Calibration(metrics, bins)


def _auroc_estimate(drawn: Resampled, items: npt.NDArray[np.object_], p: FloatArray, y: BoolArray) -> Estimate:
    if not len(p):
        return undefined(NO_PROBABILITIES)
    if y.all() or not y.any():
        return undefined("all records have the same truth", len(p))
    ids, cluster = np.unique(np.asarray(items, dtype=str), return_inverse=True)
    order = np.lexsort((cluster, p))
    p, y, cluster = p[order], y[order], cluster[order]
    first = np.searchsorted(p, p[y], side="left")
    last = np.searchsorted(p, p[y], side="right")
    found = [
        _auroc(np.ascontiguousarray(weights.T)[cluster], y, first, last)
        for weights in chain([np.ones((1, len(ids)))], draws(len(ids), drawn.resamples, drawn.seed))
    ]
    return drawn.estimate(np.concatenate(found), len(p))


def _auroc(weights: FloatArray, y: BoolArray, first: IndexArray, last: IndexArray) -> FloatArray:
    """AUROC for each column of `weights` (records x resamples), ties counting one half; NaN for a missing class.

    Records are sorted by score; for each positive, `first` to `last` is the run of records tied with it.
    """
    negative = np.zeros((weights.shape[0] + 1, weights.shape[1]))
    np.cumsum(weights * ~y[:, None], axis=0, out=negative[1:])
    positive = weights[y]
    beaten = (positive * (negative[first] + negative[last])).sum(axis=0) / 2.0
    return ratio(beaten, positive.sum(axis=0) * negative[-1])
