from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from judged import CELLS, RULES, A, B, C, fake, follow, frame, row

from judgelab.metrics.rpag import swapped_figures
from judgelab.settings import AnalysisConfig, NotAttempted

QUICK = AnalysisConfig(resamples=300)


def figures(table, analysis=QUICK, seed=0):
    return swapped_figures(table, analysis, seed)


def coded(coding):
    return dataclasses.replace(QUICK, not_attempted=coding)


@pytest.mark.parametrize(
    ("judge", "acc_o", "acc_s", "rpag", "cells", "rejection"),
    [
        ("follows_reference", 1.0, 1.0, 0.0, (1, 1, 1, 1), 0.0),
        ("believes_memory", 1.0, 0.0, 100.0, (1, 1, 0, 0), 1.0),
        ("always_a", 0.5, 0.5, 0.0, (1, 0, 0, 1), 0.0),
        ("always_b", 0.5, 0.5, 0.0, (0, 1, 1, 0), 1.0),
    ],
)
def test_fake_judges(judge, acc_o, acc_s, rpag, cells, rejection):
    m = figures(fake(judge, 40)).metrics
    assert (m["acc_o"].value, m["acc_s"].value, m["rpag"].value) == (acc_o, acc_s, rpag)
    assert tuple(m[f"acc_{cell}"].value for cell in CELLS) == cells
    assert m["ss_rejection"].value == rejection
    assert (m["acc_o"].unit, m["rpag"].unit) == ("fraction", "points")
    assert (m["acc_o"].n, m["rpag"].n, m["acc_oo"].n) == (80, 160, 40)
    assert m["rpag"].lo < m["rpag"].hi


def test_random_judges_lie_within_the_range_of_the_random_baseline_at_its_level():
    row = figures(fake("always_a", 60)).baselines["random"]
    rng = np.random.default_rng(0)
    right = {cell: rng.binomial(60, 0.5, 20_000) for cell in CELLS}
    acc = {a: (right[f"{a}o"] + right[f"{a}s"]) / 120 for a in "os"}
    got = {"acc_o": acc["o"], "acc_s": acc["s"], "rpag": 100 * (acc["o"] - acc["s"]), "acc_ss": right["ss"] / 60}
    for name, values in got.items():
        inside = np.mean((row[name].lo <= values) & (values <= row[name].hi))
        assert 0.945 <= inside <= 0.975  # counts are discrete: never less than the level, up to rounding


def test_a_random_judge_has_no_gap():
    rng = np.random.default_rng(0)
    m = figures(follow(lambda *_: str(rng.choice([A, B])), 200)).metrics
    assert m["acc_o"].lo <= 0.5 <= m["acc_o"].hi
    assert m["rpag"].lo <= 0.0 <= m["rpag"].hi
    assert m["mcnemar_oo_ss"].value > 0.05


def test_random_baseline_is_the_exact_binomial_range():
    got = figures(fake("always_a", 50)).baselines["random"]["acc_o"]
    assert (got.value, got.lo, got.hi, got.n) == (0.5, 0.40, 0.60, 100)


def test_constant_baselines_are_those_of_the_fake_judges():
    got = figures(fake("believes_memory", 30)).baselines
    for name in ("always_a", "always_b"):
        expected = figures(fake(name, 30)).metrics
        for metric, estimate in got[name].items():
            assert estimate == expected[metric]
    assert got["majority"] == got["always_a"]


def test_alias_swap_has_truth_correct_everywhere():
    table = fake("always_a", 20).assign(truth=A)
    got = figures(table)
    assert (got.metrics["acc_o"].value, got.metrics["acc_s"].value) == (1.0, 1.0)
    assert got.baselines["majority"]["acc_s"].value == 1.0
    assert got.baselines["always_b"]["acc_o"].value == 0.0
    strict = figures(fake("follows_reference", 20).assign(truth=A)).metrics
    assert (strict["acc_os"].value, strict["acc_ss"].value, strict["ss_rejection"].value) == (0.0, 1.0, 0.0)


