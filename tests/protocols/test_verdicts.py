from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

import pytest

from judgelab.engines.base import Answer, Choice, Completion, FreeText, Request, Schema
from judgelab.errors import EngineError, PromptTooLong, RequestError
from judgelab.judge import Thinking
from judgelab.protocols.verdicts import Decision, Way, decide, verdict_schema
from judgelab.records import Message, Reason, Unscored, Verdict
from judgelab.settings import VerdictForm

GRADES = Choice(("A", "B", "C"), ("CORRECT", "INCORRECT", "NOT_ATTEMPTED"))
MESSAGES = (Message("user", "grade this"),)
THINKING = Thinking(open="<think>\n", stop="</think>", close="\n</think>\n\n", max_tokens=99)


class Replies:
    """An asker that gives prepared replies in order and keeps what it was asked."""

    def __init__(self, *replies: Completion | Exception) -> None:
        self.replies = list(replies)
        self.requests: list[Request] = []

    async def ask(self, request: Request) -> Answer:
        self.requests.append(request)
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return Answer(reply, f"key{len(self.requests)}", cached=False)


def reply(text: str, finish: str = "stop", p: dict[str, float] | None = None, tokens: int = 7) -> Completion:
    return Completion(text, finish, 50, tokens, 16, 0.1, p)


def decided(asker: Replies, form: VerdictForm, **kwargs: object) -> Decision:
    way = Way(form, 100, kwargs.pop("thinking", None), str(kwargs.pop("prefix", "")))  # type: ignore[arg-type]
    return asyncio.run(decide(asker, MESSAGES, GRADES, way, "grade", **kwargs))  # type: ignore[arg-type]


P = {"A": 0.7, "B": 0.2, "C": 0.1}
LABEL, RATIONALE, VERDICT_FIRST, RATIONALE_FIRST, FREE = (
    VerdictForm.label,
    VerdictForm.rationale_then_label,
    VerdictForm.json_verdict_first,
    VerdictForm.json_rationale_first,
    VerdictForm.free_text,
)


@pytest.mark.parametrize(
    ("form", "replies", "expected"),
    [
        (LABEL, [reply("A", "length", P)], "CORRECT"),
        (LABEL, [reply("B", "stop")], "INCORRECT"),
        (LABEL, [reply("A ", "length")], Reason.PARSE_ERROR),
        (LABEL, [reply("CORRECT", "length")], Reason.PARSE_ERROR),
        (LABEL, [reply("", "length")], Reason.PARSE_ERROR),
        (LABEL, [PromptTooLong(900, 512)], Reason.TOO_LONG),
        (LABEL, [RequestError("lost")], Reason.ENGINE_ERROR),
        (RATIONALE, [reply("- a\n"), reply("C", "length")], "NOT_ATTEMPTED"),
        (RATIONALE, [reply("- a - b", "length"), reply("B", "length")], "INCORRECT"),
        (RATIONALE, [reply("- a"), PromptTooLong(900, 512)], Reason.TOO_LONG),
        (RATIONALE, [RequestError("lost")], Reason.ENGINE_ERROR),
        (VERDICT_FIRST, [reply('{"verdict": "A", "why": "x"}')], "CORRECT"),
        (VERDICT_FIRST, [reply('{"verdict": "A", "why": "x', "length")], Reason.TRUNCATED),
        (VERDICT_FIRST, [reply('{"verdict": "A", "why": "x"}', "length")], Reason.TRUNCATED),
        (VERDICT_FIRST, [reply('{"verdict": "D"}')], Reason.PARSE_ERROR),
        (VERDICT_FIRST, [reply('{"verdict": ["A"]}')], Reason.PARSE_ERROR),
        (VERDICT_FIRST, [reply('["verdict"]')], Reason.PARSE_ERROR),
        (VERDICT_FIRST, [reply("A")], Reason.PARSE_ERROR),
        (RATIONALE_FIRST, [reply('{"rationale": "B A", "verdict": "B"}')], "INCORRECT"),
        (RATIONALE_FIRST, [reply('{"rationale": "B')], Reason.PARSE_ERROR),
        (RATIONALE_FIRST, [PromptTooLong(900, 512)], Reason.TOO_LONG),
        (FREE, [reply("INCORRECT")], "INCORRECT"),
        (FREE, [reply("Reasoning:\n- a\nFinal: A")], "CORRECT"),
        (FREE, [reply("Reasoning:\n- a\nFinal: A", "length")], Reason.TRUNCATED),
        (FREE, [reply("Because B is wrong, A")], Reason.PARSE_ERROR),
        (FREE, [reply("")], Reason.PARSE_ERROR),
    ],
)
def test_outcomes(form: VerdictForm, replies: Sequence[Completion | Exception], expected: str | Reason) -> None:
    asker = Replies(*replies)
    decision = decided(asker, form)
    if isinstance(expected, Reason):
        assert isinstance(decision.outcome, Unscored)
        assert decision.outcome.reason is expected
        assert decision.outcome.detail
    else:
        assert isinstance(decision.outcome, Verdict)
        assert decision.outcome.label == expected
    assert len(decision.calls) == sum(isinstance(r, Completion) for r in replies)
    assert asker.replies == [], "no repair tries"
    assert decision.attempts == 1


