"""BM25 finds what shares words with the query, nothing else, and nothing that is hidden."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from judgelab.search.base import SearchRequest, SearchResponse, Status
from judgelab.search.bm25 import K1, B, Bm25
from judgelab.text import normalise, tokens


@dataclass(frozen=True)
class Text:
    text: str
    title: str = ""
    url: str = ""


OTTERS = Text("Sea otters hold hands while they sleep.", "Sea otter", "https://a.example/otter")
RAFT = Text("A resting group of otters is called a raft.", "Raft")
TEA = Text("Tea is the most widely drunk beverage after water.", "Tea")
CJK = Text("京都は日本の古都である。", "京都")
CORPUS = (OTTERS, RAFT, TEA, CJK)


def ask(query: str, k: int = 5, hidden: tuple[str, ...] = (), corpus: tuple[Text, ...] = CORPUS) -> SearchResponse:
    return asyncio.run(Bm25(corpus).query(SearchRequest(query, k, hidden)))


def found(answer: SearchResponse) -> list[str]:
    return [result.text for result in answer.results]


@pytest.mark.parametrize(
    ("query", "texts"),
    [
        ("do otters hold hands?", [OTTERS.text, RAFT.text]),
        ("RAFT", [RAFT.text]),
        ("sea", [OTTERS.text]),
        ("京都", [CJK.text]),
        ("古", [CJK.text]),
        ("zebra unicorn", []),
        ("the a an", []),
        ("?!", []),
        ("", []),
        ("\ud83d", []),
    ],
)
def test_only_what_shares_a_word_is_found(query: str, texts: list[str]) -> None:
    answer = ask(query)
    assert found(answer) == texts
    assert answer.status is (Status.OK if texts else Status.EMPTY)
    assert [result.rank for result in answer.results] == list(range(1, len(texts) + 1))


@pytest.mark.parametrize(("k", "n"), [(0, 0), (1, 1), (2, 2), (3, 2), (1000, 2)])
def test_k_is_clamped(k: int, n: int) -> None:
    assert len(ask("otters", k).results) == n


def test_titles_and_addresses_come_along() -> None:
    first = ask("hands").results[0]
    assert (first.title, first.url, first.date) == (OTTERS.title, OTTERS.url, None)


@pytest.mark.parametrize(
    ("hidden", "texts"),
    [
        ((OTTERS.text,), [RAFT.text]),
        (("sea  otters HOLD hands, while they sleep",), [RAFT.text]),
        (("Sea otters hold hands",), [OTTERS.text, RAFT.text]),
        ((OTTERS.text, RAFT.text), []),
        (("never seen",), [OTTERS.text, RAFT.text]),
    ],
)
def test_hidden_texts_are_hidden_whole_and_alone(hidden: tuple[str, ...], texts: list[str]) -> None:
    assert found(ask("otters hands", hidden=hidden)) == texts


def test_hiding_one_search_hides_nothing_from_the_next() -> None:
    async def go() -> list[list[str]]:
        search = Bm25(CORPUS)
        asked = [SearchRequest("raft", 1, (RAFT.text,)), SearchRequest("raft", 1)]
        return [found(await search.query(request)) for request in asked]

    assert asyncio.run(go()) == [[], [RAFT.text]]


def test_scores_are_those_of_the_formula() -> None:
    """Order of three texts by hand: Robertson's BM25 with idf ln(1 + (N - n + .5) / (n + .5))."""
    corpus = (Text("red red blue green"), Text("red"), Text("blue " * 9 + "red"), Text("green"))
    lengths = [len(tokens(each.text)) for each in corpus]
    mean = sum(lengths) / len(lengths)

    def score(number: int, word: str) -> float:
        counts = [tokens(each.text).count(word) for each in corpus]
        holding = sum(count > 0 for count in counts)
        idf = math.log(1 + (len(corpus) - holding + 0.5) / (holding + 0.5))
        tf = counts[number]
        return idf * tf / (tf + K1 * (1 - B + B * lengths[number] / mean))

    for query in (["red"], ["blue"], ["red", "blue"], ["green", "red"]):
        totals = [sum(score(number, word) for word in query) for number in range(len(corpus))]
        expected = [corpus[n].text for n in sorted(range(len(corpus)), key=lambda n: -totals[n]) if totals[n] > 0]
        assert found(ask(" ".join(query), corpus=corpus)) == [text.strip() for text in expected]


