"""The systems whose answers were judged: how often each is right, by people, by the judge, and by strings.

Invariant: a system's rate is corrected by errors that the judge made on other systems' answers, never on its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from judgelab.metrics.accuracy import values
from judgelab.metrics.correction import Share, corrected_share, share
from judgelab.metrics.estimate import Estimate
from judgelab.metrics.sample import Sample
from judgelab.metrics.yardsticks import HALF, column

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class SystemRow:
    """One system whose answers were judged. `human_rate` and `judge_rate` are shares called True; `corrected` takes off
    the judge's errors as measured on the other systems; `agreement` is the judge's on this system's answers;
    `contains`, `em` and `f1` (.5 or more) are the accuracies of string comparison on them."""

    system: str
    n: int
    human_rate: Estimate
    judge_rate: Estimate
    corrected: Estimate
    agreement: Mapping[str, Estimate]
    contains: Estimate
    em: Estimate
    f1: Estimate


def systems(rows: pd.DataFrame, sample: Sample, note: str) -> tuple[SystemRow, ...]:
    """One row a system, by name. Frame: that of `frames.sage.trials` with a column `truth`.

    `corrected` is right where the judge errs alike on all systems, which long and short answers may already break: it
    belongs beside `human_rate`, never in its place.
    """
    halved = column([None if np.isnan(f) else bool(f >= HALF) for f in rows["f1"]])
    rows = rows.assign(halved=halved)
    out = []
    for system in sorted(set(rows["system"])):
        own = np.asarray(values(rows, "system") == system, dtype=bool)
        here, there = rows[own], rows[~own]
        judged = here[here["verdict_judged"].notna()]
        people = here[here["human"].notna()]
        errors = measured(there)
        out.append(
            SystemRow(
                system=system or "unnamed",
                n=len(here),
                human_rate=sample.mean(people, "human", why="people judged none of its answers"),
                judge_rate=sample.mean(judged, "verdict_judged"),
                corrected=corrected_share(
                    share(judged["verdict_judged"].tolist(), values(judged, "group")),
                    errors.sensitivity,
                    errors.specificity,
                    sample.level,
                    "errors measured on the other systems, as if alike on this one",
                ),
                agreement=sample.agreement(here, "verdict_judged", note),
                contains=sample.agreement(here, "contains", note)["accuracy"],
                em=sample.agreement(here, "em", note)["accuracy"],
                f1=sample.agreement(here, "halved", note)["accuracy"],
            )
        )
    return tuple(out)


@dataclass(frozen=True)
class Errors:
    """How often the judge calls True what people call right, and False what they call wrong."""

    sensitivity: Share
    specificity: Share


def measured(rows: pd.DataFrame) -> Errors:
    """The judge's errors on answers that it and people judged."""
    human, verdict = values(rows, "human"), values(rows, "verdict_judged")
    known = np.asarray(rows["verdict_judged"].notna(), dtype=bool)
    groups = values(rows, "group")
    right = known & np.asarray([each is True for each in human], dtype=bool)
    wrong = known & np.asarray([each is False for each in human], dtype=bool)
    return Errors(
        sensitivity=share([each is True for each in verdict[right]], groups[right]),
        specificity=share([each is False for each in verdict[wrong]], groups[wrong]),
    )
