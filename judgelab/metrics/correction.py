"""The share of right answers with the judge's own errors taken off.

Invariant: an estimate that the judge is too poor to give is undefined, and what a truncation to [0, 1] hides is said.
"""

from __future__ import annotations

import math

import numpy as np

from judgelab.metrics.estimate import Estimate
from judgelab.metrics.intervals import FloatArray, undefined


def rogan_gladen(said: int, n: int, true_right: int, right: int, true_wrong: int, wrong: int, level: float) -> Estimate:
    """Rogan and Gladen's corrected share (1978) with the interval of Lee et al. (arXiv 2511.21140).

    `said` of `n` answers are called True by the judge; of `right` answers that people call right it calls
    `true_right` True, of `wrong` ones it calls `true_wrong` False (a calibration set of its own, or a part of the n).
    theta = (p + q0 - 1) / (q0 + q1 - 1) with q1 sensitivity and q0 specificity. The interval adds two pseudo counts to
    each share (q1, q0: one success and one failure), as that paper does, and counts the variance of all three; value
    and interval are cut to [0, 1]. Undefined where q0 + q1 <= 1: such a judge is no better than chance.
    """
    from scipy.stats import norm

    if not (n and right and wrong):
        return undefined("needs verdicts, and answers that people call right and wrong", n)
    p, q1, q0 = said / n, true_right / right, true_wrong / wrong
    if q0 + q1 <= 1.0:
        return undefined("the judge is no better than chance (sensitivity + specificity <= 1)", n)
    theta = min(1.0, max(0.0, (p + q0 - 1.0) / (q0 + q1 - 1.0)))
    z = float(norm.ppf(0.5 + level / 2.0))
    n_, right_, wrong_ = n + z * z, right + 2.0, wrong + 2.0
    p_ = (said + z * z / 2.0) / n_
    q1_, q0_ = (true_right + 1.0) / right_, (true_wrong + 1.0) / wrong_
    if q0_ + q1_ <= 1.0:
        return undefined("the judge is no better than chance (sensitivity + specificity <= 1)", n)
    scale = q0_ + q1_ - 1.0
    middle = (p_ + q0_ - 1.0) / scale
    shift = 2.0 * z * z * (-(1.0 - middle) * q0_ * (1.0 - q0_) / wrong_ + middle * q1_ * (1.0 - q1_) / right_)
    variance = (
        p_ * (1.0 - p_) / n_ + (1.0 - middle) ** 2 * q0_ * (1.0 - q0_) / wrong_ + middle**2 * q1_ * (1.0 - q1_) / right_
    ) / scale**2
    half = z * math.sqrt(variance)
    lo, hi = (min(1.0, max(0.0, middle + shift + sign * half)) for sign in (-1.0, 1.0))
    method = f"Rogan-Gladen, interval of Lee et al. 2025, level {level:g}; {right} right and {wrong} wrong answers"
    return Estimate(theta, min(lo, theta), max(hi, theta), n, method)


def prediction_powered(verdict: FloatArray, human: FloatArray, other: FloatArray, level: float) -> Estimate:
    """Mean of people's verdicts by power-tuned prediction-powered inference (Angelopoulos et al., arXiv 2311.01453).

    `verdict` and `human` are of the items that both judged, `other` the judge's verdicts on the items that people did
    not judge, all 0 or 1. With lambda the tuned weight: mean(human) + lambda (mean(other) - mean(verdict)).
    """
    from scipy.stats import norm

    n, m = len(human), len(other)
    if n < 2 or m < 2:
        return undefined("needs items with and without a verdict by people, two of each", n + m)
    spread = float(np.var(verdict, ddof=1))
    covariance = float(np.cov(human, verdict, ddof=1)[0, 1])
    weight = min(1.0, max(0.0, covariance / ((1.0 + n / m) * spread))) if spread > 0 else 0.0
    value = float(np.mean(human) + weight * (np.mean(other) - np.mean(verdict)))
    variance = float(np.var(human - weight * verdict, ddof=1)) / n + weight**2 * float(np.var(other, ddof=1)) / m
    half = float(norm.ppf(0.5 + level / 2.0)) * math.sqrt(variance)
    lo, hi = max(0.0, value - half), min(1.0, value + half)
    value = min(1.0, max(0.0, value))
    method = f"prediction-powered (PPI++), lambda {weight:.3f}, level {level:g}; {n} items judged by people, {m} not"
    return Estimate(value, min(lo, value), max(hi, value), n + m, method)
