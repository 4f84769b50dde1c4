"""Runs of one protocol as one table: a row a run and analysis, published values beside them, and what is missing.

Invariant: nothing is left out silently. A run without figures has its row and says what its processes do or how they
died; figures that saw fewer records than are there say so; combinations that other runs have and a judge lacks are
named.
"""

from __future__ import annotations

import csv
import io
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from judgelab.errors import JudgelabError
from judgelab.metrics.estimate import Estimate
from judgelab.metrics.paired import holm
from judgelab.report.clean import printable
from judgelab.report.difference import told
from judgelab.report.headline import beside, in_words, warnings
from judgelab.report.numbers import NONE, from_json, number, whole_of
from judgelab.report.parts import Layout
from judgelab.report.presentation import presentation
from judgelab.report.published import PUBLISHED
from judgelab.scoring import Analysis, figures_of, other_summaries, setting_of
from judgelab.status import statuses
from judgelab.store import RunDirectory

SHOWN = 6  # figures a row


@dataclass(frozen=True)
class StudyRow:
    """One line. `source` is run or paper; `setting` is what tells it from the others; `test` is the raw p-value of the
    layout's test and `p_holm` the same after Holm over the runs' default analyses; `trivial` are the main figures of
    judges that read nothing, on the same records; `status` says what must be known first."""

    source: str
    dataset: str
    judge: str
    engine: str
    setting: Mapping[str, str]
    items: int | None
    estimates: Mapping[str, Estimate]
    trivial: Mapping[str, str]
    status: str
    test: float = math.nan
    p_holm: float = math.nan


@dataclass(frozen=True)
class Study:
    """All rows; `missing` are sentences."""

    layout: Layout
    shown: tuple[str, ...]
    rows: tuple[StudyRow, ...]
    missing: tuple[str, ...]

    @property
    def knobs(self) -> tuple[str, ...]:
        """Every setting that a row has, in order."""
        return tuple(dict.fromkeys(name for row in self.rows for name in row.setting))


def study(runs: Sequence[RunDirectory], analysis: Analysis) -> Study:
    """Figures of every run of one protocol, recomputed from its records; further rows for the stored summaries of
    other analyses, such as the points of a threshold sweep."""
    protocol = runs[0].manifest["science"]["protocol"]["name"]
    layout = presentation(protocol).layout
    shown = tuple(dict.fromkeys((*layout.main, *layout.headline)))[:SHOWN]
    sciences = [run.manifest["science"] for run in runs]
    asked = told(sciences, [setting_of(science) for science in sciences], ("engine.kind",))
    entries = sorted(
        zip(runs, sciences, asked, strict=True),
        key=lambda e: (e[1]["dataset"]["name"], *e[2].values(), e[1]["judge"]["name"]),
    )
    found = [
        replace(_row(science, setting, summary, layout, shown), test=_test(summary, layout) if k == 0 else math.nan)
        for run, science, setting in entries
        for k, summary in enumerate(_summaries(run, analysis))
    ]
    adjusted = holm([row.test for row in found])
    rows = [replace(row, p_holm=p) for row, p in zip(found, adjusted, strict=True)]
    kept = tuple(name for name in shown if any(row.estimates[name].n for row in rows if name in row.estimates))
    return Study(layout, kept or shown, (*rows, *_published(protocol, rows)), _missing(sciences, asked, rows))


def _summaries(run: RunDirectory, analysis: Analysis) -> list[dict[str, Any]]:
    """The summary under `analysis`, made now, and the stored ones of others, which may have seen fewer records; each
    with its `state`."""
    processes = [each.line() for each in statuses(run.path)]
    try:
        now = figures_of(run, analysis).summary
    except JudgelabError as error:
        why = str(error) if run.stamp()[1:] else "no record yet"
        return [{"metrics": {}, "baselines": {}, "setting": {}, "n_items": None, "state": [why, *processes]}]
    found = [{**now, "state": _state(now) if now["complete"] else [*_state(now), *processes]}]
    for each in other_summaries(run):
        stale = ["stale: score the run again"] if each["coverage"] != now["coverage"] else []
        found.append({**each, "state": [*_state(each), *stale]})
    return found


def _state(summary: Mapping[str, Any]) -> list[str]:
    return [*(["complete"] if summary["complete"] else []), *warnings(summary)]


def _test(summary: Mapping[str, Any], layout: Layout) -> float:
    found = summary["metrics"].get(layout.test[0]) if layout.test else None
    return from_json(found).value if found else math.nan


def _row(
    science: Mapping[str, Any],
    setting: Mapping[str, str],
    summary: Mapping[str, Any],
    layout: Layout,
    shown: Sequence[str],
) -> StudyRow:
    metrics = summary["metrics"]
    return StudyRow(
        source="run",
        dataset=science["dataset"]["name"],
        judge=science["judge"]["name"],
        engine=science["engine"]["kind"],
        setting={**setting, **summary["setting"]},
        items=summary["n_items"],
        estimates={name: from_json(metrics[name]) for name in shown if name in metrics},
        trivial={judge: beside(summary, judge, layout.main) if metrics else NONE for judge in layout.baselines},
        status="; ".join(summary["state"]),
    )