def test_codings_of_not_attempted():
    # ss: 4 not attempted, 3 wrong, 3 right of 10; everything else right
    def rule(i, cell):
        return (C if i < 4 else B if i < 7 else A) if cell == "ss" else RULES["follows_reference"][cell]

    table = follow(rule, 10)
    error, excluded, separate = (figures(table, coded(c)).metrics for c in NotAttempted)
    assert error["acc_s"].value == separate["acc_s"].value == 13 / 20
    assert excluded["acc_s"].value == 13 / 16
    assert (excluded["acc_s"].n, excluded["acc_ss"].n, error["acc_ss"].n) == (16, 6, 10)
    assert error["rpag"].value == pytest.approx(35.0)
    for name in ("acc_o", "acc_s", "rpag"):
        assert error[f"{name}_na_excluded"].value == excluded[name].value
        assert excluded[f"{name}_na_error"].value == error[name].value
        assert error[f"{name}_na_separate"].value == error[name].value
    assert "rpag_na_error" not in error
    for m in (error, excluded, separate):
        assert (m["wrong_s"].value, m["not_attempted_s"].value) == (3 / 20, 4 / 20)
        assert m["rpag_wrong"].value + m["rpag_not_attempted"].value == pytest.approx(35.0)
        assert (m["not_attempted"].value, m["not_attempted_ss"].value) == (0.1, 0.4)
        assert m["ss_rejection"].value == 0.3
        assert (m["verdict_correct_ss"].value, m["verdict_incorrect_so"].value) == (0.3, 1.0)


def test_failed_judgments_are_left_out_counted_and_bounded():
    # of 10 items: one parse error in oo, one truncation in ss, one item impossible
    def rule(i, cell):
        if i == 9:
            return "no_candidate"
        return {(0, "oo"): "parse_error", (1, "ss"): "truncated"}.get((i, cell), RULES["follows_reference"][cell])

    got = figures(follow(rule, 10))
    m = got.metrics
    assert (m["acc_o"].value, m["acc_o"].n, m["acc_oo"].n) == (1.0, 17, 8)
    assert (m["acc_o_worst"].value, m["acc_o_best"].value) == (17 / 18, 1.0)
    assert (m["rpag_worst"].value, m["rpag_best"].value) == pytest.approx((100 / 18, -100 / 18))
    assert (m["parse_error_share"].value, m["truncated_share"].value) == (1 / 36, 1 / 36)
    assert (m["unscored_share"].value, m["unscored_share"].n) == (2 / 36, 36)
    assert (m["no_candidate_share"].value, m["no_candidate_share"].n) == (0.1, 40)
    assert (got.coverage.items, got.coverage.records, got.coverage.judged) == (10, 40, 34)
    assert got.coverage.unscored == {"parse_error": 1, "truncated": 1, "no_candidate": 4}
    assert got.verdicts["oo"]["parse_error"] == 1
    assert sum(got.verdicts["ss"].values()) == 10


def test_questions_without_a_verdict_do_not_narrow_the_interval():
    alone = figures(fake("follows_reference", 3)).metrics["rpag"]
    table = follow(lambda i, cell: RULES["follows_reference"][cell] if i < 3 else "truncated", 50)
    among = figures(table).metrics["rpag"]
    assert (among.lo, among.hi) == (alone.lo, alone.hi)


def test_a_candidate_flagged_in_either_of_its_records_counts_once():
    table = fake("follows_reference", 4)
    table.loc[table["record_id"] == "q00001-os", "flags"] = "hedge"
    table.loc[table["record_id"].isin(["q00002-so", "q00002-oo"]), "flags"] = "negation"
    m = figures(table).metrics
    assert (m["artefact_rate_o"].value, m["artefact_rate_s"].value, m["artefact_rate"].value) == (0.25, 0.25, 0.25)


def test_flagged_items_and_artefact_rate():
    table = fake("follows_reference", 20)
    # the swapped candidate of item 3 is shown in two cells; the judge got that item wrong
    table.loc[(table["item_id"] == "q00003") & table["cell"].str.endswith("s"), "flags"] = "hedge"
    table.loc[table["item_id"] == "q00003", "flagged"] = True
    table.loc[table["item_id"] == "q00003", "verdict"] = C
    m = figures(table).metrics
    assert (m["artefact_rate"].value, m["artefact_rate"].n) == (1 / 40, 40)
    assert (m["artefact_rate_s"].value, m["artefact_rate_o"].value) == (1 / 20, 0.0)
    assert (m["acc_o"].value, m["acc_o_unflagged"].value, m["acc_o_unflagged"].n) == (0.95, 1.0, 38)
    assert m["rpag_unflagged"].n == 76


def test_mcnemar_names_its_discordant_pairs():
    got = figures(fake("believes_memory", 10)).metrics["mcnemar_oo_ss"]
    assert (got.value, got.unit) == (2 / 2**10, "p")
    assert "oo only: 10" in got.method


@pytest.mark.parametrize("verdict", ["parse_error", "no_candidate"])
def test_nothing_scored_is_undefined_and_says_so(verdict):
    got = figures(follow(lambda *_: verdict, 3))
    for name in ("acc_o", "rpag", "acc_ss", "ss_rejection", "rpag_unflagged", "not_attempted"):
        assert math.isnan(got.metrics[name].value)
        assert got.metrics[name].method == "undefined: no scored records"
    assert all(math.isnan(e.value) for row in got.baselines.values() for e in row.values())


