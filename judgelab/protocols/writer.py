"""Candidates for an item: from a template, of the judge model's own writing, or the bare entity.

Invariant: a model's sentence is used only if it passes every check; after `TRIES` tries the template takes its
place, and `source` says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from judgelab.engines.base import Asker, FreeText
from judgelab.errors import PromptTooLong
from judgelab.protocols import prompts
from judgelab.protocols.candidates import NOT_ONE_SENTENCE, check, from_template
from judgelab.protocols.verdicts import Turn, Way
from judgelab.records import Call
from judgelab.settings import CandidateSource
from judgelab.text import same

TRIES = 3
_SENTENCE_TOKENS = 96


@dataclass(frozen=True)
class Candidate:
    """A text that asserts an entity, who wrote it, what it failed, and the tries a model had at it."""

    text: str
    source: str
    flags: tuple[str, ...]
    calls: tuple[Call, ...] = ()


async def candidate(
    source: CandidateSource, question: str, names: Sequence[str], others: Sequence[str], asker: Asker, way: Way
) -> Candidate:
    """A candidate that states `names[0]` (or another of `names`) and none of `others`.

    Raises RequestError if the engine fails a request for another reason than its length.
    """
    match source:
        case CandidateSource.template:
            return _checked(from_template(question, names[0]), "template", question, names, others)
        case CandidateSource.entity:
            return _checked(names[0], "entity", question, names, others)
        case CandidateSource.model:
            return await _written(question, names, others, asker, way)


async def _written(question: str, names: Sequence[str], others: Sequence[str], asker: Asker, way: Way) -> Candidate:
    calls: list[Call] = []
    text, flags = "", ()  # type: tuple[str, tuple[str, ...]]
    for _ in range(TRIES):
        turn = Turn(asker, prompts.write(question, names[0], text, flags), "candidate")
        turn.open_unthinking(way)
        try:
            completion = (await turn.ask(FreeText(("\n",)), _SENTENCE_TOKENS)).completion
        except PromptTooLong:
            break
        finally:
            calls += turn.calls
        text = completion.text.strip()
        flags = check(text, question, names, others)
        unfinished = completion.finish_reason == "length" or any(same(text, name) for name in names)
        if unfinished and NOT_ONE_SENTENCE not in flags:  # cut short, or the bare entity
            flags = (*flags, NOT_ONE_SENTENCE)
        if not flags:
            return Candidate(text, "model", (), tuple(calls))
    fallback = _checked(from_template(question, names[0]), "template", question, names, others)
    return Candidate(fallback.text, fallback.source, fallback.flags, tuple(calls))


def _checked(text: str, source: str, question: str, names: Sequence[str], others: Sequence[str]) -> Candidate:
    return Candidate(text, source, check(text, question, names, others))
