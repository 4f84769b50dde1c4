"""The tables of a SAGE run as CSV.

Invariant: every figure stands beside its interval and n.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from judgelab.metrics.binary import NAMES
from judgelab.metrics.estimate import Estimate
from judgelab.metrics.sage_figures import SageFigures
from judgelab.report.csv_text import as_csv


def csv_files(found: SageFigures) -> Mapping[str, str]:
    """File name -> content: judges, by_system, costs, calibration; a file without rows still has its header."""
    rates = ("human_rate", "judge_rate", "corrected")
    return {
        "judges.csv": as_csv(
            ("judge", *_heads(NAMES)),
            ((row.name, *_flat(row.agreement[name] for name in NAMES)) for row in found.judges),
        ),
        "by_system.csv": as_csv(
            ("system", "n", *_heads((*rates, *NAMES, "contains", "em", "f1"))),
            (
                (
                    row.system,
                    row.n,
                    *_flat(getattr(row, name) for name in rates),
                    *_flat(row.agreement[name] for name in NAMES),
                    *_flat([row.contains, row.em, row.f1]),
                )
                for row in found.by_system
            ),
        ),
        "costs.csv": as_csv(
            ("cell", "items", *_heads(("calls", "tokens", "cached_share", "seconds"))),
            (
                (row.cell, row.items, *_flat([row.calls, row.tokens, row.cached_share, row.seconds]))
                for row in found.costs
            ),
        ),
        "calibration.csv": as_csv(
            ("p_lo", "p_hi", "mean_p", *_heads(("right",))),
            ((b.lo, b.hi, b.mean_p, *_flat([b.correct])) for b in found.calibration.bins),
        ),
    }


def _heads(names: Iterable[str]) -> list[str]:
    return [f"{name}{part}" for name in names for part in ("", "_lo", "_hi", "_n")]


def _flat(estimates: Iterable[Estimate]) -> list[object]:
    return [part for each in estimates for part in (each.value, each.lo, each.hi, each.n)]