def _published(protocol: str, rows: Sequence[StudyRow]) -> list[StudyRow]:
    datasets = {row.dataset for row in rows}
    return [
        StudyRow("paper", each.dataset, each.judge, NONE, each.setting, None, each.estimates, {}, each.note)
        for each in PUBLISHED
        if each.protocol == protocol and each.dataset in datasets
    ]


def _missing(
    sciences: Sequence[Mapping[str, Any]], asked: Sequence[Mapping[str, str]], rows: Sequence[StudyRow]
) -> tuple[str, ...]:
    """For each judge and dataset of the sweep, the settings that other runs have and these have no figures for."""
    names = [name for name in dict.fromkeys(itertools.chain(*asked)) if name not in ("limit", "backend")]
    varied = [name for name in names if len({each.get(name) for each in asked}) > 1]

    def way(setting: Mapping[str, str]) -> str:
        return in_words({name: setting[name] for name in varied if name in setting}) or "any setting"

    ways = dict.fromkeys(way(setting) for setting in asked)
    have = {(row.judge, row.dataset, way(row.setting)) for row in rows if row.estimates}
    judges, data = (sorted({each[part]["name"] for each in sciences}) for part in ("judge", "dataset"))
    lacking = {pair: [each for each in ways if (*pair, each) not in have] for pair in itertools.product(judges, data)}
    return tuple(f"{judge} on {data}: no figures for {'; '.join(way)}" for (judge, data), way in lacking.items() if way)


def as_csv(study: Study) -> str:
    """The table as CSV, numbers in full; what is missing follows as rows of source `missing`."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    figures = itertools.chain(*([name, f"{name}_lo", f"{name}_hi", f"{name}_n"] for name in study.shown))
    tested = ["p_holm"] if study.layout.test else []
    head = ["source", "dataset", "judge", "engine", *study.knobs, "items", *figures, *tested, *study.layout.baselines]
    writer.writerow([*head, "status"])
    for row in study.rows:
        cells: list[object] = [row.source, row.dataset, row.judge, row.engine]
        cells += [row.setting.get(name) for name in study.knobs]
        cells.append(row.items)
        for name in study.shown:
            each = row.estimates.get(name)
            cells += [each.value, each.lo, each.hi, each.n or None] if each else [None] * 4
        cells += [row.p_holm] if tested else []
        cells += [row.trivial.get(name) for name in study.layout.baselines]
        writer.writerow([_plain(cell) for cell in [*cells, row.status]])
    writer.writerows(["missing", *[""] * (len(head) - 1), printable(line)] for line in study.missing)
    return file.getvalue()


def _plain(cell: object) -> object:
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return ""
    return printable(cell) if isinstance(cell, str) else cell


def as_markdown(study: Study) -> str:
    """The table as Markdown, with intervals beside their values. Settings in which all runs agree stand above it, and
    what is missing below. `n` is that of the first figure."""
    runs = [row for row in study.rows if row.source == "run"]
    common = {
        name: value
        for name, value in runs[0].setting.items()
        if all(row.setting.get(name) == value for row in runs)
        and all(row.setting.get(name, value) == value for row in study.rows)
    }
    knobs = [name for name in study.knobs if name not in common]
    titles = [study.layout.headline[name] for name in study.shown]
    tested = [study.layout.test[1]] if study.layout.test else []
    about = ["dataset", *(name.replace("_", " ") for name in knobs), "judge", "engine", "items", "n"]
    head = [*about, *titles, *tested, *study.layout.baselines.values(), "status"]
    lines = [f"All runs: {printable(in_words(common))}", ""] if common else []
    lines += [_line(head), _line(["---"] * len(head))]
    for row in study.rows:
        first = next((each.n for each in row.estimates.values() if each.n), None)
        cells = [
            *(row.dataset, *(row.setting.get(name, NONE) for name in knobs)),
            *(row.judge if row.source == "run" else f"{row.judge} ({row.source})", row.engine),
            *(NONE if count is None else f"{count:,}" for count in (row.items, first)),
            *(_shown(row.estimates.get(name)) for name in study.shown),
            *([number(row.p_holm, "p")] if tested else []),
            *(row.trivial.get(name, NONE) for name in study.layout.baselines),
            row.status,
        ]
        lines.append(_line(cells))
    lines += ["", *(f"- {printable(line)}" for line in study.missing)] if study.missing else []
    return "\n".join(lines) + "\n"


def _shown(estimate: Estimate | None) -> str:
    return whole_of(estimate).replace(" points", "") if estimate else NONE


def _line(cells: Sequence[str]) -> str:
    safe = (printable(cell).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;") for cell in cells)
    return "| " + " | ".join(safe) + " |"
