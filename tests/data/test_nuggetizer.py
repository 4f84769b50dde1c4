"""Files of the nuggetizer tool: read as items, written from sheets, and the same lines again after both."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from datafiles import jsonl, put, refused
from hypothesis import given
from hypothesis import strategies as st

from judgelab.data.nuggetizer import export_nuggetizer, load_nuggetizer
from judgelab.errors import UsageError
from judgelab.items import GivenNugget, NuggetItem, Response
from judgelab.records import Record
from judgelab.subjects import Nugget, Sheet, Triplet


def nugget(text: str = "Wells reach water.", importance: str = "vital", assignment: str = "support") -> dict[str, str]:
    return {"text": text, "importance": importance, "assignment": assignment}


def assigned(qid: str = "t1", run: str = "run-a", answer: str = "Wells reach water", **values: Any) -> dict[str, Any]:
    return {
        "query": "how do wells work",
        "qid": qid,
        "answer_text": answer,
        "response_length": len(answer.split()),
        "run_id": run,
        "nuggets": [nugget(), nugget("Pumps lift it ", "okay", "not_support")],
    } | values


def record(item: NuggetItem) -> Record:
    """An item as a run would record it that labels as the file does."""
    labels = [response.labels or ("not_support",) * len(item.nuggets) for response in item.responses]
    sheet = Sheet(
        item.question,
        item.group,
        tuple(response.system for response in item.responses),
        tuple(response.text for response in item.responses),
        tuple(
            Nugget(nugget.text, nugget.importance or "", tuple(column[i] for column in labels))
            for i, nugget in enumerate(item.nuggets)
        ),
        "given",
    )
    return Record(item.item_id, item.item_id, "nuggets", "assigned", sheet)


def test_an_assignment_is_an_item_with_one_answer(tmp_path: Path) -> None:
    (item,) = load_nuggetizer(put(tmp_path, "a.jsonl", jsonl(assigned()))).values
    assert item == NuggetItem(
        "t1:run-a",
        "how do wells work",
        "t1",
        (Response("run-a", "Wells reach water", ("support", "not_support")),),
        nuggets=(GivenNugget("Wells reach water.", "vital"), GivenNugget("Pumps lift it ", "okay")),
    )


def test_lists_with_answers(tmp_path: Path) -> None:
    lists = [
        {"query": "how do wells work", "qid": "t1", "nuggets": [{"text": "Deep.", "importance": "vital"}]},
        {"query": "what is a pump", "qid": "t2", "nuggets": []},
        {"query": "unused", "qid": "t3", "nuggets": [{"text": "x", "importance": "failed"}]},
    ]
    answers = [
        {"run_id": "r1", "topic_id": "t1", "answer": [{"text": "They are"}, {"text": "deep."}], "response_length": 3},
        {"run_id": "r2", "topic_id": "t1", "answer": []},
        {"run_id": "r1", "topic_id": "t2", "answer": []},
        {"run_id": "r1", "topic_id": "t9", "answer": []},
        {"run_id": "r1", "topic_id": "t3", "answer": []},
    ]
    loaded = load_nuggetizer(put(tmp_path, "n.jsonl", jsonl(*lists)), put(tmp_path, "a.jsonl", jsonl(*answers)))
    assert [item.item_id for item in loaded.values] == ["t1:r1", "t1:r2"]
    assert [item.responses[0].text for item in loaded.values] == ["They are deep.", ""]
    assert loaded.dropped == {"no nuggets": 2, "failed labels": 1}
    written = export_nuggetizer(map(record, loaded.values), tmp_path / "out")
    assert written.nuggets.read_text(encoding="utf-8") == jsonl(lists[0])


def test_what_the_tool_failed_at_is_left_out_and_counted(tmp_path: Path) -> None:
    rows = [
        assigned(),
        assigned("t2", nuggets=[nugget(assignment="failed")]),
        assigned("t3", nuggets=[nugget(importance="failed")]),
        assigned("t4", nuggets=[]),
    ]
    loaded = load_nuggetizer(put(tmp_path, "a.jsonl", jsonl(*rows)))
    assert len(loaded.values) == 1
    assert loaded.dropped == {"failed labels": 2, "no nuggets": 1}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (assigned(nuggets=[nugget(importance="Vital.")]), ":1: importance: 'Vital.' is none of vital, okay, failed"),
        (assigned(nuggets=[nugget(assignment="yes")]), ":1: assignment: 'yes' is none of support, partial_support"),
        (assigned(nuggets=[nugget(" ")]), ":1: text: blank"),
        (assigned(answer_text=None), ":1: answer_text: missing"),
        (assigned(qid=None), ":1: qid: missing"),
        (assigned(query=""), ":1: query: empty"),
        (
            {"query": "q", "qid": "1", "nuggets": []},
            ":1: run_id: missing: a list of nuggets needs answers (dataset.pred",
        ),
    ],
)
def test_refuses(tmp_path: Path, row: dict[str, Any], message: str) -> None:
    assert message in refused(load_nuggetizer, put(tmp_path, "a.jsonl", jsonl(row)))


def test_refuses_a_second_answer_of_a_run_to_a_topic(tmp_path: Path) -> None:
    rows = [assigned(), assigned(answer="other")]
    assert ":2: id: repeats line 1" in refused(load_nuggetizer, put(tmp_path, "a.jsonl", jsonl(*rows)))


texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).map(lambda text: f"x{text}")
rows_of_runs = st.lists(
    st.tuples(st.sampled_from(["t1", "t2"]), st.sampled_from(["r1", "r2", "r/3", ".."]), texts),
    min_size=1,
    max_size=6,
    unique_by=lambda row: row[:2],
)


@given(rows=rows_of_runs, wording=texts)
def test_round_trip_gives_the_same_lines(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str, str]], wording: str
) -> None:
    tmp_path = tmp_path_factory.mktemp("d")
    nuggets = [nugget(wording), nugget(f" {wording}", "okay", "partial_support")]
    content = jsonl(*(assigned(qid, run, answer, nuggets=nuggets) for qid, run, answer in rows))
    items = load_nuggetizer(put(tmp_path, "a.jsonl", content)).values
    written = export_nuggetizer(map(record, items), tmp_path / "out")
    assert written.assignments.read_bytes() == content.encode()
    topics = list(dict.fromkeys(qid for qid, _, _ in rows))
    lists = [json.loads(line) for line in written.nuggets.read_text(encoding="utf-8").split("\n") if line]
    assert [line["qid"] for line in lists] == topics
    assert len(written.metrics) == len({run for _, run, _ in rows})


def test_scores_of_the_worked_example_and_means(tmp_path: Path) -> None:
    four = [
        nugget("a", "vital", "support"),
        nugget("b", "vital", "partial_support"),
        nugget("c", "okay", "support"),
        nugget("d", "okay", "not_support"),
    ]
    none = [nugget("e", "okay", "failed")]  # nothing vital, and what failed counts 0
    sheets = [
        Record(
            "1", "1", "nuggets", "assigned", Sheet("q1", "t1", ("r",), ("x",), tuple(_nugget(n) for n in four), "both")
        ),
        Record(
            "2", "2", "nuggets", "assigned", Sheet("q2", "t2", ("r",), ("y",), tuple(_nugget(n) for n in none), "both")
        ),
    ]
    (path,) = export_nuggetizer(sheets, tmp_path).metrics
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    names = ("strict_vital_score", "strict_all_score", "vital_score", "all_score")
    assert path.name == "r.jsonl"
    assert rows == [
        {"qid": "t1", **dict(zip(names, (0.5, 0.5, 0.75, 0.625), strict=True))},
        {"qid": "t2", **dict.fromkeys(names, 0.0)},
        {"qid": "all", **dict(zip(names, (0.25, 0.25, 0.375, 0.3125), strict=True))},
    ]


def test_battles_and_lists_of_their_own_go_by_item(tmp_path: Path) -> None:
    one, other = (Nugget("n", "vital", ("support", "not_support")),), (Nugget("m", "okay", ("support",)),)
    sheets = [
        Record("r1", "battle-1", "nuggets", "assigned", Sheet("q", "g", ("a", "b"), ("x y", ""), one, "both")),
        Record(
            "r2",
            "t1:a",
            "nuggets",
            "assigned",
            Sheet("q", "t1", ("a",), ("x",), (Nugget("n", "vital", ("support",)),), "both"),
        ),
        Record("r3", "t1:b", "nuggets", "assigned", Sheet("q", "t1", ("b",), ("x",), other, "both")),
        Record("r4", "none", "nuggets", "assigned", Sheet("q", "t5", ("b",), ("x",), (), "both")),
        Record("r5", "other", "oo", "CORRECT", Triplet("q", "r", "c", "oo", "1", "s", "o", "s")),
    ]
    written = export_nuggetizer(sheets, tmp_path)
    lines = [json.loads(line) for line in written.assignments.read_text(encoding="utf-8").splitlines()]
    assert [(line["qid"], line["run_id"], line["response_length"]) for line in lines] == [
        ("battle-1", "a", 2),
        ("battle-1", "b", 0),
        ("t1:a", "a", 1),
        ("t1:b", "b", 1),
    ]
    assert [path.name for path in written.metrics] == ["a.jsonl", "b.jsonl"]


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    put(tmp_path, "file", "")
    with pytest.raises(UsageError, match="cannot be written"):
        export_nuggetizer([], tmp_path / "file")


def _nugget(entry: dict[str, str]) -> Nugget:
    return Nugget(entry["text"], entry["importance"], (entry["assignment"],))
