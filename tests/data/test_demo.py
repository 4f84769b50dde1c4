"""The demo set keeps what its users rely on: size, types, fame, and answers that can replace each other."""

from __future__ import annotations

from collections import Counter

from judgelab.data.corpus import load_corpus
from judgelab.data.demo import DEMO_CORPUS, load_demo, load_demo_answers, load_demo_battles, load_demo_persons
from judgelab.items import Vote
from judgelab.text import contains


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


def test_battles_have_all_votes_and_three_languages() -> None:
    battles = load_demo_battles().values
    votes = Counter(battle.vote for battle in battles)
    assert len(battles) >= 24
    assert all(votes[vote] >= 3 for vote in Vote)
    assert all(n >= 5 for n in Counter(battle.language for battle in battles).values())
    assert len({battle.language for battle in battles}) == 3
    assert len({battle.group for battle in battles}) == len(battles) - 1  # one question is asked twice


def test_battles_hold_the_edge_cases() -> None:
    battles = load_demo_battles().values
    texts = [tuple(response.text for response in battle.responses) for battle in battles]
    assert sum("" in pair for pair in texts) == 1
    assert sum(a == b for a, b in texts) == 1
    bare = sum(not battle.pages for battle in battles)
    assert 3 <= bare < len(battles) / 4
    assert all(
        (page.text and len(page.text) >= 100) or len(battle.pages) > 1 for battle in battles for page in battle.pages
    )


def test_people_prefer_the_fuller_answer_in_most_demo_battles() -> None:
    decisive = [b for b in load_demo_battles().values if b.vote in (Vote.MODEL_A, Vote.MODEL_B)]
    longer = [Vote.MODEL_A if len(b.responses[0].text) > len(b.responses[1].text) else Vote.MODEL_B for b in decisive]
    assert sum(b.vote == vote for b, vote in zip(decisive, longer, strict=True)) / len(decisive) > 0.8


def test_answers_are_right_and_wrong_and_have_gold() -> None:
    answers = load_demo_answers().values
    per_question = Counter(answer.group for answer in answers)
    assert len(answers) >= 40
    assert len(per_question) >= 15
    assert set(per_question.values()) <= {2, 3, 4}
    share = sum(answer.human is True for answer in answers) / len(answers)
    assert 0.3 < share < 0.7
    assert all(answer.human is not None and len(answer.annotators) == 2 and answer.answers for answer in answers)
    agree = [answer.annotators[0] == answer.annotators[1] for answer in answers]
    assert 0.9 < sum(agree) / len(agree) < 1


def test_evidence_for_every_answer_is_in_the_corpus() -> None:
    passages = load_corpus([str(DEMO_CORPUS)])
    texts = {passage.text for passage in passages}
    assert len(passages) >= 60
    for answer in load_demo_answers().values:
        assert answer.context in texts
        assert any(contains(answer.context, gold) for gold in answer.answers), answer.question


def test_a_gold_answer_stands_in_the_question_of_none() -> None:
    for answer in load_demo_answers().values:
        assert not any(contains(answer.question, gold) for gold in answer.answers), answer.question
