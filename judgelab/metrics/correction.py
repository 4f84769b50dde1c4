"""The share of right answers with the judge's own errors taken off.

Invariant: an estimate that the judge is too poor to give is undefined, and answers to one question never count as if
each were evidence of its own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from judgelab.metrics.estimate import Estimate
from judgelab.metrics.intervals import FloatArray, ratio, resample, undefined

NO_BETTER = "the judge is no better than chance (sensitivity + specificity <= 1)"


@dataclass(frozen=True)
class Share:
    """`value` of `n` answers, which tell as much as `size` independent ones would (1 <= size <= n)."""

    value: float
    n: int
    size: float

    @classmethod
    def of(cls, k: int, n: int) -> Share:
        """`k` of `n` independent answers."""
        return cls(k / n if n else math.nan, n, float(n))


def share(hits: npt.ArrayLike, groups: Sequence[str] | npt.NDArray[np.object_]) -> Share:
    """The share of `hits` (True or False) where answers of one group (question) depend on each other.

    The effective size is n over Kish's design effect (1965), the variance of the mean under drawing of whole groups
    over that of n independent answers, never below 1; so Korn and Graubard (1998) use it in intervals of proportions.
    Without variation it is the number of groups.
    """
    x = np.asarray(hits, dtype=float)
    n = len(x)
    if not n:
        return Share.of(0, 0)
    ids, group = np.unique(np.asarray(groups, dtype=str), return_inverse=True)
    value, count = float(x.mean()), len(ids)
    independent = value * (1.0 - value) / max(n - 1, 1)
    if count < 2 or independent == 0.0:
        return Share(value, n, float(count))
    residual = np.bincount(group, weights=x - value)
    clustered = count / (count - 1) * float(residual @ residual) / n**2
    return Share(value, n, n / max(1.0, clustered / independent))


def rogan_gladen(said: int, n: int, true_right: int, right: int, true_wrong: int, wrong: int, level: float) -> Estimate:
    """`corrected_share` of independent answers, from counts: `said` of `n` are called True by the judge; of `right`
    others that people call right it calls `true_right` True, of `wrong` ones it calls `true_wrong` False."""
    return corrected_share(Share.of(said, n), Share.of(true_right, right), Share.of(true_wrong, wrong), level)


def corrected_share(said: Share, sensitivity: Share, specificity: Share, level: float, note: str = "") -> Estimate:
    """Rogan and Gladen's corrected share (1978) with the interval of Lee et al. (arXiv 2511.21140).

    `said` is the share that the judge calls True; `sensitivity` the share called True of what people call right,
    `specificity` the share called False of what they call wrong, both measured on other answers than `said`: on the
    same ones the estimate is people's own share whatever the judge does.
    theta = (p + q0 - 1) / (q0 + q1 - 1) with q1 sensitivity and q0 specificity. The interval adds z^2 pseudo counts to
    p and one success and one failure to q1 and q0, as that paper does (after Lang and Reiczigel 2014), and counts the
    variance of all three; it takes effective sizes for n. Value and interval are cut to [0, 1], and the method says
    where the value was. Undefined where q0 + q1 <= 1.
    """
    from scipy.stats import norm

    n = said.n
    if not (n and sensitivity.n and specificity.n):
        return undefined("needs verdicts, and other answers that people call right and wrong", n)
    p, q1, q0 = said.value, sensitivity.value, specificity.value
    if q0 + q1 <= 1.0:
        return undefined(NO_BETTER, n)
    exact = (p + q0 - 1.0) / (q0 + q1 - 1.0)
    z = float(norm.ppf(0.5 + level / 2.0))
    n_, right_, wrong_ = said.size + z * z, sensitivity.size + 2.0, specificity.size + 2.0
    p_ = (said.size * p + z * z / 2.0) / n_
    q1_, q0_ = (sensitivity.size * q1 + 1.0) / right_, (specificity.size * q0 + 1.0) / wrong_
    scale = q0_ + q1_ - 1.0
    if scale <= 0.0:
        return undefined("too few answers that people judged to tell the judge from chance", n)
    middle = (p_ + q0_ - 1.0) / scale
    of_q0, of_q1 = q0_ * (1.0 - q0_) / wrong_, q1_ * (1.0 - q1_) / right_
    shift = 2.0 * z * z * (middle * of_q1 - (1.0 - middle) * of_q0)
    variance = (p_ * (1.0 - p_) / n_ + (1.0 - middle) ** 2 * of_q0 + middle**2 * of_q1) / scale**2
    half = z * math.sqrt(variance)
    theta, lo, hi = (_cut(each) for each in (exact, middle + shift - half, middle + shift + half))
    method = (
        f"Rogan-Gladen, interval of Lee et al. 2025, level {level:g}; sensitivity {q1:.3f} of {sensitivity.n}, "
        f"specificity {q0:.3f} of {specificity.n}"
    )
    if theta != exact:
        method += f"; cut from {exact:.3f}"
    return Estimate(theta, min(lo, theta), max(hi, theta), n, f"{method}; {note}" if note else method)


def prediction_powered(
    verdict: FloatArray,
    human: FloatArray,
    other: FloatArray,
    level: float,
    groups: Sequence[str] = (),
    resamples: int = 2_000,
    seed: int = 0,
) -> Estimate:
    """People's mean by power-tuned prediction-powered inference (PPI++, Angelopoulos et al., arXiv 2311.01453).

    `verdict` and `human` are of the n answers that both judged, `other` the judge's verdicts on the m answers that
    people did not judge, all 0 or 1; `groups` names the question of each answer, first of the n, then of the m (none:
    each its own). The estimate is mean(human) + lambda (mean(other) - mean(verdict)), with lambda = cov(human, verdict)
    / ((1 + n/m) var(verdict and other)) cut to [0, 1]. It holds where those that people judged were drawn at random.
    The interval is a cluster bootstrap over questions with lambda kept.
    """
    n, m = len(human), len(other)
    if n < 2 or m < 2:
        return undefined("needs answers with and without a verdict by people, two of each", n + m)
    spread = float(np.var(np.concatenate([verdict, other]), ddof=1))
    covariance = float(np.mean((human - np.mean(human)) * (verdict - np.mean(verdict))))
    weight = _cut(covariance / ((1.0 + n / m) * spread)) if spread > 0.0 else 0.0
    blank, rest = np.zeros(n), np.zeros(m)
    columns = {
        "n": np.concatenate([blank + 1.0, rest]),
        "m": np.concatenate([blank, rest + 1.0]),
        "human": np.concatenate([human, rest]),
        "with": np.concatenate([verdict, rest]),
        "without": np.concatenate([blank, other]),
    }
    drawn = resample(list(groups) or [str(k) for k in range(n + m)], columns, level, resamples, seed)
    found = ratio(drawn["human"], drawn["n"]) + weight * (
        ratio(drawn["without"], drawn["m"]) - ratio(drawn["with"], drawn["n"])
    )
    note = f"prediction-powered (PPI++), lambda {weight:.3f}; {n} answers judged by people, {m} not"
    return drawn.estimate(np.clip(found, 0.0, 1.0), n + m, note=note)


def _cut(value: float) -> float:
    return min(1.0, max(0.0, value))
