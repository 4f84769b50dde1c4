"""Battles of one's own: every field, both endings, what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from datafiles import jsonl, put, refused, table

from judgelab.data.battles import load_battles
from judgelab.items import NuggetItem, Page, Response, Vote


def battle(**values: Any) -> dict[str, Any]:
    return {"question": "Why?", "response_a": "Because.", "response_b": "So.", "winner": "model_a"} | values


def test_every_field(tmp_path: Path) -> None:
    row = battle(
        id=7,
        winner="tie (bothbad)",
        language="Welsh",
        model_a="m1",
        model_b="m2",
        pages=[{"text": "A page."}, {"text": "B.", "title": "T", "url": "http://b.example"}],
        urls=["http://c.example"],
    )
    (item,) = load_battles(put(tmp_path, "b.jsonl", jsonl(row))).values
    assert item == NuggetItem(
        "7",
        "Why?",
        item.group,
        (Response("m1", "Because."), Response("m2", "So.")),
        Vote.BOTHBAD,
        language="Welsh",
        pages=(Page(text="A page."), Page("http://b.example", "T", "B."), Page(url="http://c.example")),
    )


def test_least_fields_from_csv(tmp_path: Path) -> None:
    rows = [battle(urls='["http://a.example", "http://b.example"]', response_b=" "), battle(urls="", winner="tie")]
    one, two = load_battles(put(tmp_path, "b.csv", table(rows))).values
    assert [page.url for page in one.pages] == ["http://a.example", "http://b.example"]
    assert [(r.system, r.text) for r in one.responses] == [("a", "Because."), ("b", "")]
    assert (two.pages, two.vote, two.language) == ((), Vote.TIE, None)


def test_the_same_question_is_one_group(tmp_path: Path) -> None:
    rows = [battle(), battle(question="  why ", response_a="x"), battle(question="When?")]
    groups = [item.group for item in load_battles(put(tmp_path, "b.jsonl", jsonl(*rows))).values]
    assert groups[0] == groups[1] != groups[2]


@pytest.mark.parametrize("winner", [vote.value for vote in Vote])
def test_all_votes(tmp_path: Path, winner: str) -> None:
    (item,) = load_battles(put(tmp_path, "b.jsonl", jsonl(battle(winner=winner)))).values
    assert item.vote == winner


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (battle(winner="A"), ":1: winner: 'A' is none of model_a, model_b, tie, tie (bothbad)"),
        (battle(winner=None), ":1: winner: missing"),
        (battle(question=""), ":1: question: empty"),
        (battle(response_b=None), ":1: response_b: missing"),
        (battle(response_a=4), ":1: response_a: a text is expected, not the number 4"),
        (battle(vote="tie"), ":1: vote: unknown field; the known ones are id, question"),
        (battle(pages=[{"text": ""}]), ":1: text: empty"),
        (battle(pages=[{"body": "x"}]), ":1: body: unknown field; the known ones are url, title, text"),
        (battle(pages="p"), ":1: pages: a list is expected, not the text 'p'"),
        (battle(pages=["p"]), ":1: pages[0]: an object is expected, not the text 'p'"),
    ],
)
def test_refuses(tmp_path: Path, row: dict[str, Any], message: str) -> None:
    assert message in refused(load_battles, put(tmp_path, "b.jsonl", jsonl(row)))


def test_refuses_repeats_and_other_endings(tmp_path: Path) -> None:
    assert ":2: id: repeats line 1" in refused(load_battles, put(tmp_path, "b.jsonl", jsonl(battle(), battle())))
    assert ": a set of battles is a .jsonl or a .csv file, not .tsv" in refused(
        load_battles, put(tmp_path, "b.tsv", "")
    )
    assert "column `response_b` is missing" in refused(
        load_battles, put(tmp_path, "b.csv", "question,response_a,winner\na,b,tie\n")
    )
