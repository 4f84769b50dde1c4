"""A figure as it may be printed: a value that knows its interval, its n, its method and its unit.

Invariant: no figure leaves the metrics without all five; an undefined one is NaN with a method that says why.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Estimate:
    """`value` with its interval [lo, hi]; `n` counts what it was computed from (records, unless said otherwise).

    `unit` is `fraction` (0 to 1), `points` (percentage points), `p` (a p-value), `kappa` (-1 to 1) or `count`.
    """

    value: float
    lo: float
    hi: float
    n: int
    method: str
    unit: str = "fraction"
