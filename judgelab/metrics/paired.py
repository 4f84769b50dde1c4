"""Comparing judgments in pairs: two cells of a run, or two runs on the records that both have.

Invariant: only pairs with two verdicts are compared; what one side lacks is counted beside, never filled in.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from judgelab.metrics.accuracy import CELLS, REFERENCES, BoolArray, in_cell, outcome, values
from judgelab.metrics.estimate import Estimate
from judgelab.metrics.intervals import ratio, resample, undefined
from judgelab.settings import NotAttempted

if TYPE_CHECKING:
    import pandas as pd

UNSCORED = "UNSCORED"


def mcnemar(b: int, c: int, n: int, sides: tuple[str, str] = ("first", "second")) -> Estimate:
    """Exact two-sided McNemar test of `n` pairs, `b` of which only the first side has right, `c` only the second.

    A p-value has no interval: `lo` and `hi` are NaN. Without discordant pairs p is 1.
    """
    if n == 0:
        return undefined("no pair with two verdicts", 0, "p")
    from scipy.stats import binomtest

    p = float(binomtest(b, b + c, 0.5).pvalue) if b + c else 1.0
    method = f"exact McNemar; right in {sides[0]} only: {b}, in {sides[1]} only: {c}"
    return Estimate(p, math.nan, math.nan, n, method, "p")


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Holm-adjusted p-values, in the order given; NaN stays NaN and does not count as a test."""
    from statsmodels.stats.multitest import multipletests

    defined = [p for p in p_values if not math.isnan(p)]
    adjusted = iter(multipletests(defined, method="holm")[1] if defined else ())
    return tuple(math.nan if math.isnan(p) else float(next(adjusted)) for p in p_values)


def mcnemar_cells(frame: pd.DataFrame, coding: NotAttempted, first: str = "oo", second: str = "ss") -> Estimate:
    """McNemar test of item-level correctness in two cells of one run."""
    found = outcome(frame, coding)
    items = values(frame, "item_id")
    right = {
        cell: dict(zip(items[here], found.right[here], strict=True))
        for cell in (first, second)
        for here in [in_cell(frame, cell) & found.counted]
    }
    pairs = Counter((bool(right[first][k]), bool(right[second][k])) for k in right[first].keys() & right[second])
    return mcnemar(pairs[True, False], pairs[False, True], pairs.total(), (first, second))


@dataclass(frozen=True)
class Flip:
    """A record whose verdict differs between two runs."""

    item_id: str
    cell: str
    before: str
    after: str


@dataclass(frozen=True)
class Transition:
    """`n` common records went from verdict `before` to `after`; `UNSCORED` stands for no verdict."""

    before: str
    after: str
    n: int


@dataclass(frozen=True)
class CellTest:
    """McNemar test of the two runs in one cell, with its p-value after Holm over the cells."""

    cell: str
    mcnemar: Estimate
    p_holm: float


@dataclass(frozen=True)
class Flips:
    """Two runs on their common records, matched by item and cell.

    `common` counts records that both runs hold, `scored` those with two verdicts: the n of all estimates.
    `differences` are second minus first, in points: `acc`, and what else the protocol has (`rpag`). `test` asks
    whether the runs differ in correctness: the records of a question depend on each other, so it is McNemar's test
    with questions as pairs, each on the side of the run that has more of its common records right.
    """

    common: int
    scored: int
    flipped: tuple[Flip, ...]
    rate: Estimate
    differences: Mapping[str, Estimate]
    test: Estimate
    tests: tuple[CellTest, ...]
    transitions: tuple[Transition, ...]


