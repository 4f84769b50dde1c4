"""Each engine of the web against a stand-in that speaks its published format: every way it ends is one status."""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from loopback import Answer, Loopback, as_html, as_json

from judgelab.search.base import Search, SearchRequest, SearchResponse, Status
from judgelab.search.brave import Brave
from judgelab.search.http import MAX_BYTES, retry_after
from judgelab.search.searxng import Searxng
from judgelab.search.serper import Serper
from judgelab.search.tavily import Tavily
from judgelab.settings.search import SearchConfig

KEY = "k-3f9a-not-to-be-told"
PAUSE = 0.01

Build = Callable[[SearchConfig, str], Search]
ENGINES: dict[str, Build] = {
    "serper": lambda settings, url: Serper(settings, KEY, url, PAUSE),
    "brave": lambda settings, url: Brave(settings, KEY, url, PAUSE),
    "tavily": lambda settings, url: Tavily(settings, KEY, url, PAUSE),
    "searxng": lambda settings, url: Searxng(settings, url, PAUSE),
}
FOUND: dict[str, Any] = {
    "serper": {
        "searchParameters": {"q": "x"},
        "organic": [
            {"title": "Otters", "link": "https://a.example/1", "snippet": "They hold hands.", "date": "3 May 2024"},
            {"title": "Rafts", "link": "https://a.example/2", "snippet": "A group is a raft."},
        ],
    },
    "brave": {
        "type": "search",
        "web": {
            "results": [
                {
                    "title": "Otters",
                    "url": "https://a.example/1",
                    "description": "They hold hands.",
                    "page_age": "3 May 2024",
                },
                {"title": "Rafts", "url": "https://a.example/2", "description": "A group is a raft."},
            ]
        },
    },
    "tavily": {
        "query": "x",
        "results": [
            {
                "title": "Otters",
                "url": "https://a.example/1",
                "content": "They hold hands.",
                "score": 0.9,
                "published_date": "3 May 2024",
            },
            {"title": "Rafts", "url": "https://a.example/2", "content": "A group is a raft.", "score": 0.8},
        ],
    },
    "searxng": {
        "query": "x",
        "results": [
            {
                "title": "Otters",
                "url": "https://a.example/1",
                "content": "They hold hands.",
                "publishedDate": "3 May 2024",
            },
            {"title": "Rafts", "url": "https://a.example/2", "content": "A group is a raft."},
        ],
        "unresponsive_engines": [["one", "timeout"]],
    },
}
NOTHING: dict[str, Any] = {
    "serper": {"searchParameters": {"q": "x"}, "organic": []},
    "brave": {"type": "search", "query": {"original": "x"}},
    "tavily": {"query": "x", "results": []},
    "searxng": {"query": "x", "results": [], "unresponsive_engines": []},
}
every_engine = pytest.mark.parametrize("name", sorted(ENGINES))


def ask(name: str, settings: SearchConfig, url: str, query: str = "do otters hold hands", k: int = 5) -> SearchResponse:
    async def go() -> SearchResponse:
        engine = ENGINES[name](settings, url)
        try:
            return await engine.query(SearchRequest(query, k))
        finally:
            await engine.close()
            await engine.close()

    return asyncio.run(go())


@every_engine
def test_results_are_read(name: str, web: Loopback, quick: SearchConfig) -> None:
    web.replies = [as_json(FOUND[name])]
    answer = ask(name, quick, web.url)
    assert (answer.status, answer.engine, answer.recorded) == (Status.OK, name, False)
    assert [(r.rank, r.title, r.text, r.url, r.date) for r in answer.results] == [
        (1, "Otters", "They hold hands.", "https://a.example/1", "3 May 2024"),
        (2, "Rafts", "A group is a raft.", "https://a.example/2", None),
    ]
    assert answer.fetched_at.endswith("+00:00")


@every_engine
def test_no_more_than_k_results(name: str, web: Loopback, quick: SearchConfig) -> None:
    web.replies = [as_json(FOUND[name])]
    assert [r.title for r in ask(name, quick, web.url, k=1).results] == ["Otters"]


@every_engine
def test_nothing_found_is_empty(name: str, web: Loopback, quick: SearchConfig) -> None:
    web.replies = [as_json(NOTHING[name])]
    assert ask(name, quick, web.url).status is Status.EMPTY


