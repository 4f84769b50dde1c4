"""RPAG where it may differ: by entity type, freshness, candidate source, and along popularity.

Invariant: every item with a record is in exactly one group of a table; small groups are pooled, never dropped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from judgelab.metrics.accuracy import REFERENCES, accuracy, in_cell, outcome, values
from judgelab.metrics.estimate import Estimate
from judgelab.metrics.intervals import FloatArray, ratio, resample, undefined
from judgelab.metrics.paired import holm, mcnemar_cells
from judgelab.settings import AnalysisConfig

if TYPE_CHECKING:
    import pandas as pd

OTHER = "OTHER"
UNKNOWN = "unknown"
FEWEST = 10
_ORDER = {name: rank for rank, name in enumerate(("never", "slow", "fast"))}


@dataclass(frozen=True)
class Group:
    """The headline figures of some items; `p_holm` is the p-value of `mcnemar` (oo vs ss) after Holm over the
    groups of the table."""

    name: str
    items: int
    acc_o: Estimate
    acc_s: Estimate
    rpag: Estimate
    mcnemar: Estimate
    p_holm: float


@dataclass(frozen=True)
class Decile:
    """A tenth of the items by popularity, `lo` to `hi` inclusive (page views)."""

    lo: float
    hi: float
    group: Group


@dataclass(frozen=True)
class Popularity:
    """Slope of the item's RPAG on log10(popularity), in points per tenfold popularity, and the table by decile.

    Equal popularities share a decile, so there may be fewer than ten.
    """

    slope: Estimate
    deciles: tuple[Decile, ...]


def by_group(
    frame: pd.DataFrame, column: str, analysis: AnalysisConfig, seed: int, fewest: int = 1
) -> tuple[Group, ...]:
    """Figures for each value of `column`; values with fewer than `fewest` items are pooled as OTHER.

    An item without a value is `unknown`; one whose records differ in it is named by all of them, joined by `+`.
    """
    names = _names(frame, column)
    sizes = Counter(names.values())
    pooled = {item: name if sizes[name] >= fewest else OTHER for item, name in names.items()}
    return _groups(frame, pooled, analysis, seed)


def popularity(frame: pd.DataFrame, column: str, analysis: AnalysisConfig, seed: int) -> Popularity:
    """Popularity against RPAG, over items with a positive popularity and a counted verdict under both references.

    Least squares on one point an item, y = its accuracy under o minus under s; interval by bootstrap over items.
    """
    found = outcome(frame, analysis.not_attempted)
    ids, item = np.unique(np.asarray(values(frame, "item_id"), dtype=str), return_inverse=True)
    fame = np.full(len(ids), np.nan)
    # A record of the item may lack it (the swapped popularity where nothing is swapped); fmax skips NaN.
    np.fmax.at(fame, item, frame[column].to_numpy(dtype=float))
    acc: dict[str, FloatArray] = {}
    for ref in REFERENCES:
        here = in_cell(frame, ref)
        right, n = (
            np.bincount(item, weights=here & rows, minlength=len(ids)).astype(float)
            for rows in (found.right, found.counted)
        )
        acc[ref] = ratio(right, n)
    gap = 100.0 * (acc["o"] - acc["s"])
    usable = ~np.isnan(gap) & (np.nan_to_num(fame) > 0)
    ids, fame, gap = ids[usable], fame[usable], gap[usable]
    if len(ids) < FEWEST:
        why = f"{len(ids)} items with popularity, at least {FEWEST} needed"
        return Popularity(undefined(why, len(ids), "points"), ())
    x = np.log10(fame)
    x -= x.mean()
    drawn = resample(
        ids,
        {"n": np.ones(len(x)), "x": x, "y": gap, "xx": x * x, "xy": x * gap},
        analysis.level,
        analysis.resamples,
        seed,
    )
    n, sx, sy = drawn["n"], drawn["x"], drawn["y"]
    spread = n * drawn["xx"] - sx * sx
    # A resample of equal popularities leaves a spread of rounding size, not of zero.
    spread[spread <= 1e-6 * n * n * float(np.mean(x * x))] = 0.0
    if np.ptp(fame) == 0:
        slope = undefined("all popularities are equal", len(ids), "points")
    elif np.ptp(gap) == 0:
        # The slope is 0 in every resample: that is want of variation, not certainty.
        slope = replace(undefined("all items have the same gap", len(ids), "points"), value=0.0)
    else:
        slope = drawn.estimate(
            ratio(n * drawn["xy"] - sx * sy, spread), len(ids), span=None, unit="points", note="n counts items"
        )
    return Popularity(slope, _deciles(frame, ids, fame, analysis, seed))


def _deciles(
    frame: pd.DataFrame, ids: npt.NDArray[np.str_], fame: FloatArray, analysis: AnalysisConfig, seed: int
) -> tuple[Decile, ...]:
    inner = np.unique(np.quantile(fame, np.arange(1, 10) / 10, method="lower"))
    index = np.searchsorted(inner, fame, side="left")
    tenth = {str(name): str(k) for name, k in zip(ids, index, strict=True)}
    known = frame[frame["item_id"].astype(str).isin(list(tenth))]
    out = []
    for group in _groups(known, tenth, analysis, seed):
        within = fame[index == int(group.name)]
        out.append(Decile(float(within.min()), float(within.max()), group))
    return tuple(out)


def _names(frame: pd.DataFrame, column: str) -> dict[str, str]:
    found: dict[str, set[str]] = {}
    for item, value in zip(values(frame, "item_id"), values(frame, column), strict=True):
        # NaN is the one value that differs from itself.
        missing = value is None or value != value or value == ""
        found.setdefault(str(item), set()).update(() if missing else (str(value),))
    return {item: "+".join(sorted(names)) or UNKNOWN for item, names in found.items()}


def _groups(frame: pd.DataFrame, names: Mapping[str, str], analysis: AnalysisConfig, seed: int) -> tuple[Group, ...]:
    name_of = frame["item_id"].astype(str).map(dict(names))
    raw = []
    for name in sorted(set(names.values()), key=_rank):
        part = frame[name_of == name]
        found = accuracy(part, analysis.not_attempted, analysis.level, analysis.resamples, seed)
        raw.append((name, part["item_id"].nunique(), found, mcnemar_cells(part, analysis.not_attempted)))
    adjusted = holm([test.value for *_, test in raw])
    return tuple(
        Group(name, int(items), found.acc_o, found.acc_s, found.rpag, test, p)
        for (name, items, found, test), p in zip(raw, adjusted, strict=True)
    )


def _rank(name: str) -> tuple[bool, bool, int, str]:
    return name == UNKNOWN, name == OTHER, _ORDER.get(name, len(_ORDER)), name
