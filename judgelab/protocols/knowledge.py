"""What a judge believes: its closed-book answers, and the wrong one that serves as evaluator-knowledge swap.

Invariant: a belief is used only where the judge is wrong more often than right; abstentions and answers that
were cut or could not be compared count as neither.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from dataclasses import dataclass

from judgelab.engines.base import Asker, Choice, Facts, FreeText
from judgelab.errors import RequestError
from judgelab.items import QAItem
from judgelab.protocols import prompts
from judgelab.protocols.swaps import Substitute, admissible
from judgelab.protocols.verdicts import Turn, Way, decide
from judgelab.records import Call, Reason, Unscored, Verdict
from judgelab.settings import VerdictForm
from judgelab.text import contains, normalise

SAME = Choice(("A", "B"), ("SAME", "DIFFERENT"))
_ANSWER_TOKENS = 32
_ANSWER_WORDS = 12  # more is no answer but prose, and no entity to swap in

_QUOTES = " \t\"'“”‘’*`"
_INITIALS = re.compile(r"\.\w+\.$")  # U.S. keeps its last stop
_LEAD = re.compile(r"^(?:(?:the|my)\s+(?:best\s+)?)?(?:answer|guess)(?:\s+is|\s*:)\s*", re.IGNORECASE)
_ABSTAINS = re.compile(
    r"\b(?:(?:do|does|did|can|could|am|is|are)(?:\s+not|n['’]?t)\s+(?:know|sure|certain|say|tell|answer|available|"
    r"specified|provide)|cannot|unknown|unsure|unclear|uncertain|no\s+(?:idea|answer|information)|not\s+(?:sure|known|"
    r"available|specified|certain)|as\s+an\s+ai|unable\s+to|n/a)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Belief:
    """What the probe found. `known` and `forced` are the shares of right answers among the samples of the bare
    form and of the form that forbids to abstain: 1 strong, 2/3 weak, 1/3 guess, 0 none with three samples."""

    substitute: Substitute | Unscored
    known: float
    forced: float
    calls: tuple[Call, ...]


@dataclass(frozen=True)
class _Match:
    """Whether one distinct answer is right; None if it could not be told."""

    right: bool | None
    calls: tuple[Call, ...] = ()


async def believe(item: QAItem, asker: Asker, samples: int, temperature: float, way: Way) -> Belief:
    """Probe a judge's belief about an item: `samples` answers in each form, matched by alias, then by the judge.

    Raises RequestError if a question about the item fails.
    """
    turns = [
        Turn(asker, prompts.probe(item.question, forced=forced), "probe", None, temperature, sample)
        for forced in (False, True)
        for sample in range(samples)
    ]
    answers = await asyncio.gather(*(_answer(turn, way) for turn in turns))
    distinct = {normalise(answer): answer for answer in reversed(answers) if answer}
    matches = dict(
        zip(distinct, await asyncio.gather(*(_match(a, item, asker, way) for a in distinct.values())), strict=True)
    )
    verdicts = [matches[normalise(answer)].right if answer else None for answer in answers]
    calls = [call for turn in turns for call in turn.calls] + [c for m in matches.values() for c in m.calls]
    return Belief(
        substitute=_substitute(item, answers, verdicts),
        known=sum(v is True for v in verdicts[:samples]) / samples,
        forced=sum(v is True for v in verdicts[samples:]) / samples,
        calls=tuple(calls),
    )


def clean_answer(text: str) -> str | None:
    """A short answer without lead, quotes and closing marks; None if it is empty, abstains or is prose."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    answer = _LEAD.sub("", line).strip(_QUOTES)
    if not _INITIALS.search(answer):
        answer = answer.removesuffix(".").strip(_QUOTES)
    if not answer or _ABSTAINS.search(answer) or len(answer.split()) > _ANSWER_WORDS:
        return None
    return answer


async def _answer(turn: Turn, way: Way) -> str | None:
    await turn.open(way)
    completion = (await turn.ask(FreeText(("\n",)), _ANSWER_TOKENS)).completion
    return None if completion.finish_reason == "length" else clean_answer(completion.text)


async def _match(answer: str, item: QAItem, asker: Asker, way: Way) -> _Match:
    if any(contains(answer, right) for right in item.right):
        return _Match(right=True)
    label = Way(VerdictForm.label, prefix=way.prefix)
    if way.thinking:
        label = Way(VerdictForm.label, prefix=way.thinking.open + way.thinking.close)
    decisions = await asyncio.gather(
        *(
            decide(
                asker,
                prompts.equivalence(item.question, gold, answer),
                SAME,
                label,
                "equivalence",
                Facts(reference=gold, candidate=answer, memory=gold),
            )
            for gold in item.answers
        )
    )
    calls = tuple(call for decision in decisions for call in decision.calls)
    found = set()
    for outcome in (decision.outcome for decision in decisions):
        if isinstance(outcome, Verdict):
            found.add(outcome.label)
        elif outcome.reason is Reason.ENGINE_ERROR:
            raise RequestError(outcome.detail)
    return _Match(right="SAME" in found if found else None, calls=calls)


def _substitute(item: QAItem, answers: list[str | None], verdicts: list[bool | None]) -> Substitute | Unscored:
    wrong = [answer for answer, verdict in zip(answers, verdicts, strict=True) if answer and verdict is False]
    right = sum(verdict is True for verdict in verdicts)
    if not wrong and not right:
        return Unscored(Reason.NO_CANDIDATE, "every closed-book answer abstains or is unusable")
    if len(wrong) <= right:
        return Unscored(Reason.NO_CANDIDATE, f"the judge knows the answer: {right} of {len(answers)} samples right")
    spelling = {normalise(answer): answer for answer in reversed(wrong)}
    for key, _ in Counter(map(normalise, wrong)).most_common():  # ties: the one given first
        substitute = Substitute(spelling[key], (spelling[key],))
        if admissible(substitute, item):
            return substitute
    return Unscored(Reason.NO_CANDIDATE, "every wrong closed-book answer overlaps a right one")
