"""The share of right answers in a run as the judge sees it, and with what is known of the judge's errors taken off.

Invariant: errors are measured on other answers than those they are taken off; where people judged everything, on one
half of the questions for the other half.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from judgelab.metrics.accuracy import values
from judgelab.metrics.correction import corrected_share, prediction_powered, share
from judgelab.metrics.estimate import Estimate
from judgelab.metrics.sample import Sample
from judgelab.metrics.systems import measured

if TYPE_CHECKING:
    import pandas as pd


def corrected_rates(rows: pd.DataFrame, sample: Sample) -> dict[str, Estimate]:
    """`true_share` (of the answers with a verdict, those called True), `true_share_corrected` (Rogan-Gladen) and, where
    people judged a part alone, `true_share_ppi` (prediction-powered, of all answers).

    The correction is of the answers that people did not judge, by those that they did. Where they judged all, a seeded
    half of the questions gives the judge's errors for the other half, and the method says what people say of that.
    """
    judged = rows[rows["verdict_judged"].notna()]
    known = np.asarray(judged["human"].notna(), dtype=bool)
    labelled, rest = judged[known], judged[~known]
    out = {"true_share": sample.mean(judged, "verdict_judged")}
    if len(rest) or not len(labelled):
        note = "of the answers that people did not judge"
        out["true_share_corrected"] = _corrected(rest, labelled, sample, note)
    else:
        ids = np.unique(np.asarray(values(labelled, "group"), dtype=str))
        drawn = np.random.default_rng(sample.seed).permutation(ids)[: len(ids) // 2]
        here = np.isin(np.asarray(values(labelled, "group"), dtype=str), drawn)
        held_out = labelled[~here]
        people = float(np.mean([each is True for each in held_out["human"]]))
        note = f"errors measured on one half of the questions; of the other people call {people:.3f} right"
        out["true_share_corrected"] = _corrected(held_out, labelled[here], sample, note)
    if len(rest) and len(labelled):
        out["true_share_ppi"] = prediction_powered(
            labelled["verdict_judged"].to_numpy(dtype=float),
            labelled["human"].to_numpy(dtype=float),
            rest["verdict_judged"].to_numpy(dtype=float),
            sample.level,
            [*labelled["group"], *rest["group"]],
            sample.resamples,
            sample.seed,
        )
    return out


def _corrected(rows: pd.DataFrame, judged_by_people: pd.DataFrame, sample: Sample, note: str) -> Estimate:
    errors = measured(judged_by_people)
    said = share(rows["verdict_judged"].tolist(), values(rows, "group"))
    return corrected_share(said, errors.sensitivity, errors.specificity, sample.level, note)
