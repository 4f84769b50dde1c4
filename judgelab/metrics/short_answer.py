"""Comparing an answer with gold answers as strings: EM, token F1 and Contains, the yardsticks a judge has to beat.

Invariant: normalisation is that of SQuAD's official script (lower case, ASCII punctuation and English articles removed,
spaces collapsed), so that published figures come out; `judgelab.text.normalise` is for matching names and differs.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Iterable

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def squad_normalise(text: str) -> str:
    """The text as SQuAD compares it (Rajpurkar et al. 2016)."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def exact_match(answer: str, golds: Iterable[str]) -> bool:
    """Whether the answer equals any gold answer, normalised."""
    found = squad_normalise(answer)
    return any(found == squad_normalise(gold) for gold in golds)


def token_f1(answer: str, golds: Iterable[str]) -> float:
    """Harmonic mean of token precision and recall against the best gold answer; 0 without a shared token."""
    found = squad_normalise(answer).split()
    best = 0.0
    for gold in golds:
        wanted = squad_normalise(gold).split()
        shared = sum((Counter(found) & Counter(wanted)).values())
        if shared:
            best = max(best, 2.0 * shared / (len(found) + len(wanted)))
    return best


def contains_gold(answer: str, golds: Iterable[str]) -> bool:
    """Whether any gold answer, normalised, is a substring of the answer; one that normalises to nothing is none."""
    found = squad_normalise(answer)
    return any(each in found for gold in golds if (each := squad_normalise(gold)))
