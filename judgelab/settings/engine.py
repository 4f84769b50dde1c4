"""What turns requests into completions.

Invariant: fields that change an answer are scientific, the others operational.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from judgelab.settings.roles import operational


@dataclass
class EngineConfig:
    """What every engine has."""

    kind: str = "???"


@dataclass
class VllmConfig(EngineConfig):
    """vLLM in a process of its own. `args` takes any engine argument of vLLM by its own name."""

    kind: str = "vllm"
    backend: str = "xgrammar"  # xgrammar, guidance, outlines
    args: dict[str, Any] = field(default_factory=dict)
    kv_cache_gib: float = operational(1.0)  # CPU build only
    start_timeout: float = operational(900.0)  # seconds
    log: str | None = operational(None)  # default: engine.log in the run directory


@dataclass
class ServerConfig(EngineConfig):
    """One or several `vllm serve` endpoints. `backend` is what the servers were started with."""

    kind: str = "server"
    backend: str = "xgrammar"
    endpoints: list[str] = field(default_factory=lambda: ["http://127.0.0.1:8000"], metadata={"role": "operational"})
    registry: str | None = operational(None)  # folder where `judgelab serve` makes servers known, instead of endpoints
    api_key_env: str = operational("JUDGELAB_API_KEY")
    timeout: float = operational(600.0)  # seconds a request may take
    start_timeout: float = operational(600.0)  # seconds to wait for a server that is loading


@dataclass
class TransformersConfig(EngineConfig):
    """Hugging Face transformers, constrained by Outlines, micro-batched on one worker thread."""

    kind: str = "transformers"
    batch_size: int = operational(16)
    device: str = operational("auto")


@dataclass
class ScriptedConfig(EngineConfig):
    """A rule instead of a model, for tests and simulation; says so in every report."""

    kind: str = "scripted"
    rule: str = "follows_reference"  # believes_memory, always_a, always_b, random
    latency: float = operational(0.0)  # seconds a call


@dataclass
class AutoConfig(EngineConfig):
    """vLLM where it is installed, else transformers; `args` and `backend` are vLLM's."""

    kind: str = "auto"
    backend: str = "xgrammar"
    args: dict[str, Any] = field(default_factory=dict)
