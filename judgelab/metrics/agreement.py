"""How far two columns of labels agree, beyond what their frequencies alone would bring about.

Invariant: every figure is over the label set that is passed in, so that it does not depend on which labels happen to
occur in a resample.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from judgelab.metrics.estimate import Estimate
from judgelab.metrics.intervals import FloatArray, ratio, resample


def agreement(
    items: Sequence[str],
    first: Sequence[str],
    second: Sequence[str],
    labels: Sequence[str],
    level: float,
    resamples: int,
    seed: int,
) -> Mapping[str, Estimate]:
    """`accuracy`, `kappa` (Cohen) and `macro_f1` of `second` against `first`, with cluster bootstrap over `items`.

    Macro-F1 is the mean over `labels` of F1 = 2 tp / (2 tp + fp + fn), a label that neither column uses left out.
    Kappa is undefined where both columns hold one and the same label throughout. `majority` is the accuracy of always
    saying the most frequent label of `first`. Raises ValueError for a label outside `labels`.
    """
    one, two = _codes(first, labels), _codes(second, labels)
    size = len(labels)
    columns = {f"{a} {b}": (one == a) & (two == b) for a in range(size) for b in range(size)}
    drawn = resample(list(items), columns, level, resamples, seed)
    table = np.stack([[drawn[f"{a} {b}"] for b in range(size)] for a in range(size)])
    n: FloatArray = table.sum(axis=(0, 1))
    rows, cols, hits = table.sum(axis=1), table.sum(axis=0), np.einsum("aan->an", table)
    observed = ratio(hits.sum(axis=0), n)
    expected = ratio((rows * cols).sum(axis=0), n * n)
    f1 = ratio(2.0 * hits, rows + cols)
    used = (rows + cols > 0).sum(axis=0).astype(float)
    modal = rows[int(np.argmax(rows[:, 0]))]
    return {
        "accuracy": drawn.estimate(observed, len(one)),
        "kappa": drawn.estimate(
            ratio(observed - expected, 1.0 - expected),
            len(one),
            span=(-1.0, 1.0),
            unit="kappa",
            why="both columns hold one label throughout" if len(one) else "no scored records",
        ),
        "macro_f1": drawn.estimate(ratio(np.nan_to_num(f1).sum(axis=0), used), len(one)),
        "majority": drawn.estimate(ratio(modal, n), len(one)),
    }


def _codes(column: Sequence[str], labels: Sequence[str]) -> npt.NDArray[np.int_]:
    index = {label: k for k, label in enumerate(labels)}
    if strange := sorted(set(column) - set(index)):
        raise ValueError(f"label {strange[0]!r} is none of {', '.join(labels)}")
    return np.asarray([index[label] for label in column], dtype=int)
