"""From a difference of scores to a prediction: one rule for ties, and how its threshold is chosen.

Invariant: |d| <= t is a tie, everywhere. A threshold that predicts a battle was chosen without the battles of its
question.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from judgelab.metrics.estimate import Estimate
from judgelab.metrics.intervals import FloatArray, Resampled, ratio
from judgelab.metrics.places import clusters_of, place_counts
from judgelab.metrics.votes import NONE, IntArray, Matrix, Sampling, estimates, vote_figures
from judgelab.settings.nuggets import BothBad, Criterion

GRID: FloatArray = np.arange(31) / 100.0
# Scores are shares of a few nuggets: closer than this two numbers are the same number, computed in another way.
EPS = 1e-9
_SWEPT = ("agreement", "kappa", "agreement_a", "agreement_tie", "agreement_b", "inversion_all", "predicted_tie")
_TIE = 1


@dataclass(frozen=True)
class SweepPoint:
    """What one threshold gives on all battles. `tie_shares` is how human ties are predicted (a, tie, b)."""

    threshold: float
    matrix: Matrix
    tie_shares: tuple[float, float, float]
    figures: Mapping[str, Estimate]


@dataclass(frozen=True)
class Sweep:
    """Every threshold of `GRID` on the same battles and resamples; `chosen` is the one that the criterion takes when it
    sees all of them, so it is in-sample. Its interval is over resamples in each of which it is chosen anew."""

    points: tuple[SweepPoint, ...]
    chosen: Estimate
    criterion: Criterion


@dataclass(frozen=True)
class Fold:
    """A part of the questions, and the threshold that the others chose for it."""

    number: int
    questions: int
    battles: int
    threshold: float


@dataclass(frozen=True)
class HeldOut:
    """`thresholds` has one number a battle; `criterion` is the one really used."""

    thresholds: FloatArray
    folds: tuple[Fold, ...]


def decide(d: FloatArray, threshold: float | FloatArray) -> IntArray:
    """Places in `PREDICTED` for differences score_b - score_a; `NONE` where a difference or its threshold is NaN."""
    out = np.where(d > 0, 2, 0)
    out = np.where(np.abs(d) <= np.asarray(threshold) + EPS, _TIE, out)
    return np.where(np.isnan(d) | np.isnan(threshold), NONE, out)


def swept(d: FloatArray, votes: IntArray) -> npt.NDArray[np.float64]:
    """Counts of shape (battles, 4, 2, 32): each battle once, at its vote, its side (a, b) and the place in `GRID` of
    the first threshold that makes it a tie (31: none does). Nothing for a battle without vote or difference."""
    out = np.zeros((len(d), 4, 2, len(GRID) + 1))
    used = np.flatnonzero((votes != NONE) & ~np.isnan(d))
    place = np.searchsorted(GRID + EPS, np.abs(d[used]), side="left")
    out[used, votes[used], (d[used] > 0).astype(int), place] = 1.0
    return out


def tables(counts: FloatArray) -> FloatArray:
    """Tables of votes by predictions for every threshold, shape (4, 3, 31, ...), from totals of `swept` (4, 2, 32, ..).

    At a threshold all battles with a later place are decided, the others are ties.
    """
    later = np.flip(np.cumsum(np.flip(counts, axis=2), axis=2), axis=2)
    a, b = later[:, 0, 1:], later[:, 1, 1:]
    whole = later[:, 0, :1] + later[:, 1, :1]
    return np.stack([a, whole - a - b, b], axis=1)


def choose(table: FloatArray, criterion: Criterion, bothbad: BothBad) -> IntArray:
    """Places in `GRID` of the best thresholds, from a table of shape (4, 3, 31, ...).

    `equal_shares`: human ties (without those that both are bad) are predicted a, tie and b in the most equal shares,
    by least squares; `agreement` and `kappa` are largest. Among equals the smallest threshold wins. Without a human tie
    there are no shares: then agreement decides.
    """
    worth = vote_figures(table, bothbad)
    goodness = worth["kappa" if criterion is Criterion.kappa else "agreement"]
    if criterion is Criterion.equal_shares:
        ties = table[_TIE]
        shares = ratio(ties, np.broadcast_to(ties.sum(axis=0), ties.shape))
        unequal = -((shares - 1.0 / 3.0) ** 2).sum(axis=0)
        goodness = np.where(np.isnan(unequal), goodness, unequal)
    return np.asarray(np.argmax(np.where(np.isnan(goodness), -np.inf, np.round(goodness, 12)), axis=0), dtype=int)


def sweep(
    groups: npt.NDArray[np.object_],
    d: FloatArray,
    votes: IntArray,
    criterion: Criterion,
    bothbad: BothBad,
    sampling: Sampling,
) -> Sweep:
    """All thresholds of `GRID` with intervals, from one set of resamples of `groups`."""
    drawn, table = resampled_sweep(groups, d, votes, sampling)
    points = []
    for k, threshold in enumerate(GRID):
        here = table[:, :, k]
        found = estimates(drawn, here, bothbad)
        ties = here[_TIE, :, 0]
        shares = ratio(ties, np.broadcast_to(ties.sum(), ties.shape))
        points.append(
            SweepPoint(
                threshold=float(threshold),
                matrix=Matrix(tuple((float(a), float(t), float(b)) for a, t, b in here[..., 0])),
                tie_shares=(float(shares[0]), float(shares[1]), float(shares[2])),
                figures={name: found[name] for name in _SWEPT},
            )
        )
    best = GRID[choose(table, criterion, bothbad)] if table[..., 0].any() else np.full(table.shape[3], np.nan)
    span = (float(GRID[0]), float(GRID[-1]))
    n = int(table[:, :, 0, 0].sum())
    why = "no battle with a vote and scores"
    chosen = drawn.estimate(best, n, span=span, why=why, note=f"in-sample, criterion {criterion}")
    return Sweep(tuple(points), chosen, criterion)


def resampled_sweep(
    groups: npt.NDArray[np.object_], d: FloatArray, votes: IntArray, sampling: Sampling
) -> tuple[Resampled, FloatArray]:
    """Tables of every threshold in the sample and in the resamples, shape (4, 3, 31, 1 + resamples)."""
    counts = swept(d, votes)
    shape = counts.shape[1:]
    places = int(np.prod(shape))
    used = counts.any(axis=(1, 2, 3))  # questions without a counted battle would thin the resamples
    groups, place = groups[used], counts[used].reshape(int(used.sum()), places).argmax(axis=1)
    drawn = Resampled({}, clusters_of(groups), sampling.level, sampling.resamples, sampling.seed)
    totals = np.concatenate([*place_counts(groups, place, places, sampling.resamples, sampling.seed)], axis=1)
    return drawn, tables(totals.reshape(*shape, -1))


def fold_of(groups: npt.NDArray[np.object_], folds: int, seed: int) -> IntArray:
    """The fold of each battle, at most `folds`: whole questions, shuffled by the seed alone."""
    ids, index = np.unique(np.asarray(groups, dtype=str), return_inverse=True)
    place = np.empty(len(ids), dtype=int)
    place[np.random.default_rng(seed).permutation(len(ids))] = np.arange(len(ids)) % max(1, min(folds, len(ids)))
    return np.asarray(place[index], dtype=int)


def held_out(
    groups: npt.NDArray[np.object_],
    d: FloatArray,
    votes: IntArray,
    folds: IntArray,
    criterion: Criterion,
    bothbad: BothBad,
) -> HeldOut:
    """The threshold of each battle, chosen on the other folds; NaN where no other fold has a battle to choose by."""
    counts = swept(d, votes)
    whole = counts.sum(axis=0)
    thresholds = np.full(len(d), np.nan)
    made = []
    for number in np.unique(folds):
        here = folds == number
        others = whole - counts[here].sum(axis=0)
        found = float(GRID[choose(tables(others), criterion, bothbad)]) if others.any() else np.nan
        thresholds[here] = found
        questions = len(set(np.asarray(groups[here], dtype=str)))
        made.append(Fold(int(number), questions, int(here.sum()), found))
    return HeldOut(thresholds, tuple(made))
