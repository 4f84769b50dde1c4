from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from judgelab.data.dataset import Dataset
from judgelab.engines.base import Answer, Choice, Completion, FreeText, Request, Schema
from judgelab.engines.scripted import ScriptedEngine
from judgelab.errors import EngineError, PromptTooLong, RequestError, UsageError
from judgelab.items import Person, QAItem
from judgelab.judge import Thinking
from judgelab.protocols.swapped import CELLS, Swapped, majority, resolve_form
from judgelab.records import Reason, Record, Unscored, Verdict
from judgelab.settings import (
    CandidateSource,
    Condition,
    ScriptedConfig,
    Swap,
    SwappedConfig,
    TypeSource,
    VerdictForm,
)

NAMES = ("Ann", "Bob", "Carl", "Dora", "Emil", "Finn")
ITEMS = tuple(
    QAItem(f"i{n}", f"who is number {n}?", (name,), (f"{name} Smith",), "PERSON", float(n), "never")
    for n, name in enumerate(NAMES)
)
PERSONS = tuple(Person(f"Person {n}", (), float(n), n) for n in range(10))
DATA = Dataset.of("set", ITEMS, PERSONS)
FORMS = [
    (condition, form)
    for condition in Condition
    for form in VerdictForm
    if condition in (Condition.standard, Condition.direct)
    or form not in (VerdictForm.label, VerdictForm.json_verdict_first)
]
SETTINGS = SwappedConfig(mass_probes=0)


class Direct:
    """An asker without cache. `intercept` may answer or raise instead of the scripted rule."""

    def __init__(self, rule: str, intercept: Callable[[Request], Completion | str | None] | None = None) -> None:
        self.engine = ScriptedEngine(ScriptedConfig(rule=rule), 0)
        self.intercept = intercept
        self.requests: list[Request] = []

    async def ask(self, request: Request) -> Answer:
        self.requests.append(request)
        reply = self.intercept(request) if self.intercept else None
        if isinstance(reply, str):
            reply = Completion(reply, "stop", 9, 3)
        return Answer(reply or await self.engine.complete(request), "key", cached=False)


def run(
    settings: SwappedConfig,
    asker: Direct,
    data: Dataset = DATA,
    items: Sequence[QAItem] | None = None,
    thinking: Thinking | None = None,
    prefix: str = "",
) -> list[Record]:
    protocol = Swapped(settings, data, 0, thinking, prefix)

    async def work() -> list[Record]:
        chosen = data.items if items is None else items
        await protocol.prepare(chosen, asker)
        return [record for item in chosen for record in await protocol.judge(item, asker)]

    return asyncio.run(work())


def accuracy(records: Sequence[Record]) -> dict[str, float]:
    scored = {cell: [r for r in records if r.cell == cell] for cell in CELLS}
    return {cell: sum(r.verdict == r.subject.truth for r in rows) / len(rows) for cell, rows in scored.items()}


@pytest.mark.parametrize(("condition", "form"), FORMS)
@pytest.mark.parametrize(
    ("rule", "cells"),
    [
        ("follows_reference", (1, 1, 1, 1)),
        ("believes_memory", (1, 1, 0, 0)),
        ("always_a", (1, 0, 0, 1)),
        ("always_b", (0, 1, 1, 0)),
    ],
)
def test_fake_judges_give_their_cells(
    rule: str, cells: tuple[int, ...], condition: Condition, form: VerdictForm
) -> None:
    records = run(replace(SETTINGS, condition=condition, verdict_form=form), Direct(rule))
    assert len(records) == 4 * len(ITEMS)
    assert accuracy(records) == dict(zip(CELLS, cells, strict=True))


def test_a_random_judge_is_right_half_the_time() -> None:
    many = tuple(QAItem(f"m{n}", f"who is {n}?", (f"n{n:03}x",), entity_type="PERSON") for n in range(150))
    records = run(SETTINGS, Direct("random"), Dataset.of("many", many))
    assert 0.42 < sum(r.verdict == r.subject.truth for r in records) / len(records) < 0.58


