"""How a number is written, the same in every table, figure and page.

Invariant: fractions have three decimals and no percent sign, points carry their sign, and what does not exist is a
dash, never a zero.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from judgelab.metrics.estimate import Estimate

NONE = "–"


def number(value: float, unit: str) -> str:
    """A value in its unit: `0.875`, `+12.3` (points), `<0.001` (p), `12,000` (count)."""
    if not math.isfinite(value):
        return NONE
    match unit:
        case "points":
            # What rounds to zero has no sign: -0.04 is not a drop.
            return f"{value:+.1f}" if abs(value) >= 0.05 else "0.0"
        case "p":
            return "<0.001" if value < 0.001 else f"{value:.3f}"
        case "count":
            # A mean of counts keeps its decimals where they matter.
            return f"{value:,.0f}" if value == round(value) or abs(value) >= 100 else f"{value:,.2f}"
        case _:
            return f"{value:.3f}"


def value_of(estimate: Estimate) -> str:
    """The value alone."""
    return number(estimate.value, estimate.unit)


def interval_of(estimate: Estimate) -> str:
    """`[lo, hi]`, or a dash where there is none (p-values, undefined figures)."""
    if not (math.isfinite(estimate.lo) and math.isfinite(estimate.hi)):
        return NONE
    return f"[{number(estimate.lo, estimate.unit)}, {number(estimate.hi, estimate.unit)}]"


def whole_of(estimate: Estimate) -> str:
    """Value, interval and unit in one phrase."""
    unit = " points" if estimate.unit == "points" else ""
    interval = interval_of(estimate)
    return f"{value_of(estimate)}{unit}" + ("" if interval == NONE else f" {interval}")


def percent(part: float, whole: float) -> str:
    """A level or a share in running text: `95%`."""
    return f"{100 * part / whole:g}%" if whole else NONE


def seconds(value: float) -> str:
    """A duration: `4.2 s`, `3 min 20 s`, `2 h 5 min`."""
    if value < 60:
        return f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min"


def from_json(value: Mapping[str, Any]) -> Estimate:
    """An estimate as summary.json holds it, null read as undefined."""

    def read(each: float | None) -> float:
        return math.nan if each is None else float(each)

    lo, hi = value["ci"]
    return Estimate(read(value["value"]), read(lo), read(hi), int(value["n"]), value["method"], value["unit"])
