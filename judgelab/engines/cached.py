"""Every call passes here: answered from the call cache where it was asked before, else by the engine, in bounds.

Invariant: a request is sent to the engine only if no segment holds its key, and it is sent once however many ask
for it at the same time; so a run whose calls are all cached never starts an engine.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judgelab.engines.base import Answer, Completion, Engine, Request, request_key
from judgelab.journal import JournalWriter, Line, Position, read_segment, segments, write_atomic

if TYPE_CHECKING:
    from pydantic import TypeAdapter

log = logging.getLogger(__name__)

STEM = "calls"


@dataclass(frozen=True)
class Tally:
    """Totals of one purpose: `calls` were answered by the engine, `hits` by the cache. `seconds` sums the time of
    calls, which overlap."""

    calls: int = 0
    hits: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    generated_tokens: int = 0
    seconds: float = 0.0

    def __add__(self, other: Tally) -> Tally:
        return Tally(**{f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(Tally)})


class CallCache:
    """The segments of one engine identity: `<folder>/calls-*.jsonl`, read once, then grown by this process alone.

    Among duplicates that concurrent jobs wrote, the smallest (segment, offset) wins for every reader.
    """

    def __init__(self, folder: Path, identity: Mapping[str, Any]) -> None:
        self.folder = folder
        self._identity = identity
        self._known: dict[str, Completion] = {}
        self._writer = JournalWriter(folder, STEM)
        self._named = False
        for path in segments(folder, STEM):
            for key, completion in _calls(path):
                self._known.setdefault(key, completion)

    def get(self, key: str) -> Completion | None:
        """The stored completion, if any."""
        return self._known.get(key)

    def put(self, key: str, request: Request, completion: Completion) -> Position:
        """Store a completion; it is on disk when this returns."""
        if not self._named:  # once a process: a look at each call would be most of what a run asks of the file system
            self._name()
        position = self._writer.append({"key": key, "purpose": request.purpose, "completion": asdict(completion)})
        self._known.setdefault(key, completion)
        return position

    def close(self) -> None:
        """Close this process's segment."""
        self._writer.close()

    def _name(self) -> None:
        """Say in the folder whose calls these are."""
        path = self.folder / "identity.json"
        if not path.exists():
            write_atomic(path, json.dumps(self._identity, indent=1, sort_keys=True, ensure_ascii=False))
        self._named = True


@cache
def _completion() -> TypeAdapter[Completion]:
    from pydantic import TypeAdapter

    return TypeAdapter(Completion)


def _call(line: Line) -> tuple[str, Completion] | None:
    """Key and completion of a line; None for one that is no call."""
    key = line.value.get("key")
    try:
        completion = _completion().validate_python(line.value.get("completion"))
    except ValueError:
        return None
    return (key, completion) if isinstance(key, str) else None


def _calls(path: Path) -> Iterator[tuple[str, Completion]]:
    """The calls of a segment. Lines that are none are left out with a warning: what a cache has lost is asked again."""
    bad: list[str] = []
    for line in read_segment(path, bad.append):
        if (call := _call(line)) is not None:
            yield call
        else:
            bad.append(line.place)
    if bad:
        log.warning(
            "%s is no call and is left out (%d such lines; judgelab cache compact drops them)", bad[0], len(bad)
        )


def compact(folder: Path) -> int:
    """Merge the segments of a cache folder into one and drop duplicates; returns the number of calls kept.

    Only for a cache nobody writes to: a segment that grows meanwhile would lose what it gained.
    """
    paths = segments(folder, STEM)
    seen: set[str] = set()
    writer = JournalWriter(folder, f"{STEM}-0-compacted")
    with writer:
        for path in paths:
            for line in read_segment(path, bad=lambda _: None):
                call = _call(line)
                if call is not None and call[0] not in seen:
                    seen.add(call[0])
                    writer.append(line.value)
    for path in paths:
        path.unlink()
    return len(seen)


class CachedEngine:
    """What protocols ask through (`base.Asker`)."""

    def __init__(self, engine: Engine, cache: CallCache, in_flight: int) -> None:
        self.engine = engine
        self.cache = cache
        self.tallies: dict[str, Tally] = {}
        self._slots = asyncio.Semaphore(in_flight)
        self._pending: dict[str, asyncio.Future[Completion]] = {}

    async def ask(self, request: Request, *, refresh: bool = False) -> Answer:
        """Answer one request; `refresh` ignores what the cache holds. Raises as `Engine.complete` does."""
        key = request_key(self.engine.identity, request)
        if (known := None if refresh else self.cache.get(key)) is not None:
            self._count(request.purpose, Tally(hits=1))
            return Answer(known, key, cached=True)
        if (pending := self._pending.get(key)) is not None:
            completion = await asyncio.shield(pending)
            self._count(request.purpose, Tally(hits=1))
            return Answer(completion, key, cached=True)
        future: asyncio.Future[Completion] = asyncio.get_running_loop().create_future()
        future.add_done_callback(_retrieve)
        self._pending[key] = future
        try:
            async with self._slots:
                completion = await self.engine.complete(request)
            completion = replace(completion, seconds=round(completion.seconds, 6))
            self.cache.put(key, request, completion)
        except BaseException as error:
            if not future.done():
                future.set_exception(error if isinstance(error, Exception) else asyncio.CancelledError())
            raise
        finally:
            del self._pending[key]
        future.set_result(completion)
        self._count(
            request.purpose,
            Tally(
                calls=1,
                prompt_tokens=completion.prompt_tokens,
                cached_tokens=completion.cached_tokens,
                generated_tokens=completion.generated_tokens,
                seconds=completion.seconds,
            ),
        )
        return Answer(completion, key, cached=False)

    async def close(self) -> None:
        """Close the engine, then the segment."""
        try:
            await self.engine.close()
        finally:
            self.cache.close()

    def total(self) -> Tally:
        """Sum over purposes."""
        return sum(self.tallies.values(), Tally())

    def _count(self, purpose: str, tally: Tally) -> None:
        self.tallies[purpose] = self.tallies.get(purpose, Tally()) + tally


class Fresh:
    """Asks the engine again whatever the cache holds: for items that failed and are to be tried again."""

    def __init__(self, asker: CachedEngine) -> None:
        self._asker = asker

    async def ask(self, request: Request) -> Answer:
        """As `CachedEngine.ask`, with `refresh`."""
        return await self._asker.ask(request, refresh=True)


def _retrieve(future: asyncio.Future[Completion]) -> None:
    """Mark a failure as seen: the asker that caused it raises it, whether or not anyone else waits."""
    if not future.cancelled():
        future.exception()
