"""One run from config to figures: load, judge what is missing, and score once every record is there.

Invariant: nothing is loaded or asked that the records and the call cache already answer.
"""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from judgelab import config as cfg
from judgelab.drain import Drain
from judgelab.engines.cached import CachedEngine, CallCache, Fresh
from judgelab.errors import Drained, JudgelabError, UsageError
from judgelab.items import Item
from judgelab.planning import Plan, plan
from judgelab.progress import Display
from judgelab.provenance import about_this_process
from judgelab.records import Record
from judgelab.runner import Outcome, Progress, run_items, settled
from judgelab.settings import Config, JudgeConfig, analysis_of
from judgelab.status import Watch
from judgelab.store import Launch, now


@dataclass(frozen=True)
class Result:
    """A run after this launch. `summary` (the content of summary.json) is None until every record is there; `figures`
    is the folder that it stands in."""

    path: Path
    summary: Mapping[str, Any] | None
    missing: int
    figures: Path | None = None


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


async def run_async(
    config: Config,
    *,
    drain: Drain | None = None,
    fetch: Callable[[JudgeConfig], None] | None = None,
    evidence: Path | None = None,
    page: bool = True,
) -> Result:
    """As `run`, inside the caller's event loop. `drain` may stop it. Without `page`, an analysis other than the default
    one gets its numbers alone (see `scoring.score`)."""
    drain = drain or Drain()
    drain.check("nothing was begun")
    plan_ = await asyncio.to_thread(plan, config, fetch, evidence)
    config, run_ = plan_.config, plan_.run
    drain.check("nothing was judged in this launch; the same command begins")
    with run_.lock(config.shard):
        about = {
            **about_this_process(),
            "judge": cfg.plain(config.judge) if plan_.judge else None,
            "dropped": dict(plan_.dataset.dropped),
            "n_items": len(plan_.items),
            "n_records": sum(map(len, plan_.record_ids)),
        }
        run_.claim(plan_.science, cfg.dump(config), about)
        stored = run_.records()
        todo = plan_.todo(stored)
        with Watch(run_.path, config.shard) if todo else nullcontext() as watch:
            if watch:
                await _work(plan_, todo, stored, drain, watch)
                stored = run_.records()
            if missing := plan_.missing(stored):
                return Result(run_.path, None, missing)
            from judgelab.scoring import Analysis, is_default, score, summary_path

            analysis = Analysis(config.analysis, analysis_of(config.protocol))
            with drain.interrupting(f"every record is there; judgelab score {run_.path} computes the figures"):
                summary = score(run_, analysis, page)
            figures = run_.path if is_default(run_, analysis) else summary_path(run_, analysis).parent
            return Result(run_.path, summary, 0, figures)


async def _work(plan_: Plan, todo: Sequence[Item], stored: Mapping[str, Record], drain: Drain, watch: Watch) -> None:
    config, run_ = plan_.config, plan_.run
    asker = CachedEngine(plan_.engine, CallCache(plan_.cache, plan_.engine.identity.canonical()), config.in_flight)
    again = {
        item.item_id
        for item in todo
        if config.retry_failed and any(i in stored for i in plan_.protocol.record_ids(item))
    }
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    started, clock, ended = now(), time.monotonic(), "failed"

    def report(progress: Progress) -> None:
        display.update(progress)
        watch.update(progress.done, progress.items)

    try:
        with (
            drain.waking(lambda: loop.call_soon_threadsafe(stop.set)),
            Display(f"{plan_.science.protocol['name']} on {config.dataset.name}", asker) as display,
        ):
            outcome: Outcome = await run_items(
                plan_.protocol,
                todo,
                plan_.items,
                lambda item: Fresh(asker) if item.item_id in again else asker,
                asker,
                run_,
                settled(stored, config.retry_failed),
                config.in_flight,
                stop,
                report,
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
        raise UsageError(
            f"no item could be judged: none in {result.path} has an admissible wrong answer (reason no_candidate): try "
            "another swap (protocol.swap=), candidates by the judge (protocol.candidates=model), or, where the judge "
            "knows no answer at all, another judge"
        )
