"""The judges that come with a config, and which of them are on this machine: what `judgelab models` prints.

Invariant: listing reads the disk and nothing else; it downloads, hashes and loads nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from judgelab.errors import JudgelabError
from judgelab.settings import JudgeConfig
from judgelab.weights import locate


@dataclass(frozen=True)
class Row:
    """One judge. `where` is the directory of its weights, `not fetched`, or what is wrong with its config."""

    name: str
    parameters: str
    source: str
    model: str
    license: str
    tensor_parallel: int
    tested: bool
    where: str


def listing(judges: Iterable[JudgeConfig]) -> tuple[Row, ...]:
    """One row a judge, in the order given."""
    return tuple(
        Row(
            name=judge.name,
            parameters=judge.parameters,
            source=judge.source,
            model=judge.model,
            license=judge.license,
            tensor_parallel=judge.tensor_parallel,
            tested=judge.tested,
            where=_where(judge),
        )
        for judge in judges
    )


def _where(judge: JudgeConfig) -> str:
    try:
        path = locate(judge)
    except JudgelabError as error:
        return str(error)
    return "not fetched" if path is None else str(path)


def print_models(rows: Iterable[Row]) -> None:
    """The list as a table on the terminal."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for heading in ("judge", "size", "GPUs", "run by us", "licence", "model", "weights"):
        table.add_column(heading, no_wrap=True)
    for row in rows:
        cells = (
            row.name,
            row.parameters,
            str(row.tensor_parallel),
            "tested" if row.tested else "untested",
            row.license,
            row.model,
            row.where,
        )
        table.add_row(*(Text(cell) for cell in cells))
    console = Console()
    if not console.is_terminal:
        console.width = 200  # a pipe has no width, and names cut short are useless
    console.print(table)
