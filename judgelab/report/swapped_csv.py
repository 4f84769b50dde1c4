"""The swapped protocol's tables as CSV: cells, groups, popularity and calibration.

Invariant: every figure stands beside its interval and n.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from judgelab.metrics.accuracy import CELLS
from judgelab.metrics.groups import Group
from judgelab.metrics.intervals import wilson
from judgelab.metrics.rpag import VERDICTS, SwappedFigures
from judgelab.report.csv_text import ESTIMATE, as_csv, fields
from judgelab.report.run_report import RunReport

_GROUP = (
    "items",
    *(f"{name}{part}" for name in ("acc_o", "acc_s", "rpag") for part in ("", "_lo", "_hi", "_n")),
    "mcnemar_p",
    "mcnemar_n",
    "mcnemar_p_holm",
)


def csv_files(report: RunReport, figures: SwappedFigures) -> Mapping[str, str]:
    """File name -> content: cells, by_type, by_freshness, by_source, popularity, calibration; a file without rows
    still has its header."""
    return {
        "cells.csv": _cells(report, figures),
        "by_type.csv": _groups("entity_type", figures.by_type),
        "by_freshness.csv": _groups("freshness", figures.by_freshness),
        "by_source.csv": _groups("candidate_source", figures.by_source),
        "popularity.csv": as_csv(
            ("of", "lo", "hi", *_GROUP),
            (
                (of, tenth.lo, tenth.hi, *_group(tenth.group))
                for of, found in (("question", figures.by_popularity), ("swap", figures.by_swapped_popularity))
                for tenth in found.deciles
            ),
        ),
        "calibration.csv": as_csv(
            ("p_lo", "p_hi", "mean_p", "correct", "correct_lo", "correct_hi", "n", "method"),
            (
                (b.lo, b.hi, b.mean_p, b.correct.value, b.correct.lo, b.correct.hi, b.n, b.correct.method)
                for b in figures.calibration.bins
            ),
        ),
    }


def _cells(report: RunReport, figures: SwappedFigures) -> str:
    """Verdicts as shares of the cell's scored records, reasons as shares of all its records; Wilson."""
    truths = report.frame.drop_duplicates("cell").set_index("cell")["truth"]
    rows: list[Sequence[object]] = []
    for cell in CELLS:
        counts = figures.verdicts[cell]
        scored, total = sum(counts[verdict] for verdict in VERDICTS), sum(counts.values())
        for outcome, count in counts.items():
            if outcome in VERDICTS or count:
                share = wilson(count, scored if outcome in VERDICTS else total, report.level)
                of = "scored" if outcome in VERDICTS else "all"
                rows.append((cell, truths.get(cell), outcome, count, of, *fields(share)))
    return as_csv(("cell", "truth", "outcome", "count", "share_of", *ESTIMATE), rows)


def _groups(column: str, groups: Iterable[Group]) -> str:
    return as_csv((column, *_GROUP), ((group.name, *_group(group)) for group in groups))


def _group(group: Group) -> tuple[object, ...]:
    measured = (part for e in (group.acc_o, group.acc_s, group.rpag) for part in (e.value, e.lo, e.hi, e.n))
    return (group.items, *measured, group.mcnemar.value, group.mcnemar.n, group.p_holm)
