from __future__ import annotations

import math

import numpy as np
import pytest
from judged import CELLS, RULES, A, B, fake, follow, frame, row

from judgelab.metrics.groups import by_group, popularity
from judgelab.metrics.intervals import draws
from judgelab.settings import AnalysisConfig

QUICK = AnalysisConfig(resamples=300)


def typed(counts, judge_of):
    """`counts` items of each type; `judge_of[type]` names the rule they follow."""
    return frame(
        row(f"{kind}{i}", cell, RULES[judge_of[kind]][cell], entity_type=kind)
        for kind, n in counts.items()
        for i in range(n)
        for cell in CELLS
    )


def test_groups_have_the_figures_of_their_items_and_small_ones_are_pooled():
    table = typed(
        {"PERSON": 20, "GPE": 15, "DATE": 3, "LAW": 2},
        {"PERSON": "believes_memory", "GPE": "follows_reference", "DATE": "always_a", "LAW": "always_b"},
    )
    got = by_group(table, "entity_type", QUICK, 0, fewest=15)
    assert [(g.name, g.items, g.rpag.value) for g in got] == [
        ("GPE", 15, 0.0),
        ("PERSON", 20, 100.0),
        ("OTHER", 5, 0.0),
    ]
    assert got[2].acc_o.value == 0.5
    assert got[1].p_holm == pytest.approx(3 * got[1].mcnemar.value)


def test_freshness_keeps_its_order_and_missing_values_come_last():
    table = frame(
        row(f"{value}{i}", cell, A, freshness=value)
        for value in ("fast", "never", None, "slow")
        for i in range(2)
        for cell in CELLS
    )
    assert [g.name for g in by_group(table, "freshness", QUICK, 0)] == ["never", "slow", "fast", "unknown"]


def test_an_item_of_two_sources_is_in_one_group_of_its_own():
    table = fake("always_a", 3)
    table.loc[table["record_id"] == "q00000-ss", "candidate_source"] = "model"
    got = by_group(table, "candidate_source", QUICK, 0)
    assert [(g.name, g.items) for g in got] == [("model+template", 1), ("template", 2)]


def famous(gap_of, views):
    """Item i has `views[i]`; under the swapped reference it is right in `2 * (1 - gap)` of 2 cells."""

    def rule(i, cell):
        wrong = (cell == "ss" and gap_of(i) >= 0.5) or (cell == "so" and gap_of(i) >= 1.0)
        truth = RULES["follows_reference"][cell]
        return {A: B, B: A}[truth] if wrong else truth

    table = follow(rule, len(views))
    table["popularity"] = [views[int(item[1:])] for item in table["item_id"]]
    return table


def test_slope_is_that_of_least_squares():
    views = [10.0 ** (i / 10) for i in range(40)]
    gaps = [(0.0, 0.5, 1.0)[min(2, i // 14)] for i in range(40)]
    got = popularity(famous(lambda i: gaps[i], views), "popularity", QUICK, 0)
    expected = np.polyfit(np.log10(views), 100 * np.array(gaps), 1)[0]
    assert got.slope.value == pytest.approx(expected, rel=1e-9)
    assert 0.0 < got.slope.lo <= got.slope.value <= got.slope.hi
    assert got.slope.n == 40
    assert [d.group.items for d in got.deciles] == [4] * 10
    assert got.deciles[0].lo == views[0]
    assert got.deciles[-1].hi == views[-1]
    assert [d.group.rpag.value for d in got.deciles] == sorted(d.group.rpag.value for d in got.deciles)


def test_slope_does_not_depend_on_row_order():
    table = famous(lambda i: (i % 3) / 2, [float(3 + i * i) for i in range(25)])
    assert popularity(table, "popularity", QUICK, 0) == popularity(
        table.sample(frac=1, random_state=5), "popularity", QUICK, 0
    )


def test_a_record_without_the_popularity_of_its_item_does_not_hide_it():
    table = famous(lambda i: (i % 3) / 2, [float(3 + i * i) for i in range(25)])
    whole = popularity(table, "popularity", QUICK, 0)
    table.loc[table["cell"] == "ss", "popularity"] = float("nan")
    assert popularity(table, "popularity", QUICK, 0) == whole


@pytest.mark.parametrize(
    ("views", "why"),
    [
        ([100.0] * 20, "all popularities are equal"),
        ([float("nan")] * 20, "0 items with popularity"),
        ([0.0] * 15 + [5.0] * 5, "5 items with popularity"),
        ([1.0, 2.0, 3.0], "3 items with popularity"),
    ],
)
def test_slope_is_undefined_without_enough_different_popularities(views, why):
    got = popularity(famous(lambda i: (i % 3) / 2, views), "popularity", QUICK, 0).slope
    assert math.isnan(got.value)
    assert why in got.method


def test_a_slope_without_any_gap_is_zero_and_claims_no_interval():
    got = popularity(famous(lambda _: 0.0, [float(i + 1) for i in range(20)]), "popularity", QUICK, 0).slope
    assert got.value == 0.0
    assert math.isnan(got.lo)


@pytest.mark.parametrize("famous_views", [30.0, 500.0, 1234.0, 98765.0])
def test_resamples_without_spread_are_left_out(famous_views):
    # one famous item: every third resample lacks it and has no slope
    views = [10.0] * 19 + [famous_views]
    gaps = [1.0 if i == 19 else (i % 2) / 2 for i in range(20)]
    got = popularity(famous(lambda i: gaps[i], views), "popularity", QUICK, 0)
    x, y = np.log10(views), 100 * np.array(gaps)
    slopes = [
        np.polyfit(np.repeat(x, w), np.repeat(y, w), 1)[0]
        for w in np.vstack(list(draws(20, QUICK.resamples, 0))).astype(int)
        if 0 < w[19] < 20
    ]
    assert len(slopes) < 250
    assert (got.slope.lo, got.slope.hi) == pytest.approx(tuple(np.quantile(slopes, (0.025, 0.975))), rel=1e-6)
    assert sum(d.group.items for d in got.deciles) == 20
