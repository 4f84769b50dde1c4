from __future__ import annotations

import math
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgelab.metrics.intervals import draws, ratio, resample, wilson


@pytest.mark.parametrize(
    ("k", "n", "lo", "hi"),
    [
        # z^2/(n+z^2) is the closed form at the ends
        (0, 10, 0.0, 0.2775),
        (50, 50, 0.9287, 1.0),
        (8, 10, 0.4902, 0.9433),
        # Newcombe (1998), Table I, method 3
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_textbook(k, n, lo, hi):
    got = wilson(k, n, 0.95)
    assert (got.lo, got.hi) == pytest.approx((lo, hi), abs=6e-5)
    assert got.value == k / n
    assert got.n == n


def test_wilson_of_nothing_is_undefined_and_says_so():
    got = wilson(0, 0, 0.95)
    assert all(math.isnan(x) for x in (got.value, got.lo, got.hi))
    assert got.method == "undefined: no scored records"


@settings(deadline=None)
@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), st.floats(0.5, 0.999))
def test_wilson_holds_its_value_within_0_and_1(kn, level):
    got = wilson(*kn, level)
    assert 0.0 <= got.lo <= got.value <= got.hi <= 1.0
    assert got.lo < got.hi


def share(ids, hits, level=0.95, resamples=400, seed=0):
    drawn = resample(ids, {"hit": hits, "n": np.ones(len(ids))}, level, resamples, seed)
    return drawn.estimate(ratio(drawn["hit"], drawn["n"]), len(ids))


records = st.lists(st.tuples(st.integers(0, 8), st.booleans()), min_size=1, max_size=40)


@settings(deadline=None)
@given(records, st.integers(0, 3), st.randoms())
def test_row_order_changes_nothing(rows, seed, random):
    shuffled = list(rows)
    random.shuffle(shuffled)
    one, two = (share([f"q{i}" for i, _ in r], [hit for _, hit in r], seed=seed) for r in (rows, shuffled))
    assert one == two


@settings(deadline=None)
@given(records)
def test_interval_holds_its_value_within_the_span_and_is_no_point(rows):
    got = share([f"q{i}" for i, _ in rows], [hit for _, hit in rows])
    assert 0.0 <= got.lo <= got.value <= got.hi <= 1.0
    assert got.lo < got.hi


def test_real_columns_are_summed_without_regard_to_order():
    rng = np.random.default_rng(3)
    ids, x = np.repeat(np.arange(300), 4), rng.random(1200)
    order = rng.permutation(1200)
    one = resample(ids, {"x": x}, 0.95, 200, 0)["x"]
    two = resample(ids[order], {"x": x[order]}, 0.95, 200, 0)["x"]
    assert (one == two).all()
    assert one[0] == pytest.approx(x.sum(), rel=1e-9)


def test_seed_and_level_change_the_interval():
    ids, hits = [f"q{i}" for i in range(60)], [i % 3 == 0 for i in range(60)]
    base = share(ids, hits)
    assert base == share(ids, hits)
    other = share(ids, hits, seed=1)
    assert (other.lo, other.hi) != (base.lo, base.hi)
    narrow = share(ids, hits, level=0.5)
    assert narrow.hi - narrow.lo < base.hi - base.lo


def test_resamples_are_whole_clusters_with_replacement():
    weights = np.vstack(list(draws(7, 50_000, seed=0)))
    assert weights.shape == (50_000, 7)
    assert (weights.sum(axis=1) == 7).all()
    # Binomial(7, 1/7): mean 1, variance 6/7
    assert weights.mean(axis=0) == pytest.approx(np.ones(7), abs=0.02)
    assert weights.var(axis=0) == pytest.approx(np.full(7, 6 / 7), abs=0.03)


def test_clustering_widens_the_interval_of_copied_records():
    hits = np.arange(200) % 2 == 0
    single = share([f"q{i}" for i in range(200)], hits, resamples=4000)
    copied = share([f"q{i}" for i in range(200)] * 4, np.tile(hits, 4), resamples=4000)
    naive = share([f"r{i}" for i in range(800)], np.tile(hits, 4), resamples=4000)
    width = [e.hi - e.lo for e in (single, copied, naive)]
    assert width[1] == pytest.approx(width[0], rel=0.05)
    assert width[2] == pytest.approx(width[0] / 2, rel=0.1)


@pytest.mark.parametrize("hit", [0, 1])
def test_without_variation_a_share_gets_wilson_over_clusters(hit):
    got = share([f"q{i // 4}" for i in range(160)], np.full(160, hit))
    expected = wilson(40 * hit, 40, 0.95)
    assert (got.value, got.lo, got.hi) == pytest.approx((expected.value, expected.lo, expected.hi))
    assert got.method.startswith("Wilson for 0 of 40 deviating questions")


def test_without_variation_the_interval_reaches_towards_both_ends_of_the_span():
    drawn = resample([f"q{i}" for i in range(40)], {"d": np.zeros(40), "n": np.ones(40)}, 0.95, 100, 0)
    got = drawn.estimate(ratio(drawn["d"], drawn["n"]), 40, span=(-100.0, 100.0), unit="points")
    reach = 100 * wilson(0, 40, 0.95).hi
    assert (got.value, got.lo, got.hi) == pytest.approx((0.0, -reach, reach))


def test_without_variation_and_span_the_interval_is_undefined():
    drawn = resample(["a", "b"], {"d": np.ones(2), "n": np.ones(2)}, 0.95, 100, 0)
    got = drawn.estimate(ratio(drawn["d"], drawn["n"]), 2, span=None)
    assert got.value == 1.0
    assert math.isnan(got.lo)
    assert "no variation" in got.method


def test_a_skewed_statistic_keeps_its_value_inside_the_interval():
    drawn = resample(["a", "b"], {"x": [0, 1]}, 0.95, 4, 0)
    below = drawn.estimate(np.array([0.1, 0.2, 0.3, 0.4, 0.5]), 2)
    above = drawn.estimate(np.array([0.9, 0.2, 0.3, 0.4, 0.5]), 2)
    assert (below.lo, below.value, above.value, above.hi) == (0.1, 0.1, 0.9, 0.9)


def test_resamples_without_a_value_are_left_out():
    drawn = resample(["a", "b"], {"x": [0, 1]}, 0.5, 3, 0)
    got = drawn.estimate(np.array([0.3, np.nan, 0.2, 0.4]), 2)
    assert (got.lo, got.hi) == pytest.approx((0.25, 0.35))


def test_no_records_is_undefined_and_says_so():
    got = share([], [])
    assert math.isnan(got.value)
    assert got.method == "undefined: no scored records"


def test_bootstrap_agrees_with_the_closed_form_error():
    rng = np.random.default_rng(0)
    hits = rng.random(400) < 0.3
    got = share([f"q{i}" for i in range(400)], hits, resamples=10_000)
    half = 1.96 * math.sqrt(got.value * (1 - got.value) / 400)
    assert (got.value - got.lo, got.hi - got.value) == pytest.approx((half, half), rel=0.1)


def test_ten_thousand_resamples_of_three_thousand_items_are_quick():
    ids = np.repeat([f"q{i}" for i in range(3000)], 4)
    hits = np.arange(12_000) % 7 == 0
    start = time.process_time()
    share(ids, hits, resamples=10_000)
    assert time.process_time() - start < 10.0  # some 0.3 s; the slack is for busy machines
