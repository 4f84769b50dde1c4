"""Resampled counts of records that each lie in one place of many: a threshold's bin, a value's rank.

Invariant: counts are whole numbers, so their sums are exact in any order; the cost is a pass over the records for each
resample, whatever the number of places.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from judgelab.metrics.intervals import FloatArray, IndexArray, draws


def clusters_of(groups: npt.NDArray[np.object_]) -> int:
    """How many questions there are to draw."""
    return len(np.unique(np.asarray(groups, dtype=str)))


def place_counts(
    groups: npt.NDArray[np.object_], place: IndexArray, places: int, resamples: int, seed: int
) -> Iterator[FloatArray]:
    """Records by place, in chunks of shape (places, some): first the sample alone, then resamples of whole `groups`."""
    from scipy.sparse import csr_array

    yield np.bincount(place, minlength=places).astype(float)[:, None]
    ids, cluster = np.unique(np.asarray(groups, dtype=str), return_inverse=True)
    if len(ids):
        by_place = csr_array((np.ones(len(place)), (place, cluster)), shape=(places, len(ids)))
        for weights in draws(len(ids), resamples, seed):
            yield by_place @ np.ascontiguousarray(weights.T)
