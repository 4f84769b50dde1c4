"""The self-contained page of one or several runs, and the full set of a run's output files.

Invariant: the page asks for nothing outside itself, and text of models and data stays text in it: escaped in the
markup, encoded in the embedded JSON, and kept from running by a content policy that admits this page's script alone.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judgelab.journal import write_atomic
from judgelab.metrics.estimate import Estimate
from judgelab.report.clean import clean
from judgelab.report.csv_text import csv_files
from judgelab.report.drawing import inline
from judgelab.report.judgments import embed
from judgelab.report.numbers import interval_of, number, value_of
from judgelab.report.presentation import presentation
from judgelab.report.run_report import RunReport
from judgelab.report.views import side_by_side, view

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = Path(__file__).resolve().parent / "templates"


def write_report(reports: Sequence[RunReport], path: Path) -> None:
    """Write one page for the runs, in the order given. Raises JudgelabError if it cannot be written."""
    write_atomic(path, page(reports))


def write_outputs(report: RunReport, *folders: Path) -> None:
    """Write tables/*.csv, figures/*.svg and report.html of one run below each folder.

    A figure that has no data any more (another analysis, other records) is removed.
    """
    write_tables(report, *folders)
    figures = presentation(report.summary["protocol"]).figures(report)
    html = page([report])
    for folder in folders:
        for each in figures:
            path = folder / "figures" / f"{each.file}.svg"
            if each.svg is None:
                path.unlink(missing_ok=True)
            else:
                write_atomic(path, each.svg)
        write_atomic(folder / "report.html", html)


def write_tables(report: RunReport, *folders: Path) -> None:
    """Write tables/*.csv of one run below each folder."""
    tables = csv_files(report)
    for folder in folders:
        for name, text in tables.items():
            write_atomic(folder / "tables" / name, text)


def page(reports: Sequence[RunReport]) -> str:
    """The page as text: the same bytes for the same runs."""
    from markupsafe import Markup

    environment = _environment()
    script = (TEMPLATES / "report.js").read_text(encoding="utf-8")
    judgments = embed(reports)
    runs = [view(report) for report in reports]
    warned = {
        line: [k for k, run in enumerate(runs, 1) if line in run.warnings] for run in runs for line in run.warnings
    }
    return environment.get_template("report.html.j2").render(
        runs=runs,
        warned=warned,
        together=side_by_side(reports) if len(reports) > 1 else (),
        judgments=Markup(judgments.data),  # noqa: S704 - made safe by judgments.embed
        trace_note=judgments.note,
        n_judgments=sum(len(report.records) for report in reports),
        style=Markup((TEMPLATES / "report.css").read_text(encoding="utf-8")),  # noqa: S704 - a file of ours
        script=Markup(script),  # noqa: S704 - a file of ours
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )


def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    def finalize(value: Any) -> Any:
        return clean(value) if isinstance(value, str) and not isinstance(value, Markup) else value

    def svg(text: str, alt: str) -> Markup:
        label = Markup('<svg role="img" aria-label="{}" ').format(clean(alt))
        return Markup(inline(text).replace("<svg ", label, 1))  # noqa: S704 - matplotlib escapes what it draws

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    filters: Mapping[str, Any] = {
        "value": value_of,
        "interval": interval_of,
        "count": lambda n: number(n, "count"),
        "svg": svg,
    }
    environment.filters.update(filters)
    environment.tests["estimate"] = lambda each: isinstance(each, Estimate)
    return environment
