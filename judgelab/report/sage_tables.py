"""The tables of a SAGE run: judges beside each other, systems, calibration, and what it all took.

Invariant: every share has its interval and its n.
"""

from __future__ import annotations

from judgelab.metrics.sage_figures import SHOWN, JudgeRow, SageFigures
from judgelab.report.numbers import number
from judgelab.report.parts import Column, Row, Section, TableView, table
from judgelab.report.run_report import RunReport
from judgelab.report.sage_drawings import figures

_AGREEMENT = (Column("accuracy", "estimate"), Column("kappa", "estimate"), Column("macro-F1", "estimate"))
_BASELINES = {
    "always_true": "always True",
    "always_false": "always False",
    "majority": "majority",
    "random": "random",
    "em": "EM",
    "f1": "F1 of .5",
    "contains": "Contains",
}
_CELLS = {"judged": "with evidence", "none": "without evidence", "reference": "with gold answers"}


def sections(report: RunReport, found: SageFigures) -> tuple[Section, ...]:
    """What stands below the headline."""
    return (
        Section("Judges side by side", (_judges(found), _baselines(found))),
        Section("Figures", figures(report, found)),
        Section("The systems judged", (_systems(found),)),
        Section("Bounds and corrections", (_corrections(report),)),
        Section("Cost", (_costs(found),)),
        Section("Calibration", (_calibration(found),)),
    )


def _agreement(row: JudgeRow) -> Row:
    return Row(row.name, tuple(row.agreement[name] for name in SHOWN), main=row.name == "this judge")


def _judges(found: SageFigures) -> TableView:
    caption = f"Agreement with {found.truth}, each judge on the answers that it has a verdict for"
    return table(caption, "judge", _AGREEMENT, [_agreement(row) for row in found.judges])


def _baselines(found: SageFigures) -> TableView:
    rows = [Row(title, tuple(found.baselines[name][each] for each in SHOWN)) for name, title in _BASELINES.items()]
    return table("Yardsticks that read strings or nothing, on this judge's answers", "yardstick", _AGREEMENT, rows)


def _systems(found: SageFigures) -> TableView:
    columns = [
        Column("right, by people", "estimate"),
        Column("True, by the judge", "estimate"),
        Column("corrected", "estimate"),
        Column("accuracy of the judge", "estimate"),
        Column("kappa", "estimate"),
        Column("accuracy of Contains", "estimate"),
        Column("accuracy of EM", "estimate"),
        Column("accuracy of F1 of .5", "estimate"),
    ]
    rows = [
        Row(
            row.system,
            (
                row.human_rate,
                row.judge_rate,
                row.corrected,
                row.agreement["accuracy"],
                row.agreement["kappa"],
                row.contains,
                row.em,
                row.f1,
            ),
            f"({row.n:,} answers)",
        )
        for row in found.by_system
    ]
    missing = "all answers are of one system" if len(rows) == 1 else ""
    return table("By system; corrected by the judge's errors on the other systems", "system", columns, rows, missing)


def _corrections(report: RunReport) -> TableView:
    names = {
        "accuracy_worst": "accuracy, unscored counted against the judge",
        "accuracy_best": "accuracy, unscored counted for the judge",
        "true_share": "share called True",
        "true_share_corrected": "share called True, errors taken off (Rogan-Gladen)",
        "true_share_ppi": "share of right answers, prediction-powered",
        "base_rate": "share that people call True",
    }
    rows = [Row(title, (report.metrics[name],)) for name, title in names.items() if name in report.metrics]
    return table("Other assumptions, and the judge's errors taken off", "figure", [Column("value", "estimate")], rows)


def _costs(found: SageFigures) -> TableView:
    columns = [Column(name, "estimate") for name in ("calls", "tokens", "prompt tokens from the cache", "seconds")]
    rows = [
        Row(_CELLS[row.cell], (row.calls, row.tokens, row.cached_share, row.seconds), f"({row.items:,} answers)")
        for row in found.costs
    ]
    return table("Mean cost of one answer; seconds of calls that overlap", "verdict", columns, rows)


def _calibration(found: SageFigures) -> TableView:
    rows = [
        Row(f"{bin_.lo:.1f} to {bin_.hi:.1f}", (number(bin_.mean_p, "fraction"), bin_.correct))
        for bin_ in found.calibration.bins
    ]
    missing = "" if rows else "the verdict form of this run yields no probabilities"
    columns = [Column("mean"), Column("share True", "estimate")]
    return table("p(True) against the truth, in ten bins", "p(True)", columns, rows, missing)
