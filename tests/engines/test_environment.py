"""The environment of a vLLM process."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from judgelab.engines.environment import allowed_cores, engine_environment


@pytest.mark.parametrize(("cores", "written"), [({0, 1}, "0-1"), ({3}, "3"), ({0, 1, 2, 8, 10, 11}, "0-2,8,10-11")])
def test_allowed_cores_as_vllm_writes_them(monkeypatch, cores, written):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: cores, raising=False)
    assert allowed_cores() == written


def test_without_affinity_nothing_is_bound(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert allowed_cores() == "nobind"


def test_what_the_user_set_stays_but_nothing_goes_to_a_hub():
    env = engine_environment({"VLLM_CPU_OMP_THREADS_BIND": "nobind", "HF_HUB_OFFLINE": "0", "X": "y"})
    assert env["VLLM_CPU_OMP_THREADS_BIND"] == "nobind"
    assert env["HF_HUB_OFFLINE"] == "1"
    assert env["X"] == "y"
    assert "VLLM_CACHE_ROOT" not in env


def test_under_slurm_each_task_has_compile_caches_of_its_own():
    first, second = (
        engine_environment({"SLURM_JOB_ID": "7", "SLURM_PROCID": rank, "TMPDIR": "/local"}) for rank in "01"
    )
    for name in ("VLLM_CACHE_ROOT", "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR"):
        assert first[name].startswith("/local/judgelab-")
        assert first[name] != second[name]


@pytest.mark.parametrize(
    ("source", "left"),
    [
        ("raise RuntimeError('operator torchvision::nms does not exist')", "None"),
        ("import torchvision.ops", "None"),
        ("value = 1", "1"),
        (None, "None"),
    ],
    ids=["broken", "half-loaded", "healthy", "absent"],
)
def test_a_torchvision_that_cannot_be_imported_looks_absent(tmp_path, source, left):
    if source is not None:
        package = tmp_path / "torchvision"
        package.mkdir()
        (package / "__init__.py").write_text(source)
        (package / "ops.py").write_text("raise RuntimeError('operator torchvision::nms does not exist')")
    code = (
        "import importlib.util, sys\n"
        "from judgelab.engines.compat import shield_companions\n"
        "shield_companions(); shield_companions()\n"
        "try:\n    import torchvision\n    print(torchvision.value)\n"
        "except ImportError:\n    print(importlib.util.find_spec('torchvision'))\n"
        "assert 'torchvision.ops' not in sys.modules"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    out = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert out.stdout.strip() == left


@pytest.mark.parametrize(("own", "said"), [("import os; os.mine = 1", "None 1"), (None, "None none")])
def test_children_do_not_see_what_is_broken_either_and_keep_their_own_start(tmp_path, own, said):
    (tmp_path / "torchaudio.py").write_text("raise OSError('no such library')")
    if own is not None:
        (tmp_path / "sitecustomize.py").write_text(own)
    code = (
        "import subprocess, sys\nfrom judgelab.engines.compat import shield_companions\nshield_companions()\n"
        "child = 'import importlib.util, os; '"
        "'print(importlib.util.find_spec(\\'torchaudio\\'), getattr(os, \\'mine\\', \\'none\\'))'\n"
        "done = subprocess.run([sys.executable, '-c', child], capture_output=True, text=True, check=True)\n"
        "print(done.stdout + done.stderr)"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    out = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert out.stdout.strip() == said, "a start is quiet"
