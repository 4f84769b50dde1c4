"""What became of the judgments of a nuggets run, and of the nuggets themselves.

Invariant: whatever was asked for is counted once, as judged or under the reason why not.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from judgelab.frames.nuggets import CELLS
from judgelab.metrics.accuracy import values
from judgelab.metrics.estimate import Estimate
from judgelab.metrics.intervals import ratio, resample
from judgelab.metrics.rpag import Coverage
from judgelab.metrics.votes import Sampling

if TYPE_CHECKING:
    import pandas as pd


def made_shares(battles: pd.DataFrame, sampling: Sampling) -> dict[str, Estimate]:
    """`nuggets_per_battle`, `degenerate_share` of the creator's windows, `unscored_share` of judgments asked for."""
    asked = battles[[f"asked_{cell}" for cell in CELLS]].to_numpy(dtype=bool).sum(axis=1)
    failed = battles[[f"reason_{cell}" for cell in CELLS]].notna().to_numpy().sum(axis=1)
    scored = (battles["nuggets"].to_numpy(dtype=float) > 0).astype(float)
    columns: dict[str, Any] = {
        "asked": asked,
        "failed": failed,
        "scored": scored,
        "nuggets": battles["nuggets"].to_numpy(dtype=float),
        "windows": battles["windows"].to_numpy(dtype=float),
        "degenerate": battles["degenerate"].to_numpy(dtype=float),
    }
    drawn = resample(values(battles, "group"), columns, sampling.level, sampling.resamples, sampling.seed)
    n = int(scored.sum())
    return {
        "unscored_share": drawn.estimate(
            ratio(drawn["failed"], drawn["asked"]), int(asked.sum()), why="no battle", note="n counts judgments"
        ),
        "nuggets_per_battle": drawn.estimate(
            ratio(drawn["nuggets"], drawn["scored"]), n, span=None, unit="count", why="no battle with nuggets"
        ),
        "degenerate_share": drawn.estimate(
            ratio(drawn["degenerate"], drawn["windows"]),
            int(columns["windows"].sum()),
            why="no window of the creator",
            note="n counts windows",
        ),
    }


def coverage_of(battles: pd.DataFrame, labels: pd.DataFrame) -> Coverage:
    """Of the records: every judgment of a battle, and every plain answer."""
    plain = labels[~labels["item_id"].isin(battles["item_id"])].drop_duplicates("item_id")
    asked = int(battles[[f"asked_{cell}" for cell in CELLS]].to_numpy(dtype=bool).sum())
    reasons = [*values(plain, "reason"), *(why for cell in CELLS for why in values(battles, f"reason_{cell}"))]
    unscored = Counter(str(why) for why in reasons if why)
    records = asked + len(plain)
    return Coverage(
        items=len(battles) + len(plain),
        records=records,
        judged=records - unscored.total(),
        unscored=dict(sorted(unscored.items())),
    )
