"""A sweep as one table a protocol: `python experiments/tabulate.py RUN... [-o FILE.csv|FILE.md]`.

One row a run; for swapped runs the p-values adjusted over the rows, and published values beside them marked `paper`;
for the others a further row for each analysis that was asked for, such as the points of a threshold sweep.
Nothing is left out silently: incomplete runs say what their processes do or how they died, and combinations that a
sweep lacks are named below the table. Runs of several protocols make several CSV files, FILE-PROTOCOL.csv.
"""

from __future__ import annotations

import argparse
import csv
import io
import itertools
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from judgelab.errors import JudgelabError
from judgelab.journal import write_atomic
from judgelab.metrics.estimate import Estimate
from judgelab.metrics.paired import holm
from judgelab.report.clean import printable
from judgelab.report.headline import beside, warnings
from judgelab.report.numbers import NONE, from_json, number, whole_of
from judgelab.report.presentation import presentation
from judgelab.report.swapped import HEADLINE
from judgelab.scoring import Analysis, figures_of, other_summaries
from judgelab.status import statuses
from judgelab.store import RunDirectory, find_runs


@dataclass(frozen=True)
class Row:
    """One line of the table; what a row does not have is None. `always_a`, `always_b` and `random` give ACC_o, ACC_s
    and RPAG of judges that read nothing, on the same records."""

    source: str
    protocol: str
    dataset: str
    judge: str
    engine: str
    swap: str
    condition: str
    form: str
    candidates: str
    items: int | None = None
    acc_o: Estimate | None = None
    acc_s: Estimate | None = None
    rpag: Estimate | None = None
    p_holm: float | None = None
    always_a: str = NONE
    always_b: str = NONE
    random: str = NONE
    status: str = ""


@dataclass(frozen=True)
class Table:
    """Rows in order, and what the sweep lacks."""

    rows: tuple[Row, ...]
    missing: tuple[str, ...]


# arXiv 2601.07506, Table 1: accuracy changes by so many points when the reference is swapped; its sign is turned
# here, for RPAG is accuracy under the original reference minus accuracy under the swapped one.
PAPER_CHANGE = {("nq_open", "type_preserving"): -2.8, ("popqa", "type_preserving"): -0.4}


def tabulate(runs: Sequence[RunDirectory], analysis: Analysis) -> Table:
    """Figures of every run that has records, recomputed from them; published values of the same data and swap."""
    found = [_row(run, analysis) for run in runs]
    adjusted = holm([p for _, p in found])
    rows = [replace(row, p_holm=p) for (row, _), p in zip(found, adjusted, strict=True)]
    rows.sort(key=lambda row: (row.dataset, row.swap, row.condition, row.judge, row.form, row.candidates))
    paper = [
        Row(
            source="paper",
            protocol="swapped",
            dataset=dataset,
            judge="gpt-5",
            engine="published",
            swap=swap,
            condition="standard",
            form=NONE,
            candidates="model",
            rpag=Estimate(-change, math.nan, math.nan, 0, "as published", "points"),
            status=f"published as a change of {number(change, 'points')} points under swap",
        )
        for (dataset, swap), change in PAPER_CHANGE.items()
        if any((row.dataset, row.swap) == (dataset, swap) for row in rows)
    ]
    return Table((*rows, *paper), _missing(rows))


def _row(run: RunDirectory, analysis: Analysis) -> tuple[Row, float]:
    science = run.manifest["science"]
    protocol = science["protocol"]
    row = Row(
        source="run",
        protocol=protocol["name"],
        dataset=science["dataset"]["name"],
        judge=science["judge"]["name"],
        engine=" ".join(filter(None, (science["engine"]["kind"], science["engine"].get("backend")))),
        swap=protocol.get("swap", NONE),
        condition=protocol.get("condition", NONE),
        form=protocol.get("verdict_form", NONE),
        candidates=protocol.get("candidates", NONE),
    )
    try:
        scored = figures_of(run, analysis)
    except JudgelabError:
        return replace(row, status="no record yet"), math.nan
    metrics: Mapping[str, Estimate] = scored.figures.metrics
    summary = scored.summary
    state = [*(["complete"] if summary["complete"] else []), *warnings(summary)]
    row = replace(
        row,
        items=summary["n_items"],
        acc_o=metrics["acc_o"],
        acc_s=metrics["acc_s"],
        rpag=metrics["rpag"],
        always_a=beside(summary, "always_a", HEADLINE),
        always_b=beside(summary, "always_b", HEADLINE),
        random=beside(summary, "random", HEADLINE),
        status="; ".join(state),
    )
    return row, metrics["mcnemar_oo_ss"].value


