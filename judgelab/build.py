"""One explicit function a group that turns settings into the thing they describe.

Invariant: nothing heavy is imported or started before the thing is first used.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judgelab import config as config_
from judgelab.errors import UsageError
from judgelab.judge import thinking_of
from judgelab.settings import (
    AutoConfig,
    Config,
    EngineConfig,
    NuggetsConfig,
    ProtocolConfig,
    SageConfig,
    ScriptedConfig,
    ServerConfig,
    SwappedConfig,
    TransformersConfig,
    VerdictForm,
    VllmConfig,
)

if TYPE_CHECKING:
    from judgelab.data import Dataset
    from judgelab.engines.base import Engine
    from judgelab.judge import Judge
    from judgelab.pages.fetch import PageFetcher
    from judgelab.runner import Protocol
    from judgelab.search.base import Search


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

    match protocol:
        case SwappedConfig():
            return replace(protocol, verdict_form=swapped.resolve_form(protocol))
        case SageConfig() | NuggetsConfig() if protocol.verdict_form is VerdictForm.auto:
            return replace(protocol, verdict_form=VerdictForm.rationale_then_label)  # their judges reason first
    return protocol


@dataclass(frozen=True)
class Procedure:
    """A protocol ready to judge, and what it brought along: `search` where it searches, `pages` where it may fetch."""

    protocol: Protocol[Any]
    search: Search | None = None
    pages: PageFetcher | None = None

    def told(self) -> dict[str, Any]:
        """What the search has to tell a manifest: searches made and replayed, and the age of the evidence."""
        counts = getattr(self.search, "counts", None)
        return dict(counts()) if counts else {}

    async def close(self) -> None:
        """Release search and pages."""
        for each in (self.search, self.pages):
            if each is not None:
                await each.close()


def build_procedure(config: Config, dataset: Dataset[Any], pages_folder: Path, evidence: Path) -> Procedure:
    """The protocol that a config names, for a judge whose weights need not be here. `pages_folder` keeps pages
    that were fetched, `evidence` searches that were made.

    Raises UsageError for settings that do not fit each other or the data.
    """
    judge = None if isinstance(config.engine, ScriptedConfig) else config.judge
    thinking = thinking_of(judge) if judge else None
    prefix = judge.answer_prefix if judge else ""
    settings, seed = config.protocol, config.seed
    match settings:
        case SwappedConfig():
            from judgelab.protocols.swapped import Swapped

            _require(dataset, "questions", settings.name)
            return Procedure(Swapped(settings, dataset, seed, thinking, prefix))
        case NuggetsConfig():
            from judgelab.pages.fetch import PageFetcher
            from judgelab.pages.library import Library
            from judgelab.protocols.nuggets import Nuggets

            _require(dataset, "battles", settings.name)
            pages = PageFetcher(pages_folder, settings.pages)
            library = Library(settings, dataset.items, pages)
            return Procedure(Nuggets(settings, dataset, seed, library, thinking, prefix), pages=pages)
        case SageConfig():
            from judgelab.protocols.sage import SEARCHING, Sage

            _require(dataset, "answers", settings.name)
            search = None
            if settings.variant in SEARCHING:
                from judgelab.search.build import build_search

                search = build_search(config.search, config.search.corpus or dataset.corpus, evidence)
            return Procedure(Sage(settings, dataset, search, thinking, prefix), search)
    raise UsageError(f"protocol {settings.name!r} is unknown{config_.nearest(settings.name, config_.PROTOCOLS)}")


_NEEDS = {
    "questions": "questions with gold answers, such as dataset=demo, nq_typed or plain",
    "battles": "battles, or answers with nuggets, such as dataset=demo_battles, crowdrag25 or battles",
    "answers": "answers to be graded, such as dataset=demo_answers, evouna_nq or answers, or questions with "
    "dataset.predictions=FILE",
}


def _require(dataset: Dataset[Any], kind: str, protocol: str) -> None:
    if dataset.kind != kind:
        raise UsageError(f"dataset={dataset.name} holds {dataset.kind}, but protocol={protocol} judges {_NEEDS[kind]}")


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
    raise UsageError(f"engine {settings.kind!r} is unknown{config_.nearest(settings.kind, config_.ENGINES)}")
