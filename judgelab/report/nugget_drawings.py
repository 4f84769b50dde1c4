"""The figures of a nuggets run as SVG.

Invariant: every point stands with its interval and its n; a figure without data is None, never an empty frame.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from judgelab.metrics.arena import NuggetFigures
from judgelab.report.clean import shortened
from judgelab.report.drawing import BLACK, BLUE, GREEN, GREY, ORANGE, ForestRow, draw, forest
from judgelab.report.numbers import whole_of
from judgelab.report.parts import FigureView, figure
from judgelab.report.run_report import RunReport

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NAME = 34  # characters a label may have
_COLOURS = {"a": BLUE, "tie": GREY, "b": ORANGE}
_STYLES = {"a": "-", "tie": "--", "b": "-."}
_RULES = {
    "majority": "majority",
    "chance": "chance, same shares",
    "random": "random",
    "longer_wins": "longer wins",
    "longer_tuned": "longer wins, tuned",
}


def figures(report: RunReport, found: NuggetFigures) -> tuple[FigureView, ...]:
    """Agreement beside the trivial rules, the sweep, the distributions of differences, and inversions by class."""
    level = f"{report.level:.0%}"
    return (
        figure(
            "agreement",
            "Agreement with people's votes",
            _agreement(report, found),
            f"Agreement of nuggets, {whole_of(report.metrics['agreement'])}, of the pairwise judge and of rules that "
            "read nothing; the numbers are in the tables",
            "the run has no battle with a vote",
        ),
        figure(
            "sweep",
            "The tie threshold, in sample",
            _sweep(found, level),
            "Agreement and kappa at every threshold, in sample; the numbers are in the table of the sweep",
            "the run has no battle with a vote",
        ),
        figure(
            "differences",
            "Differences of scores by vote",
            _differences(report, found),
            f"Densities of the score of b minus that of a by vote; D_KS between the votes for a and for b "
            f"{whole_of(report.metrics['ks_ab'])}",
            "the run has no battle with a vote",
        ),
        figure(
            "inversions_by_class",
            "Inversions by class of question",
            forest(
                [
                    ForestRow(
                        f"{shortened(g.name.replace('_', ' '), _NAME)} ({g.battles} battles)",
                        g.figures["inversion_all"],
                        GREEN,
                    )
                    for g in found.by_class
                ],
                "share of battles in which the other answer is predicted",
                centre=None,
            ),
            "Share of inversions by class of question; the numbers are in the table by class",
            "no question has a class",
        ),
        figure(
            "labels",
            "The judge's labels against people's",
            _labels(found),
            "Kappa of support and importance labels; the numbers are in the table of labels",
            "people gave no labels",
        ),
    )


def _agreement(report: RunReport, found: NuggetFigures) -> str | None:
    metrics = report.metrics
    rows = [
        ForestRow("nuggets, held out" if found.folds else "nuggets", metrics["agreement"], BLACK, "D"),
        ForestRow("nuggets, in sample", metrics["agreement_in_sample"], GREY, "D"),
        ForestRow("pairwise judge, both orders", metrics["agreement_pairwise"], BLUE),
        ForestRow("two-stage rule", metrics["two_stage_agreement"], GREEN),
    ]
    rows += [
        ForestRow(title, found.baselines[name]["agreement"], GREY, "s")
        for name, title in _RULES.items()
        if name in found.baselines
    ]
    return forest(rows, "share of battles predicted as people voted", centre=None)


def _sweep(found: NuggetFigures, level: str) -> str | None:
    points = [p for p in found.sweep.points if math.isfinite(p.figures["agreement"].value)]
    if len(points) < 2:
        return None

    def paint(figure_: Figure) -> None:
        upper, lower = figure_.subplots(2, 1, sharex=True)
        for axes, name, colour in ((upper, "agreement", BLUE), (lower, "kappa", ORANGE)):
            each = [(p.threshold, p.figures[name]) for p in points if math.isfinite(p.figures[name].value)]
            x = [t for t, _ in each]
            axes.fill_between(
                x, [e.lo for _, e in each], [e.hi for _, e in each], color=colour, alpha=0.25, linewidth=0
            )
            axes.plot(x, [e.value for _, e in each], color=colour, linewidth=1.6)
            axes.set_ylabel(name)
            axes.grid(axis="y", color="#DDDDDD", linewidth=0.6)
            chosen = found.sweep.chosen.value
            if math.isfinite(chosen):
                axes.axvline(chosen, color=BLACK, linewidth=0.8, linestyle=":")
        n = points[0].figures["agreement"].n
        lower.set_xlabel(
            f"tie threshold (dotted: chosen in sample by {found.sweep.criterion.replace('_', ' ')}; {level} intervals, "
            f"n={n:,})"
        )

    return draw(4.2, paint)


def _differences(report: RunReport, found: NuggetFigures) -> str | None:
    curves = [c for c in found.curves if c.n]
    if not curves:
        return None

    def paint(figure_: Figure) -> None:
        axes = figure_.add_subplot()
        for c in curves:
            colour, style = _COLOURS[c.vote], _STYLES[c.vote]
            axes.stairs(c.density, c.edges, color=colour, alpha=0.35, linewidth=0.8)
            label = f"vote {c.vote} (n={c.n:,})"
            if c.kde:
                axes.plot(c.points, c.kde, color=colour, linestyle=style, linewidth=1.6, label=label)
            else:
                axes.plot([], [], color=colour, linestyle=style, linewidth=1.6, label=label)
        axes.set_xlim(-1.05, 1.05)
        axes.set_xlabel("score of b minus score of a")
        axes.set_ylabel("density")
        axes.legend(frameon=False)
        axes.set_title(f"D_KS, a against b: {whole_of(report.metrics['ks_ab'])} (n={report.metrics['ks_ab'].n:,})")

    return draw(3.4, paint)


def _labels(found: NuggetFigures) -> str | None:
    names = {
        "label_kappa": "support, three grades",
        "label2_kappa": "support, two grades",
        "importance_kappa": "importance",
    }
    rows = [ForestRow(title, found.meta.metrics[n], BLUE) for n, title in names.items() if n in found.meta.metrics]
    for rule, of in found.meta.baselines.items():
        if "label_kappa" in of:
            rows.append(ForestRow(f"support: {rule.replace('_', ' ')}", of["label_kappa"], GREY, "s"))
    return forest(rows, "kappa against people's labels (0: what chance gives)")
