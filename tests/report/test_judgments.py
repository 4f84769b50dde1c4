from __future__ import annotations

import json
from typing import Any

import pytest
import synthetic
from hypothesis import given
from hypothesis import strategies as st

from judgelab.report.judgments import COLUMNS, _script_safe, embed
from judgelab.report.run_report import RunReport
from judgelab.report.swapped import judgment


def rows(document: dict[str, Any]) -> list[dict[str, Any]]:
    out = []
    for row in document["rows"]:
        values = dict(zip(document["columns"], row, strict=True))
        for name in document["texts"]:
            values[name] = document["strings"][values[name]]
        out.append(values)
    return out


def test_every_judgment_is_there_with_its_texts(plain: RunReport) -> None:
    document = json.loads(embed([plain]).data)
    found = {row["id"]: row for row in rows(document)}
    assert set(found) == {record.record_id for record in plain.records}
    for record in plain.records:
        row = found[record.record_id]
        assert (row["cell"], row["verdict"], row["question"]) == (record.cell, record.verdict, record.subject.question)
        assert (row["reference"], row["candidate"]) == (record.subject.reference, record.subject.candidate)
        assert row["reason"] == (record.unscored.reason.value if record.unscored else None)


def test_every_trace_is_there_word_for_word(plain: RunReport) -> None:
    embedded = embed([plain])
    document = json.loads(embedded.data)
    assert embedded.note == ""
    assert len(document["traces"]) == len(plain.records)
    for number, record in enumerate(plain.records):
        (call,), (kept,) = record.calls, document["traces"][str(number)]["calls"]
        assert [[role, document["strings"][text]] for role, text in kept["messages"]] == [
            [m.role, m.content] for m in call.messages
        ]
        assert document["strings"][kept["text"]] == call.text
        assert kept["tokens"] == [412, 380, 1, 0]


def test_a_text_said_often_is_stored_once(plain: RunReport) -> None:
    assert embed([plain]).data.count("You grade one answer") == 12


def test_a_large_run_keeps_the_traces_of_what_went_wrong_and_says_so(plain: RunReport) -> None:
    wrong = [n for n, record in enumerate(plain.records) if judgment(record).result != "right"]
    embedded = embed([plain], limit=50_000)
    document = json.loads(embedded.data)
    assert [int(n) for n in document["traces"]] == wrong
    assert "only judgments that are wrong or without a verdict have a trace" in embedded.note
    assert len(document["rows"]) == len(plain.records)


def test_a_huge_run_keeps_the_first_of_them(plain: RunReport) -> None:
    embedded = embed([plain], limit=4_000)
    kept = len(json.loads(embedded.data)["traces"])
    assert 0 < kept < 20
    assert f"only the first {kept} judgments" in embedded.note


def test_runs_of_a_report_are_told_apart(plain: RunReport, bare: RunReport) -> None:
    document = json.loads(embed([plain, bare]).data)
    assert len(document["runs"]) == 2
    assert {row["run"] for row in rows(document)} == {0, 1}


@pytest.mark.parametrize(
    ("verdict", "expected"),
    [("CORRECT", "right"), ("INCORRECT", "wrong"), ("NOT_ATTEMPTED", "not attempted"), (None, "unscored")],
)
def test_result(verdict: str | None, expected: str) -> None:
    reason = None if verdict else synthetic.Reason.TRUNCATED
    assert judgment(synthetic.record(1, "ss", verdict, reason)).result == expected


@given(st.text(st.characters(exclude_categories=())))
def test_no_text_leaves_the_script_element(text: str) -> None:
    safe = _script_safe(json.dumps([text]))
    assert not set(safe) & set("<>&\u2028\u2029")
    assert safe.isascii()
    assert json.loads(safe) == [text]


def test_columns_are_named_once() -> None:
    assert len(set(COLUMNS)) == len(COLUMNS)
