"""The judge's labels of nuggets against people's: does it know what matters, and does it see what an answer holds?

Invariant: labels that failed are no labels; they are left out, counted, and held against the judge in a figure of their
own. Topics are drawn whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from judgelab.metrics.accuracy import BoolArray, values
from judgelab.metrics.agreement import measures
from judgelab.metrics.estimate import Estimate
from judgelab.metrics.intervals import FloatArray, ratio, resample, undefined
from judgelab.metrics.nugget_scores import FAILED, answer_scores
from judgelab.metrics.rank_correlation import tau_of_answers, tau_of_systems
from judgelab.metrics.votes import Sampling
from judgelab.settings import Score

if TYPE_CHECKING:
    import pandas as pd

SUPPORT = ("not_support", "partial_support", "support")
TWO = ("not_support", "support")
IMPORTANCE = ("okay", "vital")
RANKED = (Score.all_strict, Score.vital_strict)
OVERLAP = 0.6  # share of a nugget's content words from which the trivial assigner says support
_NO_PEOPLE = "no label by people beside one of the judge"
_ONE_LABEL = "people and judge use one and the same label throughout"


@dataclass(frozen=True)
class LabelMatrix:
    """Labels of people (rows) and the judge (columns), both in the order of `labels`."""

    labels: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class RunRow:
    """A system and the mean score of its answers, by the judge's labels and by people's."""

    system: str
    answers: int
    judge: Estimate
    people: Estimate


@dataclass(frozen=True)
class LabelFigures:
    """`metrics` of the judge and, under the same names, what the trivial judges get. Matrices are None without people's
    labels; `runs` are the systems, best first in the judge's eyes."""

    metrics: Mapping[str, Estimate]
    baselines: Mapping[str, Mapping[str, Estimate]]
    support: LabelMatrix | None
    importance: LabelMatrix | None
    runs: tuple[RunRow, ...]


def label_figures(labels: pd.DataFrame, score: Score, sampling: Sampling) -> LabelFigures:
    """Meta-evaluation against people's labels; all of it undefined where there are none.

    `label_*` is the three-grade assignment, `label2_*` the two-grade one (partial support is none, as in the strict
    scores), `importance_*` vital against okay: accuracy, kappa, AC1 and macro-F1 each, and weighted kappas of the
    three grades. `label_accuracy_worst` counts failed labels as wrong. `run_tau`, `cell_tau` rank runs (means over
    topics) and single answers by `score`, with each side's own importance; `_all_strict` and `_vital_strict` do so
    by those scores.

    Baselines: `word_overlap` says support where at least 0.6 of the content words occur in the answer, vital always;
    `majority` says people's most frequent label. Without people's labels there are none.
    """
    real = labels[labels["nugget"].notna()]
    told = real[real["human_label"].notna()]
    overlap = _relabelled(told, ["support" if share >= OVERLAP - 1e-9 else "not_support" for share in told["overlap"]])
    modal = _modal(values(told, "human_label").tolist(), "not_support")
    trivial = {"word_overlap": overlap, "majority": _relabelled(told, [modal] * len(told))} if len(told) else {}
    weighed = real[real["human_importance"].notna() & (real["answer"] == 0)]
    return LabelFigures(
        metrics=_figures(told, weighed, score, sampling),
        baselines={
            name: _figures(
                rows, weighed.assign(importance=_modal(values(weighed, "human_importance").tolist())), score, sampling
            )
            for name, rows in trivial.items()
        },
        support=_matrix(told, "human_label", "label", SUPPORT),
        importance=_matrix(weighed, "human_importance", "importance", IMPORTANCE),
        runs=_runs(real, told, score, sampling),
    )


def failed_shares(labels: pd.DataFrame, sampling: Sampling) -> dict[str, Estimate]:
    """`failed_label_share` of all labels asked for, `failed_importance_share` of all nuggets."""
    real = labels[labels["nugget"].notna()]
    return {
        "failed_label_share": _share(real, values(real, "label") == FAILED, sampling),
        "failed_importance_share": _share(
            real[real["answer"] == 0], values(real[real["answer"] == 0], "importance") == FAILED, sampling
        ),
    }


def _figures(told: pd.DataFrame, weighed: pd.DataFrame, score: Score, sampling: Sampling) -> dict[str, Estimate]:
    out = {
        **_agreement(told, "human_label", "label", SUPPORT, "label", sampling),
        **_agreement(_two_grades(told), "human_label", "label", TWO, "label2", sampling),
    }
    right = (values(told, "label") == values(told, "human_label")).astype(bool)
    out["label_accuracy_worst"] = _share(told, right, sampling, "failed labels count as wrong")
    out |= _agreement(weighed, "human_importance", "importance", IMPORTANCE, "importance", sampling)
    if not len(told):
        names = [f"{what}_tau{suffix}" for suffix in ("", *(f"_{each}" for each in RANKED)) for what in ("run", "cell")]
        return out | {name: undefined(_NO_PEOPLE, 0, "kappa") for name in names}
    judge = answer_scores(told, "label", "importance")
    people = answer_scores(told, "human_label", "human_importance")
    for suffix, which in (("", score), *((f"_{each}", each) for each in RANKED)):
        out |= _taus(judge, people, which, suffix, sampling)
    return out


