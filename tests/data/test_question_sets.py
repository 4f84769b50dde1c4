"""AmbigQA, HotpotQA and TriviaQA as published, on small files of our own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from datafiles import put, refused

from judgelab.data.ambigqa import load_ambigqa
from judgelab.data.hotpotqa import hotpotqa_paragraphs, load_hotpotqa
from judgelab.data.question_key import question_key
from judgelab.data.triviaqa import load_triviaqa
from judgelab.errors import UsageError
from judgelab.items import QAItem


def ambiguous(*annotations: dict[str, Any], **values: Any) -> dict[str, Any]:
    return {"id": "a1", "question": "When did the fair open?", "annotations": list(annotations)} | values


def single(*answers: str) -> dict[str, Any]:
    return {"type": "singleAnswer", "answer": list(answers)}


def several(*pairs: tuple[str, list[str]]) -> dict[str, Any]:
    return {"type": "multipleQAs", "qaPairs": [{"question": q, "answer": a} for q, a in pairs]}


def test_ambigqa_takes_every_answer_to_every_reading(tmp_path: Path) -> None:
    rows = [
        ambiguous(single("1900"), several(("The first fair?", ["1899", "in 1899"]), ("The last?", ["1900"]))),
        ambiguous(single(), id="a2"),
    ]
    loaded = load_ambigqa(put(tmp_path, "a.json", json.dumps(rows)))
    assert loaded.values == (QAItem("a1", "When did the fair open?", ("1900", "1899", "in 1899")),)
    assert loaded.dropped == {"no answer": 1}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (ambiguous({"type": "noAnswer"}), "annotations.type: 'noAnswer' is neither singleAnswer nor multipleQAs"),
        (ambiguous({"type": "multipleQAs"}), "qaPairs: missing"),
        (ambiguous(single("x"), id=None), "id: missing"),
        (ambiguous(annotations=None), "annotations: missing"),
    ],
)
def test_ambigqa_refuses(tmp_path: Path, row: dict[str, Any], message: str) -> None:
    assert f":1 (element 1): {message}" in refused(load_ambigqa, put(tmp_path, "a.json", json.dumps([row])))


def hops(**values: Any) -> dict[str, Any]:
    return {
        "_id": "h1",
        "question": "In which county was the digger of the well born?",
        "answer": "Moorshire",
        "type": "bridge",
        "level": "easy",
        "supporting_facts": [["The well", 0], ["Ode Moor", 1]],
        "context": [
            ["The well", ["Ode dug it. ", "It is deep."]],
            ["A pump", ["Other."]],
            ["Ode Moor", ["Of Moorshire."]],
        ],
    } | values


def test_hotpotqa(tmp_path: Path) -> None:
    other = hops(_id="h2", question="Is it deep?", answer="yes", supporting_facts=[])
    path = put(tmp_path, "h.json", json.dumps([hops(), other]))
    one, two = load_hotpotqa(path).values
    assert one == QAItem("h1", hops()["question"], ("Moorshire",))
    assert two.answers == ("yes",)
    assert hotpotqa_paragraphs(path) == {question_key(one.question): "Ode dug it. It is deep.\nOf Moorshire."}


@pytest.mark.parametrize(
    ("row", "message"),
    [(hops(_id=""), "_id: missing"), (hops(answer=None), "answer: missing"), (hops(question=""), "question: empty")],
)
def test_hotpotqa_refuses(tmp_path: Path, row: dict[str, Any], message: str) -> None:
    assert f":1 (element 1): {message}" in refused(load_hotpotqa, put(tmp_path, "h.json", json.dumps([row])))


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (hops(context=[["The well"]]), "context: a list of pairs is expected"),
        (hops(context=[["The well", "text"]]), "context: the paragraph 'The well' is not a list of sentences"),
        (hops(supporting_facts=None), "supporting_facts: a list of pairs is expected"),
    ],
)
def test_hotpotqa_paragraphs_refuse(tmp_path: Path, row: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        hotpotqa_paragraphs(put(tmp_path, "h.json", json.dumps([row])))
    assert message in str(caught.value)


def trivia(**values: Any) -> dict[str, Any]:
    answer = {"Value": "Ode Moor", "Aliases": ["Ode Moor", "Moor"], "NormalizedValue": "ode moor", "Type": "FreeForm"}
    return {"Question": "Who dug the well?", "QuestionId": "tc_1", "QuestionSource": "x", "Answer": answer} | values


def test_triviaqa(tmp_path: Path) -> None:
    rows = [trivia(), {"Question": "And who filled it?", "QuestionId": "tc_2"}]
    loaded = load_triviaqa(put(tmp_path, "t.json", json.dumps({"Data": rows, "Domain": "Web", "Version": 1.0})))
    assert loaded.values == (QAItem("tc_1", "Who dug the well?", ("Ode Moor",), ("Moor",)),)
    assert loaded.dropped == {"answer withheld": 1}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (json.dumps({"Data": [trivia(), trivia()]}), ":Data[1]: id: repeats line Data[0]"),
        (json.dumps({"Data": [trivia(Answer={"Aliases": []})]}), ":Data[0]: Value: missing"),
        (json.dumps({"Data": [trivia(QuestionId=None)]}), ":Data[0]: QuestionId: missing"),
        (json.dumps({"Data": ["x"]}), ":Data[0]: line: a JSON object is expected, not str"),
        (json.dumps({"Rows": []}), ": Data: a list is expected there"),
        ("[]", ": Data: a list is expected there"),
        ('{"Data":\n [}', ":2: not JSON: Expecting value at column 3"),
    ],
)
def test_triviaqa_refuses(tmp_path: Path, content: str, message: str) -> None:
    assert message in refused(load_triviaqa, put(tmp_path, "t.json", content))
