from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from judged import CELLS, RULES, A, B, C, fake, follow, frame, row

from judgelab.metrics.paired import Flip, Transition, flips, holm, mcnemar, mcnemar_cells
from judgelab.settings import NotAttempted

ERROR = NotAttempted.error


@pytest.mark.parametrize(
    ("b", "c", "p"),
    [
        (5, 5, 1.0),
        (0, 6, 0.03125),  # 2 / 2**6
        (1, 9, 0.021484375),  # 2 (1 + 10) / 2**10
        (0, 0, 1.0),
        (59, 6, 2 * sum(math.comb(65, k) for k in range(7)) / 2**65),
    ],
)
def test_mcnemar_textbook(b, c, p):
    got = mcnemar(b, c, 100)
    assert got.value == pytest.approx(p, rel=1e-9)
    assert got.unit == "p"
    assert math.isnan(got.lo)


def test_mcnemar_agrees_with_statsmodels():
    from statsmodels.stats.contingency_tables import mcnemar as reference

    # Agresti, approval of the prime minister at two surveys
    expected = reference([[794, 150], [86, 570]], exact=True).pvalue
    assert mcnemar(150, 86, 1600).value == pytest.approx(expected, rel=1e-9)


def test_mcnemar_of_nothing_is_undefined():
    assert mcnemar(0, 0, 0).method.startswith("undefined")


def test_mcnemar_of_cells_counts_discordant_items():
    # oo right always; ss right in every third item, not attempted in the first
    def rule(i, cell):
        if cell == "ss":
            return C if i == 0 else A if i % 3 == 0 else B
        return RULES["follows_reference"][cell]

    table = follow(rule, 9)
    got = mcnemar_cells(table, ERROR)
    assert got.method == "exact McNemar; right in oo only: 7, in ss only: 0"
    assert (got.n, got.value) == (9, 2 / 2**7)
    dropped = mcnemar_cells(table, NotAttempted.excluded)
    assert (dropped.n, dropped.value) == (8, 2 / 2**6)


@pytest.mark.parametrize(
    ("raw", "adjusted"),
    [
        ((0.01, 0.04, 0.03, 0.005), (0.03, 0.06, 0.06, 0.02)),
        ((0.5,), (0.5,)),
        ((0.6, 0.9), (1.0, 1.0)),
        ((), ()),
        ((math.nan, 0.02), (math.nan, 0.02)),
    ],
)
def test_holm_textbook(raw, adjusted):
    assert holm(raw) == pytest.approx(adjusted, nan_ok=True)


@settings(deadline=None)
@given(st.lists(st.floats(0, 1), max_size=12))
def test_holm_never_lowers_a_p_value_and_keeps_the_order(raw):
    got = holm(raw)
    assert all(p <= q <= 1.0 for p, q in zip(raw, got, strict=True))
    assert [q for _, q in sorted(zip(raw, got, strict=True))] == sorted(got)


def compare(a, b, coding=ERROR, seed=0):
    return flips(a, b, coding, 0.95, 500, seed)


def test_flips_of_a_run_with_itself():
    got = compare(fake("believes_memory", 20), fake("believes_memory", 20))
    assert (got.common, got.scored, got.flipped) == (80, 80, ())
    assert got.rate.value == 0.0
    assert 0.0 < got.rate.hi < 0.2
    assert got.differences["acc"].value == got.differences["rpag"].value == 0.0
    assert all(test.mcnemar.value == test.p_holm == 1.0 for test in got.tests)
    assert (got.test.value, got.test.n) == (1.0, 20)


def test_flips_from_memory_to_reference():
    got = compare(fake("believes_memory", 10), fake("follows_reference", 10))
    assert got.rate.value == 0.5
    assert got.differences["acc"].value == 50.0
    assert got.differences["rpag"].value == -100.0
    assert got.differences["rpag"].lo < -100.0 < got.differences["rpag"].hi
    assert got.flipped[0] == Flip("q00000", "so", A, B)
    assert len(got.flipped) == 20
    assert got.transitions == (
        Transition(A, A, 10),
        Transition(A, B, 10),
        Transition(B, A, 10),
        Transition(B, B, 10),
    )
    # all ten questions have two more right in the second run
    assert (got.test.n, got.test.value) == (10, 2 / 2**10)
    by_cell = {test.cell: test.mcnemar.value for test in got.tests}
    assert by_cell == pytest.approx({"oo": 1.0, "os": 1.0, "so": 2 / 2**10, "ss": 2 / 2**10})


def test_only_records_that_both_runs_scored_are_compared():
    a = follow(lambda i, cell: "parse_error" if i == 0 else RULES["follows_reference"][cell], 6)
    b = follow(lambda i, cell: "truncated" if i == 1 else RULES["follows_reference"][cell], 5)
    got = compare(a, b)
    assert (got.common, got.scored, got.rate.value) == (20, 12, 0.0)
    assert Transition("UNSCORED", A, 2) in got.transitions
    assert Transition(A, "UNSCORED", 2) in got.transitions


def test_runs_without_a_common_record():
    got = compare(fake("always_a", 2), frame([row("elsewhere", cell, A) for cell in CELLS]))
    assert (got.common, got.flipped, got.transitions) == (0, (), ())
    assert math.isnan(got.rate.value)
    assert math.isnan(got.differences["rpag"].value)


def test_flips_do_not_depend_on_row_order():
    a, b = fake("believes_memory", 12), follow(lambda i, c: RULES["always_a" if i % 3 else "always_b"][c], 12)
    assert compare(a, b) == compare(a.sample(frac=1, random_state=1), b.sample(frac=1, random_state=2))


def test_the_overall_test_counts_questions_not_records():
    # one question of six is wholly lost: four discordant records, one discordant question
    b = follow(lambda i, cell: C if i == 0 else RULES["follows_reference"][cell], 6)
    got = compare(fake("follows_reference", 6), b)
    assert (got.test.value, got.test.n) == (1.0, 6)
    assert got.test.method.endswith("first (questions) only: 1, in second (questions) only: 0")


def test_excluded_not_attempted_leaves_accuracy_but_not_the_flip_rate():
    a = fake("follows_reference", 8)
    b = follow(lambda i, cell: C if i < 4 and cell == "ss" else RULES["follows_reference"][cell], 8)
    counted, dropped = compare(a, b), compare(a, b, NotAttempted.excluded)
    assert counted.rate.value == dropped.rate.value == 4 / 32
    assert counted.differences["acc"].value == -12.5
    assert dropped.differences["acc"].value == 0.0
    assert (counted.differences["acc"].n, dropped.differences["acc"].n) == (32, 28)