def test_equal_scores_keep_the_order_of_the_corpus() -> None:
    corpus = tuple(Text(f"otter {word}") for word in ("delta", "alpha", "charlie", "bravo", "echo"))
    assert found(ask("otter", 3, corpus=corpus)) == [each.text for each in corpus[:3]]


def test_a_text_is_found_once() -> None:
    assert ask("raft", corpus=(RAFT, Text(RAFT.text, "Another title"), TEA)).results[0].title == RAFT.title
    assert len(ask("raft", corpus=(RAFT, Text(RAFT.text, "Another title"), TEA)).results) == 1


def test_identity_is_that_of_the_texts() -> None:
    assert Bm25(CORPUS).identity == Bm25(list(CORPUS)).identity
    assert Bm25(CORPUS).identity != Bm25(CORPUS[:3]).identity
    json.dumps(dict(Bm25(CORPUS).identity))


@pytest.mark.parametrize(
    "corpus", [(), (Text(""),), (Text(" \n", "Otters"),), (Text("?!"),), (Text("a the"), Text("..."))]
)
def test_a_corpus_without_words_finds_nothing(corpus: tuple[Text, ...]) -> None:
    assert ask("otters", corpus=corpus).status is Status.EMPTY


@dataclass(frozen=True)
class Asked:
    question: str
    answers: tuple[str, ...]


def questions(data: Path, file: str) -> Iterator[Asked]:
    """The proper questions; gold lists of NQ-open where it has them, the joined string else."""
    lists = {}
    for line in (data / "nq_open" / "NQ-open.dev.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        lists[normalise(row["question"])] = row["answer"]
    for row in json.loads((data / "evouna" / file).read_text(encoding="utf-8")):
        if not row["improper"]:
            answers = lists.get(normalise(row["question"])) or row["golden_answer"].split("/")
            yield Asked(row["question"], tuple(answers))


@pytest.mark.real_data
def test_recall_on_the_joint_corpus(data_dir: Path) -> None:
    """Share of questions with a gold answer among the first k: within a point of the published .50 .65 .69 .74.

    TriviaQA is the condition of poor retrieval. Its published figures rest on 656 of its own contexts which are not
    among the data, so here it must only be poor.
    """
    from judgelab.data.corpus import load_corpus

    files = ("wiki_passages_search_traces/passages.jsonl.gz", "nq_typed_entities/nq_ner_tagged.jsonl")
    search = Bm25(load_corpus([str(data_dir / file) for file in files]))

    @cache
    def words(text: str) -> str:
        return f" {' '.join(tokens(text))} "

    async def recall(file: str, every: int) -> dict[int, float]:
        ranks = []
        for asked in list(questions(data_dir, file))[::every]:
            answer = await search.query(SearchRequest(asked.question, 10))
            golds = [words(gold) for gold in asked.answers if tokens(gold)]
            hits = [r.rank for r in answer.results if any(g in words(f"{r.title}. {r.text}") for g in golds)]
            ranks.append(min(hits, default=11))
        return {k: sum(rank <= k for rank in ranks) / len(ranks) for k in (1, 3, 5, 10)}

    nq = asyncio.run(recall("NQ.json", every=1))
    assert nq == pytest.approx({1: 0.50, 3: 0.65, 5: 0.69, 10: 0.74}, abs=0.01)
    tq = asyncio.run(recall("TQ.json", every=10))
    assert 0.12 < tq[5] < 0.25
