"""The figures that stand at the top of every report, each beside the judges that read nothing.

Invariant: terminal and page show the same rows in the same order, made from summary.json alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from judgelab.metrics.estimate import Estimate
from judgelab.report.numbers import NONE, from_json, number, value_of
from judgelab.settings import Config

BASELINES = ("always_a", "always_b", "random", "majority")
BASELINE_TITLES = {"always_a": "always A", "always_b": "always B", "random": "random", "majority": "majority"}

_JUDGE = {
    "acc_o": "ACC_o, original reference",
    "acc_s": "ACC_s, swapped reference",
    "rpag": "RPAG = ACC_o - ACC_s, points",
    "acc_oo": "accuracy oo",
    "acc_os": "accuracy os",
    "acc_so": "accuracy so",
    "acc_ss": "accuracy ss",
    "ss_rejection": "ss marked INCORRECT",
    "not_attempted": "NOT_ATTEMPTED",
}
_QUALITY = {
    "mcnemar_oo_ss": "oo against ss, McNemar p",
    "rpag_unflagged": "RPAG, unflagged candidates",
    "rpag_best": "RPAG, unscored for the judge",
    "rpag_worst": "RPAG, unscored against it",
    "artefact_rate": "flagged candidates",
    "unscored_share": "judgments unscored",
    "auroc": "AUROC of p(CORRECT)",
    "brier": "Brier score of p(CORRECT)",
    "ece": "ECE of p(CORRECT)",
    "label_mass": "free probability on the labels",
    "known": "closed-book answers right",
}


@dataclass(frozen=True)
class HeadlineRow:
    """One figure of the judge and what each baseline gets, in the order of `BASELINES`."""

    name: str
    title: str
    estimate: Estimate
    baselines: tuple[str, ...]


@dataclass(frozen=True)
class QualityRow:
    """One figure that says how far the headline can be trusted; `trivial` is what costs no judge."""

    name: str
    title: str
    estimate: Estimate
    trivial: str


@dataclass(frozen=True)
class Coverage:
    """How many of the judgments have a verdict, and why the others have none; `dropped` are rows of the data."""

    judged: int
    total: int
    items: int
    unscored: Mapping[str, int]
    dropped: Mapping[str, int]

    def line(self) -> str:
        """One line that says it all."""
        parts = [f"judged {self.judged:,} of {self.total:,} ({self.items:,} items)"]
        if self.unscored:
            parts.append("unscored: " + ", ".join(f"{reason} {n:,}" for reason, n in sorted(self.unscored.items())))
        else:
            parts.append("none unscored")
        if self.dropped:
            parts.append(
                "rows of the data left out: " + ", ".join(f"{why} {n:,}" for why, n in sorted(self.dropped.items()))
            )
        return "; ".join(parts)


def headline(summary: Mapping[str, Any]) -> tuple[HeadlineRow, ...]:
    """Accuracy, RPAG, cells, rejection and abstention beside always-A, always-B, random and majority."""
    rows = []
    for name, title in _JUDGE.items():
        if name not in summary["metrics"]:
            continue
        beside = []
        for judge in BASELINES:
            found = summary["baselines"].get(judge, {}).get(name)
            # The baselines answer every time, so their share of NOT_ATTEMPTED is zero and not a missing number.
            none = number(0.0, "fraction") if name == "not_attempted" else NONE
            beside.append(value_of(from_json(found)) if found else none)
        rows.append(HeadlineRow(name, title, from_json(summary["metrics"][name]), tuple(beside)))
    return tuple(rows)


def beside(summary: Mapping[str, Any], judge: str) -> str:
    """ACC_o, ACC_s and RPAG of one baseline in a phrase, for tables of many runs: `0.500 / 0.500 / 0.0`."""
    found = summary["baselines"][judge]
    return " / ".join(value_of(from_json(found[name])) for name in ("acc_o", "acc_s", "rpag"))


def quality(summary: Mapping[str, Any]) -> tuple[QualityRow, ...]:
    """Test, bounds, artefacts and calibration, each beside its trivial value."""
    metrics = summary["metrics"]
    base_rate = from_json(metrics["brier_base_rate"]) if "brier_base_rate" in metrics else None
    trivial = {
        "mcnemar_oo_ss": "no difference: 1.000",
        "auroc": "chance: 0.500",
        "brier": f"base rate: {value_of(base_rate)}" if base_rate else NONE,
        "artefact_rate": "clean candidates: 0.000",
        "unscored_share": "full coverage: 0.000",
        "ece": "base rate: 0.000",
        "label_mass": "nothing forced: 1.000",
        "known": "knows nothing: 0.000",
        "rpag_unflagged": "constant judge: 0.0",
        "rpag_best": "constant judge: 0.0",
        "rpag_worst": "constant judge: 0.0",
    }
    return tuple(
        QualityRow(name, title, from_json(metrics[name]), trivial[name])
        for name, title in _QUALITY.items()
        if name in metrics
    )


def coverage(summary: Mapping[str, Any]) -> Coverage:
    """Coverage as summary.json tells it."""
    found = summary["coverage"]
    return Coverage(
        judged=found["judged"],
        total=found["judged"] + sum(found["unscored"].values()),
        items=summary["n_items"],
        unscored=found["unscored"],
        dropped=summary.get("dropped") or {},
    )


def warnings(summary: Mapping[str, Any], limit: float = Config.max_unscored) -> tuple[str, ...]:
    """What must be read before any figure; `limit` is the unscored share above which the figures are doubtful."""
    found = list(summary["warnings"])
    if not summary["complete"] and not any(line.startswith("incomplete") for line in found):
        found.append("incomplete: not every item has its records")
    share = from_json(summary["metrics"]["unscored_share"]) if "unscored_share" in summary["metrics"] else None
    if share is not None and share.value > limit:
        found.append(
            f"unscored: {share.value:.1%} of the judgments that could be asked have no verdict (limit {limit:.0%}); "
            "read the best and worst bounds, not the point estimates"
        )
    return tuple(found)


def title(summary: Mapping[str, Any]) -> str:
    """`swapped on nq_typed: smollm2-135m (vllm)`."""
    return f"{summary['protocol']} on {summary['dataset']}: {summary['judge']} ({summary['engine']})"


def setting_line(summary: Mapping[str, Any]) -> str:
    """Swap, condition, form and candidates in one line."""
    return ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in summary["setting"].items())
