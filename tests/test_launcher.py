"""What the launcher decides by itself; how Slurm takes it is in tests/slurm."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("submitit", reason="the launcher is not installed: pip install 'judgelab[slurm]'")

from judgelab import Config, launcher
from judgelab.config import preset
from judgelab.launcher import LocalLauncher, Resources, SlurmLauncher, _last_line, resources
from judgelab.settings import ScriptedConfig, ServerConfig, TransformersConfig, VllmConfig


@pytest.mark.parametrize(
    ("engine", "parallel", "cpu", "needs"),
    [
        (VllmConfig(), 1, False, Resources(1, 8, 32)),
        (VllmConfig(), 4, False, Resources(4, 32, 128)),
        (VllmConfig(args={"pipeline_parallel_size": 2}), 4, False, Resources(8, 64, 256)),
        (VllmConfig(), 1, True, Resources(0, 8, 32)),
        (TransformersConfig(), 1, False, Resources(1, 8, 32)),
        (TransformersConfig(device="cpu"), 1, False, Resources(0, 8, 32)),
        (TransformersConfig(), 1, True, Resources(0, 8, 32)),
        (ServerConfig(endpoints=["http://h:1"]), 8, False, Resources(0, 8, 32)),
        (ScriptedConfig(), 8, False, Resources(0, 8, 32)),
    ],
)
def test_a_job_gets_what_its_judge_needs(
    monkeypatch: pytest.MonkeyPatch, engine: Any, parallel: int, cpu: bool, needs: Resources
) -> None:
    monkeypatch.setattr("judgelab.engines.vllm_args.is_cpu_build", lambda: cpu)
    judge = replace(preset("judge", "smollm2-135m"), tensor_parallel=parallel)
    assert resources(Config(judge=judge, engine=engine)) == needs


class Executor:
    """Takes jobs as submitit's does, and keeps what it was told."""

    made: list[Executor]

    def __init__(self, folder: str, cluster: str, **options: Any) -> None:
        self.cluster, self.options = cluster, options
        self.parameters: dict[str, Any] = {}
        self.arrays: list[list[Any]] = []
        Executor.made.append(self)

    def update_parameters(self, **parameters: Any) -> None:
        self.parameters = parameters

    @contextlib.contextmanager
    def batch(self) -> Iterator[None]:
        self.arrays.append([])
        yield

    def submit(self, job: Any) -> Any:
        self.arrays[-1].append(job)
        number = f"{len(self.arrays)}_{len(self.arrays[-1])}"
        return SimpleNamespace(
            job_id=number,
            paths=SimpleNamespace(result_pickle=SimpleNamespace(exists=lambda: True)),
            exception=lambda: None,
        )


@pytest.fixture
def slurm(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> SlurmLauncher:
    """A launcher whose executor only listens; nothing is done yet, and judges need no weights here."""
    Executor.made = []
    monkeypatch.setattr("submitit.AutoExecutor", Executor)
    monkeypatch.setattr(launcher, "finished", lambda config: None)
    monkeypatch.setattr("judgelab.engines.vllm_args.is_cpu_build", lambda: False)
    monkeypatch.setattr(SlurmLauncher, "_largest_array", lambda self: 3)
    made = SlurmLauncher.__new__(SlurmLauncher)
    made.params = {"submitit_folder": str(tmp_path), "timeout_min": 60, "partition": "p", "max_num_timeout": 9}
    made.config = SimpleNamespace(hydra=SimpleNamespace(overrides=SimpleNamespace(task=["engine=vllm"])))
    return made


def test_runs_are_grouped_by_what_they_need_and_split_into_arrays_that_slurm_takes(slurm: SlurmLauncher) -> None:
    sweep = [[f"judge={judge}", f"seed={seed}"] for judge in ("smollm2-135m", "qwen2.5-72b") for seed in range(4)]
    assert len(slurm.launch(sweep, 0)) == len(sweep)
    parallel = preset("judge", "qwen2.5-72b").tensor_parallel
    assert [each.parameters["gpus_per_node"] for each in Executor.made] == [1, parallel]
    assert [[len(array) for array in each.arrays] for each in Executor.made] == [[3, 1], [3, 1]]
    small = Executor.made[0]
    assert (small.parameters["slurm_partition"], small.parameters["timeout_min"]) == ("p", 60)
    assert small.options == {"slurm_max_num_timeout": 9}
    assert small.arrays[0][0].overrides == ["engine=vllm", "judge=smollm2-135m", "seed=0"]


def test_what_the_user_asks_of_slurm_wins(slurm: SlurmLauncher) -> None:
    slurm.params |= {"gres": "gpu:h100:1", "cpus_per_task": 3, "mem_gb": 5}
    slurm.launch([["judge=smollm2-135m"]], 0)
    asked = Executor.made[0].parameters
    assert (asked["slurm_gres"], asked["cpus_per_task"], asked["mem_gb"]) == ("gpu:h100:1", 3, 5)
    assert "gpus_per_node" not in asked


def test_what_is_done_is_not_submitted(
    slurm: SlurmLauncher, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(launcher, "finished", lambda config: Path("runs/x") if config.seed else None)
    slurm.launch([["seed=0"], ["seed=1"]], 0)
    assert sum(len(array) for each in Executor.made for array in each.arrays) == 1
    assert "#1 seed=1: done already in runs/x" in capsys.readouterr().err


class Stuck:
    """A job without a result."""

    paths = SimpleNamespace(result_pickle=SimpleNamespace(exists=lambda: False))

    def __init__(self, done: bool = False) -> None:
        self._done = done

    def done(self) -> bool:
        return self._done


@pytest.mark.parametrize(
    ("code", "out", "living"),
    [(0, "7_1\n7_3\n", {"7_1", "7_3"}), (1, "", {"7_1", "7_2", "7_3"}), (0, "", set())],
    ids=["some", "no controller", "none"],
)
def test_the_queue_is_asked_once_for_all_jobs(
    monkeypatch: pytest.MonkeyPatch, code: int, out: str, living: set[str]
) -> None:
    asked: list[list[str]] = []

    def ask(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        asked.append(command)
        return subprocess.CompletedProcess(command, code, out, "")

    monkeypatch.setattr(subprocess, "run", ask)
    jobs = {f"7_{n}": Stuck() for n in (1, 2, 3)}
    found = set(SlurmLauncher._living(SlurmLauncher.__new__(SlurmLauncher), jobs)) & jobs.keys()
    assert found == living
    assert len(asked) == 1


def test_a_job_that_is_gone_without_a_word_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launcher, "SILENCE", 0.05)
    monkeypatch.setattr(launcher, "POLL", (0.02, 0.02))
    job = Stuck(done=True)
    job.job_id = "5"  # type: ignore[attr-defined]
    (failure,) = LocalLauncher._wait(LocalLauncher.__new__(LocalLauncher), [job])
    assert failure == "job 5: ended without a word (killed or cancelled?)"


@pytest.mark.parametrize(
    ("told", "line"),
    [
        ("Traceback ...\n  File\njudgelab.errors.UsageError: limit=0: must be 1\n", "limit=0: must be 1"),
        ("x\njudgelab.errors.EngineError: no GPU\n", "no GPU"),
        ("x\nKeyError: 'a'\n\nDuring handling:\nValueError: bad\n", "ValueError: bad"),
        ("job 3 was\n  lost", "job 3 was lost"),
    ],
)
def test_a_job_tells_the_last_thing_it_said(told: str, line: str) -> None:
    assert _last_line(RuntimeError(told)) == line
