"""The one parser of free-text verdicts, strict so that prose is never taken for a verdict.

Invariant: a label comes only from a line that is a label and nothing else: the text at the last `Final:` mark, or,
where there is no mark, the last line. Anything else is no verdict.
"""

from __future__ import annotations

import re

from judgelab.engines.base import Choice

_THOUGHT = re.compile(r"<(think|thinking)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_OPEN = re.compile(r"<think(?:ing)?>.*\Z", re.DOTALL | re.IGNORECASE)
_CLOSE = re.compile(r"\A.*</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_MARK = re.compile(r"^[\s*_#>`\-]*final[*_`]*\s*:(?P<rest>.*)$", re.IGNORECASE)
_DECORATION = " \t*_`\"'“”‘’()[]{}<>.!"


def parse_label(text: str, choice: Choice) -> str | None:
    """The label that a completion ends in, or None.

    A label is its letter, its meaning in any case (`NOT ATTEMPTED` as `NOT_ATTEMPTED`), or both if they agree
    (`A: CORRECT`), in any quotes, brackets or emphasis and with a full stop. Of several `Final:` marks the last
    counts, whether or not it holds a label. Thoughts in `<think>` tags are left out first; one that never ends
    takes everything after it.
    """
    lines = [line.strip() for line in _without_thoughts(text).splitlines() if line.strip()]
    for i in range(len(lines) - 1, -1, -1):
        if (mark := _MARK.match(lines[i])) is not None:
            rest = mark["rest"].strip(_DECORATION)
            if not rest and i + 1 < len(lines):
                rest = lines[i + 1]
            return _label(rest, choice)
    return _label(lines[-1], choice) if lines else None


def _without_thoughts(text: str) -> str:
    return _OPEN.sub("", _CLOSE.sub("", _THOUGHT.sub("", text)))


def _label(expression: str, choice: Choice) -> str | None:
    bare = expression.strip(_DECORATION)
    for label, meaning in zip(choice.labels, choice.meanings, strict=True):
        words = r"[\s_]+".join(map(re.escape, meaning.split("_")))
        both = rf"{re.escape(label)}(?:[\s:.,)\]*_`=\-–—]+\(?(?i:{words}))?"
        if re.fullmatch(rf"{both}|(?i:{words})", bare):
            return label
    return None
