"""Jobs on nodes whose GPUs will not do, on a real Slurm. The GPUs are stand-ins (`stand_in_gpus`): what is tested is
that a job ends with the line that tells its user what to do, wherever the user looks."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from cluster import Cluster

from judgelab.judge import Judge
from judgelab.status import statuses
from judgelab.store import find_runs

pytestmark = [pytest.mark.slurm, pytest.mark.vllm]
RUN = ("engine=vllm", "judge=smollm2-135m", "limit=2")


@pytest.mark.parametrize(
    ("free", "devices", "words", "told"),
    [
        (
            "[79.5]",
            "0",
            ["judge.tensor_parallel=2"],
            "judge.tensor_parallel=2, but 1 GPU(s) are visible: ask Slurm for",
        ),
        ("[2.5]", "0", [], "GPU 0 (Stand-in) has 2.5 of 80.0 GiB free and vLLM would take"),
        ("[79.5]", "MIG-41b2", [], "CUDA_VISIBLE_DEVICES names a MIG slice (MIG-41b2), which vLLM cannot address: ask"),
        ("[79.5]", "gpu0", [], "'gpu0' is neither an index nor the UUID of a GPU: set it to indices"),
    ],
    ids=["too few", "no memory", "slice", "no name"],
)
def test_a_job_whose_gpus_will_not_do_ends_with_the_remedy(
    cluster: Cluster, tmp_path: Path, embedded_judge: Judge, free: str, devices: str, words: list[str], told: str
) -> None:
    pytest.importorskip("vllm", reason="vLLM is not installed: pip install 'judgelab[cpu]'")
    shutil.copy(Path(__file__).with_name("stand_in_gpus.py"), tmp_path / "sitecustomize.py")
    # Slurm itself says which devices a job has; the virtual nodes have none to name so, so the job's setup names them.
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "activate").write_text(f"export CUDA_VISIBLE_DEVICES={devices}\n")
    path = f"{tmp_path}:{cluster.environ['PYTHONPATH']}"
    given = f"--export=ALL,PYTHONPATH={path},STAND_IN_GPUS={free},JUDGELAB_VENV={tmp_path}"
    job = cluster.batch(tmp_path, "judge.sbatch", *RUN, *words, options=("--partition=cpu", given))
    cluster.wait(job)
    (log,) = tmp_path.glob("judgelab-*.log")
    lines = log.read_text().splitlines()
    assert lines[-1].startswith("judgelab: ")
    assert told in lines[-1]
    assert "Traceback" not in log.read_text()
    (run,) = find_runs([tmp_path / "runs"])
    (status,) = statuses(run.path)
    assert status.state == "failed"
    assert told in status.line()
