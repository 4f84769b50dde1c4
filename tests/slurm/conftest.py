"""A real Slurm for the suite: started where a testbed script is at hand and the user may run it, stopped afterwards."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from cluster import Cluster


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """The testbed of $JUDGELAB_SLURM_TESTBED, or the one beside the published data."""
    data = os.environ.get("JUDGELAB_DATA")
    given = os.environ.get("JUDGELAB_SLURM_TESTBED") or (data and str(Path(data).parent / "tools" / "slurm-testbed"))
    if not given or not Path(given).is_file():
        pytest.skip("no Slurm: set JUDGELAB_SLURM_TESTBED to a script that starts one (start, stop, env)")
    if os.geteuid() != 0:
        pytest.skip("the Slurm testbed needs root")
    pytest.importorskip("submitit", reason="the launcher is not installed: pip install 'judgelab[slurm]'")
    script = Path(given)
    ran = subprocess.run([given, "status"], capture_output=True, check=False).returncode == 0
    subprocess.run([given, "start"], check=True, capture_output=True)
    told = subprocess.run([given, "env"], check=True, capture_output=True, text=True).stdout
    shell = subprocess.run(["bash", "-c", f'eval "{told}"; env -0'], check=True, capture_output=True, text=True).stdout
    environ = dict(each.partition("=")[::2] for each in shell.split("\0") if "=" in each)
    root = str(Path(__file__).resolve().parents[2])
    environ["PYTHONPATH"] = os.pathsep.join(filter(None, [root, environ.get("PYTHONPATH")]))
    environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environ['PATH']}"
    assert shutil.which("sbatch", path=environ["PATH"])
    yield Cluster(script, environ)
    if not ran:
        subprocess.run([given, "stop"], check=False, capture_output=True)
