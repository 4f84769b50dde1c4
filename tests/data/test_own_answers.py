"""Graded answers of one's own, and answers joined to a set of questions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from datafiles import jsonl, put, refused, table

from judgelab.data.answers import load_answers
from judgelab.data.predictions import join_predictions
from judgelab.data.question_key import question_key
from judgelab.data.rows import Loaded
from judgelab.errors import UsageError
from judgelab.items import GradedAnswer, QAItem


def answer(**values: Any) -> dict[str, Any]:
    return {"question": "Who dug it?", "candidate": "Ode."} | values


def test_every_field(tmp_path: Path) -> None:
    row = answer(
        id=3, answers=["Ode", "Moor"], human=True, system="heron", annotators=[True, False], context="Ode dug it."
    )
    (item,) = load_answers(put(tmp_path, "a.jsonl", jsonl(row))).values
    assert item == GradedAnswer(
        "3", "Who dug it?", item.group, "Ode.", "heron", ("Ode", "Moor"), True, (True, False), context="Ode dug it."
    )


def test_both_endings_say_the_same(tmp_path: Path) -> None:
    rows = [answer(answers=["Ode", "Moor"], human=False, annotators=[True, False]), answer(candidate="", human=None)]
    written = [
        {name: value if isinstance(value, str) else json.dumps(value) for name, value in row.items()} for row in rows
    ]
    written[1] |= {"answers": "", "annotators": "", "human": ""}
    one = load_answers(put(tmp_path, "a.jsonl", jsonl(*rows))).values
    two = load_answers(
        put(tmp_path, "a.csv", table([{**dict.fromkeys(written[0], ""), **row} for row in written]))
    ).values
    assert one == two
    assert (one[1].candidate, one[1].human, one[1].answers) == ("", None, ())


@pytest.mark.parametrize(
    ("human", "annotators", "expected"),
    [
        (None, [True, True, False], True),
        (None, [False], False),
        (None, [True, False], None),
        (None, [], None),
        (False, [True, True], False),  # what is given goes before the majority
        ("yes", ["no", "No"], True),
    ],
)
def test_verdict_of_people(tmp_path: Path, human: object, annotators: list[Any], expected: bool | None) -> None:
    (item,) = load_answers(put(tmp_path, "a.jsonl", jsonl(answer(human=human, annotators=annotators)))).values
    assert item.human is expected


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (answer(human="right"), ":1: human: true or false is expected, not the text 'right'"),
        (answer(human=1), ":1: human: true or false is expected, not the number 1"),
        (answer(annotators="true"), ":1: annotators: a list is expected, not true or false"),
        (answer(annotators="both"), ":1: annotators: 'both' is no JSON list"),
        (answer(annotators=[None]), ":1: annotators[0]: true or false is expected, not null"),
        (answer(candidate=None), ":1: candidate: missing"),
        (answer(gold="x"), ":1: gold: unknown field; the known ones are id, question, candidate"),
        (answer(answers=[1]), ":1: answers[0]: a text is expected"),
    ],
)
def test_refuses(tmp_path: Path, row: dict[str, Any], message: str) -> None:
    assert message in refused(load_answers, put(tmp_path, "a.jsonl", jsonl(row)))


def test_refuses_the_same_answer_twice(tmp_path: Path) -> None:
    assert ":2: id: repeats line 1" in refused(load_answers, put(tmp_path, "a.jsonl", jsonl(answer(), answer())))


QUESTIONS = Loaded(
    (
        QAItem("1", "Who dug it?", ("Ode",), ("Ode Moor", "Ode")),
        QAItem("2", "When?", ("1900",)),
        QAItem("3", "when", ("1901",)),
    ),
    {"false premise": 4},
)


def test_join_by_id_and_by_text(tmp_path: Path) -> None:
    rows = [
        {"id": 2, "candidate": "1900", "system": "heron", "human": True},
        {"question": "who dug it", "candidate": "Moor", "system": "heron"},
        {"question": "Who dug it?", "candidate": "", "system": "plover", "annotators": [False, False]},
        {"id": "9", "candidate": "x"},
        {"question": "Where?", "candidate": "x"},
    ]
    joined = join_predictions(
        QUESTIONS, put(tmp_path, "p.jsonl", jsonl(*rows)), {question_key("Who dug it?"): "Ode did."}
    )
    one, two, three = joined.values
    assert (one.question, one.answers, one.human, one.context) == ("When?", ("1900",), True, None)
    assert (two.question, two.answers, two.human, two.context) == ("Who dug it?", ("Ode", "Ode Moor"), None, "Ode did.")
    assert (three.candidate, three.human) == ("", False)
    assert two.group == three.group
    assert joined.dropped == {
        "false premise": 4,
        "answer to a question that is not in the set": 2,
        "question without an answer": 1,
    }


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"question": "When?", "candidate": "x"}, ":1: question: fits 2 questions of the set: give the id"),
        ({"candidate": "x"}, ":1: question: missing"),
        ({"id": "1"}, ":1: candidate: missing"),
        ({"id": "1", "answer": "x"}, ":1: answer: unknown field"),
        ({"id": "x", "candidate": "x"}, ": empty set: every row was left out (1 answer to a question that is not"),
    ],
)
def test_join_refuses(tmp_path: Path, row: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        join_predictions(QUESTIONS, put(tmp_path, "p.jsonl", jsonl(row)))
    assert f"p.jsonl{message}" in str(caught.value)
    assert "dataset.predictions" in str(caught.value)
