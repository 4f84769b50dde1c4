"""One run from config to figures: load, judge what is missing, and score once every record is there.

Invariant: nothing is loaded or asked that the records and the call cache already answer.
"""

from __future__ import annotations

import asyncio
import signal
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judgelab import build
from judgelab import config as cfg
from judgelab.engines.cached import CachedEngine, CallCache, Fresh
from judgelab.errors import Drained, JudgelabError, UsageError
from judgelab.items import Item
from judgelab.progress import Display
from judgelab.provenance import about_this_process
from judgelab.runner import Outcome, run_items, settled
from judgelab.settings import Config, JudgeConfig, ScriptedConfig, VllmConfig, analysis_of, scientific
from judgelab.store import Launch, RunDirectory, Science, now

if TYPE_CHECKING:
    from judgelab.data import Dataset
    from judgelab.engines.base import Engine
    from judgelab.judge import Judge
    from judgelab.runner import Protocol


@dataclass(frozen=True)
class Result:
    """A run after this launch. `summary` (the content of summary.json) is None until every record is there."""

    path: Path
    summary: Mapping[str, Any] | None
    missing: int


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


def run(config: Config) -> Result:
    """Run a config to its figures; also from within a running event loop (it then works in a thread of its own).

    Raises `errors.JudgelabError` for whatever stops the run; finished work is kept and the same call resumes.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(run_async(config))
    outcome: list[Result | BaseException] = []

    def work() -> None:
        try:
            outcome.append(asyncio.run(run_async(config)))
        except BaseException as error:  # handed to the caller's thread, whatever it is
            outcome.append(error)

    thread = threading.Thread(target=work, name="judgelab-run")
    thread.start()
    thread.join()
    if isinstance(outcome[0], BaseException):
        raise outcome[0]
    return outcome[0]


def plan(config: Config, fetch: Callable[[JudgeConfig], None] | None = None) -> Plan:
    """Load the data, find the judge and name the run; UsageError for whatever does not fit together.

    `fetch` may bring the judge's weights, once everything else is known to be right.
    """
    from judgelab import weights
    from judgelab.data import load

    cfg.validate(config)
    config = replace(config, engine=build.resolve_auto(config.engine), protocol=build.resolve_form(config.protocol))
    dataset = load(config.dataset)
    scripted = isinstance(config.engine, ScriptedConfig)
    name = f"scripted-{config.engine.rule}" if isinstance(config.engine, ScriptedConfig) else config.judge.name
    runs = Path(config.runs_dir)
    caches = Path(config.cache_dir) if config.cache_dir else runs / ".cache"
    procedure = build.build_procedure(config, dataset, caches)
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


def seeded_order(items: Sequence[Item], seed: int) -> list[Item]:
    """Items in an order that only the seed and their ids decide, so that `limit` takes a fair sample."""
    return sorted(items, key=lambda item: sha256(f"{seed}:{item.item_id}".encode()).digest())


async def run_async(
    config: Config, *, signals: bool = False, fetch: Callable[[JudgeConfig], None] | None = None
) -> Result:
    """As `run`, inside the caller's event loop. With `signals`, SIGINT, SIGTERM and SIGUSR1 drain the run."""
    plan_ = await asyncio.to_thread(plan, config, fetch)
    config, run_, protocol = plan_.config, plan_.run, plan_.protocol
    with run_.lock(config.shard):
        about = {
            **about_this_process(),
            "judge": cfg.plain(config.judge) if plan_.judge else None,
            "dropped": dict(plan_.dataset.dropped),
            "n_items": len(plan_.items),
        }
        run_.claim(plan_.science, cfg.dump(config), about)
        stored = run_.records()
        keep = settled(stored, config.retry_failed)
        shard = cfg.parse_shard(config.shard) if config.shard else range(2**62)
        todo = [
            item
            for number, item in enumerate(plan_.items)
            if number in shard and not keep.issuperset(protocol.record_ids(item))
        ]
        if todo:
            await _work(plan_, todo, stored.keys(), keep, signals)
    stored = run_.records()
    missing = sum(i not in stored for item in plan_.items for i in protocol.record_ids(item))
    if missing:
        return Result(run_.path, None, missing)
    from judgelab.scoring import Analysis, score

    return Result(run_.path, score(run_, Analysis(config.analysis, analysis_of(config.protocol))), 0)


async def _work(plan_: Plan, todo: Sequence[Item], stored: Any, keep: frozenset[str], signals: bool) -> None:
    config, run_ = plan_.config, plan_.run
    asker = CachedEngine(plan_.engine, CallCache(plan_.cache, plan_.engine.identity.canonical()), config.in_flight)
    again = {
        item.item_id
        for item in todo
        if config.retry_failed and any(i in stored for i in plan_.protocol.record_ids(item))
    }
    stop = asyncio.Event()
    if signals:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1):
            loop.add_signal_handler(number, stop.set)
    started, clock, ended = now(), time.monotonic(), "failed"
    try:
        with Display(f"{plan_.science.protocol['name']} on {config.dataset.name}", asker) as display:
            outcome: Outcome = await run_items(
                plan_.protocol,
                todo,
                plan_.items,
                lambda item: Fresh(asker) if item.item_id in again else asker,
                asker,
                run_,
                keep,
                config.in_flight,
                stop,
                display.update,
            )
        ended = "drained" if outcome.drained else "complete"
    finally:
        run_.close()
        described = dict(plan_.engine.describe())
        try:
            await asker.close()
            await plan_.procedure.close()
        finally:
            launch = Launch(
                started=started,
                seconds=round(time.monotonic() - clock, 3),
                host=socket.gethostname(),
                shard=config.shard,
                ended=ended,
                tallies=asker.tallies,
                engine=described,
                search=plan_.procedure.told(),
            )
            run_.add_launch(launch)
    if outcome.drained:
        raise Drained(
            f"stopped on request with {outcome.done} of {len(todo)} items done in this launch; "
            f"all of them are kept in {run_.path}: the same command goes on"
        )


def _engine_science(config: Config) -> dict[str, Any]:
    found: dict[str, Any] = cfg.plain(scientific(config.engine))
    if isinstance(config.engine, VllmConfig):
        from judgelab.engines.vllm import OPERATIONAL_ARGS

        found["args"] = {k: v for k, v in found["args"].items() if k not in OPERATIONAL_ARGS}
    return found


def check_unscored(result: Result, limit: float) -> None:
    """Raise JudgelabError if the share of judgments without verdict passes `limit` (no_candidate not counted)."""
    if result.summary is None:
        return
    coverage = result.summary["coverage"]
    reasons = {k: n for k, n in coverage["unscored"].items() if k != "no_candidate"}
    asked = coverage["judged"] + sum(reasons.values())
    if asked and sum(reasons.values()) > limit * asked:
        named = ", ".join(f"{reason} {n}" for reason, n in sorted(reasons.items()))
        raise JudgelabError(
            f"{sum(reasons.values())} of {asked} judgments have no verdict ({named}), more than "
            f"max_unscored={limit:g}; see {result.path} (knobs: retry_failed=true, protocol.rationale_tokens, "
            "judge.max_model_len, max_unscored)"
        )
    if not asked:
        raise UsageError(f"no item could be judged: every record in {result.path} is no_candidate")
