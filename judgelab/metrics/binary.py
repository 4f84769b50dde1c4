"""How far True/False verdicts agree with people's, beyond what always saying True would give.

Invariant: all figures come from the same four counts, so that they can be resampled together and their differences are
paired.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from judgelab.metrics.estimate import Estimate
from judgelab.metrics.intervals import FloatArray, Resampled, ratio, resample

NAMES = ("accuracy", "kappa", "macro_f1", "ac1", "sensitivity", "specificity")
UNITS = {"kappa": "kappa", "ac1": "kappa"}
DIFFERENCE_UNITS = {**dict.fromkeys(NAMES, "points"), **UNITS, "macro_f1": "fraction"}
NOTHING = "no item with truth and verdict"
_SPANS = {"kappa": (-1.0, 1.0), "ac1": (-1.0, 1.0)}
_WHY = {
    "kappa": "truth and verdicts are one and the same label throughout",
    "sensitivity": "no answer is truly right",
    "specificity": "no answer is truly wrong",
}


@dataclass(frozen=True)
class Counts:
    """Four totals, each in the sample (entry 0) and in every resample: truth and verdict, T or F."""

    tt: FloatArray
    tf: FloatArray
    ft: FloatArray
    ff: FloatArray

    def figures(self) -> dict[str, FloatArray]:
        """Each of `NAMES`, elementwise.

        Macro-F1 is the mean of the F1 of True and of False, a label that neither side uses left out. AC1 is Gwet's
        (2008): chance agreement 2 q (1 - q), with q the mean share of True on both sides.
        """
        n = self.tt + self.tf + self.ft + self.ff
        truth, said = self.tt + self.tf, self.tt + self.ft
        observed = ratio(self.tt + self.ff, n)
        expected = ratio(truth * said + (n - truth) * (n - said), n * n)
        q = ratio(truth + said, 2.0 * n)
        chance = 2.0 * q * (1.0 - q)
        f1 = [ratio(2.0 * self.tt, truth + said), ratio(2.0 * self.ff, (n - truth) + (n - said))]
        used = [truth + said > 0, (n - truth) + (n - said) > 0]
        return {
            "accuracy": observed,
            "kappa": ratio(observed - expected, 1.0 - expected),
            "macro_f1": ratio(sum(map(np.nan_to_num, f1)), np.sum(used, axis=0).astype(float)),  # type: ignore[arg-type]
            "ac1": ratio(observed - chance, 1.0 - chance),
            "sensitivity": ratio(self.tt, truth),
            "specificity": ratio(self.ff, n - truth),
        }


def columns(truth: npt.NDArray[np.bool_], verdict: npt.NDArray[np.bool_], prefix: str = "") -> dict[str, npt.ArrayLike]:
    """The four indicator columns that `counts` reads back from resampled totals."""
    return {
        f"{prefix}tt": truth & verdict,
        f"{prefix}tf": truth & ~verdict,
        f"{prefix}ft": ~truth & verdict,
        f"{prefix}ff": ~truth & ~verdict,
    }


def counts(drawn: Resampled, prefix: str = "") -> Counts:
    """Read `columns` back."""
    return Counts(*(drawn[f"{prefix}{name}"] for name in ("tt", "tf", "ft", "ff")))


def binary_agreement(
    groups: Sequence[str],
    truth: Sequence[bool],
    verdict: Sequence[bool],
    level: float,
    resamples: int,
    seed: int,
    note: str = "",
) -> dict[str, Estimate]:
    """Every figure of `NAMES` with a cluster bootstrap over `groups` (questions), and `base_rate`, the share of True in
    `truth`."""
    one, two = np.asarray(truth, dtype=bool), np.asarray(verdict, dtype=bool)
    drawn = resample(list(groups), columns(one, two), level, resamples, seed)
    found = counts(drawn)
    out = {name: estimate(drawn, name, values, len(one), note) for name, values in found.figures().items()}
    n = found.tt + found.tf + found.ft + found.ff
    out["base_rate"] = drawn.estimate(ratio(found.tt + found.tf, n), len(one), why=NOTHING, note=note)
    return out


def differences(
    groups: Sequence[str],
    truth: Sequence[bool],
    first: Sequence[bool],
    second: Sequence[bool],
    level: float,
    resamples: int,
    seed: int,
    note: str = "",
) -> dict[str, Estimate]:
    """First minus second on the same items, paired in every resample: `NAME_difference` for each of `NAMES`; accuracy,
    sensitivity and specificity in points."""
    t = np.asarray(truth, dtype=bool)
    a, b = (np.asarray(each, dtype=bool) for each in (first, second))
    drawn = resample(list(groups), {**columns(t, a, "a"), **columns(t, b, "b")}, level, resamples, seed)
    one, two = counts(drawn, "a").figures(), counts(drawn, "b").figures()
    out = {}
    for name in NAMES:
        unit = DIFFERENCE_UNITS[name]
        scale, span = (100.0, (-100.0, 100.0)) if unit == "points" else (1.0, (-2.0, 2.0))
        out[f"{name}_difference"] = drawn.estimate(
            scale * (one[name] - two[name]),
            len(t),
            span=(-1.0, 1.0) if unit == "fraction" else span,
            unit=unit,
            why=_why(name, len(t)),
            note=note,
        )
    return out


def estimate(drawn: Resampled, name: str, values: FloatArray, n: int, note: str = "") -> Estimate:
    """One of `NAMES` as an estimate."""
    return drawn.estimate(
        values,
        n,
        span=_SPANS.get(name, (0.0, 1.0)),
        unit=UNITS.get(name, "fraction"),
        why=_why(name, n),
        note=note,
    )


def _why(name: str, n: int) -> str:
    return _WHY.get(name, NOTHING) if n else NOTHING
