from __future__ import annotations

import math

import numpy as np
import pytest
from judged_answers import run

from judgelab.frames.sage import trials
from judgelab.metrics.binary import NAMES, binary_agreement
from judgelab.metrics.sample import Sample
from judgelab.metrics.yardsticks import yardsticks
from judgelab.records import Reason

SAMPLE = Sample(0.9, 2000, 0)
NOTE = "truth: people"


def of(n: int, says=lambda *_: True, human=lambda k: k % 4 > 0, **subject):
    rows = trials(run(n, says, human, **subject))
    return yardsticks(rows.assign(truth=rows["human"]), SAMPLE, NOTE)


def test_constant_judges() -> None:
    got = of(40)
    assert (got["always_true"]["accuracy"].value, got["always_true"]["sensitivity"].value) == (0.75, 1.0)
    assert (got["always_false"]["accuracy"].value, got["always_false"]["specificity"].value) == (0.25, 1.0)
    assert got["always_true"]["kappa"].value == got["always_false"]["kappa"].value == 0.0
    assert got["majority"] == got["always_true"]
    assert of(40, human=lambda k: k % 4 == 0)["majority"] == of(40, human=lambda k: k % 4 == 0)["always_false"]
    for row in got.values():
        assert set(row) == {*NAMES, "base_rate"}
        for each in row.values():
            assert each.method.endswith(NOTE)
            assert each.n == 40


def test_strings() -> None:
    got = of(8, human=lambda _: True, candidate="The Aldby", answers=("aldby",))
    assert got["em"]["accuracy"].value == got["f1"]["accuracy"].value == got["contains"]["accuracy"].value == 1.0
    wordy = of(8, human=lambda _: True, candidate="It lies near Aldby, on the old coast road", answers=("Aldby",))
    assert (wordy["em"]["accuracy"].value, wordy["f1"]["accuracy"].value) == (0.0, 0.0)
    assert wordy["contains"]["accuracy"].value == 1.0


def test_half_of_the_words_is_right() -> None:
    # 1 shared word of 2 and 2: F1 is exactly .5
    assert (
        of(4, human=lambda _: True, candidate="Aldby town", answers=("Aldby village",))["f1"]["accuracy"].value == 1.0
    )


def test_without_gold_answers_strings_are_undefined() -> None:
    got = of(8, answers=())
    assert all(math.isnan(e.value) for name in ("em", "f1", "contains") for e in got[name].values())
    assert got["always_true"]["accuracy"].value == 0.75


def test_only_answers_that_the_judge_decided_count() -> None:
    got = of(40, says=lambda k, _: Reason.TRUNCATED if k < 10 else True)
    assert {row["accuracy"].n for row in got.values()} == {30}


def test_coins_fall_in_the_range_of_the_random_judge() -> None:
    row = of(200)["random"]
    assert (row["accuracy"].value, row["kappa"].value) == (0.5, 0.0)
    assert (row["sensitivity"].value, row["specificity"].value) == (0.5, 0.5)
    truth = [k % 4 > 0 for k in range(200)]
    rng = np.random.default_rng(9)
    inside = dict.fromkeys(NAMES, 0)
    for _ in range(400):
        coin = rng.random(200) < 0.5
        got = binary_agreement([str(k) for k in range(200)], truth, coin.tolist(), 0.9, 1, 0)
        for name in NAMES:
            inside[name] += row[name].lo <= got[name].value <= row[name].hi
    for name, hits in inside.items():
        assert 0.85 <= hits / 400 <= 0.97, name


@pytest.mark.parametrize("verdict", [Reason.PARSE_ERROR, None])
def test_nothing_decided_is_undefined(verdict: Reason | None) -> None:
    rows = trials(run(3, lambda *_: verdict, lambda _: True))
    got = yardsticks(rows.assign(truth=rows["human"]), SAMPLE, NOTE)
    for row in got.values():
        for each in row.values():
            assert math.isnan(each.value)
            assert each.method.startswith("undefined: no item with truth and verdict")