def test_a_judge_records_what_it_was_shown() -> None:
    records = run(SETTINGS, Direct("follows_reference"), items=ITEMS[:1])
    by_cell = {r.cell: r.subject for r in records}
    swapped = by_cell["ss"].swapped
    assert swapped in NAMES[1:]
    for cell, t in by_cell.items():
        assert t.reference == ("Ann" if cell[0] == "o" else swapped)
        assert ("Ann" if cell[1] == "o" else swapped) in t.candidate
        assert (t.original, t.swap, t.entity_type, t.swapped_type) == ("Ann", "type_preserving", "PERSON", "PERSON")
        assert (t.popularity, t.swapped_popularity, t.freshness) == (0.0, float(NAMES.index(swapped)), "never")
        assert (t.candidate_source, t.flags) == ("template", ())
        assert t.truth == ("CORRECT" if cell in ("oo", "ss") else "INCORRECT")
    for r in records:
        (call,) = r.calls
        assert call.purpose == "grade"
        assert r.subject.candidate in call.messages[-1].content
        assert r.probabilities is not None
        assert set(r.probabilities) == {"CORRECT", "INCORRECT", "NOT_ATTEMPTED"}


def test_alias_swap_keeps_the_truth() -> None:
    settings = replace(SETTINGS, swap=Swap.alias)
    records = run(settings, Direct("follows_reference"))
    assert {r.subject.truth for r in records} == {"CORRECT"}
    assert {r.subject.swapped for r in records} == {f"{n} Smith" for n in NAMES}
    assert accuracy(records) == dict.fromkeys(CELLS, 1)
    assert accuracy(run(settings, Direct("always_b"))) == dict.fromkeys(CELLS, 0)


def test_no_candidate_is_four_records_without_verdict() -> None:
    lonely = Dataset.of("one", (*ITEMS[:1], QAItem("p", "where?", ("Rome",), entity_type="GPE")))
    asker = Direct("follows_reference")
    records = run(SETTINGS, asker, lonely)
    assert asker.requests == []
    assert [r.cell for r in records] == [*CELLS, *CELLS]
    for r in records:
        assert r.unscored is not None
        assert r.unscored.reason is Reason.NO_CANDIDATE
        assert r.subject.swapped == r.subject.candidate == ""
        assert r.subject.original in ("Ann", "Rome")


def test_substitutes_do_not_depend_on_which_items_are_judged() -> None:
    whole = run(SETTINGS, Direct("always_a"))
    part = run(SETTINGS, Direct("always_a"), items=ITEMS[2:4])
    assert [r.subject for r in part] == [r.subject for r in whole[8:16]]


def test_record_ids_are_content_hashes_of_item_and_cell() -> None:
    protocol = Swapped(SETTINGS, DATA, 0)
    other = Swapped(replace(SETTINGS, swap=Swap.alias), DATA, 1)
    ids = [i for item in ITEMS for i in protocol.record_ids(item)]
    assert len(set(ids)) == 4 * len(ITEMS)
    assert protocol.record_ids(ITEMS[0]) == other.record_ids(ITEMS[0])
    records = run(SETTINGS, Direct("always_a"))
    assert [r.record_id for r in records] == ids


def test_fingerprint_covers_prompts_and_templates(monkeypatch: pytest.MonkeyPatch) -> None:
    from judgelab.protocols import candidates, prompts

    before = Swapped(SETTINGS, DATA, 0).fingerprint()
    with monkeypatch.context() as patch:
        patch.setattr(prompts, "GRADE", "other")
        assert Swapped(SETTINGS, DATA, 0).fingerprint() != before
    monkeypatch.setitem(candidates.TEMPLATES, "who", "{entity} {question}.")
    assert Swapped(SETTINGS, DATA, 0).fingerprint() != before


def test_label_mass_of_the_first_items_in_the_order_given() -> None:
    records = run(replace(SETTINGS, mass_probes=2), Direct("always_a"), items=ITEMS[::-1])
    probed = {(r.item_id, r.cell): r.extra["label_mass"] for r in records if "label_mass" in r.extra}
    assert probed == {("i5", "oo"): pytest.approx(1), ("i4", "oo"): pytest.approx(1)}
    free = replace(SETTINGS, mass_probes=2, verdict_form=VerdictForm.free_text)
    assert not any(r.extra for r in run(free, Direct("always_a")))


