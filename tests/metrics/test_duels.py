"""The pairwise judge, ranks, query classes, and the mixture of both judges."""

from __future__ import annotations

import math

import numpy as np
import pytest

from judgelab.metrics.duels import duels, order_figures
from judgelab.metrics.ranks import ranks
from judgelab.metrics.two_stage import RULES, two_stage
from judgelab.metrics.vote_groups import by_class, by_language, classes_of
from judgelab.metrics.votes import NONE, Sampling, chosen
from judgelab.settings.nuggets import BothBad

SAMPLING = Sampling(0.95, 100, 0)
A, T, B = "model_a", "tie", "model_b"


def groups_of(n: int) -> np.ndarray:
    return np.asarray([f"q{k}" for k in range(n)], dtype=object)


@pytest.mark.parametrize(
    ("ab", "ba", "both"),
    [(A, A, 0), (B, B, 2), (T, T, 1), (A, B, 1), (A, T, 1), (T, B, 1), (A, None, NONE), (None, B, NONE)],
)
def test_both_orders_make_one_verdict(ab: str | None, ba: str | None, both: int) -> None:
    assert duels([ab], [ba]).both.tolist() == [both]


@pytest.mark.parametrize(
    ("ab", "ba", "bias", "consistency"),
    [
        ([A] * 8, [B] * 8, 1.0, 0.0),  # always the first
        ([B] * 8, [A] * 8, 0.0, 0.0),  # always the second
        ([A, B] * 4, [A, B] * 4, 0.5, 1.0),  # never mind the order
        ([A, A, T, T], [A, B, T, B], 4 / 5, 1 / 2),
    ],
)
def test_what_the_order_decides(ab: list[str], ba: list[str], bias: float, consistency: float) -> None:
    found = order_figures(groups_of(len(ab)), duels(ab, ba), SAMPLING)
    assert found["position_bias"].value == pytest.approx(bias)
    assert found["order_consistency"].value == pytest.approx(consistency)
    assert found["order_consistency"].n == len(ab)
    assert found["position_bias"].lo < found["position_bias"].hi


def test_one_order_alone_says_nothing_about_order() -> None:
    found = order_figures(groups_of(2), duels([A, B], [None, None]), SAMPLING)
    assert {each.method for each in found.values()} == {"undefined: no battle was judged in both orders"}
    ties = order_figures(groups_of(2), duels([T, T], [T, T]), SAMPLING)
    assert ties["position_bias"].method == "undefined: no verdict for either answer"
    assert ties["order_consistency"].value == 1


@pytest.mark.parametrize(
    ("ratings", "least", "classes"),
    [
        ({"a": 7, "b": 6}, 7, ("a",)),
        ({"b": 9, "a": 9, "c": 8}, 7, ("a", "b")),
        ({"a": 6, "b": 6}, 7, ()),
        ({}, 0, ()),
        ({"a": 0}, 0, ("a",)),
    ],
)
def test_classes_of_a_question(ratings: dict[str, int], least: int, classes: tuple[str, ...]) -> None:
    assert classes_of(ratings, least) == classes


