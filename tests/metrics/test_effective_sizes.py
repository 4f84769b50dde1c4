"""Shares of answers that depend on each other, and the corrections made of them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgelab.metrics.correction import Share, corrected_share, prediction_powered, rogan_gladen, share


def test_answers_of_their_own_questions_count_in_full() -> None:
    hits = [True] * 7 + [False] * 3
    assert share(hits, [f"g{k}" for k in range(10)]) == Share(0.7, 10, pytest.approx(10.0))


def test_answers_that_repeat_each_other_count_once() -> None:
    # 20 questions of 5 answers that are all alike: 100 answers tell what 20 do (19 of freedom against 99)
    hits = [k < 12 for k in range(20) for _ in range(5)]
    got = share(hits, [f"g{k}" for k in range(20) for _ in range(5)])
    assert (got.value, got.n) == (0.6, 100)
    assert got.size == pytest.approx(100 / (5 * 20 / 19 * 99 / 100))


@pytest.mark.parametrize(
    ("hits", "groups", "size"),
    [([], [], 0.0), ([True], ["a"], 1.0), ([True, False], ["a", "a"], 1.0), ([True] * 4, ["a", "a", "b", "b"], 2.0)],
)
def test_what_cannot_show_variation_counts_its_questions(hits: list[bool], groups: list[str], size: float) -> None:
    got = share(hits, groups)
    assert (got.n, got.size) == (len(hits), size)
    assert math.isnan(got.value) == (not hits)


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 6)), min_size=1, max_size=40))
def test_the_effective_size_is_at_most_the_number_of_answers(rows: list[tuple[bool, int]]) -> None:
    got = share([hit for hit, _ in rows], [str(group) for _, group in rows])
    assert 0.0 < got.size <= len(rows) + 1e-9


def test_interval_worked_by_hand() -> None:
    # p = 80/100, q1 = 45/50, q0 = 24/30 at z = 1.959964: n~ 103.84146, p~ .7889017, q1~ 46/52, q0~ 25/32
    got = rogan_gladen(80, 100, 45, 50, 24, 30, 0.95)
    assert got.value == pytest.approx(0.6 / 0.7)
    p, q1, q0, z2 = 81.9207294 / 103.8414588, 46 / 52, 25 / 32, 3.8414588
    theta = (p + q0 - 1) / (q0 + q1 - 1)
    a, b = q0 * (1 - q0) / 32, q1 * (1 - q1) / 52
    spread = math.sqrt(p * (1 - p) / 103.8414588 + (1 - theta) ** 2 * a + theta**2 * b) / (q0 + q1 - 1)
    shift = 2 * z2 * (theta * b - (1 - theta) * a)
    assert got.lo == pytest.approx(theta + shift - math.sqrt(z2) * spread, abs=1e-6)
    assert got.hi == 1.0 < theta + shift + math.sqrt(z2) * spread


def test_what_was_cut_to_a_share_is_said() -> None:
    got = rogan_gladen(98, 100, 80, 100, 80, 100, 0.95)
    assert (got.value, got.hi) == (1.0, 1.0)
    assert "cut from 1.300" in got.method


def test_an_unbalanced_handful_is_too_few() -> None:
    # 1 of 1 and 101 of 1000 sum to more than 1, but with pseudo counts one right answer proves nothing
    got = corrected_share(Share.of(5, 10), Share.of(1, 1), Share.of(101, 1000), 0.95)
    assert got.method == "undefined: too few answers that people judged to tell the judge from chance"


def test_questions_are_what_the_interval_counts() -> None:
    """Nine answers a question that stand and fall together: taken as independent they cover too rarely."""
    rng = np.random.default_rng(0)
    truth, sets, covered = 0.7, 300, {"answers": 0, "questions": 0}

    def drawn(questions: int):
        easy, e1, e0 = (rng.beta(a, b, questions)[:, None] for a, b in ((1.4, 0.6), (9, 1), (3, 1)))
        right = rng.random((questions, 9)) < easy
        said = np.where(right, rng.random((questions, 9)) < e1, rng.random((questions, 9)) >= e0)
        return right.ravel(), said.ravel(), np.repeat(np.arange(questions).astype(str), 9)

    for _ in range(sets):
        (_, said, groups), (right, judged, where) = drawn(150), drawn(60)
        parts = [(said, groups), (judged[right], where[right]), (~judged[~right], where[~right])]
        for kind, shares in (
            ("answers", [Share.of(int(x.sum()), len(x)) for x, _ in parts]),
            ("questions", [share(x, g) for x, g in parts]),
        ):
            got = corrected_share(*shares, 0.95)
            covered[kind] += got.lo <= truth <= got.hi
    assert covered["answers"] / sets < 0.87
    assert 0.91 <= covered["questions"] / sets <= 0.98


def test_prediction_powered_worked_by_hand() -> None:
    # human 1 1 0 0, verdicts 1 1 1 0, others 1 0: cov = 1/8 (over n), pooled variance 4/6 * 2/6 * 6/5 = 4/15
    got = prediction_powered(np.array([1.0, 1.0, 1.0, 0.0]), np.array([1.0, 1.0, 0.0, 0.0]), np.array([1.0, 0.0]), 0.95)
    weight = (1 / 8) * 2 / ((1 + 4 / 2) * 2 * 4 / 15)
    assert got.value == pytest.approx(0.5 + weight * (0.5 - 0.75))
    assert (got.n, f"lambda {weight:.3f}" in got.method) == (6, True)


def test_prediction_powered_without_variation_is_no_point() -> None:
    got = prediction_powered(np.ones(5), np.ones(5), np.ones(5), 0.95)
    assert got.value == 1.0 > got.lo


def test_prediction_powered_covers_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(11)
    sets, covered = 200, 0
    for _ in range(sets):
        right = rng.random((150, 4)) < rng.beta(1.4, 0.6, 150)[:, None]
        said = np.where(rng.random((150, 4)) < 0.85, right, ~right).astype(float)
        groups = np.repeat(np.arange(150).astype(str), 4).reshape(150, 4)
        parts = (said[:40].ravel(), right[:40].ravel().astype(float), said[40:].ravel())
        got = prediction_powered(*parts, 0.95, groups.ravel().tolist(), 300, 0)
        covered += got.lo <= 0.7 <= got.hi
    assert 0.89 <= covered / sets <= 0.985
