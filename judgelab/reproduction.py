"""A stored run made again from its config alone: does it give the same verdicts?

Invariant: the fresh run has a directory and a call cache of its own, so no answer of the old one can leak into it;
evidence that was recorded is given again, so that what flips is the judge.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from judgelab.comparison import Comparison, compare
from judgelab.config import load
from judgelab.drain import Drain
from judgelab.errors import JudgelabError, UsageError
from judgelab.experiment import run_async
from judgelab.planning import plan
from judgelab.settings import AnalysisConfig
from judgelab.store import RunDirectory


def reproduce(run: RunDirectory, output: Path | None) -> Comparison:
    """Run the stored config into `output` (default: `reproductions/` beside the run's folder) and compare.

    Raises JudgelabError naming the field if data, weights or prompts are no longer what they were.
    """
    config = load(run.path / "config.yaml")
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    target = output or Path(config.runs_dir) / "reproductions" / f"{run.path.name}-{stamp}"
    if target.exists() and any(target.iterdir()):
        raise UsageError(f"{target} is not empty: give a fresh folder with -o DIR")
    fresh = replace(config, runs_dir=str(target), cache_dir=None, shard=None, retry_failed=False)
    caches = Path(config.cache_dir) if config.cache_dir else run.path.resolve().parents[3] / ".cache"
    evidence = caches / "evidence"
    planned = plan(fresh, evidence=evidence).science.plain()
    for name, before in run.manifest["science"].items():
        if planned[name] != before:
            raise JudgelabError(
                f"{run.path} cannot be reproduced: its {name} was {before!r} and is {planned[name]!r} here"
            )
    with Drain.installed() as drain:
        result = asyncio.run(run_async(fresh, drain=drain, evidence=evidence))
    return compare([run, RunDirectory(result.path)], AnalysisConfig())
