"""The figures of a SAGE run as SVG.

Invariant: every point stands with its interval and its n; a figure without data is None, never an empty frame.
"""

from __future__ import annotations

from judgelab.metrics.sage_figures import SageFigures
from judgelab.report.clean import shortened
from judgelab.report.drawing import BLACK, BLUE, GREY, ORANGE, ForestRow, forest
from judgelab.report.numbers import whole_of
from judgelab.report.parts import FigureView, figure
from judgelab.report.run_report import RunReport
from judgelab.report.swapped_figures import reliability

_NAME = 34  # characters a label may have


def figures(report: RunReport, found: SageFigures) -> tuple[FigureView, ...]:
    """Kappa of every judge and yardstick, accuracy by system, and the reliability curve."""
    kappa = [
        ForestRow(shortened(row.name, _NAME), row.agreement["kappa"], BLACK if k == 0 else BLUE, "D" if k == 0 else "o")
        for k, row in enumerate(found.judges)
    ]
    kappa += [
        ForestRow(name, found.baselines[key]["kappa"], GREY, "s")
        for key, name in (("contains", "Contains"), ("f1", "F1 of .5"), ("em", "EM"), ("random", "random"))
    ]
    accuracy = [
        ForestRow(f"{shortened(row.system, _NAME)} ({row.n} answers)", row.agreement["accuracy"], ORANGE)
        for row in found.by_system
    ]
    several = len(accuracy) > 1
    told = report.metrics["kappa"]
    return (
        figure(
            "kappa",
            "Kappa of judges and yardsticks",
            forest(kappa, f"kappa against {found.truth} (0: what chance gives)"),
            f"Kappa of this judge, {whole_of(told)}, beside the same judge without evidence and with gold answers, and "
            "string comparison; the numbers are in the tables of judges",
            "no answer has a verdict and a truth",
        ),
        figure(
            "accuracy_by_system",
            "Accuracy of the judge by system judged",
            forest(accuracy, "accuracy of the judge on the system's answers", centre=None) if several else None,
            "Accuracy of the judge on the answers of each system; the numbers are in the table of systems",
            "all answers are of one system" if accuracy else "there is no answer",
        ),
        figure(
            "reliability",
            "Reliability of p(True)",
            reliability(found.calibration, "True"),
            "Share of right answers against the judge's p(True) in ten bins; the numbers are in the calibration table",
            "the verdict form of this run yields no probabilities",
        ),
    )
