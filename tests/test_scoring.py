"""Figures from records: what points of a sweep share never changes what they show."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from judgelab import Config, run, scoring
from judgelab.config import preset
from judgelab.errors import UsageError
from judgelab.last import Last
from judgelab.scoring import Analysis, figures_of
from judgelab.settings import AnalysisConfig, NuggetsConfig, ScriptedConfig
from judgelab.store import RunDirectory

FEW = AnalysisConfig(resamples=100)
POINTS = (
    Analysis(FEW),
    Analysis(FEW, {"tie_threshold": 0.0}),
    Analysis(FEW, {"tie_threshold": 0.2}),
    Analysis(FEW, {"tie_threshold": 0.2, "score": "vital_strict"}),
    Analysis(FEW, {"tie_threshold": 0.2, "bothbad": "dropped"}),
    Analysis(FEW, {"tie_threshold": 0.2, "folds": 3}),
    Analysis(AnalysisConfig(resamples=100, level=0.5), {"tie_threshold": 0.2}),
)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    config = Config(
        protocol=NuggetsConfig(),
        dataset=preset("dataset", "demo"),
        judge=preset("judge", "smollm2-135m"),
        engine=ScriptedConfig(rule="word_overlap"),
        analysis=FEW,
        runs_dir=str(tmp_path_factory.mktemp("runs")),
    )
    return RunDirectory(run(config).path)


def alone(run_: RunDirectory, analysis: Analysis, monkeypatch: pytest.MonkeyPatch) -> Mapping[str, Any]:
    with monkeypatch.context() as patch:
        for name in ("_STORED", "_TABLES", "_FREE"):
            patch.setattr(scoring, name, Last())
        return figures_of(run_, analysis).summary


def test_points_after_each_other_are_as_each_alone(finished: RunDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    swept = [figures_of(finished, point).summary for point in POINTS]
    assert swept == [alone(finished, point, monkeypatch) for point in POINTS]
    assert len({str(summary["metrics"]) for summary in swept}) == len(POINTS)


def test_a_point_sees_records_written_since_the_last_one(finished: RunDirectory, tmp_path: Path) -> None:
    grown = RunDirectory(tmp_path / "run")
    shutil.copytree(finished.path, grown.path)
    (journal,) = grown.path.glob("records-*.jsonl")
    lines = journal.read_text(encoding="utf-8").splitlines(keepends=True)
    half = len(lines) // 2
    journal.write_text("".join(lines[:half]), encoding="utf-8")
    before = figures_of(grown, POINTS[1])
    with journal.open("a", encoding="utf-8") as file:
        file.writelines(lines[half:])
    after = figures_of(grown, POINTS[1])
    assert (len(before.records), len(after.records)) == (half, len(lines))
    assert after.summary["metrics"] == figures_of(finished, POINTS[1]).summary["metrics"]


def test_what_is_not_the_default_is_told(finished: RunDirectory) -> None:
    told = figures_of(finished, POINTS[3]).summary["setting"]
    assert (told["tie_threshold"], told["score"], told["resamples"]) == ("0.2", "vital_strict", "100")
    assert figures_of(finished, POINTS[0]).summary["setting"]["tie_threshold"] == "held out over 5 folds"


def test_the_last_thing_made_is_kept_and_no_other() -> None:
    made: list[str] = []
    last: Last[str] = Last()

    def make(name: str) -> str:
        made.append(name)
        return name

    for key in ("a", "a", "b", "a", "a"):
        assert last.get(key, lambda key=key: make(key)) == key  # type: ignore[misc]
    assert made == ["a", "b", "a"]


def test_points_of_a_sweep_are_rows_of_the_table(
    finished: RunDirectory, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import runpy

    from judgelab.scoring import score

    run_ = RunDirectory(tmp_path / "run")
    shutil.copytree(finished.path, run_.path, ignore=shutil.ignore_patterns("analysis"))
    for threshold in (0.2, 0.05, 0.1):
        score(run_, Analysis(FEW, {"tie_threshold": threshold}), page=False)
    script = runpy.run_path(str(Path(__file__).parents[1] / "experiments" / "tabulate.py"))
    assert script["main"]([str(run_.path)]) == 0
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| demo")]
    told = ["| held out over 5 folds |", "| 0.05 |", "| 0.1 |", "| 0.2 |"]
    assert len(rows) == len(told)
    for row, part in zip(rows, told, strict=True):
        assert part in row


@pytest.mark.parametrize(
    ("own", "told"),
    [
        ({"tie_threshold": "abc"}, "protocol: tie_threshold: Input should be a valid number"),
        ({"tie_threshold": [1]}, "protocol: tie_threshold"),
        ({"tie_threshold": 2}, "protocol.tie_threshold=2.0: must be from 0 to 1"),
        ({"tie_threshold": float("nan")}, "protocol.tie_threshold=nan"),
        ({"criterion": "zzz"}, "protocol: criterion: Input should be 'equal_shares', 'agreement' or 'kappa'"),
        ({"folds": 2.5}, "protocol: folds"),
        ({"source": "pages"}, "protocol.source changes records"),
    ],
)
def test_an_analysis_that_means_nothing_is_one_line(finished: RunDirectory, own: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError) as caught:
        figures_of(finished, Analysis(FEW, own))
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


def test_text_and_typed_values_are_the_same_analysis(finished: RunDirectory) -> None:
    from judgelab.scoring import summary_path
    from judgelab.settings.nuggets import Criterion

    typed = summary_path(finished, Analysis(FEW, {"criterion": Criterion.kappa, "tie_threshold": 0.1}))
    assert typed == summary_path(finished, Analysis(FEW, {"criterion": "kappa", "tie_threshold": 0.1}))
