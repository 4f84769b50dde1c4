"""From messages to a verdict in any of its forms, or to the reason why there is none.

Invariant: a verdict is exactly one of the labels the model gave; whatever is cut, garbled or refused becomes
`Unscored`, never a default. Only a broken engine raises.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from judgelab.engines.base import Answer, Asker, Choice, Facts, FreeText, Output, Request, Sampling, Schema
from judgelab.errors import PromptTooLong, RequestError
from judgelab.judge import Thinking
from judgelab.protocols.parser import parse_label
from judgelab.protocols.prompts import FINAL
from judgelab.records import Call, Message, Reason, Unscored, Verdict, canonical_json
from judgelab.settings import VerdictForm

_CHARACTERS = 3  # room in characters that a token of a JSON rationale is sure to fill in most languages
_JSON_TOKENS = 64  # what a JSON verdict takes beside its rationale


@dataclass(frozen=True)
class Way:
    """How verdicts are asked for. `rationale_tokens` caps reasons given with a verdict; `prefix` opens a turn of
    a judge that does not think."""

    form: VerdictForm
    rationale_tokens: int = 256
    thinking: Thinking | None = None
    prefix: str = ""


@dataclass(frozen=True)
class Decision:
    """A verdict or why there is none, with the calls made in order. `attempts` counts tries at the whole verdict;
    `mass` is the unconstrained probability of all labels together, where it was asked for."""

    outcome: Verdict | Unscored
    calls: tuple[Call, ...] = ()
    attempts: int = 1
    mass: float | None = None


@dataclass
class Turn:
    """One assistant turn as it grows: every call continues what the earlier ones wrote, and is kept."""

    asker: Asker
    messages: tuple[Message, ...]
    purpose: str
    facts: Facts | None = None
    temperature: float = 0.0
    sample: int = 0
    written: str = ""
    calls: list[Call] = field(default_factory=list)

    async def ask(self, output: Output, max_tokens: int, step: str = "") -> Answer:
        """One call after what is written so far; `step` names it within the purpose. Raises as `Asker.ask` does."""
        sampling = Sampling(max_tokens=max_tokens, temperature=self.temperature, sample=self.sample)
        purpose = f"{self.purpose}:{step}" if step else self.purpose
        request = Request(self.messages, output, sampling, purpose, self.written, self.facts)
        answer = await self.asker.ask(request)
        self.calls.append(as_call(request, answer, thinking=step == "think"))
        return answer

    async def think(self, thinking: Thinking) -> None:
        """Think up to the cap. A thought cut there is closed for the model, as if it had ended; the call's
        `finish_reason` tells."""
        self.written = thinking.open
        answer = await self.ask(FreeText((thinking.stop,)), thinking.max_tokens, "think")
        self.written += answer.completion.text + thinking.close

    async def open(self, way: Way) -> None:
        """Start the turn: with a thought where the judge thinks, else with its prefix."""
        if way.thinking is None:
            self.written = way.prefix
        else:
            await self.think(way.thinking)

    def open_unthinking(self, way: Way) -> None:
        """Start the turn of an errand that is no judgment: a judge that thinks is given an empty thought."""
        self.written = way.thinking.open + way.thinking.close if way.thinking else way.prefix


def as_call(request: Request, answer: Answer, *, thinking: bool = False) -> Call:
    """The call as records keep it; tokens of a thought are counted in both `generated_` and `thinking_tokens`."""
    completion = answer.completion
    return Call(
        purpose=request.purpose,
        key=answer.key,
        messages=request.messages,
        continuation=request.continuation,
        text=completion.text,
        finish_reason=completion.finish_reason,
        prompt_tokens=completion.prompt_tokens,
        cached_tokens=completion.cached_tokens,
        generated_tokens=completion.generated_tokens,
        thinking_tokens=completion.generated_tokens if thinking else 0,
        seconds=completion.seconds,
    )


def failure(error: RequestError) -> Unscored:
    """The unscored outcome of one request's failure."""
    reason = Reason.TOO_LONG if isinstance(error, PromptTooLong) else Reason.ENGINE_ERROR
    return Unscored(reason, str(error))