@pytest.mark.parametrize(
    ("error", "reason"), [(RequestError("lost"), Reason.ENGINE_ERROR), (PromptTooLong(9, 5), Reason.TOO_LONG)]
)
def test_a_failed_request_costs_its_own_cell_alone(error: Exception, reason: Reason) -> None:
    def fail(request: Request) -> None:
        if request.facts and request.facts.reference == request.facts.candidate == "Ann":
            raise error

    records = run(SETTINGS, Direct("follows_reference", fail), items=ITEMS[:1])
    assert [r.unscored.reason if r.unscored else r.verdict for r in records] == [
        reason,
        "INCORRECT",
        "INCORRECT",
        "CORRECT",
    ]


def test_a_broken_engine_breaks_the_run() -> None:
    def die(request: Request) -> None:
        raise EngineError("died")

    with pytest.raises(EngineError, match="died"):
        run(SETTINGS, Direct("always_a", die))


# self-consistency


def voting(*labels: str, greedy: str = "C") -> Callable[[Request], str | None]:
    def answer(request: Request) -> str | None:
        if isinstance(request.output, Choice):
            return greedy if request.sampling.temperature == 0 else labels[request.sampling.sample]
        return None

    return answer


@pytest.mark.parametrize(
    ("votes", "verdict", "calls"),
    [
        ("AABBB", "INCORRECT", 10),
        ("AAABB", "CORRECT", 10),
        ("CCCCC", "NOT_ATTEMPTED", 10),
        ("AABBC", "NOT_ATTEMPTED", 12),
        ("A?BB?", "INCORRECT", 10),
        ("A?B??", "NOT_ATTEMPTED", 12),
        ("?????", Reason.PARSE_ERROR, 10),
    ],
)
def test_self_consistency(votes: str, verdict: str | Reason, calls: int) -> None:
    settings = replace(SETTINGS, condition=Condition.self_consistency)
    asker = Direct("always_a", voting(*votes))
    record = run(settings, asker, items=ITEMS[:1])[0]
    assert (record.unscored.reason if record.unscored else record.verdict) == verdict
    assert len(record.calls) == calls
    sampled = Counter(r.sampling.sample for r in asker.requests if r.sampling.temperature == 0.7)
    assert sampled == dict.fromkeys(range(5), 8)


def test_majority_waits_for_a_lost_sample() -> None:
    lost, garbled = Unscored(Reason.ENGINE_ERROR), Unscored(Reason.PARSE_ERROR)
    assert majority([Verdict("CORRECT"), Verdict("CORRECT"), lost]) == lost
    assert majority([Verdict("CORRECT"), garbled]) == Verdict("CORRECT")
    assert majority([Verdict("CORRECT"), Verdict("INCORRECT")]) is None


# model-written candidates


def writer(*texts: str) -> Callable[[Request], str | None]:
    def answer(request: Request) -> str | None:
        if request.purpose != "candidate":
            return None
        user = request.messages[-1].content
        text = texts[-1] if "An earlier try" in user else texts[0]
        return text.replace("ENTITY", user.split('"""\n')[3].strip())

    return answer


MODEL = replace(SETTINGS, candidates=CandidateSource.model)


def test_a_model_writes_and_is_told_what_was_wrong() -> None:
    asker = Direct("follows_reference", writer("Nobody knows.", "It is indeed ENTITY."))
    records = run(MODEL, asker, items=ITEMS[:1])
    assert {r.subject.candidate_source for r in records} == {"model"}
    assert records[0].subject.candidate == "It is indeed Ann."
    assert accuracy(records) == dict.fromkeys(CELLS, 1)
    assert {r.extra["candidate_tries"] for r in records} == {2}
    again = [r for r in asker.requests if "Nobody knows." in r.messages[-1].content]
    assert len(again) == 2
    assert "it does not state the answer" in again[0].messages[-1].content
    assert [c.purpose for c in records[0].calls] == ["candidate"] * 4 + ["grade"]
    assert [c.purpose for c in records[3].calls] == ["grade"]


