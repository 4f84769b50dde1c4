"""Recording and replaying: who is asked when, and what is kept."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from judgelab.errors import JudgelabError
from judgelab.search.base import Result, SearchRequest, SearchResponse, Status, evidence_key
from judgelab.search.evidence import Evidence
from judgelab.search.recorded import EMPTY_DAYS, RecordedSearch
from judgelab.search.store import EvidenceStore
from judgelab.settings.search import SearchMode

IDENTITY = {"engine": "scribe", "version": 1}
OTTERS = SearchRequest("do otters hold hands", 3)


class Scribe:
    """An engine that numbers its answers; `status` is what it says, `gate` what it waits for."""

    identity: Mapping[str, Any] = IDENTITY

    def __init__(self, status: Status = Status.OK) -> None:
        self.status = status
        self.asked: list[SearchRequest] = []
        self.closed = 0
        self.gate: asyncio.Event | None = None
        self.error: Exception | None = None

    async def query(self, request: SearchRequest) -> SearchResponse:
        self.asked.append(request)
        number = len(self.asked)
        if self.gate is not None:
            await self.gate.wait()
        if self.error is not None:
            raise self.error
        results = (Result(1, "T", f"answer {number}", "https://a.example"),) if self.status is Status.OK else ()
        fetched_at = datetime.now(UTC).isoformat(timespec="seconds")
        return SearchResponse(self.status, results, "scribe", fetched_at, "" if results else "why", 0.25)

    async def close(self) -> None:
        self.closed += 1


def search(folder: Path, inner: Scribe | None, mode: SearchMode) -> RecordedSearch:
    return RecordedSearch(inner, EvidenceStore(folder, "scribe"), mode, IDENTITY)


def ask(made: RecordedSearch, *requests: SearchRequest) -> list[SearchResponse]:
    """One after another, then closed."""

    async def go() -> list[SearchResponse]:
        try:
            return [await made.query(request) for request in requests]
        finally:
            await made.close()

    return asyncio.run(go())


def keep(folder: Path, status: Status, days: float, number: int = 0) -> None:
    """What an earlier run has kept so many days ago."""
    results = (Result(1, "T", f"kept {number}", "https://a.example"),) if status is Status.OK else ()
    at = (datetime.now(UTC) - timedelta(days=days)).isoformat(timespec="seconds")
    store = EvidenceStore(folder, "scribe")
    response = SearchResponse(status, results, "scribe", at)
    store.put(Evidence(evidence_key(IDENTITY, OTTERS), IDENTITY, OTTERS, response, "scribe 1"))
    store.close()


@pytest.mark.parametrize(
    ("mode", "kept", "asked", "text"),
    [
        (SearchMode.live, False, 2, "answer 2"),
        (SearchMode.live, True, 2, "answer 2"),
        (SearchMode.record, False, 1, "answer 1"),
        (SearchMode.record, True, 1, "answer 1"),
        (SearchMode.replay, True, 0, "kept 0"),
        (SearchMode.replay_or_live, False, 1, "answer 1"),
        (SearchMode.replay_or_live, True, 0, "kept 0"),
    ],
)
def test_who_is_asked(mode: SearchMode, kept: bool, asked: int, text: str, tmp_path: Path) -> None:
    """The same query twice in one launch."""
    if kept:
        keep(tmp_path, Status.OK, days=1)
    scribe = Scribe()
    answers = ask(search(tmp_path, scribe, mode), OTTERS, OTTERS)
    assert len(scribe.asked) == asked
    assert answers[-1].results[0].text == text
    assert [answer.recorded for answer in answers] == [n >= asked for n in range(2)]
    assert scribe.closed == 1


def test_live_keeps_nothing(tmp_path: Path) -> None:
    ask(search(tmp_path, Scribe(), SearchMode.live), OTTERS)
    assert not list(tmp_path.rglob("*.jsonl"))


def test_what_was_recorded_is_replayed_to_the_letter(tmp_path: Path) -> None:
    (live,) = ask(search(tmp_path, Scribe(), SearchMode.record), OTTERS)
    (replayed,) = ask(search(tmp_path, None, SearchMode.replay), OTTERS)
    assert replayed == replace(live, recorded=True)


def test_recording_again_replaces_what_is_replayed(tmp_path: Path) -> None:
    keep(tmp_path, Status.OK, days=30)
    ask(search(tmp_path, Scribe(), SearchMode.record), OTTERS)
    assert ask(search(tmp_path, None, SearchMode.replay), OTTERS)[0].results[0].text == "answer 1"


@pytest.mark.parametrize("status", [status for status in Status if not status.answered])
@pytest.mark.parametrize("mode", [SearchMode.record, SearchMode.replay_or_live])
def test_failures_are_never_kept(status: Status, mode: SearchMode, tmp_path: Path) -> None:
    scribe = Scribe(status)
    answers = ask(search(tmp_path, scribe, mode), OTTERS, OTTERS)
    assert [answer.status for answer in answers] == [status, status]
    assert len(scribe.asked) == 2
    assert not list(tmp_path.rglob("*.jsonl"))


@pytest.mark.parametrize(
    ("mode", "days", "asked"),
    [
        (SearchMode.replay_or_live, EMPTY_DAYS - 1, 0),
        (SearchMode.replay_or_live, EMPTY_DAYS + 1, 1),
        (SearchMode.replay, EMPTY_DAYS + 1000, 0),
    ],
)
def test_nothing_found_is_believed_for_a_week(mode: SearchMode, days: int, asked: int, tmp_path: Path) -> None:
    keep(tmp_path, Status.EMPTY, days)
    scribe = Scribe(Status.EMPTY)
    (answer,) = ask(search(tmp_path, scribe, mode), OTTERS)
    assert (answer.status, answer.recorded, len(scribe.asked)) == (Status.EMPTY, not asked, asked)
    ask(search(tmp_path, scribe, mode), OTTERS)
    assert len(scribe.asked) == asked  # what was asked again is fresh again


def test_results_do_not_age(tmp_path: Path) -> None:
    keep(tmp_path, Status.OK, days=4000)
    scribe = Scribe()
    ask(search(tmp_path, scribe, SearchMode.replay_or_live), OTTERS)
    assert not scribe.asked


@pytest.mark.parametrize(
    "request_",
    [
        SearchRequest("do otters hold paws", 3),
        SearchRequest("do otters hold hands", 4),
        SearchRequest("do otters hold hands", 3, ("hidden",)),
    ],
)
def test_a_miss_in_replay_is_an_error(request_: SearchRequest, tmp_path: Path) -> None:
    keep(tmp_path, Status.OK, days=0)
    scribe = Scribe()
    with pytest.raises(JudgelabError, match=r"scribe.*do otters hold.*search\.mode=.*search\.recorded=") as caught:
        ask(search(tmp_path, scribe, SearchMode.replay), request_)
    assert "\n" not in str(caught.value)
    assert not scribe.asked


@pytest.mark.parametrize("query", ["  do otters\n hold hands ", "do otters hold\thands"])
def test_spaces_make_no_other_query(query: str, tmp_path: Path) -> None:
    keep(tmp_path, Status.OK, days=0)
    assert ask(search(tmp_path, None, SearchMode.replay), replace(OTTERS, query=query))[0].recorded


def test_composed_and_decomposed_letters_are_one_query(tmp_path: Path) -> None:
    scribe = Scribe()
    made = search(tmp_path, scribe, SearchMode.replay_or_live)
    ask(made, SearchRequest("caf\u00e9", 3), SearchRequest("cafe\u0301", 3))
    assert [request.query for request in scribe.asked] == ["caf\u00e9"]


@pytest.mark.parametrize("mode", list(SearchMode))
def test_an_empty_query_is_nobodys_to_answer(mode: SearchMode, tmp_path: Path) -> None:
    scribe = Scribe()
    (answer,) = ask(search(tmp_path, scribe, mode), SearchRequest(" \n", 3))
    assert (answer.status, scribe.asked) == (Status.EMPTY, [])


@pytest.mark.parametrize(
    ("hidden", "status"), [((), Status.OK), (("Answer  1!",), Status.EMPTY), (("answer",), Status.OK)]
)
def test_hidden_texts_are_no_results_of_any_engine(hidden: tuple[str, ...], status: Status, tmp_path: Path) -> None:
    request = replace(OTTERS, hidden=hidden)
    (live,) = ask(search(tmp_path, Scribe(), SearchMode.record), request)
    assert (live.status, len(live.results)) == (status, status is Status.OK)
    assert ask(search(tmp_path, None, SearchMode.replay), request) == [replace(live, recorded=True)]


def test_who_waits_for_another_has_searched_nothing(tmp_path: Path) -> None:
    scribe = Scribe()
    made = search(tmp_path, scribe, SearchMode.live)
    together(scribe, made, nothing)
    assert (made.counts()["queries"], made.counts()["made"], made.counts()["replayed"]) == (3, 1, 2)


def together(scribe: Scribe, made: RecordedSearch, act: Callable[[list[asyncio.Task[Any]]], Awaitable[None]]) -> Any:
    """Three ask for the same while the engine is at it; then `act`, then the engine answers."""

    async def go() -> list[Any]:
        scribe.gate = asyncio.Event()
        tasks = [asyncio.create_task(made.query(OTTERS)) for _ in range(3)]
        await asyncio.sleep(0.01)
        await act(tasks)
        scribe.gate.set()
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        await made.close()
        return outcomes

    return asyncio.run(go())


async def nothing(tasks: list[asyncio.Task[Any]]) -> None:
    """Let it go on."""


async def cancel_first(tasks: list[asyncio.Task[Any]]) -> None:
    tasks[0].cancel()
    await asyncio.sleep(0.01)


@pytest.mark.parametrize("mode", [SearchMode.live, SearchMode.record, SearchMode.replay_or_live])
def test_who_asks_at_the_same_time_asks_once(mode: SearchMode, tmp_path: Path) -> None:
    scribe = Scribe()
    outcomes = together(scribe, search(tmp_path, scribe, mode), nothing)
    assert len(scribe.asked) == 1
    assert [outcome.results[0].text for outcome in outcomes] == ["answer 1"] * 3


def test_who_gives_up_takes_nothing_from_the_others(tmp_path: Path) -> None:
    scribe = Scribe()
    first, *others = together(scribe, search(tmp_path, scribe, SearchMode.record), cancel_first)
    assert isinstance(first, asyncio.CancelledError)
    assert [outcome.results[0].text for outcome in others] == ["answer 1"] * 2
    assert len(scribe.asked) == 1


def test_an_error_reaches_everybody(tmp_path: Path) -> None:
    scribe = Scribe()
    scribe.error = JudgelabError("no")
    outcomes = together(scribe, search(tmp_path, scribe, SearchMode.record), nothing)
    assert all(isinstance(outcome, JudgelabError) for outcome in outcomes)


def test_counts(tmp_path: Path) -> None:
    keep(tmp_path, Status.OK, days=10)
    scribe = Scribe()
    made = search(tmp_path, scribe, SearchMode.replay_or_live)

    async def go() -> None:
        await made.query(OTTERS)
        await made.query(OTTERS)
        for status in (Status.OK, Status.EMPTY, Status.TIMEOUT, Status.TIMEOUT, Status.BLOCKED):
            scribe.status = status
            await made.query(SearchRequest(f"{status} {len(scribe.asked)}", 3))
        await made.close()

    asyncio.run(go())
    counts = dict(made.counts())
    oldest, newest = datetime.fromisoformat(counts.pop("oldest")), datetime.fromisoformat(counts.pop("newest"))
    assert counts == {
        "engine": "scribe",
        "mode": "replay_or_live",
        "queries": 7,
        "made": 5,
        "replayed": 2,
        "empty": 1,
        "failed": {"blocked": 1, "timeout": 2},
    }
    assert timedelta(days=9) < newest - oldest < timedelta(days=11)


def test_counts_before_any_search(tmp_path: Path) -> None:
    counts = search(tmp_path, Scribe(), SearchMode.live).counts()
    assert (counts["made"], counts["oldest"], counts["newest"]) == (0, None, None)


@pytest.mark.parametrize("mode", [mode for mode in SearchMode if mode is not SearchMode.replay])
def test_without_an_engine_there_is_only_replay(mode: SearchMode, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="replay"):
        search(tmp_path, None, mode)