def test_an_empty_frame_has_only_undefined_figures():
    got = figures(frame([]))
    assert all(math.isnan(e.value) for e in got.metrics.values())
    assert got.by_type == ()


def test_one_item_gives_wide_intervals():
    m = figures(fake("follows_reference", 1)).metrics
    assert m["acc_o"].lo < 0.25
    assert (m["rpag"].lo, m["rpag"].hi) == pytest.approx((-79.3, 79.3), abs=0.1)


def test_frames_made_from_records():
    from judgelab.frames.swapped import frame as from_records
    from judgelab.records import Reason, Record, Unscored
    from judgelab.subjects import Triplet

    def record(i, cell):
        truth = A if cell[0] == cell[1] else B
        failed = Unscored(Reason.PARSE_ERROR) if (i, cell) == (0, "oo") else None
        subject = Triplet("q", "r", "c", cell, truth, "type_preserving", "o", "s", popularity=10.0**i)
        verdict = None if failed else RULES["believes_memory"][cell]
        return Record(f"{i}{cell}", f"i{i}", cell, verdict, subject, failed, {A: 0.5, B: 0.5})

    got = figures(from_records(record(i, cell) for i in range(12) for cell in CELLS))
    assert (got.metrics["acc_o"].value, got.metrics["acc_s"].value, got.metrics["acc_oo"].n) == (1.0, 0.0, 11)
    assert got.by_type[0].name == "OTHER"
    assert got.by_freshness[0].name == "unknown"
    assert len(got.by_popularity.deciles) == 10


verdicts = st.sampled_from([A, B, C, "parse_error", "truncated", "no_candidate"])
grids = st.lists(st.tuples(verdicts, verdicts, verdicts, verdicts), min_size=1, max_size=12)


@settings(max_examples=25, deadline=None)
@given(grids, st.sampled_from(NotAttempted), st.integers(0, 2**16))
def test_properties_of_any_run(grid, coding, shuffle):
    analysis = dataclasses.replace(coded(coding), resamples=60)
    table = follow(lambda i, cell: grid[i][CELLS.index(cell)], len(grid))
    got = figures(table, analysis)
    again = figures(table.sample(frac=1, random_state=shuffle), analysis)
    assert repr(got) == repr(again)
    for name, e in got.metrics.items():
        low, high = {"points": (-100.0, 100.0), "fraction": (0.0, 1.0), "p": (0.0, 1.0)}[e.unit]
        if math.isnan(e.value):
            assert e.method.startswith("undefined"), name
            continue
        assert low <= e.value <= high, name
        if e.unit != "p":
            assert low - 1e-9 <= e.lo <= e.value <= e.hi <= high + 1e-9, name
            assert e.lo < e.hi, name
    for name in ("acc_o", "acc_s", "rpag"):
        value = got.metrics[name].value
        ends = sorted(got.metrics[f"{name}_{end}"].value for end in ("worst", "best"))
        if not math.isnan(value):
            assert ends[0] - 1e-9 <= value <= ends[1] + 1e-9
    if not math.isnan(got.metrics["rpag"].value):
        assert got.metrics["rpag_best"].value <= got.metrics["rpag_worst"].value


def test_the_interval_of_rpag_covers_the_truth_at_its_level():
    from judgelab.metrics.accuracy import accuracy

    rng = np.random.default_rng(2024)
    sets, items, hits = 200, 80, 0
    for _ in range(sets):
        # Items differ in how well the judge knows them: verdicts of one question depend on each other.
        known = rng.random(items) < 0.6
        p_s = np.where(known, 0.3, 0.8)
        right = {c: rng.random(items) < (0.9 if c[0] == "o" else p_s) for c in CELLS}
        wrong = {A: B, B: A}
        truth = RULES["follows_reference"]
        table = follow(
            lambda i, c, right=right: truth[c] if right[c][i] else wrong[truth[c]],  # noqa: B023
            items,
        )
        got = accuracy(table, NotAttempted.error, 0.9, 400, 0).rpag
        hits += got.lo <= 100 * (0.9 - (0.6 * 0.3 + 0.4 * 0.8)) <= got.hi
    # 0.9 of 200, give or take 2.5 standard errors
    assert 0.847 <= hits / sets <= 0.953


def test_means_of_what_was_probed_count_items() -> None:
    rows = [
        row(f"q{i}", cell, A, label_mass=0.5 if cell == "oo" and i < 3 else float("nan"))
        for i in range(5)
        for cell in CELLS
    ]
    mass = swapped_figures(frame(rows), AnalysisConfig(resamples=200), 0).metrics["label_mass"]
    assert (mass.value, mass.n) == (0.5, 3)
    assert mass.lo < 0.5 < mass.hi
    assert "known" not in swapped_figures(frame(rows), AnalysisConfig(resamples=200), 0).metrics
