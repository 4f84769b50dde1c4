"""Runs of a multirun as Slurm jobs: `hydra/launcher=slurm`, and the same without Slurm as `slurm_local`.

Invariant: what is done is not submitted, what was killed goes on where it stopped, and how a job ended is what the run
directory says: Slurm calls a job COMPLETED whose run has failed.
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hydra_plugins.hydra_submitit_launcher.submitit_launcher import BaseSubmititLauncher

from judgelab import composition
from judgelab.drain import Drain
from judgelab.errors import EXIT_OK, Drained, JudgelabError, UsageError
from judgelab.provenance import code_hash

if TYPE_CHECKING:
    from judgelab.settings import Config

POLL = 2.0, 30.0  # seconds between two looks at few jobs, and at any number of them
SILENCE = 120.0  # seconds that a job may be gone from the queue without a result before it counts as dead
CPUS, MEMORY = 8, 32  # a GPU, or a job without one: cores and GiB


@dataclass(frozen=True)
class Resources:
    """What one job needs."""

    gpus: int
    cpus: int
    memory: int  # GiB


def resources(config: Config) -> Resources:
    """What a run needs of a node: as many GPUs as its judge is spread over, and cores and memory with them.

    None where no engine of this process uses one: a scripted or remote engine, or vLLM's CPU build.
    """
    from judgelab.build import resolve_auto
    from judgelab.engines.vllm_args import is_cpu_build
    from judgelab.settings import TransformersConfig, VllmConfig

    engine = resolve_auto(config.engine)
    match engine:
        case VllmConfig():
            parallel = config.judge.tensor_parallel * int(engine.args.get("pipeline_parallel_size", 1))
            gpus = 0 if is_cpu_build() else parallel
        case TransformersConfig():
            gpus = 0 if engine.device == "cpu" or is_cpu_build() else 1
        case _:
            gpus = 0
    return Resources(gpus, CPUS * max(1, gpus), MEMORY * max(1, gpus))


class Job:
    """One run, as it travels to a node: overrides and the hash of the code that composed them."""

    def __init__(self, overrides: Sequence[str], code: str) -> None:
        self.overrides = list(overrides)
        self.code = code

    def __call__(self) -> int:
        """Run to the end, or until Slurm's warning: then everything is kept and the job is requeued."""
        import submitit

        theirs = signal.getsignal(submitit.JobEnvironment._usr_sig())
        if (here := code_hash()) != self.code:
            raise JudgelabError(
                f"the code changed between submission ({self.code}) and start ({here}): submit again, so that one "
                "sweep is made by one version"
            )
        try:
            return work(self.overrides)
        except Drained as told:
            print(told, file=sys.stderr, flush=True)  # noqa: T201 - the job's log
            # Their handler requeues, and exits or raises. It is called here, not from the signal, because inside a
            # coroutine its exception would pass for the failure of an item.
            if callable(theirs):
                theirs(submitit.JobEnvironment._usr_sig(), None)
            raise

    def checkpoint(self) -> Any:
        """What submitit starts again after a requeue: the same, for a run knows where it stopped."""
        import submitit

        return submitit.helpers.DelayedSubmission(self)


def work(overrides: Sequence[str]) -> int:
    """Compose and run; returns the exit code. Raises JudgelabError as the run does."""
    import asyncio

    from judgelab.experiment import check_unscored, run_async

    with Drain.installed() as drain:
        config = composition.compose(overrides)
        result = asyncio.run(run_async(config, drain=drain, page=False))
    check_unscored(result, config.max_unscored)
    return EXIT_OK


