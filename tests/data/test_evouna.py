"""EVOUNA on small files of our own: five items a question, gold lists and paragraphs, what is left out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from datafiles import jsonl, put, refused

from judgelab.data.evouna import NQ_LISTS, NQ_PARAGRAPHS, SYSTEMS, load_evouna, load_evouna_nq


def question(**values: Any) -> dict[str, Any]:
    row: dict[str, Any] = {"question": "who dug the well", "golden_answer": "Ode/Ode Moor", "improper": False}
    for system in SYSTEMS:
        row |= {f"answer_{system}": f"{system} says Ode.", f"judge_{system}": system != "fid"}
    return row | values


def write(tmp_path: Path, *rows: dict[str, Any]) -> Path:
    (tmp_path / "evouna").mkdir(exist_ok=True)
    return put(tmp_path / "evouna", "NQ.json", json.dumps(list(rows), indent=1))


def beside(tmp_path: Path, file: Path, *rows: dict[str, Any]) -> None:
    (tmp_path / file).parent.mkdir(exist_ok=True)
    put(tmp_path, str(file), jsonl(*rows))


def test_a_question_is_five_items(tmp_path: Path) -> None:
    items = load_evouna(write(tmp_path, question())).values
    assert [item.system for item in items] == list(SYSTEMS)
    assert [item.human for item in items] == [False, True, True, True, True]
    assert {item.answers for item in items} == {("Ode", "Ode Moor")}
    assert len({item.item_id for item in items}) == 5
    assert len({item.group for item in items}) == 1
    assert items[0].candidate == "fid says Ode."


def test_what_is_left_out_is_counted(tmp_path: Path) -> None:
    rows = [
        question(improper=True, golden_answer=None),
        question(answer_fid=None, judge_gpt4=None, answer_newbing=" "),
    ]
    loaded = load_evouna(write(tmp_path, *rows))
    assert loaded.dropped == {"improper question": 1, "no answer": 1, "no verdict": 1}
    assert [(item.system, item.candidate == "") for item in loaded.values] == [
        ("gpt35", False),
        ("chatgpt", False),
        ("newbing", True),
    ]


@pytest.mark.parametrize(
    ("asked", "golden", "expected"),
    [
        ("who dug the well", "Ode/DC/Moor", ("Ode/DC", "Moor")),  # the list keeps an answer that holds a slash
        ("who dug the null well", "Ode null", ("Ode nan",)),  # nan became null in the published file
        ("who dug the well", "The Spring", ("The Spring",)),  # another question's answer: the list does not fit
        ("who filled the well", "Ode/DC", ("Ode", "DC")),  # not in the list
    ],
)
def test_gold_lists_where_they_fit(tmp_path: Path, asked: str, golden: str, expected: tuple[str, ...]) -> None:
    path = write(tmp_path, question(question=asked, golden_answer=golden))
    lists = [
        {"question": "Who dug the well?", "answer": ["Ode/DC", "Moor"]},
        {"question": "who dug the nan well", "answer": ["Ode nan"]},
    ]
    beside(tmp_path, NQ_LISTS, *lists)
    assert {item.answers for item in load_evouna_nq(path).values} == {expected}


def test_gold_paragraphs_by_question(tmp_path: Path) -> None:
    path = write(tmp_path, question(), question(question="who filled it", golden_answer="Nobody"))
    rows = [
        {"question": "Who dug the well?", "context": " Ode dug it. "},
        {"question": "who dug the well", "context": "Another."},
        {"question": "who filled it", "context": None},
    ]
    beside(tmp_path, NQ_PARAGRAPHS, *rows)
    assert [item.context for item in load_evouna_nq(path).values] == ["Ode dug it."] * 5 + [None] * 5


def test_the_nq_file_alone(tmp_path: Path) -> None:
    path = write(tmp_path, question())
    assert load_evouna_nq(path) == load_evouna(path)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([question(golden_answer=None)], ":2 (element 1): golden_answer: missing"),
        ([question(golden_answer=" / ")], ":2 (element 1): golden_answer: '/' holds no answer"),
        ([question(judge_gpt4="maybe")], ":2 (element 1): judge_gpt4: true or false is expected, not the text 'maybe'"),
        ([question(answer_gpt4=5)], ":2 (element 1): answer_gpt4: a text is expected, not the number 5"),
        ([question(), question()], "(element 2): id: repeats line 2 (element 1)"),
        ([question(improper=True)], ": empty set: every row was left out (1 improper question)"),
    ],
)
def test_refuses(tmp_path: Path, rows: list[dict[str, Any]], message: str) -> None:
    assert message in refused(load_evouna, write(tmp_path, *rows))
