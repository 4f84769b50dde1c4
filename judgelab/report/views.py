"""One run as the sections of a page: what the template fills in, already chosen and named.

Invariant: a figure or table that is missing is replaced by the reason why, never by silence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from judgelab.metrics.accuracy import CELLS
from judgelab.metrics.estimate import Estimate
from judgelab.metrics.groups import Decile, Group
from judgelab.metrics.rpag import VERDICTS
from judgelab.report import figures
from judgelab.report.card import JudgeCard, card
from judgelab.report.headline import (
    BASELINES,
    Coverage,
    HeadlineRow,
    QualityRow,
    beside,
    coverage,
    headline,
    quality,
    setting_line,
    title,
    warnings,
)
from judgelab.report.numbers import percent, whole_of
from judgelab.report.run_report import RunReport
from judgelab.settings import NotAttempted


@dataclass(frozen=True)
class FigureView:
    """A figure with its words: `file` names it on disk, `svg` is None where `missing` says why."""

    file: str
    title: str
    svg: str | None
    alt: str
    missing: str = ""


@dataclass(frozen=True)
class Variant:
    """The headline figures under another assumption."""

    name: str
    acc_o: Estimate
    acc_s: Estimate
    rpag: Estimate


@dataclass(frozen=True)
class GroupTable:
    """Headline figures by group; `missing` says why there is nothing to compare."""

    title: str
    column: str
    groups: tuple[Group, ...]
    missing: str = ""


@dataclass(frozen=True)
class PopularityTable:
    """Headline figures by decile of popularity."""

    title: str
    slope: Estimate
    deciles: tuple[Decile, ...]


@dataclass(frozen=True)
class CellRow:
    """Counts of one cell, in the order of `RunView.outcomes`."""

    cell: str
    truth: str
    counts: tuple[int, ...]


@dataclass(frozen=True)
class RunView:
    """Everything that the page says about one run."""

    report: RunReport
    title: str
    setting: str
    card: JudgeCard
    warnings: tuple[str, ...]
    coverage: Coverage
    headline: tuple[HeadlineRow, ...]
    quality: tuple[QualityRow, ...]
    variants: tuple[Variant, ...]
    outcomes: tuple[str, ...]
    cells: tuple[CellRow, ...]
    figures: tuple[FigureView, ...]
    groups: tuple[GroupTable, ...]
    popularity: tuple[PopularityTable, ...]
    baselines: tuple[str, ...]
    level: str
    resamples: str
    coding: str


def view(report: RunReport) -> RunView:
    """Choose and name what is shown."""
    outcomes, cells = _cells(report)
    analysis = report.summary["analysis"]
    return RunView(
        report=report,
        title=title(report.summary),
        setting=setting_line(report.summary),
        card=card(report),
        warnings=warnings(report.summary),
        coverage=coverage(report.summary),
        headline=headline(report.summary),
        quality=quality(report.summary),
        variants=_variants(report),
        outcomes=outcomes,
        cells=cells,
        figures=run_figures(report),
        groups=(
            _group_table("By entity type", "entity type", report.figures.by_type),
            _group_table("By freshness of the answer", "freshness", report.figures.by_freshness),
            _group_table("By source of the candidates", "candidates", report.figures.by_source),
        ),
        popularity=tuple(
            PopularityTable(f"By popularity of the {of}", found.slope, found.deciles)
            for of, found in (
                ("original entity", report.figures.by_popularity),
                ("swapped entity", report.figures.by_swapped_popularity),
            )
        ),
        baselines=tuple(beside(report.summary, judge) for judge in BASELINES[:3]),
        level=percent(report.level, 1),
        resamples=f"{analysis['resamples']:,}",
        coding=str(analysis["not_attempted"]),
    )


def run_figures(report: RunReport) -> tuple[FigureView, ...]:
    """The figures of one run, those without data included."""
    level = percent(report.level, 1)
    found = report.figures
    by_type = figures.rpag_by_type(report)
    curve = figures.reliability(report.calibration)
    views = [
        _figure(
            "rpag_by_type",
            "RPAG by entity type",
            by_type,
            f"RPAG of all items, {whole_of(report.metrics['rpag'])}, and of each entity type, with {level} intervals; "
            "the numbers are in the table by entity type",
            "no judgment has a verdict under both references",
        ),
        _figure(
            "verdict_mix",
            "Verdicts per cell",
            figures.verdict_mix(report),
            "Share of each verdict in the four cells; the numbers are in the table of verdicts per cell",
            "there is no record",
        ),
        _figure(
            "reliability",
            "Reliability of p(CORRECT)",
            curve,
            f"Share of CORRECT truths against the judge's p(CORRECT) in ten bins with {level} Wilson intervals; "
            "the numbers are in the calibration table",
            "the verdict form of this run yields no probabilities",
        ),
    ]
    for of, each in (("original", found.by_popularity), ("swapped", found.by_swapped_popularity)):
        views.append(
            _figure(
                f"popularity_{of}",
                f"RPAG by popularity of the {of} entity",
                figures.popularity(each, f"the {of} entity"),
                f"RPAG by tenths of popularity, slope {whole_of(each.slope)} per tenfold; the numbers are in the "
                "table by popularity",
                each.slope.method.removeprefix("undefined: "),
            )
        )
    return tuple(views)


def swap_figure(reports: Sequence[RunReport]) -> FigureView:
    """RPAG of all runs of a report side by side."""
    numbers = "; ".join(
        f"{r.judge}, {r.setting.get('swap', '')}, {r.setting.get('condition', '')}: {whole_of(r.metrics['rpag'])}"
        for r in reports
    )
    return _figure(
        "rpag_by_swap",
        "RPAG by swap type",
        figures.rpag_by_swap(reports),
        f"RPAG of each run with its interval: {numbers}",
        "no run has a verdict under both references",
    )


def _figure(file: str, name: str, svg: str | None, alt: str, missing: str) -> FigureView:
    return FigureView(file, name, svg, alt, "" if svg else missing)


def _group_table(name: str, column: str, groups: tuple[Group, ...]) -> GroupTable:
    named = [group.name for group in groups]
    missing = ""
    if named == ["unknown"]:
        missing = f"no item has a known {column}"
    elif len(named) == 1:
        missing = f"all items are of one group: {named[0]}"
    return GroupTable(name, column, groups, missing)


def _variants(report: RunReport) -> tuple[Variant, ...]:
    metrics = report.metrics
    names = {
        "": "as analysed",
        "_worst": "unscored judgments counted against the judge",
        "_best": "unscored judgments counted in favour of the judge",
        "_unflagged": "items without a flagged candidate only",
        **{f"_na_{coding.value}": f"NOT_ATTEMPTED coded as {coding.value}" for coding in NotAttempted},
    }
    return tuple(
        Variant(name, metrics[f"acc_o{suffix}"], metrics[f"acc_s{suffix}"], metrics[f"rpag{suffix}"])
        for suffix, name in names.items()
        if f"rpag{suffix}" in metrics
    )


def _cells(report: RunReport) -> tuple[tuple[str, ...], tuple[CellRow, ...]]:
    counts = report.figures.verdicts
    reasons = [name for name in counts[CELLS[0]] if name not in VERDICTS]
    outcomes = (*VERDICTS, *(name for name in reasons if any(counts[cell][name] for cell in CELLS)))
    truth = report.frame.drop_duplicates("cell").set_index("cell")["truth"]
    rows = tuple(
        CellRow(cell, str(truth.get(cell, "–")), tuple(counts[cell][name] for name in outcomes)) for cell in CELLS
    )
    return outcomes, rows
