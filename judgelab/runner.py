"""Items through a protocol: bounded in flight, resumable, and stopped without losing what is done.

Invariant: an item's records are stored together when its last one is known, or not at all; whatever is stored is
never asked for again unless the user says so.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from typing import Protocol as TypingProtocol

from judgelab.engines.base import Asker
from judgelab.items import Item
from judgelab.records import Reason, Record
from judgelab.store import RunDirectory

DRAIN_GRACE = 30.0  # seconds that calls in flight get to end after the first signal
I = TypeVar("I", bound=Item, contravariant=True)  # noqa: E741 - the kind of item that a protocol judges


class Protocol(TypingProtocol[I]):
    """What the runner needs of a protocol."""

    def record_ids(self, item: I) -> tuple[str, ...]:
        """The ids of the records that `judge` will make of an item."""
        ...

    async def prepare(self, items: Sequence[I], asker: Asker) -> None:
        """What must be known of all items before the first is judged."""
        ...

    async def judge(self, item: I, asker: Asker) -> tuple[Record, ...]:
        """Judge one item. A failed judgment is a record; only a broken run raises."""
        ...

    def fingerprint(self) -> str:
        """Content hash of everything written in code that changes what is asked."""
        ...


@dataclass(frozen=True)
class Progress:
    """Where a run stands: items done of `items`, records without verdict so far."""

    items: int
    done: int
    unscored: int


@dataclass(frozen=True)
class Outcome:
    """How far the runner came: `drained` if it was told to stop before the last item."""

    done: int
    drained: bool


def settled(stored: Mapping[str, Record], retry_failed: bool) -> frozenset[str]:
    """Ids of records that stand: scored, or failed for a reason that asking again will not change.

    With `retry_failed` every failure is asked again, but for items that have no admissible candidate.
    """

    def stands(record: Record) -> bool:
        reason = record.unscored.reason if record.unscored else None
        return reason in (None, Reason.NO_CANDIDATE) or (reason.final and not retry_failed)

    return frozenset(record_id for record_id, record in stored.items() if stands(record))


async def run_items(
    protocol: Protocol[Any],
    items: Sequence[Item],
    pool: Sequence[Item],
    asker_of: Callable[[Item], Asker],
    asker: Asker,
    run: RunDirectory,
    keep: frozenset[str],
    in_flight: int,
    stop: asyncio.Event,
    report: Callable[[Progress], None],
) -> Outcome:
    """Judge `items`, storing each one's records as it ends.

    `prepare` sees the whole `pool` and asks through `asker`; an item is judged through `asker_of` it. `keep` names
    records that stand and are not stored again. When `stop` is set no item is started any more and those in flight
    get `DRAIN_GRACE` seconds. Raises what broke the run, after everything finished until then is stored.
    """
    waiting = iter(items)
    running: dict[asyncio.Task[tuple[Record, ...]], Item] = {}
    done = unscored = 0
    stopped = asyncio.ensure_future(stop.wait())
    preparation = asyncio.ensure_future(protocol.prepare(pool, asker))
    try:
        await asyncio.wait({preparation, stopped}, return_when=asyncio.FIRST_COMPLETED)
        if not preparation.done():
            return Outcome(0, drained=True)
        preparation.result()
        report(Progress(len(items), 0, 0))
        exhausted = False
        while True:
            while not exhausted and not stop.is_set() and len(running) < in_flight:
                item = next(waiting, None)
                if item is None:
                    exhausted = True
                else:
                    running[asyncio.ensure_future(protocol.judge(item, asker_of(item)))] = item
            if not running:
                break
            watched: set[asyncio.Future[Any]] = {*running}
            if not stop.is_set():
                watched.add(stopped)
            finished, _ = await asyncio.wait(
                watched,
                return_when=asyncio.FIRST_COMPLETED,
                timeout=DRAIN_GRACE if stop.is_set() else None,
            )
            if not finished:
                break
            broken: BaseException | None = None
            for task in [t for t in running if t in finished]:
                del running[task]
                if error := task.exception():
                    broken = broken or error
                    continue
                run.append(record for record in task.result() if record.record_id not in keep)
                unscored += sum(record.unscored is not None for record in task.result())
                done += 1
                report(Progress(len(items), done, unscored))
            if broken:
                raise broken
        return Outcome(done, drained=done < len(items))
    finally:
        leftover = [*running, stopped, preparation]
        for future in leftover:
            future.cancel()
        await asyncio.gather(*leftover, return_exceptions=True)
