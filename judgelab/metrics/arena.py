"""Every figure of the nuggets protocol from a table of battles and a table of labels.

Invariant: agreement with people is at thresholds chosen without the battles they predict; the in-sample value, the
other treatments of votes and failures, the pairwise judge and the rules that read nothing stand beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from judgelab.metrics.distributions import Curve
from judgelab.metrics.duels import Duels
from judgelab.metrics.estimate import Estimate
from judgelab.metrics.intervals import FloatArray, ratio, resample, undefined
from judgelab.metrics.nugget_labels import LabelFigures
from judgelab.metrics.ranks import Ranks, ranks
from judgelab.metrics.rpag import Coverage
from judgelab.metrics.score_choice import ScoreChoice, score_choice
from judgelab.metrics.three_way import Odds
from judgelab.metrics.threshold_free import NOT_ASKED, Arena, ThresholdFree, arena_of, difference, threshold_free
from judgelab.metrics.tie_threshold import Fold, Sweep, decide, held_out
from judgelab.metrics.two_stage import TwoStage, two_stage
from judgelab.metrics.vote_baselines import vote_baselines
from judgelab.metrics.vote_groups import VoteGroup, by_class, by_language
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
)
from judgelab.settings import AnalysisConfig, NuggetsConfig, Score, check_analysis
from judgelab.settings.nuggets import BothBad

if TYPE_CHECKING:
    import pandas as pd

CLASSED = ("agreement", *KAPPAS, "macro_f1")
BRIEF = ("agreement", "kappa", "inversion_all")
_ONE_QUESTION = "a held-out threshold needs battles of two questions or more (knob: protocol.tie_threshold)"


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
class _Predicted:
    """The outcomes that the nuggets predict at the threshold of each battle; `folds` is empty where it was given."""

    thresholds: FloatArray
    outcomes: IntArray
    folds: tuple[Fold, ...]


def nugget_figures(
    battles: pd.DataFrame, labels: pd.DataFrame, settings: NuggetsConfig, analysis: AnalysisConfig, seed: int
) -> NuggetFigures:
    """Compute all figures; either table may be empty, and what does not exist is undefined with the reason.

    Raises UsageError for settings that mean nothing.
    """
    check_analysis(settings)
    sampling = Sampling.of(analysis, seed)
    return figures_at_threshold(threshold_free(battles, labels, settings, sampling), settings, sampling)


def figures_at_threshold(free: ThresholdFree, settings: NuggetsConfig, sampling: Sampling) -> NuggetFigures:
    """All figures at the threshold of `settings`, given, or chosen on held-out folds where it is None; `free` was made
    from the same settings but for the threshold.

    Plain names (`agreement`, `kappa`, `inversion_all`, see `votes.FIGURES`) are held out, or at the given threshold.
    Suffixes: `_in_sample` the threshold that all battles chose; `_bothbad_X` another treatment of votes that both are
    bad; `_failed_left_out` failed labels not counted; `_worst`, `_best` battles without scores counted wrong, right;
    `_selected_score` the score chosen on the other folds too; `_calibrated` the likeliest outcome of the calibrated
    predictor; `_pairwise` the pairwise judge in both orders, `_pairwise_first` with answer a first. `gain_over_X` is
    the agreement of nuggets minus that of a rule, in points, `kappa_gain_over_X` the same of kappa.
    """
    table, bothbad = free.arena, settings.bothbad
    found = _predict(table, settings)
    scores = score_choice(
        table.groups,
        {score: difference(table.frame, score) for score in Score},
        table.votes,
        table.folds,
        settings.tie_threshold,
        settings.criterion,
        bothbad,
        sampling,
    )
    rules = {
        "nuggets": found.outcomes,
        "in_sample": decide(table.d, free.sweep.chosen.value),
        "failed_left_out": decide(table.left_out, found.thresholds),
        "selected_score": scores.predicted,
        "calibrated": free.odds.predicted,
    }
    counted = count(table.groups, table.votes, {name: chosen(each) for name, each in rules.items()}, sampling)
    metrics: dict[str, Estimate] = counted.figures("nuggets", bothbad)
    usable = (table.votes != NONE) & ~np.isnan(table.d)
    if usable.any() and np.isnan(found.thresholds[usable]).all():
        metrics |= no_figures(_ONE_QUESTION)
    metrics |= _threshold(table, found, settings, free.sweep)
    metrics |= suffixed(counted.figures("in_sample", bothbad, "in-sample"), "_in_sample")
    for other in BothBad:
        if other is not bothbad:
            treated = counted.figures("nuggets", other, f"votes that both are bad: {other}")
            metrics |= {f"{name}_bothbad_{other}": treated[name] for name in CLASSED}
    for rule in ("failed_left_out", "selected_score", "calibrated"):
        figures = counted.figures(rule, bothbad)
        metrics |= {f"{name}_{rule}": figures[name] for name in BRIEF}
    metrics |= _bounds(table, found.outcomes, bothbad, sampling)
    staged = two_stage(table.groups, table.votes, found.outcomes, free.pairs.both, free.classes, bothbad, sampling)
    ranked = _ranks(table, found.outcomes, free.pairs, sampling)
    baselines, gains = _baselines(table, found.outcomes, settings, sampling)
    metrics |= {**free.metrics, **staged.metrics, **ranked.metrics, **gains}
    for name, trivial in free.meta.baselines.items():
        baselines[name] = {**baselines.get(name, {}), **trivial}
    predicted = chosen(found.outcomes)
    classes = [each or () for each in free.classes]
    return NuggetFigures(
        metrics=metrics,
        baselines=baselines,
        coverage=free.coverage,
        predicted=_named(found.outcomes),
        matrix=counted.matrix("nuggets"),
        matrix_in_sample=counted.matrix("in_sample"),
        matrix_pairwise=free.matrix_pairwise,
        folds=found.folds,
        sweep=free.sweep,
        scores=scores,
        by_class=by_class(table.groups, table.votes, predicted, classes, bothbad, sampling),
        by_language=by_language(
            table.groups, table.votes, predicted, table.frame["language"].tolist(), bothbad, sampling
        ),
        curves=free.curves,
        odds=free.odds.odds,
        ranks=ranked,
        two_stage=staged,
        meta=free.meta,
    )


def predictions(battles: pd.DataFrame, settings: NuggetsConfig, seed: int) -> tuple[str | None, ...]:
    """The outcome that the nuggets predict for each battle, at held-out thresholds or the given one; None without."""
    check_analysis(settings)
    return _named(_predict(arena_of(battles, settings, seed), settings).outcomes)


def _predict(table: Arena, settings: NuggetsConfig) -> _Predicted:
    if settings.tie_threshold is None:
        held = held_out(table.groups, table.d, table.votes, table.folds, settings.criterion, settings.bothbad)
        return _Predicted(held.thresholds, decide(table.d, held.thresholds), held.folds)
    thresholds = np.full(len(table.d), float(settings.tie_threshold))
    return _Predicted(thresholds, decide(table.d, thresholds), ())


def _named(predicted: IntArray) -> tuple[str | None, ...]:
    return tuple(None if code == NONE else PREDICTED[code] for code in predicted)


def _threshold(table: Arena, found: _Predicted, settings: NuggetsConfig, swept: Sweep) -> dict[str, Estimate]:
    n = int(((table.votes != NONE) & (found.outcomes != NONE)).sum())
    known = found.thresholds[~np.isnan(found.thresholds)]
    if settings.tie_threshold is not None:
        own = Estimate(settings.tie_threshold, settings.tie_threshold, settings.tie_threshold, n, "given, not chosen")
    elif len(known):
        method = f"mean over battles of the thresholds chosen on the other folds, range over {settings.folds} folds"
        own = Estimate(float(known.mean()), float(known.min()), float(known.max()), n, method)
    else:
        own = undefined(_ONE_QUESTION)
    return {"threshold": own, "threshold_in_sample": swept.chosen}


def _bounds(table: Arena, predicted: IntArray, bothbad: BothBad, sampling: Sampling) -> dict[str, Estimate]:
    """Agreement if every battle with a vote whose answers have no scores had been predicted wrong, and right."""
    classes = np.where(table.votes == 3, NONE if bothbad is BothBad.dropped else 1, table.votes)
    asked = classes != NONE
    scored = predicted[asked] != NONE
    met = predicted[asked] == classes[asked]
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


def _ranks(table: Arena, predicted: IntArray, pairs: Duels, sampling: Sampling) -> Ranks:
    systems = list(zip(table.frame["system_a"].tolist(), table.frame["system_b"].tolist(), strict=True))
    sides = {"people": np.where(table.votes == 3, 1, table.votes), "nuggets": predicted, "pairwise": pairs.both}
    judged = bool(((table.votes != NONE) & (pairs.both != NONE) & (predicted != NONE)).any())
    if judged:
        return ranks(table.groups, systems, sides, "people", sampling)
    found = ranks(table.groups, systems, {side: sides[side] for side in ("people", "nuggets")}, "people", sampling)
    why = undefined(NOT_ASKED if len(table.votes) else "no battle", 0, "kappa")
    return Ranks(found.rows, {**found.metrics, "rank_tau_pairwise": why})


def _baselines(
    table: Arena, predicted: IntArray, settings: NuggetsConfig, sampling: Sampling
) -> tuple[dict[str, Mapping[str, Estimate]], dict[str, Estimate]]:
    used = (table.votes != NONE) & (predicted != NONE)
    own = chosen(predicted[used])
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
