from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgelab.metrics.distributions import BINS, curves, distances
from judgelab.metrics.votes import Sampling

SAMPLING = Sampling(0.95, 99, 0)


def groups_of(n: int) -> np.ndarray:
    return np.asarray([f"q{k}" for k in range(n)], dtype=object)


ROWS = st.lists(st.tuples(st.integers(-10, 10), st.integers(-1, 3)), min_size=1, max_size=30)


@settings(max_examples=40, deadline=None)
@given(ROWS)
def test_distance_and_shift_are_those_of_scipy(rows: list[tuple[int, int]]) -> None:
    from scipy.stats import ks_2samp, mannwhitneyu

    d, votes = np.asarray([r[0] for r in rows]) / 10, np.asarray([r[1] for r in rows])
    found = distances(groups_of(len(d)), d, votes, SAMPLING)
    for pair, i, j in (("ab", 0, 2), ("a_tie", 0, 1), ("b_tie", 2, 1)):
        one, two = d[votes == i], d[votes == j]
        if not len(one) or not len(two):
            assert all(math.isnan(found[f"{what}_{pair}"].value) for what in ("ks", "ks_p", "delta"))
            assert found[f"ks_{pair}"].method.startswith("undefined: no ")
            continue
        assert found[f"ks_{pair}"].value == pytest.approx(ks_2samp(one, two, method="exact").statistic)
        greater = mannwhitneyu(two, one).statistic / (len(one) * len(two))
        assert found[f"delta_{pair}"].value == pytest.approx(2 * greater - 1, abs=1e-9)
        assert 1 / 100 <= found[f"ks_p_{pair}"].value <= 1
        for what in ("ks", "delta"):
            assert found[f"{what}_{pair}"].lo <= found[f"{what}_{pair}"].value <= found[f"{what}_{pair}"].hi


def test_apart_and_alike() -> None:
    rng = np.random.default_rng(0)
    votes = np.asarray([0, 2] * 60)
    apart = distances(groups_of(120), np.where(votes == 0, -1.0, 1.0) * rng.uniform(0.1, 1, 120), votes, SAMPLING)
    assert (apart["ks_ab"].value, apart["delta_ab"].value, apart["ks_p_ab"].value) == (1, 1, 0.01)
    alike = distances(groups_of(120), rng.normal(size=120), votes, SAMPLING)
    assert alike["ks_p_ab"].value > 0.05
    assert alike["delta_ab"].lo < 0 < alike["delta_ab"].hi


def test_ties_are_taken_whole() -> None:
    found = distances(groups_of(6), np.zeros(6), np.asarray([0, 0, 0, 2, 2, 2]), SAMPLING)
    assert (found["ks_ab"].value, found["delta_ab"].value, found["ks_p_ab"].value) == (0, 0, 1)


def test_votes_that_both_are_bad_are_left_out() -> None:
    d = np.asarray([-0.5, 0.5, -0.4, 0.4])
    plain = distances(groups_of(4), d, np.asarray([0, 2, 0, 2]), SAMPLING)
    more = distances(groups_of(6), np.append(d, [0.9, -0.9]), np.asarray([0, 2, 0, 2, 3, 3]), SAMPLING)
    assert repr(plain) == repr(more)  # NaN is not equal to itself


def test_curves_are_densities() -> None:
    rng = np.random.default_rng(0)
    votes = np.asarray([0, 1, 2, 3, -1] * 40)
    found = curves(np.clip(rng.normal(0, 0.3, 200), -1, 1), votes)
    assert [(c.vote, c.n) for c in found] == [("a", 40), ("tie", 40), ("b", 40)]
    for curve in found:
        assert len(curve.edges) == 41
        assert sum(curve.density) * (BINS[1] - BINS[0]) == pytest.approx(1)
        assert np.trapezoid(curve.kde, curve.points) == pytest.approx(1, abs=0.02)
    # half of Scott's bandwidth
    from scipy.stats import gaussian_kde

    own = rng.normal(0, 0.1, 50)
    (a, *_) = curves(own, np.zeros(50, dtype=int))
    expected = gaussian_kde(own, bw_method=0.5 * 50 ** (-1 / 5))(np.asarray(a.points))
    assert a.kde == pytest.approx(expected)


@pytest.mark.parametrize("d", [[], [0.2], [0.2, 0.2]])
def test_no_curve_without_variation(d: list[float]) -> None:
    a = curves(np.asarray(d), np.zeros(len(d), dtype=int))[0]
    assert (a.n, a.kde, len(a.density)) == (len(d), (), 40 if d else 0)
