"""vLLM's arguments by name, without importing vLLM."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from judgelab.engines.vllm import VllmEngine
from judgelab.engines.vllm_args import OPERATIONAL_ARGS, argument_names, check_args
from judgelab.errors import UsageError
from judgelab.settings import VllmConfig


def test_unknown_argument_names_the_nearest():
    with pytest.raises(UsageError, match=r"engine\.args\.gpu_memory_utilisation.*'gpu_memory_utilization'"):
        check_args(["gpu_memory_utilisation"], ["gpu_memory_utilization", "max_num_seqs"])


@pytest.mark.parametrize("name", ["model", "tokenizer"])
def test_the_model_is_not_an_argument(name):
    with pytest.raises(UsageError, match="judge=NAME"):
        check_args([name], [name])


@pytest.mark.vllm
def test_names_are_read_from_vllm_itself_and_cover_the_operational_ones():
    assert {"max_num_seqs", "kv_cache_dtype", "enable_log_requests"} <= argument_names()
    assert argument_names() >= OPERATIONAL_ARGS


@pytest.mark.vllm
def test_a_wrong_name_is_refused_before_anything_heavy_is_imported(tmp_path):
    code = (
        "import sys\nfrom pathlib import Path\nfrom judgelab.engines.vllm import VllmEngine\n"
        "from judgelab.errors import UsageError\nfrom judgelab.judge import Judge\n"
        "from judgelab.settings import VllmConfig\n"
        "try:\n    VllmEngine(Judge('j', Path('x'), 'w'), VllmConfig(args={'max_num_seq': 4}), Path('l'), 0)\n"
        "except UsageError as error:\n    print(error)\n"
        "print([m for m in ('torch', 'vllm', 'transformers') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "'max_num_seqs'" in out
    assert out.endswith("[]\n")


def test_only_what_may_change_answers_is_part_of_the_identity(make_judge):
    judge = make_judge()

    def digest(seed: int = 0, **settings) -> str:
        return VllmEngine(judge, VllmConfig(**settings), Path("log"), seed).identity.digest()

    assert digest(args={"max_num_seqs": 4, "gpu_memory_utilization": 0.5}) == digest()
    assert digest(kv_cache_gib=2.0) == digest()
    assert digest(args={"kv_cache_dtype": "fp8"}) != digest()
    assert digest(backend="guidance") != digest()
    assert digest(seed=1) != digest()
