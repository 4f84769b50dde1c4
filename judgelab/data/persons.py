"""The pool of persons that popularity swaps draw from: JSON lines of `name`, `aliases`, `popularity`.

Invariant: every person has a decile of the pool, 0 (obscure) to 9 (famous), all of them from the file or all of
them computed; the two are never mixed.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import replace
from pathlib import Path

from judgelab.data.files import read_jsonl
from judgelab.data.rows import BadFieldError, Row, collect
from judgelab.errors import UsageError
from judgelab.items import Person

_UNKNOWN = -1


def load_persons(path: Path) -> tuple[Person, ...]:
    """The persons of a file, whose key is `qid` where given and else the name.

    Without `decile` in the file, it is floor(10 r / n) where r of the n persons are less popular, so that equal
    popularity is equal decile. Raises UsageError for bad rows and where only some rows give a decile.
    """
    persons = collect(path, read_jsonl(path), _person, _key, knob="dataset.persons").values
    given = sum(person.decile != _UNKNOWN for person in persons)
    if given == len(persons):
        return persons
    if given:
        raise UsageError(
            f"{path}: decile: given for {given} of {len(persons)} persons; give it for all or for none "
            "(knob: dataset.persons)"
        )
    ranked = sorted(person.popularity for person in persons)
    return tuple(
        replace(person, decile=10 * bisect_left(ranked, person.popularity) // len(ranked)) for person in persons
    )


def _person(row: Row) -> Person:
    popularity = row.popularity("popularity")
    if popularity is None:
        raise BadFieldError("popularity", "missing")
    decile = row.optional_number("decile")
    if decile is not None and decile not in range(10):
        raise BadFieldError("decile", f"{decile:g} is not a whole number from 0 to 9")
    name = row.text("name")
    aliases = tuple(alias for alias in row.optional_texts("aliases") if alias != name)
    return Person(name, aliases, popularity, _UNKNOWN if decile is None else int(decile))


def _key(row: Row, person: Person) -> str:
    return row.identity("qid") or person.name
