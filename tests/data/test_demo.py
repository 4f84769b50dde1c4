"""The demo set keeps what its users rely on: size, types, fame, and answers that can replace each other."""

from __future__ import annotations

from collections import Counter

from judgelab.data.demo import load_demo, load_demo_persons


def test_questions_suffice_for_swaps() -> None:
    items = load_demo().values
    types = Counter(item.entity_type for item in items)
    assert len(items) >= 48
    assert sum(n >= 8 for n in types.values()) >= 5
    assert {"PERSON", "GPE", "DATE", "ORG"} <= types.keys()
    assert None not in types


def test_questions_are_told_apart() -> None:
    items = load_demo().values
    names = [name.casefold() for item in items for name in item.right]
    assert len(set(names)) == len(names), [name for name, n in Counter(names).items() if n > 1]
    assert len({item.question for item in items}) == len(items)
    assert all(item.question.endswith("?") for item in items)


def test_no_question_gives_its_answer_away() -> None:
    for item in load_demo().values:
        assert not any(name.casefold() in item.question.casefold() for name in item.right), item.question


def test_fame_and_freshness() -> None:
    items = load_demo().values
    fame = [item.popularity for item in items]
    assert all(value is not None and 1 <= value <= 100 for value in fame)
    assert len(set(fame)) == len(fame)
    assert {item.freshness for item in items} == {"never", "slow"}
    assert sum(item.freshness == "slow" for item in items) >= 5


def test_persons_span_the_deciles() -> None:
    persons = load_demo_persons()
    assert len(persons) >= 40
    assert Counter(p.decile for p in persons) == dict.fromkeys(range(10), len(persons) // 10)
    by_fame = sorted(persons, key=lambda p: p.popularity)
    assert [p.decile for p in by_fame] == sorted(p.decile for p in persons)
    assert all(1 <= p.popularity <= 100 for p in persons)
