"""The pairwise judge: what it says of a battle in one order, in both, and how much the order decides.

Invariant: a battle that the judge was not able to decide in either order has no swap-consistent verdict; a disagreement
between two verdicts is a tie, a missing verdict is not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from judgelab.metrics.estimate import Estimate
from judgelab.metrics.intervals import ratio, resample
from judgelab.metrics.votes import NONE, PREDICTED, IntArray, Sampling

_A, _TIE, _B = range(len(PREDICTED))


@dataclass(frozen=True)
class Duels:
    """Places in PREDICTED, `NONE` without a verdict: with answer a shown first, with answer b shown first, and what
    both orders make together."""

    first: IntArray
    second: IntArray
    both: IntArray


def duels(verdict_ab: Sequence[str | None], verdict_ba: Sequence[str | None]) -> Duels:
    """Read the verdicts of both orders, which are in terms of the battle."""
    first, second = _codes(verdict_ab), _codes(verdict_ba)
    both = np.where(first == second, first, _TIE)
    both = np.where((first == NONE) | (second == NONE), NONE, both)
    return Duels(first, second, both)


def order_figures(groups: npt.NDArray[np.object_], found: Duels, sampling: Sampling) -> Mapping[str, Estimate]:
    """`order_consistency`: share of battles with the same verdict in both orders, of those with two verdicts.
    `position_bias`: P(the answer shown first wins) among verdicts for either answer, both orders together; 1/2 without
    bias, whichever answers are better, because every answer stands first once. `order_flip_first` and
    `order_flip_second`: shares of battles where the first answer shown wins both times, and the second."""
    asked = (found.first != NONE) & (found.second != NONE)
    one, two = found.first[asked], found.second[asked]
    wins = (one == _A).astype(float) + (two == _B)
    columns = {
        "n": np.ones(len(one)),
        "same": one == two,
        "wins": wins,
        "decided": (one != _TIE).astype(float) + (two != _TIE),
        "first": (one == _A) & (two == _B),
        "second": (one == _B) & (two == _A),
    }
    drawn = resample(groups[asked], columns, sampling.level, sampling.resamples, sampling.seed)
    why = "no battle was judged in both orders"
    return {
        "order_consistency": drawn.estimate(ratio(drawn["same"], drawn["n"]), len(one), why=why),
        "position_bias": drawn.estimate(
            ratio(drawn["wins"], drawn["decided"]),
            drawn["decided"][0],
            why="no verdict for either answer" if len(one) else why,
            note="n counts verdicts",
        ),
        "order_flip_first": drawn.estimate(ratio(drawn["first"], drawn["n"]), len(one), why=why),
        "order_flip_second": drawn.estimate(ratio(drawn["second"], drawn["n"]), len(one), why=why),
    }


def _codes(verdicts: Sequence[str | None]) -> IntArray:
    index = {label: k for k, label in enumerate(PREDICTED)}
    return np.asarray([index.get(verdict or "", NONE) for verdict in verdicts], dtype=int)
