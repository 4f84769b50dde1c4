"""The one way to tell that two files ask the same question.

Invariant: a key is made of the question's text alone, so it is the same in every file and every process.
"""

from __future__ import annotations

from judgelab.records import content_hash
from judgelab.text import normalise


def question_key(question: str) -> str:
    """The question normalised: what questions of different files are joined by."""
    return normalise(question)


def question_group(question: str) -> str:
    """A short name for what is drawn together when questions are resampled: the hash of the key."""
    return content_hash(question_key(question))
