"""What a page says about each run, whichever protocol it is of.

Invariant: warnings come before figures, and the trivial judges stand beside the judge.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from judgelab.report.card import JudgeCard, card
from judgelab.report.headline import coverage, headline, quality, setting_line, title, warnings
from judgelab.report.numbers import percent
from judgelab.report.parts import Column, Headings, Note, Row, Section, TableView, table
from judgelab.report.presentation import presentation
from judgelab.report.run_report import RunReport


@dataclass(frozen=True)
class RunView:
    """Everything that the page says about one run."""

    report: RunReport
    title: str
    setting: str
    card: JudgeCard
    warnings: tuple[str, ...]
    coverage: str
    headline: TableView
    quality: TableView
    sections: tuple[Section, ...]
    notes: tuple[Note, ...]
    headings: Headings
    level: str


def view(report: RunReport) -> RunView:
    """Choose and name what is shown."""
    shown = presentation(report.summary["protocol"])
    layout, summary = shown.layout, report.summary
    return RunView(
        report=report,
        title=title(summary),
        setting=setting_line(summary),
        card=card(report),
        warnings=warnings(summary),
        coverage=coverage(summary).line(),
        headline=table(
            "The judge beside judges that read nothing",
            "figure",
            [Column("value", "estimate"), *map(Column, layout.baselines.values())],
            [
                Row(row.title, (row.estimate, *row.baselines), main=row.name in layout.main)
                for row in headline(summary, layout)
            ],
        ),
        quality=table(
            "How far the headline can be trusted",
            "figure",
            [Column("value", "estimate"), Column("trivial value", "text")],
            [Row(row.title, (row.estimate, row.trivial)) for row in quality(summary, layout)],
        ),
        sections=shown.sections(report),
        notes=(*shown.notes(report), *_notes(report)),
        headings=shown.headings,
        level=percent(report.level, 1),
    )


def side_by_side(reports: Sequence[RunReport]) -> tuple[Section, ...]:
    """A section a protocol of which there are several runs."""
    protocols = list(dict.fromkeys(report.summary["protocol"] for report in reports))
    found = []
    for protocol in protocols:
        runs = [report for report in reports if report.summary["protocol"] == protocol]
        if len(runs) > 1:
            name = "The runs side by side" if len(protocols) == 1 else f"The {protocol} runs side by side"
            found.append(Section(name, presentation(protocol).together(runs)))
    return tuple(found)


def _notes(report: RunReport) -> tuple[Note, ...]:
    analysis = report.summary["analysis"]
    return (
        Note(
            "Intervals",
            f"At level {percent(report.level, 1)}. What mixes several judgments of one question: whole questions are "
            f"drawn with replacement {analysis['resamples']:,} times, and the interval holds the middle of what "
            "results. Shares with one judgment a question: Wilson's interval. A p-value has none. The method of each "
            "interval is shown when the pointer rests on it, and stands in tables/metrics.csv.",
        ),
        Note(
            "Unscored",
            "A judgment that failed (cut off, unreadable, too long, engine or search failure) has no verdict and "
            "enters no accuracy. The bounds show what it could have changed: all of them wrong, or all of them right.",
        ),
    )
