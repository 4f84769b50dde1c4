"""The figures of the swapped protocol as SVG.

Invariant: every point stands with its interval and its n; a figure without data is None, never an empty frame.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from judgelab.metrics.accuracy import CELLS
from judgelab.metrics.calibration import Calibration
from judgelab.metrics.groups import Popularity
from judgelab.metrics.rpag import VERDICTS, SwappedFigures
from judgelab.report.clean import printable, shortened
from judgelab.report.difference import differences
from judgelab.report.drawing import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    SKY,
    VERMILION,
    ForestRow,
    draw,
    forest,
    right_labels,
)
from judgelab.report.numbers import whole_of
from judgelab.report.run_report import RunReport
from judgelab.settings import Condition, Swap

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Settings that the first lines of a row of `rpag_by_swap` show.
_SHOWN = ("dataset.name", "judge.name", "protocol.swap", "protocol.condition")
_NAME = 34  # characters a label may have
RPAG_AXIS = "RPAG = ACC_o - ACC_s, points (0: follows either reference alike)"
_COLOURS = dict(zip(Swap, (BLUE, ORANGE, VERMILION, SKY, PURPLE, GREEN), strict=True))
_MARKERS = dict(zip(Condition, "osD^", strict=True))


def rpag_by_swap(reports: Sequence[RunReport]) -> str | None:
    """RPAG of each run, one line a run, grouped by swap type; None if no run has one."""
    rows, most = [], 2
    ordered = sorted(reports, key=_place)
    others = differences([report.manifest["science"] for report in ordered], _SHOWN)
    for report, other in zip(ordered, others, strict=True):
        setting = report.setting
        where = [shortened(report.summary["dataset"], _NAME), *(setting.get(k, "") for k in ("swap", "condition"))]
        lines = [shortened(report.judge, _NAME), ", ".join(part.replace("_", "-") for part in where if part)]
        lines += textwrap.wrap(_brief(other), _NAME, break_on_hyphens=False)
        most = max(most, len(lines))
        rows.append(
            ForestRow(
                "\n".join(lines),
                report.metrics["rpag"],
                _COLOURS.get(Swap(setting["swap"]), BLACK) if setting.get("swap") in list(Swap) else BLACK,
                _MARKERS[Condition(setting["condition"])] if setting.get("condition") in list(Condition) else "o",
            )
        )
    return forest(rows, RPAG_AXIS, most)


def _brief(label: str) -> str:
    """A label of `differences` for a narrow margin: names of settings only where the value alone says nothing."""
    pairs = [part.partition("=") for part in label.split(", ") if part]
    told = [value if value[:1].isalpha() else f"{key}={value}" for key, _, value in pairs if value != "-"]
    return printable(", ".join(told).replace("_", "-"))


def rpag_by_type(report: RunReport, figures: SwappedFigures) -> str | None:
    """RPAG of one run, of all items and of each entity type."""
    rows = [ForestRow(f"all items ({report.setting.get('swap', '')})", report.metrics["rpag"], BLACK, "D")]
    rows += [
        ForestRow(f"{shortened(group.name, _NAME)} ({group.items} items)", group.rpag, BLUE, "o")
        for group in figures.by_type
        if group.items < report.summary["n_items"]
    ]
    return forest(rows, RPAG_AXIS)


def verdict_mix(report: RunReport, figures: SwappedFigures) -> str | None:
    """Verdicts per cell as stacked bars, the expected one outlined; None without records."""
    counts = figures.verdicts
    if not any(sum(of.values()) for of in counts.values()):
        return None
    truth = report.frame.drop_duplicates("cell").set_index("cell")["truth"].to_dict()
    styles = {
        "CORRECT": (BLUE, "white", ""),
        "INCORRECT": (ORANGE, "black", ""),
        "NOT_ATTEMPTED": ("#D9D9D9", "black", ""),
        "unscored": ("white", "black", "////"),
    }
    cells = [cell for cell in CELLS if sum(counts[cell].values())]

    def paint(figure: Figure) -> None:
        axes = figure.add_subplot()
        for y, cell in enumerate(cells):
            total, left = sum(counts[cell].values()), 0.0
            parts = {verdict: counts[cell][verdict] for verdict in VERDICTS}
            parts["unscored"] = total - sum(parts.values())
            for name, count in parts.items():
                if not count:
                    continue
                fill, ink, hatch = styles[name]
                share = count / total
                expected = name == truth.get(cell)
                axes.barh(
                    y,
                    share,
                    left=left,
                    height=0.62,
                    color=fill,
                    edgecolor="black",
                    linewidth=2.4 if expected else 0.6,
                    hatch=hatch,
                    zorder=3 if expected else 2,
                )
                if share >= 0.06:
                    box = {"facecolor": "white", "edgecolor": "none", "pad": 1.0} if hatch else None
                    axes.text(
                        left + share / 2, y, f"{share:.0%}", ha="center", va="center", color=ink, zorder=4, bbox=box
                    )
                left += share
        axes.set_yticks(range(len(cells)), [f"{cell}: expect {truth.get(cell, '?')}" for cell in cells])
        axes.set_ylim(len(cells) - 0.5, -0.5)
        axes.set_xlim(0, 1)
        axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0%", "25%", "50%", "75%", "100%"])
        axes.set_xlabel("share of the cell's judgments (outlined: the expected verdict)")
        right_labels(axes, [f"n={sum(counts[cell].values()):,}" for cell in cells])
        from matplotlib.patches import Patch

        handles = [
            Patch(facecolor=fill, edgecolor="black", linewidth=0.6, hatch=hatch, label=name)
            for name, (fill, _, hatch) in styles.items()
        ]
        figure.legend(handles=handles, loc="outside upper center", ncols=4, frameon=False)

    return draw(1.3 + 0.42 * len(cells), paint)


def reliability(calibration: Calibration, label: str = "CORRECT") -> str | None:
    """Share of truths that are `label` against p(label), with the counts below; None without probabilities."""
    bins = calibration.bins
    if not bins:
        return None
    metrics = calibration.metrics

    def paint(figure: Figure) -> None:
        curve, histogram = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
        curve.plot([0, 1], [0, 1], color=GREY, linestyle="--", linewidth=1, label="calibrated")
        x, y = [b.mean_p for b in bins], [b.correct.value for b in bins]
        arms = [[b.correct.value - b.correct.lo for b in bins], [b.correct.hi - b.correct.value for b in bins]]
        curve.errorbar(
            x, y, yerr=arms, fmt="o", color=BLUE, capsize=3, markersize=5, label=f"share of {label}, with interval"
        )
        curve.set_ylim(-0.03, 1.03)
        curve.set_ylabel(f"share whose truth is {label}")
        curve.legend(loc="upper left", frameon=False)
        curve.set_title("   ".join(f"{title} {whole_of(metrics[name])}" for name, title in _MEASURES[:2]))
        counts = [b.n for b in bins]
        middles = [(b.lo + b.hi) / 2 for b in bins]
        histogram.bar(middles, counts, width=0.08, color=SKY, edgecolor="black", linewidth=0.6)
        for middle, count in zip(middles, counts, strict=True):
            histogram.text(middle, count, f"{count:,}", ha="center", va="bottom")
        histogram.set_ylim(0, max(counts) * 1.35)
        histogram.set_xlim(-0.03, 1.03)
        histogram.set_ylabel("judgments")
        histogram.set_xlabel(f"p({label}) by the judge, ten bins (n={sum(counts):,}; ECE {whole_of(metrics['ece'])})")
        figure.align_ylabels()

    return draw(5.2, paint)


_MEASURES = (("brier", "Brier"), ("auroc", "AUROC"))


def popularity(found: Popularity, of: str) -> str | None:
    """RPAG by decile of popularity, the slope above; None without popularities. `of` says whose they are."""
    deciles = [tenth for tenth in found.deciles if math.isfinite(tenth.group.rpag.value)]
    if len(deciles) < 2 or not math.isfinite(found.slope.value):
        return None

    def paint(figure: Figure) -> None:
        from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

        sizes = sorted({tenth.group.items for tenth in deciles})
        each = f"{sizes[0]:,}" if len(sizes) == 1 else f"{sizes[0]:,} to {sizes[-1]:,}"
        axes = figure.add_subplot()
        x = [math.sqrt(tenth.lo * tenth.hi) for tenth in deciles]
        y = [tenth.group.rpag.value for tenth in deciles]
        arms = [
            [tenth.group.rpag.value - tenth.group.rpag.lo for tenth in deciles],
            [tenth.group.rpag.hi - tenth.group.rpag.value for tenth in deciles],
        ]
        axes.axhline(0, color=BLACK, linewidth=0.8)
        axes.errorbar(x, y, yerr=arms, fmt="o", color=BLUE, capsize=3, markersize=5)
        axes.set_xscale("log")
        wide = max(x) >= 100 * min(x)
        axes.xaxis.set_major_locator(LogLocator(subs=(1.0,) if wide else (1.0, 2.0, 5.0)))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}" if value >= 1 else f"{value:g}"))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_xlabel(f"popularity of {of}, as the data count it (log scale; {each} items a point)")
        axes.set_ylabel("RPAG, points")
        axes.grid(axis="y", color="#DDDDDD", linewidth=0.6)
        axes.set_title(f"slope {whole_of(found.slope)} per tenfold popularity (n={found.slope.n:,} items)")

    return draw(3.6, paint)


def _place(report: RunReport) -> tuple[str, str, str, str]:
    setting = report.setting
    return report.summary["dataset"], setting.get("swap", ""), setting.get("condition", ""), report.judge
