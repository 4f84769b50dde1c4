from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from judgelab import Config, run
from judgelab.config import preset
from judgelab.report.html import page
from judgelab.report.run_report import RunReport
from judgelab.scoring import Analysis, report_of
from judgelab.settings import AnalysisConfig, SageConfig, ScriptedConfig
from judgelab.store import RunDirectory


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> RunReport:
    """A scripted run on the demo answers."""
    result = run(
        Config(
            protocol=SageConfig(iterations=2),
            dataset=preset("dataset", "demo"),
            judge=preset("judge", "smollm2-135m"),
            engine=ScriptedConfig(),
            analysis=AnalysisConfig(resamples=200),
            limit=12,
            runs_dir=str(tmp_path_factory.mktemp("runs")),
        )
    )
    return report_of(RunDirectory(result.path), Analysis(AnalysisConfig(resamples=200)))


def test_the_page_says_what_was_asked_found_and_decided(report: RunReport) -> None:
    text = page([report])
    for part in ("Judges side by side", "Contains", "always True", "The systems judged", "Kappa, macro-F1, AC1"):
        assert part in text
    document = json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])  # type: ignore[index]
    strings = document["strings"]
    details = [d for trace in document["traces"].values() for d in trace["details"]]
    assert {d["title"] for d in details} == {"search 1", "search 2"}
    kinds = {strings[row[0]] for d in details for row in d["rows"]}
    assert {"query", "result 1", "summary", "reflection"} <= kinds
    assert document["headings"]["judged"] == "answer judged"


def test_a_page_of_two_runs_sets_them_side_by_side(report: RunReport) -> None:
    text = page([report, report])
    assert "The runs side by side" in text
    assert "gain over no evidence" in text


def test_every_table_is_written_with_its_intervals(report: RunReport, tmp_path: Path) -> None:
    from judgelab.report.html import write_outputs

    write_outputs(report, tmp_path)
    names = {path.name for path in (tmp_path / "tables").iterdir()}
    assert names == {
        *(
            "metrics.csv",
            "baselines.csv",
            "unscored.csv",
            "judges.csv",
            "by_system.csv",
            "costs.csv",
            "calibration.csv",
        ),
    }
    assert (tmp_path / "figures" / "kappa.svg").exists()
    header = (tmp_path / "tables" / "judges.csv").read_text().splitlines()[0]
    assert "kappa,kappa_lo,kappa_hi,kappa_n" in header