def test_after_three_tries_the_template_takes_over() -> None:
    asker = Direct("follows_reference", writer("Perhaps ENTITY."))
    records = run(MODEL, asker, items=ITEMS[:1])
    assert sum(r.purpose == "candidate" for r in asker.requests) == 6
    assert {(r.subject.candidate_source, r.subject.flags) for r in records} == {("template", ())}


def test_the_bare_entity_is_no_sentence_of_a_model() -> None:
    asker = Direct("follows_reference", writer("ENTITY.", "It is ENTITY."))
    records = run(MODEL, asker, items=ITEMS[:1])
    assert records[0].subject.candidate == "It is Ann."
    assert any(
        "exactly one full sentence" in r.messages[-1].content.split("What was wrong")[-1] for r in asker.requests
    )


def test_a_sentence_cut_at_the_cap_is_not_used() -> None:
    def cut(request: Request) -> Completion | None:
        if request.purpose != "candidate":
            return None
        return Completion("It is Ann and Bob and Carl and Dora and Emil and Finn", "length", 9, 96)

    assert {r.subject.candidate_source for r in run(MODEL, Direct("always_a", cut), items=ITEMS[:1])} == {"template"}


@pytest.mark.parametrize("error", [RequestError("lost"), PromptTooLong(9, 5)])
def test_a_lost_candidate_is_tried_again_and_a_long_one_written_by_template(error: Exception) -> None:
    def fail(request: Request) -> None:
        if request.purpose == "candidate":
            raise error

    records = run(MODEL, Direct("follows_reference", fail), items=ITEMS[:1])
    if isinstance(error, PromptTooLong):
        assert {r.subject.candidate_source for r in records} == {"template"}
        assert accuracy(records) == dict.fromkeys(CELLS, 1)
    else:
        assert {r.unscored.reason for r in records if r.unscored} == {Reason.ENGINE_ERROR}
        assert len({r.subject.swapped for r in records} - {""}) == 1


def test_bare_entities() -> None:
    records = run(replace(SETTINGS, candidates=CandidateSource.entity), Direct("follows_reference"), items=ITEMS[:1])
    assert records[0].subject.candidate == "Ann"
    assert {(r.subject.candidate_source, r.subject.flags) for r in records} == {("entity", ())}


# entity types


def tagging(request: Request) -> str | None:
    if request.purpose != "tag":
        return None
    text = request.messages[-1].content
    if "light" in text:
        return '"NAN"'
    return '"PERSON"' if any(f"\n{name}\n" in text for name in NAMES) else '"ORG extra"'


def test_the_judge_tags_what_the_data_does_not() -> None:
    bare = tuple(replace(i, entity_type=None) for i in ITEMS[:3])
    items = (*bare, *ITEMS[3:], QAItem("l", "why?", ("light",)), QAItem("x", "what?", ("Xerox",)))
    data = Dataset.of("bare", items)
    asker = Direct("follows_reference", tagging)
    records = run(replace(SETTINGS, types=TypeSource.auto), asker, data, items=items[:1])
    tags = [r for r in asker.requests if r.purpose == "tag"]
    assert len(tags) == 5, "the whole dataset's missing ones, however few items are judged"
    assert isinstance(tags[0].output, Schema)
    assert len(json.loads(tags[0].output.json_schema)["enum"]) == 19
    assert records[0].subject.entity_type == "PERSON"
    assert accuracy(records) == dict.fromkeys(CELLS, 1)
    judged = Direct("follows_reference", tagging)
    records = run(replace(SETTINGS, types=TypeSource.judge), judged, data)
    assert sum(r.purpose == "tag" for r in judged.requests) == 8
    unscored = {r.item_id for r in records if r.unscored}
    assert unscored == {"l", "x"}, "no entity, and no label of the set"


