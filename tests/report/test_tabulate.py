from __future__ import annotations

import csv
import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest
import synthetic

from judgelab.errors import JudgelabError
from judgelab.metrics.paired import holm
from judgelab.scoring import Analysis, figures_of
from judgelab.status import Watch
from judgelab.store import RunDirectory

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("judgelab_tabulate", ROOT / "experiments" / "tabulate.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    import sys

    sys.modules["judgelab_tabulate"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def runs(tmp_path: Path) -> list[RunDirectory]:
    made = [
        ("smollm2-135m", "nq_open", "type_preserving", 20),
        ("smollm2-135m", "nq_open", "type_changing", 20),
        ("qwen|2.5", "nq_open", "type_preserving", 25),
    ]
    out = [
        synthetic.run_directory(
            tmp_path, synthetic.records(20, seed=n), judge=judge, dataset=dataset, swap=swap, n_items=items, caveat=""
        )
        for n, (judge, dataset, swap, items) in enumerate(made)
    ]
    return [*out, synthetic.run_directory(tmp_path, [], judge="idle", dataset="nq_open", n_items=20, caveat="")]


def test_csv_reads_back_to_the_figures_of_each_run(
    script: ModuleType, runs: list[RunDirectory], tmp_path: Path
) -> None:
    assert script.main([str(tmp_path), "-o", str(tmp_path / "t.csv")]) == 0
    with (tmp_path / "t.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    scored = [figures_of(run, Analysis()) for run in runs[:3]]
    adjusted = holm([each.figures.metrics["mcnemar_oo_ss"].value for each in scored])
    for run, each, p in zip(runs, scored, adjusted, strict=False):
        science = run.manifest["science"]
        (row,) = (
            r
            for r in rows
            if (r["judge"], r["swap"]) == (science["judge"]["name"], science["protocol"]["swap"])
            and r["source"] == "run"
        )
        for name in ("acc_o", "acc_s", "rpag"):
            estimate = each.figures.metrics[name]
            assert [float(row[f"{name}{part}"]) for part in ("", "_lo", "_hi")] == [
                estimate.value,
                estimate.lo,
                estimate.hi,
            ]
            assert int(row[f"{name}_n"]) == estimate.n
        assert float(row["p_holm"]) == p
        assert row["random"] == "0.500 / 0.500 / 0.0"


def test_what_is_incomplete_or_missing_is_named(
    script: ModuleType, runs: list[RunDirectory], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert script.main([str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert "incomplete: 20 of 25 items have records" in text
    assert "no record yet" in text
    assert "- qwen|2.5 on nq_open: no figures for swap type_changing\n" in text
    assert "- idle on nq_open: no figures for" in text
    assert "qwen\\|2.5" in text


def test_published_values_stand_beside_runs_on_the_same_data(
    script: ModuleType, runs: list[RunDirectory], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script.main([str(tmp_path)])
    paper = [line for line in capsys.readouterr().out.splitlines() if "(paper)" in line]
    assert len(paper) == 1
    assert "| nq_open | type_preserving | model | gpt-5 (paper) |" in paper[0]
    assert "| +2.8 |" in paper[0]
    assert "a change of -2.8 points under swap" in paper[0]


def test_a_run_without_figures_says_how_its_processes_ended(
    script: ModuleType, runs: list[RunDirectory], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(JudgelabError), Watch(runs[3].path, "1/2"):
        raise JudgelabError("no free GPU memory")
    with Watch(runs[2].path, None):
        pass
    about = runs[2].path / "status.json"
    silent = about.read_text().replace('"complete"', '"running"')
    about.write_text(re.sub(r'"updated": "\d{4}', '"updated": "2001', silent))
    script.main([str(runs[2].path), str(runs[3].path)])
    text = capsys.readouterr().out
    assert "no record yet; failed: no free GPU memory (shard 1/2, process " in text
    assert "incomplete: 20 of 25 items have records; died without a word (process " in text


def test_runs_that_differ_in_any_setting_can_be_told_apart(
    script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for seed in (0, 1):
        synthetic.run_directory(tmp_path, synthetic.records(4, seed=seed), k=str(seed), n_items=4)
    script.main([str(tmp_path)])
    head, _, *rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    column = head.split(" | ").index("k")
    assert [row.split(" | ")[column] for row in rows if "(paper)" not in row] == ["0", "1"]


def test_no_runs_is_one_clear_line(script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert script.main([str(tmp_path)]) == 2
    assert capsys.readouterr().err.startswith("tabulate: no run directory at or below")
