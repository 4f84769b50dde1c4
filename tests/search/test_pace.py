"""Requests keep their distance, their budget and their patience."""

from __future__ import annotations

import asyncio
import itertools
import time

from judgelab.search.base import Status
from judgelab.search.pace import Attempt, Pace
from judgelab.settings.search import SearchConfig


def test_requests_keep_their_distance() -> None:
    sent: list[float] = []

    async def send() -> Attempt:
        sent.append(time.monotonic())
        return Attempt(Status.OK)

    async def go() -> None:
        pace = Pace(SearchConfig(rate=50.0))
        await asyncio.gather(*(pace.ask(send) for _ in range(5)))

    asyncio.run(go())
    assert len(sent) == 5
    assert sent == sorted(sent)
    assert sent[-1] - sent[0] >= 4 * 0.02 - 0.005


def test_the_budget_holds_for_all_requests_together() -> None:
    sent: list[int] = []

    async def send() -> Attempt:
        sent.append(1)
        return Attempt(Status.BROKEN, again=len(sent) < 3)

    async def go() -> list[Attempt]:
        pace = Pace(SearchConfig(rate=1000.0, budget=4, tries=9), pause=0.001)
        return [await pace.ask(send) for _ in range(3)]

    outcomes = asyncio.run(go())
    assert [o.status for o in outcomes] == [Status.BROKEN, Status.BROKEN, Status.BUDGET]
    assert len(sent) == 4
    assert "search.budget" in outcomes[-1].detail


def test_a_budget_of_nothing_asks_nothing() -> None:
    async def send() -> Attempt:
        raise AssertionError

    assert asyncio.run(Pace(SearchConfig(budget=0)).ask(send)).status is Status.BUDGET


def test_back_off_grows() -> None:
    sent: list[float] = []

    async def send() -> Attempt:
        sent.append(time.monotonic())
        return Attempt(Status.TIMEOUT, again=True)

    outcome = asyncio.run(Pace(SearchConfig(rate=1e6, tries=4), pause=0.04).ask(send))
    gaps = [after - before for before, after in itertools.pairwise(sent)]
    assert len(gaps) == 3
    for gap, least in zip(gaps, (0.02, 0.04, 0.08), strict=True):  # half of the back-off is certain
        assert gap >= least
    assert "4 tries" in outcome.detail


def test_a_rate_limit_holds_everybody_back() -> None:
    sent: list[float] = []

    async def send() -> Attempt:
        sent.append(time.monotonic())
        return Attempt(Status.RATE_LIMITED, again=True, wait=0.2) if len(sent) == 1 else Attempt(Status.OK)

    async def go() -> None:
        pace = Pace(SearchConfig(rate=1e6))
        first = asyncio.create_task(pace.ask(send))
        await asyncio.sleep(0.02)
        await pace.ask(send)
        await first

    asyncio.run(go())
    assert sent[1] - sent[0] >= 0.15
