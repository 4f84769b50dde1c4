"""Sweeps as Slurm jobs through Hydra's launcher."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from cluster import Cluster, until

from judgelab.status import statuses
from judgelab.store import find_runs

pytestmark = pytest.mark.slurm
SLURM = (
    "hydra/launcher=slurm",
    "hydra.launcher.partition=cpu",
    "hydra.launcher.cpus_per_task=1",
    "hydra.launcher.mem_gb=1",
    "hydra.launcher.timeout_min=30",
)


def test_a_sweep_over_judges_and_protocols_is_one_table_and_is_not_submitted_twice(
    cluster: Cluster, tmp_path: Path
) -> None:
    sweep = ("engine=scripted", "engine.rule=follows_reference,random", "protocol=swapped,nuggets,sage", "limit=6")
    told = cluster.judgelab(tmp_path, "run", "-m", *SLURM, *sweep).stderr
    assert told.count("job ") == 6
    runs = find_runs([tmp_path / "runs"])
    assert len(runs) == 6
    assert all(json.loads((run.path / "summary.json").read_text())["complete"] for run in runs)
    assert {s.state for run in runs for s in statuses(run.path)} == {"complete"}
    script = Path(__file__).resolve().parents[2] / "experiments" / "tabulate.py"
    table = subprocess.run(
        [sys.executable, script, "runs"], cwd=tmp_path, env=cluster.environ, capture_output=True, text=True, check=True
    ).stdout
    assert table.count("| complete; scripted engine") == 6
    again = cluster.judgelab(tmp_path, "run", "-m", *SLURM, *sweep).stderr
    assert again.count("done already in ") == 6
    assert "job " not in again


def test_a_warned_job_is_requeued_and_goes_on(cluster: Cluster, tmp_path: Path) -> None:
    slow = ("engine=scripted", "engine.latency=0.6", "in_flight=2", "limit=30")
    submitter = cluster.start(tmp_path, "run", "-m", *SLURM, *slow, "seed=3")

    def judged() -> bool:
        return any((tmp_path / "runs").glob("swapped/*/*/*/records*"))

    until(judged, 180)
    job = cluster.slurm("squeue", "--noheader", "--array", "--format=%i").split()[0]
    cluster.slurm("scancel", "--signal=USR2", job)
    assert submitter.wait(400) == 0, (tmp_path / "submit.log").read_text()[-2000:]
    (run,) = find_runs([tmp_path / "runs"])
    (status,) = statuses(run.path)
    assert (status.state, status.restarts) == ("complete", 1)
    launches = run.manifest["launches"]
    assert [launch["ended"] for launch in launches] == ["drained", "complete"]
    asked = sum(tally["calls"] for launch in launches for tally in launch["tallies"].values())
    assert asked == run.manifest["totals"]["grade"]["calls"] + run.manifest["totals"]["grade:mass"]["calls"]


def test_what_cannot_work_is_said_before_anything_is_submitted(cluster: Cluster, tmp_path: Path) -> None:
    done = cluster.judgelab(
        tmp_path, "run", "-m", *SLURM, "engine=scripted", "protocol.k=0", "protocol.condition=self_consistency",
        "seed=0,1", check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "protocol.k" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "runs" / ".hydra" / "jobs").exists()


def test_a_job_that_fails_fails_the_sweep_with_its_own_words(cluster: Cluster, tmp_path: Path) -> None:
    done = cluster.judgelab(
        tmp_path, "run", "-m", *SLURM, "engine=vllm", "judge=smollm2-135m", "judge.tensor_parallel=2", "seed=0,1",
        "limit=2", check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "2 of 2 jobs failed" in done.stderr
    assert "judge.tensor_parallel=1" in done.stderr
    assert {s.state for run in find_runs([tmp_path / "runs"]) for s in statuses(run.path)} == {"failed"}
