"""A running Slurm and how tests talk to it."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Cluster:
    """A running Slurm and how to talk to it."""

    script: Path
    environ: Mapping[str, str]

    def slurm(self, *command: str) -> str:
        """A client command's output."""
        done = subprocess.run(command, env=self.environ, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (command, done.stderr)
        return done.stdout.strip()

    def judgelab(self, folder: Path, *words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """`judgelab ...` in a folder."""
        command = [sys.executable, "-m", "judgelab", *words]
        done = subprocess.run(command, cwd=folder, env=self.environ, capture_output=True, text=True, timeout=400)
        assert done.returncode == 0 or not check, done.stderr[-3000:]
        return done

    def start(self, folder: Path, *words: str) -> subprocess.Popen[str]:
        """The same in the background, its words in `submit.log`."""
        with (folder / "submit.log").open("a") as log:
            command = [sys.executable, "-m", "judgelab", *words]
            return subprocess.Popen(command, cwd=folder, env=self.environ, stdout=log, stderr=log, text=True)

    def batch(self, folder: Path, script: str, *words: str, options: tuple[str, ...] = ()) -> str:
        """`sbatch` of one of our scripts; the job id."""
        path = Path(__file__).resolve().parents[2] / "slurm" / script
        resources = ("--cpus-per-task=1", "--mem=200M", f"--chdir={folder}", f"--output={folder}/%x-%A_%a.log")
        told = self.slurm("sbatch", *resources, *options, str(path), *words)
        return re.search(r"\d+", told)[0]  # type: ignore[index]

    def wait(self, job: str, seconds: float = 400) -> None:
        """Until no task of a job is in the queue any more."""
        until(lambda: not self.jobs(job), seconds)

    def jobs(self, job: str) -> list[str]:
        """`id state` of each of a job's tasks that is in the queue."""
        done = subprocess.run(
            ["squeue", "--noheader", "--array", f"--jobs={job}", "--format=%i %T"],
            env=self.environ,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode and "Invalid job id" not in done.stderr:
            return ["? the controller does not answer"]
        return done.stdout.split("\n")[:-1]


def until(holds: Callable[[], object], seconds: float = 120) -> None:
    """Wait for something to hold."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.3)