def _missing(rows: Sequence[Row]) -> tuple[str, ...]:
    """For each judge and dataset of the sweep, the ways of asking that other runs have and these lack."""
    ways = sorted({_way(row) for row in rows})
    have = {(row.judge, row.dataset, _way(row)) for row in rows if row.rpag is not None}
    pairs = itertools.product(sorted({row.judge for row in rows}), sorted({row.dataset for row in rows}))
    lacking = {(judge, data): [way for way in ways if (judge, data, way) not in have] for judge, data in pairs}
    return tuple(f"{judge} on {data}: no figures for {'; '.join(way)}" for (judge, data), way in lacking.items() if way)


def _way(row: Row) -> str:
    return f"{row.swap}, {row.condition}, {row.form}"


def as_csv(table: Table) -> str:
    """The table as CSV, numbers in full; what is missing follows as rows of source `missing`."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    names = [f.name for f in fields(Row)]
    estimates = ("acc_o", "acc_s", "rpag")
    header = [[name, f"{name}_lo", f"{name}_hi", f"{name}_n"] if name in estimates else [name] for name in names]
    writer.writerow(itertools.chain(*header))
    for row in table.rows:
        cells: list[object] = []
        for name in names:
            value = getattr(row, name)
            if name in estimates:
                cells += [value.value, value.lo, value.hi, value.n] if value else [None] * 4
            else:
                cells.append(printable(value) if isinstance(value, str) else value)
        writer.writerow(["" if isinstance(cell, float) and math.isnan(cell) else cell for cell in cells])
    width = sum(map(len, header))
    writer.writerows(["missing", *[""] * (width - 2), printable(line)] for line in table.missing)
    return file.getvalue()


HEAD = (
    *("dataset", "swap", "condition", "form", "judge", "engine", "items", "n", "ACC_o", "ACC_s", "RPAG, points"),
    *("McNemar p, Holm", "always A", "always B", "random", "status"),
)


def as_markdown(table: Table) -> str:
    """The table as Markdown, with the intervals beside their values; what is missing stands in a list below."""
    lines = [_line(HEAD), _line(["---"] * len(HEAD))]
    for row in table.rows:
        judge = f"{row.judge} ({row.source})" if row.source != "run" else row.judge
        what = [row.dataset, row.swap, row.condition, row.form, judge, row.engine]
        counts = [NONE if row.items is None else str(row.items), str(row.rpag.n) if row.rpag and row.rpag.n else NONE]
        figures = [_shown(row.acc_o), _shown(row.acc_s), _shown(row.rpag)]
        p = NONE if row.p_holm is None else number(row.p_holm, "p")
        lines.append(_line([*what, *counts, *figures, p, row.always_a, row.always_b, row.random, row.status]))
    return (
        "\n".join([*lines, *([""] if table.missing else []), *(f"- {printable(line)}" for line in table.missing)])
        + "\n"
    )


def _shown(estimate: Estimate | None) -> str:
    return whole_of(estimate).replace(" points", "") if estimate else NONE


def _line(cells: Sequence[str]) -> str:
    return (
        "| "
        + " | ".join(printable(cell).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;") for cell in cells)
        + " |"
    )


@dataclass(frozen=True)
class Plain:
    """The table of a protocol other than swapped: its main figures, and what its trivial judges get."""

    head: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]
    names: tuple[str, ...]
    cells: tuple[tuple[object, ...], ...]


def plain(runs: Sequence[RunDirectory], analysis: Analysis) -> Plain:
    """One row a run and analysis with the figures that stand out in its report, and the same of every trivial judge."""
    layout = presentation(runs[0].manifest["science"]["protocol"]["name"]).layout
    shown = [*layout.main, *(name for name in layout.headline if name not in layout.main)][:6]
    lines, cells = [], []
    for run, summary in itertools.chain.from_iterable(_summaries(run, analysis) for run in runs):
        science = run.manifest["science"]
        what = [science["dataset"]["name"], science["judge"]["name"], science["engine"]["kind"]]
        state = [*(["complete"] if summary["complete"] else []), *summary["state"]]
        if "complete" not in state:
            state += [each.line() for each in statuses(run.path)]
        setting = ", ".join(f"{k} {v}" for k, v in summary["setting"].items())
        found = {name: from_json(summary["metrics"][name]) for name in shown if name in summary["metrics"]}
        trivial = [beside(summary, judge, layout.main) for judge in layout.baselines]
        items = summary["n_items"]
        lines.append(
            (
                *what,
                setting,
                NONE if items is None else str(items),
                *(_shown(found.get(n)) for n in shown),
                *trivial,
                "; ".join(state),
            )
        )
        cells.append(
            (
                *what,
                setting,
                items,
                *(part for n in shown for part in _parts(found.get(n))),
                *trivial,
                "; ".join(state),
            )
        )
    common = ("dataset", "judge", "engine", "setting", "items")
    head = (*common, *(layout.headline[n] for n in shown), *layout.baselines.values(), "status")
    names = (*common, *(f"{n}{part}" for n in shown for part in ("", "_lo", "_hi", "_n")), *layout.baselines, "status")
    return Plain(head, tuple(lines), names, tuple(cells))


def _summaries(run: RunDirectory, analysis: Analysis) -> list[tuple[RunDirectory, dict[str, Any]]]:
    """The summary under `analysis`, made now, and the stored ones of others, which may have seen fewer records; each
    with its `state`."""
    try:
        now = figures_of(run, analysis).summary
    except JudgelabError:
        nothing: dict[str, Any] = {"metrics": {}, "baselines": {}, "setting": {}, "n_items": None, "complete": False}
        return [(run, {**nothing, "state": ["no record yet"]})]
    found = [(run, {**now, "state": list(warnings(now))})]
    for each in other_summaries(run):
        stale = ["stale: score the run again"] if each["coverage"] != now["coverage"] else []
        found.append((run, {**each, "state": [*stale, *warnings(each)]}))
    return found


def _parts(estimate: Estimate | None) -> tuple[object, ...]:
    if estimate is None:
        return (None,) * 4
    values = (estimate.value, estimate.lo, estimate.hi)
    return (*(None if math.isnan(each) else each for each in values), estimate.n)


def plain_csv(table: Plain) -> str:
    """The table as CSV, numbers in full."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(table.names)
    writer.writerows([printable(cell) if isinstance(cell, str) else cell for cell in row] for row in table.cells)
    return file.getvalue()


