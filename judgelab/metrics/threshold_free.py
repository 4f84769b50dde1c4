"""What the arena analysis knows before any tie threshold is set, so that sweeping it computes only what moves.

Invariant: nothing here reads `tie_threshold`; every point of a sweep over the same records shares one `ThresholdFree`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from judgelab.metrics.accuracy import values
from judgelab.metrics.distributions import Curve, curves, distances
from judgelab.metrics.duels import Duels, duels, order_figures
from judgelab.metrics.estimate import Estimate
from judgelab.metrics.intervals import FloatArray
from judgelab.metrics.nugget_coverage import coverage_of, made_shares
from judgelab.metrics.nugget_labels import LabelFigures, failed_shares, label_figures
from judgelab.metrics.rpag import Coverage
from judgelab.metrics.three_way import ThreeWay, three_way
from judgelab.metrics.tie_threshold import Sweep, fold_of, sweep
from judgelab.metrics.vote_groups import classes_of
from judgelab.metrics.votes import IntArray, Matrix, Sampling, chosen, count, no_figures, suffixed, vote_codes
from judgelab.settings import NuggetsConfig, Score

if TYPE_CHECKING:
    import pandas as pd

NOT_ASKED = "the pairwise judge was not asked (knob: protocol.pairwise)"


@dataclass(frozen=True)
class Arena:
    """A table of battles as arrays: `d` is the score of answer b minus that of answer a, `left_out` the same where
    failed labels do not count, `folds` the fold of each battle's question."""

    frame: pd.DataFrame
    groups: npt.NDArray[np.object_]
    votes: IntArray
    d: FloatArray
    left_out: FloatArray
    folds: IntArray


@dataclass(frozen=True)
class ThresholdFree:
    """Figures and intermediate results that no tie threshold changes. `classes` are the query classes of each battle,
    None where its question was not rated; `metrics` are finished figures by name."""

    arena: Arena
    pairs: Duels
    classes: tuple[tuple[str, ...] | None, ...]
    sweep: Sweep
    odds: ThreeWay
    curves: tuple[Curve, ...]
    meta: LabelFigures
    coverage: Coverage
    matrix_pairwise: Matrix
    metrics: Mapping[str, Estimate]


def arena_of(battles: pd.DataFrame, settings: NuggetsConfig, seed: int) -> Arena:
    """The battles as arrays, scored by `settings.score`."""
    groups = values(battles, "group")
    return Arena(
        frame=battles,
        groups=groups,
        votes=vote_codes(battles["vote"].tolist()),
        d=difference(battles, settings.score),
        left_out=difference(battles, settings.score, "_left_out"),
        folds=fold_of(groups, settings.folds, seed),
    )


def difference(battles: pd.DataFrame, score: Score, rule: str = "") -> FloatArray:
    """Score of answer b minus that of answer a, NaN without nuggets."""
    a, b = (battles[f"{score}{rule}_{side}"].to_numpy(dtype=float) for side in "ab")
    return np.asarray(b - a, dtype=float)


def threshold_free(
    battles: pd.DataFrame, labels: pd.DataFrame, settings: NuggetsConfig, sampling: Sampling
) -> ThresholdFree:
    """Compute all that every threshold shares; either table may be empty."""
    table = arena_of(battles, settings, sampling.seed)
    pairs = duels(battles["verdict_ab"].tolist(), battles["verdict_ba"].tolist())
    odds = three_way(table.groups, table.d, table.votes, table.folds, settings.bothbad, sampling)
    meta = label_figures(labels, settings.score, sampling)
    pairwise, matrix = _pairwise(table, pairs, settings, sampling)
    return ThresholdFree(
        arena=table,
        pairs=pairs,
        classes=tuple(
            classes_of(ratings, settings.class_min) if ratings else None for ratings in battles["ratings"].tolist()
        ),
        sweep=sweep(table.groups, table.d, table.votes, settings.criterion, settings.bothbad, sampling),
        odds=odds,
        curves=curves(table.d, table.votes),
        meta=meta,
        coverage=coverage_of(battles, labels),
        matrix_pairwise=matrix,
        metrics={
            **distances(table.groups, table.d, table.votes, sampling),
            **odds.metrics,
            **pairwise,
            **meta.metrics,
            **failed_shares(labels, sampling),
            **made_shares(battles, sampling),
        },
    )


def _pairwise(
    table: Arena, pairs: Duels, settings: NuggetsConfig, sampling: Sampling
) -> tuple[dict[str, Estimate], Matrix]:
    asked = bool((table.frame["asked_ab"] | table.frame["asked_ba"]).any())
    out: dict[str, Estimate] = {}
    matrix = Matrix(((0.0, 0.0, 0.0),) * 4)
    for suffix, verdicts in (("_pairwise", pairs.both), ("_pairwise_first", pairs.first)):
        found = count(table.groups, table.votes, {"judge": chosen(verdicts)}, sampling)
        figures = found.figures("judge", settings.bothbad) if asked or not len(table.votes) else no_figures(NOT_ASKED)
        out |= suffixed(figures, suffix)
        matrix = found.matrix("judge") if suffix == "_pairwise" else matrix
    return out | dict(order_figures(table.groups, pairs, sampling)), matrix
