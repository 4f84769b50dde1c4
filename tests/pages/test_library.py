from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from judgelab.errors import JudgelabError, UsageError
from judgelab.items import NuggetItem, Page, Response
from judgelab.pages.library import Library
from judgelab.pages.status import PageStatus
from judgelab.protocols.nuggets import Shelf
from judgelab.settings import ChunkPool, NuggetsConfig, Retriever

LONG = "The lamp of the harbour was lit by Vera Holm in the year 1902, as the town's chronicle says in its third part."
OTHER = "The mole was built by Otto Lind from stones of the old wall, which took him eleven years and all of his money."
ITEM = NuggetItem("b1", "Who lit the lamp?", "g1", (Response("one", "x"),), pages=(Page(text=LONG), Page(text="short")))
FAR = NuggetItem("b2", "Who built the mole?", "g2", (Response("one", "x"),), pages=(Page(text=OTHER),))


@dataclass
class Fetched:
    status: PageStatus
    text: str


class FakeFetcher:
    """Pages by URL; counts how often it is asked."""

    def __init__(self, pages: dict[str, Fetched]) -> None:
        self.pages = pages
        self.asked: list[str] = []

    async def fetch(self, url: str) -> Fetched:
        self.asked.append(url)
        await asyncio.sleep(0)
        return self.pages[url]


def shelf(item: NuggetItem, fetcher: FakeFetcher | None = None, **changes: object) -> Shelf:
    settings = replace(NuggetsConfig(chunks=5), **changes)
    return asyncio.run(Library(settings, (item, FAR), fetcher).chunks(item))  # type: ignore[arg-type]


def test_own_pages_are_searched_and_short_ones_counted() -> None:
    found = shelf(ITEM)
    assert found.chunks == (LONG,)
    assert found.pages == {"too_short": 1, "used": 1}


def test_the_pool_of_all_pages_is_searched_where_asked() -> None:
    question = replace(ITEM, question="Who built the mole?")
    assert OTHER not in shelf(question).chunks
    assert shelf(question, pool=ChunkPool.all).chunks[0] == OTHER


def test_pages_without_text_are_fetched_once_and_failures_have_a_name() -> None:
    pages = (Page(url="u1"), Page(url="u2"), Page(url="u1"))
    fetcher = FakeFetcher({"u1": Fetched(PageStatus.OK, LONG), "u2": Fetched(PageStatus.NOT_FETCHED, "")})
    found = shelf(replace(ITEM, pages=pages), fetcher)
    assert found.chunks == (LONG,)
    assert found.pages == {"not_fetched": 1, "used": 2}
    assert sorted(fetcher.asked) == ["u1", "u2"]


def test_nothing_usable_is_an_empty_shelf() -> None:
    assert shelf(replace(ITEM, pages=())).chunks == ()
    assert shelf(replace(ITEM, pages=(Page(text="short"),))) == Shelf((), {"too_short": 1})
    assert shelf(replace(ITEM, question="zebra?")).chunks == ()


def test_embedding_needs_a_model_that_is_there() -> None:
    with pytest.raises(UsageError, match=r"protocol\.embedder"):
        Library(NuggetsConfig(retriever=Retriever.embedding), (ITEM,), None)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="no local directory"):
        Library(NuggetsConfig(retriever=Retriever.embedding, embedder="nowhere"), (ITEM,), None)  # type: ignore[arg-type]


def test_a_folder_without_a_model_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(JudgelabError, match=r"^protocol\.embedder=.*not a model that transformers can load [^\n]*$"):
        shelf(ITEM, retriever=Retriever.embedding, embedder=str(tmp_path))


def test_an_embedder_is_known_by_its_content(tmp_path: Path) -> None:
    def identity() -> tuple[str, ...]:
        settings = NuggetsConfig(retriever=Retriever.embedding, embedder=str(tmp_path))
        return Library(settings, (ITEM,), None).identity  # type: ignore[arg-type]

    (tmp_path / "config.json").write_text("{}")
    first = identity()
    (tmp_path / "config.json").write_text('{"hidden_size": 8}')
    assert len(first) == 1
    assert identity() != first
    assert Library(NuggetsConfig(), (ITEM,), None).identity == ()  # type: ignore[arg-type]


def test_embeddings_of_a_local_model_rank_chunks(embedded_judge) -> None:  # type: ignore[no-untyped-def]
    question = replace(ITEM, question="Who built the mole?", pages=(Page(text=LONG), Page(text=OTHER)))
    found = shelf(question, retriever=Retriever.embedding, embedder=str(embedded_judge.path))
    assert set(found.chunks) == {LONG, OTHER}
