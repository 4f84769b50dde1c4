"""The runner bounds, stores, resumes, drains and stops without losing what is done."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from judgelab.engines.base import Answer, Asker, Request
from judgelab.errors import EngineError
from judgelab.items import QAItem
from judgelab.records import Reason, Record, Unscored
from judgelab.runner import Outcome, Progress, run_items, settled
from judgelab.store import RunDirectory
from judgelab.subjects import Triplet

ITEMS = [QAItem(f"i{n}", f"q{n}?", ("a",)) for n in range(20)]


class NoAsker:
    """These protocols ask nothing."""

    async def ask(self, request: Request) -> Answer:
        raise AssertionError(request)


@dataclasses.dataclass
class FakeProtocol:
    """Two records an item; `act` may sleep, fail or count."""

    act: Callable[[QAItem], object] = lambda item: None
    prepared: int = 0
    now: int = 0
    most: int = 0

    def record_ids(self, item: QAItem) -> tuple[str, ...]:
        return (f"{item.item_id}-x", f"{item.item_id}-y")

    async def prepare(self, items: Sequence[QAItem], asker: Asker) -> None:
        self.prepared = len(items)

    async def judge(self, item: QAItem, asker: Asker) -> tuple[Record, ...]:
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0.001)
        self.now -= 1
        self.act(item)
        subject = Triplet(item.question, "a", "b", "oo", "CORRECT", "alias", "a", "b")
        return tuple(Record(i, item.item_id, "oo", "CORRECT", subject) for i in self.record_ids(item))


def go(
    protocol: FakeProtocol,
    run: RunDirectory,
    *,
    items: Sequence[QAItem] = ITEMS,
    keep: frozenset[str] = frozenset(),
    stop_after: int | None = None,
    seen: list[Progress] | None = None,
) -> Outcome:
    async def work() -> Outcome:
        stop = asyncio.Event()

        def report(progress: Progress) -> None:
            if seen is not None:
                seen.append(progress)
            if progress.done == stop_after:
                stop.set()

        asker = NoAsker()
        return await run_items(protocol, items, ITEMS, lambda _: asker, asker, run, keep, 4, stop, report)

    return asyncio.run(work())


def test_every_item_is_stored_once_within_bounds(tmp_path: Path) -> None:
    protocol, seen = FakeProtocol(), list[Progress]()
    assert go(protocol, RunDirectory(tmp_path), seen=seen) == Outcome(20, drained=False)
    lines = [line for file in tmp_path.glob("records*") for line in file.read_text().splitlines()]
    assert len(lines) == 40
    assert len(RunDirectory(tmp_path).records()) == 40
    assert protocol.most == 4
    assert protocol.prepared == 20
    assert [p.done for p in seen] == list(range(21))


def test_a_drain_keeps_what_is_done_and_starts_nothing_new(tmp_path: Path) -> None:
    outcome = go(FakeProtocol(), RunDirectory(tmp_path), stop_after=5)
    assert outcome.drained
    assert 5 <= outcome.done <= 9
    assert len(RunDirectory(tmp_path).records()) == 2 * outcome.done


def test_a_broken_run_keeps_what_is_done(tmp_path: Path) -> None:
    def act(item: QAItem) -> None:
        if item.item_id == "i9":
            raise EngineError("gone")

    with pytest.raises(EngineError, match="gone"):
        go(FakeProtocol(act), RunDirectory(tmp_path))
    stored = RunDirectory(tmp_path).records()
    assert {f"i{n}-x" for n in range(8)} <= stored.keys()
    assert "i9-x" not in stored


def test_records_that_stand_are_not_stored_again(tmp_path: Path) -> None:
    go(FakeProtocol(), RunDirectory(tmp_path), items=ITEMS[:3])
    keep = settled(RunDirectory(tmp_path).records(), retry_failed=False)
    go(FakeProtocol(), RunDirectory(tmp_path), items=ITEMS[:5], keep=keep)
    lines = [line for file in tmp_path.glob("records*") for line in file.read_text().splitlines()]
    assert len(lines) == 10


@pytest.mark.parametrize(
    ("reason", "stands", "stands_on_retry"),
    [
        (None, True, True),
        (Reason.NO_CANDIDATE, True, True),
        (Reason.TOO_LONG, True, False),
        (Reason.PARSE_ERROR, True, False),
        (Reason.TRUNCATED, True, False),
        (Reason.ENGINE_ERROR, False, False),
    ],
)
def test_which_records_stand(reason: Reason | None, stands: bool, stands_on_retry: bool) -> None:
    subject = Triplet("q", "a", "b", "oo", "CORRECT", "alias", "a", "b")
    record = Record("r", "i", "oo", None if reason else "CORRECT", subject, Unscored(reason) if reason else None)
    assert ("r" in settled({"r": record}, retry_failed=False)) is stands
    assert ("r" in settled({"r": record}, retry_failed=True)) is stands_on_retry
