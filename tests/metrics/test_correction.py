from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgelab.metrics.correction import prediction_powered, rogan_gladen


def test_a_textbook_correction() -> None:
    # Seen .5, sensitivity .9, specificity .8: theta = (.5 + .8 - 1) / (.9 + .8 - 1) = .3 / .7
    got = rogan_gladen(500, 1000, 90, 100, 80, 100, 0.95)
    assert got.value == pytest.approx(3 / 7)
    assert got.lo < 3 / 7 < got.hi
    assert got.hi - got.lo < 0.25


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ((0, 0, 1, 1, 1, 1), "needs verdicts"),
        ((5, 10, 0, 0, 5, 5), "needs verdicts"),
        ((5, 10, 5, 10, 5, 10), "no better than chance"),
        ((5, 10, 1, 1, 0, 1), "no better than chance"),
    ],
)
def test_what_cannot_be_corrected_says_why(arguments: tuple[int, ...], why: str) -> None:
    got = rogan_gladen(*arguments, 0.95)  # type: ignore[arg-type]
    assert math.isnan(got.value)
    assert why in got.method


@given(st.integers(0, 50), st.integers(0, 30), st.integers(0, 30))
def test_the_estimate_stays_a_share(said: int, hits: int, rejections: int) -> None:
    got = rogan_gladen(said, 50, hits, 30, rejections, 30, 0.9)
    if not math.isnan(got.value):
        assert 0.0 <= got.lo <= got.value <= got.hi <= 1.0


def test_the_interval_covers_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(3)
    theta, q1, q0, covered = 0.7, 0.9, 0.75, 0
    for _ in range(400):
        right = rng.binomial(60, 0.5)
        hits, rejections = rng.binomial(right, q1), rng.binomial(60 - right, q0)
        truly = rng.random(300) < theta
        said = int(np.where(truly, rng.random(300) < q1, rng.random(300) >= q0).sum())
        got = rogan_gladen(said, 300, hits, right, rejections, 60 - right, 0.95)
        covered += got.lo <= theta <= got.hi
    assert 0.90 <= covered / 400 <= 0.995


def test_prediction_powered_is_the_plain_mean_where_the_judge_says_nothing() -> None:
    human = np.array([1.0, 0.0, 1.0, 1.0])
    flat = np.ones(4)
    got = prediction_powered(flat, human, np.ones(10), 0.95)
    assert got.value == pytest.approx(0.75)
    assert "lambda 0.000" in got.method
    assert math.isnan(prediction_powered(flat[:1], human[:1], np.ones(10), 0.95).value)


def test_prediction_powered_is_sharper_than_people_alone_with_a_good_judge() -> None:
    rng, covered = np.random.default_rng(5), 0
    for _ in range(200):
        truth = (rng.random(1200) < 0.6).astype(float)
        judge = np.where(rng.random(1200) < 0.95, truth, 1 - truth)
        got = prediction_powered(judge[:200], truth[:200], judge[200:], 0.95)
        alone = 2 * 1.96 * truth[:200].std(ddof=1) / math.sqrt(200)
        assert got.hi - got.lo < 0.8 * alone
        covered += got.lo <= 0.6 <= got.hi
    assert 0.90 <= covered / 200 <= 0.99
