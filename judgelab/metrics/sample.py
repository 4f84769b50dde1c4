"""How every figure of a run with one row an answer is drawn: the level, the resamples and the seed of one analysis.

Invariant: whole questions are drawn, since answers to one question stand or fall together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from judgelab.metrics.accuracy import values
from judgelab.metrics.binary import binary_agreement
from judgelab.metrics.estimate import Estimate
from judgelab.metrics.intervals import ratio, resample

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Sample:
    """The analysis, and how to draw from a frame with a column `group` (the question)."""

    level: float
    resamples: int
    seed: int

    def agreement(self, rows: pd.DataFrame, column: str, note: str) -> dict[str, Estimate]:
        """`column` against the column `truth` (both True, False or None), over rows that have both."""
        used = rows[rows["truth"].notna() & rows[column].notna()]
        return binary_agreement(
            used["group"].tolist(),
            used["truth"].tolist(),
            used[column].tolist(),
            self.level,
            self.resamples,
            self.seed,
            note,
        )

    def mean(self, rows: pd.DataFrame, column: str, whole: str | None = None, **told: Any) -> Estimate:
        """The mean of a column, or its total over that of `whole`; `told` goes to `Resampled.estimate`."""
        columns = {"x": rows[column].to_numpy(dtype=float)}
        columns["n"] = rows[whole].to_numpy(dtype=float) if whole else np.ones(len(rows))
        drawn = resample(values(rows, "group"), columns, self.level, self.resamples, self.seed)
        return drawn.estimate(ratio(drawn["x"], drawn["n"]), len(rows), **told)

    def count(self, rows: pd.DataFrame, column: str) -> Estimate:
        """The mean of a column that counts or times something."""
        return self.mean(rows, column, span=None, unit="count", why="no answer", note="mean an answer")
