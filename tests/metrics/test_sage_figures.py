from __future__ import annotations

import math
import warnings
from dataclasses import replace

import pytest

from judgelab.frames.sage import judgments, trials
from judgelab.metrics.sage_figures import sage_figures, with_truth
from judgelab.records import Call, Reason, Record, Unscored
from judgelab.settings import AnalysisConfig, SageConfig, Truth
from judgelab.subjects import Step, Trial

QUICK = AnalysisConfig(resamples=200)
CALL = Call("sage:judge", "k", (), "", "A", "length", 100, 80, 1, 0, 0.5)


def trial(n: int, **changes: object) -> Trial:
    made = Trial(
        question=f"q{n // 2}?",
        group=f"g{n // 2}",
        candidate=f"It is Town {n}.",
        system="one" if n % 2 else "two",
        answers=(f"Town {n}",) if n % 3 else ("elsewhere",),
        human=bool(n % 3),
        annotators=(bool(n % 3), bool(n % 4)),
        published={"old judge": n % 5 != 0},
        steps=(Step("x", "ok" if n % 4 else "empty", engine="bm25"), Step("x", "ok", repeated=True, engine="bm25")),
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def record(n: int, cell: str, verdict: str | None, subject: Trial, reason: Reason = Reason.TRUNCATED) -> Record:
    p = {"True": 0.9, "False": 0.1} if verdict == "True" else {"True": 0.2, "False": 0.8}
    return Record(
        f"{n}-{cell}",
        f"i{n:03}",
        cell,
        verdict,
        subject,
        unscored=None if verdict else Unscored(reason),
        probabilities=p if verdict else None,
        calls=(CALL, CALL) if cell == "judged" else (CALL,),
        extra={"saved": 1.0},
    )


def run(n: int = 60, **changes: object) -> list[Record]:
    """The judge follows people, without evidence it always says True, and the reference judge follows the strings."""
    made = []
    for k in range(n):
        subject = trial(k, **changes)
        made += [
            record(k, "judged", None if k % 10 == 9 else str(bool(k % 3)), subject),
            record(k, "none", "True", subject),
            record(k, "reference", str(bool(k % 3)), subject),
        ]
    return made


def test_figures_of_a_judge_that_gains_by_searching() -> None:
    got = sage_figures(trials(run()), SageConfig(), QUICK, 0)
    value = {name: each.value for name, each in got.metrics.items()}
    assert got.truth == "people"
    assert (value["accuracy"], value["kappa"], got.metrics["accuracy"].n) == (1.0, 1.0, 54)
    assert value["accuracy_none"] == pytest.approx(2 / 3, abs=0.01)
    assert value["kappa_none"] == 0.0
    assert value["accuracy_difference"] > 25
    assert got.metrics["mcnemar_none"].value < 0.001
    assert value["accuracy_worst"] == pytest.approx(0.9)
    assert value["accuracy_best"] == 1.0
    assert value["unscored_share"] == pytest.approx(0.1)
    assert value["searches"] == 2.0
    assert value["empty_search_share"] == pytest.approx(0.125)
    assert value["repeated_query_share"] == pytest.approx(0.5)
    assert value["accuracy_vs_reference"] == 1.0
    assert 0 < value["human_accuracy"] < 1
    assert got.baselines["always_true"]["kappa"].value == 0.0
    assert got.baselines["contains"]["accuracy"].value == 1.0
    assert [row.name for row in got.judges] == [
        *("this judge", "without evidence", "with gold answers", "old judge (published)"),
    ]
    assert [row.system for row in got.by_system] == ["one", "two"]
    (judged, *_) = got.costs
    assert (judged.cell, judged.calls.value, judged.tokens.value, judged.cached_share.value) == ("judged", 2, 202, 0.8)
    assert got.metrics["auroc"].value == 1.0


def test_truth_is_the_reference_judges_where_nobody_said_anything() -> None:
    rows = trials(run(human=None, annotators=()))
    got = sage_figures(rows, SageConfig(), QUICK, 0)
    assert got.truth == "the reference judge"
    assert got.metrics["accuracy"].value == 1.0
    assert "accuracy_reference" not in got.metrics
    assert "human_accuracy" not in got.metrics
    people = sage_figures(rows, SageConfig(truth=Truth.human), QUICK, 0)
    assert math.isnan(people.metrics["accuracy"].value)


def test_prediction_powered_where_people_judged_a_part() -> None:
    made = run()
    partly = [
        replace(r, subject=replace(r.subject, human=None)) if int(r.item_id[1:]) >= 20 else r  # type: ignore[type-var]
        for r in made
    ]
    got = sage_figures(trials(partly), SageConfig(), QUICK, 0)
    assert 0.5 < got.metrics["true_share_ppi"].value < 0.8


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("human", [True, False, None])
def test_tiny_runs_give_reasons_and_no_warnings(n: int, human: bool | None) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for made in (run(n, human=human), [record(0, "judged", None, trial(0, human=human))]):
            got = sage_figures(trials(made), SageConfig(), QUICK, 0)
            for each in got.metrics.values():
                assert not math.isnan(each.value) or each.method.startswith("undefined: ")


def test_figures_do_not_depend_on_the_order_of_records() -> None:
    made = run(20)
    one, two = (sage_figures(trials(m), SageConfig(), QUICK, 0) for m in (made, made[::-1]))
    assert {k: repr(v) for k, v in one.metrics.items()} == {k: repr(v) for k, v in two.metrics.items()}


def test_judgments_for_a_comparison() -> None:
    rows, _ = with_truth(trials(run(10)), Truth.auto)
    every = judgments(rows, rows["truth"])
    assert list(dict.fromkeys(every["part"])) == ["the judge", "without evidence", "with gold answers"]
    got = every[every["part"] == "the judge"]
    assert got["verdict"].tolist()[-1] is None
    assert got["right"].tolist()[:9] == [1.0] * 9
    assert math.isnan(got["right"].tolist()[-1])