def plain_markdown(table: Plain) -> str:
    """The table as Markdown; trivial judges show the main figures, one after another."""
    return "\n".join([_line(table.head), _line(["---"] * len(table.head)), *map(_line, table.lines)]) + "\n"


def main(words: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit code."""
    parser = argparse.ArgumentParser(description="One table of a set of runs, beside the published values.")
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="run directory, or a folder of them")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="FILE.csv or FILE.md (default: Markdown, printed)"
    )
    arguments = parser.parse_args(words)
    try:
        by_protocol: dict[str, list[RunDirectory]] = {}
        for run in find_runs(arguments.runs):
            by_protocol.setdefault(run.manifest["science"]["protocol"]["name"], []).append(run)
        texts = {name: _both(name, runs) for name, runs in sorted(by_protocol.items())}
        _write(texts, arguments.output)
    except JudgelabError as error:
        print(f"tabulate: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def _both(protocol: str, runs: Sequence[RunDirectory]) -> tuple[str, str]:
    """A protocol's table as Markdown and as CSV."""
    if protocol == "swapped":
        table = tabulate(runs, Analysis())
        return as_markdown(table), as_csv(table)
    found = plain(runs, Analysis())
    return plain_markdown(found), plain_csv(found)


def _write(texts: Mapping[str, tuple[str, str]], output: Path | None) -> None:
    if output is not None and output.suffix == ".csv":
        for name, (_, text) in texts.items():
            path = output if len(texts) == 1 else output.with_name(f"{output.stem}-{name}.csv")
            write_atomic(path, text)
        return
    pages = [text if len(texts) == 1 else f"## {name}\n\n{text}" for name, (text, _) in texts.items()]
    if output is None:
        print("\n".join(pages), end="")
    else:
        write_atomic(output, "\n".join(pages))


if __name__ == "__main__":
    sys.exit(main())
