"""Every figure of the SAGE protocol from one frame of trials.

Invariant: agreement with people never stands without its bounds for unscored answers, the same judge without
evidence, and the yardsticks that read strings or nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from judgelab.frames.sage import CELLS
from judgelab.metrics.accuracy import values
from judgelab.metrics.binary import NAMES, binary_agreement, differences
from judgelab.metrics.calibration import Calibration, calibration_of
from judgelab.metrics.correction import prediction_powered, rogan_gladen
from judgelab.metrics.estimate import Estimate
from judgelab.metrics.intervals import ratio, resample, undefined, wilson
from judgelab.metrics.paired import mcnemar
from judgelab.records import Reason
from judgelab.settings import AnalysisConfig, SageConfig, Truth

if TYPE_CHECKING:
    import pandas as pd

SHOWN = ("accuracy", "kappa", "macro_f1")
NO_TRUTH = "no answer has a verdict by people or by the reference judge"


@dataclass(frozen=True)
class SystemRow:
    """One system whose answers were judged. `human_rate` and `judge_rate` are shares called True; `corrected` takes off
    the judge's errors as measured on the other systems."""

    system: str
    n: int
    human_rate: Estimate
    judge_rate: Estimate
    corrected: Estimate
    agreement: Mapping[str, Estimate]
    contains: Estimate


@dataclass(frozen=True)
class JudgeRow:
    """Another judge's verdicts on the same answers, scored in the same way."""

    name: str
    agreement: Mapping[str, Estimate]


@dataclass(frozen=True)
class CostRow:
    """What one cell took, a mean over its items."""

    cell: str
    items: int
    calls: Estimate
    tokens: Estimate
    cached_share: Estimate
    seconds: Estimate


@dataclass(frozen=True)
class SageFigures:
    """The result of a run under one analysis. `truth` says whose verdict counted as true."""

    metrics: Mapping[str, Estimate]
    baselines: Mapping[str, Mapping[str, Estimate]]
    truth: str
    by_system: tuple[SystemRow, ...]
    judges: tuple[JudgeRow, ...]
    costs: tuple[CostRow, ...]
    calibration: Calibration


@dataclass(frozen=True)
class _Sample:
    """What every figure needs: the analysis, and how to draw."""

    level: float
    resamples: int
    seed: int

    def agreement(self, rows: pd.DataFrame, column: str, note: str = "") -> dict[str, Estimate]:
        """`column` against truth, over rows that have both."""
        used = rows[rows["truth"].notna() & rows[column].notna()]
        return binary_agreement(
            used["group"].tolist(),
            used["truth"].tolist(),
            used[column].tolist(),
            self.level,
            self.resamples,
            self.seed,
            note,
        )

    def mean(self, rows: pd.DataFrame, column: str, whole: str | None = None, **told: Any) -> Estimate:
        """The mean of a column, or its total over that of `whole`, with a cluster bootstrap over questions."""
        columns = {"x": rows[column].to_numpy(dtype=float)}
        columns["n"] = rows[whole].to_numpy(dtype=float) if whole else np.ones(len(rows))
        drawn = resample(values(rows, "group"), columns, self.level, self.resamples, self.seed)
        return drawn.estimate(ratio(drawn["x"], drawn["n"]), len(rows), **told)


def sage_figures(trials: pd.DataFrame, settings: SageConfig, analysis: AnalysisConfig, seed: int) -> SageFigures:
    """Compute all figures.

    Suffix `_none` is the judge without evidence, `_reference` the one with gold answers, `_worst` and `_best` count
    unscored answers against and for the judge. `_difference` is with minus without evidence on the same answers,
    `_vs_reference` takes the reference judge's verdicts for true.
    """
    sample = _Sample(analysis.level, analysis.resamples, seed)
    rows, truth = with_truth(trials, settings.truth)
    note = f"truth: {truth}"
    metrics: dict[str, Estimate] = dict(sample.agreement(rows, "verdict_judged", note))
    for cell in ("none", "reference"):
        if rows[f"asked_{cell}"].any() and not (cell == "reference" and truth == "the reference judge"):
            found = sample.agreement(rows, f"verdict_{cell}", note)
            metrics |= {f"{name}_{cell}": found[name] for name in NAMES}
    metrics |= _bounds(rows, sample, note)
    metrics |= _beside_none(rows, sample, note)
    metrics |= _against_reference(rows, sample)
    metrics |= _people(rows, sample)
    metrics |= _failures(rows, sample)
    metrics |= _corrected(rows, sample)
    calibration = _calibration(rows, sample)
    metrics |= calibration.metrics
    return SageFigures(
        metrics=metrics,
        baselines=_baselines(rows, sample, seed),
        truth=truth,
        by_system=_systems(rows, sample),
        judges=_judges(rows, sample, truth),
        costs=_costs(rows, sample),
        calibration=calibration,
    )


