"""Comparing names and short answers as text, the same way everywhere.

Invariant: an answer that is not empty never normalises to nothing, so nothing matches it by accident.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

_ARTICLES = frozenset({"a", "an", "the"})
_APOSTROPHES = frozenset("'’‘ʼ´`")
_INITIAL = re.compile(r"(?<![^\W_])([^\W\d_])\.(?:(?=[^\W\d_](?![^\W_]))|\s(?=[^\W\d_]\.))")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
# Scripts written without spaces (or, as Hangul, with particles glued on): each character is a token of its own.
_UNSPACED = re.compile(
    "([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0002fa1f])"
)
_ABBREVIATION = re.compile(
    "mr|mrs|ms|dr|st|jr|sr|vs|etc|no|inc|ltd|co|corp|mt|ft|gen|col|sgt|lt|capt|prof|rev|hon|gov|sen|rep|pres|"
    "jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec|ca|approx|vol|ch|fig|op|est|dept|bros"
)
_STARTER = re.compile("he|she|it|they|we|you|i|this|that|these|those|there|the|in|but|however|his|her|their")
_END = re.compile(r"[.!?…]+[\"'”’)\]]*\s+|[。！？]+[\"'”’」』)\]]*\s*")
_LAST_WORD = re.compile(r"([^\s\"'“‘(\[]+)$")


def normalise(text: str) -> str:
    """NFC, case folded, without articles and punctuation, spaces collapsed (the SQuAD rule, for any script).

    Differs from SQuAD where that one merges answers: a decimal point stays (`3.5` is not `35`) and other
    punctuation separates words (`Jean-Paul` is `jean paul`), but apostrophes and the full stops of initials only
    vanish (`U.S.` is `us`, `J. R. R.` is `jrr`). Text of nothing but articles and punctuation (`The The`, `!!!`) is
    only folded and collapsed.
    """
    folded = _fold(text)
    words = [word for word in _words(folded) if word not in _ARTICLES]
    return " ".join(words) or " ".join(folded.split())


def tokens(text: str) -> tuple[str, ...]:
    """The tokens of the normalised text; scripts written without spaces give one token a character."""
    return tuple(_UNSPACED.sub(r" \1 ", normalise(text)).split())


def contains(text: str, name: str) -> bool:
    """Whether `name` occurs in `text`, normalised and on token boundaries; an empty name occurs nowhere."""
    if not name.strip():
        return False
    if not any(word not in _ARTICLES for word in _words(_fold(name))):
        # Only the exact spelling tells the blood group A from an article.
        return re.search(rf"(?<!\w){re.escape(name.strip())}(?!\w)", text) is not None
    return find(tokens(text), tokens(name)) >= 0


def asserts(sentence: str, names: Iterable[str]) -> bool:
    """Whether a sentence contains any of `names`."""
    return any(contains(sentence, name) for name in names)


def same(one: str, other: str) -> bool:
    """Whether two answers are equal once normalised; empty text equals nothing."""
    return bool(one.strip()) and normalise(one) == normalise(other)


def overlaps(one: str, other: str) -> bool:
    """Whether either text equals or holds the other as a plain substring, normalised or merely case folded.

    Stricter than `contains`: `5` overlaps `1985`.
    """
    for a, b in ((normalise(one), normalise(other)), (_fold(one).strip(), _fold(other).strip())):
        if a and b and (a in b or b in a):
            return True
    return False


def find(sequence: tuple[str, ...], part: tuple[str, ...]) -> int:
    """Index of the first occurrence of `part` in `sequence`, or -1; an empty part occurs nowhere."""
    if part:
        for start in range(len(sequence) - len(part) + 1):
            if sequence[start : start + len(part)] == part:
                return start
    return -1


def sentences(text: str) -> int:
    """How many sentences a text holds; 0 if it is blank. Initials and abbreviations end none, a line break ends one."""
    count = 0
    for line in text.splitlines():
        line = line.strip()
        if not line:
            continue
        count += 1
        for end in _END.finditer(line):
            rest = line[end.end() :]
            if rest and _ends(line[: end.start()], end.group(), rest):
                count += 1
    return count


def split_sentences(text: str) -> list[str]:
    """The sentences of a text, in order, each on one line; the same ends as `sentences` counts, in any script."""
    found = []
    for line in text.splitlines():
        start = 0
        for end in _END.finditer(line):
            rest = line[end.end() :]
            if rest and _ends(line[: end.start()], end.group(), rest):
                found.append(line[start : end.end()].strip())
                start = end.end()
        found.append(line[start:].strip())
    return [each for each in found if each]


def _ends(before: str, mark: str, rest: str) -> bool:
    """Whether `mark` between two stretches of one line ends a sentence."""
    start = rest.lstrip("\"'“‘([")
    if not start or start[0].islower():
        return False
    if mark[0] != "." or mark.startswith(".."):
        return True
    found = _LAST_WORD.search(before)
    word = found.group(1).casefold() if found else ""
    abbreviated = _ABBREVIATION.fullmatch(word) and mark.strip() == "."
    if abbreviated or "." in word or (len(word) == 1 and word.isalpha()):
        following = re.match(r"\w+", start)
        return following is not None and _STARTER.fullmatch(following.group().casefold()) is not None
    return True


def _fold(text: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def _words(folded: str) -> list[str]:
    out: list[str] = []
    position = 0
    for number in _NUMBER.finditer(folded):
        out.append(_plain(folded[position : number.start()]))
        digits = number.group()
        # 1,163 is a thousand and more; 2018,2019 are two years.
        grouped = re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", digits)
        out.append(digits.replace(",", "") if grouped else digits.replace(",", " "))
        position = number.end()
    out.append(_plain(folded[position:]))
    return "".join(out).split()


def _plain(text: str) -> str:
    kept = []
    for char in _INITIAL.sub(r"\1", text):
        category = unicodedata.category(char)
        if char not in _APOSTROPHES and category != "Cf":
            kept.append(" " if category[0] in "PSZC" else char)
    return "".join(kept)
