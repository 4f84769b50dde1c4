"""The figures that stand at the top of every report, each beside the judges that read nothing.

Invariant: terminal and page show the same rows in the same order, made from summary.json alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from judgelab.metrics.estimate import Estimate
from judgelab.report.difference import told
from judgelab.report.numbers import NONE, from_json, value_of
from judgelab.report.parts import Layout
from judgelab.settings import Config

if TYPE_CHECKING:
    from judgelab.report.run_report import RunReport


@dataclass(frozen=True)
class HeadlineRow:
    """One figure of the judge and what each baseline gets, in the order of the layout."""

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


def headline(summary: Mapping[str, Any], layout: Layout) -> tuple[HeadlineRow, ...]:
    """The protocol's first figures, each with what the trivial judges get."""
    rows = []
    for name, title in layout.headline.items():
        if not _shown(summary, layout, name):
            continue
        beside = []
        for judge in layout.baselines:
            found = summary["baselines"].get(judge, {}).get(name)
            beside.append(value_of(from_json(found)) if found else layout.absent.get(name, NONE))
        rows.append(HeadlineRow(name, title, from_json(summary["metrics"][name]), tuple(beside)))
    return tuple(rows)


def beside(summary: Mapping[str, Any], judge: str, names: Sequence[str]) -> str:
    """Those of some figures that one baseline has, in a phrase, for tables of many runs: `0.500 / 0.500 / 0.0`."""
    found = summary["baselines"].get(judge, {})
    return " / ".join(value_of(from_json(found[name])) for name in names if name in found) or NONE


def quality(summary: Mapping[str, Any], layout: Layout) -> tuple[QualityRow, ...]:
    """What says how far the headline can be trusted, each figure beside its trivial value.

    A trivial value in braces is the figure of that name: `base rate: {brier_base_rate}`.
    """
    metrics = summary["metrics"]
    known = {name: value_of(from_json(each)) for name, each in metrics.items()}
    return tuple(
        QualityRow(name, title, from_json(metrics[name]), _filled(layout.trivial.get(name, NONE), known))
        for name, title in layout.quality.items()
        if _shown(summary, layout, name)
    )


def _shown(summary: Mapping[str, Any], layout: Layout, name: str) -> bool:
    found = summary["metrics"].get(name)
    return found is not None and not (layout.hide_empty and found["n"] == 0)


def _filled(text: str, known: Mapping[str, str]) -> str:
    return re.sub(r"\{(\w+)\}", lambda found: known.get(found[1], NONE), text)


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
    return in_words(summary["setting"])


def in_words(setting: Mapping[str, str]) -> str:
    """`verdict form label, seed 3`."""
    return ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in setting.items())


def remarks(reports: Sequence[RunReport]) -> list[str]:
    """What stands beside the judge where several runs are shown: no two runs that differ have the same."""
    settings = told([each.manifest["science"] for each in reports], [each.setting for each in reports])
    return [f"{each.summary['dataset']}, {in_words(one)}" for each, one in zip(reports, settings, strict=True)]
