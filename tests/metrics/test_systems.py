from __future__ import annotations

import math

import numpy as np
import pytest
from judged_answers import run

from judgelab.frames.sage import trials
from judgelab.metrics.sample import Sample
from judgelab.metrics.systems import measured, systems

SAMPLE = Sample(0.95, 300, 0)


def table(n: int = 900, names: tuple[str, ...] = ("one", "two", "three")):
    """Answers of which the systems have .5, .7 and .9 right, and a judge that errs alike on all."""
    rng = np.random.default_rng(4)
    rate = {"one": 0.5, "two": 0.7, "three": 0.9}
    system = [names[k % len(names)] for k in range(n)]
    right = np.array([rng.random() < rate[name] for name in system])
    said = np.where(right, rng.random(n) < 0.85, rng.random(n) >= 0.8)
    rows = trials(run(n, lambda k, _: bool(said[k]), lambda k: bool(right[k]), system=lambda k: system[k]))
    return rows.assign(truth=rows["human"])


def test_each_system_has_its_rates_and_its_yardsticks() -> None:
    rows = systems(table(), SAMPLE, "truth: people")
    assert [row.system for row in rows] == ["one", "three", "two"]
    for row in rows:
        assert row.n == row.judge_rate.n == 300
        assert row.corrected.lo <= row.human_rate.value <= row.corrected.hi
        assert "other systems" in row.corrected.method
        # every candidate holds its gold answer and says more: Contains says always True, EM always False
        assert row.contains.value == row.human_rate.value
        assert row.em.value == pytest.approx(1.0 - row.human_rate.value)
        assert row.agreement["accuracy"].method.endswith("truth: people")
    # of the best system the judge misses most, so it is the correction that tells how good it is
    best = rows[1]
    assert best.judge_rate.value < best.corrected.value


def test_errors_come_from_the_other_systems_alone() -> None:
    rows = table()
    own = np.asarray(rows["system"] == "one")
    before = systems(rows, SAMPLE, "")[0].corrected
    flipped = [not h if mine else h for h, mine in zip(rows["human"], own, strict=True)]
    after = systems(rows.assign(human=flipped), SAMPLE, "")[0].corrected
    assert before == after
    errors = measured(rows[~own])
    assert errors.sensitivity.n + errors.specificity.n == int((~own).sum())
    assert f"sensitivity {errors.sensitivity.value:.3f}" in before.method


def test_one_system_has_no_others() -> None:
    (row,) = systems(table(30, ("one",)), SAMPLE, "")
    assert math.isnan(row.corrected.value)
    assert row.corrected.method.startswith("undefined: needs verdicts, and other answers")


def test_a_system_without_a_name_is_called_so() -> None:
    rows = trials(run(4, lambda *_: True, lambda k: k % 2 == 0))
    (row,) = systems(rows.assign(truth=rows["human"]), SAMPLE, "")
    assert (row.system, row.human_rate.value, row.judge_rate.value) == ("unnamed", 0.5, 1.0)
