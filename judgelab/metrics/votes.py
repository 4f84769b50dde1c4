"""People's votes on battles against what a rule predicts: the matrix, and every figure that is read off it.

Invariant: all rules on the same battles are counted in the same resamples, so that any difference of theirs is paired.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from judgelab.metrics.agreement import measures
from judgelab.metrics.estimate import Estimate
from judgelab.metrics.intervals import FloatArray, Resampled, ratio, resample, undefined, wilson
from judgelab.settings import AnalysisConfig
from judgelab.settings.nuggets import BothBad

IntArray = npt.NDArray[np.int_]

VOTES = ("model_a", "tie", "model_b", "tie (bothbad)")
PREDICTED = ("model_a", "tie", "model_b")
NONE = -1
NO_BATTLES = "no battle with a vote and a prediction"
KAPPAS = ("kappa", "kappa_linear", "kappa_quadratic", "ac1")
FIGURES = (
    "agreement",
    *KAPPAS,
    "macro_f1",
    "agreement_a",
    "agreement_tie",
    "agreement_b",
    "bothbad_as_tie",
    "predicted_tie",
    "inversion_all",
    "inversion_decisive",
    "accuracy_decisive",
)
_WHY = {
    "agreement_a": "no vote for model_a",
    "agreement_b": "no vote for model_b",
    "agreement_tie": "no vote for a tie",
    "bothbad_as_tie": "no vote that both are bad",
    "inversion_decisive": "no vote for either answer",
    "accuracy_decisive": "vote and prediction are never both for one of the answers",
}
_SEPARATE = "votes that both are bad are a class of its own, which has no place on the scale from a to b"
_ONE_LABEL = "votes and predictions are one and the same label throughout"


@dataclass(frozen=True)
class Sampling:
    """How intervals are drawn."""

    level: float
    resamples: int
    seed: int

    @classmethod
    def of(cls, analysis: AnalysisConfig, seed: int) -> Sampling:
        """As the analysis says."""
        return cls(analysis.level, analysis.resamples, seed)


@dataclass(frozen=True)
class Matrix:
    """Battles by vote (rows, in the order of `VOTES`) and prediction (columns, in the order of `PREDICTED`). A rule
    that tosses a coin spreads a battle over its predictions."""

    counts: tuple[tuple[float, float, float], ...]

    @property
    def n(self) -> float:
        """All battles."""
        return sum(map(sum, self.counts))


@dataclass(frozen=True)
class Counted:
    """`tables[rule]` counts votes by predictions, shape (4, 3, 1 + resamples): entry 0 is the sample."""

    drawn: Resampled
    tables: Mapping[str, FloatArray]

    def matrix(self, rule: str) -> Matrix:
        """The matrix of a rule in the sample."""
        return Matrix(tuple((float(a), float(t), float(b)) for a, t, b in self.tables[rule][..., 0]))

    def figures(self, rule: str, bothbad: BothBad, note: str = "") -> dict[str, Estimate]:
        """Every figure of `FIGURES` for a rule."""
        return estimates(self.drawn, self.tables[rule], bothbad, note)

    def difference(self, first: str, second: str, name: str, bothbad: BothBad, note: str = "") -> Estimate:
        """A figure of one rule minus the same of another; in points unless it is a kappa."""
        one, two = (vote_figures(self.tables[rule], bothbad) for rule in (first, second))
        kappa = name in KAPPAS
        return self.drawn.estimate(
            (one[name] - two[name]) * (1.0 if kappa else 100.0),
            wholes(self.tables[first], bothbad)[name][0],
            span=(-2.0, 2.0) if kappa else (-100.0, 100.0),
            unit="kappa" if kappa else "points",
            why=_why(name, bothbad, self.tables[first]),
            note=note,
        )


def vote_codes(votes: Sequence[str | None]) -> IntArray:
    """Places in `VOTES`, `NONE` where nobody voted."""
    index = {vote: k for k, vote in enumerate(VOTES)}
    return np.asarray([index.get(vote or "", NONE) for vote in votes], dtype=int)


def chosen(codes: IntArray) -> FloatArray:
    """Predictions as counts of shape (battles, 3): 1 at the place in `PREDICTED`, nothing for `NONE`."""
    out = np.zeros((len(codes), len(PREDICTED)))
    known = codes != NONE
    out[known, codes[known]] = 1.0
    return out


def count(
    groups: npt.NDArray[np.object_], votes: IntArray, rules: Mapping[str, FloatArray], sampling: Sampling
) -> Counted:
    """Count every rule's predictions (as `chosen` gives them) in the sample and in resamples of `groups`.

    A battle without a vote, or without a prediction of a rule, is not counted for it.
    """
    # Questions that nothing is counted of would thin the resamples.
    used = (votes != NONE) & np.any([predicted.any(axis=1) for predicted in rules.values()], axis=0)
    groups, votes = groups[used], votes[used]
    columns: dict[str, FloatArray] = {}
    for name, every in rules.items():
        predicted = every[used]
        for v in range(len(VOTES)):
            here = (votes == v).astype(float)
            columns |= {f"{name}|{v}|{p}": here * predicted[:, p] for p in range(len(PREDICTED))}
    drawn = resample(groups, columns, sampling.level, sampling.resamples, sampling.seed)
    tables = {
        name: np.stack([np.stack([drawn[f"{name}|{v}|{p}"] for p in range(len(PREDICTED))]) for v in range(len(VOTES))])
        for name in rules
    }
    return Counted(drawn, tables)


def vote_figures(table: FloatArray, bothbad: BothBad) -> dict[str, FloatArray]:
    """Each of `FIGURES`, elementwise over the axes of `table` after the first two (votes, predictions).

    `agreement`, the kappas and macro-F1 are over the classes that `bothbad` leaves. `agreement_a` is the share of votes
    for model_a that are predicted as such, and so on. An inversion is a vote for one answer predicted as the other:
    `inversion_all` of all battles whatever the vote, `inversion_decisive` of those with a vote for either answer;
    `accuracy_decisive` is the share right where neither the vote nor the prediction is a tie.
    """
    rows = table.sum(axis=1)
    inverted = table[0, 2] + table[2, 0]
    right = table[0, 0] + table[2, 2]
    found = measures(_square(table, bothbad))
    if bothbad is BothBad.separate:
        for name in ("kappa_linear", "kappa_quadratic"):
            found[name] = np.full(inverted.shape, np.nan)
    return {
        "agreement": found.pop("accuracy"),
        **found,
        "agreement_a": ratio(table[0, 0], rows[0]),
        "agreement_tie": ratio(table[1, 1], rows[1]),
        "agreement_b": ratio(table[2, 2], rows[2]),
        "bothbad_as_tie": ratio(table[3, 1], rows[3]),
        "predicted_tie": ratio(table[:, 1].sum(axis=0), rows.sum(axis=0)),
        "inversion_all": ratio(inverted, rows.sum(axis=0)),
        "inversion_decisive": ratio(inverted, rows[0] + rows[2]),
        "accuracy_decisive": ratio(right, right + inverted),
    }


def wholes(table: FloatArray, bothbad: BothBad) -> dict[str, FloatArray]:
    """What each of `FIGURES` is a share of, or over how many battles it is."""
    rows = table.sum(axis=1)
    every = rows.sum(axis=0)
    classed = every - rows[3] if bothbad is BothBad.dropped else every
    return {
        **dict.fromkeys(("agreement", *KAPPAS, "macro_f1"), classed),
        "agreement_a": rows[0],
        "agreement_tie": rows[1],
        "agreement_b": rows[2],
        "bothbad_as_tie": rows[3],
        "predicted_tie": every,
        "inversion_all": every,
        "inversion_decisive": rows[0] + rows[2],
        "accuracy_decisive": table[0, 0] + table[2, 2] + table[0, 2] + table[2, 0],
    }


def estimates(drawn: Resampled, table: FloatArray, bothbad: BothBad, note: str = "") -> dict[str, Estimate]:
    """Each of `FIGURES` with its interval, from a table in the sample and in the resamples of `drawn`."""
    n = wholes(table, bothbad)
    return {
        name: drawn.estimate(
            values,
            round(float(n[name][0])),
            span=(-1.0, 1.0) if name in KAPPAS else (0.0, 1.0),
            unit="kappa" if name in KAPPAS else "fraction",
            why=_why(name, bothbad, table),
            note=note,
        )
        for name, values in vote_figures(table, bothbad).items()
    }


def matrix_figures(matrix: Matrix, bothbad: BothBad, sampling: Sampling) -> dict[str, Estimate]:
    """Each of `FIGURES` from a published matrix of independent battles: Wilson for shares, a multinomial bootstrap for
    the kappas and macro-F1, which no such formula covers."""
    counts = np.asarray(matrix.counts, dtype=float)
    n = int(counts.sum())
    table = counts[..., None]
    if n:
        rng = np.random.default_rng(sampling.seed)
        again = rng.multinomial(n, counts.ravel() / n, size=sampling.resamples)
        table = np.concatenate([table, again.T.reshape(*counts.shape, -1)], axis=2)
    drawn = Resampled({}, n, sampling.level, sampling.resamples, sampling.seed)
    out = estimates(drawn, table, bothbad)
    whole = wholes(counts, bothbad)
    for name, value in vote_figures(counts, bothbad).items():
        if name not in (*KAPPAS, "macro_f1") and not math.isnan(float(value)):
            of = float(whole[name])
            out[name] = wilson(round(float(value) * of), round(of), sampling.level)
    return out


def suffixed(figures: Mapping[str, Estimate], suffix: str) -> dict[str, Estimate]:
    """The same under names that say which rule or treatment they belong to."""
    return {f"{name}{suffix}": each for name, each in figures.items()}


def noted(estimate: Estimate, note: str) -> Estimate:
    """The same with a remark at the end of its method."""
    return replace(estimate, method=f"{estimate.method}; {note}")


def no_figures(why: str) -> dict[str, Estimate]:
    """Each of `FIGURES`, undefined."""
    return {name: undefined(why, 0, "kappa" if name in KAPPAS else "fraction") for name in FIGURES}


def _square(table: FloatArray, bothbad: BothBad) -> FloatArray:
    match bothbad:
        case BothBad.tie:
            return np.stack([table[0], table[1] + table[3], table[2]])
        case BothBad.dropped:
            return table[:3]
        case BothBad.separate:
            empty = np.zeros((len(VOTES), 1, *table.shape[2:]))
            return np.concatenate([table, empty], axis=1)


def _why(name: str, bothbad: BothBad, table: FloatArray) -> str:
    if not table[..., 0].any():
        return NO_BATTLES
    if name in ("kappa_linear", "kappa_quadratic") and bothbad is BothBad.separate:
        return _SEPARATE
    return _WHY.get(name, _ONE_LABEL if name in KAPPAS else NO_BATTLES)
