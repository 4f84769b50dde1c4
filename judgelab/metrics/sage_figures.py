"""Every figure of the SAGE protocol from one frame of trials.

Invariant: agreement with people never stands without its bounds for unscored answers, the same judge without
evidence, and the yardsticks that read strings or nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from judgelab.frames.sage import CELLS
from judgelab.metrics.accuracy import values
from judgelab.metrics.binary import DIFFERENCE_UNITS, binary_agreement, differences
from judgelab.metrics.calibration import Calibration, calibration_of
from judgelab.metrics.corrected_rates import corrected_rates
from judgelab.metrics.estimate import Estimate
from judgelab.metrics.intervals import undefined
from judgelab.metrics.paired import mcnemar
from judgelab.metrics.rpag import Coverage
from judgelab.metrics.sample import Sample
from judgelab.metrics.systems import SystemRow, systems
from judgelab.metrics.yardsticks import column, yardsticks
from judgelab.records import Reason
from judgelab.settings import AnalysisConfig, SageConfig, Truth

if TYPE_CHECKING:
    import pandas as pd

SHOWN = ("accuracy", "kappa", "macro_f1")
PEOPLE, REFERENCE = "people", "the reference judge"


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
    """The result of a run under one analysis.

    `truth` says whose verdict counted as true (`people` or `the reference judge`); the `without_truth` answers that
    they did not judge are left out of agreement. `coverage` counts the records of all cells. `judges` holds this judge
    in its cells and the judges that the data set came with.
    """

    metrics: Mapping[str, Estimate]
    baselines: Mapping[str, Mapping[str, Estimate]]
    truth: str
    without_truth: int
    coverage: Coverage
    by_system: tuple[SystemRow, ...]
    judges: tuple[JudgeRow, ...]
    costs: tuple[CostRow, ...]
    calibration: Calibration


def sage_figures(trials: pd.DataFrame, settings: SageConfig, analysis: AnalysisConfig, seed: int) -> SageFigures:
    """Compute all figures.

    Suffix `_none` is the judge without evidence, `_reference` the one with gold answers, `_worst` and `_best` count
    unscored answers against and for the judge. `_difference` is with minus without evidence on the same answers,
    `_vs_reference` takes the reference judge's verdicts for true.
    """
    sample = Sample(analysis.level, analysis.resamples, seed)
    rows, truth = with_truth(trials, settings.truth)
    note = f"truth: {truth}"
    metrics: dict[str, Estimate] = dict(sample.agreement(rows, "verdict_judged", note))
    for cell in ("none", "reference"):
        if rows[f"asked_{cell}"].any() and not (cell == "reference" and truth == REFERENCE):
            found = sample.agreement(rows, f"verdict_{cell}", note)
            metrics |= {f"{name}_{cell}": each for name, each in found.items()}
    metrics |= _bounds(rows, sample, note)
    metrics |= _beside_none(rows, sample, note)
    metrics |= _against_reference(rows, sample)
    metrics |= _people(rows, sample)
    metrics |= _failures(rows, sample)
    metrics |= corrected_rates(rows, sample)
    calibration = _calibration(rows, sample, note)
    metrics |= calibration.metrics
    return SageFigures(
        metrics=metrics,
        baselines=yardsticks(rows, sample, note),
        truth=truth,
        without_truth=int(rows["truth"].isna().sum()),
        coverage=_coverage(rows),
        by_system=systems(rows, sample, note),
        judges=_judges(rows, sample, truth),
        costs=_costs(rows, sample),
        calibration=calibration,
    )


def with_truth(trials: pd.DataFrame, wanted: Truth) -> tuple[pd.DataFrame, str]:
    """The trials with a column `truth` (True, False or None), and whose it is."""
    people = wanted is Truth.human or (wanted is Truth.auto and bool(trials["human"].notna().any()))
    rows = trials.assign(truth=trials["human"] if people else trials["verdict_reference"])
    return rows, PEOPLE if people else REFERENCE


def _bounds(rows: pd.DataFrame, sample: Sample, note: str) -> dict[str, Estimate]:
    """The main figures if every unscored answer that could be asked had been wrong, and right."""
    asked = rows[rows["truth"].notna() & (values(rows, "reason_judged") != Reason.NO_CANDIDATE.value)]
    out: dict[str, Estimate] = {}
    for bound, right in (("worst", False), ("best", True)):
        said = [
            (t if right else not t) if v is None else v
            for v, t in zip(asked["verdict_judged"], asked["truth"], strict=True)
        ]
        side = "in favour of" if right else "against"
        told = f"{note}; unscored counted {side} the judge"
        found = sample.agreement(asked.assign(said=column(said)), "said", told)
        out |= {f"{name}_{bound}": found[name] for name in SHOWN}
    return out


def _beside_none(rows: pd.DataFrame, sample: Sample, note: str) -> dict[str, Estimate]:
    used = rows[rows["truth"].notna() & rows["verdict_judged"].notna() & rows["verdict_none"].notna()]
    if not rows["asked_none"].any():
        why = "the judge without evidence was not asked (protocol.beside_none)"
        none_asked = {f"{name}_difference": undefined(why, 0, unit) for name, unit in DIFFERENCE_UNITS.items()}
        return {**none_asked, "mcnemar_none": undefined(why, 0, "p")}
    truth, judged, none = (used[name].tolist() for name in ("truth", "verdict_judged", "verdict_none"))
    groups = used["group"].tolist()
    found = differences(groups, truth, judged, none, sample.level, sample.resamples, sample.seed, note)
    net: Counter[str] = Counter()
    for group, t, a, b in zip(groups, truth, judged, none, strict=True):
        net[group] += int(a == t) - int(b == t)
    ahead, behind = (sum(sign * n > 0 for n in net.values()) for sign in (1, -1))
    test = mcnemar(ahead, behind, len(net), ("with evidence (questions)", "without (questions)"))
    return {**found, "mcnemar_none": replace(test, method=f"{test.method}; {note}")}


def _against_reference(rows: pd.DataFrame, sample: Sample) -> dict[str, Estimate]:
    if not rows["asked_reference"].any():
        return {}
    judged = rows.assign(truth=rows["verdict_reference"])
    found = sample.agreement(judged, "verdict_judged", f"truth: {REFERENCE}")
    return {f"{name}_vs_reference": found[name] for name in SHOWN}


def _people(rows: pd.DataFrame, sample: Sample) -> dict[str, Estimate]:
    """The first two people against each other, where single verdicts are known."""
    pairs = rows[np.asarray([len(each) >= 2 for each in rows["annotators"]], dtype=bool)]
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


def _failures(rows: pd.DataFrame, sample: Sample) -> dict[str, Estimate]:
    """What went wrong on the way to a verdict, and what the judged cell took."""
    asked = rows[rows["asked_judged"] & (values(rows, "reason_judged") != Reason.NO_CANDIDATE.value)]
    unscored = asked.assign(x=asked["verdict_judged"].isna().astype(float))
    searched = rows[rows["searches"] > 0]
    why = "no search was made"
    return {
        "unscored_share": sample.mean(unscored, "x", why="no answer was put to the judge"),
        "empty_search_share": sample.mean(searched, "empty", "searches", why=why, note="n counts answers"),
        "repeated_query_share": sample.mean(searched, "repeated", "searches", why=why, note="n counts answers"),
        "searches": sample.count(rows, "searches"),
        "saved_iterations": sample.count(rows, "saved"),
        "calls": sample.count(rows, "calls_judged"),
        "tokens": sample.count(rows, "tokens_judged"),
        "seconds": sample.count(rows, "seconds_judged"),
        "f1_mean": sample.mean(
            rows[rows["f1"].notna()], "f1", why="no gold answers", note="token F1 of answer and gold answers"
        ),
    }


def _calibration(rows: pd.DataFrame, sample: Sample, note: str) -> Calibration:
    used = rows[rows["truth"].notna() & rows["verdict_judged"].notna() & rows["p_judged"].notna()]
    found = calibration_of(
        used["p_judged"].to_numpy(dtype=float),
        np.asarray(used["truth"].tolist(), dtype=bool),
        values(used, "group"),
        sample.level,
        sample.resamples,
        sample.seed,
    )
    told = {name: replace(each, method=f"{each.method}; {note}") for name, each in found.metrics.items()}
    return replace(found, metrics=told)


def _judges(rows: pd.DataFrame, sample: Sample, truth: str) -> tuple[JudgeRow, ...]:
    """This judge in its other cells, and the verdicts that the data set came with."""
    note = f"truth: {truth}"
    names = {
        "this judge": "verdict_judged",
        "without evidence": "verdict_none",
        "with gold answers": "verdict_reference",
    }
    found = [
        JudgeRow(name, sample.agreement(rows, said, note))
        for name, said in names.items()
        if rows[said].notna().any() and not (said == "verdict_reference" and truth == REFERENCE)
    ]
    published = sorted({name for each in rows["published"] for name in each})
    for name in published:
        said = rows.assign(said=column([each.get(name) for each in rows["published"]]))
        found.append(JudgeRow(f"{name} (published)", sample.agreement(said, "said", note)))
    return tuple(found)


def _costs(rows: pd.DataFrame, sample: Sample) -> tuple[CostRow, ...]:
    out = []
    for cell in CELLS:
        asked = rows[rows[f"asked_{cell}"]]
        if len(asked):
            share = sample.mean(
                asked, f"cached_{cell}", f"prompt_{cell}", why="no prompt token", note="of prompt tokens"
            )
            calls, tokens, seconds = (sample.count(asked, f"{name}_{cell}") for name in ("calls", "tokens", "seconds"))
            out.append(CostRow(cell, len(asked), calls, tokens, share, seconds))
    return tuple(out)


def _coverage(rows: pd.DataFrame) -> Coverage:
    reasons = Counter(each for cell in CELLS for each in rows[f"reason_{cell}"] if each is not None)
    return Coverage(
        items=len(rows),
        records=sum(int(rows[f"asked_{cell}"].sum()) for cell in CELLS),
        judged=sum(int(rows[f"verdict_{cell}"].notna().sum()) for cell in CELLS),
        unscored={reason.value: reasons[reason.value] for reason in Reason if reasons[reason.value]},
    )
