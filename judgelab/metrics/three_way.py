"""Probabilities of the three outcomes of a battle from its score difference, and how good they are.

Invariant: no battle is predicted by a model that has seen its question; the yardstick, which knows nothing but how
often each outcome comes about, is fitted on the same folds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from judgelab.metrics.estimate import Estimate
from judgelab.metrics.intervals import FloatArray, ratio, resample, undefined
from judgelab.metrics.votes import NONE, PREDICTED, IntArray, Sampling
from judgelab.settings.nuggets import BothBad

NAMES = ("log_loss", "log_loss_base_rate", "log_loss_gain", "brier", "brier_base_rate", "brier_gain")
_GRID: FloatArray = np.arange(-20, 21) / 20.0
_BRIER = 2.0  # the sum of three squares is at most this


@dataclass(frozen=True)
class Odds:
    """What the predictor says at one difference, fitted on all battles."""

    difference: float
    model_a: float
    tie: float
    model_b: float


@dataclass(frozen=True)
class ThreeWay:
    """`metrics` holds `NAMES`; `odds` is empty where nothing can be fitted. `predicted` is the likeliest outcome of
    each battle (a place in PREDICTED, NONE where it has no prediction)."""

    metrics: Mapping[str, Estimate]
    odds: tuple[Odds, ...]
    predicted: IntArray


def three_way(
    groups: npt.NDArray[np.object_],
    d: FloatArray,
    votes: IntArray,
    folds: IntArray,
    bothbad: BothBad,
    sampling: Sampling,
) -> ThreeWay:
    """Multinomial logistic regression on the difference, cross-fitted by `folds`.

    `log_loss` is in nats, `brier` the sum of squares over the three outcomes (0 to 2), both means over battles; a
    `_gain` is base rate minus predictor, so above 0 the difference of scores tells something. Votes that both are bad
    are ties if `bothbad` says so, else left out. One made-up battle of each outcome without a difference is added to
    every fit, so that no outcome has probability 0.
    """
    truth = np.where(votes == len(PREDICTED), 1 if bothbad is BothBad.tie else NONE, votes)
    used = np.flatnonzero((truth != NONE) & ~np.isnan(d))
    predicted = np.full(len(d), NONE)
    held = folds[used]
    if len(np.unique(held)) < 2:
        why = "cross-fitting needs battles of two questions or more"
        metrics = {name: undefined(why, len(used)) for name in NAMES}
        return ThreeWay(metrics, (), predicted)
    x, y = d[used], truth[used]
    p, base = np.empty((len(x), 3)), np.empty((len(x), 3))
    for number in np.unique(held):
        out = held == number
        p[out] = _fitted(x[~out], y[~out], x[out])
        share = np.bincount(y[~out], minlength=3) + 1.0
        base[out] = share / share.sum()
    predicted[used] = p.argmax(axis=1)
    hit = np.arange(len(y))
    right = np.eye(3)[y]
    columns = {
        "n": np.ones(len(y)),
        "log_loss": -np.log(p[hit, y]),
        "log_loss_base_rate": -np.log(base[hit, y]),
        "brier": ((p - right) ** 2).sum(axis=1),
        "brier_base_rate": ((base - right) ** 2).sum(axis=1),
    }
    drawn = resample(groups[used], columns, sampling.level, sampling.resamples, sampling.seed)
    mean = {name: ratio(drawn[name], drawn["n"]) for name in columns}
    note = "cross-fitted by question"
    metrics = {}
    for name in ("log_loss", "brier"):
        span = (0.0, _BRIER) if name == "brier" else None
        for suffix in ("", "_base_rate"):
            unit = "nats, " if name == "log_loss" else ""
            metrics[name + suffix] = drawn.estimate(mean[name + suffix], len(y), span=span, note=unit + note)
        gain = mean[f"{name}_base_rate"] - mean[name]
        metrics[f"{name}_gain"] = drawn.estimate(gain, len(y), span=None, note=note)
    odds = tuple(
        Odds(float(at), float(a), float(t), float(b)) for at, (a, t, b) in zip(_GRID, _fitted(x, y, _GRID), strict=True)
    )
    return ThreeWay({name: metrics[name] for name in NAMES}, odds, predicted)


def _fitted(x: FloatArray, y: IntArray, at: FloatArray) -> FloatArray:
    from sklearn.linear_model import LogisticRegression

    scale = float(np.sqrt(np.mean(x * x))) if len(x) else 0.0
    scale = scale if math.isfinite(scale) and scale > 0 else 1.0
    seen = np.concatenate([x, np.zeros(3)]) / scale
    known = np.concatenate([y, np.arange(3)])
    model = LogisticRegression(max_iter=1000).fit(seen[:, None], known)
    return np.asarray(model.predict_proba((at / scale)[:, None]), dtype=float)
