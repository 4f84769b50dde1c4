"""Judges of single answers that read nothing, and string comparison in place of a judge.

Invariant: a yardstick is measured on exactly the answers on which the judge is: those with its verdict and a truth.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from judgelab.metrics.binary import Counts
from judgelab.metrics.binary import estimate as estimate_of
from judgelab.metrics.estimate import Estimate
from judgelab.metrics.intervals import Resampled
from judgelab.metrics.sample import Sample

if TYPE_CHECKING:
    import pandas as pd

HALF = 0.5  # token F1 from which on an answer counts as right


def yardsticks(rows: pd.DataFrame, sample: Sample, note: str) -> dict[str, Mapping[str, Estimate]]:
    """`always_true`, `always_false`, `majority` (the more frequent truth, True if equal), `random`, `em`, `f1` (of .5
    or more) and `contains`, each with the figures of `binary_agreement`.

    Frame: `truth`, `verdict_judged`, `group`, `em`, `f1` (NaN without gold answers), `contains`.
    """
    used = rows[rows["truth"].notna() & rows["verdict_judged"].notna()]
    truth = np.asarray(used["truth"].tolist(), dtype=bool)
    strings: dict[str, Sequence[object]] = {
        "em": used["em"].tolist(),
        "f1": [None if np.isnan(f) else bool(f >= HALF) for f in used["f1"]],
        "contains": used["contains"].tolist(),
    }
    always = {
        verdict: sample.agreement(used.assign(said=column([verdict] * len(used))), "said", note)
        for verdict in (True, False)
    }
    return {
        "always_true": always[True],
        "always_false": always[False],
        "majority": always[bool(2 * truth.sum() >= len(truth))],
        "random": _coin(truth, always[True]["base_rate"], sample, note),
        **{name: sample.agreement(used.assign(said=column(said)), "said", note) for name, said in strings.items()},
    }


def column(values: Sequence[object]) -> npt.NDArray[np.object_]:
    """A column that keeps True, False and None as they are."""
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


def _coin(truth: npt.NDArray[np.bool_], base_rate: Estimate, sample: Sample, note: str) -> dict[str, Estimate]:
    """What a fair coin gets: the figures of its expected counts, and the range in which coins fall at the level."""
    right, wrong = int(truth.sum()), int((~truth).sum())
    rng = np.random.default_rng(sample.seed)
    tt = np.concatenate([[right / 2.0], rng.binomial(right, 0.5, sample.resamples)])
    ft = np.concatenate([[wrong / 2.0], rng.binomial(wrong, 0.5, sample.resamples)])
    found = Counts(tt=tt, tf=right - tt, ft=ft, ff=wrong - ft).figures()
    drawn = Resampled({}, len(truth), sample.level, sample.resamples, sample.seed)
    told = f"expected counts of a fair coin; central {sample.level:g} range of {sample.resamples} coins"
    out = {}
    for name, each in found.items():
        e = estimate_of(drawn, name, each, len(truth))
        out[name] = e if np.isnan(e.value) else Estimate(e.value, e.lo, e.hi, e.n, f"{told}; {note}", e.unit)
    return {**out, "base_rate": base_rate}
