"""Results as engines give them, made fit for a prompt; queries as models write them, made fit for an engine.

Invariant: a result that says nothing is none, and no text holds a character that breaks a prompt or a file.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from dataclasses import replace

from judgelab.search.base import Result

_UNFIT = re.compile("[\x00-\x08\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")


def hit(title: object, text: object, url: object, date: object = None) -> Result:
    """A result whose rank is not known yet; TypeError where a field is neither a text nor null."""
    return Result(0, _line(title), _line(text), _line(url), _line(date) or None)


def ranked(hits: Iterable[Result], k: int) -> tuple[Result, ...]:
    """The first `k` that have text, numbered from 1."""
    telling = [each for each in hits if each.text]
    return tuple(replace(each, rank=rank) for rank, each in enumerate(telling[:k], 1))


def clamp(query: str, chars: int, words: int | None = None) -> str:
    """The query on one line, cut between words to what an engine takes; a single word too long is cut within."""
    kept = _UNFIT.sub(" ", query).split()[:words]
    while len(kept) > 1 and len(" ".join(kept)) > chars:
        kept.pop()
    return " ".join(kept)[:chars]


def _line(value: object) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise TypeError("a text is expected")
    return " ".join(_UNFIT.sub(" ", html.unescape(value)).split())
