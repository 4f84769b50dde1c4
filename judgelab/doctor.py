"""What works on this machine, and what to do about what does not.

Invariant: a check looks and never mends; what fails comes with its remedy, and a check that breaks is a failed check.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from judgelab.errors import JudgelabError

EMBEDDED = "smollm2-135m"


@dataclass(frozen=True)
class Check:
    """One finding. `good` is None where a part is absent that not everybody needs."""

    name: str
    good: bool | None
    says: str
    remedy: str = ""


def examine(start_engine: bool) -> bool:
    """Print every check; True if none failed."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for heading in ("", "part", "finding"):
        table.add_column(heading)
    marks = {True: Text("ok", "green"), False: Text("FAIL", "bold red"), None: Text("-", "yellow")}
    found = list(checks(start_engine))
    for check in found:
        says = f"{check.says}\n-> {check.remedy}" if check.remedy else check.says
        table.add_row(marks[check.good], check.name, Text(says))
    Console().print(table)
    return all(check.good is not False for check in found)


def checks(start_engine: bool) -> Iterator[Check]:
    """All checks in order, the slow one last."""
    yield from map(_guarded, (_package, _torch, _companions, _vllm, _weights, _data, _disk, _search, _slurm))
    if start_engine:
        yield _guarded(_engine)


def _guarded(check: Callable[[], Check]) -> Check:
    name = check.__name__.strip("_")
    try:
        return check()
    except JudgelabError as error:
        return Check(name, False, str(error))
    except Exception as error:  # a broken installation can raise anything; that is the finding
        return Check(name, False, f"{type(error).__name__}: {error}")


def _package() -> Check:
    from judgelab.config import conf_dir, options
    from judgelab.provenance import about_this_process

    versions = about_this_process()["versions"]
    listed = ", ".join(f"{name} {version}" for name, version in versions.items())
    return Check("package", True, f"{listed}; {len(options('judge'))} judges in {conf_dir() / 'judge'}")


def _torch() -> Check:
    import torch

    if not torch.cuda.is_available():
        return Check("device", True, f"CPU, {len(os.sched_getaffinity(0))} cores (torch {torch.__version__})")
    names = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    return Check("device", True, f"{len(names)} GPU: {', '.join(names)}")


def _companions() -> Check:
    from judgelab.engines.compat import COMPANIONS, broken

    unfit = [name for name in COMPANIONS if broken(name) is not None]
    if not unfit:
        return Check("companions", True, f"no {' or '.join(COMPANIONS)} stands in torch's way")
    return Check(
        "companions",
        None,
        f"{', '.join(unfit)} not built for the installed torch; judgelab works around it, other programs fail",
        f"pip uninstall {' '.join(unfit)} (judges read text only)",
    )


def _vllm() -> Check:
    from judgelab.engines.preflight import check_distributions
    from judgelab.engines.vllm_args import installed_builds, vllm_version

    builds = installed_builds()
    if not builds:
        return Check(
            "vllm",
            None,
            "not installed: engine=auto takes transformers, several times slower",
            "pip install 'judgelab[cpu]' (no GPU) or 'judgelab[vllm]'",
        )
    check_distributions(builds)
    return Check("vllm", True, vllm_version())


def _weights() -> Check:
    from judgelab.config import preset
    from judgelab.weights import locate

    path = locate(preset("judge", EMBEDDED))
    if path is None:
        return Check("weights", None, f"{EMBEDDED} is not fetched yet", f"judgelab models fetch {EMBEDDED}")
    return Check("weights", True, f"{EMBEDDED} in {path}")


def _data() -> Check:
    root = os.environ.get("JUDGELAB_DATA")
    if not root:
        return Check("data", None, "JUDGELAB_DATA is not set: the demo set and dataset.path=FILE work")
    if not Path(root).is_dir():
        return Check("data", False, f"JUDGELAB_DATA={root} is no folder", "set it to the folder of published files")
    return Check("data", True, root)


def _disk() -> Check:
    import fcntl

    runs = Path("runs")
    where = runs if runs.is_dir() else Path()
    with tempfile.TemporaryFile(dir=where) as file:
        file.write(b"x")
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    free = shutil.disk_usage(where).free / 2**30
    return Check("disk", free >= 1, f"runs can be written and locked in {where.resolve()}; {free:.0f} GiB free")


def _slurm() -> Check:
    if shutil.which("sinfo") is None:
        return Check("slurm", None, "no Slurm commands here")
    try:
        done = subprocess.run(
            ["sinfo", "-h", "-o", "%P"],
            capture_output=True,
            text=True,
            timeout=10,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Check("slurm", None, "its commands are here, but no controller answers")
    if done.returncode:
        why = done.stderr.strip().splitlines()[-1:] or ["no reason given"]
        return Check("slurm", None, f"its commands are here, but no controller answers ({why[0][:120]})")
    from importlib.util import find_spec

    says = f"partitions {', '.join(done.stdout.split())}; {_slurm_limits()}"
    if find_spec("hydra_plugins") is None or find_spec("hydra_plugins.hydra_submitit_launcher") is None:
        return Check("slurm", None, f"{says}; no launcher", "pip install 'judgelab[slurm]'")
    return Check("slurm", True, f"{says}; launcher installed")


def _slurm_limits() -> str:
    """The largest array, and whether accounting works (without it a job that dies says nothing to its submitter)."""

    def ask(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(words, capture_output=True, text=True, timeout=20, stdin=subprocess.DEVNULL, check=False)

    found = re.search(r"MaxArraySize\s*=\s*(\d+)", ask("scontrol", "show", "config").stdout)
    accounting = shutil.which("sacct") is not None and ask("sacct", "-n", "-X", "--starttime=now").returncode == 0
    return f"arrays up to {int(found[1]) - 1 if found else '?'} jobs, accounting {'works' if accounting else 'is off'}"


def _search() -> Check:
    """Which engines of the web could be asked; whether they answer is not tried, for that would cost a request."""
    from importlib.metadata import version

    keys = ("SERPER_API_KEY", "BRAVE_API_KEY", "TAVILY_API_KEY")
    given = [key for key in keys if os.environ.get(key)]
    says = f"bm25 {version('bm25s')}, duckduckgo by ddgs {version('ddgs')}; keys set: {', '.join(given) or 'none'}"
    return Check("search", True, says)


def _engine() -> Check:
    from judgelab import build, weights
    from judgelab.config import preset
    from judgelab.engines.base import probe_request

    settings = build.resolve_auto(preset("engine", "auto"))
    if weights.locate(preset("judge", EMBEDDED)) is None:
        return Check("engine", None, f"not started: {EMBEDDED} is not fetched", f"judgelab models fetch {EMBEDDED}")
    judge = weights.resolve(preset("judge", EMBEDDED))

    async def go(log: Path) -> tuple[str, dict[str, str]]:
        engine = build.build_engine(settings, judge, log, seed=0)
        try:
            completion = await engine.complete(probe_request())
            return completion.text, engine.describe()
        finally:
            await engine.close()

    with tempfile.TemporaryDirectory() as folder:
        text, described = asyncio.run(go(Path(folder) / "engine.log"))
    about = ", ".join(f"{k} {v}" for k, v in described.items() if k in ("device", "backend", "build"))
    return Check("engine", text.strip() == '"zq"', f"{settings.kind} started and its grammar binds ({about})")
