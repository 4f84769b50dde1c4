"""The six scores side by side, corrected for having looked at all six, and the score that data would choose.

Invariant: no score is called best by a number that it was chosen by.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from judgelab.metrics.estimate import Estimate
from judgelab.metrics.intervals import FloatArray
from judgelab.metrics.tie_threshold import GRID, choose, decide, held_out, swept, tables
from judgelab.metrics.votes import KAPPAS, NONE, Counted, IntArray, Sampling, chosen, count, vote_figures
from judgelab.settings import Score
from judgelab.settings.nuggets import BothBad, Criterion

SIMULTANEOUS = ("agreement", "kappa", "kappa_quadratic", "accuracy_decisive", "inversion_all")


@dataclass(frozen=True)
class ScoreRow:
    """One score at thresholds chosen on held-out folds; `threshold` is the one that all battles together would choose.

    The intervals of `figures` in `SIMULTANEOUS` hold for all six scores at once, the others for each alone."""

    score: Score
    threshold: float
    figures: Mapping[str, Estimate]


@dataclass(frozen=True)
class ScoreChoice:
    """`rows` in the order of `Score`. `predicted` are the outcomes where each fold takes the score that agrees best
    with people on the other folds; `taken` says how many folds took which."""

    rows: tuple[ScoreRow, ...]
    predicted: IntArray
    taken: Mapping[Score, int]


def score_choice(
    groups: npt.NDArray[np.object_],
    differences: Mapping[Score, FloatArray],
    votes: IntArray,
    folds: IntArray,
    threshold: float | None,
    criterion: Criterion,
    bothbad: BothBad,
    sampling: Sampling,
) -> ScoreChoice:
    """Every score with its own thresholds (or the given one for all). Scores are chosen by agreement."""
    rules, sample = {}, {}
    for score, d in differences.items():
        if threshold is None:
            cut: float | FloatArray = held_out(groups, d, votes, folds, criterion, bothbad).thresholds
        else:
            cut = threshold
        rules[score] = decide(d, cut)
        counts = swept(d, votes).sum(axis=0)
        sample[score] = (
            threshold
            if threshold is not None
            else float(GRID[choose(tables(counts), criterion, bothbad)])
            if counts.any()
            else float("nan")
        )
    counted = count(groups, votes, {str(s): chosen(predicted) for s, predicted in rules.items()}, sampling)
    figures = {score: counted.figures(str(score), bothbad) for score in rules}
    for name in SIMULTANEOUS:
        for score, each in _simultaneous(
            counted, name, bothbad, {s: found[name] for s, found in figures.items()}
        ).items():
            figures[score][name] = each
    predicted, taken = _chosen(differences, rules, votes, folds, threshold, criterion, bothbad)
    rows = tuple(ScoreRow(score, sample[score], figures[score]) for score in rules)
    return ScoreChoice(rows, predicted, taken)


def _simultaneous(
    counted: Counted, name: str, bothbad: BothBad, alone: Mapping[Score, Estimate]
) -> Mapping[Score, Estimate]:
    """Max-t intervals (Romano and Wolf 2005): value +- c se, where c is the quantile of the largest |deviation| / se
    over the scores in the same resample. A score without variation keeps its own interval."""
    drawn = {score: vote_figures(counted.tables[str(score)], bothbad)[name] for score in alone}
    spread = {
        score: float(np.nanstd(each[1:])) if (~np.isnan(each[1:])).any() else 0.0 for score, each in drawn.items()
    }
    moving = [score for score, each in drawn.items() if spread[score] > 0 and not np.isnan(each[0])]
    if not moving:
        return alone
    apart = np.stack([np.abs(drawn[s][1:] - drawn[s][0]) / spread[s] for s in moving])
    largest = np.where(np.isnan(apart), 0.0, apart).max(axis=0)
    c = float(np.quantile(largest, counted.drawn.level))
    low, high = (-1.0, 1.0) if name in KAPPAS else (0.0, 1.0)
    out = dict(alone)
    for score in moving:
        own, half = alone[score], c * spread[score]
        out[score] = replace(
            own,
            lo=max(low, own.value - half),
            hi=min(high, own.value + half),
            method=f"{own.method}; simultaneous over {len(moving)} scores (max-t)",
        )
    return out


def _chosen(
    differences: Mapping[Score, FloatArray],
    rules: Mapping[Score, IntArray],
    votes: IntArray,
    folds: IntArray,
    threshold: float | None,
    criterion: Criterion,
    bothbad: BothBad,
) -> tuple[IntArray, dict[Score, int]]:
    predicted = np.full(len(votes), NONE)
    taken = dict.fromkeys(differences, 0)
    counts = {score: swept(d, votes) for score, d in differences.items()}
    for number in np.unique(folds):
        here = folds == number
        worth: dict[Score, float] = {}
        for score, d in differences.items():
            if threshold is None:
                table = tables(counts[score][~here].sum(axis=0))
                found = vote_figures(table[:, :, choose(table, criterion, bothbad)], bothbad)["agreement"]
            else:
                seen = chosen(decide(d, threshold))[~here]
                table = np.stack([seen[votes[~here] == v].sum(axis=0) for v in range(4)])
                found = vote_figures(table, bothbad)["agreement"]
            worth[score] = -1.0 if np.isnan(found) else round(float(found), 12)
        best = max(differences, key=lambda score: worth[score])
        if worth[best] >= 0:
            taken[best] += 1
            predicted[here] = rules[best][here]
    return predicted, {score: n for score, n in taken.items() if n}
