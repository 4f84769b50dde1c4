"""Every figure of the nuggets protocol from a table of battles and a table of labels.

Invariant: agreement with people is at thresholds chosen without the battles they predict; the in-sample value, the
other treatments of votes and failures, the pairwise judge and the rules that read nothing stand beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from judgelab.errors import UsageError
from judgelab.metrics.accuracy import values
from judgelab.metrics.distributions import Curve, curves, distances
from judgelab.metrics.duels import Duels, duels, order_figures
from judgelab.metrics.estimate import Estimate
from judgelab.metrics.intervals import FloatArray, ratio, resample, undefined
from judgelab.metrics.nugget_coverage import coverage_of, made_shares
from judgelab.metrics.nugget_labels import LabelFigures, failed_shares, label_figures
from judgelab.metrics.ranks import Ranks, ranks
from judgelab.metrics.rpag import Coverage
from judgelab.metrics.score_choice import ScoreChoice, score_choice
from judgelab.metrics.three_way import Odds, three_way
from judgelab.metrics.tie_threshold import Fold, Sweep, decide, fold_of, held_out, sweep
from judgelab.metrics.two_stage import TwoStage, two_stage
from judgelab.metrics.vote_baselines import vote_baselines
from judgelab.metrics.vote_groups import VoteGroup, by_class, by_language, classes_of
from judgelab.metrics.votes import (
    KAPPAS,
    NONE,
    PREDICTED,
    IntArray,
    Matrix,
    Sampling,
    chosen,
    count,
    no_figures,
    suffixed,
    vote_codes,
)
from judgelab.settings import AnalysisConfig, NuggetsConfig, Score
from judgelab.settings.nuggets import BothBad

if TYPE_CHECKING:
    import pandas as pd

CLASSED = ("agreement", *KAPPAS, "macro_f1")
BRIEF = ("agreement", "kappa", "inversion_all")
_ONE_QUESTION = "a held-out threshold needs battles of two questions or more (knob: protocol.tie_threshold)"
_NOT_ASKED = "the pairwise judge was not asked (knob: protocol.pairwise)"


@dataclass(frozen=True)
class NuggetFigures:
    """The result of a run under one analysis.

    `predicted` is the outcome by nuggets of each row of the table of battles, None without. `matrix` is at held-out
    thresholds, `matrix_in_sample` at the one that all battles chose, `matrix_pairwise` of the pairwise judge in both
    orders. `folds` is empty where the threshold was given. `odds` are the calibrated predictor's, `meta` what people's
    labels of nuggets say.
    """

    metrics: Mapping[str, Estimate]
    baselines: Mapping[str, Mapping[str, Estimate]]
    coverage: Coverage
    predicted: tuple[str | None, ...]
    matrix: Matrix
    matrix_in_sample: Matrix
    matrix_pairwise: Matrix
    folds: tuple[Fold, ...]
    sweep: Sweep
    scores: ScoreChoice
    by_class: tuple[VoteGroup, ...]
    by_language: tuple[VoteGroup, ...]
    curves: tuple[Curve, ...]
    odds: tuple[Odds, ...]
    ranks: Ranks
    two_stage: TwoStage
    meta: LabelFigures


@dataclass(frozen=True)
class _Battles:
    """The table as arrays, and the outcomes that the nuggets predict."""

    frame: pd.DataFrame
    groups: npt.NDArray[np.object_]
    votes: IntArray
    d: FloatArray
    folds: IntArray
    thresholds: FloatArray
    predicted: IntArray


def nugget_figures(
    battles: pd.DataFrame, labels: pd.DataFrame, settings: NuggetsConfig, analysis: AnalysisConfig, seed: int
) -> NuggetFigures:
    """Compute all figures; either table may be empty, and what does not exist is undefined with the reason.

    Plain names (`agreement`, `kappa`, `inversion_all`, see `votes.FIGURES`) are held out, or at the given threshold.
    Suffixes: `_in_sample` the threshold that all battles chose; `_bothbad_X` another treatment of votes that both are
    bad; `_failed_left_out` failed labels not counted; `_worst`, `_best` battles without scores counted wrong, right;
    `_selected_score` the score chosen on the other folds too; `_calibrated` the likeliest outcome of the calibrated
    predictor; `_pairwise` the pairwise judge in both orders, `_pairwise_first` with answer a first. `gain_over_X` is
    the agreement of nuggets minus that of a rule, in points, `kappa_gain_over_X` the same of kappa.
    Raises UsageError for settings that mean nothing.
    """
    _check(settings)
    sampling = Sampling.of(analysis, seed)
    bothbad = settings.bothbad
    table, given = _predict(battles, settings, seed)
    swept = sweep(table.groups, table.d, table.votes, settings.criterion, bothbad, sampling)
    best = decide(table.d, swept.chosen.value)
    pairs = duels(battles["verdict_ab"].tolist(), battles["verdict_ba"].tolist())
    odds = three_way(table.groups, table.d, table.votes, table.folds, bothbad, sampling)
    scores = score_choice(
        table.groups,
        {score: _difference(battles, score) for score in Score},
        table.votes,
        table.folds,
        settings.tie_threshold,
        settings.criterion,
        bothbad,
        sampling,
    )
    left_out = decide(_difference(battles, settings.score, "_left_out"), table.thresholds)
    rules = {
        "nuggets": table.predicted,
        "in_sample": best,
        "failed_left_out": left_out,
        "selected_score": scores.predicted,
        "calibrated": odds.predicted,
    }
    counted = count(table.groups, table.votes, {name: chosen(each) for name, each in rules.items()}, sampling)
    metrics: dict[str, Estimate] = counted.figures("nuggets", bothbad)
    usable = (table.votes != NONE) & ~np.isnan(table.d)
    if usable.any() and np.isnan(table.thresholds[usable]).all():
        metrics |= no_figures(_ONE_QUESTION)
    metrics |= _threshold(table, settings, swept)
    metrics |= suffixed(counted.figures("in_sample", bothbad, "in-sample"), "_in_sample")
    for other in BothBad:
        if other is not bothbad:
            found = counted.figures("nuggets", other, f"votes that both are bad: {other}")
            metrics |= {f"{name}_bothbad_{other}": found[name] for name in CLASSED}
    for rule in ("failed_left_out", "selected_score", "calibrated"):
        found = counted.figures(rule, bothbad)
        metrics |= {f"{name}_{rule}": found[name] for name in BRIEF}
    metrics |= _bounds(table, bothbad, sampling)
    metrics |= distances(table.groups, table.d, table.votes, sampling)
    metrics |= odds.metrics
    pairwise, matrix_pairwise = _pairwise(table, pairs, bothbad, sampling)
    metrics |= pairwise
    classes = [classes_of(ratings, settings.class_min) if ratings else None for ratings in battles["ratings"].tolist()]
    staged = two_stage(table.groups, table.votes, table.predicted, pairs.both, classes, bothbad, sampling)
    metrics |= staged.metrics
    ranked = _ranks(table, pairs, sampling)
    metrics |= ranked.metrics
    meta = label_figures(labels, settings.score, sampling)
    metrics |= meta.metrics
    metrics |= failed_shares(labels, sampling) | made_shares(battles, sampling)
    baselines, gains = _baselines(table, settings, sampling)
    metrics |= gains
    for name, trivial in meta.baselines.items():
        baselines[name] = {**baselines.get(name, {}), **trivial}
    predicted = chosen(table.predicted)
    return NuggetFigures(
        metrics=metrics,
        baselines=baselines,
        coverage=coverage_of(battles, labels),
        predicted=_named(table.predicted),
        matrix=counted.matrix("nuggets"),
        matrix_in_sample=counted.matrix("in_sample"),
        matrix_pairwise=matrix_pairwise,
        folds=given,
        sweep=swept,
        scores=scores,
        by_class=by_class(table.groups, table.votes, predicted, [each or () for each in classes], bothbad, sampling),
        by_language=by_language(table.groups, table.votes, predicted, battles["language"].tolist(), bothbad, sampling),
        curves=curves(table.d, table.votes),
        odds=odds.odds,
        ranks=ranked,
        two_stage=staged,
        meta=meta,
    )


def predictions(battles: pd.DataFrame, settings: NuggetsConfig, seed: int) -> tuple[str | None, ...]:
    """The outcome that the nuggets predict for each battle, at held-out thresholds or the given one; None without."""
    _check(settings)
    return _named(_predict(battles, settings, seed)[0].predicted)


def _predict(battles: pd.DataFrame, settings: NuggetsConfig, seed: int) -> tuple[_Battles, tuple[Fold, ...]]:
    groups = values(battles, "group")
    votes = vote_codes(battles["vote"].tolist())
    d = _difference(battles, settings.score)
    folds = fold_of(groups, settings.folds, seed)
    made: tuple[Fold, ...] = ()
    if settings.tie_threshold is None:
        held = held_out(groups, d, votes, folds, settings.criterion, settings.bothbad)
        thresholds, made = held.thresholds, held.folds
    else:
        thresholds = np.full(len(d), float(settings.tie_threshold))
    return _Battles(battles, groups, votes, d, folds, thresholds, decide(d, thresholds)), made


def _named(predicted: IntArray) -> tuple[str | None, ...]:
    return tuple(None if code == NONE else PREDICTED[code] for code in predicted)


def _difference(battles: pd.DataFrame, score: Score, rule: str = "") -> FloatArray:
    a, b = (battles[f"{score}{rule}_{side}"].to_numpy(dtype=float) for side in "ab")
    return np.asarray(b - a, dtype=float)


def _threshold(table: _Battles, settings: NuggetsConfig, swept: Sweep) -> dict[str, Estimate]:
    n = int(((table.votes != NONE) & (table.predicted != NONE)).sum())
    known = table.thresholds[~np.isnan(table.thresholds)]
    if settings.tie_threshold is not None:
        own = Estimate(settings.tie_threshold, settings.tie_threshold, settings.tie_threshold, n, "given, not chosen")
    elif len(known):
        method = f"mean over battles of the thresholds chosen on the other folds, range over {settings.folds} folds"
        own = Estimate(float(known.mean()), float(known.min()), float(known.max()), n, method)
    else:
        own = undefined(_ONE_QUESTION)
    return {"threshold": own, "threshold_in_sample": swept.chosen}


def _bounds(table: _Battles, bothbad: BothBad, sampling: Sampling) -> dict[str, Estimate]:
    """Agreement if every battle with a vote whose answers have no scores had been predicted wrong, and right."""
    classes = np.where(table.votes == 3, NONE if bothbad is BothBad.dropped else 1, table.votes)
    asked = classes != NONE
    scored = table.predicted[asked] != NONE
    met = table.predicted[asked] == classes[asked]
    if bothbad is BothBad.separate:
        met = met & (table.votes[asked] != 3)
    columns = {"n": np.ones(int(asked.sum())), "worst": scored & met, "best": ~scored | met}
    drawn = resample(table.groups[asked], columns, sampling.level, sampling.resamples, sampling.seed)
    return {
        f"agreement_{name}": drawn.estimate(
            ratio(drawn[name], drawn["n"]), int(asked.sum()), why="no battle with a vote"
        )
        for name in ("worst", "best")
    }


def _pairwise(
    table: _Battles, pairs: Duels, bothbad: BothBad, sampling: Sampling
) -> tuple[dict[str, Estimate], Matrix]:
    asked = bool((table.frame["asked_ab"] | table.frame["asked_ba"]).any())
    out: dict[str, Estimate] = {}
    matrix = Matrix(((0.0, 0.0, 0.0),) * 4)
    for suffix, verdicts in (("_pairwise", pairs.both), ("_pairwise_first", pairs.first)):
        found = count(table.groups, table.votes, {"judge": chosen(verdicts)}, sampling)
        figures = found.figures("judge", bothbad) if asked or not len(table.votes) else no_figures(_NOT_ASKED)
        out |= suffixed(figures, suffix)
        matrix = found.matrix("judge") if suffix == "_pairwise" else matrix
    return out | dict(order_figures(table.groups, pairs, sampling)), matrix


def _ranks(table: _Battles, pairs: Duels, sampling: Sampling) -> Ranks:
    systems = list(zip(table.frame["system_a"].tolist(), table.frame["system_b"].tolist(), strict=True))
    sides = {"people": np.where(table.votes == 3, 1, table.votes), "nuggets": table.predicted, "pairwise": pairs.both}
    judged = bool(((table.votes != NONE) & (pairs.both != NONE) & (table.predicted != NONE)).any())
    if judged:
        return ranks(table.groups, systems, sides, "people", sampling)
    found = ranks(table.groups, systems, {side: sides[side] for side in ("people", "nuggets")}, "people", sampling)
    why = undefined(_NOT_ASKED if len(table.votes) else "no battle", 0, "kappa")
    return Ranks(found.rows, {**found.metrics, "rank_tau_pairwise": why})


def _baselines(
    table: _Battles, settings: NuggetsConfig, sampling: Sampling
) -> tuple[dict[str, Mapping[str, Estimate]], dict[str, Estimate]]:
    used = (table.votes != NONE) & (table.predicted != NONE)
    own = chosen(table.predicted[used])
    trivial = vote_baselines(
        table.frame[used], table.votes[used], own, table.folds[used], settings.criterion, settings.bothbad
    )
    counted = count(table.groups[used], table.votes[used], {"nuggets": own, **trivial}, sampling)
    gains = {
        f"{prefix}gain_over_{rule}": counted.difference("nuggets", rule, name, settings.bothbad, name)
        for prefix, name in (("", "agreement"), ("kappa_", "kappa"))
        for rule in ("majority", "longer_wins", "longer_wins_chars", "longer_tuned")
    }
    return {rule: counted.figures(rule, settings.bothbad) for rule in trivial}, gains


def _check(settings: NuggetsConfig) -> None:
    if settings.folds < 2:
        raise UsageError(f"protocol.folds={settings.folds}: must be 2 or more")
    if settings.tie_threshold is not None and not 0 <= settings.tie_threshold <= 1:
        raise UsageError(f"protocol.tie_threshold={settings.tie_threshold}: must be from 0 to 1, or null to choose it")
    if not 0 <= settings.class_min <= 10:
        raise UsageError(f"protocol.class_min={settings.class_min}: must be from 0 to 10")
