from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score, f1_score

from judgelab.config import preset
from judgelab.data import load
from judgelab.metrics.binary import binary_agreement, differences


def agree(truth: list[bool], verdict: list[bool], resamples: int = 200):
    return binary_agreement([str(k) for k in range(len(truth))], truth, verdict, 0.95, resamples, 0)


def test_a_textbook_table() -> None:
    # 20 true hits, 5 misses, 10 false alarms, 15 right rejections: accuracy .7, chance .5, kappa .4
    truth = [True] * 25 + [False] * 25
    verdict = [True] * 20 + [False] * 5 + [True] * 10 + [False] * 15
    got = {name: each.value for name, each in agree(truth, verdict).items()}
    assert got["accuracy"] == pytest.approx(0.7)
    assert got["kappa"] == pytest.approx(0.4)
    assert got["sensitivity"] == pytest.approx(0.8)
    assert got["specificity"] == pytest.approx(0.6)
    assert got["base_rate"] == pytest.approx(0.5)
    q = (25 + 30) / 100
    assert got["ac1"] == pytest.approx((0.7 - 2 * q * (1 - q)) / (1 - 2 * q * (1 - q)))


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=2, max_size=40))
def test_against_scikit_learn(pairs: list[tuple[bool, bool]]) -> None:
    truth, verdict = [a for a, _ in pairs], [b for _, b in pairs]
    got = agree(truth, verdict, 100)
    if len({*truth, *verdict}) == 2:
        assert got["kappa"].value == pytest.approx(cohen_kappa_score(truth, verdict), abs=1e-12)
        assert got["macro_f1"].value == pytest.approx(f1_score(truth, verdict, average="macro"), abs=1e-12)
    for each in got.values():
        assert math.isnan(each.value) or each.lo <= each.value <= each.hi


@pytest.mark.parametrize("n", [0, 1])
def test_tiny_samples_are_undefined_with_a_reason(n: int) -> None:
    got = agree([True] * n, [True] * n)
    assert math.isnan(got["kappa"].value)
    assert got["kappa"].method.startswith("undefined: ")
    assert math.isnan(got["specificity"].value)


def test_differences_are_paired() -> None:
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 2, 200).astype(bool).tolist()
    worse = [not t if k % 10 == 0 else t for k, t in enumerate(truth)]
    groups = [str(k) for k in range(200)]
    got = differences(groups, truth, truth, worse, 0.95, 500, 0)
    assert got["accuracy_difference"].value == pytest.approx(10.0)
    # as narrow as the ten percent that differ, not as wide as two independent accuracies
    assert got["accuracy_difference"].hi - got["accuracy_difference"].lo < 10.0
    same = differences(groups, truth, truth, truth, 0.95, 500, 0)
    assert same["kappa_difference"].value == 0.0


@pytest.mark.real_data
def test_acceptance_nq301(data_dir: Path) -> None:
    items = load(preset("dataset", "nq301")).items
    names = {name for item in items for name in item.published}
    rows = {name: [i for i in items if name in i.published] for name in names}
    found = {
        name: binary_agreement(
            [i.group for i in kept], [bool(i.human) for i in kept], [i.published[name] for i in kept], 0.95, 100, 0
        )
        for name, kept in rows.items()
    }
    pairs = [i.annotators for i in items if len(i.annotators) >= 2]
    people = binary_agreement(
        [str(k) for k in range(len(pairs))], [p[0] for p in pairs], [p[1] for p in pairs], 0.95, 100, 0
    )

    def figures(got: dict) -> tuple[float, float, float]:
        return tuple(round(got[name].value, 4) for name in ("accuracy", "kappa", "macro_f1"))  # type: ignore[return-value]

    gpt4 = next(v for k, v in found.items() if "gpt-4" in k.lower().replace("gpt4", "gpt-4"))
    davinci = next(v for k, v in found.items() if "davinci" in k.lower())
    assert figures(gpt4) == pytest.approx((0.8483, 0.6957, 0.8477), abs=6e-4)
    assert figures(davinci) == pytest.approx((0.8376, 0.6745, 0.8370), abs=6e-4)
    assert figures(people)[:2] == pytest.approx((0.8685, 0.7347), abs=6e-4)
