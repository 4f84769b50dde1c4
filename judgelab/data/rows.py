"""Typed access to the fields of a row, and the one place where bad rows become the user's one line.

Invariant: text is NFC-normalised and trimmed, and nothing else is changed (`verbatim` changes nothing at all); a
field is as its loader declares it or its row is bad. A file with any bad row does not load: the first is named and
the rest are counted.
"""

from __future__ import annotations

import json
import math
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from judgelab.errors import UsageError
from judgelab.items import QAItem

T = TypeVar("T")
_FLAGS = {"true": True, "yes": True, "false": False, "no": False}


class BadFieldError(Exception):
    """One field of a row is not what its loader declares."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field}: {reason}")
        self.field = field
        self.reason = reason


@dataclass(frozen=True)
class BadRow:
    """A row that cannot be used: `where` is its line, `field` what of it is wrong."""

    where: str
    field: str
    reason: str


@dataclass(frozen=True)
class Dropped:
    """A sound row that is left out on purpose."""

    reason: str


@dataclass(frozen=True)
class Loaded(Generic[T]):
    """What a file yielded: the values in file order, and how many rows were left out by reason."""

    values: tuple[T, ...]
    dropped: Mapping[str, int]


@dataclass(frozen=True)
class Row:
    """One record of a file; `where` is its line. Every accessor raises BadFieldError."""

    where: str
    values: Mapping[str, object]

    def text(self, name: str) -> str:
        """A text that must be there."""
        value = self.values.get(name)
        if value is None:
            raise BadFieldError(name, "missing")
        return clean(name, value)

    def optional_text(self, name: str) -> str | None:
        """A text, or None where it is absent, null or blank."""
        value = self.values.get(name)
        return None if _absent(value) else clean(name, value)

    def reply(self, name: str) -> str:
        """What a system answered: a text that must be there but may be blank, which is then empty."""
        value = self.values.get(name)
        return "" if isinstance(value, str) and not _visible(value) else self.text(name)

    def verbatim(self, name: str) -> str:
        """A text to the letter, which may be empty: for formats that are written back."""
        value = self.values.get(name)
        if not isinstance(value, str):
            raise BadFieldError(name, "missing" if value is None else f"a text is expected, not {_kind(value)}")
        if _halved(value):
            raise BadFieldError(name, f"{ascii(value)[:60]} holds half of a surrogate pair")
        return value

    def optional_flag(self, name: str) -> bool | None:
        """True or false (or a text that says so, in any case), or None where it is absent, null or blank."""
        value = self.values.get(name)
        return None if _absent(value) else flag(name, value)

    def choice(self, name: str, choices: Mapping[str, T]) -> T:
        """What `choices` gives for a text that must be one of its keys."""
        value = self.text(name)
        if value not in choices:
            raise BadFieldError(name, f"{_short(value)} is none of {', '.join(choices)}")
        return choices[value]

    def texts(self, name: str) -> tuple[str, ...]:
        """At least one text, repeats left out.

        A list of texts; or one text, which is read as a JSON list where it begins with `[` and is a single
        entry otherwise.
        """
        if self.values.get(name) is None:
            raise BadFieldError(name, "missing")
        entries = self._entries(name)
        if not entries:
            raise BadFieldError(name, "the list is empty")
        return entries

    def optional_texts(self, name: str) -> tuple[str, ...]:
        """As `texts`, or none where the field is absent, null, blank or an empty list."""
        return () if _absent(self.values.get(name)) else self._entries(name)

    def optional_number(self, name: str) -> float | None:
        """A finite number (or a text that spells one), or None where it is absent, null or blank."""
        value = self.values.get(name)
        if _absent(value):
            return None
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise BadFieldError(name, f"a number is expected, not {_kind(value)}")
        try:
            number = float(value)
        except (ValueError, OverflowError):
            raise BadFieldError(name, f"{_short(value)} is not a number") from None
        if not math.isfinite(number):
            raise BadFieldError(name, f"{_short(value)} is not a finite number")
        return number

    def popularity(self, name: str) -> float | None:
        """A number that is not negative, or None where there is none."""
        number = self.optional_number(name)
        if number is not None and number < 0:
            raise BadFieldError(name, f"{number:g} is negative")
        return number

    def identity(self, name: str) -> str | None:
        """An id, a text or a whole number, or None where there is none."""
        value = self.values.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        return self.optional_text(name)

    def children(self, name: str) -> tuple[Row, ...]:
        """The objects of a list, as rows of the same place."""
        value = self.values.get(name)
        if not isinstance(value, list):
            raise BadFieldError(name, "missing" if value is None else f"a list is expected, not {_kind(value)}")
        return tuple(Row(self.where, {f"{name}[{i}]": entry}).child(f"{name}[{i}]") for i, entry in enumerate(value))

    def only(self, known: Collection[str]) -> None:
        """Refuse a field that is not among `known`: one that is misspelt must not be passed over."""
        unknown = next((name for name in self.values if name not in known), None)
        if unknown is not None:
            raise BadFieldError(unknown[:60], f"unknown field; the known ones are {', '.join(known)}")

    def _entries(self, name: str) -> tuple[str, ...]:
        value = self.values.get(name)
        if isinstance(value, str) and not value.lstrip().startswith("["):
            return (clean(name, value),)
        if not isinstance(value, str | list):
            raise BadFieldError(name, f"a list of texts is expected, not {_kind(value)}")
        return tuple(dict.fromkeys(clean(f"{name}[{i}]", entry) for i, entry in enumerate(listed(name, value))))

    def child(self, name: str) -> Row:
        """The object in a field, as a row of the same place."""
        value = self.values.get(name)
        if not isinstance(value, dict):
            raise BadFieldError(name, "missing" if value is None else f"an object is expected, not {_kind(value)}")
        return Row(self.where, value)


def collect(
    path: Path,
    rows: Iterable[Row | BadRow],
    parse: Callable[[Row], T | Dropped],
    key: Callable[[Row, T], str],
    knob: str = "dataset.path",
) -> Loaded[T]:
    """Every row parsed, keys unique.

    Raises UsageError naming the first bad row and counting the others, or saying that nothing is left.
    """
    values: list[T] = []
    dropped: Counter[str] = Counter()
    bad: list[BadRow] = []
    seen: dict[str, str] = {}
    for row in rows:
        if isinstance(row, BadRow):
            bad.append(row)
            continue
        try:
            value = parse(row)
            if isinstance(value, Dropped):
                dropped[value.reason] += 1
                continue
            identity = key(row, value)
            if identity in seen:
                raise BadFieldError("id", f"repeats line {seen[identity]}: both have {_short(identity)}")
        except BadFieldError as error:
            bad.append(BadRow(row.where, error.field, error.reason))
            continue
        seen[identity] = row.where
        values.append(value)
    if bad:
        first, others = bad[0], len(bad) - 1
        more = f"; {others} more bad row{'s' * (others > 1)}" if others else ""
        raise UsageError(f"{path}:{first.where}: {first.field}: {first.reason}{more} (knob: {knob})")
    if not values:
        left_out = ", ".join(f"{n} {reason}" for reason, n in sorted(dropped.items()))
        why = f"every row was left out ({left_out})" if left_out else "the file holds no rows"
        raise UsageError(f"{path}: empty set: {why} (knob: {knob})")
    return Loaded(tuple(values), dict(dropped))


def collect_items(path: Path, rows: Iterable[Row | BadRow], parse: Callable[[Row], QAItem | Dropped]) -> Loaded[QAItem]:
    """`collect` for questions, whose key is their id."""
    return collect(path, rows, parse, lambda _, item: item.item_id)


def clean(name: str, value: object) -> str:
    """A text NFC-normalised and trimmed; raises BadFieldError where it is none, blank, or not encodable."""
    if not isinstance(value, str):
        raise BadFieldError(name, f"a text is expected, not {_kind(value)}")
    text = unicodedata.normalize("NFC", value).strip()
    if _halved(text):
        raise BadFieldError(name, f"{ascii(text)[:60]} holds half of a surrogate pair")
    if not _visible(text):
        raise BadFieldError(name, "empty" if not value else "blank")
    return text


def listed(name: str, value: object) -> list[object]:
    """A list, or a text that is a JSON list; raises BadFieldError for anything else."""
    if isinstance(value, str):
        what = "begins like a JSON list but is none" if value.lstrip().startswith("[") else "is no JSON list"
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            raise BadFieldError(name, f"{_short(value)} {what}") from None
    if not isinstance(value, list):
        raise BadFieldError(name, f"a list is expected, not {_kind(value)}")
    return value


def flag(name: str, value: object) -> bool:
    """A truth value, or a text that spells one; raises BadFieldError for anything else."""
    if isinstance(value, bool):
        return value
    known = _FLAGS.get(value.strip().casefold()) if isinstance(value, str) else None
    if known is None:
        raise BadFieldError(name, f"true or false is expected, not {_kind(value)}")
    return known


def _halved(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _visible(text: str) -> bool:
    return any(c.isprintable() and not c.isspace() for c in text)


def _absent(value: object) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _kind(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case int() | float():
            return f"the number {_short(value)}"
        case str():
            return f"the text {_short(value)}"
        case list():
            return "a list"
        case _:
            return "an object"


def _short(value: object) -> str:
    shown = ascii(value) if isinstance(value, str) and not value.isprintable() else repr(value)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."
