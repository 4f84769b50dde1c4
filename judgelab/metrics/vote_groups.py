"""Where people and nuggets part: the same figures by class of question and by language.

Invariant: a question of several classes counts in each of them, one of none in no row; every battle has one language.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from judgelab.metrics.estimate import Estimate
from judgelab.metrics.intervals import FloatArray
from judgelab.metrics.votes import IntArray, Matrix, Sampling, count
from judgelab.settings.nuggets import BothBad

OTHERS = "others"
UNKNOWN = "unknown"
FEWEST = 0.029  # of all battles: rarer languages are pooled, as in the published tables


@dataclass(frozen=True)
class VoteGroup:
    """The figures of some battles, named as everywhere; `battles` have a vote and a prediction."""

    name: str
    battles: int
    matrix: Matrix
    figures: Mapping[str, Estimate]


def classes_of(ratings: Mapping[str, int], least: int) -> tuple[str, ...]:
    """The classes of a question: all attributes that share the highest rating, if that is `least` or more."""
    highest = max(ratings.values(), default=-1)
    return tuple(sorted(name for name, rating in ratings.items() if rating == highest)) if highest >= least else ()


def by_class(
    groups: npt.NDArray[np.object_],
    votes: IntArray,
    predicted: FloatArray,
    classes: Sequence[Sequence[str]],
    bothbad: BothBad,
    sampling: Sampling,
) -> tuple[VoteGroup, ...]:
    """One row a class that occurs, by name."""
    names = sorted({name for each in classes for name in each})
    return _rows(names, lambda name: [name in each for each in classes], groups, votes, predicted, bothbad, sampling)


def by_language(
    groups: npt.NDArray[np.object_],
    votes: IntArray,
    predicted: FloatArray,
    languages: Sequence[str | None],
    bothbad: BothBad,
    sampling: Sampling,
) -> tuple[VoteGroup, ...]:
    """One row a language, the most frequent first; those with less than `FEWEST` of the battles are `others`, those of
    no known language `unknown`."""
    told = [language or UNKNOWN for language in languages]
    sizes = Counter(told)
    pooled = [each if each == UNKNOWN or sizes[each] >= FEWEST * len(told) else OTHERS for each in told]
    left = Counter(pooled)
    names = sorted(left, key=lambda name: (name == UNKNOWN, name == OTHERS, -left[name], name))
    return _rows(names, lambda name: [each == name for each in pooled], groups, votes, predicted, bothbad, sampling)


def _rows(
    names: Sequence[str],
    within: Callable[[str], list[bool]],
    groups: npt.NDArray[np.object_],
    votes: IntArray,
    predicted: FloatArray,
    bothbad: BothBad,
    sampling: Sampling,
) -> tuple[VoteGroup, ...]:
    out = []
    counted = (votes >= 0) & predicted.any(axis=1)
    for name in names:
        here = np.asarray(within(name), dtype=bool) & counted
        if here.any():
            found = count(groups[here], votes[here], {name: predicted[here]}, sampling)
            out.append(VoteGroup(name, int(here.sum()), found.matrix(name), found.figures(name, bothbad)))
    return tuple(out)