TROUBLE: dict[str, tuple[list[Answer], Status, int]] = {
    "202": ([Answer(202)], Status.RATE_LIMITED, 3),
    "429": ([Answer(429)], Status.RATE_LIMITED, 3),
    "429 retry after": ([Answer(429, headers={"Retry-After": "0.05"})], Status.RATE_LIMITED, 3),
    "429 retry much later": ([Answer(429, headers={"Retry-After": "3600"})], Status.RATE_LIMITED, 1),
    "401": ([Answer(401)], Status.BLOCKED, 1),
    "403": ([as_json({"error": "no"}, 403)], Status.BLOCKED, 1),
    "402": ([Answer(402)], Status.BLOCKED, 1),
    "432": ([Answer(432)], Status.BLOCKED, 1),
    "400": ([as_json({"message": "bad"}, 400)], Status.BROKEN, 1),
    "302": ([Answer(302, headers={"Location": "http://127.0.0.1:9/"})], Status.BROKEN, 1),
    "302 to script": ([Answer(302, headers={"Location": "javascript:alert(1)"})], Status.BROKEN, 1),
    "500": ([Answer(500)], Status.BROKEN, 3),
    "503 html": ([as_html("<h1>down</h1>", 503)], Status.BROKEN, 3),
    "malformed": ([Answer(body=b'{"organic": [{')], Status.BROKEN, 1),
    "deep": ([Answer(body=b"[" * 100_000)], Status.BROKEN, 1),
    "not utf-8": ([Answer(body=b'{"results": "\xff"}')], Status.BROKEN, 1),
    "bad gzip": ([Answer(body=b"no gzip", headers={"Content-Encoding": "gzip"})], Status.BROKEN, 1),
    "html": ([as_html("\n <!doctype html><p>Are you a robot?")], Status.BLOCKED, 1),
    "other json": ([as_json({"hello": 1})], Status.BROKEN, 1),
    "json list": ([as_json([1])], Status.BROKEN, 1),
    "json null": ([as_json(None)], Status.BROKEN, 1),
    "huge": ([Answer(body=b" " * (MAX_BYTES + 1))], Status.BROKEN, 1),
    "unpacks huge": (
        [Answer(body=gzip.compress(b" " * (MAX_BYTES + 1)), headers={"Content-Encoding": "gzip"})],
        Status.BROKEN,
        1,
    ),
}


@every_engine
@pytest.mark.parametrize("case", sorted(TROUBLE))
def test_every_trouble_has_its_status(name: str, case: str, web: Loopback, quick: SearchConfig) -> None:
    replies, status, requests = TROUBLE[case]
    web.replies = list(replies)
    answer = ask(name, quick, web.url)
    assert (answer.status, answer.results, len(web.asked)) == (status, (), requests)
    assert answer.detail


@every_engine
@pytest.mark.parametrize("trickle", [False, True])
def test_a_slow_answer_is_a_timeout(name: str, trickle: bool, web: Loopback, quick: SearchConfig) -> None:
    web.replies = [Answer(body=b" " * 100, delay=0.1 if trickle else 0.5, trickle=trickle)]
    answer = ask(name, replace(quick, timeout=0.25, tries=2), web.url)
    assert (answer.status, len(web.asked)) == (Status.TIMEOUT, 2)
    assert "search.timeout" in answer.detail


@every_engine
def test_nobody_there_is_unreachable(name: str, web: Loopback, quick: SearchConfig) -> None:
    web.close()
    assert ask(name, quick, web.url).status is Status.UNREACHABLE


@every_engine
def test_a_passing_refusal_passes(name: str, web: Loopback, quick: SearchConfig) -> None:
    web.replies = [Answer(429, headers={"Retry-After": "0.1"}), Answer(500), as_json(FOUND[name])]
    assert ask(name, quick, web.url).status is Status.OK
    first, second, third = (asked.at for asked in web.asked)
    assert second - first >= 0.1
    assert third > second


