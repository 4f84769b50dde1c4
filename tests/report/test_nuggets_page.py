from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from judgelab import Config, run
from judgelab.config import preset
from judgelab.report.html import page, write_outputs
from judgelab.report.nugget_drawings import figures
from judgelab.report.run_report import RunReport
from judgelab.scoring import Analysis, report_of
from judgelab.settings import AnalysisConfig, NuggetsConfig, ScriptedConfig
from judgelab.store import RunDirectory

FEW = AnalysisConfig(resamples=200)


@pytest.fixture(scope="module")
def run_directory(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    """A scripted run on the demo battles."""
    config = Config(
        protocol=NuggetsConfig(),
        dataset=preset("dataset", "demo"),
        judge=preset("judge", "smollm2-135m"),
        engine=ScriptedConfig(rule="word_overlap"),
        analysis=FEW,
        runs_dir=str(tmp_path_factory.mktemp("runs")),
    )
    return RunDirectory(run(config).path)


@pytest.fixture(scope="module")
def report(run_directory: RunDirectory) -> RunReport:
    """Its report under held-out thresholds."""
    return report_of(run_directory, Analysis(FEW))


def test_the_page_says_what_was_asked_found_and_decided(report: RunReport) -> None:
    text = page([report])
    for part in (
        *("Votes and predictions", "Threshold", "The six scores", "Systems ranked", "Against the pairwise judge"),
        *("tie threshold held out over 5 folds", "nuggets, held-out thresholds", "By class of the question"),
    ):
        assert part in text, part
    document = json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])  # type: ignore[index]
    assert document["traces"]


def test_a_given_threshold_is_never_called_held_out(run_directory: RunDirectory) -> None:
    given = report_of(run_directory, Analysis(FEW, {"tie_threshold": 0.1}))
    text = page([given])
    assert "tie threshold 0.1" in text
    assert "nuggets, the given threshold" in text
    assert "held out over" not in text
    assert "held-out thresholds" not in text


def test_votes_are_told_apart_in_the_drawing_of_differences(report: RunReport) -> None:
    (drawn,) = [each.svg for each in figures(report, report.figures) if each.file == "differences"]  # type: ignore[arg-type]
    assert drawn is not None
    votes = [curve.vote for curve in report.figures.curves if curve.kde]  # type: ignore[attr-defined]
    colours = set(re.findall(r"stroke: (#[0-9a-f]{6}); stroke-width: 1\.6", drawn))
    assert len(votes) > 1
    assert len(colours) == len(votes)


def test_a_page_of_two_runs_sets_them_side_by_side(report: RunReport) -> None:
    assert "The runs side by side" in page([report, replace(report, path=Path("another"))])


def test_every_table_is_written_with_its_intervals(report: RunReport, tmp_path: Path) -> None:
    write_outputs(report, tmp_path)
    tables = {path.name: path.read_text().splitlines()[0] for path in (tmp_path / "tables").iterdir()}
    assert {"metrics.csv", "baselines.csv", "sweep.csv", "scores.csv"} <= tables.keys()
    assert "agreement,agreement_lo,agreement_hi,agreement_n" in tables["sweep.csv"]
    assert {path.name for path in (tmp_path / "figures").iterdir()} >= {"agreement.svg", "sweep.svg", "differences.svg"}


def test_a_point_of_a_sweep_writes_numbers_and_the_score_command_its_page(run_directory: RunDirectory) -> None:
    from judgelab.scoring import score, summary_path

    point = Analysis(FEW, {"tie_threshold": 0.2})
    folder = summary_path(run_directory, point).parent
    score(run_directory, point, page=False)
    assert (folder / "summary.json").exists()
    assert (folder / "tables" / "metrics.csv").exists()
    assert not (folder / "report.html").exists()
    score(run_directory, point)
    assert (folder / "report.html").exists()
