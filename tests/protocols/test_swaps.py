from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from judgelab.data import load
from judgelab.data.entity import ENTITY_TYPES
from judgelab.items import Person, QAItem
from judgelab.protocols.swaps import DRAWS, Pool, Substitute, admissible, build
from judgelab.settings import DatasetConfig, Swap
from judgelab.text import contains, normalise


def item(item_id: str, answer: str, kind: str | None = None, *more: str, aliases: tuple[str, ...] = ()) -> QAItem:
    return QAItem(item_id, f"q {item_id}?", (answer, *more), aliases, kind, float(len(item_id)))


ITEMS = (
    item("1", "Paris", "GPE", "City of Paris", aliases=("Lutetia",)),
    item("2", "Rome", "GPE"),
    item("22", "rome", "GPE"),
    item("3", "the Alps", "LOC"),
    item("4", "1985", "DATE"),
    item("5", "Ann", "PERSON", aliases=("Annie",)),
    item("6", "Bob", "PERSON"),
    item("7", "light", None),
    item("8", "lone", "LAW"),
)
PERSONS = tuple(Person(f"P{i}", (f"alias{i}",), float(i), i) for i in range(10))
TYPES = {i.item_id: i.entity_type for i in ITEMS}
POOL = Pool.of(ITEMS, TYPES, reversed(PERSONS))


def swap(kind: Swap, which: int, pool: Pool = POOL, seed: int = 0, tail: float = 0.2) -> Substitute | None:
    return build(kind, ITEMS[which], ITEMS[which].entity_type, pool, tail, seed, "set")


def many(kind: Swap, which: int, tail: float = 0.2) -> set[str | None]:
    return {s.text if (s := swap(kind, which, seed=i, tail=tail)) else None for i in range(60)}


def test_type_preserving_takes_another_answer_of_the_type() -> None:
    assert many(Swap.type_preserving, 0) == {"Rome"}
    found = swap(Swap.type_preserving, 5)
    assert found == Substitute("Bob", ("Bob",), "PERSON", 1.0)


def test_type_changing_takes_another_kind_of_thing() -> None:
    assert many(Swap.type_changing, 0) == {"1985", "Ann", "Bob", "lone"}, "LOC is the same kind of thing as GPE"
    found = swap(Swap.type_changing, 4)
    assert found is not None
    assert found.entity_type != "DATE"


def test_popularity_takes_the_tails_of_the_pool_for_persons_only() -> None:
    assert many(Swap.popularity_high, 5) == {"P8", "P9"}
    assert many(Swap.popularity_low, 5) == {"P0", "P1"}
    assert many(Swap.popularity_low, 5, tail=0.01) == {"P0"}
    assert swap(Swap.popularity_high, 0) is None
    found = swap(Swap.popularity_high, 5)
    assert found is not None
    assert (found.entity_type, found.popularity, found.names[1]) == (
        "PERSON",
        float(found.text[1]),
        f"alias{found.text[1]}",
    )


def test_alias_keeps_the_meaning() -> None:
    assert many(Swap.alias, 0) == {"Lutetia"}, "an alias, not a further answer"
    several = item("9", "The Ritz", aliases=("ritz", "Ritz Hotel", "the ritz hotel"))
    assert build(Swap.alias, several, None, POOL, 0.2, 0, "set") == Substitute("Ritz Hotel", ("Ritz Hotel",), None, 1.0)
    assert swap(Swap.alias, 1) is None
    assert build(Swap.alias, item("9", "Malia", None, "Sasha"), None, POOL, 0.2, 0, "set") is None


@pytest.mark.parametrize("kind", [Swap.type_preserving, Swap.type_changing, Swap.popularity_high])
def test_no_type_no_substitute(kind: Swap) -> None:
    assert swap(kind, 7) is None


def test_an_only_answer_of_its_type_has_none() -> None:
    assert swap(Swap.type_preserving, 8) is None


@pytest.mark.parametrize(
    ("text", "ok"),
    [
        ("Rome", True),
        ("paris", False),
        ("The Paris", False),
        ("Paris, Texas", False),
        ("Par", False),
        ("lutetia.", False),
        ("City", False),
    ],
)
def test_admissible(text: str, ok: bool) -> None:
    assert admissible(Substitute(text, (text,)), ITEMS[0]) is ok