@every_engine
def test_keys_are_told_to_nobody(
    name: str, web: Loopback, quick: SearchConfig, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    web.replies = [as_json({"error": f"the key {KEY} is wrong"}, 401)]
    answer = ask(name, quick, web.url)
    sent = json.dumps([dict(asked.headers) for asked in web.asked])
    assert (KEY in sent) == (name != "searxng")
    assert KEY not in repr(answer)
    assert KEY not in json.dumps(dict(ENGINES[name](quick, web.url).identity))
    assert KEY not in "".join(record.getMessage() for record in caplog.records)


@every_engine
@pytest.mark.parametrize(
    "query", ["\ud83d half", "nul \x00 and bell \x07", "\u202eright to left", "q" * 5000, "word " * 5000]
)
def test_odd_queries_are_asked(name: str, query: str, web: Loopback, quick: SearchConfig) -> None:
    web.replies = [as_json(FOUND[name])]
    assert ask(name, quick, web.url, query).status is Status.OK
    asked = web.asked[0]
    text = asked.query["q"][0] if asked.query else asked.body.get("q") or asked.body.get("query")
    assert text
    assert "\x00" not in text


def test_brave_takes_fifty_words_of_four_hundred_characters(web: Loopback, quick: SearchConfig) -> None:
    web.replies = [as_json(FOUND["brave"])]
    for query, sent in [
        ("a " * 80, " ".join(["a"] * 50)),
        ("nine char " * 60, " ".join(["nine char"] * 25)),
        ("seventeen letters " * 60, " ".join(["seventeen letters"] * 22)),
        ("q" * 500, "q" * 400),
    ]:
        ask("brave", quick, web.url, query, k=50)
        got = web.asked[-1].query
        assert got["count"] == ["20"]
        assert len(got["q"][0]) <= 400
        assert len(got["q"][0].split()) <= 50
        assert got["q"][0].startswith(sent)


def test_what_is_sent(web: Loopback, quick: SearchConfig) -> None:
    settings = replace(quick, region="uk-en", timelimit="w")
    web.replies = [as_json({})]
    for name in ("serper", "brave", "tavily", "searxng"):
        ask(name, settings, web.url, k=3)
    serper, brave, tavily, searxng = web.asked
    assert (serper.method, serper.path) == ("POST", "/search")
    assert serper.body == {"q": "do otters hold hands", "gl": "uk", "hl": "en", "num": 10, "tbs": "qdr:w"}
    assert serper.headers["X-API-KEY"] == KEY
    assert (brave.method, brave.path) == ("GET", "/res/v1/web/search")
    assert {name: values[0] for name, values in brave.query.items()} == {
        "q": "do otters hold hands",
        "count": "3",
        "country": "UK",
        "search_lang": "en",
        "freshness": "pw",
        "text_decorations": "false",
    }
    assert brave.headers["X-Subscription-Token"] == KEY
    assert (tavily.method, tavily.path) == ("POST", "/search")
    assert (tavily.body["max_results"], tavily.body["time_range"]) == (3, "week")
    assert tavily.headers["Authorization"] == f"Bearer {KEY}"
    assert (searxng.method, searxng.path) == ("GET", "/search")
    assert {name: values[0] for name, values in searxng.query.items()} == {
        "q": "do otters hold hands",
        "format": "json",
        "language": "en-UK",
        "time_range": "week",
    }


def test_serper_gives_direct_answers_first(web: Loopback, quick: SearchConfig) -> None:
    web.replies = [
        as_json(
            {
                "answerBox": {"title": "Hands", "answer": "Yes, asleep.", "link": "https://a.example/box"},
                "knowledgeGraph": {"title": "Otter", "description": "A mammal", "attributes": {"Class": "Mammalia"}},
                **FOUND["serper"],
            }
        )
    ]
    assert [r.text for r in ask("serper", quick, web.url, k=3).results] == [
        "Yes, asleep.",
        "A mammal. Class: Mammalia",
        "They hold hands.",
    ]


@pytest.mark.parametrize(
    ("reasons", "status"),
    [
        (["CAPTCHA"], Status.RATE_LIMITED),
        (["timeout", "too many requests"], Status.RATE_LIMITED),
        (["Suspended: access denied"], Status.RATE_LIMITED),
        (["access denied"], Status.BLOCKED),
        (["timeout"], Status.TIMEOUT),
        (["unexpected crash"], Status.BROKEN),
    ],
)
def test_a_searxng_whose_engines_are_silent_found_not_nothing(
    reasons: list[str], status: Status, web: Loopback, quick: SearchConfig
) -> None:
    silent = [[f"e{i}", reason] for i, reason in enumerate(reasons)]
    web.replies = [as_json({"results": [], "unresponsive_engines": silent})]
    assert ask("searxng", quick, web.url).status is status


def test_a_searxng_without_json_says_what_to_switch_on(web: Loopback, quick: SearchConfig) -> None:
    web.replies = [as_html("<h1>Forbidden</h1>", 403)]
    assert "search.formats" in ask("searxng", quick, web.url).detail


@every_engine
def test_results_without_text_or_in_another_form(name: str, web: Loopback, quick: SearchConfig) -> None:
    results = (
        json.dumps(FOUND[name]).replace("They hold hands.", " ").replace("A group is a raft.", "&lt;b&gt;\\u0000 x")
    )
    web.replies = [Answer(body=results.encode())]
    assert [(r.rank, r.text) for r in ask(name, quick, web.url).results] == [(1, "<b> x")]
    web.replies = [Answer(body=json.dumps(FOUND[name]).replace('"Otters"', "7").encode())]
    assert ask(name, quick, web.url).status is Status.BROKEN


@pytest.mark.parametrize(
    ("header", "low", "high"),
    [
        ("0", 0.0, 0.0),
        ("2.5", 2.5, 2.5),
        ("-3", 0.0, 0.0),
        ("Mon, 01 Jan 2001 00:00:00 GMT", 0.0, 0.0),
        ("Fri, 01 Jan 2100 00:00:00 GMT", 1e8, 1e10),
    ],
)
def test_retry_after(header: str, low: float, high: float) -> None:
    wait = retry_after(header)
    assert wait is not None
    assert low <= wait <= high


@pytest.mark.parametrize("header", [None, "", "soon", "nan", "inf", "Mon, 99 Foo 2001"])
def test_retry_after_that_says_nothing(header: str | None) -> None:
    assert retry_after(header) is None
