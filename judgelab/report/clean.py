"""Text of models and data made fit to be shown.

Invariant: what leaves here can be encoded as UTF-8, is legal in XML and moves no cursor; nothing is dropped
silently: each bad character becomes the replacement character.
"""

from __future__ import annotations

import re

# C0 and C1 controls but tab and line feed, lone surrogates, non-characters, and the marks that reverse the direction
# of everything after them.
_BAD = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff\u202a-\u202e\u2066-\u2069]")


def clean(text: str) -> str:
    """Every character that a page or a CSV file cannot hold replaced by U+FFFD; line breaks unified."""
    return _BAD.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n"))


def printable(text: str) -> str:
    """`clean`, on one line."""
    return re.sub(r"[\t\n\u2028\u2029]+", " ", clean(text))


def shortened(text: str, length: int) -> str:
    """`printable`, cut to `length` characters with an ellipsis."""
    line = printable(text)
    return line if len(line) <= length else f"{line[: length - 1].rstrip()}…"
