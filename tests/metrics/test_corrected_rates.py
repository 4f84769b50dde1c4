from __future__ import annotations

import math
import re

import pytest
from judged_answers import noisy, run

from judgelab.frames.sage import trials
from judgelab.metrics.corrected_rates import corrected_rates
from judgelab.metrics.sample import Sample
from judgelab.metrics.yardsticks import column
from judgelab.records import Reason

SAMPLE = Sample(0.95, 300, 0)


def judged_in_part(table, known: int):
    """The same trials with people's verdicts on the first `known` alone."""
    return table.assign(human=column([h if k < known else None for k, h in enumerate(table["human"])]))


def test_where_people_judged_all_the_other_half_tells_the_errors() -> None:
    table = noisy(1, 401, 2)
    got = corrected_rates(table, SAMPLE)
    found = got["true_share_corrected"]
    people = float(table["human"].astype(float).mean())
    assert set(got) == {"true_share", "true_share_corrected"}
    assert found.lo < people < found.hi
    # 201 questions are corrected by the errors on the 200 others
    assert found.n == 402
    assert sum(int(n) for n in re.findall(r"(?:sensitivity|specificity) \S+ of (\d+)", found.method)) == 400
    # corrected by errors on the same answers it would be people's share of them, whatever the judge
    assert "of the other people call 0." in found.method
    assert f"people call {found.value:.3f} right" not in found.method


def test_where_people_judged_a_part_the_rest_is_corrected() -> None:
    table = noisy(2, 600, 1)
    people = float(table["human"].astype(float).mean())
    got = corrected_rates(judged_in_part(table, 200), SAMPLE)
    assert got["true_share_corrected"].n == 400
    assert got["true_share_ppi"].n == 600
    for name in ("true_share_corrected", "true_share_ppi"):
        assert got[name].lo < people < got[name].hi
    assert got["true_share"].n == 600


@pytest.mark.parametrize(
    ("says", "human", "why"),
    [
        (lambda *_: Reason.TRUNCATED, lambda _: True, "needs verdicts"),
        (lambda *_: True, lambda _: None, "needs verdicts"),
        (lambda *_: True, lambda _: True, "needs verdicts"),
        (lambda k, _: k % 2 == 0, lambda k: k % 2 == 1, "no better than chance"),
    ],
)
def test_what_cannot_be_corrected_says_why(says, human, why: str) -> None:
    got = corrected_rates(trials(run(24, says, human)), SAMPLE)["true_share_corrected"]
    assert math.isnan(got.value)
    assert why in got.method


def test_halves_are_the_same_in_any_order_of_rows() -> None:
    table = noisy(3, 60, 3)
    one, two = (corrected_rates(t, SAMPLE) for t in (table, table.sample(frac=1, random_state=5)))
    assert repr(one) == repr(two)
