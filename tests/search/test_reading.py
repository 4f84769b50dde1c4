"""Pages are read where they can be, and the snippet stays where they cannot."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from judgelab.pages.fetch import FetchedPage
from judgelab.pages.status import PageStatus
from judgelab.search.base import Result, SearchRequest, SearchResponse, Status
from judgelab.search.reading import ReadingSearch

AT = "2026-01-02T03:04:05+00:00"
PAGE = "Tea is a drink.\nSea otters hold hands.\nRafts float."


class Engine:
    identity: Mapping[str, Any] = {"engine": "standin", "version": 1}
    closed = False

    def __init__(self, status: Status, *results: Result) -> None:
        self._answer = SearchResponse(status, results, "standin", AT)

    async def query(self, request: SearchRequest) -> SearchResponse:
        return self._answer

    async def close(self) -> None:
        self.closed = True


class Shelf:
    closed = False

    def __init__(self, **pages: FetchedPage) -> None:
        self._pages = pages
        self.asked: list[str] = []

    async def fetch(self, url: str) -> FetchedPage:
        self.asked.append(url)
        return self._pages[url]

    async def close(self) -> None:
        self.closed = True


def page(url: str, text: str = "", status: PageStatus = PageStatus.OK) -> FetchedPage:
    return FetchedPage(url, status, text, "Page", AT)


def ask(engine: Engine, shelf: Shelf) -> SearchResponse:
    async def go() -> SearchResponse:
        search = ReadingSearch(engine, shelf, str.splitlines, {"cut": "lines"})
        answer = await search.query(SearchRequest("do otters hold hands", 5))
        await search.close()
        return answer

    answer = asyncio.run(go())
    assert engine.closed
    assert shelf.closed
    return answer


def test_the_best_passage_takes_the_place_of_the_snippet() -> None:
    results = (Result(1, "T", "snip", "a", "2026"), Result(2, "", "snap", "b"))
    answer = ask(Engine(Status.OK, *results), Shelf(a=page("a", PAGE), b=page("b", "Otters.\nOtters' hands.")))
    assert answer.results == (
        Result(1, "T", "Sea otters hold hands.", "a", "2026"),
        Result(2, "Page", "Otters' hands.", "b"),
    )


@pytest.mark.parametrize("status", [status for status in PageStatus if status is not PageStatus.OK])
def test_a_page_that_cannot_be_had_leaves_the_snippet(status: PageStatus) -> None:
    result = Result(1, "T", "snip", "a")
    assert ask(Engine(Status.OK, result), Shelf(a=page("a", status=status))).results == (result,)


@pytest.mark.parametrize("text", ["Nothing of it.", "", "\n"])
def test_a_page_about_something_else_leaves_the_snippet(text: str) -> None:
    result = Result(1, "T", "snip", "a")
    assert ask(Engine(Status.OK, result), Shelf(a=page("a", text))).results == (result,)


@pytest.mark.parametrize("status", [status for status in Status if status is not Status.OK])
def test_without_results_no_page_is_asked_for(status: Status) -> None:
    shelf = Shelf()
    assert ask(Engine(status), shelf).status is status
    assert shelf.asked == []


def test_how_pages_are_read_is_part_of_the_identity() -> None:
    engine = Engine(Status.OK)
    identities = [ReadingSearch(engine, Shelf(), str.splitlines, {"cut": cut}).identity for cut in ("a", "b")]
    assert identities[0] != identities[1]
    assert all(each["engine"] == "standin" and each != engine.identity for each in identities)
