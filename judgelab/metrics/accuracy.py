"""ACC_o, ACC_s and RPAG of a set of records: the figures that every table of the swapped protocol is made of.

Invariant: accuracy is computed from verdict and truth of scored records only; a record without a verdict enters
nothing but the bounds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from judgelab.metrics.estimate import Estimate
from judgelab.metrics.intervals import FloatArray, Resampled, ratio, resample, wilson
from judgelab.records import Reason
from judgelab.settings import NotAttempted

if TYPE_CHECKING:
    import pandas as pd

BoolArray = npt.NDArray[np.bool_]

CELLS = ("oo", "os", "so", "ss")
REFERENCES = ("o", "s")
POINTS = (-100.0, 100.0)


@dataclass(frozen=True)
class Outcome:
    """What became of each row of a frame; boolean arrays in row order.

    `right` and `counted` follow the coding of NOT_ATTEMPTED: `error` and `separate` count it as not right,
    `excluded` drops it. `unscored` leaves out `no_candidate`: what could not be asked did not fail.
    """

    right: BoolArray
    counted: BoolArray
    unscored: BoolArray


def outcome(frame: pd.DataFrame, coding: NotAttempted) -> Outcome:
    """Read verdicts against truth."""
    verdict, truth = values(frame, "verdict"), values(frame, "truth")
    scored = np.asarray(frame["verdict"].notna(), dtype=bool)
    counted = scored & (verdict != "NOT_ATTEMPTED") if coding is NotAttempted.excluded else scored
    return Outcome(
        right=counted & (verdict == truth),
        counted=counted,
        unscored=~scored & (values(frame, "reason") != Reason.NO_CANDIDATE.value),
    )


def values(frame: pd.DataFrame, column: str) -> npt.NDArray[np.object_]:
    """A column as an array that `==` compares elementwise."""
    return np.asarray(frame[column].to_numpy(dtype=object), dtype=object)


def in_cell(frame: pd.DataFrame, cell: str) -> BoolArray:
    """Rows of one cell (`so`) or, for one letter, of both cells with that reference (`s`)."""
    return np.asarray(frame["cell"].str.startswith(cell), dtype=bool)


@dataclass(frozen=True)
class Accuracy:
    """Accuracy under the original and the swapped reference (fractions) and their gap (points).

    ACC_a is the mean over items and candidates of 1[verdict = truth] for reference a, taken over the records that
    count. RPAG = ACC_o - ACC_s.
    """

    acc_o: Estimate
    acc_s: Estimate
    rpag: Estimate

    def named(self, suffix: str = "") -> dict[str, Estimate]:
        """The three figures under their published names."""
        return {f"acc_o{suffix}": self.acc_o, f"acc_s{suffix}": self.acc_s, f"rpag{suffix}": self.rpag}


@dataclass(frozen=True)
class Bounds:
    """The figures if every unscored judgment had gone against (`worst`) or in favour of (`best`) the judge.

    For an accuracy: all wrong, all right. For RPAG worst is the largest gap (all right under o, all wrong under s)
    and best the smallest, so that best <= RPAG <= worst.
    """

    worst: Accuracy
    best: Accuracy


def accuracy(
    frame: pd.DataFrame, coding: NotAttempted, level: float, resamples: int, seed: int, note: str = ""
) -> Accuracy:
    """All three from the same resamples of questions (paired cluster bootstrap); `n` counts records."""
    found = outcome(frame, coding)
    drawn = _draw(frame, found, found.counted, level, resamples, seed)
    n = {a: drawn[f"n_{a}"] for a in REFERENCES}
    acc = {a: ratio(drawn[f"right_{a}"], n[a]) for a in REFERENCES}
    return _three(drawn, acc, acc["o"], n, note)


def bounds(frame: pd.DataFrame, coding: NotAttempted, level: float, resamples: int, seed: int) -> Bounds:
    """Bounds for unscored records, each with its interval; `n` counts the unscored as well."""
    found = outcome(frame, coding)
    drawn = _draw(frame, found, found.counted | found.unscored, level, resamples, seed)
    n = {a: drawn[f"n_{a}"] + drawn[f"unscored_{a}"] for a in REFERENCES}
    least = {a: ratio(drawn[f"right_{a}"], n[a]) for a in REFERENCES}
    most = {a: ratio(drawn[f"right_{a}"] + drawn[f"unscored_{a}"], n[a]) for a in REFERENCES}
    return Bounds(
        worst=_three(drawn, least, most["o"], n, "unscored counted against the judge"),
        best=_three(drawn, most, least["o"], n, "unscored counted in favour of the judge"),
    )


def _draw(frame: pd.DataFrame, found: Outcome, kept: BoolArray, level: float, resamples: int, seed: int) -> Resampled:
    # Questions without a kept record would thin the resamples, so they are left out before drawing.
    columns: dict[str, BoolArray] = {}
    for a in REFERENCES:
        here = in_cell(frame, a)
        columns |= {
            f"right_{a}": (here & found.right)[kept],
            f"n_{a}": (here & found.counted)[kept],
            f"unscored_{a}": (here & found.unscored)[kept],
        }
    return resample(values(frame, "item_id")[kept], columns, level, resamples, seed)


def _three(
    drawn: Resampled, acc: Mapping[str, FloatArray], minuend: FloatArray, n: Mapping[str, FloatArray], note: str
) -> Accuracy:
    whole = n["o"] + n["s"]
    return Accuracy(
        acc_o=drawn.estimate(acc["o"], n["o"][0], note=note),
        acc_s=drawn.estimate(acc["s"], n["s"][0], note=note),
        rpag=drawn.estimate(100.0 * (minuend - acc["s"]), whole[0], span=POINTS, unit="points", note=note),
    )


def cell_accuracy(frame: pd.DataFrame, coding: NotAttempted, level: float) -> dict[str, Estimate]:
    """`acc_oo` to `acc_ss`: one record a question each, hence Wilson."""
    found = outcome(frame, coding)
    return {
        f"acc_{cell}": wilson(int((here & found.right).sum()), int((here & found.counted).sum()), level)
        for cell in CELLS
        for here in [in_cell(frame, cell)]
    }
