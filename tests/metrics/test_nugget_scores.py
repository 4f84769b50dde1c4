from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgelab.metrics.nugget_scores import scores
from judgelab.settings import Score

PUBLISHED = (["vital", "vital", "okay", "okay"], ["support", "partial_support", "support", "not_support"])


def test_worked_example() -> None:
    found = scores(*PUBLISHED)
    assert [found[s] for s in Score] == pytest.approx([0.625, 0.5, 0.75, 0.5, 2 / 3, 0.5])


@pytest.mark.parametrize(
    ("importance", "labels", "counted", "left_out"),
    [
        # all, all_strict, vital, vital_strict, weighted, weighted_strict
        ([], [], [0] * 6, [0] * 6),
        (["okay"], ["support"], [1, 1, 0, 0, 1, 1], [1, 1, 0, 0, 1, 1]),
        (["vital", "vital"], ["support", "failed"], [0.5] * 6, [1] * 6),
        (["vital"], ["failed"], [0] * 6, [math.nan] * 6),
        (["vital", "okay"], ["failed", "support"], [0.5, 0.5, 0, 0, 1 / 3, 1 / 3], [1, 1, math.nan, math.nan, 1, 1]),
        (["failed", "vital"], ["support", "not_support"], [0.5, 0.5, 0, 0, 0, 0], [0.5, 0.5, 0, 0, 0, 0]),
        (["failed"], ["support"], [1, 1, 0, 0, 0, 0], [1, 1, 0, 0, 0, 0]),
    ],
)
def test_failures_and_empty_denominators(
    importance: list[str], labels: list[str], counted: list[float], left_out: list[float]
) -> None:
    assert [*scores(importance, labels).values()] == pytest.approx(counted)
    assert [*scores(importance, labels, failed_counts=False).values()] == pytest.approx(left_out, nan_ok=True)


NUGGET = st.tuples(
    st.sampled_from(["vital", "okay", "failed"]),
    st.sampled_from(["support", "partial_support", "not_support", "failed"]),
)


@given(st.lists(NUGGET, max_size=12))
def test_strict_is_never_above_and_all_are_shares(nuggets: list[tuple[str, str]]) -> None:
    found = scores([i for i, _ in nuggets], [label for _, label in nuggets])
    assert all(0 <= value <= 1 for value in found.values())
    for score in (Score.all, Score.vital, Score.weighted):
        assert found[Score(f"{score}_strict")] <= found[score]


@given(st.lists(NUGGET, min_size=1, max_size=12), st.data())
def test_one_more_supported_nugget_never_lowers_a_score(nuggets: list[tuple[str, str]], data: st.DataObject) -> None:
    k = data.draw(st.integers(0, len(nuggets) - 1))
    importance, labels = [i for i, _ in nuggets], [label for _, label in nuggets]
    better = [*labels[:k], "support", *labels[k + 1 :]]
    for score, value in scores(importance, labels).items():
        assert scores(importance, better)[score] >= value - 1e-12