def _agreement(
    rows: pd.DataFrame, people: str, judge: str, labels: Sequence[str], name: str, sampling: Sampling
) -> dict[str, Estimate]:
    rows = rows[rows[people].isin(labels) & rows[judge].isin(labels)]
    one, two = values(rows, people), values(rows, judge)
    columns = {f"{a}|{b}": (one == a) & (two == b) for a in labels for b in labels}
    drawn = resample(values(rows, "group"), columns, sampling.level, sampling.resamples, sampling.seed)
    table = np.stack([np.stack([drawn[f"{a}|{b}"] for b in labels]) for a in labels])
    graded = () if len(labels) == 2 else ("kappa_linear", "kappa_quadratic")
    found = measures(table)
    return {
        f"{name}_{each}": drawn.estimate(
            found[each],
            len(rows),
            span=(0.0, 1.0) if each in ("accuracy", "macro_f1") else (-1.0, 1.0),
            unit="fraction" if each in ("accuracy", "macro_f1") else "kappa",
            why=_ONE_LABEL if len(rows) else _NO_PEOPLE,
        )
        for each in ("accuracy", "kappa", *graded, "ac1", "macro_f1")
    }


def _taus(
    judge: pd.DataFrame, people: pd.DataFrame, score: Score, suffix: str, sampling: Sampling
) -> dict[str, Estimate]:
    groups, systems = values(judge, "group"), values(judge, "system")
    one, two = (each[score].to_numpy(dtype=float) for each in (judge, people))
    columns: dict[str, FloatArray] = {}
    names = sorted(set(systems))
    for k, name in enumerate(names):
        here = (systems == name).astype(float)
        columns |= {f"n|{k}": here, f"judge|{k}": here * one, f"people|{k}": here * two}
    drawn = resample(groups, columns, sampling.level, sampling.resamples, sampling.seed)
    means = [
        np.stack([ratio(drawn[f"{side}|{k}"], drawn[f"n|{k}"]) for k in range(len(names))])
        for side in ("judge", "people")
    ]
    note = f"score {score}"
    return {
        f"run_tau{suffix}": tau_of_systems(means[0], means[1], drawn, note),
        f"cell_tau{suffix}": tau_of_answers(groups, one, two, sampling, note),
    }


def _runs(real: pd.DataFrame, told: pd.DataFrame, score: Score, sampling: Sampling) -> tuple[RunRow, ...]:
    judge = answer_scores(real, "label", "importance")
    people = answer_scores(told, "human_label", "human_importance")
    rows = [
        RunRow(
            name,
            int((judge["system"] == name).sum()),
            *(_mean(each[each["system"] == name], score, sampling) for each in (judge, people)),
        )
        for name in sorted(set(judge["system"]))
    ]
    return tuple(sorted(rows, key=lambda row: -row.judge.value))


def _mean(rows: pd.DataFrame, score: Score, sampling: Sampling) -> Estimate:
    columns = {"n": np.ones(len(rows)), "value": rows[score].to_numpy(dtype=float)}
    drawn = resample(values(rows, "group"), columns, sampling.level, sampling.resamples, sampling.seed)
    return drawn.estimate(
        ratio(drawn["value"], drawn["n"]), len(rows), why="no answer labelled", note="n counts answers"
    )


def _share(rows: pd.DataFrame, right: BoolArray, sampling: Sampling, note: str = "") -> Estimate:
    columns = {"n": np.ones(len(rows)), "right": np.asarray(right, dtype=bool)}
    drawn = resample(values(rows, "group"), columns, sampling.level, sampling.resamples, sampling.seed)
    return drawn.estimate(ratio(drawn["right"], drawn["n"]), len(rows), why="no label", note=note)


def _relabelled(rows: pd.DataFrame, labels: Sequence[str]) -> pd.DataFrame:
    """Other labels, with people's importance: a trivial assigner is no judge of importance."""
    return rows.assign(label=np.asarray(labels, dtype=object), importance=rows["human_importance"])


def _two_grades(rows: pd.DataFrame) -> pd.DataFrame:
    strict = {"partial_support": "not_support"}
    return rows.assign(**{name: rows[name].replace(strict) for name in ("label", "human_label")})


def _modal(labels: Sequence[str], default: str = "vital") -> str:
    return max(sorted(set(labels)), key=labels.count, default=default)


def _matrix(rows: pd.DataFrame, people: str, judge: str, labels: tuple[str, ...]) -> LabelMatrix | None:
    if not len(rows):
        return None
    one, two = values(rows, people), values(rows, judge)
    return LabelMatrix(labels, tuple(tuple(int(((one == a) & (two == b)).sum()) for b in labels) for a in labels))