def with_truth(trials: pd.DataFrame, wanted: Truth) -> tuple[pd.DataFrame, str]:
    """The trials with a column `truth` (True, False or None), and whose it is."""
    people = wanted is Truth.human or (wanted is Truth.auto and trials["human"].notna().any())
    rows = trials.copy()
    rows["truth"] = trials["human"] if people else trials["verdict_reference"]
    return rows, "people" if people else "the reference judge"


def _bounds(rows: pd.DataFrame, sample: _Sample, note: str) -> dict[str, Estimate]:
    """Accuracy if every unscored answer that could be asked had been wrong, and right."""
    asked = rows[rows["truth"].notna() & (values(rows, "reason_judged") != Reason.NO_CANDIDATE.value)]
    out = {}
    for name, unscored in (("worst", 0.0), ("best", 1.0)):
        right = [
            unscored if v is None else float(v == t)
            for v, t in zip(asked["verdict_judged"], asked["truth"], strict=True)
        ]
        out[f"accuracy_{name}"] = sample.mean(asked.assign(right=right), "right", note=note)
    return out


def _beside_none(rows: pd.DataFrame, sample: _Sample, note: str) -> dict[str, Estimate]:
    used = rows[rows["truth"].notna() & rows["verdict_judged"].notna() & rows["verdict_none"].notna()]
    names = ("accuracy_difference", "kappa_difference", "macro_f1_difference")
    if not rows["asked_none"].any():
        why = "the judge without evidence was not asked (protocol.beside_none)"
        units = dict(zip(names, ("points", "kappa", "fraction"), strict=True))
        return {**{name: undefined(why, 0, units[name]) for name in names}, "mcnemar_none": undefined(why, 0, "p")}
    truth, judged, none = (used[name].tolist() for name in ("truth", "verdict_judged", "verdict_none"))
    groups = used["group"].tolist()
    found = differences(groups, truth, judged, none, sample.level, sample.resamples, sample.seed, note)
    net: dict[str, int] = {}
    for group, t, a, b in zip(groups, truth, judged, none, strict=True):
        net[group] = net.get(group, 0) + int(a == t) - int(b == t)
    ahead, behind = (sum(sign * n > 0 for n in net.values()) for sign in (1, -1))
    sides = ("with evidence (questions)", "without (questions)")
    return {**found, "mcnemar_none": mcnemar(ahead, behind, len(net), sides)}


def _against_reference(rows: pd.DataFrame, sample: _Sample) -> dict[str, Estimate]:
    if not rows["asked_reference"].any():
        return {}
    judged = rows.assign(truth=rows["verdict_reference"])
    found = sample.agreement(judged, "verdict_judged", "truth: the reference judge")
    return {f"{name}_vs_reference": found[name] for name in SHOWN}


def _people(rows: pd.DataFrame, sample: _Sample) -> dict[str, Estimate]:
    """The first two people against each other, where single verdicts are known."""
    pairs = _where(rows, [len(each) >= 2 for each in rows["annotators"]])
    if not len(pairs):
        return {}
    first, second = ([each[k] for each in pairs["annotators"]] for k in (0, 1))
    found = binary_agreement(
        pairs["group"].tolist(),
        first,
        second,
        sample.level,
        sample.resamples,
        sample.seed,
        "one person against another",
    )
    return {f"human_{name}": found[name] for name in SHOWN}


def _failures(rows: pd.DataFrame, sample: _Sample) -> dict[str, Estimate]:
    asked = rows[values(rows, "reason_judged") != Reason.NO_CANDIDATE.value]
    unscored = asked.assign(x=asked["verdict_judged"].isna().astype(float))
    out = {"unscored_share": sample.mean(unscored, "x")}
    searched = rows[rows["searches"] > 0]
    why = "no search was made"
    out["empty_search_share"] = sample.mean(searched, "empty", "searches", why=why, note="n counts answers")
    out["repeated_query_share"] = sample.mean(searched, "repeated", "searches", why=why, note="n counts answers")
    out["searches"] = sample.mean(rows, "searches", span=None, unit="count", note="mean an answer")
    out["saved_iterations"] = sample.mean(rows, "saved", span=None, unit="count", note="mean an answer")
    return out


def _corrected(rows: pd.DataFrame, sample: _Sample) -> dict[str, Estimate]:
    """The share of right answers, the judge's errors taken off; people's own share beside it."""
    judged = rows[rows["verdict_judged"].notna()]
    labelled = judged[judged["human"].notna()]
    said = _where(labelled, [v is True for v in labelled["verdict_judged"]])
    right, wrong = _count(labelled, "human", True), _count(labelled, "human", False)
    hits, alarms = _count(said, "human", True), _count(said, "human", False)
    out = {
        "true_share": wilson(_count(judged, "verdict_judged", True), len(judged), sample.level),
        "true_share_corrected": rogan_gladen(
            _count(judged, "verdict_judged", True),
            len(judged),
            hits,
            right,
            wrong - alarms,
            wrong,
            sample.level,
        ),
    }
    unlabelled = judged[judged["human"].isna()]
    if len(unlabelled) and len(labelled):
        out["true_share_ppi"] = prediction_powered(
            labelled["verdict_judged"].to_numpy(dtype=float),
            labelled["human"].to_numpy(dtype=float),
            unlabelled["verdict_judged"].to_numpy(dtype=float),
            sample.level,
        )
    return out


