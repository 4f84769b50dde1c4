"""The pool of persons: deciles given or computed, keys, bad rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from judgelab.data.persons import load_persons
from judgelab.errors import UsageError
from judgelab.items import Person


def write(tmp_path: Path, *rows: dict[str, Any]) -> Path:
    path = tmp_path / "persons.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return path


def test_as_given(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        {"qid": "Q1", "name": " Ann ", "aliases": ["A.", "Ann"], "popularity": 20, "decile": 0, "source_prop": "x"},
        {"qid": "Q2", "name": "Ann", "aliases": [], "popularity": 9.5, "decile": 9},
    )
    assert load_persons(path) == (Person("Ann", ("A.",), 20.0, 0), Person("Ann", (), 9.5, 9))


def test_deciles_are_shares_of_the_pool_that_are_less_popular(tmp_path: Path) -> None:
    views = [50, 10, 10, 40, 30]
    persons = load_persons(write(tmp_path, *({"name": f"P{i}", "popularity": v} for i, v in enumerate(views))))
    assert [p.decile for p in persons] == [8, 0, 0, 6, 4]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"name": "A"}], ":1: popularity: missing"),
        ([{"name": "A", "popularity": -2}], ":1: popularity: -2 is negative"),
        ([{"name": "", "popularity": 2}], ":1: name: empty"),
        ([{"name": "A", "popularity": 2, "decile": 10}], ":1: decile: 10 is not a whole number from 0 to 9"),
        ([{"name": "A", "popularity": 2, "decile": 1.5}], ":1: decile: 1.5 is not"),
        ([{"name": "A", "popularity": 2, "aliases": [1]}], ":1: aliases[0]: a text is expected"),
        ([{"name": "A", "popularity": 2}, {"name": "A", "popularity": 3}], ":2: id: repeats line 1"),
        (
            [{"name": "A", "popularity": 2, "decile": 1}, {"name": "B", "popularity": 3}],
            ": decile: given for 1 of 2 persons",
        ),
        ([], ": empty set: the file holds no rows"),
    ],
)
def test_refuses(tmp_path: Path, rows: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        load_persons(write(tmp_path, *rows))
    assert f"persons.jsonl{message}" in str(caught.value)
    assert "dataset.persons" in str(caught.value)
    assert "\n" not in str(caught.value)
