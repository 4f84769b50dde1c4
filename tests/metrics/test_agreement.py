from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgelab.metrics.agreement import agreement

LABELS = ("A", "B", "tie")


def of(first, second, labels=LABELS, resamples=100):
    return agreement([f"q{i}" for i in range(len(first))], first, second, labels, 0.95, resamples, 0)


def test_kappa_textbook():
    # Cohen's grants example: 20 both yes, 15 both no, 5 and 10 split: observed .7, expected .5
    got = of(["A"] * 25 + ["B"] * 25, ["A"] * 20 + ["B"] * 5 + ["A"] * 10 + ["B"] * 15, resamples=4000)
    assert (got["accuracy"].value, got["kappa"].value, got["majority"].value) == pytest.approx((0.7, 0.4, 0.5))
    assert 0.1 < got["kappa"].lo < 0.2
    assert 0.6 < got["kappa"].hi < 0.7


pairs = st.lists(st.tuples(st.sampled_from(LABELS), st.sampled_from(LABELS)), min_size=1, max_size=30)


@settings(max_examples=60, deadline=None)
@given(pairs)
def test_values_are_those_of_scikit_learn(rows):
    from sklearn.metrics import accuracy_score, cohen_kappa_score, f1_score

    first, second = zip(*rows, strict=True)
    got = of(first, second)
    used = sorted({*first, *second})
    assert got["accuracy"].value == pytest.approx(accuracy_score(first, second))
    assert got["macro_f1"].value == pytest.approx(
        f1_score(first, second, average="macro", labels=used, zero_division=0)
    )
    if len(used) > 1:
        assert got["kappa"].value == pytest.approx(cohen_kappa_score(first, second, labels=used), abs=1e-9)
    else:
        assert math.isnan(got["kappa"].value)
        assert got["kappa"].method == "undefined: both columns hold one label throughout"
    for e in got.values():
        if not math.isnan(e.value):
            assert e.lo <= e.value <= e.hi


def test_nothing_to_compare_is_undefined():
    assert all(math.isnan(e.value) for e in of([], []).values())


def test_a_label_outside_the_set_is_refused():
    with pytest.raises(ValueError, match="'C' is none of A, B, tie"):
        of(["A"], ["C"])
