"""Search Arena in both published shapes, as Parquet and as JSON lines: filter, ids, languages, addresses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from datafiles import jsonl, put, refused

from judgelab.data.rows import Loaded
from judgelab.data.search_arena import load_search_arena
from judgelab.errors import UsageError
from judgelab.items import NuggetItem, Page, Response, Vote


def chat(answer: str, question: str = "Who dug the old well?") -> list[dict[str, str]]:
    return [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]


def seen(*urls: str) -> dict[str, Any]:
    """Metadata of one side in the shape of v1-7k."""
    return {"web_search_trace": [{"query": "q", "search_results": [{"url": url, "title": "t"} for url in urls]}]}


def seven(**values: Any) -> dict[str, Any]:
    """A row of v1-7k."""
    return {
        "question_id": "q1",
        "turn": 1,
        "language": "English",
        "winner": "model_b",
        "messages_a": chat("A miller."),
        "messages_b": chat("A miller named Ode."),
        "model_a": "heron",
        "model_b": "plover",
        "system_a_metadata": seen("http://one.example", "http://two.example"),
        "system_b_metadata": seen("http://two.example", "http://three.example"),
        "timestamp": "2025-01-01",
    } | values


def later(**values: Any) -> dict[str, Any]:
    """A row of 24k: no id, languages as a list, a trace of lists."""
    row = seven(
        languages=["German", "English"],
        system_a_metadata={"web_search_trace": [[["Title", "http://four.example"], ["T", "http://five.example"]]]},
        system_b_metadata={"web_search_trace": []},
    )
    return {name: value for name, value in (row | values).items() if name not in ("question_id", "language")}


def parquet(path: Path, *rows: dict[str, Any]) -> Path:
    pq.write_table(pa.Table.from_pylist(list(rows)), path)
    return path


def load(tmp_path: Path, kind: str, *rows: dict[str, Any]) -> Loaded[NuggetItem]:
    made = parquet(tmp_path / "a.parquet", *rows) if kind == "parquet" else put(tmp_path, "a.jsonl", jsonl(*rows))
    return load_search_arena(made)


both = pytest.mark.parametrize("kind", ["parquet", "jsonl"])


@both
def test_seven_thousand(tmp_path: Path, kind: str) -> None:
    (item,) = load(tmp_path, kind, seven()).values
    urls = ("http://one.example", "http://two.example", "http://three.example")
    assert item == NuggetItem(
        "q1",
        "Who dug the old well?",
        item.group,
        (Response("heron", "A miller."), Response("plover", "A miller named Ode.")),
        Vote.MODEL_B,
        language="English",
        pages=tuple(Page(url=url) for url in urls),
    )


@both
def test_twenty_four_thousand(tmp_path: Path, kind: str) -> None:
    loaded = load(tmp_path, kind, later(winner=None), later(turn=3), later(winner="tie"), later(winner="tie (bothbad)"))
    assert [item.item_id for item in loaded.values] == ["2", "3"]
    assert {item.language for item in loaded.values} == {"German"}
    assert [page.url for page in loaded.values[0].pages] == ["http://four.example", "http://five.example"]
    assert loaded.dropped == {"no_vote": 1, "multi_turn": 1}


@both
def test_what_is_left_out_is_counted_by_reason(tmp_path: Path, kind: str) -> None:
    rows = [
        seven(),
        seven(question_id="q2", turn=2),
        seven(question_id="q3", winner=""),
        seven(question_id="q4", messages_b=chat("x")[:1]),
        seven(question_id="q5", messages_a=chat("x", question=" ")),
        seven(question_id="q6", messages_a=chat("")),
        seven(question_id="q7", messages_a=[chat("x")[0], {"role": "assistant", "content": None}]),
    ]
    loaded = load(tmp_path, kind, *rows)
    assert [item.item_id for item in loaded.values] == ["q1", "q6", "q7"]
    assert [item.responses[0].text for item in loaded.values] == ["A miller.", "", ""]
    assert loaded.dropped == {"multi_turn": 1, "no_vote": 1, "no_answer": 1, "no_question": 1}


@pytest.mark.parametrize(
    "metadata", [None, {"web_search_trace": None}, {"web_search_trace": [{"search_results": None}]}, {"other": 1}]
)
def test_a_side_may_have_seen_nothing(tmp_path: Path, metadata: Any) -> None:
    (item,) = load(tmp_path, "jsonl", seven(system_a_metadata=metadata, system_b_metadata=metadata)).values
    assert item.pages == ()


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (seven(turn=None), ":1: turn: missing"),
        (seven(winner="model_c"), ":1: winner: 'model_c' is none of"),
        (seven(messages_a="hello"), ":1: messages_a: a list is expected, not the text 'hello'"),
        (seven(system_a_metadata={"web_search_trace": "x"}), ":1: system_a_metadata.web_search_trace: a list"),
        (seven(system_b_metadata={"web_search_trace": ["x"]}), ":1: system_b_metadata.web_search_trace: a step is"),
        (seven(turn=2), ": empty set: every row was left out (1 multi_turn)"),
    ],
)
def test_refuses(tmp_path: Path, row: dict[str, Any], message: str) -> None:
    assert message in refused(load_search_arena, put(tmp_path, "a.jsonl", jsonl(row)))


def test_parquet_rows_are_named_by_number(tmp_path: Path) -> None:
    path = parquet(tmp_path / "a.parquet", seven(), seven(question_id="q2", winner="x"))
    assert ":row 2: winner: 'x' is none of" in refused(load_search_arena, path)


def test_broken_parquet(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"a\.parquet: not a Parquet file: .*dataset\.path"):
        load_search_arena(put(tmp_path, "a.parquet", "no parquet at all"))
