from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from judged import A, B, fake, follow, frame, row

from judgelab.metrics.calibration import calibrate


def table_of(p, y):
    return frame(
        row(f"q{i // 2}", "oo" if truth else "os", A if prob >= 0.5 else B, p_correct=prob)
        for i, (prob, truth) in enumerate(zip(p, y, strict=True))
    )


def test_brier_ece_auroc_by_hand():
    got = calibrate(table_of([0.9, 0.8, 0.35, 0.1], [True, False, True, False]), 0.95, 200, 0)
    m = got.metrics
    assert m["brier"].value == pytest.approx((0.01 + 0.64 + 0.4225 + 0.01) / 4)
    # pairs (positive, negative): .9 beats .8 and .1; .35 beats .1 only
    assert m["auroc"].value == 0.75
    assert m["ece"].value == pytest.approx((0.1 + 0.8 + 0.65 + 0.1) / 4)
    assert m["brier_base_rate"].value == 0.25
    assert [(b.lo, b.n) for b in got.bins] == [(0.1, 1), (0.3, 1), (0.8, 1), (0.9, 1)]
    assert got.bins[3].correct.value == 1.0


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 20), st.booleans()), min_size=2, max_size=40))
def test_values_are_those_of_scikit_learn(rows):
    from sklearn.metrics import brier_score_loss, roc_auc_score

    p, y = [k / 20 for k, _ in rows], [truth for _, truth in rows]
    m = calibrate(table_of(p, y), 0.95, 50, 0).metrics
    assert m["brier"].value == pytest.approx(brier_score_loss(y, p, pos_label=True), abs=1e-9)
    if len(set(y)) == 2:
        assert m["auroc"].value == pytest.approx(roc_auc_score(y, p))
    for e in m.values():
        if not math.isnan(e.value):
            assert 0.0 <= e.lo <= e.value <= e.hi <= 1.0


def test_auroc_interval_is_that_of_resampling_items_one_by_one():
    from sklearn.metrics import roc_auc_score

    from judgelab.metrics.intervals import draws

    rng = np.random.default_rng(0)
    y = rng.random(60) < 0.5
    p = np.round(np.clip(0.3 * y + rng.random(60) * 0.7, 0, 1), 1)
    got = calibrate(table_of(p, y), 0.9, 200, 3).metrics["auroc"]
    item = np.unique([f"q{i // 2}" for i in range(60)], return_inverse=True)[1]
    slow = [roc_auc_score(y, p, sample_weight=w[item]) for w in np.vstack(list(draws(30, 200, 3)))]
    assert (got.lo, got.hi) == pytest.approx(tuple(np.quantile(slow, (0.05, 0.95))))


def test_one_truth_leaves_auroc_undefined():
    got = calibrate(table_of([0.2, 0.9, 0.4], [True] * 3), 0.95, 100, 0).metrics
    assert math.isnan(got["auroc"].value)
    assert got["auroc"].method == "undefined: all records have the same truth"
    assert got["brier"].value == pytest.approx((0.64 + 0.01 + 0.36) / 3)


def test_without_probabilities_everything_is_undefined():
    got = calibrate(fake("always_a", 5), 0.95, 100, 0)
    assert all(math.isnan(e.value) for e in got.metrics.values())
    assert all(e.method == "undefined: no scored record with probabilities" for e in got.metrics.values())
    assert got.bins == ()


def test_unscored_records_do_not_count():
    table = follow(lambda i, _: "truncated" if i else A, 3, p_correct=0.8)
    assert calibrate(table, 0.95, 50, 0).metrics["brier"].n == 4


def test_row_order_changes_nothing():
    rng = np.random.default_rng(1)
    table = table_of(rng.random(80), rng.random(80) < 0.4)
    assert (
        calibrate(table, 0.95, 300, 0).metrics == calibrate(table.sample(frac=1, random_state=0), 0.95, 300, 0).metrics
    )


def test_certain_and_right():
    got = calibrate(table_of([1.0, 0.0] * 10, [True, False] * 10), 0.95, 100, 0)
    assert (got.metrics["brier"].value, got.metrics["auroc"].value, got.metrics["ece"].value) == (0.0, 1.0, 0.0)
    assert got.metrics["brier"].hi > 0.0
    assert [(b.lo, b.hi, b.n) for b in got.bins] == [(0.0, 0.1, 10), (0.9, 1.0, 10)]
