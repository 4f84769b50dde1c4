"""CrowdRAG-25 on a small folder of our own: joins, dimensions, groups, what is refused."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest
from datafiles import jsonl, put

from judgelab.data.crowdrag25 import load_crowdrag25
from judgelab.errors import UsageError
from judgelab.items import Page, Response, Vote


def battle(number: int, a: str, b: str, broad: str, votes: str, **values: Any) -> dict[str, Any]:
    return {
        "battle_id": f"c-{number}",
        "topic": "t1",
        "prompt": "how do wells work",
        "response_a": a,
        "response_b": b,
        "winner": "model_a",
        "dims": {"coverage_broad": broad, "quality_overall": "model_a"},
        "votes": {"coverage_broad": votes, "quality_overall": "AAABB"},
    } | values


def folder(tmp_path: Path, *battles: dict[str, Any]) -> Path:
    put(tmp_path, "battles_derived.jsonl", jsonl(*battles))
    texts = [
        {"response": "r1", "topic": "t1", "kind": "llm", "style": "bullet", "raw_text": "- Water rises. [0]"},
        {"response": "r2", "topic": "t1", "kind": "human", "style": "essay", "raw_text": ""},
    ]
    put(tmp_path, "responses_text.jsonl", jsonl(*texts))
    found = {
        "topic": "t1",
        "query": "q",
        "references_ids": ["d1", "d2", "d3"],
        "references_texts": ["One.", "Two.", "One."],
    }
    put(tmp_path, "study1_retrieval.jsonl.gz", gzip.compress(jsonl(found).encode()))
    return tmp_path


def test_battles_are_joined_with_texts_and_passages(tmp_path: Path) -> None:
    made = folder(tmp_path, battle(0, "r1", "r2", "tie", "ANNBN"), battle(1, "r2", "r1", "model_b", "BBBNA"))
    one, two = load_crowdrag25(made).values
    assert one.responses == (Response("llm-bullet", "- Water rises. [0]"), Response("human-essay", ""))
    assert (one.vote, one.votes) == (Vote.TIE, {"model_a": 1, "model_b": 1, "tie": 3})
    assert (two.vote, two.votes) == (Vote.MODEL_B, {"model_a": 1, "model_b": 3, "tie": 1})
    assert one.group == two.group == "t1"  # the same pair in the other order stays with it
    assert one.pages == (Page(text="One."), Page(text="Two."))


def test_another_dimension(tmp_path: Path) -> None:
    made = folder(tmp_path, battle(0, "r1", "r2", "tie", "ANNBN"))
    (item,) = load_crowdrag25(made, "quality_overall").values
    assert (item.vote, item.votes) == (Vote.MODEL_A, {"model_a": 3, "model_b": 2})
    with pytest.raises(UsageError, match=r"^dataset\.dimension=beauty: one of coverage_broad, "):
        load_crowdrag25(made, "beauty")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (battle(0, "r1", "r9", "tie", "A"), ":1: response_b: no text of 'r9' in responses_text.jsonl"),
        (battle(0, "r1", "r2", "both", "A"), ":1: coverage_broad: 'both' is none of model_a, model_b, tie"),
        (battle(0, "r1", "r2", "tie", "AX"), ":1: votes.coverage_broad: 'X' is none of A, B, N"),
        (battle(0, "r1", "r2", "tie", "A", dims=None), ":1: dims: missing"),
        (battle(0, "r1", "r2", "tie", "A", prompt=" "), ":1: prompt: blank"),
    ],
)
def test_refuses(tmp_path: Path, row: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        load_crowdrag25(folder(tmp_path, row))
    assert f"battles_derived.jsonl{message}" in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    made = folder(tmp_path, battle(0, "r1", "r2", "tie", "A"))
    (made / "study1_retrieval.jsonl.gz").unlink()
    with pytest.raises(UsageError, match=r"study1_retrieval\.jsonl\.gz: cannot be read"):
        load_crowdrag25(made)
