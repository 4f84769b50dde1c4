"""One run over an array, with everything that happens to jobs happening to it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from cluster import Cluster, until

from judgelab.status import Status, statuses
from judgelab.store import RunDirectory, find_runs

pytestmark = pytest.mark.slurm
SETTING = ("engine=scripted", "engine.rule=random", "in_flight=2", "dataset=plain", "dataset.path=questions.jsonl")
SLOW = (*SETTING, "engine.latency=0.6")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with 200 questions; Slurm's jobs run in it."""
    rows = (
        {"question": f"Which town lies at the end of road {n}?", "answers": [f"Town {n:03d}ville"], "type": "GPE"}
        for n in range(200)
    )
    (tmp_path / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def verdicts(run: RunDirectory) -> dict[str, Any]:
    return {
        key: (record.verdict, record.probabilities, record.subject, len(record.calls))
        for key, record in run.records().items()
    }


def only_run(folder: Path) -> RunDirectory:
    (run,) = find_runs([folder / "runs"])
    return run


def working(folder: Path) -> dict[str, Status]:
    """Shards that have judged something and run now."""
    try:
        return {str(s.shard): s for s in statuses(only_run(folder).path) if s.state == "running"}
    except Exception:
        return {}


@pytest.fixture(scope="module")
def whole(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The same run by one process that nothing happens to."""
    place = tmp_path_factory.mktemp("whole")
    rows = (
        {"question": f"Which town lies at the end of road {n}?", "answers": [f"Town {n:03d}ville"], "type": "GPE"}
        for n in range(200)
    )
    (place / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    cluster.judgelab(place, "run", *SETTING)
    return verdicts(only_run(place))


def test_killed_preempted_timed_out_and_requeued_shards_end_in_the_same_records(
    cluster: Cluster, folder: Path, whole: dict[str, Any]
) -> None:
    job = cluster.batch(folder, "array.sbatch", *SLOW, options=("--array=1-8", "--partition=low"))
    until(lambda: {"1/8", "2/8", "3/8", "4/8"} <= working(folder).keys(), 180)
    os.kill(working(folder)["1/8"].pid, signal.SIGKILL)
    cluster.slurm("scontrol", "requeue", f"{job}_2")
    cluster.slurm("scontrol", "update", f"jobid={job}_3", "timelimit=1")
    node = cluster.slurm("squeue", "--noheader", "--format=%N", f"--jobs={job}_4")
    higher = ("--partition=gpu", f"--nodelist={node}", "--cpus-per-task=1", "--mem=100M", "--exclusive")
    cluster.slurm("sbatch", f"--output={folder}/higher.log", *higher, "--wrap=sleep 3")
    cluster.wait(job)
    states = {s.shard: s for s in statuses(only_run(folder).path)}
    assert states["1/8"].state == "running", "a process that was killed cannot say so"
    assert states["2/8"].restarts or states["3/8"].restarts or states["4/8"].restarts
    assert not (only_run(folder).path / "summary.json").exists()
    job = cluster.batch(folder, "array.sbatch", *SLOW, options=("--array=1-8", "--partition=cpu"))
    cluster.wait(job)
    run = only_run(folder)
    assert verdicts(run) == whole
    lines = [line for file in run.path.glob("records*") for line in file.read_text().splitlines() if line.endswith("}")]
    assert len(lines) == len(whole), "a judgment was stored twice"
    assert json.loads((run.path / "summary.json").read_text())["complete"]


def test_the_controller_may_die_in_the_middle(cluster: Cluster, folder: Path, whole: dict[str, Any]) -> None:
    array = ("--array=1-4", "--partition=cpu")
    job = cluster.batch(folder, "array.sbatch", *SLOW, options=array)
    until(lambda: len(working(folder)) == 4, 180)
    time.sleep(8)  # Slurm writes down what it started within seconds; what it forgets no client can see
    pid = int((Path(cluster.environ["SLURM_TESTBED_DIR"]) / "run" / "slurmctld.pid").read_text())
    os.kill(pid, signal.SIGKILL)
    subprocess.run([cluster.script, "start"], check=True, capture_output=True)
    cluster.wait(job)
    kept = verdicts(only_run(folder))
    assert kept
    assert kept.items() <= whole.items()
    if kept != whole:  # the cluster dropped a task: the same command does the rest
        cluster.wait(cluster.batch(folder, "array.sbatch", *SLOW, options=array))
    assert verdicts(only_run(folder)) == whole
    assert {s.state for s in statuses(only_run(folder).path)} == {"complete"}


def test_score_shows_what_is_there_while_shards_work(cluster: Cluster, folder: Path) -> None:
    job = cluster.batch(folder, "array.sbatch", *SLOW, options=("--array=1-2", "--partition=cpu"))
    until(lambda: any(only_run(folder).path.glob("records*")) if working(folder) else False, 180)
    told = cluster.judgelab(folder, "score", str(only_run(folder).path)).stdout
    assert "incomplete" in told
    cluster.slurm("scancel", job)
    cluster.wait(job)
