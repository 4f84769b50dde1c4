"""All figures together: what stands beside what, on any records however few, the same to the last digit."""

from __future__ import annotations

import functools
import math
import random
import warnings
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from sheets import VOTES, answer, battles_of

from judgelab.errors import UsageError
from judgelab.frames.nuggets import battles, labels
from judgelab.metrics.arena import NuggetFigures, nugget_figures, predictions
from judgelab.metrics.votes import FIGURES
from judgelab.records import Reason, Record, Unscored
from judgelab.settings import AnalysisConfig, NuggetsConfig
from judgelab.settings.nuggets import BothBad, Criterion
from judgelab.subjects import Sheet

FEW = AnalysisConfig(resamples=60)


def figures(records: Sequence[Record], **settings: object) -> NuggetFigures:
    asked = NuggetsConfig(**settings)  # type: ignore[arg-type]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return nugget_figures(battles(records), labels(records), asked, FEW, 0)


def plain() -> list[Record]:
    return [
        answer(f"t{k}", run, ["support", "failed"], ["support", "not_support"])
        for k in range(3)
        for run in ("x", "y", "z")
    ]


def unscored(vote: str | None = "model_a") -> Record:
    sheet = Sheet("q", "g9", ("s1", "s2"), ("x", ""), (), "responses", vote=vote)
    return Record("u", "u", "nuggets", None, sheet, Unscored(Reason.NO_NUGGETS))


MANY = battles_of([VOTES[k % 4] for k in range(60)])
SETS: dict[str, list[Record]] = {
    "nothing": [],
    **{f"one {vote}": battles_of([vote]) for vote in (*VOTES, None)},
    **{f"only {vote}": battles_of([vote] * 5) for vote in (*VOTES, None)},
    "one question": battles_of(VOTES, group="g"),
    "sheets alone": [r for r in MANY if r.cell == "nuggets"],
    "duels alone": [r for r in MANY if r.cell in ("ab", "ba")],
    "one order alone": [r for r in MANY if r.cell != "ba"],
    "unscored": [unscored(), *battles_of(["model_b", "tie"])],
    "unscored alone": [unscored()],
    "plain": plain(),
    "one plain": plain()[:1],
    "battles and plain": [*plain(), *battles_of(["model_b", "tie"])],
    "many": MANY,
}


@functools.cache
def of(name: str, **settings: object) -> NuggetFigures:
    """Figures of a set, computed once for all tests that look at them."""
    return figures(SETS[name], **settings)


GIVEN = ("nothing", "one tie", "one question", "unscored")


@pytest.mark.parametrize(("name", "threshold"), [*((name, None) for name in SETS), *((name, 0.1) for name in GIVEN)])
def test_any_records_give_estimates_or_reasons(name: str, threshold: float | None) -> None:
    found = of(name, tie_threshold=threshold) if threshold else of(name)
    assert set(found.metrics) == set(of("many").metrics)  # a name never comes and goes with the data
    everything = [*found.metrics.items(), *(pair for rows in found.baselines.values() for pair in rows.items())]
    for key, each in everything:
        if math.isnan(each.value):
            assert each.method.startswith("undefined: "), key
        elif each.unit != "p" and not each.method.startswith("interval undefined"):
            assert each.lo <= each.value <= each.hi, key
    for trivial in found.baselines.values():
        assert set(trivial) <= set(found.metrics)
    assert found.coverage.items == len({r.item_id for r in SETS[name]})
    assert found.coverage.records == len(SETS[name])
    assert found.coverage.judged == sum(r.verdict is not None for r in SETS[name])


@pytest.mark.parametrize("bothbad", list(BothBad))
@pytest.mark.parametrize("criterion", list(Criterion))
def test_every_analysis(bothbad: BothBad, criterion: Criterion) -> None:
    found = of("many", bothbad=bothbad, criterion=criterion)
    others = {f"agreement_bothbad_{other}" for other in BothBad if other is not bothbad}
    assert others <= set(found.metrics)
    assert f"agreement_bothbad_{bothbad}" not in found.metrics
    for other in BothBad:
        if other is not bothbad and criterion is Criterion.equal_shares:  # which does not look at them
            again = of("many", bothbad=other, criterion=criterion).metrics["kappa"]
            assert again.value == found.metrics[f"kappa_bothbad_{other}"].value


def test_order_of_records_changes_nothing() -> None:
    shuffled = [*MANY]
    random.Random(0).shuffle(shuffled)
    assert repr(figures(shuffled)) == repr(of("many"))


def test_held_out_beside_in_sample() -> None:
    found = of("many", bothbad=BothBad.tie, criterion=Criterion.agreement)
    assert len(found.folds) == 5
    low, high = (f(fold.threshold for fold in found.folds) for f in (min, max))
    own = found.metrics["threshold"]
    assert (own.lo, own.hi) == (low, high)
    inside = found.metrics["agreement_in_sample"]
    assert inside.method.endswith("in-sample")
    assert inside.value >= found.metrics["agreement"].value
    assert inside.value == max(point.figures["agreement"].value for point in found.sweep.points)
    assert found.matrix.n == found.matrix_in_sample.n == 60
    settings = NuggetsConfig(criterion=Criterion.agreement)
    assert found.predicted == predictions(battles(MANY), settings, 0)
    given = of("many", tie_threshold=0.1)
    assert given.folds == ()
    assert given.metrics["threshold"].value == 0.1
    at = next(point for point in given.sweep.points if point.threshold == 0.1)
    assert given.matrix == at.matrix


