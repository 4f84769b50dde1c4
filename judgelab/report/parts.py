"""What a page is made of: sections of tables, figures and notes, whichever protocol they tell of.

Invariant: parts are values without markup; one template draws them, so every protocol's page looks and reads alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from judgelab.metrics.estimate import Estimate

if TYPE_CHECKING:
    from judgelab.records import Record
    from judgelab.report.run_report import RunReport


@dataclass(frozen=True)
class Column:
    """A heading; an `estimate` column is drawn as value, interval and n, a `number` one flush right."""

    title: str
    kind: str = "number"  # estimate, number, text


@dataclass(frozen=True)
class Row:
    """One line: its head, a `quiet` remark beside it, and a cell a column. `main` rows stand out; `link` is an id."""

    head: str
    cells: tuple[Estimate | str, ...]
    quiet: str = ""
    main: bool = False
    link: str = ""


@dataclass(frozen=True)
class TableView:
    """A table; with `missing` set it is a sentence instead, which says why there is nothing to show."""

    caption: str
    head: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    missing: str = ""


@dataclass(frozen=True)
class FigureView:
    """A figure with its words: `file` names it on disk, `svg` is None where `missing` says why."""

    file: str
    title: str
    svg: str | None
    alt: str
    missing: str = ""


@dataclass(frozen=True)
class Section:
    """A heading and what stands under it."""

    title: str
    parts: tuple[TableView | FigureView, ...]


@dataclass(frozen=True)
class Note:
    """A word of the page explained."""

    term: str
    text: str


@dataclass(frozen=True)
class Detail:
    """A table in the trace of one judgment: headings, and rows of texts."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Judgment:
    """One record as the table of single judgments shows it.

    `result` is `right`, `wrong`, `unscored` or a word of the protocol; `group` and `flags` can be filtered by;
    `given` and `judged` stand under the protocol's headings; `p` is the probability shown; `facts` head the trace and
    `details` stand above its calls.
    """

    result: str
    truth: str
    group: str
    flags: str
    question: str
    given: str
    judged: str
    p: float | None = None
    facts: tuple[str, ...] = ()
    details: tuple[Detail, ...] = ()


@dataclass(frozen=True)
class Headings:
    """What a protocol calls the columns of its single judgments."""

    given: str
    judged: str
    group: str
    p: str


@dataclass(frozen=True)
class Layout:
    """Which figures stand first, what they are called, and the trivial judges beside them.

    `headline`, `quality` and `baselines` map a name in summary.json to its title, in order; `main` are the figures
    that stand out; `trivial` says what a quality figure is without any judge; `test` is a p-value in summary.json
    that is adjusted over the runs that are shown together, and its title.
    """

    headline: Mapping[str, str]
    main: tuple[str, ...]
    baselines: Mapping[str, str]
    quality: Mapping[str, str]
    trivial: Mapping[str, str] = field(default_factory=dict)
    absent: Mapping[str, str] = field(default_factory=dict)  # what a baseline shows where it has no such figure
    test: tuple[str, str] | None = None
    hide_empty: bool = False  # leave out figures of which the run has no case at all


@dataclass(frozen=True)
class Presentation:
    """How one protocol is shown. Every function is of the run's report alone.

    `sections` follow the headline; `together` sets several runs of the protocol side by side; `tables` are CSV files
    beyond those that every run has.
    """

    layout: Layout
    headings: Headings
    sections: Callable[[RunReport], tuple[Section, ...]]
    figures: Callable[[RunReport], tuple[FigureView, ...]]
    together: Callable[[Sequence[RunReport]], tuple[TableView | FigureView, ...]]
    tables: Callable[[RunReport], Mapping[str, str]]
    judgment: Callable[[Record], Judgment]
    notes: Callable[[RunReport], tuple[Note, ...]]


def table(caption: str, head: str, columns: Sequence[Column], rows: Sequence[Row], missing: str = "") -> TableView:
    """A table, or the sentence why there is none: `missing`, or that it would have no rows."""
    return TableView(
        caption, head, tuple(columns), tuple(rows), missing or ("" if rows else "there is nothing to show")
    )


def figure(file: str, title: str, svg: str | None, alt: str, missing: str) -> FigureView:
    """A figure, or the sentence why there is none."""
    return FigureView(file, title, svg, alt, "" if svg else missing)
