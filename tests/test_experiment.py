"""A run from Python: summary, resume, shards, retries and kills, with the scripted engine."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from judgelab import AnalysisConfig, Config, Result, preset, run
from judgelab.errors import JudgelabError, UsageError
from judgelab.experiment import check_unscored
from judgelab.items import QAItem
from judgelab.planning import seeded_order
from judgelab.scoring import Analysis, figures_of
from judgelab.settings import NotAttempted
from judgelab.store import RunDirectory


def config(folder: Path, rule: str = "follows_reference", **changes: Any) -> Config:
    made = Config(
        protocol=preset("protocol", "swapped"),
        dataset=preset("dataset", "demo"),
        engine=preset("engine", "scripted", rule=rule),
        analysis=AnalysisConfig(resamples=500),
        runs_dir=str(folder),
        limit=12,
    )
    return dataclasses.replace(made, **changes)


def records(result: Result) -> dict[str, Any]:
    return {key: dataclasses.replace(each, calls=()) for key, each in RunDirectory(result.path).records().items()}


def lines(result: Result) -> list[str]:
    return [line for file in result.path.glob("records*") for line in whole_lines(file)]


def whole_lines(file: Path) -> list[str]:
    """Without the torn tail that a kill may leave, as every reader of a journal sees it."""
    return [line for line in file.read_text(errors="replace").splitlines(keepends=True) if line.endswith("\n")]


RULES = {
    "follows_reference": {"acc_o": 1, "acc_s": 1, "rpag": 0, "acc_oo": 1, "acc_os": 1, "acc_so": 1, "acc_ss": 1},
    "believes_memory": {"acc_o": 1, "acc_s": 0, "rpag": 100, "acc_oo": 1, "acc_os": 1, "acc_so": 0, "acc_ss": 0},
    "always_a": {"acc_o": 0.5, "acc_s": 0.5, "rpag": 0, "acc_oo": 1, "acc_os": 0, "acc_so": 0, "acc_ss": 1},
    "always_b": {"acc_o": 0.5, "acc_s": 0.5, "rpag": 0, "acc_oo": 0, "acc_os": 1, "acc_so": 1, "acc_ss": 0},
}


@pytest.mark.parametrize("rule", RULES)
def test_scripted_judges_come_out_exactly(tmp_path: Path, rule: str) -> None:
    result = run(config(tmp_path, rule, limit=None))
    assert result.summary is not None
    metrics = result.summary["metrics"]
    assert {name: metrics[name]["value"] for name in RULES[rule]} == RULES[rule]
    assert result.summary["warnings"][0].startswith("scripted engine")


def test_a_random_judge_lies_in_its_interval(tmp_path: Path) -> None:
    result = run(config(tmp_path, "random", limit=None))
    assert result.summary is not None
    for name, expected in (("acc_o", 0.5), ("acc_s", 0.5), ("rpag", 0.0)):
        lo, hi = result.summary["metrics"][name]["ci"]
        assert lo <= expected <= hi, name


def test_the_default_analysis_stands_at_the_top_whatever_was_asked(tmp_path: Path) -> None:
    result = run(config(tmp_path))
    top = json.loads((result.path / "summary.json").read_text())
    assert top["analysis"]["resamples"] == 10_000
    assert result.summary is not None
    assert result.summary["analysis"]["resamples"] == 500


def test_the_summary_has_the_promised_shape(tmp_path: Path) -> None:
    result = run(config(tmp_path))
    (file,) = [f for f in (result.path / "analysis").glob("*/summary.json") if '"resamples": 500' in f.read_text()]
    summary = json.loads(file.read_text())
    assert summary == result.summary
    head = {"protocol": "swapped", "dataset": "demo", "judge": "scripted-follows_reference", "engine": "scripted"}
    assert head.items() <= summary.items()
    assert (summary["n_items"], summary["coverage"]) == (12, {"judged": 48, "unscored": {}})
    wanted = [
        "acc_o",
        "acc_s",
        "rpag",
        "acc_oo",
        "acc_os",
        "acc_so",
        "acc_ss",
        "ss_rejection",
        "not_attempted",
        "artefact_rate",
    ]
    for name in wanted:
        metric = summary["metrics"][name]
        assert set(metric) == {"value", "ci", "n", "unit", "method"}, name
        lo, hi = metric["ci"]
        assert lo <= metric["value"] <= hi
        assert metric["n"] > 0
        assert metric["method"]
    assert summary["metrics"]["rpag"]["unit"] == "points"
    assert summary["metrics"]["acc_o"]["unit"] == "fraction"
    assert set(summary["baselines"]) == {"always_a", "always_b", "random", "majority"}
    row = json.loads(lines(result)[0])
    assert {"record_id", "item_id", "cell", "verdict"} <= row.keys()
    assert len(lines(result)) == 48


def test_a_second_run_asks_nothing_and_changes_nothing(tmp_path: Path) -> None:
    first = run(config(tmp_path))
    before = {path: path.read_bytes() for path in first.path.rglob("*") if path.is_file()}
    second = run(config(tmp_path, in_flight=3))
    assert second.path == first.path
    after = {path: path.read_bytes() for path in first.path.rglob("*") if path.is_file()}
    assert [path.name for path in before if after[path] != before[path]] == [".lock"]
    assert after.keys() == before.keys()


def test_another_analysis_reads_the_same_records(tmp_path: Path) -> None:
    first = run(config(tmp_path))
    other = AnalysisConfig(resamples=500, not_attempted=NotAttempted.excluded, level=0.9)
    second = run(config(tmp_path, analysis=other))
    assert second.path == first.path
    assert len(list((first.path / "analysis").iterdir())) == 3
    assert len(RunDirectory(first.path).manifest["launches"]) == 1


def test_calls_are_shared_between_runs(tmp_path: Path) -> None:
    run(config(tmp_path, limit=6))
    result = run(config(tmp_path, limit=12))
    totals = RunDirectory(result.path).manifest["totals"]["grade"]
    assert totals["hits"] >= 20
    assert totals["calls"] + totals["hits"] == 48


def test_shards_write_one_run_and_the_last_one_scores(tmp_path: Path) -> None:
    whole = run(config(tmp_path / "whole"))
    first = run(config(tmp_path / "parts", shard="1/2"))
    assert (first.summary, first.missing) == (None, 24)
    last = run(config(tmp_path / "parts", shard="2/2"))
    assert last.missing == 0
    assert records(last) == records(whole)
    assert last.summary == whole.summary


def test_the_order_of_items_is_the_seeds_alone() -> None:
    items = [QAItem(str(n), "q", ("a",)) for n in range(50)]
    assert seeded_order(items, 1) == seeded_order(items[::-1], 1)
    assert seeded_order(items, 1) != seeded_order(items, 2)


KILLED = """
import dataclasses, sys
from judgelab import AnalysisConfig, Config, preset, run
result = run(Config(
    protocol=preset("protocol", "swapped"),
    dataset=preset("dataset", "demo"),
    engine=preset("engine", "scripted", rule="random", latency=0.05),
    analysis=AnalysisConfig(resamples=500),
    runs_dir=sys.argv[1],
    in_flight=4,
    limit=40,
))
print(result.path)
"""


def test_kill_9_anywhere_ends_in_the_same_records(tmp_path: Path) -> None:
    command = [sys.executable, "-c", KILLED]
    whole = subprocess.run([*command, str(tmp_path / "whole")], capture_output=True, text=True, check=True)
    for moment in (1, 25, 60):
        child = subprocess.Popen([*command, str(tmp_path / "killed")], stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and child.poll() is None:
            stored = sum(len(whole_lines(f)) for f in (tmp_path / "killed").rglob("records*"))
            if stored >= moment:
                break
            time.sleep(0.01)
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
    again = subprocess.run([*command, str(tmp_path / "killed")], capture_output=True, text=True, check=True)
    one, two = (Result(Path(done.stdout.strip()), None, 0) for done in (whole, again))
    assert records(one) == records(two)
    assert len(lines(two)) == 160
    keys = [
        json.loads(line)["key"]
        for file in (tmp_path / "killed" / ".cache").rglob("calls-*")
        for line in whole_lines(file)
    ]
    assert len(keys) == len(set(keys)), "a finished call was asked again"


def test_a_drained_run_exits_85_and_goes_on(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "judgelab", "run", "engine=scripted", "engine.latency=0.05", "in_flight=4"]
    command += [f"runs_dir={tmp_path}", "limit=40", "analysis.resamples=500"]
    child = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    while not any(tmp_path.rglob("records*")):
        time.sleep(0.05)
    child.send_signal(signal.SIGUSR1)
    _, said = child.communicate(timeout=60)
    assert child.returncode == 85, said
    assert "the same command goes on" in said
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "judged 160 of 160" in done.stdout


def test_the_same_science_elsewhere_is_the_same_directory(tmp_path: Path) -> None:
    first = run(config(tmp_path / "a"))
    second = run(config(tmp_path / "b", in_flight=1, cache_dir=str(tmp_path / "c"), max_unscored=0.5))
    assert first.path.name == second.path.name


@pytest.mark.parametrize(
    ("change", "same"),
    [
        ({"seed": 1}, False),
        ({"limit": 11}, False),
        ({"protocol": preset("protocol", "swapped", swap="type_changing")}, False),
        ({"protocol": preset("protocol", "swapped", verdict_form="label")}, True),
        ({"analysis": AnalysisConfig(level=0.5)}, True),
        ({"retry_failed": True}, True),
    ],
)
def test_only_science_names_the_directory(tmp_path: Path, change: dict[str, Any], same: bool) -> None:
    from judgelab.experiment import plan

    base = plan(config(tmp_path)).run.path
    assert (plan(config(tmp_path, **change)).run.path == base) is same


def test_too_many_unscored_fail_by_name(tmp_path: Path) -> None:
    coverage = {"judged": 90, "unscored": {"truncated": 10, "no_candidate": 500}}
    check_unscored(Result(tmp_path, {"coverage": coverage}, 0), 0.1)
    with pytest.raises(JudgelabError, match=r"10 of 100 judgments have no verdict \(truncated 10\)"):
        check_unscored(Result(tmp_path, {"coverage": coverage}, 0), 0.05)
    with pytest.raises(UsageError, match="no item could be judged"):
        check_unscored(Result(tmp_path, {"coverage": {"judged": 0, "unscored": {"no_candidate": 4}}}, 0), 0.05)


def test_run_works_inside_a_running_loop(tmp_path: Path) -> None:
    async def notebook() -> Result:
        return run(config(tmp_path))

    assert asyncio.run(notebook()).summary is not None
    broken = config(tmp_path, "no_such_rule")

    async def failing() -> Result:
        return run(broken)

    with pytest.raises(UsageError, match="no_such_rule"):
        asyncio.run(failing())


def test_records_that_are_lost_make_a_run_incomplete(tmp_path: Path) -> None:
    result = run(config(tmp_path, limit=3))
    (journal,) = result.path.glob("records*")
    journal.write_bytes(journal.read_bytes()[:-30])
    summary = figures_of(RunDirectory(result.path), Analysis()).summary
    assert not summary["complete"]
    assert any(line.startswith("incomplete: 11 of 12 records") for line in summary["warnings"])
    again = run(config(tmp_path, limit=3))
    assert again.summary is not None
    assert again.summary["complete"]
