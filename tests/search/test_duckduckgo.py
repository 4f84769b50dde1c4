"""The ddgs package says little and says it badly; each of its ways to fail has its status here."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import ddgs
import pytest
from ddgs.exceptions import DDGSException, RatelimitException, TimeoutException

from judgelab.search.base import SearchRequest, SearchResponse, Status
from judgelab.search.duckduckgo import DuckDuckGo, backends, classify
from judgelab.settings.search import SearchConfig

NOTHING = "No results found."
ROWS = [{"title": "Otters", "href": "https://a.example/1", "body": "They hold hands."}]


@pytest.mark.parametrize(
    ("message", "codes", "status"),
    [
        (NOTHING, [], Status.OK),
        (NOTHING, [200], Status.OK),
        (NOTHING, [200, 200], Status.OK),
        (NOTHING, [202], Status.RATE_LIMITED),
        (NOTHING, [429], Status.RATE_LIMITED),
        (NOTHING, [200, 202], Status.RATE_LIMITED),
        (NOTHING, [403], Status.BLOCKED),
        (NOTHING, [500], Status.BROKEN),
        (NOTHING, [404], Status.BROKEN),
        ("https://html.duckduckgo.com/html 202 Ratelimit", [], Status.RATE_LIMITED),
        ("Rate limit exceeded", [], Status.RATE_LIMITED),
        ("ConnectError: operation timed out", [], Status.TIMEOUT),
        ("DNSError: failed to lookup address", [], Status.UNREACHABLE),
        ("ConnectError: connection refused", [], Status.UNREACHABLE),
        ("ParserError: Document is empty", [200], Status.BROKEN),
        ("", [], Status.BROKEN),
    ],
)
def test_messages_are_classified(message: str, codes: list[int], status: Status) -> None:
    attempt = classify(message, codes)
    assert attempt.status is status
    assert attempt.data == ([] if status is Status.OK else None)
    assert attempt.again == (status not in (Status.OK, Status.BLOCKED) and codes != [404])


class Standin:
    """In the place of `ddgs.DDGS`: plays its outcomes in order, the last one for ever."""

    outcomes: list[Any]
    asked: list[dict[str, Any]]

    def __init__(self, timeout: int) -> None:
        assert isinstance(timeout, int)

    def text(self, query: str, **options: Any) -> Any:
        self.asked.append({"query": query, **options})
        outcome = self.outcomes.pop(0) if len(self.outcomes) > 1 else self.outcomes[0]
        if isinstance(outcome, Exception):
            raise outcome
        return outcome() if callable(outcome) else outcome


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch, quick: SearchConfig) -> Callable[..., SearchResponse]:
    monkeypatch.setattr(ddgs, "DDGS", Standin)
    Standin.asked = []

    def go(*outcomes: Any, **changed: Any) -> SearchResponse:
        Standin.outcomes = list(outcomes)

        async def query() -> SearchResponse:
            engine = DuckDuckGo(replace(quick, engine="duckduckgo", **changed), pause=0.001)
            answer = await engine.query(SearchRequest("do otters\nhold hands", 3))
            await engine.close()
            return answer

        return asyncio.run(query())

    return go


def test_results_are_read(ask: Callable[..., SearchResponse]) -> None:
    answer = ask(ROWS, timelimit="y")
    assert (answer.status, answer.engine) == (Status.OK, "duckduckgo")
    assert [(r.rank, r.title, r.text, r.url) for r in answer.results] == [
        (1, "Otters", "They hold hands.", "https://a.example/1")
    ]
    assert Standin.asked == [
        {
            "query": "do otters hold hands",
            "region": "us-en",
            "timelimit": "y",
            "max_results": 3,
            "backend": "duckduckgo",
        }
    ]


@pytest.mark.parametrize(
    ("outcome", "status", "requests"),
    [
        (DDGSException(NOTHING), Status.EMPTY, 1),
        ([], Status.EMPTY, 1),
        (RatelimitException("202 Ratelimit"), Status.RATE_LIMITED, 3),
        (TimeoutException("request timed out"), Status.TIMEOUT, 3),
        (DDGSException("DNSError: no"), Status.UNREACHABLE, 3),
        ([{"title": "no link"}], Status.BROKEN, 1),
        ("text", Status.BROKEN, 1),
    ],
)
def test_every_end_has_its_status(
    ask: Callable[..., SearchResponse], outcome: Any, status: Status, requests: int
) -> None:
    answer = ask(outcome)
    assert (answer.status, answer.results, len(Standin.asked)) == (status, (), requests)


def test_a_passing_refusal_passes(ask: Callable[..., SearchResponse]) -> None:
    assert ask(RatelimitException("202 Ratelimit"), ROWS).status is Status.OK
    assert len(Standin.asked) == 2


def test_a_call_that_hangs_is_a_timeout(ask: Callable[..., SearchResponse]) -> None:
    assert ask(lambda: time.sleep(0.4), timeout=0.05, tries=1).status is Status.TIMEOUT


@pytest.mark.parametrize(
    ("code", "status"),
    [(200, Status.EMPTY), (202, Status.RATE_LIMITED), (403, Status.BLOCKED), (503, Status.BROKEN)],
)
def test_refusals_of_the_real_package_are_seen(
    code: int, status: Status, monkeypatch: pytest.MonkeyPatch, quick: SearchConfig
) -> None:
    """The package itself, with its network alone replaced: to it every one of these is "No results found."."""
    from ddgs.http_client import HttpClient

    class Reply:
        status_code = code
        text = "<html><body><p>nothing</p></body></html>"

    monkeypatch.setattr(HttpClient, "request", lambda *args, **kwargs: Reply())
    settings = replace(quick, engine="duckduckgo", tries=1)
    answer = asyncio.run(DuckDuckGo(settings).query(SearchRequest("otters", 3)))
    assert answer.status is status


def test_the_default_backend_exists() -> None:
    assert SearchConfig().backend in backends()