def test_baselines_answer_the_same_battles() -> None:
    found = figures([*MANY, unscored()])
    assert found.metrics["agreement"].n == 60
    for name in ("majority", "chance", "random", "always_a", "longer_wins", "longer_wins_chars", "longer_tuned"):
        assert set(FIGURES) <= set(found.baselines[name])
        assert found.baselines[name]["agreement"].n == 60
    gap = 100 * (found.metrics["agreement"].value - found.baselines["longer_wins"]["agreement"].value)
    assert found.metrics["gain_over_longer_wins"].value == pytest.approx(gap)


def test_an_unscored_battle_is_bounded_not_counted() -> None:
    without, found = of("many", tie_threshold=0.1), figures([*MANY, unscored()], tie_threshold=0.1)
    assert found.metrics["agreement"].value == without.metrics["agreement"].value
    right = without.metrics["agreement"].value * 60
    assert found.metrics["agreement_worst"].value == pytest.approx(right / 61)
    assert found.metrics["agreement_best"].value == pytest.approx((right + 1) / 61)
    assert found.coverage.unscored == {"no_nuggets": 1}
    assert found.metrics["unscored_share"].value == pytest.approx(1 / 241)


def test_failed_labels_under_both_rules() -> None:
    changed = []
    for record in MANY:
        if isinstance(record.subject, Sheet):
            first = record.subject.nuggets[0]
            failed = replace(first, labels=("failed", first.labels[1]))
            record = replace(record, subject=replace(record.subject, nuggets=(failed, *record.subject.nuggets[1:])))
        changed.append(record)
    found = figures(changed, tie_threshold=0.05)
    assert found.metrics["failed_label_share"].value > 0
    # counted as 0 they hurt answer a; left out they do not
    table = battles(changed)
    assert (table["all_left_out_a"].fillna(1) >= table["all_a"]).all()
    assert found.metrics["agreement"].value != found.metrics["agreement_failed_left_out"].value


def test_the_pairwise_judge_is_judged_on_its_own_battles() -> None:
    found = of("many")
    table = battles(MANY)
    kept = {"tie (bothbad)": "tie"}
    right = [v == kept.get(vote, vote) for v, vote in zip(table["verdict_ab"], table["vote"], strict=True)]
    assert found.metrics["agreement_pairwise"].value == pytest.approx(np.mean(right))
    assert found.metrics["order_consistency"].value == 1
    alone = of("sheets alone")
    assert alone.metrics["agreement_pairwise"].method == (
        "undefined: the pairwise judge was not asked (knob: protocol.pairwise)"
    )


def test_groups_curves_and_ranks_are_there() -> None:
    found = of("many")
    assert {row.name for row in found.by_class} == {"knowledge_intensive", "subjective"}
    assert [(row.name, row.battles) for row in found.by_language] == [("English", 40), ("German", 20)]
    assert [curve.n for curve in found.curves] == [15, 15, 15]
    assert len(found.ranks.rows) == 4
    assert [row.rule for row in found.two_stage.rows] == ["two_stage", "nuggets", "pairwise"]
    assert found.metrics["delta_ab"].value > 0.3
    assert found.metrics["brier_gain"].n == 60
    assert len(found.sweep.points) == 31


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"folds": 1}, r"^protocol\.folds=1: must be 2 or more$"),
        ({"tie_threshold": -0.1}, r"^protocol\.tie_threshold=-0\.1: must be from 0 to 1, or null to choose it$"),
        ({"tie_threshold": 7}, r"^protocol\.tie_threshold=7: "),
        ({"class_min": 11}, r"^protocol\.class_min=11: must be from 0 to 10$"),
    ],
)
def test_settings_that_mean_nothing(settings: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        figures([], **settings)


def test_fitting_many_resamples_at_once_ranks_as_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    from judgelab.metrics import ranks as module

    rng = np.random.default_rng(0)
    pairs = [tuple(str(x) for x in rng.choice(["r", "s", "t", "u"], 2, replace=False)) for _ in range(80)]
    groups = np.asarray([f"q{k // 2}" for k in range(80)], dtype=object)
    sides = {"people": rng.integers(0, 3, 80), "nuggets": rng.integers(0, 3, 80)}
    found = []
    for at_once in (1, 7, 1000):
        monkeypatch.setattr(module, "_AT_ONCE", at_once)
        found.append(module.ranks(groups, pairs, sides, "people", module.Sampling(0.95, 60, 0)))  # type: ignore[arg-type]
    for other in found[1:]:
        assert [row.system for row in other.rows] == [row.system for row in found[0].rows]
        for one, two in zip(found[0].rows, other.rows, strict=True):
            for side in sides:
                assert two.scores[side].value == pytest.approx(one.scores[side].value, abs=1e-3)
                assert two.scores[side].lo == pytest.approx(one.scores[side].lo, abs=1e-3)
