"""Every figure of the swapped protocol from one frame of records.

Invariant: no accuracy comes without what a referee needs to doubt it: its bounds for unscored records, the other
codings of NOT_ATTEMPTED, the figure without flagged candidates, and the judges that read nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from judgelab.metrics.accuracy import (
    CELLS,
    POINTS,
    REFERENCES,
    BoolArray,
    accuracy,
    bounds,
    cell_accuracy,
    in_cell,
    values,
)
from judgelab.metrics.baselines import baselines, ss_rejection
from judgelab.metrics.calibration import Calibration, calibrate
from judgelab.metrics.estimate import Estimate
from judgelab.metrics.groups import Group, Popularity, by_group, popularity
from judgelab.metrics.intervals import ratio, resample, wilson
from judgelab.metrics.paired import mcnemar_cells
from judgelab.records import Reason
from judgelab.settings import AnalysisConfig, NotAttempted

if TYPE_CHECKING:
    import pandas as pd

VERDICTS = ("CORRECT", "INCORRECT", "NOT_ATTEMPTED")


@dataclass(frozen=True)
class Coverage:
    """How many of the records carry a verdict; `unscored` maps each reason that occurs to its records."""

    items: int
    records: int
    judged: int
    unscored: Mapping[str, int]


@dataclass(frozen=True)
class SwappedFigures:
    """The result of a run under one analysis.

    `verdicts` counts, per cell, each verdict and each reason for having none.
    """

    metrics: Mapping[str, Estimate]
    baselines: Mapping[str, Mapping[str, Estimate]]
    coverage: Coverage
    verdicts: Mapping[str, Mapping[str, int]]
    by_type: tuple[Group, ...]
    by_freshness: tuple[Group, ...]
    by_source: tuple[Group, ...]
    by_popularity: Popularity
    by_swapped_popularity: Popularity
    calibration: Calibration


def swapped_figures(frame: pd.DataFrame, analysis: AnalysisConfig, seed: int) -> SwappedFigures:
    """Compute all figures.

    Codings of NOT_ATTEMPTED: `error` counts it as not right; `excluded` drops the record from numerator and
    denominator; `separate` keeps three classes, so that accuracy is the share right as under `error`, and what is
    missing to 1 is told apart: `wrong_a` (the opposite verdict) and `not_attempted_a`, hence also
    `rpag_wrong` + `rpag_not_attempted` = RPAG. The split is always given, as are the three headline figures
    under the two codings that `analysis` did not choose (suffix `_na_<coding>`).

    `_unflagged` is over items without a flagged candidate, `_worst` and `_best` as in `Bounds`. Shares of failed
    judgments are of the records that could be asked, `no_candidate_share` is of all.
    """
    coding, level, resamples = analysis.not_attempted, analysis.level, analysis.resamples
    limits = bounds(frame, coding, level, resamples, seed)
    unflagged = frame[~frame["flagged"].astype(bool)]
    popular = popularity(frame, "popularity", analysis, seed)
    swapped_popular = popularity(frame, "swapped_popularity", analysis, seed)
    metrics = {
        **accuracy(frame, coding, level, resamples, seed).named(),
        **cell_accuracy(frame, coding, level),
        "ss_rejection": ss_rejection(frame, level),
        "mcnemar_oo_ss": mcnemar_cells(frame, coding),
        **limits.worst.named("_worst"),
        **limits.best.named("_best"),
        **accuracy(unflagged, coding, level, resamples, seed, "items without flagged candidate").named("_unflagged"),
    }
    for other in NotAttempted:
        if other is not coding:
            found = accuracy(frame, other, level, resamples, seed, f"NOT_ATTEMPTED coded {other.value}")
            metrics |= found.named(f"_na_{other.value}")
    metrics |= _split(frame, analysis, seed)
    metrics |= _shares(frame, level)
    metrics |= _failures(frame, analysis, seed)
    metrics |= _artefacts(frame, level)
    metrics |= _means(frame, analysis, seed)
    metrics["popularity_slope"] = popular.slope
    metrics["swapped_popularity_slope"] = swapped_popular.slope
    calibration = calibrate(frame, level, resamples, seed)
    metrics |= calibration.metrics
    return SwappedFigures(
        metrics=metrics,
        baselines=baselines(frame, level, resamples, seed),
        coverage=_coverage(frame),
        verdicts=_verdicts(frame),
        by_type=by_group(frame, "entity_type", analysis, seed, analysis.min_type),
        by_freshness=by_group(frame, "freshness", analysis, seed),
        by_source=by_group(frame, "candidate_source", analysis, seed),
        by_popularity=popular,
        by_swapped_popularity=swapped_popular,
        calibration=calibration,
    )


def _split(frame: pd.DataFrame, analysis: AnalysisConfig, seed: int) -> dict[str, Estimate]:
    """What is not right, told apart into the opposite verdict and no attempt; over scored records."""
    scored = frame[frame["verdict"].notna()]
    verdict = values(scored, "verdict")
    skipped = np.asarray(verdict == "NOT_ATTEMPTED", dtype=bool)
    wrong = np.asarray(~skipped & (verdict != values(scored, "truth")), dtype=bool)
    columns: dict[str, BoolArray] = {}
    for ref in REFERENCES:
        here = in_cell(scored, ref)
        columns |= {f"n_{ref}": here, f"wrong_{ref}": here & wrong, f"not_attempted_{ref}": here & skipped}
    drawn = resample(values(scored, "item_id"), columns, analysis.level, analysis.resamples, seed)
    n = {ref: drawn[f"n_{ref}"] for ref in REFERENCES}
    whole = n["o"] + n["s"]
    skips = drawn["not_attempted_o"] + drawn["not_attempted_s"]
    out = {"not_attempted": drawn.estimate(ratio(skips, whole), whole[0])}
    for kind in ("wrong", "not_attempted"):
        share = {ref: ratio(drawn[f"{kind}_{ref}"], n[ref]) for ref in REFERENCES}
        out |= {f"{kind}_{ref}": drawn.estimate(share[ref], n[ref][0]) for ref in REFERENCES}
        out[f"rpag_{kind}"] = drawn.estimate(100.0 * (share["s"] - share["o"]), whole[0], span=POINTS, unit="points")
    return out


def _shares(frame: pd.DataFrame, level: float) -> dict[str, Estimate]:
    """Verdict distribution per cell over its scored records: `not_attempted_oo`, `verdict_correct_oo`, ..."""
    out = {}
    verdict = values(frame, "verdict")
    for name, label in (
        ("not_attempted", "NOT_ATTEMPTED"),
        ("verdict_correct", "CORRECT"),
        ("verdict_incorrect", "INCORRECT"),
    ):
        for cell in CELLS:
            here = in_cell(frame, cell) & np.asarray(frame["verdict"].notna(), dtype=bool)
            out[f"{name}_{cell}"] = wilson(int((here & (verdict == label)).sum()), int(here.sum()), level)
    return out


def _failures(frame: pd.DataFrame, analysis: AnalysisConfig, seed: int) -> dict[str, Estimate]:
    def shares(rows: pd.DataFrame, failed: dict[str, BoolArray]) -> dict[str, Estimate]:
        columns = {"n": np.ones(len(rows)), **failed}
        drawn = resample(values(rows, "item_id"), columns, analysis.level, analysis.resamples, seed)
        return {name: drawn.estimate(ratio(drawn[name], drawn["n"]), len(rows), why="no records") for name in failed}

    impossible = _is(frame, "reason", Reason.NO_CANDIDATE)
    asked = frame[~impossible]
    failed = {
        "parse_error_share": _is(asked, "reason", Reason.PARSE_ERROR),
        "truncated_share": _is(asked, "reason", Reason.TRUNCATED),
        "unscored_share": np.asarray(asked["verdict"].isna(), dtype=bool),
    }
    return shares(asked, failed) | shares(frame, {"no_candidate_share": impossible})


def _means(frame: pd.DataFrame, analysis: AnalysisConfig, seed: int) -> dict[str, Estimate]:
    """`label_mass`: mean free probability of all labels together, over the items it was probed on. `known`: mean share
    of closed-book answers that were right, over the items probed. Left out where nothing was probed."""
    out = {}
    for name in ("label_mass", "known"):
        probed = frame[frame[name].notna() & (frame["cell"] == CELLS[0])]
        if len(probed):
            columns = {"n": np.ones(len(probed)), name: probed[name].to_numpy(dtype=float)}
            drawn = resample(values(probed, "item_id"), columns, analysis.level, analysis.resamples, seed)
            out[name] = drawn.estimate(ratio(drawn[name], drawn["n"]), len(probed), note="n counts items")
    return out


def _is(frame: pd.DataFrame, column: str, value: str) -> BoolArray:
    return np.asarray(values(frame, column) == str(value), dtype=bool)


def _artefacts(frame: pd.DataFrame, level: float) -> dict[str, Estimate]:
    """Share of distinct candidates that failed a fidelity check: all, aligned with r_o, and with r_s."""
    shown = frame[values(frame, "reason") != Reason.NO_CANDIDATE.value]
    flagged: dict[str, dict[str, bool]] = {ref: {} for ref in REFERENCES}
    for item, cell, flags in zip(*(values(shown, name) for name in ("item_id", "cell", "flags")), strict=True):
        of = flagged[cell[1]]
        of[item] = of.get(item, False) or bool(flags)
    k = {ref: sum(of.values()) for ref, of in flagged.items()}
    n = {ref: len(of) for ref, of in flagged.items()}
    return {
        "artefact_rate": wilson(k["o"] + k["s"], n["o"] + n["s"], level),
        **{f"artefact_rate_{ref}": wilson(k[ref], n[ref], level) for ref in REFERENCES},
    }


def _coverage(frame: pd.DataFrame) -> Coverage:
    counts = {reason.value: int((values(frame, "reason") == reason.value).sum()) for reason in Reason}
    return Coverage(
        items=int(frame["item_id"].nunique()),
        records=len(frame),
        judged=int(frame["verdict"].notna().sum()),
        unscored={reason: n for reason, n in counts.items() if n},
    )


def _verdicts(frame: pd.DataFrame) -> dict[str, dict[str, int]]:
    verdict, reason = values(frame, "verdict"), values(frame, "reason")
    return {
        cell: {
            **{label: int((here & (verdict == label)).sum()) for label in VERDICTS},
            **{why.value: int((here & (reason == why.value)).sum()) for why in Reason},
        }
        for cell in CELLS
        for here in [in_cell(frame, cell)]
    }