def test_rows_by_class_and_language() -> None:
    n = 100
    votes = np.tile([0, 2], n // 2)
    predicted = chosen(np.where(np.arange(n) < 20, 2 - votes, votes))
    predicted[99] = 0  # not decided
    classes = [("facts", "taste") if k < 20 else ("facts",) if k < 60 else () for k in range(n)]
    rows = by_class(groups_of(n), votes, predicted, classes, BothBad.tie, SAMPLING)
    assert [(r.name, r.battles) for r in rows] == [("facts", 60), ("taste", 20)]
    assert [r.figures["inversion_all"].value for r in rows] == pytest.approx([1 / 3, 1])
    assert rows[1].matrix.counts[0] == (0, 0, 10)
    languages = ["English"] * 60 + ["German"] * 30 + ["Welsh"] * 2 + ["Manx"] * 2 + [None] * 6
    told = by_language(groups_of(n), votes, predicted, languages, BothBad.tie, SAMPLING)
    assert [(r.name, r.battles) for r in told] == [("English", 60), ("German", 30), ("others", 4), ("unknown", 5)]
    assert by_class(groups_of(0), votes[:0], predicted[:0], [], BothBad.tie, SAMPLING) == ()


def test_the_mixture_takes_the_better_judge_of_each_kind() -> None:
    n = 40
    votes = np.tile([0, 2], n // 2)
    factual = np.arange(n) < 24
    nuggets = np.where(factual, votes, 2 - votes)
    pairwise = np.where(factual, 2 - votes, votes)
    classes = [("knowledge_intensive",) if f else ("subjective",) for f in factual]
    found = two_stage(groups_of(n), votes, nuggets, pairwise, classes, BothBad.tie, SAMPLING)
    assert [row.rule for row in found.rows] == list(RULES)
    assert [row.figures["agreement"].value for row in found.rows] == pytest.approx([1, 0.6, 0.4])
    assert [row.by_nuggets for row in found.rows] == [24, 40, 0]
    gain = found.metrics["two_stage_minus_nuggets_agreement"]
    assert (gain.value, gain.unit, gain.n) == (pytest.approx(40), "points", 40)
    assert gain.lo < 40 < gain.hi
    assert found.metrics["nuggets_minus_pairwise_inversion_all"].value == pytest.approx(-20)


def test_the_mixture_needs_ratings_the_parts_do_not() -> None:
    votes = np.asarray([0, 2, 1])
    found = two_stage(groups_of(3), votes, votes, 2 - votes, [None] * 3, BothBad.tie, SAMPLING)
    assert [row.rule for row in found.rows] == ["nuggets", "pairwise"]
    assert math.isnan(found.metrics["two_stage_agreement"].value)
    assert found.metrics["nuggets_minus_pairwise_agreement"].value == pytest.approx(200 / 3)
    none = two_stage(groups_of(3), votes, np.full(3, NONE), votes, [None] * 3, BothBad.tie, SAMPLING)
    assert none.rows == ()
    assert all(each.method.startswith("undefined: ") for each in none.metrics.values())


def tournament(rounds: int) -> tuple[list[tuple[str, str]], np.ndarray]:
    """Every pair of four systems, the earlier letter winning two of three battles."""
    systems, outcome = [], []
    for k in range(rounds):
        for x, y in ((x, y) for x in "abcd" for y in "abcd" if x < y):
            left, right = (x, y) if k % 2 else (y, x)
            systems.append((left, right))
            better = 0 if left == x else 2
            outcome.append(better if k % 3 else 2 - better)
    return systems, np.asarray(outcome)


def test_ranks_of_a_clear_order() -> None:
    systems, people = tournament(12)
    sides = {"people": people, "nuggets": people, "pairwise": 2 - people}
    found = ranks(groups_of(len(systems)), systems, sides, "people", SAMPLING)
    assert [row.system for row in found.rows] == ["a", "b", "c", "d"]
    assert [row.battles for row in found.rows] == [36] * 4
    assert found.metrics["rank_tau_nuggets"].value == 1
    assert found.metrics["rank_tau_pairwise"].value == -1
    for row in found.rows:
        for each in row.scores.values():
            assert each.lo < each.value < each.hi
    assert sum(row.scores["people"].value for row in found.rows) == pytest.approx(4000, abs=0.1)


def test_a_system_that_never_loses_still_has_a_score() -> None:
    systems = [("a", "b"), ("b", "c"), ("a", "c"), ("a", "a")]
    found = ranks(groups_of(4), systems, {"people": np.asarray([0, 0, 0, 1])}, "people", SAMPLING)
    assert [row.system for row in found.rows] == ["a", "b", "c"]
    assert all(math.isfinite(row.scores["people"].value) for row in found.rows)
    assert found.rows[0].battles == 2  # the battle against itself is none


def test_two_systems_are_no_ranking() -> None:
    sides = {"people": np.asarray([0, 1]), "nuggets": np.asarray([0, 0])}
    found = ranks(groups_of(2), [("a", "b"), ("b", "a")], sides, "people", SAMPLING)
    assert found.rows == ()
    assert found.metrics["rank_tau_nuggets"].method == "undefined: 2 systems to rank, at least 3 needed"
