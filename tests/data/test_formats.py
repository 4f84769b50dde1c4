"""Every published format, on small files of our own making: what an item becomes, what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from datafiles import jsonl, put, refused, table

from judgelab.data.freshqa import load_freshqa
from judgelab.data.nq_open import load_nq_open
from judgelab.data.nq_typed import load_nq_typed
from judgelab.data.plain import load_plain
from judgelab.data.popqa import load_popqa
from judgelab.data.rows import Loaded
from judgelab.data.sciq import load_sciq
from judgelab.items import QAItem

Loader = Callable[[Path], Loaded[QAItem]]


# NQ-open


def test_nq_open(tmp_path: Path) -> None:
    path = put(
        tmp_path,
        "nq.jsonl",
        jsonl(
            {"question": "who drew the first map of the marsh", "answer": ["Ada Moor", "Ben Fen"]},
            {"question": "who drew the first map of the marsh", "answer": ["Ada Moor"]},
        ),
    )
    first, second = load_nq_open(path).values
    assert first.answers == ("Ada Moor", "Ben Fen")
    assert first.aliases == ()
    assert (first.reference, first.entity_type, first.popularity, first.freshness) == ("Ada Moor", None, None, None)
    assert first.item_id != second.item_id  # the same question with other answers is another item


def test_nq_open_ids_do_not_depend_on_order_or_line_ends(tmp_path: Path) -> None:
    a, b = {"question": "a", "answer": ["1"]}, {"question": "b", "answer": ["2"]}
    one = load_nq_open(put(tmp_path, "1.jsonl", jsonl(a, b))).values
    two = load_nq_open(put(tmp_path, "2.jsonl", jsonl(b, a).replace("\n", "\r\n"))).values
    assert {item.item_id for item in one} == {item.item_id for item in two}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"question": "a", "answer": ["1"]}\n{"question": "b"}\n', ":2: answer: missing"),
        ('{"answer": ["1"]}\n', ":1: question: missing"),
        ('{"question": " ", "answer": ["1"]}\n', ":1: question: blank"),
        ('{"question": null, "answer": ["1"]}\n', ":1: question: missing"),
        ('{"question": ["a"], "answer": ["1"]}\n', ":1: question: a text is expected, not a list"),
        ('{"question": "a", "answer": []}\n', ":1: answer: the list is empty"),
        ('{"question": "a", "answer": [""]}\n', ":1: answer[0]: empty"),
        ('{"question": "a", "answer": [3]}\n', ":1: answer[0]: a text is expected, not the number 3"),
        ('{"question": "a", "answer": ["1"]}\n{oops}\n[]\n', ":2: line: not JSON: Expecting property name"),
        ('{"question": "a", "answer": ["1"]}\n{oops}\n[]\n', "; 1 more bad row "),
        ('{"question": "a", "answer": ["\\ud800"]}\n', ":1: answer[0]: '\\ud800' holds half of a surrogate pair"),
        (
            '{"question": "a", "answer": ["1"]}\n\n{"question": " a", "answer": ["1 "]}\n',
            ":3: id: repeats line 1: both have ",
        ),
        ("", ": empty set: the file holds no rows"),
        ("\n \n", ": empty set: the file holds no rows"),
    ],
)
def test_nq_open_refuses(tmp_path: Path, content: str, message: str) -> None:
    assert message in refused(load_nq_open, put(tmp_path, "nq.jsonl", content))


# typed NQ


def typed(**changes: Any) -> dict[str, Any]:
    row = {
        "question_id": "-12",
        "question": "who plays the miller",
        "answer_value": "Cleo Marsh",
        "answer_aliases": ["Dan Reed", "Cleo Marsh"],
        "context": "…",
        "evidence_present": True,
        "ner_tag": "PERSON",
    }
    return row | changes


def test_nq_typed(tmp_path: Path) -> None:
    path = put(tmp_path, "t.jsonl", jsonl(typed(), typed(question_id="13", ner_tag="NAN", answer_value="by boat")))
    loaded = load_nq_typed(path)
    assert loaded.dropped == {"not an entity": 1}
    (item,) = loaded.values
    assert (item.item_id, item.entity_type) == ("-12", "PERSON")
    assert item.answers == ("Cleo Marsh", "Dan Reed")  # the tagged answer is the reference
    assert item.aliases == ()


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([typed(ner_tag="PERS")], ":1: ner_tag: 'PERS' is none of PERSON, "),
        ([typed(ner_tag="person")], ":1: ner_tag: 'person' is none of"),
        ([typed(ner_tag=None)], ":1: ner_tag: missing"),
        ([typed(answer_value="")], ":1: answer_value: empty"),
        ([typed(ner_tag="NAN", question="")], ":1: question: empty"),
        ([typed(question_id=None)], ":1: question_id: missing"),
        ([typed(), typed(question="another")], ":2: id: repeats line 1: both have '-12'"),
        ([typed(ner_tag="NAN")], ": empty set: every row was left out (1 not an entity)"),
    ],
)
def test_nq_typed_refuses(tmp_path: Path, rows: list[dict[str, Any]], message: str) -> None:
    assert message in refused(load_nq_typed, put(tmp_path, "t.jsonl", jsonl(*rows)))


# PopQA


def fact(**changes: Any) -> dict[str, Any]:
    return {
        "subj": "The Reeds",
        "prop": "screenwriter",
        "obj": "Dan Reed",
        "o_aliases": '["D. Reed", "Dan Reed"]',
        "s_pop": 120,
        "o_pop": -2,
    } | changes


def flashrag(metadata: Any = None, **changes: Any) -> dict[str, Any]:
    return {
        "id": "test_1",
        "question": "Who was the screenwriter for The Reeds?",
        "metadata": fact() if metadata is None else metadata,
        "golden_answers": ["Cleo Marsh", "C. Marsh", "Dan Reed", "D. Reed"],
    } | changes


def original(**changes: str) -> dict[str, str]:
    row = {key: str(value) for key, value in fact().items()}
    question = "Who was the screenwriter for The Reeds?"
    row |= {"id": "1", "question": question, "possible_answers": '["Cleo Marsh", "C. Marsh", "Dan Reed", "D. Reed"]'}
    return row | changes


def test_popqa_is_the_same_from_both_formats(tmp_path: Path) -> None:
    (one,) = load_popqa(put(tmp_path, "p.jsonl", jsonl(flashrag()))).values
    (two,) = load_popqa(put(tmp_path, "p.tsv", table([original(id="test_1")], "\t"))).values
    assert one == two
    assert one.answers == ("Dan Reed", "Cleo Marsh", "C. Marsh")
    assert one.aliases == ("D. Reed",)
    assert one.popularity == 120.0  # of the subject
    assert one.entity_type == "PERSON"


@pytest.mark.parametrize(
    ("prop", "kind"),
    [
        ("composer", "PERSON"),
        ("father", "PERSON"),
        ("mother", "PERSON"),
        ("place of birth", "GPE"),
        ("capital of", "GPE"),
        ("genre", None),
        ("religion", None),
        ("a new property", None),
    ],
)
def test_popqa_types(tmp_path: Path, prop: str, kind: str | None) -> None:
    (item,) = load_popqa(put(tmp_path, "p.jsonl", jsonl(flashrag(fact(prop=prop))))).values
    assert item.entity_type == kind


@pytest.mark.parametrize("views", [-2, None, ""])
def test_popqa_unknown_views(tmp_path: Path, views: object) -> None:
    (item,) = load_popqa(put(tmp_path, "p.jsonl", jsonl(flashrag(fact(s_pop=views))))).values
    assert item.popularity is None


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("p.jsonl", jsonl(flashrag(metadata=[1])), ":1: metadata: an object is expected, not a list"),
        ("p.jsonl", jsonl(flashrag(fact(obj=None))), ":1: obj: missing"),
        ("p.jsonl", jsonl(flashrag(fact(prop=None))), ":1: prop: missing"),
        ("p.jsonl", jsonl(flashrag(fact(s_pop="often"))), ":1: s_pop: 'often' is not a number"),
        ("p.jsonl", jsonl(flashrag(golden_answers=[])), ":1: golden_answers: the list is empty"),
        ("p.jsonl", jsonl(flashrag(), flashrag()), ":2: id: repeats line 1: both have 'test_1'"),
        ("p.tsv", table([original(possible_answers='["a", ')], "\t"), ":2: possible_answers: "),
        ("p.tsv", table([original(), original()], "\t"), ":3: id: repeats line 2"),
        ("p.tsv", "id\tquestion\n1\ta\n", ":1: column `possible_answers` is missing; found 'id, question'"),
        ("p.tsv", jsonl(flashrag()), ":1: column `id` is missing"),
    ],
)
def test_popqa_refuses(tmp_path: Path, name: str, content: str, message: str) -> None:
    assert message in refused(load_popqa, put(tmp_path, name, content))


# FreshQA


def fresh(**changes: str) -> dict[str, str]:
    row = {
        "id": "0",
        "split": "TEST",
        "question": "Who keeps the lighthouse?",
        "effective_year": "2022",
        "next_review": "occasionally",
        "false_premise": "FALSE",
        "num_hops": "one-hop",
        "fact_type": "slow-changing",
        "source": "a book,\nand another",
        **{f"answer_{i}": "" for i in range(10)},
        "note": "",
    }
    return row | {"answer_0": "Ada Moor", "answer_1": "A. Moor ", "answer_9": "A. Moor"} | changes


def test_freshqa(tmp_path: Path) -> None:
    rows = [fresh(), fresh(id="1", false_premise="TRUE"), fresh(id="2", fact_type="never-changing")]
    loaded = load_freshqa(put(tmp_path, "f.csv", table(rows)))
    assert loaded.dropped == {"false premise": 1}
    assert [(item.item_id, item.freshness) for item in loaded.values] == [("0", "slow"), ("2", "never")]
    assert loaded.values[0].answers == ("Ada Moor", "A. Moor")


def test_freshqa_with_notices_above_the_header(tmp_path: Path) -> None:
    content = table([fresh(fact_type="fast-changing")])
    notices = '"These answers age, quickly."' + "," * 19 + "\r\n" + "," * 19 + "\r\n"
    plain = load_freshqa(put(tmp_path, "f.csv", content)).values
    assert load_freshqa(put(tmp_path, "g.csv", notices + content)).values == plain
    assert plain[0].freshness == "fast"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (table([fresh(fact_type="changing")]), ":2: fact_type: 'changing' is none of never-changing, "),
        (table([fresh(), fresh(id="1", answer_0=" ")]), ":4: answer_0: blank"),
        (table([fresh(), fresh(id="1", question="")]), ":4: question: empty"),
        (table([fresh(), fresh()]), ":4: id: repeats line 2: both have '0'"),
        (table([fresh(false_premise="maybe")]), ":2: false_premise: 'maybe' is none of"),
        (table([fresh(false_premise="TRUE")]), ": empty set: every row was left out (1 false premise)"),
        (table([fresh()]) + '1,"TEST\r\n', ":4: row: not readable: unexpected end of data"),
        ("question,answer\r\na,b\r\n", ":1: column `id` is missing"),
    ],
)
def test_freshqa_refuses(tmp_path: Path, content: str, message: str) -> None:
    if "column" in message:
        content += "x,y\r\n" * 12
        message = message.replace(":1:", ":10:")
    assert message in refused(load_freshqa, put(tmp_path, "f.csv", content))


# SciQ


def science(**changes: Any) -> dict[str, Any]:
    return {
        "question": "What do marsh plants give off by day?",
        "distractor1": "salt",
        "distractor2": "iron",
        "distractor3": "sand",
        "correct_answer": "oxygen",
        "support": "",
    } | changes


def test_sciq(tmp_path: Path) -> None:
    path = put(tmp_path, "s.json", json.dumps([science(), science(distractor1="mud")], indent=4))
    first, second = load_sciq(path).values
    assert (first.question, first.answers, first.aliases) == (science()["question"], ("oxygen",), ())
    assert first.item_id != second.item_id


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (json.dumps([science(), science()], indent=1), ":10 (element 2): id: repeats line 2 (element 1)"),
        (json.dumps([science(correct_answer="")]), ":1 (element 1): correct_answer: empty"),
        (json.dumps([science(question=7)]), ":1 (element 1): question: a text is expected"),
        (json.dumps([science()])[:-1], ":1 (element 1): element: followed neither"),
        (jsonl(science()), ":1: not a JSON list"),
        ("[]", ": empty set: the file holds no rows"),
    ],
)
def test_sciq_refuses(tmp_path: Path, content: str, message: str) -> None:
    assert message in refused(load_sciq, put(tmp_path, "s.json", content))


# a plain set


def test_plain_jsonl(tmp_path: Path) -> None:
    path = put(
        tmp_path,
        "q.jsonl",
        jsonl(
            {"question": "Who?", "answers": ["Ada", "Ada Moor"], "aliases": ["A."], "type": "PERSON", "id": 4},
            {"question": "When?", "answers": "1900", "popularity": 12, "freshness": "never", "type": None},
        ),
    )
    one, two = load_plain(path).values
    assert one == QAItem("4", "Who?", ("Ada", "Ada Moor"), ("A.",), entity_type="PERSON")
    assert two == QAItem(two.item_id, "When?", ("1900",), popularity=12.0, freshness="never")


def test_plain_csv_answers_are_one_text_or_a_json_list(tmp_path: Path) -> None:
    content = (
        "question,answers,aliases,type,popularity,freshness,id\r\n"
        '"Who, then?","Moor, Ada","[""A."", ""Moor""]",PERSON,3.5,slow,a\r\n'
        'When?,"[""1900"", ""MCM""]",,,,,\r\n'
    )
    one, two = load_plain(put(tmp_path, "q.csv", b"\xef\xbb\xbf" + content.encode())).values
    assert one == QAItem("a", "Who, then?", ("Moor, Ada",), ("A.", "Moor"), "PERSON", 3.5, "slow")
    assert (two.answers, two.aliases, two.entity_type) == (("1900", "MCM"), (), None)


def test_plain_is_the_same_from_both_formats(tmp_path: Path) -> None:
    csv_items = load_plain(put(tmp_path, "q.csv", 'question,answers\nWho?,"[""a"", ""b""]"\n')).values
    assert csv_items == load_plain(put(tmp_path, "q.jsonl", jsonl({"question": "Who?", "answers": ["a", "b"]}))).values


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("q.jsonl", jsonl({"question": "a", "answers": ["b"], "alias": ["c"]}), ":1: alias: unknown field; the known"),
        ("q.csv", "question,answers,notes\na,b,c\n", ":2: notes: unknown field"),
        ("q.jsonl", jsonl({"question": "a", "answers": ["b"], "type": "CITY"}), ":1: type: 'CITY' is none of PERSON"),
        ("q.jsonl", jsonl({"question": "a", "answers": ["b"], "freshness": "old"}), ":1: freshness: 'old' is none of"),
        ("q.jsonl", jsonl({"question": "a", "answers": ["b"], "popularity": -1}), ":1: popularity: -1 is negative"),
        ("q.csv", "question,answers,popularity\na,b,high\n", ":2: popularity: 'high' is not a number"),
        ("q.csv", "question,answers\na,\n", ":2: answers: empty"),
        ("q.csv", "question,answers\na,[b]\n", ":2: answers: '[b]' begins like a JSON list but is none"),
        ("q.csv", "question;answers\na;b\n", ":1: column `question` is missing; found 'question;answers'"),
        ("q.csv", "", ": empty set: the file holds no rows"),
        ("q.csv", "question,answers\n", ": empty set: the file holds no rows"),
        ("q.csv", "id,question,answers\nx,a,b\ny,c,d\nx,e,f\n", ":4: id: repeats line 2: both have 'x'"),
        ("q.jsonl", jsonl(*[{"question": "a", "answers": ["b"]}] * 2), ":2: id: repeats line 1"),
        ("q.xlsx", "", ": a plain set is a .jsonl or a .csv file, not .xlsx"),
        ("q", "", ": a plain set is a .jsonl or a .csv file, not one without an ending"),
    ],
)
def test_plain_refuses(tmp_path: Path, name: str, content: str, message: str) -> None:
    assert message in refused(load_plain, put(tmp_path, name, content))
