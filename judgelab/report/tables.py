"""Figures on a terminal: what `judgelab run` and `judgelab score` print.

Invariant: model and web text is printed as it is, never read as markup or as terminal control codes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from judgelab.report.clean import printable
from judgelab.report.headline import coverage, headline, quality, setting_line, title, warnings
from judgelab.report.numbers import interval_of, percent, value_of
from judgelab.report.parts import Layout
from judgelab.report.presentation import presentation

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

PLAIN_WIDTH = 120  # columns where there is no terminal to ask


def print_summary(summary: Mapping[str, Any], console: Console | None = None) -> None:
    """Print warnings, coverage and the headline figures of one run beside the baselines."""
    from rich.text import Text

    console = console or _console()

    def say(line: str, style: str = "") -> None:
        console.print(Text(printable(line), style=style))

    say(title(summary), "bold")
    say(setting_line(summary), "dim")
    for line in warnings(summary):
        say(f"WARNING: {line}", "bold yellow")
    say(coverage(summary).line())
    layout = presentation(summary["protocol"]).layout
    console.print(_headline_table(summary, layout))
    console.print(_quality_table(summary, layout))


def _headline_table(summary: Mapping[str, Any], layout: Layout) -> Table:
    level = percent(summary["analysis"]["level"], 1)
    table = _table(["figure"], ["value", f"{level} interval", "n", *layout.baselines.values()])
    for row in headline(summary, layout):
        style = "bold" if row.name in layout.main else ""
        cells = (row.title, value_of(row.estimate), interval_of(row.estimate), f"{row.estimate.n:,}", *row.baselines)
        _add(table, cells, style)
    return table


def _quality_table(summary: Mapping[str, Any], layout: Layout) -> Table:
    level = percent(summary["analysis"]["level"], 1)
    table = _table(["can it be trusted?"], ["value", f"{level} interval", "n"], ["trivial value"])
    for row in quality(summary, layout):
        _add(
            table,
            (row.title, value_of(row.estimate), interval_of(row.estimate), f"{row.estimate.n:,}", row.trivial),
        )
    return table


def _console() -> Console:
    from rich.console import Console

    found = Console(highlight=False)
    return found if found.is_terminal else Console(highlight=False, width=PLAIN_WIDTH)


def _table(left: Iterable[str], right: Iterable[str], more: Iterable[str] = ()) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    for name in left:
        table.add_column(name)
    for name in right:
        table.add_column(name, justify="right", no_wrap=True)
    for name in more:
        table.add_column(name)
    return table


def _add(table: Table, cells: Iterable[str], style: str = "") -> None:
    from rich.text import Text

    table.add_row(*(Text(printable(cell)) for cell in cells), style=style)
