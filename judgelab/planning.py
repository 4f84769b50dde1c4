"""Everything that is decided before the first call: data, judge, protocol, engine, and the name of the run.

Invariant: a plan loads no model and makes no call, so what a run would do can be asked on any machine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judgelab import build
from judgelab import config as cfg
from judgelab.items import Item
from judgelab.last import Last
from judgelab.records import Record, canonical_json
from judgelab.runner import settled
from judgelab.settings import Config, DatasetConfig, JudgeConfig, ScriptedConfig, VllmConfig, scientific
from judgelab.store import RunDirectory, Science

if TYPE_CHECKING:
    from judgelab.data import Dataset
    from judgelab.engines.base import Engine
    from judgelab.judge import Judge
    from judgelab.runner import Protocol


@dataclass(frozen=True)
class Plan:
    """Everything decided before the first call."""

    config: Config
    judge: Judge | None
    dataset: Dataset[Any]
    items: tuple[Item, ...]
    procedure: build.Procedure
    engine: Engine
    science: Science
    run: RunDirectory
    cache: Path

    @property
    def protocol(self) -> Protocol[Any]:
        """How items are judged."""
        return self.procedure.protocol

    @cached_property
    def record_ids(self) -> tuple[tuple[str, ...], ...]:
        """For each item, the ids of the records to be made of it."""
        return tuple(self.protocol.record_ids(item) for item in self.items)

    def todo(self, stored: Mapping[str, Record]) -> list[Item]:
        """The items of this process's shard of which some record is missing, or to be asked again."""
        keep = settled(stored, self.config.retry_failed)
        shard = cfg.parse_shard(self.config.shard) if self.config.shard else range(2**62)
        return [
            item
            for number, (item, ids) in enumerate(zip(self.items, self.record_ids, strict=True))
            if number in shard and not keep.issuperset(ids)
        ]

    def missing(self, stored: Mapping[str, Record]) -> int:
        """How many records of the whole run are not there yet."""
        return sum(i not in stored for ids in self.record_ids for i in ids)


def plan(config: Config, fetch: Callable[[JudgeConfig], None] | None = None, evidence: Path | None = None) -> Plan:
    """Load the data, find the judge and name the run; UsageError for whatever does not fit together.

    `fetch` may bring the judge's weights, once everything else is known to be right. `evidence` is the folder of
    recorded searches, by default beside the call cache.
    """
    from judgelab import weights

    cfg.validate(config)
    config = replace(config, engine=build.resolve_auto(config.engine), protocol=build.resolve_form(config.protocol))
    dataset = _load(_demo_of(config))
    scripted = isinstance(config.engine, ScriptedConfig)
    name = f"scripted-{config.engine.rule}" if isinstance(config.engine, ScriptedConfig) else config.judge.name
    runs = Path(config.runs_dir)
    caches = Path(config.cache_dir) if config.cache_dir else runs / ".cache"
    procedure = build.build_procedure(config, dataset, caches / "pages", evidence or caches / "evidence")
    if fetch and not scripted:
        fetch(config.judge)
    judge = None if scripted else weights.resolve(config.judge)
    items = tuple(seeded_order(dataset.items, config.seed)[: config.limit])
    science = Science(
        protocol=cfg.plain(scientific(config.protocol)),
        dataset={**cfg.plain(scientific(config.dataset)), "content": dataset.content_hash},
        judge={"name": name} | (judge.identity() if judge else {}),
        engine=_engine_science(config),
        limit=config.limit,
        seed=config.seed,
        prompts=procedure.protocol.fingerprint(),
        search=dict(procedure.search.identity) if procedure.search else None,
    )
    path = runs / config.protocol.name / config.dataset.name / name / science.digest()
    engine = build.build_engine(config.engine, judge, path / "engine.log", config.seed)
    return Plan(
        config=config,
        judge=judge,
        dataset=dataset,
        items=items,
        procedure=procedure,
        engine=engine,
        science=science,
        run=RunDirectory(path),
        cache=caches / "calls" / name / engine.identity.digest(),
    )


_DATA: Last[Dataset[Any]] = Last()  # the runs of a sweep mostly share their data


def _load(settings: DatasetConfig) -> Dataset[Any]:
    from judgelab.data import load
    from judgelab.data.files import stamp

    files = tuple(stamp(each) for each in (settings.path, settings.persons, settings.predictions))
    return _DATA.get((canonical_json(cfg.plain(settings)), files), lambda: load(settings))


_DEMOS = {"nuggets": "demo_battles", "sage": "demo_answers"}


def _demo_of(config: Config) -> DatasetConfig:
    """The dataset settings; the demo set has a part for each protocol, so that `protocol=NAME` alone runs."""
    dataset, name = config.dataset, config.protocol.name
    return replace(dataset, format=_DEMOS.get(name, "demo")) if dataset.format == "demo" else dataset


def seeded_order(items: Sequence[Item], seed: int) -> list[Item]:
    """Items in an order that only the seed and their ids decide, so that `limit` takes a fair sample."""
    return sorted(items, key=lambda item: sha256(f"{seed}:{item.item_id}".encode()).digest())


def _engine_science(config: Config) -> dict[str, Any]:
    found: dict[str, Any] = cfg.plain(scientific(config.engine))
    if isinstance(config.engine, VllmConfig):
        from judgelab.engines.vllm import OPERATIONAL_ARGS

        found["args"] = {k: v for k, v in found["args"].items() if k not in OPERATIONAL_ARGS}
    return found
