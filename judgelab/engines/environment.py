"""The environment a vLLM process runs in, the same for our own engine and for the servers we start.

Invariant: what the user has set stays, except that nothing may go to a hub: jobs never download.
"""

from __future__ import annotations

import getpass
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

_COMPILE_CACHES = {
    "VLLM_CACHE_ROOT": "vllm",
    "TORCHINDUCTOR_CACHE_DIR": "inductor",
    "TRITON_CACHE_DIR": "triton",
}


def engine_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """`environ` with what vLLM needs added to it.

    Thread binding is for the CPU build, which otherwise counts cores that the job may not use.
    Under Slurm, compile caches lie on local disk and apart for each task: shared ones race on NFS.
    """
    out = dict(environ)
    out.setdefault("VLLM_CPU_OMP_THREADS_BIND", allowed_cores())
    out.setdefault("VLLM_NO_USAGE_STATS", "1")
    out.setdefault("TOKENIZERS_PARALLELISM", "false")
    out["HF_HUB_OFFLINE"] = "1"
    if job := environ.get("SLURM_JOB_ID"):
        local = Path(environ.get("SLURM_TMPDIR") or environ.get("TMPDIR") or tempfile.gettempdir())
        task = f"{getpass.getuser()}-{job}-{environ.get('SLURM_PROCID', '0')}"
        for name, folder in _COMPILE_CACHES.items():
            out.setdefault(name, str(local / f"judgelab-{task}" / folder))
    return out


def package_path(environ: Mapping[str, str]) -> str | None:
    """PYTHONPATH under which a child process finds this package, or None where the installation is enough."""
    root = Path(__file__).resolve().parents[2]
    if root.name in ("site-packages", "dist-packages"):
        return environ.get("PYTHONPATH")
    return os.pathsep.join(filter(None, [str(root), environ.get("PYTHONPATH")]))


def allowed_cores() -> str:
    """The cores this process may use, as vLLM writes them (`0-3,8`); `nobind` where the system cannot say."""
    try:
        cores = sorted(os.sched_getaffinity(0))
    except AttributeError:
        return "nobind"
    spans: list[tuple[int, int]] = []
    for core in cores:
        if spans and spans[-1][1] == core - 1:
            spans[-1] = (spans[-1][0], core)
        else:
            spans.append((core, core))
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in spans)