def test_a_person_also_known_by_the_right_answer_is_refused() -> None:
    assert not admissible(
        Substitute("Anna Smith-Jones", ("Anna Smith-Jones", "ANNIE")), item("x", "Bea", None, "Annie")
    )
    crowd = Pool.of((), {}, [Person("X", ("Ann",), 1.0, 0)])
    assert swap(Swap.popularity_high, 5, crowd) is None, f"after {DRAWS} draws"


def test_depends_on_seed_dataset_item_and_swap() -> None:
    pool = Pool.of([item(str(i), f"n{i:03}x", "PERSON") for i in range(200)], {str(i): "PERSON" for i in range(200)})
    one = item("one", "zz", "PERSON")

    def draw(seed: int = 0, dataset: str = "d", item_id: str = "one") -> str:
        found = build(Swap.type_preserving, item(item_id, "zz"), "PERSON", pool, 0.2, seed, dataset)
        assert found is not None
        return found.text

    assert draw() == draw()
    assert len({draw(), draw(seed=1), draw(dataset="e"), draw(item_id="two")}) > 2
    assert one.reference == "zz"


def test_pool_does_not_depend_on_the_order_of_items() -> None:
    assert Pool.of(reversed(ITEMS), TYPES, PERSONS) == POOL


NQ = DatasetConfig(name="nq_typed", format="nq_typed", path="nq_typed_entities/nq_ner_tagged.jsonl")
PERSONS_FILE = "popqa/person_entities_by_popularity_derived.jsonl"

SCRIPT = """
import hashlib, json, sys
from judgelab.data import load
from judgelab.protocols.swaps import Pool, build
from judgelab.settings import DatasetConfig, Swap
data = load(DatasetConfig(name="nq_typed", format="nq_typed", path=sys.argv[1], persons=sys.argv[2]))
pool = Pool.of(data.items, {i.item_id: i.entity_type for i in data.items}, data.persons)
found = [
    [s, i.item_id, (r := build(s, i, i.entity_type, pool, 0.2, 0, data.name)) and r.text]
    for s in Swap if s != "evaluator_knowledge" for i in data.items
]
print(hashlib.sha256(json.dumps(found).encode()).hexdigest())
"""


@pytest.mark.real_data
def test_the_typed_questions(data_dir: Path) -> None:
    data = load(DatasetConfig(NQ.name, NQ.format, str(data_dir / str(NQ.path)), str(data_dir / PERSONS_FILE)))
    counts = Counter(i.entity_type for i in data.items)
    assert sum(counts[kind] for kind in ENTITY_TYPES) == 2806
    assert counts["PERSON"] == 1163
    pool = Pool.of(data.items, {i.item_id: i.entity_type for i in data.items}, data.persons)
    built: Counter[Swap] = Counter()
    for kind in (Swap.type_preserving, Swap.type_changing, Swap.popularity_high, Swap.popularity_low):
        for it in data.items:
            found = build(kind, it, it.entity_type, pool, 0.2, 0, data.name)
            if found is None:
                continue
            built[kind] += 1
            for right in it.right:
                assert normalise(found.text) != normalise(right)
                assert not contains(found.text, right)
                assert not contains(right, found.text)
                assert found.text.casefold() not in right.casefold()
                assert right.casefold() not in found.text.casefold()
            if kind is Swap.type_preserving:
                assert found.entity_type == it.entity_type
            elif kind is Swap.type_changing:
                assert found.entity_type != it.entity_type
    assert built[Swap.type_preserving] >= 2800
    assert built[Swap.type_changing] >= 2800
    assert built[Swap.popularity_high] == built[Swap.popularity_low] == 1163


@pytest.mark.real_data
def test_the_same_in_every_process(data_dir: Path) -> None:
    root = Path(__file__).parents[2]
    files = [str(data_dir / str(NQ.path)), str(data_dir / PERSONS_FILE)]
    digests = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT, *files],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(root)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "random")
    }
    assert len(digests) == 1
    assert len(json.dumps(digests.pop())) > 64
