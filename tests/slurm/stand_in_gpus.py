"""Stand-in GPUs for a machine without any: the worker of `engine=vllm` believes what STAND_IN_GPUS says.

It is written as the sitecustomize of a folder on PYTHONPATH. Only what our preflight asks is answered (is this CUDA,
how many devices, how much memory is free); no model ever runs on them.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

GIB = 2**30


class Platform:
    """vLLM's platform of this machine, but for the GPUs."""

    def __init__(self, module: ModuleType, free: list[float]) -> None:
        self._module = module
        self._free = free

    def is_cpu(self) -> bool:
        return False

    def is_cuda(self) -> bool:
        return True

    def device_count(self) -> int:
        return len(self._free)

    def device_id_to_physical_device_id(self, index: int) -> int:
        return index

    def get_device_name(self, index: int = 0) -> str:
        return "Stand-in"

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module.__getattr__("current_platform"), name)


class Finder(importlib.abc.MetaPathFinder):
    """Puts the stand-in in place when `vllm.platforms` is imported."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if name != "vllm.platforms":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        assert spec is not None
        assert spec.loader is not None
        whole = spec.loader.exec_module

        def run(module: ModuleType) -> None:
            whole(module)
            free = json.loads(os.environ["STAND_IN_GPUS"])
            module.current_platform = Platform(module, free)  # type: ignore[attr-defined]
            memory = SimpleNamespace(
                nvmlInit=lambda: None,
                nvmlShutdown=lambda: None,
                nvmlDeviceGetHandleByIndex=lambda index: index,
                nvmlDeviceGetMemoryInfo=lambda index: SimpleNamespace(free=free[index] * GIB, total=80 * GIB),
            )
            sys.modules["vllm.third_party.pynvml"] = memory  # type: ignore[assignment]

        spec.loader.exec_module = run  # type: ignore[method-assign]
        return spec


if "STAND_IN_GPUS" in os.environ and "judgelab.engines.vllm_worker" in sys.orig_argv:
    sys.meta_path.insert(0, Finder())