@pytest.mark.parametrize("form", [LABEL, RATIONALE, VERDICT_FIRST, RATIONALE_FIRST, FREE])
def test_a_broken_engine_is_no_verdict(form: VerdictForm) -> None:
    with pytest.raises(EngineError, match="died"):
        decided(Replies(EngineError("died")), form)


def test_label_request_and_probabilities() -> None:
    asker = Replies(reply("A", "length", P))
    decision = decided(asker, LABEL, prefix=" ")
    assert isinstance(decision.outcome, Verdict)
    assert decision.outcome.probabilities == {"CORRECT": 0.7, "INCORRECT": 0.2, "NOT_ATTEMPTED": 0.1}
    (request,) = asker.requests
    assert request.output == GRADES
    assert request.sampling.max_tokens == 1
    assert request.continuation == " "
    (call,) = decision.calls
    assert (call.purpose, call.key, call.text, call.thinking_tokens) == ("grade", "key1", "A", 0)


def test_rationale_is_continued_to_the_label() -> None:
    asker = Replies(reply("Reasoning:\n- a  \n", "length"), reply("B", "length"))
    decision = decided(asker, RATIONALE, prefix="> ", temperature=0.7, sample=3)
    first, second = asker.requests
    assert first.output == FreeText(("Final:",))
    assert (first.continuation, first.sampling.max_tokens) == ("> ", 100)
    assert second.continuation == "> Reasoning:\n- a\nFinal:\n"
    assert {(r.sampling.temperature, r.sampling.sample) for r in asker.requests} == {(0.7, 3)}
    assert [(c.purpose, c.finish_reason) for c in decision.calls] == [
        ("grade:rationale", "length"),
        ("grade", "length"),
    ]


@pytest.mark.parametrize("finish", ["stop", "length"])
def test_a_thought_comes_first_and_is_counted_apart(finish: str) -> None:
    asker = Replies(reply("so it is", finish, tokens=40), reply("A", "length"))
    decision = decided(asker, LABEL, thinking=THINKING)
    think, label = asker.requests
    assert think.output == FreeText(("</think>",))
    assert (think.purpose, think.continuation, think.sampling.max_tokens) == ("grade:think", "<think>\n", 99)
    assert label.continuation == "<think>\nso it is\n</think>\n\n"
    assert [c.thinking_tokens for c in decision.calls] == [40, 0]
    assert decision.calls[0].finish_reason == finish
    assert isinstance(decision.outcome, Verdict)


@pytest.mark.parametrize("form", [VERDICT_FIRST, RATIONALE_FIRST, FREE])
def test_every_form_goes_on_after_the_thought(form: VerdictForm) -> None:
    text = "A" if form is FREE else '{"verdict": "A"}'
    asker = Replies(reply("hm"), reply(text))
    assert isinstance(decided(asker, form, thinking=THINKING).outcome, Verdict)
    assert asker.requests[1].continuation == "<think>\nhm\n</think>\n\n"


def test_label_mass_is_one_more_request_without_the_constraint() -> None:
    asker = Replies(reply("A", "length", P), reply("The", "length", {"A": 0.01, "B": 0.02, "C": 0.0}))
    decision = decided(asker, LABEL, mass=True)
    assert decision.mass == pytest.approx(0.03)
    assert asker.requests[1].output == Choice(GRADES.labels, GRADES.meanings, constrained=False)
    assert isinstance(decision.outcome, Verdict)
    lost = decided(Replies(reply("A", "length", P), RequestError("lost")), LABEL, mass=True)
    assert lost.mass is None
    assert isinstance(lost.outcome, Verdict)


@pytest.mark.parametrize(("form", "first"), [(VERDICT_FIRST, "verdict"), (RATIONALE_FIRST, "rationale")])
def test_json_schema_keeps_its_order_and_caps_the_rationale(form: VerdictForm, first: str) -> None:
    text = verdict_schema(GRADES, form, 50)
    schema = json.loads(text)
    assert next(iter(schema["properties"])) == first
    assert list(schema["properties"]) == schema["required"] == sorted(schema["required"])
    assert any(p.get("maxLength") == 150 for p in schema["properties"].values())
    asker = Replies(reply('{"verdict": "A"}'))
    decided(asker, form)
    assert asker.requests[0].output == Schema(verdict_schema(GRADES, form, 100))
