"""The call cache asks once, tells judges apart, and survives concurrent writers."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest

from judgelab.engines.base import (
    Choice,
    Completion,
    Facts,
    FreeText,
    Identity,
    Request,
    Sampling,
    Schema,
    request_key,
)
from judgelab.engines.cached import CachedEngine, CallCache, Fresh, compact
from judgelab.errors import RequestError
from judgelab.records import Message

ME = Identity("fake", {"weights": "a"})
ASK = Request((Message("user", "hi"),), FreeText(), Sampling(8), "test")


class FakeEngine:
    """Answers with a running number, so that a repeated call shows."""

    def __init__(self, identity: Identity = ME, fail: bool = False) -> None:
        self.identity = identity
        self.asked = 0
        self.most = self._now = 0
        self.fail = fail

    async def complete(self, request: Request) -> Completion:
        self.asked += 1
        number = self.asked
        self._now += 1
        self.most = max(self.most, self._now)
        await asyncio.sleep(0.01)
        self._now -= 1
        if self.fail:
            raise RequestError("no")
        return Completion(str(number), "stop", 3, 1)

    async def close(self) -> None: ...

    def describe(self) -> dict[str, str]:
        return {}


def cached(folder: Path, engine: FakeEngine, in_flight: int = 4) -> CachedEngine:
    return CachedEngine(engine, CallCache(folder, engine.identity.canonical()), in_flight)


def test_asks_once_in_one_process_and_the_next(tmp_path: Path) -> None:
    async def go(asker: CachedEngine) -> list[str]:
        answers = await asyncio.gather(*(asker.ask(ASK) for _ in range(5)))
        again = await asker.ask(ASK)
        await asker.close()
        return [a.completion.text for a in [*answers, again]]

    first, second = FakeEngine(), FakeEngine()
    assert asyncio.run(go(cached(tmp_path, first))) == ["1"] * 6
    assert asyncio.run(go(cached(tmp_path, second))) == ["1"] * 6
    assert (first.asked, second.asked) == (1, 0)


def test_calls_in_flight_are_bounded(tmp_path: Path) -> None:
    engine = FakeEngine()

    async def go() -> None:
        asker = cached(tmp_path, engine, in_flight=3)
        asks = [dataclasses.replace(ASK, sampling=Sampling(8, sample=i)) for i in range(20)]
        await asyncio.gather(*(asker.ask(each) for each in asks))

    asyncio.run(go())
    assert engine.most == 3


def test_a_failure_reaches_every_asker_and_is_not_stored(tmp_path: Path) -> None:
    async def go() -> list[object]:
        asker = cached(tmp_path, FakeEngine(fail=True))
        return await asyncio.gather(*(asker.ask(ASK) for _ in range(3)), return_exceptions=True)

    assert [type(each) for each in asyncio.run(go())] == [RequestError] * 3
    assert not list(tmp_path.glob("calls*"))


def test_fresh_asks_again(tmp_path: Path) -> None:
    async def go() -> list[str]:
        asker = cached(tmp_path, FakeEngine())
        return [(await each.ask(ASK)).completion.text for each in (asker, Fresh(asker), asker)]

    assert asyncio.run(go()) == ["1", "2", "1"]


def test_the_smallest_segment_wins_for_every_reader_and_compaction_keeps_it(tmp_path: Path) -> None:
    key = request_key(ME, ASK)
    caches = [CallCache(tmp_path, {}) for _ in range(3)]
    for number, cache in enumerate(caches):
        cache.put(key, ASK, Completion(str(number), "stop", 1, 1))
        cache.close()
    winner = sorted(tmp_path.glob("calls*"))[0]
    expected = CallCache(tmp_path, {}).get(key)
    assert expected is not None
    assert f'"text":"{expected.text}"' in winner.read_text()
    assert compact(tmp_path) == 1
    assert CallCache(tmp_path, {}).get(key) == expected
    assert len(list(tmp_path.glob("calls*"))) == 1


CHOICE = Choice(("A", "B"), ("YES", "NO"))
CHANGES: dict[str, Callable[[Request], Request]] = {
    "message": lambda r: dataclasses.replace(r, messages=(Message("user", "hi "),)),
    "role": lambda r: dataclasses.replace(r, messages=(Message("system", "hi"),)),
    "continuation": lambda r: dataclasses.replace(r, continuation="x"),
    "max_tokens": lambda r: dataclasses.replace(r, sampling=Sampling(9)),
    "temperature": lambda r: dataclasses.replace(r, sampling=Sampling(8, temperature=0.1)),
    "sample": lambda r: dataclasses.replace(r, sampling=Sampling(8, sample=1)),
    "stop": lambda r: dataclasses.replace(r, output=FreeText(("x",))),
    "schema": lambda r: dataclasses.replace(r, output=Schema("{}")),
    "labels": lambda r: dataclasses.replace(r, output=CHOICE),
    "constrained": lambda r: dataclasses.replace(r, output=dataclasses.replace(CHOICE, constrained=False)),
}


def test_everything_that_changes_the_answer_changes_the_key() -> None:
    keys = {name: request_key(ME, change(ASK)) for name, change in CHANGES.items()}
    keys["none"] = request_key(ME, ASK)
    keys["judge"] = request_key(Identity("fake", {"weights": "b"}), ASK)
    keys["engine"] = request_key(Identity("other", {"weights": "a"}), ASK)
    assert len(set(keys.values())) == len(keys)


@pytest.mark.parametrize(
    "change",
    [
        lambda r: dataclasses.replace(r, purpose="other"),
        lambda r: dataclasses.replace(r, facts=Facts("a", "b", "c")),
    ],
)
def test_what_engines_never_see_leaves_the_key_alone(change: Callable[[Request], Request]) -> None:
    assert request_key(ME, change(ASK)) == request_key(ME, ASK)
