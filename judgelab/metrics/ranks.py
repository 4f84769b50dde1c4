"""Systems ranked by the battles they win, in the eyes of people, of nuggets and of the pairwise judge.

Invariant: all three rank the same battles, and every resample ranks all three anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from judgelab.metrics.estimate import Estimate
from judgelab.metrics.intervals import FloatArray, Resampled, resample, undefined
from judgelab.metrics.rank_correlation import FEWEST, tau_of_systems
from judgelab.metrics.votes import NONE, IntArray, Sampling

MOST = 500  # resamples: each takes a fit, which cannot be put together from sums
_GHOST = 0.1  # battles that every pair is taken to have drawn, so that a system that never loses has a score
_AT_ONCE = 8  # resamples in one fit: a call costs more than a fit
_ELO = 400.0 / np.log(10.0)


@dataclass(frozen=True)
class RankRow:
    """A system: its battles, and its Bradley-Terry score on Elo's scale (mean of all systems 1000) by each side."""

    system: str
    battles: int
    scores: Mapping[str, Estimate]


@dataclass(frozen=True)
class Ranks:
    """`rows` best first in people's eyes; `metrics` holds `rank_tau_SIDE`, Kendall's tau-b of a side's ranking with
    people's."""

    rows: tuple[RankRow, ...]
    metrics: Mapping[str, Estimate]


def ranks(
    groups: npt.NDArray[np.object_],
    systems: Sequence[tuple[str, str]],
    sides: Mapping[str, IntArray],
    people: str,
    sampling: Sampling,
) -> Ranks:
    """Rank the systems by every side's outcomes (places in PREDICTED; `NONE` on any side leaves the battle out).

    `people` names the side that the others are compared with. Bradley-Terry scores by evalica, a tie being half a win
    for both; battles of a system against itself are left out. At most `MOST` resamples.
    """
    kept = np.asarray([a != b for a, b in systems], dtype=bool)
    for outcome in sides.values():
        kept &= outcome != NONE
    pairs = [pair for pair, keep in zip(systems, kept, strict=True) if keep]
    names = sorted({name for pair in pairs for name in pair})
    others = [side for side in sides if side != people]
    if len(names) < FEWEST:
        why = f"{len(names)} systems to rank, at least {FEWEST} needed"
        return Ranks((), {f"rank_tau_{side}": undefined(why, len(names), "kappa") for side in others})
    place = {name: k for k, name in enumerate(names)}
    first, second = (np.asarray([place[pair[k]] for pair in pairs], dtype=int) for k in (0, 1))
    met = sorted({(int(min(a, b)), int(max(a, b))) for a, b in zip(first, second, strict=True)})
    columns: dict[str, FloatArray] = {}
    for side, outcome in sides.items():
        won = np.asarray([1.0, 0.5, 0.0])[outcome[kept]]  # by the first
        for x, y in met:
            ahead, behind = (first == x) & (second == y), (first == y) & (second == x)
            columns[f"{side}|{x}|{y}"] = ahead * won + behind * (1.0 - won)
            columns[f"{side}|{y}|{x}"] = ahead * (1.0 - won) + behind * won
    sampling = replace(sampling, resamples=min(sampling.resamples, MOST))
    drawn = resample(groups[kept], columns, sampling.level, sampling.resamples, sampling.seed)
    scores = {side: _scores(drawn, side, met, len(names)) for side in sides}
    fought = np.bincount(first, minlength=len(names)) + np.bincount(second, minlength=len(names))
    rows = [
        RankRow(
            name,
            int(fought[k]),
            {
                side: drawn.estimate(
                    found[k], int(fought[k]), span=None, unit="count", note="Bradley-Terry, n counts its battles"
                )
                for side, found in scores.items()
            },
        )
        for k, name in enumerate(names)
    ]
    rows.sort(key=lambda row: (-row.scores[people].value, row.system))
    taus = {
        f"rank_tau_{side}": tau_of_systems(scores[side], scores[people], drawn, f"of {len(pairs)} battles")
        for side in others
    }
    return Ranks(tuple(rows), taus)


def _scores(drawn: Resampled, side: str, met: Sequence[tuple[int, int]], systems: int) -> FloatArray:
    """Elo-scale scores, shape (systems, 1 + resamples); NaN for a system that a resample has no battle of."""
    import evalica
    import pandas as pd

    xs = np.asarray([a for x, y in met for a in (x, y)], dtype=int)
    ys = np.asarray([b for x, y in met for b in (y, x)], dtype=int)
    wins = np.stack([drawn[f"{side}|{x}|{y}"] for x, y in zip(xs, ys, strict=True)])
    strength = np.empty((systems, wins.shape[1]))
    for start in range(0, wins.shape[1], _AT_ONCE):
        some = wins[:, start : start + _AT_ONCE]
        # Systems of different resamples never meet, so that one fit of all of them is a fit of each.
        apart = systems * np.arange(some.shape[1])
        fit = evalica.bradley_terry(
            (xs[:, None] + apart).ravel().tolist(),
            (ys[:, None] + apart).ravel().tolist(),
            [evalica.Winner.X] * some.size,
            index=pd.RangeIndex(systems * some.shape[1]),
            weights=(some + _GHOST / 2.0).ravel().tolist(),
            limit=1000,
        )
        scores = fit.scores.sort_index().to_numpy(dtype=float).reshape(-1, systems)
        strength[:, start : start + _AT_ONCE] = np.log(scores).T
    fought = np.zeros(strength.shape, dtype=bool)
    for k in range(systems):
        fought[k] = (wins[(xs == k) | (ys == k)] > 0).any(axis=0)
    strength = np.where(fought, strength, np.nan)
    return np.asarray(1000.0 + _ELO * (strength - np.nanmean(strength, axis=0)), dtype=float)
