"""The figures of one run as CSV files, for whoever plots them again.

Invariant: numbers are written in full, so that reading a file back gives the figure to the last digit; an undefined
number is an empty field.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence

from judgelab.metrics.accuracy import CELLS
from judgelab.metrics.estimate import Estimate
from judgelab.metrics.groups import Group
from judgelab.metrics.intervals import wilson
from judgelab.metrics.rpag import VERDICTS
from judgelab.report.clean import clean
from judgelab.report.run_report import RunReport

_ESTIMATE = ("value", "lo", "hi", "n", "unit", "method")
_GROUP = (
    "items",
    *(f"{name}{part}" for name in ("acc_o", "acc_s", "rpag") for part in ("", "_lo", "_hi", "_n")),
    "mcnemar_p",
    "mcnemar_n",
    "mcnemar_p_holm",
)


def csv_files(report: RunReport) -> Mapping[str, str]:
    """File name -> content: metrics, baselines, cells, by_type, by_freshness, by_source, popularity, calibration,
    unscored. Every figure stands beside its interval and n; a file without rows still has its header."""
    figures = report.figures
    return {
        "metrics.csv": _csv(("name", *_ESTIMATE), ((name, *_fields(e)) for name, e in report.metrics.items())),
        "baselines.csv": _csv(
            ("baseline", "name", *_ESTIMATE),
            (
                (judge, name, *_fields(estimate))
                for judge, rows in figures.baselines.items()
                for name, estimate in rows.items()
            ),
        ),
        "cells.csv": _cells(report),
        "by_type.csv": _groups("entity_type", figures.by_type),
        "by_freshness.csv": _groups("freshness", figures.by_freshness),
        "by_source.csv": _groups("candidate_source", figures.by_source),
        "popularity.csv": _csv(
            ("of", "lo", "hi", *_GROUP),
            (
                (of, tenth.lo, tenth.hi, *_group(tenth.group))
                for of, found in (("question", figures.by_popularity), ("swap", figures.by_swapped_popularity))
                for tenth in found.deciles
            ),
        ),
        "calibration.csv": _csv(
            ("p_lo", "p_hi", "mean_p", "correct", "correct_lo", "correct_hi", "n", "method"),
            (
                (b.lo, b.hi, b.mean_p, b.correct.value, b.correct.lo, b.correct.hi, b.n, b.correct.method)
                for b in report.calibration.bins
            ),
        ),
        "unscored.csv": _csv(
            ("record_id", "item_id", "cell", "reason", "detail", "attempts"),
            (
                (r.record_id, r.item_id, r.cell, r.unscored.reason.value, r.unscored.detail, r.attempts)
                for r in report.records
                if r.unscored
            ),
        ),
    }


def _cells(report: RunReport) -> str:
    """Verdicts as shares of the cell's scored records, reasons as shares of all its records; Wilson."""
    truths = report.frame.drop_duplicates("cell").set_index("cell")["truth"]
    rows: list[Sequence[object]] = []
    for cell in CELLS:
        counts = report.figures.verdicts[cell]
        scored, total = sum(counts[verdict] for verdict in VERDICTS), sum(counts.values())
        for outcome, count in counts.items():
            if outcome in VERDICTS or count:
                share = wilson(count, scored if outcome in VERDICTS else total, report.level)
                of = "scored" if outcome in VERDICTS else "all"
                rows.append((cell, truths.get(cell), outcome, count, of, *_fields(share)))
    return _csv(("cell", "truth", "outcome", "count", "share_of", *_ESTIMATE), rows)


def _groups(column: str, groups: Iterable[Group]) -> str:
    return _csv((column, *_GROUP), ((group.name, *_group(group)) for group in groups))


def _group(group: Group) -> tuple[object, ...]:
    measured = (part for e in (group.acc_o, group.acc_s, group.rpag) for part in (e.value, e.lo, e.hi, e.n))
    return (group.items, *measured, group.mcnemar.value, group.mcnemar.n, group.p_holm)


def _fields(estimate: Estimate) -> tuple[object, ...]:
    return tuple(getattr(estimate, name) for name in _ESTIMATE)


def _csv(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([_field(value) for value in row] for row in rows)
    return file.getvalue()


def _field(value: object) -> object:
    match value:
        case float():
            return repr(float(value)) if math.isfinite(value) else ""
        case None:
            return ""
        case str():
            return clean(value)
    return value
