"""Settings become searches, and what cannot be is said in one line before anything is asked."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest
from loopback import Loopback, as_html, as_json

from judgelab.errors import UsageError
from judgelab.search.base import SearchRequest, Status
from judgelab.search.build import build_search
from judgelab.settings.search import SearchConfig, SearchMode

KEYS = {"serper": "SERPER_API_KEY", "brave": "BRAVE_API_KEY", "tavily": "TAVILY_API_KEY"}


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in KEYS.values():
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture
def corpus(tmp_path: Path) -> str:
    path = tmp_path / "corpus.jsonl"
    texts = ("Otters hold hands.", "Tea is a drink.")
    path.write_text("".join(json.dumps({"title": "T", "text": text}) + "\n" for text in texts))
    return str(path)


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        (SearchConfig(engine="sepper"), r"search\.engine=sepper: unknown; did you mean serper\?"),
        (SearchConfig(engine="zzz"), r"unknown \(one of bm25"),
        (SearchConfig(engine="serper"), "SERPER_API_KEY"),
        (SearchConfig(engine="brave"), "BRAVE_API_KEY"),
        (SearchConfig(engine="tavily", mode=SearchMode.record), "TAVILY_API_KEY"),
        (SearchConfig(engine="searxng"), r"search\.url"),
        (SearchConfig(engine="searxng", url="localhost:8080"), r"search\.url=localhost"),
        (SearchConfig(engine="searxng", url="ftp://host"), r"search\.url=ftp"),
        (SearchConfig(engine="duckduckgo", backend="google"), r"search\.backend=google.*duckduckgo"),
        (SearchConfig(engine="recorded", mode=SearchMode.live), r"search\.mode=live"),
        (SearchConfig(engine="recorded", mode=SearchMode.replay), "holds no evidence"),
        (SearchConfig(engine="recorded", mode=SearchMode.replay, recorded="brave"), "no evidence of brave"),
        (SearchConfig(engine="recorded", mode=SearchMode.replay, read_pages=True), "read_pages"),
        (SearchConfig(recorded="brave"), r"search\.recorded=brave"),
        (SearchConfig(engine="bm25", read_pages=True), "read_pages"),
        (SearchConfig(timelimit="h"), r"search\.timelimit=h"),
        (SearchConfig(rate=0.0), r"search\.rate=0"),
        (SearchConfig(rate=float("nan")), r"search\.rate=nan"),
        (SearchConfig(timeout=-1.0), r"search\.timeout=-1"),
        (SearchConfig(tries=0), r"search\.tries=0"),
        (SearchConfig(budget=-1), r"search\.budget=-1"),
    ],
)
def test_what_cannot_be_is_said(settings: SearchConfig, complaint: str, corpus: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=complaint) as caught:
        build_search(settings, [corpus], tmp_path / "evidence")
    assert "\n" not in str(caught.value)


def test_a_password_in_the_address_is_not_repeated(tmp_path: Path) -> None:
    settings = SearchConfig(engine="searxng", url="http://me:sesame@host:8080")
    with pytest.raises(UsageError, match="password") as caught:
        build_search(settings, [], tmp_path)
    assert "sesame" not in str(caught.value)


@pytest.mark.parametrize("value", ["", "   ", "two words", "tab\there", "ключ"])
def test_what_is_no_key_is_not_sent(value: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SERPER_API_KEY", value)
    with pytest.raises(UsageError, match="SERPER_API_KEY") as caught:
        build_search(SearchConfig(engine="serper"), [], tmp_path)
    assert not value.strip() or value not in str(caught.value)


@pytest.mark.parametrize("engine", sorted(KEYS))
def test_engines_with_keys(engine: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    replayed = build_search(SearchConfig(engine=engine, mode=SearchMode.replay), [], tmp_path)
    monkeypatch.setenv(KEYS[engine], "secret-key")
    live = build_search(SearchConfig(engine=engine), [], tmp_path)
    assert replayed.identity == live.identity
    assert live.identity["engine"] == engine
    assert "secret-key" not in json.dumps(dict(live.identity))


@pytest.mark.parametrize(
    "settings", [SearchConfig(engine="duckduckgo"), SearchConfig(engine="searxng", url="http://127.0.0.1:1/")]
)
def test_engines_without_keys(settings: SearchConfig, tmp_path: Path) -> None:
    search = build_search(settings, [], tmp_path)
    assert search.identity["engine"] == settings.engine
    assert list(tmp_path.iterdir()) == []


def test_operational_settings_are_no_part_of_the_identity(tmp_path: Path) -> None:
    one = SearchConfig(engine="duckduckgo")
    other = replace(one, rate=9.0, budget=3, tries=1, timeout=1.0, mode=SearchMode.live)
    assert build_search(one, [], tmp_path).identity == build_search(other, [], tmp_path).identity
    for changed in (replace(one, backend="brave"), replace(one, region="de-de"), replace(one, timelimit="d")):
        assert build_search(one, [], tmp_path).identity != build_search(changed, [], tmp_path).identity


def test_evidence_of_texts_is_replayed_without_them(corpus: str, tmp_path: Path) -> None:
    folder = tmp_path / "evidence"
    request = SearchRequest("otters", 3)

    async def ask(settings: SearchConfig, paths: list[str]) -> object:
        search = build_search(settings, paths, folder)
        answer = await search.query(request)
        await search.close()
        assert answer.status is Status.OK
        return answer.results

    found = asyncio.run(ask(SearchConfig(), [corpus]))
    for recorded in (None, "bm25"):
        replay = SearchConfig(engine="recorded", mode=SearchMode.replay, recorded=recorded)
        assert asyncio.run(ask(replay, [])) == found


def test_evidence_of_several_engines_wants_a_name(corpus: str, tmp_path: Path) -> None:
    folder = tmp_path / "evidence"
    other = tmp_path / "other.jsonl"
    other.write_text('{"text": "Otters float."}\n')

    async def ask(path: str) -> None:
        search = build_search(SearchConfig(), [path], folder)
        await search.query(SearchRequest("otters", 3))
        await search.close()

    for path in (corpus, str(other)):
        asyncio.run(ask(path))
    replay = SearchConfig(engine="recorded", mode=SearchMode.replay)
    with pytest.raises(
        UsageError, match=r"several engines: bm25-\w{8} .*, bm25-\w{8} .*search\.recorded=NAME"
    ) as caught:
        build_search(replay, [], folder)
    with pytest.raises(UsageError, match="several engines"):
        build_search(replace(replay, recorded="bm25"), [], folder)
    name = next(word for word in str(caught.value).split() if word.startswith("bm25-"))
    assert build_search(replace(replay, recorded=name), [], folder).identity["engine"] == "bm25"


def test_reading_pages_is_part_of_the_identity(tmp_path: Path) -> None:
    engine = SearchConfig(engine="duckduckgo")
    plain, reading = (build_search(replace(engine, read_pages=read), [], tmp_path) for read in (False, True))
    assert reading.identity["pages"] == {"sentences": 3, "overlap": 1, "version": 1}
    assert {name: value for name, value in reading.identity.items() if name != "pages"} == plain.identity


def test_pages_are_read_once_and_replayed_from_the_evidence(
    web: Loopback, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from judgelab.pages import address

    monkeypatch.setattr(address, "is_public", lambda found: found == "127.0.0.1")
    page = "".join(f"<p>Paragraph {n} of a long page says nothing of interest.</p>" for n in range(20))
    found = {"results": [{"title": "T", "url": f"{web.url}/page", "content": "Otters ..."}]}
    web.pages = {
        "/search": as_json(found),
        "/page": as_html(f"<article>{page}<p>Sea otters hold hands while they sleep.</p>{page}</article>"),
    }
    settings = SearchConfig(engine="searxng", url=web.url, rate=100.0, read_pages=True)

    async def ask(settings: SearchConfig) -> str:
        search = build_search(settings, [], tmp_path / "evidence")
        answer = await search.query(SearchRequest("do otters hold hands", 3))
        await search.close()
        return answer.results[0].text

    text = asyncio.run(ask(settings))
    assert "Sea otters hold hands while they sleep." in text
    assert len(text) < 300
    asked = len(web.asked)
    assert asyncio.run(ask(replace(settings, mode=SearchMode.replay))) == text
    assert len(web.asked) == asked
