"""What the figures of every protocol have in common, so that one summary and one page serve all.

Invariant: metrics are flat names, and a baseline uses the names of the metrics that it stands beside.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from judgelab.metrics.estimate import Estimate


class Figures(Protocol):
    """The result of a run under one analysis."""

    @property
    def metrics(self) -> Mapping[str, Estimate]:
        """Every figure by name."""
        ...

    @property
    def baselines(self) -> Mapping[str, Mapping[str, Estimate]]:
        """Trivial judge -> figure name -> what it gets on the same records."""
        ...
