"""Intervals: Wilson for proportions of independent records, a bootstrap over questions for everything else.

Invariant: an interval depends on the set of records and the seed alone, to the last digit: not on row order, on
the number of threads or on what else was computed before. An interval is never a point for want of variation.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from judgelab.metrics.estimate import Estimate

FloatArray = npt.NDArray[np.float64]
IndexArray = npt.NDArray[np.intp]

NO_RECORDS = "no scored records"
_KEPT = 120_000_000  # numbers of drawn weights kept in memory: 240 MB, enough for 12,000 questions
_MANY, _ALIKE = 500, 4  # clusters, and clusters a kind, from which on kinds are drawn instead of clusters
_CHUNK = 100_000  # drawn indices held at once: what fits the processor's cache is several times faster


def undefined(why: str, n: int = 0, unit: str = "fraction") -> Estimate:
    """A figure that does not exist, and why."""
    return Estimate(math.nan, math.nan, math.nan, n, f"undefined: {why}", unit)


def wilson(k: int, n: int, level: float) -> Estimate:
    """Share `k` of `n` with Wilson's score interval; for independent records (one a question)."""
    if n == 0:
        return undefined(NO_RECORDS)
    from scipy.stats import binomtest

    value = k / n
    interval = binomtest(int(k), int(n)).proportion_ci(level, "wilson")
    # Rounding may leave the end at 0 of n and n of n a hair beyond the value.
    lo, hi = min(float(interval.low), value), max(float(interval.high), value)
    return Estimate(value, lo, hi, int(n), f"Wilson, level {level:g}")


def ratio(part: FloatArray, whole: FloatArray) -> FloatArray:
    """Elementwise `part / whole`, NaN where `whole` is not positive."""
    out: FloatArray = np.full(whole.shape, np.nan)
    np.divide(part, whole, out=out, where=whole > 0)
    return out


@dataclass(frozen=True)
class Resampled:
    """Totals of named columns: in the sample (entry 0) and in each resample of whole clusters (the others).

    `totals[name]` has shape (1 + resamples,). All columns share the resamples, so differences are paired.
    """

    totals: Mapping[str, FloatArray]
    clusters: int
    level: float
    resamples: int
    seed: int

    def __getitem__(self, name: str) -> FloatArray:
        return self.totals[name]

    def estimate(
        self,
        values: FloatArray,
        n: float,
        *,
        span: tuple[float, float] | None = (0.0, 1.0),
        unit: str = "fraction",
        why: str = NO_RECORDS,
        note: str = "",
    ) -> Estimate:
        """Percentile interval of a statistic computed elementwise from `totals`.

        `span` is the range a single cluster's value can take. Resamples in which the statistic is undefined are
        left out; the interval is widened to hold the value where a skewed statistic would leave it outside.

        If all resamples agree the bootstrap has seen no variation. Then the interval is that of 0 deviating
        clusters among all: at most the share u (Wilson's upper end of 0 of m) deviates, each by no more than to the
        end of `span`. For a share of 0 or 1 this is Wilson's interval over clusters; for statistics that are no mean
        over clusters it is a guide to the size. Without `span` it is NaN.
        """
        value = float(values[0])
        if math.isnan(value):
            return undefined(why, int(n), unit)
        drawn = values[1:][~np.isnan(values[1:])]
        tail = (1.0 - self.level) / 2.0
        lo, hi = (float(q) for q in np.quantile(drawn, (tail, 1.0 - tail))) if drawn.size else (value, value)
        method = (
            f"cluster bootstrap, percentile, level {self.level:g}, {self.resamples} resamples of "
            f"{self.clusters} questions, seed {self.seed}"
        )
        if lo == hi:
            if span is None:
                lo = hi = math.nan
                method = f"interval undefined: no variation among {self.clusters} questions"
            else:
                share = wilson(0, self.clusters, self.level).hi
                lo, hi = value - share * (value - span[0]), value + share * (span[1] - value)
                method = f"Wilson for 0 of {self.clusters} deviating questions, level {self.level:g} (no variation)"
        return Estimate(value, min(lo, value), max(hi, value), int(n), f"{method}; {note}" if note else method, unit)


def resample(
    clusters: Sequence[str] | npt.NDArray[np.object_],
    columns: Mapping[str, npt.ArrayLike],
    level: float,
    resamples: int,
    seed: int,
) -> Resampled:
    """Draw whole clusters with replacement and total every column (one number a record, finite).

    Columns are rounded to a binary grid (relative error below 1e-9, none for counts) on which every sum is exact:
    that is what makes the totals independent of the order of summation.
    """
    ids, cluster = np.unique(np.asarray(clusters, dtype=str), return_inverse=True)
    count = len(ids)
    if not count:
        zero = np.zeros(1)
        return Resampled(dict.fromkeys(columns, zero), 0, level, resamples, seed)
    most = int(np.bincount(cluster).max())
    sums = np.empty((count, len(columns)))
    for j, column in enumerate(columns.values()):
        sums[:, j] = np.bincount(cluster, weights=_on_grid(column, count * most), minlength=count)
    totals = np.empty((1 + resamples, len(columns)))
    totals[:] = sums.sum(axis=0)
    kinds = Counter(row.tobytes() for row in sums)
    if count >= _MANY and 1 < len(kinds) <= count / _ALIKE:
        # Clusters with the same totals are drawn as one kind: the same resamples in law, at a fraction of the work.
        order = sorted(kinds)
        shares = np.asarray([kinds[row] for row in order]) / count
        drawn = np.random.default_rng(seed).multinomial(count, shares, size=resamples)
        totals[1:] = drawn.astype(float) @ np.asarray([np.frombuffer(row) for row in order])
    elif len(kinds) > 1:  # else every resample is the sample
        row = 1
        for weights in draws(count, resamples, seed):
            totals[row : row + len(weights)] = weights @ sums
            row += len(weights)
    named = {name: totals[:, j] for j, name in enumerate(columns)}
    return Resampled(named, count, level, resamples, seed)


def draws(count: int, resamples: int, seed: int) -> Iterator[FloatArray]:
    """How often each of `count` clusters is drawn in each resample, in chunks of shape (some, count)."""
    if count * resamples <= _KEPT:
        weights = _weights(count, resamples, seed)
        size = max(1, _CHUNK * 10 // count)
        for start in range(0, resamples, size):
            yield weights[start : start + size].astype(float)
        return
    yield from _draw(count, resamples, seed)


@lru_cache(maxsize=2)
def _weights(count: int, resamples: int, seed: int) -> npt.NDArray[np.uint16]:
    """All draws at once, kept because the many figures of one run are drawn alike."""
    out = np.empty((resamples, count), dtype=np.uint16)
    row = 0
    for weights in _draw(count, resamples, seed):
        out[row : row + len(weights)] = weights
        row += len(weights)
    return out


def _draw(count: int, resamples: int, seed: int) -> Iterator[FloatArray]:
    rng = np.random.default_rng(seed)
    size = max(1, min(resamples, _CHUNK // count))
    for start in range(0, resamples, size):
        rows = min(size, resamples - start)
        drawn = rng.integers(0, count, size=(rows, count))
        drawn += np.arange(rows)[:, None] * count
        yield np.bincount(drawn.ravel(), minlength=rows * count).reshape(rows, count).astype(float)


def _on_grid(column: npt.ArrayLike, terms: int) -> FloatArray:
    values: FloatArray = np.asarray(column, dtype=float)
    bound = terms * float(np.abs(values).max(initial=0.0))
    if bound == 0.0:
        return values
    step = 2.0 ** (math.ceil(math.log2(bound)) - 52)
    return np.round(values / step) * step
