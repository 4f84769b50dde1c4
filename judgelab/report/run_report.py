"""Everything that a report of one run shows, in one value.

Invariant: a report is a function of this value alone: it asks no model, no network and no clock.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judgelab.metrics.estimate import Estimate
from judgelab.records import Record

if TYPE_CHECKING:
    import pandas as pd

    from judgelab.metrics.figures import Figures


@dataclass(frozen=True)
class RunReport:
    """One run: `summary` is the content of summary.json, `manifest` that of manifest.json, `frame` one row a record.

    `path` is the run directory; of it only the last name, the run's hash, is ever shown.
    """

    path: Path
    summary: Mapping[str, Any]
    manifest: Mapping[str, Any]
    records: tuple[Record, ...]
    frame: pd.DataFrame
    figures: Figures

    @property
    def run_hash(self) -> str:
        """The name of the run's science: 12 hex digits."""
        return self.path.name

    @property
    def anchor(self) -> str:
        """The id of the run's section in a page."""
        return f"run-{self.run_hash}"

    @property
    def metrics(self) -> Mapping[str, Estimate]:
        """Every figure of the run by name."""
        return self.figures.metrics

    @property
    def judge(self) -> str:
        """Name of the judge."""
        return str(self.summary["judge"])

    @property
    def setting(self) -> Mapping[str, str]:
        """What a reader needs to know of how the judge was asked."""
        return {key: str(value) for key, value in self.summary["setting"].items()}

    @property
    def level(self) -> float:
        """Level of every interval."""
        return float(self.summary["analysis"]["level"])
