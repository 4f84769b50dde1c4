"""Nuggets where a question asks for knowledge, the pairwise judge elsewhere: is the mixture better than its parts?

Invariant: the three rules are compared on the same battles, folds and resamples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from judgelab.metrics.estimate import Estimate
from judgelab.metrics.votes import NONE, IntArray, Matrix, Sampling, chosen, count
from judgelab.settings.nuggets import BothBad

CLASS = "knowledge_intensive"
RULES = ("two_stage", "nuggets", "pairwise")
COMPARED = ("agreement", "kappa", "inversion_all")


@dataclass(frozen=True)
class RuleRow:
    """A rule on the battles that all three can decide; `by_nuggets` of them are decided by nuggets."""

    rule: str
    battles: int
    by_nuggets: int
    matrix: Matrix
    figures: Mapping[str, Estimate]


@dataclass(frozen=True)
class TwoStage:
    """`metrics`: `two_stage_agreement`, ..., and the paired differences `two_stage_minus_nuggets_agreement`,
    `two_stage_minus_pairwise_agreement`, `nuggets_minus_pairwise_agreement`, ... for each of `COMPARED`."""

    rows: tuple[RuleRow, ...]
    metrics: Mapping[str, Estimate]


def two_stage(
    groups: npt.NDArray[np.object_],
    votes: IntArray,
    nuggets: IntArray,
    pairwise: IntArray,
    classes: Sequence[Sequence[str] | None],
    bothbad: BothBad,
    sampling: Sampling,
) -> TwoStage:
    """Outcomes of nuggets (held-out) and of the pairwise judge (both orders), with each question's classes; None where
    it was not rated. Only battles with a vote and all three count; without ratings, nuggets and the judge alone are
    compared, and the two-stage figures are undefined."""
    rated = np.asarray([each is not None for each in classes], dtype=bool)
    staged = bool(rated.any())
    used = (votes != NONE) & (nuggets != NONE) & (pairwise != NONE) & (rated if staged else True)
    factual = np.asarray([CLASS in (each or ()) for each in classes], dtype=bool)[used]
    rules = {
        "two_stage": np.where(factual, nuggets[used], pairwise[used]) if staged else np.full(int(used.sum()), NONE),
        "nuggets": nuggets[used],
        "pairwise": pairwise[used],
    }
    counted = count(groups[used], votes[used], {name: chosen(each) for name, each in rules.items()}, sampling)
    by_nuggets = {"two_stage": int(factual.sum()), "nuggets": int(used.sum()), "pairwise": 0}
    figures = {name: counted.figures(name, bothbad) for name in RULES}
    rows = tuple(
        RuleRow(name, int(used.sum()), by_nuggets[name], counted.matrix(name), figures[name])
        for name in RULES
        if used.any() and (staged or name != "two_stage")
    )
    metrics = {f"two_stage_{name}": figures["two_stage"][name] for name in COMPARED}
    for first, second in (("two_stage", "nuggets"), ("two_stage", "pairwise"), ("nuggets", "pairwise")):
        for name in COMPARED:
            metrics[f"{first}_minus_{second}_{name}"] = counted.difference(first, second, name, bothbad)
    return TwoStage(rows, metrics)
