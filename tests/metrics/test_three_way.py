from __future__ import annotations

import math

import numpy as np
import pytest

from judgelab.metrics.three_way import NAMES, three_way
from judgelab.metrics.tie_threshold import fold_of
from judgelab.metrics.votes import NONE, Sampling
from judgelab.settings.nuggets import BothBad

SAMPLING = Sampling(0.95, 200, 0)


def battles(n: int, strength: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    votes = rng.choice(4, n, p=[0.35, 0.2, 0.35, 0.1])
    d = np.clip(rng.normal(0, 0.2, n) + strength * (np.isin(votes, 2) * 1.0 - np.isin(votes, 0)), -1, 1)
    return np.asarray([f"q{k // 2}" for k in range(n)], dtype=object), d, votes


@pytest.mark.parametrize(("strength", "better"), [(0.3, True), (0.0, False)])
def test_it_beats_the_base_rate_only_where_scores_tell_something(strength: float, better: bool) -> None:
    groups, d, votes = battles(300, strength)
    found = three_way(groups, d, votes, fold_of(groups, 5, 0), BothBad.tie, SAMPLING)
    assert tuple(found.metrics) == NAMES
    for name in ("log_loss", "brier"):
        gain = found.metrics[f"{name}_gain"]
        assert (gain.lo > 0) == better
        assert gain.value == pytest.approx(
            found.metrics[f"{name}_base_rate"].value - found.metrics[name].value, abs=1e-9
        )
    assert found.metrics["log_loss_base_rate"].value == pytest.approx(math.log(3), abs=0.05)


def test_odds_are_probabilities_that_follow_the_difference() -> None:
    groups, d, votes = battles(300, 0.3)
    odds = three_way(groups, d, votes, fold_of(groups, 5, 0), BothBad.tie, SAMPLING).odds
    assert all(o.model_a + o.tie + o.model_b == pytest.approx(1) for o in odds)
    assert [o.model_b for o in odds] == sorted(o.model_b for o in odds)
    assert max(odds, key=lambda o: o.tie).difference == pytest.approx(0, abs=0.2)


def test_a_question_does_not_see_itself() -> None:
    groups, d, votes = battles(60, 0.2)
    folds = fold_of(groups, 5, 0)
    before = three_way(groups, d, votes, folds, BothBad.tie, SAMPLING).predicted
    other = np.where(folds == 2, 0, votes)
    after = three_way(groups, d, other, folds, BothBad.tie, SAMPLING).predicted
    assert (before[folds == 2] == after[folds == 2]).all()


@pytest.mark.parametrize("bothbad", list(BothBad))
def test_votes_that_both_are_bad(bothbad: BothBad) -> None:
    groups, d, votes = battles(60, 0.2)
    found = three_way(groups, d, votes, fold_of(groups, 5, 0), bothbad, SAMPLING)
    counted = 60 if bothbad is BothBad.tie else int((votes != 3).sum())
    assert found.metrics["brier"].n == counted
    assert (found.predicted != NONE).sum() == counted


@pytest.mark.parametrize("vote", [0, 1, 2])
def test_one_class_alone_keeps_finite_losses(vote: int) -> None:
    groups = np.asarray(["a", "b", "c"], dtype=object)
    found = three_way(groups, np.zeros(3), np.full(3, vote), np.asarray([0, 1, 2]), BothBad.tie, SAMPLING)
    assert all(math.isfinite(each.value) for each in found.metrics.values())
    # two seen battles and three made-up ones: p = 3/5 for the only class
    assert found.metrics["log_loss_base_rate"].value == pytest.approx(-math.log(3 / 5))


@pytest.mark.parametrize("n", [0, 1])
def test_nothing_to_learn_from(n: int) -> None:
    groups = np.asarray(["q"] * n, dtype=object)
    found = three_way(groups, np.zeros(n), np.zeros(n, dtype=int), np.zeros(n, dtype=int), BothBad.tie, SAMPLING)
    assert all(each.method.startswith("undefined: cross-fitting") for each in found.metrics.values())
    assert found.odds == ()
