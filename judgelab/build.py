"""One explicit function a group that turns settings into the thing they describe.

Invariant: nothing heavy is imported or started before the thing is first used.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from judgelab import config
from judgelab.errors import UsageError
from judgelab.judge import thinking_of
from judgelab.settings import (
    AutoConfig,
    EngineConfig,
    JudgeConfig,
    ProtocolConfig,
    ScriptedConfig,
    ServerConfig,
    SwappedConfig,
    TransformersConfig,
    VllmConfig,
)

if TYPE_CHECKING:
    from judgelab.data import Dataset
    from judgelab.engines.base import Engine
    from judgelab.judge import Judge
    from judgelab.protocols.swapped import Swapped


def resolve_auto(engine: EngineConfig) -> EngineConfig:
    """`auto` as the engine that it stands for here."""
    if not isinstance(engine, AutoConfig):
        return engine
    from importlib.util import find_spec

    if find_spec("vllm") is not None:
        return VllmConfig(backend=engine.backend, args=dict(engine.args))
    if engine.args:
        raise UsageError(
            f"engine.args.{next(iter(engine.args))} is vLLM's, which is not installed here (engine=auto took "
            "transformers): install judgelab[vllm] or judgelab[cpu], or drop it"
        )
    return TransformersConfig()


def resolve_form(protocol: ProtocolConfig) -> ProtocolConfig:
    """`verdict_form=auto` as the form that it stands for under the protocol's condition."""
    from dataclasses import replace

    from judgelab.protocols import swapped

    if isinstance(protocol, SwappedConfig):
        return replace(protocol, verdict_form=swapped.resolve_form(protocol))
    return protocol


def build_protocol(settings: ProtocolConfig, dataset: Dataset, judge: JudgeConfig | None, seed: int) -> Swapped:
    """The protocol that a config names, for a judge whose weights need not be here; None for a scripted one."""
    from judgelab.protocols.swapped import Swapped

    match settings:
        case SwappedConfig():
            thinking = thinking_of(judge) if judge else None
            return Swapped(settings, dataset, seed, thinking, judge.answer_prefix if judge else "")
    raise UsageError(f"protocol {settings.name!r} is unknown{config.nearest(settings.name, config.PROTOCOLS)}")


def build_engine(settings: EngineConfig, judge: Judge | None, log: Path, seed: int) -> Engine:
    """The engine that a config names; nothing is loaded yet. `judge` is None for the scripted engine alone."""
    if isinstance(settings, ScriptedConfig):
        from judgelab.engines.scripted import ScriptedEngine

        return ScriptedEngine(settings, seed)
    assert judge is not None
    match settings:
        case VllmConfig():
            from judgelab.engines.vllm import VllmEngine

            return VllmEngine(judge, settings, Path(settings.log) if settings.log else log, seed)
        case ServerConfig():
            from judgelab.engines.server import ServerEngine

            return ServerEngine(judge, settings, seed)
        case TransformersConfig():
            from judgelab.engines.transformers import TransformersEngine

            return TransformersEngine(judge, settings, seed)
    raise UsageError(f"engine {settings.kind!r} is unknown{config.nearest(settings.kind, config.ENGINES)}")