def test_popularity_swaps_tag_the_judged_items_alone() -> None:
    data = Dataset.of("bare", tuple(replace(i, entity_type=None) for i in ITEMS), PERSONS)
    asker = Direct("follows_reference", tagging)
    settings = replace(SETTINGS, types=TypeSource.auto, swap=Swap.popularity_high)
    records = run(settings, asker, data, items=data.items[:2])
    assert sum(r.purpose == "tag" for r in asker.requests) == 2
    assert {r.subject.swapped for r in records} <= {"Person 8", "Person 9"}
    assert {r.subject.swapped_popularity for r in records} <= {8.0, 9.0}


# thinking and prefix


def test_a_thinking_judge_thinks_before_verdicts_only() -> None:
    thinking = Thinking("<think>\n", "</think>", "\n</think>\n\n", 50)
    asker = Direct("follows_reference", writer("It is ENTITY."))
    records = run(MODEL, asker, items=ITEMS[:1], thinking=thinking, prefix="never used")
    assert accuracy(records) == dict.fromkeys(CELLS, 1)
    assert Counter(r.purpose for r in asker.requests) == {"candidate": 2, "grade:think": 4, "grade": 4}
    assert {r.continuation for r in asker.requests if r.purpose == "candidate"} == {"<think>\n\n</think>\n\n"}
    assert all(sum(c.thinking_tokens for c in r.calls) > 0 for r in records)


def test_the_judges_prefix_opens_every_turn() -> None:
    asker = Direct("follows_reference")
    run(replace(SETTINGS, condition=Condition.cot), asker, items=ITEMS[:1], prefix="<final>")
    assert all(r.continuation.startswith("<final>") for r in asker.requests)
    assert any(isinstance(r.output, FreeText) for r in asker.requests)


# settings


def test_auto_form() -> None:
    forms = {c: resolve_form(replace(SETTINGS, condition=c)) for c in Condition}
    assert forms == {
        Condition.standard: VerdictForm.label,
        Condition.direct: VerdictForm.label,
        Condition.cot: VerdictForm.rationale_then_label,
        Condition.self_consistency: VerdictForm.rationale_then_label,
    }
    assert resolve_form(replace(SETTINGS, verdict_form=VerdictForm.free_text)) is VerdictForm.free_text


UNTYPED = Dataset.of("untyped", (QAItem("a", "q", ("r",)),))


@pytest.mark.parametrize(
    ("change", "data", "named"),
    [
        (
            {"condition": Condition.cot, "verdict_form": VerdictForm.label},
            DATA,
            ("condition=cot", "verdict_form=label"),
        ),
        (
            {"condition": Condition.self_consistency, "verdict_form": VerdictForm.json_verdict_first},
            DATA,
            ("condition=self_consistency", "verdict_form=json_verdict_first"),
        ),
        ({"condition": Condition.self_consistency, "k": 0}, DATA, ("protocol.k",)),
        ({"condition": Condition.self_consistency, "temperature": 0.0}, DATA, ("protocol.temperature",)),
        ({"rationale_tokens": 0}, DATA, ("protocol.rationale_tokens",)),
        ({"mass_probes": -1}, DATA, ("protocol.mass_probes",)),
        ({"swap": Swap.evaluator_knowledge, "probe_samples": 0}, DATA, ("protocol.probe_samples",)),
        ({"swap": Swap.popularity_high}, UNTYPED, ("dataset.persons",)),
        ({"swap": Swap.popularity_low, "popularity_tail": 0.6}, DATA, ("protocol.popularity_tail",)),
        ({"swap": Swap.alias}, UNTYPED, ("swap=alias",)),
        ({}, UNTYPED, ("protocol.types=auto",)),
    ],
)
def test_settings_that_contradict_are_refused(change: dict[str, object], data: Dataset, named: tuple[str, ...]) -> None:
    with pytest.raises(UsageError) as caught:
        Swapped(replace(SETTINGS, **change), data, 0)  # type: ignore[arg-type]
    for knob in named:
        assert knob in str(caught.value)
    assert "\n" not in str(caught.value)
