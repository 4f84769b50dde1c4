"""The judge's labels of nuggets against people's."""

from __future__ import annotations

import math

import pandas as pd
import pytest
from sheets import answer, battles_of

from judgelab.frames.nuggets import labels
from judgelab.metrics.nugget_labels import failed_shares, label_figures
from judgelab.metrics.votes import Sampling
from judgelab.settings import Score

S, P, N, F = "support", "partial_support", "not_support", "failed"
SAMPLING = Sampling(0.95, 200, 0)


def table(*records: object) -> pd.DataFrame:
    return labels(records)  # type: ignore[arg-type]


def test_three_grades_and_two() -> None:
    found = label_figures(
        table(answer("t1", "x", [S, P, N, S], [S, N, N, P]), answer("t2", "x", [N], [N])), Score.all, SAMPLING
    )
    metrics = found.metrics
    assert metrics["label_accuracy"].value == pytest.approx(3 / 5)
    assert metrics["label2_accuracy"].value == pytest.approx(4 / 5)  # partial support is none
    assert metrics["label_accuracy"].n == 5
    assert metrics["label_kappa"].lo <= metrics["label_kappa"].value <= metrics["label_kappa"].hi
    assert "2 questions" in metrics["label_accuracy"].method
    assert found.support is not None
    assert found.support.counts == ((2, 1, 0), (0, 0, 1), (0, 0, 1))
    # the judge calls all vital, people every other one
    assert metrics["importance_accuracy"].value == pytest.approx(3 / 5)
    assert metrics["importance_kappa"].value == 0


def test_failed_labels_are_no_labels_and_count_in_the_worst_case() -> None:
    rows = table(answer("t1", "x", [S, F, S, N], [S, S, S, N]), answer("t2", "x", [N, F], [N, N]))
    metrics = label_figures(rows, Score.all, SAMPLING).metrics
    assert (metrics["label_accuracy"].value, metrics["label_accuracy"].n) == (1, 4)
    assert (metrics["label_accuracy_worst"].value, metrics["label_accuracy_worst"].n) == (pytest.approx(4 / 6), 6)
    assert failed_shares(rows, SAMPLING)["failed_label_share"].value == pytest.approx(2 / 6)
    assert failed_shares(rows, SAMPLING)["failed_importance_share"].value == 0


def records_of_runs(flip: bool) -> list[object]:
    """Three runs over four topics, run x best in people's eyes; a judge who flips them ranks them the other way."""
    held = {"x": [S, S, S], "y": [S, S, N], "z": [S, N, N]}
    other = {"x": held["z"], "y": held["y"], "z": held["x"]}
    return [answer(f"t{k}", run, (other if flip else held)[run], held[run]) for k in range(4) for run in "xyz"]


@pytest.mark.parametrize(("flip", "tau"), [(False, 1), (True, -1)])
def test_runs_and_answers_are_ranked(flip: bool, tau: float) -> None:
    found = label_figures(table(*records_of_runs(flip)), Score.all, SAMPLING)
    assert found.metrics["run_tau"].value == tau
    assert found.metrics["run_tau"].n == 3
    assert found.metrics["run_tau"].lo < found.metrics["run_tau"].hi
    assert found.metrics["cell_tau"].value == pytest.approx(tau)
    assert found.metrics["cell_tau"].n == 12
    assert [row.system for row in found.runs] == (["z", "y", "x"] if flip else ["x", "y", "z"])
    assert [row.answers for row in found.runs] == [4, 4, 4]
    best = found.runs[0]
    assert best.judge.value == 1
    assert best.people.value == pytest.approx(1 / 3 if flip else 1)


def test_trivial_judges_stand_beside() -> None:
    rows = table(
        answer("t1", "x", [S, S, N], [S, S, N], "water boils"),
        answer("t2", "y", [N, N, N], [N, N, S], "nothing of the kind"),
    )
    found = label_figures(rows, Score.all, SAMPLING)
    assert set(found.baselines) == {"word_overlap", "majority"}
    overlap, majority = found.baselines["word_overlap"], found.baselines["majority"]
    assert set(overlap) == set(majority) == set(found.metrics)
    assert overlap["label_accuracy"].value == pytest.approx(4 / 6)
    assert majority["label_accuracy"].value == pytest.approx(3 / 6)
    assert majority["label_kappa"].value == 0
    # three of six human labels are support; people call four of six nuggets vital
    assert majority["importance_accuracy"].value == pytest.approx(4 / 6)


def test_without_people_all_of_it_is_undefined() -> None:
    for rows in (table(*battles_of(["model_a", "tie"])), table()):
        found = label_figures(rows, Score.all, SAMPLING)
        assert found.baselines == {}
        assert found.support is None
        assert all(math.isnan(each.value) for each in found.metrics.values())
        assert all(each.method.startswith("undefined: ") for each in found.metrics.values())
    systems = label_figures(table(*battles_of(["model_a", "tie"])), Score.all, SAMPLING).runs
    assert sum(row.answers for row in systems) == 4
    assert all(math.isnan(row.people.value) for row in systems)