def _calibration(rows: pd.DataFrame, sample: _Sample) -> Calibration:
    used = rows[rows["truth"].notna() & rows["verdict_judged"].notna() & rows["p_judged"].notna()]
    return calibration_of(
        used["p_judged"].to_numpy(dtype=float),
        np.asarray(used["truth"].tolist(), dtype=bool),
        values(used, "group"),
        sample.level,
        sample.resamples,
        sample.seed,
    )


def _baselines(rows: pd.DataFrame, sample: _Sample, seed: int) -> dict[str, Mapping[str, Estimate]]:
    """Judges that read nothing, and strings instead of judges, on the answers that have a verdict and a truth."""
    used = rows[rows["truth"].notna() & rows["verdict_judged"].notna()]
    truth = used["truth"].tolist()
    majority = 2 * sum(map(bool, truth)) >= len(truth)
    coin = np.random.default_rng(seed).integers(0, 2, len(used)).astype(bool)
    said: dict[str, Sequence[object]] = {
        "always_true": [True] * len(used),
        "always_false": [False] * len(used),
        "majority": [majority] * len(used),
        "random": coin.tolist(),
        "em": used["em"].tolist(),
        "f1": [None if np.isnan(f) else f >= 0.5 for f in used["f1"]],
        "contains": used["contains"].tolist(),
    }
    return {name: sample.agreement(used.assign(said=_objects(column)), "said") for name, column in said.items()}


def _systems(rows: pd.DataFrame, sample: _Sample) -> tuple[SystemRow, ...]:
    out = []
    for system in sorted(set(rows["system"])):
        here, there = rows[rows["system"] == system], rows[rows["system"] != system]
        judged = here[here["verdict_judged"].notna()]
        others = there[there["verdict_judged"].notna() & there["human"].notna()]
        right, wrong = (_where(others, [v is side for v in others["human"]]) for side in (True, False))
        people = here[here["human"].notna()]
        said = _count(judged, "verdict_judged", True)
        out.append(
            SystemRow(
                system=system or "unnamed",
                n=len(here),
                human_rate=wilson(_count(people, "human", True), len(people), sample.level),
                judge_rate=wilson(said, len(judged), sample.level),
                corrected=rogan_gladen(
                    said,
                    len(judged),
                    _count(right, "verdict_judged", True),
                    len(right),
                    _count(wrong, "verdict_judged", False),
                    len(wrong),
                    sample.level,
                ),
                agreement=sample.agreement(here, "verdict_judged"),
                contains=sample.agreement(here, "contains")["accuracy"],
            )
        )
    return tuple(out)


def _judges(rows: pd.DataFrame, sample: _Sample, truth: str) -> tuple[JudgeRow, ...]:
    """This judge in its other cells, and the verdicts that the data set came with."""
    names = {
        "this judge": "verdict_judged",
        "without evidence": "verdict_none",
        "with gold answers": "verdict_reference",
    }
    found = [
        JudgeRow(name, sample.agreement(rows, column))
        for name, column in names.items()
        if rows[column].notna().any() and not (column == "verdict_reference" and truth == "the reference judge")
    ]
    published = sorted({name for each in rows["published"] for name in each})
    for name in published:
        column = _objects([each.get(name) for each in rows["published"]])
        found.append(JudgeRow(f"{name} (published)", sample.agreement(rows.assign(said=column), "said")))
    return tuple(found)


def _costs(rows: pd.DataFrame, sample: _Sample) -> tuple[CostRow, ...]:
    out = []
    for cell in CELLS:
        asked = rows[rows[f"asked_{cell}"]]
        if len(asked):
            means = {
                name: sample.mean(asked, f"{name}_{cell}", span=None, unit="count", note="mean an answer")
                for name in ("calls", "tokens", "seconds")
            }
            share = sample.mean(
                asked, f"cached_{cell}", f"prompt_{cell}", why="no prompt token", note="of prompt tokens"
            )
            out.append(CostRow(cell, len(asked), means["calls"], means["tokens"], share, means["seconds"]))
    return tuple(out)


def _where(rows: pd.DataFrame, chosen: Sequence[bool]) -> pd.DataFrame:
    return rows[np.asarray(chosen, dtype=bool)]


def _count(rows: pd.DataFrame, column: str, value: bool) -> int:
    return sum(each is value for each in rows[column])


def _objects(column: Sequence[object]) -> npt.NDArray[np.object_]:
    out = np.empty(len(column), dtype=object)
    out[:] = column
    return out