def flips(
    frame_a: pd.DataFrame,
    frame_b: pd.DataFrame,
    coding: NotAttempted,
    level: float,
    resamples: int,
    seed: int,
) -> Flips:
    """Compare two runs verdict by verdict; intervals by paired cluster bootstrap over questions.

    Under `excluded` a pair with a NOT_ATTEMPTED on either side counts for the flip rate, not for accuracy.
    """
    columns = ["item_id", "cell", "truth", "verdict", "reason"]
    both = frame_a[columns].merge(frame_b[columns], on=["item_id", "cell"], suffixes=("_a", "_b"))
    both = both.sort_values(["item_id", "cell"], ignore_index=True)
    a, b = (_side(both, side) for side in "ab")
    before, after = (np.asarray(side["verdict"].fillna(UNSCORED), dtype=object) for side in (a, b))
    scored = np.asarray((before != UNSCORED) & (after != UNSCORED), dtype=bool)
    changed = np.asarray(scored & (before != after), dtype=bool)
    items, cells = values(both, "item_id"), values(both, "cell")

    one, two = outcome(a, coding), outcome(b, coding)
    counted = one.counted & two.counted
    measured: dict[str, BoolArray] = {"scored": scored, "changed": changed}
    for ref in REFERENCES:
        here = in_cell(both, ref) & counted
        measured |= {f"n_{ref}": here, f"a_{ref}": here & one.right, f"b_{ref}": here & two.right}
    drawn = resample(items[scored], {k: v[scored] for k, v in measured.items()}, level, resamples, seed)
    n = {ref: drawn[f"n_{ref}"] for ref in REFERENCES}
    gain = {ref: drawn[f"b_{ref}"] - drawn[f"a_{ref}"] for ref in REFERENCES}
    n_counted = float(counted.sum())
    tests = [
        mcnemar(
            int((here & one.right & ~two.right).sum()),
            int((here & two.right & ~one.right).sum()),
            int(here.sum()),
        )
        for cell in CELLS
        for here in [in_cell(both, cell) & counted]
    ]
    adjusted = holm([test.value for test in tests])
    pairs = Counter(zip(before, after, strict=True))
    return Flips(
        common=len(both),
        scored=int(scored.sum()),
        flipped=tuple(Flip(items[i], cells[i], before[i], after[i]) for i in np.flatnonzero(changed)),
        rate=drawn.estimate(ratio(drawn["changed"], drawn["scored"]), scored.sum()),
        differences={
            "acc": drawn.estimate(
                100.0 * ratio(gain["o"] + gain["s"], n["o"] + n["s"]),
                n_counted,
                span=(-100.0, 100.0),
                unit="points",
            ),
            "rpag": drawn.estimate(
                100.0 * (ratio(gain["o"], n["o"]) - ratio(gain["s"], n["s"])),
                n_counted,
                span=(-200.0, 200.0),
                unit="points",
            ),
        },
        test=_by_question(items[counted], (one.right.astype(int) - two.right)[counted]),
        tests=tuple(CellTest(*each) for each in zip(CELLS, tests, adjusted, strict=True)),
        transitions=tuple(Transition(*pair, n=pairs[pair]) for pair in sorted(pairs)),
    )


def item_flips(first: pd.DataFrame, second: pd.DataFrame, level: float, resamples: int, seed: int) -> Flips:
    """The same for protocols with one judgment an item. Columns: `item_id`, `cell`, `group` (the question), `verdict`
    (None without one) and `right` (1 or 0 against people, NaN where nobody said).

    Items of one question are resampled together; McNemar's test takes questions as pairs as well.
    """
    columns = ["item_id", "cell", "group", "verdict", "right"]
    both = first[columns].merge(second[columns], on=["item_id", "cell"], suffixes=("_a", "_b"))
    both = both.sort_values(["item_id", "cell"], ignore_index=True)
    before, after = (np.asarray(both[f"verdict_{side}"].fillna(UNSCORED), dtype=object) for side in "ab")
    scored = np.asarray((before != UNSCORED) & (after != UNSCORED), dtype=bool)
    changed = np.asarray(scored & (before != after), dtype=bool)
    one, two = (both[f"right_{side}"].to_numpy(dtype=float) for side in "ab")
    counted = scored & ~np.isnan(one) & ~np.isnan(two)
    gain = np.where(counted, two - one, 0.0)
    groups, items, cells = values(both, "group_a"), values(both, "item_id"), values(both, "cell")
    measured = {"scored": scored, "changed": changed, "n": counted, "gain": gain}
    drawn = resample(groups[scored], {k: np.asarray(v)[scored] for k, v in measured.items()}, level, resamples, seed)
    pairs = Counter(zip(before, after, strict=True))
    return Flips(
        common=len(both),
        scored=int(scored.sum()),
        flipped=tuple(Flip(items[i], cells[i], before[i], after[i]) for i in np.flatnonzero(changed)),
        rate=drawn.estimate(ratio(drawn["changed"], drawn["scored"]), scored.sum()),
        differences={
            "acc": drawn.estimate(
                100.0 * ratio(drawn["gain"], drawn["n"]),
                float(counted.sum()),
                span=(-100.0, 100.0),
                unit="points",
                why="no common judgment that people judged too",
            )
        },
        test=_by_question(groups[counted], -gain[counted].astype(int)),
        tests=(),
        transitions=tuple(Transition(*pair, n=pairs[pair]) for pair in sorted(pairs)),
    )


def _by_question(items: npt.NDArray[np.object_], lead: npt.NDArray[np.int_]) -> Estimate:
    net: Counter[str] = Counter()
    for item, each in zip(items, lead, strict=True):
        net[item] += int(each)
    ahead, behind = (sum(sign * n > 0 for n in net.values()) for sign in (1, -1))
    return mcnemar(ahead, behind, len(net), ("first (questions)", "second (questions)"))


def _side(both: pd.DataFrame, side: str) -> pd.DataFrame:
    columns = {f"{name}_{side}": name for name in ("truth", "verdict", "reason")}
    return both[["item_id", "cell", *columns]].rename(columns=columns)
