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
    rows = table.sum(axis=1)
    found = measures(table)
    modal = rows[int(np.argmax(rows[:, 0]))]
    return {
        "accuracy": drawn.estimate(found["accuracy"], len(one)),
        "kappa": drawn.estimate(
            found["kappa"],
            len(one),
            span=(-1.0, 1.0),
            unit="kappa",
            why="both columns hold one label throughout" if len(one) else "no scored records",
        ),
        "macro_f1": drawn.estimate(found["macro_f1"], len(one)),
        "majority": drawn.estimate(ratio(modal, n), len(one)),
    }


def measures(table: FloatArray) -> dict[str, FloatArray]:
    """Agreement of two raters from counts `table[a, b, ...]` of first label a and second label b, elementwise over the
    other axes: `accuracy`, `kappa` (Cohen 1960), `kappa_linear` and `kappa_quadratic` (Cohen 1968; labels in their
    order, distance |a - b| or its square), `ac1` (Gwet 2008) and `macro_f1`.

    Kappa is NaN where both raters use one and the same label throughout, all are where there is nothing rated. A label
    that neither rater uses is left out of macro-F1, and counts among the labels of AC1.
    """
    size = len(table)
    n: FloatArray = table.sum(axis=(0, 1))
    rows, cols = table.sum(axis=1), table.sum(axis=0)
    hits = np.stack([table[k, k] for k in range(size)])
    observed = ratio(hits.sum(axis=0), n)
    expected = ratio((rows * cols).sum(axis=0), n * n)
    mean = ratio(rows + cols, np.broadcast_to(2.0 * n, rows.shape))
    chance = (mean * (1.0 - mean)).sum(axis=0) / max(size - 1, 1)
    f1 = ratio(2.0 * hits, rows + cols)
    used = (rows + cols > 0).sum(axis=0).astype(float)
    distance = np.abs(np.subtract.outer(np.arange(size), np.arange(size))).astype(float)
    out = {
        "accuracy": observed,
        "kappa": ratio(observed - expected, 1.0 - expected),
        "ac1": ratio(observed - chance, 1.0 - chance),
        "macro_f1": ratio(np.nan_to_num(f1).sum(axis=0), used),
    }
    for name, weights in (("kappa_linear", distance), ("kappa_quadratic", distance**2)):
        apart = np.tensordot(weights, table, axes=([0, 1], [0, 1]))
        by_chance = ratio(np.einsum("ab,a...,b...->...", weights, rows, cols), n)
        out[name] = 1.0 - ratio(apart, by_chance)
    return out


def _codes(column: Sequence[str], labels: Sequence[str]) -> npt.NDArray[np.int_]:
    index = {label: k for k, label in enumerate(labels)}
    if strange := sorted(set(column) - set(index)):
        raise ValueError(f"label {strange[0]!r} is none of {', '.join(labels)}")
    return np.asarray([index[label] for label in column], dtype=int)