class _Launcher(BaseSubmititLauncher):  # type: ignore[misc]
    """What both launchers share."""

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[Any]:
        """Submit what is not done, wait for it, and tell what failed; exits if anything did.

        A combination that cannot work stops the sweep before anything is submitted.
        """
        try:
            with Drain.suspended():
                return self._launch(job_overrides, initial_job_idx)
        except JudgelabError as error:
            # Hydra would show its own stack; what the user can mend is one line here as everywhere.
            say(f"judgelab: {' '.join(str(error).split())}")
            raise SystemExit(error.exit_code) from error
        except KeyboardInterrupt:
            say(
                "judgelab: interrupted; submitted jobs go on (scancel ends them), the same command looks after the rest"
            )
            raise SystemExit(130) from None

    def _launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[Any]:
        from hydra.core.utils import JobReturn, JobStatus, filter_overrides

        assert self.config is not None
        base = [str(each) for each in self.config.hydra.overrides.task]
        pending: dict[Resources, list[list[str]]] = {}
        for number, each in enumerate(job_overrides, initial_job_idx):
            overrides = composition.open_keys([*base, *each])
            overrides = list({text.partition("=")[0]: text for text in overrides}.values())
            label = " ".join(filter_overrides(list(each)))
            config = composition.compose(overrides)
            if path := finished(config):
                say(f"#{number} {label}: done already in {path}")
            else:
                pending.setdefault(resources(config), []).append(overrides)
        jobs = [job for needs, group in pending.items() for job in self._submit(needs, group)]
        failures = self._wait(jobs)
        if failures:
            raise JudgelabError(
                f"{len(failures)} of {len(jobs)} jobs failed ({'; '.join(failures)}); logs are in "
                f"{self.params['submitit_folder']}; the same command submits only what is not done"
            )
        done = JobReturn()
        done.status = JobStatus.COMPLETED
        return [done] * len(job_overrides)

    def _submit(self, needs: Resources, group: Sequence[Sequence[str]]) -> list[Any]:
        import submitit

        params = dict(self.params)
        folder, retries = params.pop("submitit_folder"), params.pop("max_num_timeout", None)
        params.pop("name", None)
        params["name"] = "judgelab"
        params["cpus_per_task"] = params.get("cpus_per_task") or needs.cpus
        params["mem_gb"] = params.get("mem_gb") or needs.memory
        if needs.gpus and not (params.get("gres") or params.get("gpus_per_node")):
            params["gpus_per_node"] = needs.gpus
        options = {} if retries is None else {f"{self._EXECUTOR}_max_num_timeout": retries}
        executor = submitit.AutoExecutor(folder=folder, cluster=self._EXECUTOR, **options)
        shared = {"timeout_min", "cpus_per_task", "gpus_per_node", "tasks_per_node", "mem_gb", "nodes", "name"}
        shared |= {"stderr_to_stdout"}
        executor.update_parameters(
            **{k if k in shared else f"{self._EXECUTOR}_{k}": v for k, v in params.items() if v is not None}
        )
        code = code_hash()
        jobs: list[Any] = []
        size = self._largest_array()
        for start in range(0, len(group), size):
            part = [Job(overrides, code) for overrides in group[start : start + size]]
            with executor.batch():
                submitted = [executor.submit(job) for job in part]
            jobs += submitted
        for job, overrides in zip(jobs, group, strict=True):
            say(f"job {job.job_id}: {' '.join(overrides)}")
        return jobs

    def _wait(self, jobs: Sequence[Any]) -> list[str]:
        """One line for each job that did not end well; never waits for a job that is gone without a word."""
        waiting = {job.job_id: job for job in jobs}
        gone: dict[str, float] = {}
        failures = []
        while waiting:
            living: Collection[str] | None = None
            for key, job in list(waiting.items()):
                if job.paths.result_pickle.exists():
                    del waiting[key]
                    if (error := job.exception()) is not None:
                        failures.append(f"job {key}: {_last_line(error)}")
                    continue
                if living is None:
                    living = self._living(waiting)
                if key in living:
                    gone.pop(key, None)
                elif time.monotonic() - gone.setdefault(key, time.monotonic()) > SILENCE:
                    del waiting[key]
                    failures.append(f"job {key}: ended without a word (killed or cancelled?)")
            if waiting:
                # Each look asks the shared file system once a job: a large sweep is looked at less often.
                time.sleep(min(POLL[1], max(POLL[0], len(waiting) / 10)))
        return failures

    def _living(self, waiting: Mapping[str, Any]) -> Collection[str]:
        """Those of the jobs, by id, that may still end by themselves."""
        raise NotImplementedError

    def _largest_array(self) -> int:
        return 1000


class SlurmLauncher(_Launcher):
    """One array of Slurm jobs a kind of node that the runs need."""

    _EXECUTOR = "slurm"

    def _living(self, waiting: Mapping[str, Any]) -> Collection[str]:
        """Those that the queue knows, asked once for all; where the controller does not answer, all may live."""
        done = subprocess.run(
            ["squeue", "--me", "--noheader", "--array", "--format=%i"], capture_output=True, text=True, check=False
        )
        return set(waiting) if done.returncode else set(done.stdout.split())

    def _largest_array(self) -> int:
        try:
            told = subprocess.run(["scontrol", "show", "config"], capture_output=True, text=True, check=True).stdout
        except (OSError, subprocess.CalledProcessError) as error:
            raise UsageError(
                f"hydra/launcher=slurm finds no Slurm here ({error}): submit from a login node, or take "
                "hydra/launcher=slurm_local"
            ) from error
        found = re.search(r"MaxArraySize\s*=\s*(\d+)", told)
        return max(1, int(found[1]) - 1) if found else 1000


class LocalLauncher(_Launcher):
    """The same jobs as processes of this machine, one after another unless there are GPUs for more."""

    _EXECUTOR = "local"

    def _living(self, waiting: Mapping[str, Any]) -> Collection[str]:
        return {key for key, job in waiting.items() if not job.done()}


def finished(config: Config) -> Path | None:
    """The run directory of a config if it has nothing left to do, figures included."""
    from judgelab.planning import plan
    from judgelab.scoring import Analysis, summary_path
    from judgelab.settings import analysis_of

    made = plan(config)
    stored = made.run.records()
    if not stored or made.todo(stored):
        return None
    if config.shard is not None:
        return made.run.path
    analysis = Analysis(config.analysis, analysis_of(config.protocol))
    return made.run.path if summary_path(made.run, analysis).exists() else None


def say(line: str) -> None:
    """Tell the user, now."""
    print(line, file=sys.stderr, flush=True)  # noqa: T201 - the sweep's progress


def _last_line(error: BaseException) -> str:
    """What the job's own exception said: the last line of its stack that names one."""
    found = re.findall(r"^[\w.]*?(\w*(?:Error|Drained|Exception|Exit|Interrupt)): (.+)$", str(error), re.MULTILINE)
    if not found:
        return " ".join(str(error).split())[:300]
    kind, text = found[-1]
    return text if kind in ("JudgelabError", "UsageError", "EngineError", "Drained") else f"{kind}: {text}"
