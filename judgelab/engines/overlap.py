"""Word overlap instead of reading: the trivial assigner of nuggets, the yardstick that a judge has to beat.

Invariant: the same words give the same answer; nothing but letters, digits and a short list of function words is known.
"""

from __future__ import annotations

import re
from functools import lru_cache

SHARE = 0.6  # of the statement's content words, from which on a text is said to hold it
_WORD = re.compile(r"(?:[^\W_]|[%$.])+")  # amounts keep their sign and decimal point
_FUNCTION_WORDS = frozenset(
    {
        *("a", "an", "the", "of", "to", "in", "on", "for", "and", "or", "is", "are", "was", "were", "be", "been", "by"),
        *("with", "as", "at", "from", "that", "this", "it", "its", "their", "his", "her", "they", "he", "she", "which"),
        *("who", "whom", "has", "have", "had", "not", "but", "also", "can", "may", "will"),
    }
)
_ENDINGS = ("ing", "ed", "es", "s")


def holds(text: str, statement: str) -> bool:
    """Whether enough of the statement's content words occur in the text."""
    wanted = frozenset(_stem(w) for w in _words(statement) if len(w) >= 2 and w not in _FUNCTION_WORDS)
    return len(wanted & _stems(text)) >= SHARE * len(wanted) - 1e-12 if wanted else False


@lru_cache(maxsize=1024)
def _stems(text: str) -> frozenset[str]:
    return frozenset(map(_stem, _words(text)))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word.removesuffix(ending)
    return word
