"""What takes the place of a reference: the swap builder of arXiv 2601.07506, seeded for each item on its own.

Invariant: a substitute depends on seed, dataset, item and swap alone (not on `limit`, order, process or hash seed),
and never equals, holds or is held in any right answer of its item; where no such one turns up there is none.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from math import ceil

from judgelab.data.entity import ENTITY_TYPES
from judgelab.items import Person, QAItem
from judgelab.records import canonical_json
from judgelab.settings import Swap
from judgelab.text import normalise, overlaps, same

DRAWS = 50
PERSON = "PERSON"

# Types that name the same kind of thing, as in Longpre et al. 2021: a swap between them changes no type.
_GROUPS = {"GPE": "LOCATION", "LOC": "LOCATION", "CARDINAL": "NUMERIC", "QUANTITY": "NUMERIC"}


@dataclass(frozen=True)
class Substitute:
    """A swapped reference. `names` are all its spellings, `text` first; `popularity` where its source gives one."""

    text: str
    names: tuple[str, ...]
    entity_type: str | None = None
    popularity: float | None = None


@dataclass(frozen=True)
class Pool:
    """Everything substitutes are drawn from: one entry a distinct answer and type, persons by rising popularity."""

    by_type: Mapping[str, tuple[Substitute, ...]]
    other_types: Mapping[str, tuple[Substitute, ...]]
    persons: tuple[Person, ...] = ()

    @classmethod
    def of(cls, items: Iterable[QAItem], types: Mapping[str, str | None], persons: Iterable[Person] = ()) -> Pool:
        """The pool of a whole dataset; `types` gives each item's type by id, and items without one give nothing."""
        found: dict[tuple[str, str], Substitute] = {}
        for item in sorted(items, key=lambda i: (normalise(i.reference), i.reference, i.item_id)):
            kind = types.get(item.item_id)
            if kind in ENTITY_TYPES:
                names = (item.reference, *item.aliases)
                key = (kind, normalise(item.reference))
                found.setdefault(key, Substitute(item.reference, names, kind, item.popularity))
        by_type = {kind: tuple(s for (k, _), s in found.items() if k == kind) for kind in ENTITY_TYPES}
        other = {kind: tuple(s for (k, _), s in found.items() if _group(k) != _group(kind)) for kind in ENTITY_TYPES}
        ranked = tuple(sorted(persons, key=lambda p: (p.popularity, p.name, p.aliases)))
        return cls(by_type, other, ranked)

    def tail(self, share: float, *, high: bool) -> tuple[Person, ...]:
        """The most (or least) popular `share` of the persons, at least one of them if there is any."""
        size = ceil(len(self.persons) * share)
        return self.persons[len(self.persons) - size :] if high else self.persons[:size]


def build(
    swap: Swap, item: QAItem, entity_type: str | None, pool: Pool, tail: float, seed: int, dataset: str
) -> Substitute | None:
    """The substitute for an item's reference, or None where `DRAWS` draws give no admissible one.

    `tail` is the share of persons that counts as popular, and as obscure. `Swap.evaluator_knowledge` takes the
    judge's own answers, which only the protocol knows: ValueError.
    """
    rng = item_rng(seed, dataset, item.item_id, swap)
    match swap:
        case Swap.type_preserving:
            return _draw(pool.by_type.get(entity_type or "", ()), item, rng)
        case Swap.type_changing:
            return _draw(pool.other_types.get(entity_type or "", ()), item, rng)
        case Swap.popularity_high | Swap.popularity_low:
            if entity_type != PERSON:
                return None
            persons = pool.tail(tail, high=swap is Swap.popularity_high)
            return _draw(tuple(map(_as_substitute, persons)), item, rng)
        case Swap.alias:
            return _alias(item, entity_type, rng)
        case Swap.evaluator_knowledge:
            raise ValueError("evaluator_knowledge is built from the judge's own answers")


def admissible(substitute: Substitute, item: QAItem) -> bool:
    """Whether a substitute is wrong as far as strings tell: its text overlaps no right answer, none of its other
    names equals one."""
    return not any(
        overlaps(substitute.text, right) or any(same(name, right) for name in substitute.names) for right in item.right
    )


def item_rng(seed: int, dataset: str, item_id: str, purpose: str) -> random.Random:
    """A generator of the item's own, the same in every process."""
    digest = sha256(canonical_json([seed, dataset, item_id, str(purpose)]).encode()).digest()
    return random.Random(int.from_bytes(digest))


def _draw(candidates: Sequence[Substitute], item: QAItem, rng: random.Random) -> Substitute | None:
    if not candidates:
        return None
    for _ in range(DRAWS):
        drawn = candidates[rng.randrange(len(candidates))]
        if admissible(drawn, item):
            return drawn
    return None


def _alias(item: QAItem, entity_type: str | None, rng: random.Random) -> Substitute | None:
    """Another spelling of the reference. Further gold answers do not serve: they may be other things that are
    right as well, which are no match for the reference."""
    distinct = {normalise(name): name for name in reversed(item.aliases) if name.strip()}
    distinct.pop(normalise(item.reference), None)
    if not distinct:
        return None
    text = distinct[sorted(distinct)[rng.randrange(len(distinct))]]
    return Substitute(text, (text,), entity_type, item.popularity)


def _as_substitute(person: Person) -> Substitute:
    return Substitute(person.name, (person.name, *person.aliases), PERSON, person.popularity)


def _group(kind: str) -> str:
    return _GROUPS.get(kind, kind)
