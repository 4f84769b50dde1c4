from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgelab.metrics.intervals import Resampled
from judgelab.metrics.rank_correlation import tau_of_answers, tau_of_systems, taus
from judgelab.metrics.votes import Sampling

SAMPLING = Sampling(0.95, 50, 0)
COLUMN = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=12)


@settings(max_examples=60, deadline=None)
@given(COLUMN)
def test_tau_is_that_of_scipy(rows: list[tuple[int, int]]) -> None:
    from scipy.stats import kendalltau

    one, two = (np.asarray([r[k] for r in rows], dtype=float) for k in (0, 1))
    got = taus(one[:, None], two[:, None])[0]
    groups = np.asarray([f"q{k % 3}" for k in range(len(rows))], dtype=object)
    pooled = tau_of_answers(groups, one, two, SAMPLING)
    if len(set(one)) == 1 or len(set(two)) == 1:
        assert math.isnan(got)
        assert pooled.method == "undefined: one side scores all answers equal"
    else:
        expected = kendalltau(one, two).statistic
        assert got == pytest.approx(expected)
        assert pooled.value == pytest.approx(expected)
        assert pooled.lo <= pooled.value <= pooled.hi


def test_equal_but_for_rounding_is_equal() -> None:
    one, two = np.asarray([0.3, 0.1 + 0.2, 0.5]), np.asarray([0.1, 0.2, 0.3])
    assert taus(one[:, None], two[:, None])[0] == pytest.approx(2 / math.sqrt(2 * 3))


def test_resampled_pairs_count_as_often_as_their_questions() -> None:
    groups = np.asarray(["a", "a", "b", "c"], dtype=object)
    one, two = np.asarray([1.0, 2, 3, 4]), np.asarray([1.0, 3, 2, 4])
    found = tau_of_answers(groups, one, two, Sampling(0.95, 400, 0))
    assert found.value == pytest.approx(4 / 6)
    assert found.lo < found.value <= found.hi


def test_systems_missing_in_a_resample_are_left_out_of_it() -> None:
    one = np.asarray([[1, 1], [2, 2], [3, np.nan]], dtype=float)
    two = np.asarray([[1, 1], [2, 0], [3, 3]], dtype=float)
    assert taus(one, two).tolist() == [1, -1]


@pytest.mark.parametrize("systems", [0, 1, 2])
def test_fewer_than_three_systems_are_no_ranking(systems: int) -> None:
    scores = np.arange(systems, dtype=float)[:, None].repeat(2, axis=1)
    found = tau_of_systems(scores, scores, Resampled({}, 1, 0.95, 1, 0))
    assert found.method == f"undefined: {systems} systems to rank, at least 3 needed"
