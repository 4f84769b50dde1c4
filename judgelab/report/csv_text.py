"""Figures as CSV text, for whoever plots them again, and the files that every run has.

Invariant: numbers are written in full, so that reading a file back gives the figure to the last digit; an undefined
number is an empty field.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence

from judgelab.metrics.estimate import Estimate
from judgelab.report.clean import clean
from judgelab.report.presentation import presentation
from judgelab.report.run_report import RunReport

ESTIMATE = ("value", "lo", "hi", "n", "unit", "method")


def csv_files(report: RunReport) -> Mapping[str, str]:
    """File name -> content: metrics, baselines, unscored, and the protocol's own tables. A file without rows still has
    its header."""
    return {
        "metrics.csv": as_csv(("name", *ESTIMATE), ((name, *fields(e)) for name, e in report.metrics.items())),
        "baselines.csv": as_csv(
            ("baseline", "name", *ESTIMATE),
            (
                (judge, name, *fields(estimate))
                for judge, rows in report.figures.baselines.items()
                for name, estimate in rows.items()
            ),
        ),
        "unscored.csv": as_csv(
            ("record_id", "item_id", "cell", "reason", "detail", "attempts"),
            (
                (r.record_id, r.item_id, r.cell, r.unscored.reason.value, r.unscored.detail, r.attempts)
                for r in report.records
                if r.unscored
            ),
        ),
        **presentation(report.summary["protocol"]).tables(report),
    }


def fields(estimate: Estimate) -> tuple[object, ...]:
    """The cells of `ESTIMATE`."""
    return tuple(getattr(estimate, name) for name in ESTIMATE)


def as_csv(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A CSV text of header and rows."""
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
