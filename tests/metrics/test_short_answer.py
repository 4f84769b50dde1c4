from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgelab.config import preset
from judgelab.data import load
from judgelab.items import GradedAnswer
from judgelab.metrics.short_answer import contains_gold, exact_match, squad_normalise, token_f1


@pytest.mark.parametrize(
    ("text", "normal"),
    [("The  Cat!", "cat"), ("an apple, a day", "apple day"), ("U.S.", "us"), ("", ""), ("the", ""), ("É a", "é")],
)
def test_normalisation_is_squads(text: str, normal: str) -> None:
    assert squad_normalise(text) == normal


@pytest.mark.parametrize(
    ("answer", "golds", "em", "f1", "contains"),
    [
        ("The Eiffel Tower", ["eiffel tower"], True, 1.0, True),
        ("It is the Eiffel Tower.", ["Eiffel Tower"], False, 2 * 2 / (4 + 2), True),
        ("Paris", ["London", "paris"], True, 1.0, True),
        ("Rome", ["Paris"], False, 0.0, False),
        ("", ["Paris"], False, 0.0, False),
        ("anything", [], False, 0.0, False),
        ("anything", ["the"], False, 0.0, False),
    ],
)
def test_textbook_values(answer: str, golds: list[str], em: bool, f1: float, contains: bool) -> None:
    assert exact_match(answer, golds) is em
    assert token_f1(answer, golds) == pytest.approx(f1)
    assert contains_gold(answer, golds) is contains


@given(st.text(max_size=40), st.lists(st.text(max_size=20), max_size=3))
def test_f1_is_a_share_and_one_for_a_match(answer: str, golds: list[str]) -> None:
    found = token_f1(answer, golds)
    assert 0.0 <= found <= 1.0
    if exact_match(answer, golds) and squad_normalise(answer):
        assert found == 1.0


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "contains", "em", "f1"),
    [("evouna_nq", 0.8332, 0.3871, 0.4170), ("evouna_tq", 0.9141, 0.3631, 0.4314)],
)
def test_acceptance_evouna_baselines(data_dir: Path, name: str, contains: float, em: float, f1: float) -> None:
    # The published figures take the list of NQ-open where the question is spelt the same, else the "/" string.
    file = {"evouna_nq": "NQ", "evouna_tq": "TQ"}[name]
    rows = json.loads((data_dir / "evouna" / f"{file}.json").read_text(encoding="utf-8"))
    lists: dict[str, list[str]] = {}
    if name == "evouna_nq":
        for line in (data_dir / "nq_open" / "NQ-open.dev.jsonl").read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            lists[row["question"].strip().lower()] = row["answer"]
    golds = {}
    for row in rows:
        if row["improper"]:
            continue
        key = row["question"].strip().lower()
        golds[key] = lists.get(key, row["golden_answer"].split("/"))
    items = load(preset("dataset", name)).items
    assert all(isinstance(item, GradedAnswer) for item in items)

    def accuracy(says: object) -> float:
        right = sum(says(i.candidate, golds[i.question.strip().lower()]) == i.human for i in items)  # type: ignore[operator]
        return right / len(items)

    assert accuracy(contains_gold) == pytest.approx(contains, abs=5e-5)
    assert accuracy(exact_match) == pytest.approx(em, abs=5e-5)
    assert accuracy(lambda a, g: token_f1(a, g) >= 0.5) == pytest.approx(f1, abs=5e-5)
