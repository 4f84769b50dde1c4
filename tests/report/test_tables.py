from __future__ import annotations

import csv
import io
import math
from dataclasses import replace

import pytest
import synthetic
from rich.console import Console

from judgelab.metrics.estimate import Estimate
from judgelab.report.csv_text import csv_files
from judgelab.report.headline import beside, coverage, headline, quality, warnings
from judgelab.report.run_report import RunReport
from judgelab.report.swapped import HEADLINE, LAYOUT
from judgelab.report.tables import print_summary


def printed(report: RunReport, width: int = 120) -> str:
    file = io.StringIO()
    print_summary(report.summary, Console(file=file, width=width, force_terminal=False, highlight=False))
    return file.getvalue()


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_terminal_shows_every_headline_figure_with_interval_n_and_baselines(plain: RunReport) -> None:
    text = printed(plain)
    lines = text.splitlines()
    for row in headline(plain.summary, LAYOUT):
        line = next(line for line in lines if line.strip().startswith(row.title))
        for part in (f"{row.estimate.n:,}", *row.baselines):
            assert part in line
        assert "[" in line
    assert "always A" in text
    assert "majority" in text
    assert "95% interval" in text


def test_warnings_stand_above_the_figures(plain: RunReport) -> None:
    text = printed(plain)
    assert text.index("WARNING: plumbing check") < text.index("judged") < text.index("ACC_o")


def test_coverage_line_names_reasons_and_dropped_rows(plain: RunReport) -> None:
    found = coverage(plain.summary)
    assert found.total == 240
    assert found.judged + sum(found.unscored.values()) == 240
    line = found.line()
    assert line.startswith(f"judged {found.judged} of 240 (60 items); unscored: ")
    assert line.endswith("rows of the data left out: no answer 2")
    assert "none unscored" in replace(found, unscored={}).line()


def test_markup_and_control_codes_in_names_are_text() -> None:
    summary = {
        "protocol": "swapped",
        "dataset": "[bold]d[/bold]",
        "judge": "j\x1b[31m[/]",
        "engine": "vllm",
        "setting": {},
        "analysis": {"level": 0.95},
        "n_items": 0,
        "complete": True,
        "coverage": {"judged": 0, "unscored": {}},
        "warnings": ["[red]w[/red]"],
        "metrics": {},
        "baselines": {},
    }
    file = io.StringIO()
    print_summary(summary, Console(file=file, width=100, force_terminal=True, highlight=False))
    assert "[bold]d[/bold]: j\ufffd[31m[/]" in file.getvalue()
    assert "[red]w[/red]" in file.getvalue()


def test_incomplete_and_unscored_runs_are_warned_of(plain: RunReport) -> None:
    summary = {**plain.summary, "complete": False, "warnings": []}
    assert warnings(summary) == ("incomplete: not every item has its records",)
    share = plain.summary["metrics"]["unscored_share"]["value"]
    assert any("unscored" in line for line in warnings(plain.summary, limit=share / 2))
    assert not any("unscored" in line for line in warnings(plain.summary, limit=share))


def test_every_quality_figure_has_a_trivial_value(plain: RunReport) -> None:
    found = {row.name: row.trivial for row in quality(plain.summary, LAYOUT)}
    assert found["auroc"] == "chance: 0.500"
    assert found["brier"].startswith("base rate: 0.2")
    assert all(found.values())
    assert beside(plain.summary, "random", HEADLINE) == "0.500 / 0.500 / 0.0"


def read(row: dict[str, str]) -> Estimate:
    def number(text: str) -> float:
        return float(text) if text else math.nan

    return Estimate(
        number(row["value"]), number(row["lo"]), number(row["hi"]), int(row["n"]), row["method"], row["unit"]
    )


def same(one: Estimate, other: Estimate) -> bool:
    pairs = zip((one.value, one.lo, one.hi), (other.value, other.lo, other.hi), strict=True)
    return (one.n, one.method, one.unit) == (other.n, other.method, other.unit) and all(
        a == b or (math.isnan(a) and math.isnan(b)) for a, b in pairs
    )


def test_metrics_csv_reads_back_to_the_same_numbers(plain: RunReport) -> None:
    found = {row["name"]: read(row) for row in rows(csv_files(plain)["metrics.csv"])}
    assert list(found) == list(plain.metrics)
    assert all(same(found[name], plain.metrics[name]) for name in found)


def test_baselines_csv_reads_back(plain: RunReport) -> None:
    found = {(row["baseline"], row["name"]): read(row) for row in rows(csv_files(plain)["baselines.csv"])}
    assert {judge for judge, _ in found} == {"always_a", "always_b", "random", "majority"}
    assert all(same(found[judge, name], plain.figures.baselines[judge][name]) for judge, name in found)


def test_cells_csv_counts_every_record_once(plain: RunReport) -> None:
    found = rows(csv_files(plain)["cells.csv"])
    assert sum(int(row["count"]) for row in found) == 240
    for row in found:
        assert float(row["value"]) == pytest.approx(int(row["count"]) / int(row["n"]))
        assert float(row["lo"]) <= float(row["value"]) <= float(row["hi"])
    assert {row["truth"] for row in found if row["cell"] in ("os", "so")} == {"INCORRECT"}


def test_group_tables_hold_the_figures(plain: RunReport) -> None:
    found = rows(csv_files(plain)["by_freshness.csv"])
    assert [row["freshness"] for row in found] == ["never", "slow", "fast"]
    for row, group in zip(found, plain.figures.by_freshness, strict=True):
        assert (float(row["rpag"]), float(row["rpag_lo"]), int(row["rpag_n"])) == (
            group.rpag.value,
            group.rpag.lo,
            group.rpag.n,
        )
    assert sum(int(row["items"]) for row in rows(csv_files(plain)["popularity.csv"])) == 120
    assert sum(int(row["n"]) for row in rows(csv_files(plain)["calibration.csv"])) == plain.metrics["brier"].n


def test_unscored_csv_names_every_record_without_verdict(plain: RunReport) -> None:
    found = {row["record_id"]: row["reason"] for row in rows(csv_files(plain)["unscored.csv"])}
    assert found == {r.record_id: r.unscored.reason.value for r in plain.records if r.unscored}


def test_tables_without_data_have_a_header_alone(bare: RunReport) -> None:
    for name in ("popularity.csv", "calibration.csv"):
        assert len(csv_files(bare)[name].splitlines()) == 1


def test_hostile_text_stays_in_its_field(hostile: RunReport) -> None:
    found = rows(csv_files(hostile)["by_source.csv"])
    name = next(row["candidate_source"] for row in found if row["candidate_source"] != "template")
    assert name == synthetic.HOSTILE.replace("\x1b", "\ufffd")
