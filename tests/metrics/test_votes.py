"""Votes against predictions: the published matrices, textbook values, and what does not exist."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgelab.metrics.agreement import measures
from judgelab.metrics.vote_baselines import NAMES, vote_baselines
from judgelab.metrics.votes import (
    FIGURES,
    KAPPAS,
    NONE,
    VOTES,
    Matrix,
    Sampling,
    chosen,
    count,
    matrix_figures,
    vote_codes,
    vote_figures,
)
from judgelab.settings.nuggets import BothBad, Criterion

SAMPLING = Sampling(0.95, 300, 0)
# arXiv 2504.20006, votes by predictions: nuggets from answers and pages, and from answers alone
BOTH = Matrix(((938, 381, 395), (360, 342, 343), (443, 394, 924), (231, 132, 214)))
ALONE = Matrix(((933, 368, 403), (362, 334, 342), (414, 415, 911), (204, 145, 221)))


@pytest.mark.parametrize(
    ("matrix", "shares"),
    [
        (
            BOTH,
            {
                "agreement_a": (54.7, 52.4, 57.1),
                "agreement_b": (52.5, 50.1, 54.8),
                "agreement_tie": (32.7, 30.0, 35.6),
                "bothbad_as_tie": (22.9, 19.6, 26.5),
                "inversion_all": (16.4, 15.4, 17.5),
                "accuracy_decisive": (69.0, 67.2, 70.7),
                "agreement": (45.8, 44.5, 47.2),
            },
        ),
        (
            ALONE,
            {
                "agreement_a": (54.8, 52.4, 57.1),
                "agreement_b": (52.4, 50.0, 54.7),
                "agreement_tie": (32.2, 29.4, 35.1),
                "bothbad_as_tie": (25.4, 22.0, 29.2),
                "inversion_all": (16.2, 15.2, 17.2),
                "accuracy_decisive": (69.3, 67.5, 71.0),
                "agreement": (46.0, 44.6, 47.4),
            },
        ),
    ],
)
def test_published_shares_with_their_intervals(matrix: Matrix, shares: dict[str, tuple[float, ...]]) -> None:
    found = matrix_figures(matrix, BothBad.tie, SAMPLING)
    for name, percent in shares.items():
        each = found[name]
        assert tuple(round(100 * x, 1) for x in (each.value, each.lo, each.hi)) == percent, name
        assert each.method == "Wilson, level 0.95"


@pytest.mark.parametrize(
    ("matrix", "bothbad", "values"),
    [
        (BOTH, BothBad.tie, (0.185, 0.234, 0.280)),
        (ALONE, BothBad.tie, (0.187, 0.238, 0.284)),
        (BOTH, BothBad.dropped, (0.216, 0.260, 0.298)),
        (ALONE, BothBad.dropped, (0.214, 0.261, 0.302)),
    ],
)
def test_published_kappas(matrix: Matrix, bothbad: BothBad, values: tuple[float, ...]) -> None:
    found = matrix_figures(matrix, bothbad, SAMPLING)
    each = [found[name] for name in ("kappa", "kappa_linear", "kappa_quadratic")]
    assert tuple(round(e.value, 3) for e in each) == values
    assert all(e.lo < e.value < e.hi and 0.03 < e.hi - e.lo < 0.07 for e in each)


@pytest.mark.parametrize(
    ("matrix", "decisive", "dropped", "majority", "chance"),
    [(BOTH, 0.241, 0.488, 0.345, 0.335), (ALONE, 0.237, 0.486, 0.344, 0.335)],
)
def test_published_denominators_and_baselines(
    matrix: Matrix, decisive: float, dropped: float, majority: float, chance: float
) -> None:
    assert round(matrix_figures(matrix, BothBad.tie, SAMPLING)["inversion_decisive"].value, 3) == decisive
    assert round(matrix_figures(matrix, BothBad.dropped, SAMPLING)["agreement"].value, 3) == dropped
    cells = [(v, p) for v, row in enumerate(matrix.counts) for p, n in enumerate(row) for _ in range(int(n))]
    votes, predicted = (np.asarray(each) for each in zip(*cells, strict=True))
    groups = np.asarray([f"q{k}" for k in range(len(votes))], dtype=object)
    lengths = {f"{unit}_{side}": 1 for unit in ("words", "chars") for side in "ab"}
    table = pd.DataFrame({"group": groups, **lengths})
    rules = vote_baselines(table, votes, chosen(predicted), votes % 2, Criterion.agreement, BothBad.tie)
    found = count(groups, votes, {"nuggets": chosen(predicted), **rules}, Sampling(0.95, 20, 0))
    assert found.matrix("nuggets") == matrix
    assert round(found.figures("majority", BothBad.tie)["agreement"].value, 3) == majority
    assert round(found.figures("chance", BothBad.tie)["agreement"].value, 3) == chance
    assert found.figures("chance", BothBad.tie)["kappa"].value == pytest.approx(0, abs=1e-6)
    assert found.figures("random", BothBad.tie)["agreement"].value == pytest.approx(1 / 3, abs=1e-6)


def test_treatments_of_votes_that_both_are_bad() -> None:
    table = np.asarray([[2, 1, 0], [0, 2, 0], [1, 0, 3], [0, 4, 2]], dtype=float)[..., None]
    by = {each: {k: float(v[0]) for k, v in vote_figures(table, each).items()} for each in BothBad}
    assert by[BothBad.tie]["agreement"] == pytest.approx(11 / 15)
    assert by[BothBad.dropped]["agreement"] == pytest.approx(7 / 9)
    assert by[BothBad.separate]["agreement"] == pytest.approx(7 / 15)
    for each in by.values():
        assert each["bothbad_as_tie"] == pytest.approx(4 / 6)
        assert each["inversion_all"] == pytest.approx(1 / 15)
        assert each["inversion_decisive"] == pytest.approx(1 / 7)
        assert each["accuracy_decisive"] == pytest.approx(5 / 6)
    assert math.isnan(by[BothBad.separate]["kappa_linear"])


def test_gwet_ac1_textbook() -> None:
    # Gwet 2008: 118 of 125 both positive, kappa is about 0, AC1 is not
    found = measures(np.asarray([[118.0, 5.0], [2.0, 0.0]]))
    assert float(found["ac1"]) == pytest.approx(0.9408, abs=1e-4)
    assert abs(float(found["kappa"])) < 0.03


PAIRS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=25)


@settings(max_examples=60, deadline=None)
@given(PAIRS)
def test_weighted_kappas_are_those_of_scikit_learn(pairs: list[tuple[int, int]]) -> None:
    from sklearn.metrics import cohen_kappa_score

    one, two = zip(*pairs, strict=True)
    table = np.zeros((3, 3))
    np.add.at(table, (np.asarray(one), np.asarray(two)), 1)
    found = measures(table)
    if len({*one, *two}) == 1:
        assert all(math.isnan(float(found[name])) for name in ("kappa", "kappa_linear", "kappa_quadratic"))
        return
    for name, weights in (("kappa", None), ("kappa_linear", "linear"), ("kappa_quadratic", "quadratic")):
        expected = cohen_kappa_score(one, two, labels=[0, 1, 2], weights=weights)
        assert float(found[name]) == pytest.approx(expected, abs=1e-9), name


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(-1, 3), st.integers(-1, 2)), max_size=12), st.sampled_from(list(BothBad)))
def test_any_battles_give_estimates_or_reasons(pairs: list[tuple[int, int]], bothbad: BothBad) -> None:
    votes, predicted = (np.asarray([p[k] for p in pairs], dtype=int) for k in (0, 1))
    groups = np.asarray([f"q{k % 4}" for k in range(len(pairs))], dtype=object)
    found = count(groups, votes, {"rule": chosen(predicted)}, Sampling(0.95, 30, 0))
    assert found.matrix("rule").n == ((votes != NONE) & (predicted != NONE)).sum()
    figures = found.figures("rule", bothbad)
    assert set(figures) == set(FIGURES)
    for name, each in figures.items():
        if math.isnan(each.value):
            assert each.method.startswith("undefined: "), name
        else:
            assert each.lo <= each.value <= each.hi
            assert each.n > 0
            assert each.unit == ("kappa" if name in KAPPAS else "fraction")


def test_differences_are_paired() -> None:
    votes = np.asarray([0, 2] * 10)
    groups = np.asarray([f"q{k}" for k in range(20)], dtype=object)
    right, off = votes.copy(), votes.copy()
    off[:5] = 2 - off[:5]
    found = count(groups, votes, {"x": chosen(right), "y": chosen(off)}, Sampling(0.95, 200, 0))
    gap = found.difference("x", "y", "agreement", BothBad.tie)
    assert (gap.value, gap.n, gap.unit) == (25.0, 20, "points")
    assert 0 < gap.lo < 25 < gap.hi
    same = found.difference("x", "x", "agreement", BothBad.tie)
    assert same.value == 0
    assert same.lo < 0 < same.hi  # no variation is no certainty
    assert found.difference("x", "y", "kappa", BothBad.tie).unit == "kappa"


def test_baselines_by_length() -> None:
    table = pd.DataFrame(
        {
            "group": ["q0", "q1", "q2"],
            "words_a": [3, 5, 0],
            "words_b": [5, 5, 0],
            "chars_a": [30, 9, 0],
            "chars_b": [20, 8, 0],
        }
    )
    votes = vote_codes(["model_b", "tie", None])
    rules = vote_baselines(table, votes, chosen(np.asarray([2, 1, 1])), votes % 2, Criterion.agreement, BothBad.tie)
    assert tuple(rules) == NAMES
    assert rules["longer_wins"].tolist() == [[0, 0, 1], [0.5, 0, 0.5], [0.5, 0, 0.5]]
    assert rules["longer_wins_chars"].tolist()[:2] == [[1, 0, 0], [1, 0, 0]]
    assert rules["always_a"].tolist() == [[1, 0, 0]] * 3
    assert [row.sum() for row in rules["chance"]] == pytest.approx([1, 1, 1])


def test_votes_are_read_by_name() -> None:
    assert vote_codes([*VOTES, None, "nonsense"]).tolist() == [0, 1, 2, 3, NONE, NONE]