async def decide(
    asker: Asker,
    messages: Sequence[Message],
    choice: Choice,
    way: Way,
    purpose: str,
    facts: Facts | None = None,
    temperature: float = 0.0,
    sample: int = 0,
    mass: bool = False,
) -> Decision:
    """Ask for one verdict. `Verdict.label` and its probabilities are in the choice's meanings.

    `mass` adds, for the label form, one request without the constraint. Raises EngineError alone.
    """
    turn = Turn(asker, tuple(messages), purpose, facts, temperature, sample)
    share = None
    try:
        await turn.open(way)
        outcome = await _outcome(turn, choice, way)
        if mass and way.form is VerdictForm.label:
            share = await _mass(turn, choice)
    except RequestError as error:
        outcome = failure(error)
    return Decision(outcome, tuple(turn.calls), mass=share)


def verdict_schema(choice: Choice, form: VerdictForm, rationale_tokens: int) -> str:
    """The JSON schema of a JSON form. Its fields are in the order wanted and in that of the alphabet, so that no
    tool that sorts keys can turn a verdict-first document round."""
    text = {"type": "string", "maxLength": _CHARACTERS * rationale_tokens}
    label = {"enum": list(choice.labels)}
    properties: dict[str, object] = (
        {"verdict": label, "why": text}
        if form is VerdictForm.json_verdict_first
        else {"rationale": text, "verdict": label}
    )
    return canonical_json(
        {
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        }
    )


async def _outcome(turn: Turn, choice: Choice, way: Way) -> Verdict | Unscored:
    match way.form:
        case VerdictForm.label:
            return await _label(turn, choice)
        case VerdictForm.rationale_then_label:
            answer = await turn.ask(FreeText((FINAL,)), way.rationale_tokens, "rationale")
            # The mark ends in a line break: after a space most tokenizers have no bare letter.
            turn.written += f"{answer.completion.text.rstrip()}\n{FINAL}\n"
            return await _label(turn, choice)
        case VerdictForm.json_verdict_first | VerdictForm.json_rationale_first:
            schema = Schema(verdict_schema(choice, way.form, way.rationale_tokens))
            answer = await turn.ask(schema, way.rationale_tokens + _JSON_TOKENS)
            return _cut(answer, way) or _from_json(answer.completion.text, choice)
        case VerdictForm.free_text:
            answer = await turn.ask(FreeText(), way.rationale_tokens)
            return _cut(answer, way) or _from_text(answer.completion.text, choice)
        case VerdictForm.auto:
            raise ValueError("verdict form auto must be resolved before a verdict is asked for")


async def _label(turn: Turn, choice: Choice) -> Verdict | Unscored:
    completion = (await turn.ask(choice, 1)).completion
    if completion.text not in choice.labels:
        return Unscored(Reason.PARSE_ERROR, f"not one of {'/'.join(choice.labels)}: {completion.text[:80]!r}")
    given = completion.probabilities
    probabilities = {choice.meaning(label): p for label, p in given.items()} if given else None
    return Verdict(choice.meaning(completion.text), probabilities)


async def _mass(turn: Turn, choice: Choice) -> float | None:
    try:
        answer = await turn.ask(replace(choice, constrained=False), 1, "mass")
    except RequestError:
        return None  # a diagnostic: its failure must not cost the verdict
    given = answer.completion.probabilities
    return None if given is None else sum(given.get(label, 0.0) for label in choice.labels)


def _cut(answer: Answer, way: Way) -> Unscored | None:
    if answer.completion.finish_reason != "length":
        return None
    return Unscored(
        Reason.TRUNCATED,
        f"cut after {answer.completion.generated_tokens} tokens "
        f"(knob: protocol.rationale_tokens, now {way.rationale_tokens})",
    )


def _from_json(text: str, choice: Choice) -> Verdict | Unscored:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        return Unscored(Reason.PARSE_ERROR, f"no JSON: {error}")
    label = document.get("verdict") if isinstance(document, dict) else None
    if not isinstance(label, str) or label not in choice.labels:
        return Unscored(Reason.PARSE_ERROR, f"no verdict in {text[:80]!r}")
    return Verdict(choice.meaning(label))


def _from_text(text: str, choice: Choice) -> Verdict | Unscored:
    label = parse_label(text, choice)
    if label is None:
        return Unscored(Reason.PARSE_ERROR, f"no verdict on the last line: {text[-80:]!r}")
    return Verdict(choice.meaning(label))
