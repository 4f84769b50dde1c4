"""One rule for ties, thresholds chosen on other questions, and six scores compared without choosing by the result."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgelab.metrics.score_choice import SIMULTANEOUS, score_choice
from judgelab.metrics.tie_threshold import (
    GRID,
    choose,
    decide,
    fold_of,
    held_out,
    resampled_sweep,
    sweep,
    swept,
    tables,
)
from judgelab.metrics.votes import NONE, Sampling, chosen, count
from judgelab.settings import Score
from judgelab.settings.nuggets import BothBad, Criterion

SAMPLING = Sampling(0.95, 200, 0)


@pytest.mark.parametrize(
    ("d", "t", "outcome"),
    [
        (0.1 + 0.2, 0.3, 1),  # 0.30000000000000004
        (-(0.1 + 0.2), 0.3, 1),
        (0.3, 0.1 + 0.2, 1),
        (0.31, 0.3, 2),
        (-0.31, 0.3, 0),
        (0.0, 0.0, 1),
        (1 / 3 - 1 / 4, 0.08, 2),
        (0.07, 0.07, 1),
        (float("nan"), 0.1, NONE),
        (0.5, float("nan"), NONE),
    ],
)
def test_the_boundary_is_a_tie(d: float, t: float, outcome: int) -> None:
    assert decide(np.asarray([d]), t).tolist() == [outcome]


def battles(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    votes = rng.integers(-1, 4, n)
    d = np.round(rng.normal(0, 0.2, n) + 0.15 * (votes == 2) - 0.15 * (votes == 0), 2)
    groups = np.asarray([f"q{k}" for k in rng.integers(0, max(1, n // 2), n)], dtype=object)
    return groups, d, votes


NUMBERS = st.one_of(st.integers(-40, 40).map(lambda k: k / 100), st.floats(-1, 1), st.just(float("nan")))


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(NUMBERS, st.integers(-1, 3)), min_size=1, max_size=20))
def test_the_sweep_counts_what_the_rule_decides(rows: list[tuple[float, int]]) -> None:
    d, votes = np.asarray([r[0] for r in rows]), np.asarray([r[1] for r in rows])
    table = tables(swept(d, votes).sum(axis=0))
    for k, t in enumerate(GRID):
        predicted = decide(d, float(t))
        for v in range(4):
            assert table[v, :, k].tolist() == [((votes == v) & (predicted == p)).sum() for p in range(3)]


def test_resamples_are_whole_questions() -> None:
    groups, d, votes = battles(40)
    _, table = resampled_sweep(groups, d, votes, SAMPLING)
    assert table.shape == (4, 3, len(GRID), 201)
    assert (table >= 0).all()
    assert (table[..., 0] == tables(swept(d, votes).sum(axis=0))).all()
    one = np.full(len(d), "q", dtype=object)
    _, alone = resampled_sweep(one, d, votes, SAMPLING)
    assert (alone == alone[..., :1]).all()
    order = np.random.default_rng(1).permutation(len(d))
    assert (resampled_sweep(groups[order], d[order], votes[order], SAMPLING)[1] == table).all()


def test_the_sweep_has_intervals_and_says_it_is_in_sample() -> None:
    groups, d, votes = battles(200)
    found = sweep(groups, d, votes, Criterion.agreement, BothBad.tie, SAMPLING)
    assert [point.threshold for point in found.points] == pytest.approx(GRID)
    best = max(point.figures["agreement"].value for point in found.points)
    chosen_point = next(p for p in found.points if p.threshold == found.chosen.value)
    assert chosen_point.figures["agreement"].value == best
    assert found.chosen.lo <= found.chosen.value <= found.chosen.hi
    assert found.chosen.method.endswith("in-sample, criterion agreement")
    for point in found.points:
        each = point.figures["agreement"]
        assert each.lo < each.value < each.hi
        assert point.matrix.n == each.n
        assert sum(point.tie_shares) == pytest.approx(1)
    ties = [point.figures["predicted_tie"].value for point in found.points]
    assert ties == sorted(ties)


def table_of(rows: dict[int, list[list[float]]]) -> np.ndarray:
    """votes -> predictions at thresholds 0, 0.01, and the rest as at 0.01."""
    out = np.zeros((4, 3, len(GRID)))
    for vote, (first, then) in rows.items():
        out[vote, :, 0] = first
        out[vote, :, 1:] = np.asarray(then)[:, None]
    return out


@pytest.mark.parametrize(
    ("rows", "criterion", "place"),
    [
        # human ties in equal shares at the second threshold, agreement better at the first
        ({1: [[5, 1, 3], [3, 3, 3]], 0: [[9, 0, 0], [1, 8, 0]]}, Criterion.equal_shares, 1),
        ({1: [[5, 1, 3], [3, 3, 3]], 0: [[9, 0, 0], [1, 8, 0]]}, Criterion.agreement, 0),
        # equally good: the smallest
        ({1: [[3, 3, 3], [3, 3, 3]]}, Criterion.equal_shares, 0),
        # ties that both are bad are no human ties for the shares; without any, agreement decides
        ({3: [[5, 0, 4], [3, 3, 3]], 0: [[1, 8, 0], [9, 0, 0]]}, Criterion.equal_shares, 1),
        ({0: [[4, 5, 0], [9, 0, 0]], 2: [[0, 9, 0], [0, 5, 4]]}, Criterion.kappa, 1),
        ({0: [[9, 0, 0], [9, 0, 0]]}, Criterion.kappa, 0),  # undefined everywhere
    ],
)
def test_criteria(rows: dict[int, list[list[float]]], criterion: Criterion, place: int) -> None:
    assert int(choose(table_of(rows), criterion, BothBad.tie)) == place


@given(st.lists(st.integers(0, 8), min_size=1, max_size=40), st.integers(2, 6), st.integers(0, 5))
def test_folds_never_part_a_question(questions: list[int], folds: int, seed: int) -> None:
    groups = np.asarray([f"q{k}" for k in questions], dtype=object)
    found = fold_of(groups, folds, seed)
    assert all(len(set(found[groups == g])) == 1 for g in set(groups))
    assert len(set(found)) == min(folds, len(set(groups)))
    assert (found[::-1] == fold_of(groups[::-1], folds, seed)).all()


@pytest.mark.parametrize("criterion", list(Criterion))
def test_a_threshold_does_not_see_its_own_questions(criterion: Criterion) -> None:
    groups, d, votes = battles(120)
    folds = fold_of(groups, 5, 0)
    before = held_out(groups, d, votes, folds, criterion, BothBad.tie)
    assert len(before.folds) == 5
    assert sum(fold.battles for fold in before.folds) == 120
    rng = np.random.default_rng(2)
    for number in range(5):
        here = folds == number
        other = votes.copy()
        other[here] = rng.integers(0, 4, here.sum())
        after = held_out(groups, d, other, folds, criterion, BothBad.tie)
        assert (after.thresholds[here] == before.thresholds[here]).all()


def test_chosen_on_one_half_reported_on_the_other() -> None:
    # In the first half |d| of a tie is up to .05, in the second up to .25: each half is judged by the other's.
    d = np.asarray([0.05, 0.3, -0.3, 0.25, 0.3, -0.3] * 2)
    votes = np.asarray([1, 2, 0] * 4)
    folds = np.asarray([0, 0, 0, 1, 1, 1] * 2)
    groups = np.asarray([f"q{k}" for k in range(12)], dtype=object)
    found = held_out(groups, d, votes, folds, Criterion.agreement, BothBad.tie)
    assert sorted({(fold.number, fold.threshold) for fold in found.folds}) == [(0, 0.25), (1, 0.05)]
    rules = {"held_out": chosen(decide(d, found.thresholds)), "in_sample": chosen(decide(d, 0.25))}
    counted = count(groups, votes, rules, SAMPLING)
    assert counted.figures("held_out", BothBad.tie)["agreement"].value == pytest.approx(10 / 12)
    assert counted.figures("in_sample", BothBad.tie)["agreement"].value == 1


def test_one_question_has_no_held_out_threshold() -> None:
    groups = np.asarray(["q"] * 3, dtype=object)
    d, votes = np.asarray([0.1, 0.2, -0.1]), np.asarray([2, 1, 0])
    found = held_out(groups, d, votes, fold_of(groups, 5, 0), Criterion.agreement, BothBad.tie)
    assert np.isnan(found.thresholds).all()


def choice(seed: int, threshold: float | None = None):
    rng = np.random.default_rng(seed)
    groups, good, votes = battles(150, seed)
    differences = {score: rng.normal(0, 0.3, 150).round(2) for score in Score} | {Score.weighted: good}
    folds = fold_of(groups, 5, 0)
    return votes, score_choice(groups, differences, votes, folds, threshold, Criterion.agreement, BothBad.tie, SAMPLING)


def test_the_score_is_chosen_on_other_folds() -> None:
    votes, found = choice(0)
    assert found.taken == {Score.weighted: 5}
    row = next(r for r in found.rows if r.score is Score.weighted)
    right = (votes == 3) & (found.predicted == 1) | (votes == found.predicted) & (votes != NONE)
    assert row.figures["agreement"].value == pytest.approx(right.sum() / (votes != NONE).sum())
    assert [r.score for r in found.rows] == list(Score)


def test_intervals_hold_for_all_scores_at_once() -> None:
    _, found = choice(1, 0.1)
    assert {row.threshold for row in found.rows} == {0.1}
    for row in found.rows:
        for name in SIMULTANEOUS:
            each = row.figures[name]
            assert each.method.endswith("simultaneous over 6 scores (max-t)")
            assert each.lo < each.value < each.hi
        alone = row.figures["agreement_a"]
        assert "max-t" not in alone.method
    # the correction widens: a plain 95 % interval is about 2 * 1.96 standard errors
    groups, d, votes = battles(150, 1)
    plain = count(groups, votes, {"x": chosen(decide(d, 0.1))}, SAMPLING).figures("x", BothBad.tie)["agreement"]
    wide = next(r for r in found.rows if r.score is Score.weighted).figures["agreement"]
    assert wide.value == plain.value
    assert wide.hi - wide.lo > 1.1 * (plain.hi - plain.lo)
