"""Score differences by what people voted: how far apart their distributions are, and their curves.

Invariant: differences are discrete and tied, so distances are taken after whole runs of equal values, and the p-value
comes from permutations. Votes that both answers are bad are no part of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from judgelab.metrics.estimate import Estimate
from judgelab.metrics.intervals import FloatArray, Resampled, ratio, undefined
from judgelab.metrics.places import clusters_of, place_counts
from judgelab.metrics.votes import NONE, IntArray, Sampling

BINS: FloatArray = np.linspace(-1.025, 1.025, 41)  # the published histogram
BANDWIDTH = 0.5  # published as a factor on Scott's rule
_POINTS: FloatArray = np.linspace(-1.025, 1.025, 165)
_GROUPS = ("a", "tie", "b")  # places in VOTES
_PAIRS = (("ab", 0, 2), ("a_tie", 0, 1), ("b_tie", 2, 1))
_CELLS = 500_000  # numbers held at once


@dataclass(frozen=True)
class Curve:
    """Differences of the battles with one vote: `density` of the histogram over `edges`, and `kde` (Scott's rule times
    1/2) at `points`; both empty without battles, `kde` also where all differences are equal."""

    vote: str
    n: int
    edges: tuple[float, ...]
    density: tuple[float, ...]
    points: tuple[float, ...]
    kde: tuple[float, ...]


def curves(d: FloatArray, votes: IntArray) -> tuple[Curve, ...]:
    """One curve a vote: a, tie, b."""
    out = []
    for k, name in enumerate(_GROUPS):
        here = d[(votes == k) & ~np.isnan(d)]
        density: FloatArray = np.histogram(here, bins=BINS, density=True)[0] if len(here) else np.empty(0)
        out.append(
            Curve(name, len(here), _floats(BINS), _floats(density), _floats(_POINTS), _floats(_kde(here, _POINTS)))
        )
    return tuple(out)


def distances(
    groups: npt.NDArray[np.object_], d: FloatArray, votes: IntArray, sampling: Sampling
) -> Mapping[str, Estimate]:
    """For each of `ab`, `a_tie`, `b_tie`: `ks_PAIR`, the Kolmogorov-Smirnov distance of the two distributions with a
    cluster bootstrap; `ks_p_PAIR`, its p-value over permutations of the votes, (1 + as far) / (1 + permutations); and
    `delta_PAIR`, Cliff's delta, P(first < second) - P(first > second), the size of the shift (-1 to 1).

    A resampled distance is never 0, so a small one is biased upwards: then the interval lies above what is true.
    """
    used = (votes != NONE) & (votes < len(_GROUPS)) & ~np.isnan(d)
    groups, d, votes = groups[used], d[used], votes[used]
    sizes = [int((votes == k).sum()) for k in range(len(_GROUPS))]
    if not len(d):
        return {
            name: undefined("no battle with a vote and scores", 0, unit)
            for pair, *_ in _PAIRS
            for name, unit in ((f"ks_{pair}", "fraction"), (f"ks_p_{pair}", "p"), (f"delta_{pair}", "kappa"))
        }
    levels, rank = np.unique(d, return_inverse=True)
    drawn = Resampled({}, clusters_of(groups), sampling.level, sampling.resamples, sampling.seed)
    found: dict[str, list[FloatArray]] = {f"{what}_{pair}": [] for pair, *_ in _PAIRS for what in ("ks", "delta")}
    place, places = votes * len(levels) + rank, len(_GROUPS) * len(levels)
    for counts in place_counts(groups, place, places, sampling.resamples, sampling.seed):
        below = [_cumulative(part) for part in np.split(counts, len(_GROUPS))]
        for pair, i, j in _PAIRS:
            found[f"ks_{pair}"].append(np.abs(below[i] - below[j]).max(axis=0))
            found[f"delta_{pair}"].append(_delta(below[i], below[j]))
    out: dict[str, Estimate] = {}
    for pair, i, j in _PAIRS:
        n = sizes[i] + sizes[j]
        why = f"no vote for {'a tie' if not sizes[1] and j == 1 else 'one of the answers'}"
        distance = np.concatenate(found[f"ks_{pair}"])
        out[f"ks_{pair}"] = drawn.estimate(distance, n, why=why)
        out[f"ks_p_{pair}"] = _permuted(d, votes, i, j, sampling) if sizes[i] and sizes[j] else undefined(why, n, "p")
        shift = np.concatenate(found[f"delta_{pair}"])
        out[f"delta_{pair}"] = drawn.estimate(
            shift, n, span=(-1.0, 1.0), unit="kappa", why=why, note="Cliff's delta, second minus first"
        )
    return out


def _cumulative(counts: FloatArray) -> FloatArray:
    """The distribution function of each column of counts by level; NaN where a column is empty."""
    summed = np.cumsum(counts, axis=0)
    return ratio(summed, np.broadcast_to(summed[-1], summed.shape))


def _delta(first: FloatArray, second: FloatArray) -> FloatArray:
    step = np.diff(second, axis=0, prepend=0.0)
    before = np.concatenate([np.zeros((1, first.shape[1])), first[:-1]])
    # P(first < second) plus half of P(equal), on a scale from -1 to 1.
    return np.asarray((step * (before + first)).sum(axis=0) - 1.0, dtype=float)


def _permuted(d: FloatArray, votes: IntArray, i: int, j: int, sampling: Sampling) -> Estimate:
    here = (votes == i) | (votes == j)
    order = np.argsort(d[here], kind="stable")
    d, first = d[here][order], (votes[here] == i)[order].astype(np.int8)
    ends = np.flatnonzero(np.append(d[1:] != d[:-1], True))
    n_first, n_second = int(first.sum()), int(len(first) - first.sum())

    def distance(rows: npt.NDArray[np.int8]) -> FloatArray:
        below = np.cumsum(rows, axis=1, dtype=np.int32)[:, ends]
        apart = below * (1.0 / n_first + 1.0 / n_second) - (ends + 1.0) / n_second
        return np.asarray(np.abs(apart).max(axis=1), dtype=float)

    found = float(distance(first[None])[0])
    rng = np.random.default_rng(sampling.seed)
    size = max(1, _CELLS // len(d))
    as_far = 0
    for start in range(0, sampling.resamples, size):
        rows = np.tile(first, (min(size, sampling.resamples - start), 1))
        as_far += int((distance(rng.permuted(rows, axis=1)) >= found - 1e-12).sum())
    p = (1 + as_far) / (1 + sampling.resamples)
    method = f"{sampling.resamples} permutations of the votes of {len(d)} battles, seed {sampling.seed}"
    return Estimate(p, float("nan"), float("nan"), len(d), method, "p")


def _kde(d: FloatArray, points: FloatArray) -> FloatArray:
    if len(d) < 2 or not np.ptp(d):
        return np.empty(0)
    from scipy.stats import gaussian_kde

    return np.asarray(gaussian_kde(d, bw_method=lambda kde: kde.scotts_factor() * BANDWIDTH)(points), dtype=float)


def _floats(values: FloatArray) -> tuple[float, ...]:
    return tuple(float(value) for value in values)
