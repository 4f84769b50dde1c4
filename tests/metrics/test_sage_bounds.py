"""What stands beside the agreement of a SAGE run: bounds, gain over no evidence, coverage, costs and whose truth."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from judged_answers import run

from judgelab.frames.sage import CELLS, trials
from judgelab.metrics.binary import NAMES
from judgelab.metrics.sage_figures import SageFigures, sage_figures
from judgelab.records import Reason, Record
from judgelab.settings import AnalysisConfig, SageConfig, Truth

QUICK = AnalysisConfig(resamples=100)
BESIDE = ("accuracy", "kappa", "macro_f1")


def figures(records: list[Record], truth: Truth = Truth.auto, seed: int = 0) -> SageFigures:
    return sage_figures(trials(records), SageConfig(truth=truth), QUICK, seed)


def right_half(k: int) -> bool:
    return k % 2 == 0


def test_unscored_answers_bound_every_main_figure() -> None:
    # 20 answers, half of them right; the judge is right on 14, wrong on 2, and gives 4 no verdict
    def says(k: int, _: str) -> bool | Reason:
        return Reason.PARSE_ERROR if k < 4 else right_half(k) if k >= 6 else not right_half(k)

    m = figures(run(20, says, right_half)).metrics
    assert (m["accuracy"].value, m["accuracy"].n) == (14 / 16, 16)
    assert (m["accuracy_worst"].value, m["accuracy_best"].value, m["accuracy_worst"].n) == (14 / 20, 18 / 20, 20)
    assert (m["kappa_worst"].value, m["kappa_best"].value) == pytest.approx((0.4, 0.8))
    assert (m["macro_f1_worst"].value, m["macro_f1_best"].value) == pytest.approx((0.7, 0.9))
    assert (m["unscored_share"].value, m["unscored_share"].n) == (0.2, 20)


def test_what_could_not_be_asked_bounds_nothing_and_is_counted() -> None:
    got = figures(run(10, lambda k, _: Reason.NO_CANDIDATE if k < 4 else right_half(k), right_half))
    assert (got.metrics["accuracy_worst"].value, got.metrics["accuracy_worst"].n) == (1.0, 6)
    assert (got.metrics["unscored_share"].value, got.metrics["unscored_share"].n) == (0.0, 6)
    assert got.coverage.unscored == {"no_candidate": 4}


def test_coverage_counts_the_records_of_all_cells() -> None:
    def says(k: int, cell: str) -> bool | Reason | None:
        if cell == "reference" and k == 0:
            return None
        return {"judged": Reason.SEARCH_ERROR, "none": Reason.TRUNCATED}.get(cell, True) if k == 1 else True

    got = figures(run(5, says, right_half, CELLS)).coverage
    assert (got.items, got.records, got.judged) == (5, 14, 12)
    assert got.unscored == {"truncated": 1, "search_error": 1}


def test_the_gain_over_no_evidence_is_paired_and_has_every_figure() -> None:
    # without evidence the judge calls all True: it has the right half right and none of the wrong
    got = figures(run(40, lambda k, cell: right_half(k) if cell == "judged" else True, right_half, CELLS[:2])).metrics
    assert {name: got[f"{name}_difference"].value for name in NAMES} == pytest.approx(
        {
            "accuracy": 50.0,
            "kappa": 1.0,
            "macro_f1": 1 - 1 / 3,
            "ac1": 1 - (0.5 - 0.375) / 0.625,
            "sensitivity": 0.0,
            "specificity": 100.0,
        }
    )
    units = {name: got[f"{name}_difference"].unit for name in NAMES}
    assert units == {**dict.fromkeys(NAMES, "points"), "kappa": "kappa", "ac1": "kappa", "macro_f1": "fraction"}
    assert got["mcnemar_none"].value == 2 / 2**20
    assert got["mcnemar_none"].method.endswith("truth: people")
    assert (got["specificity_none"].value, got["base_rate_none"].value) == (0.0, 0.5)


def test_without_the_cell_the_gain_says_which_knob() -> None:
    got = figures(run(6, lambda k, _: right_half(k), right_half)).metrics
    for name in ("mcnemar_none", *(f"{name}_difference" for name in NAMES)):
        assert math.isnan(got[name].value)
        assert "protocol.beside_none" in got[name].method


def test_answers_of_a_question_are_one_question_to_mcnemar() -> None:
    # five answers a question, all gained at once: 4 questions, not 20 answers, are the evidence
    got = figures(run(20, lambda _, cell: cell == "judged", lambda _: True, CELLS[:2], 5)).metrics["mcnemar_none"]
    assert (got.n, got.value) == (4, 2 / 2**4)


@pytest.mark.parametrize(
    ("truth", "whose", "n", "without"),
    [
        (Truth.auto, "people", 3, 7),
        (Truth.human, "people", 3, 7),
        (Truth.reference, "the reference judge", 10, 0),
    ],
)
def test_whose_verdict_is_true_is_said_everywhere(truth: Truth, whose: str, n: int, without: int) -> None:
    # people judged 3 of 10 answers; both they and the reference judge call them right
    got = figures(run(10, lambda *_: True, lambda k: True if k < 3 else None, CELLS), truth)
    assert (got.truth, got.metrics["accuracy"].n, got.without_truth) == (whose, n, without)
    told = [got.metrics[name] for name in ("accuracy", "accuracy_best", "base_rate", "accuracy_difference")]
    told += [row.agreement["accuracy"] for row in (*got.judges, *got.by_system)]
    told += [row["accuracy"] for row in (got.baselines["always_true"], got.baselines["random"])]
    for each in told:
        assert f"truth: {whose}" in each.method
    assert ("accuracy_reference" in got.metrics) == (whose == "people")


def test_what_the_judged_cell_took() -> None:
    m = figures(run(4, lambda *_: True, right_half)).metrics
    for name in ("calls", "tokens", "seconds", "searches", "saved_iterations"):
        assert (m[name].value, m[name].n, m[name].unit) == (0.0, 4, "count")
    assert m["empty_search_share"].method == "undefined: no search was made"
    assert m["f1_mean"].value == pytest.approx(2 * 2 / (4 + 2))  # "It is Aldby 1" and "Aldby 1"


def test_published_verdicts_are_scored_like_the_judge() -> None:
    made = [
        *run(3, lambda *_: True, lambda _: True, published={"old judge": True}),
        *(r for r in run(5, lambda *_: True, lambda _: True, published={"other": False}) if r.item_id > "i00002"),
    ]
    rows = {row.name: row.agreement["accuracy"] for row in figures(made).judges}
    assert {name: (e.value, e.n) for name, e in rows.items()} == {
        "this judge": (1.0, 5),
        "old judge (published)": (1.0, 3),
        "other (published)": (0.0, 2),
    }


@pytest.mark.parametrize("truth", list(Truth))
def test_no_record_gives_reasons(truth: Truth) -> None:
    got = figures([], truth)
    assert all(e.method.startswith("undefined: ") for e in got.metrics.values())
    assert (got.by_system, got.judges, got.costs, got.coverage.records) == ((), (), (), 0)


verdicts = st.sampled_from([True, False, Reason.PARSE_ERROR, Reason.NO_CANDIDATE, None])
answers = st.tuples(verdicts, verdicts, verdicts, st.sampled_from([True, False, None]))


@settings(max_examples=40, deadline=None)
@given(st.lists(answers, min_size=1, max_size=9), st.sampled_from(Truth), st.integers(1, 3))
def test_properties_of_any_run(grid: list, truth: Truth, per_question: int) -> None:
    def says(k: int, cell: str) -> bool | Reason | None:
        return grid[k][CELLS.index(cell)]

    made = run(len(grid), says, lambda k: grid[k][3], CELLS, per_question, lambda k: "ab"[k % 2])
    got = figures(made, truth)
    every = [*got.metrics.items(), *(pair for row in got.baselines.values() for pair in row.items())]
    for row in (*got.judges, *got.by_system):
        every += row.agreement.items()
    for name, e in every:
        if math.isnan(e.value):
            assert e.method.startswith("undefined: "), name
        elif e.unit not in ("p", "count"):
            assert e.lo - 1e-9 <= e.value <= e.hi + 1e-9, name
            assert e.lo < e.hi, name
    for name in BESIDE:
        worst, value, best = (got.metrics[f"{name}{end}"].value for end in ("_worst", "", "_best"))
        if not math.isnan(worst) and not math.isnan(best):
            assert worst <= best + 1e-9
        if name == "accuracy" and not math.isnan(value):
            assert worst - 1e-9 <= value <= best + 1e-9
    shuffled = figures(made[::-1], truth)
    assert repr(shuffled.metrics) == repr(got.metrics)
    assert repr(shuffled.baselines) == repr(got.baselines)
