"""A JSON document from a model by schema, asked for a bounded number of times.

Invariant: every try after the first is told what was wrong with the one before; what never comes is None with the
reason of the last try, and the number of tries is known.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from judgelab.engines.base import Asker, Facts, Schema
from judgelab.errors import PromptTooLong, RequestError
from judgelab.protocols.nugget_prompts import repaired
from judgelab.protocols.verdicts import Turn, Way
from judgelab.records import Call, Message, Reason, Unscored, canonical_json


@dataclass(frozen=True)
class Document:
    """What came: `value` as `check` gave it back, or None with why not, after so many tries."""

    value: Any
    failure: Unscored | None
    calls: tuple[Call, ...]
    tries: int


async def ask_document(
    asker: Asker,
    way: Way,
    messages: tuple[Message, ...],
    schema: dict[str, Any],
    max_tokens: int,
    purpose: str,
    check: Callable[[Any], Any],
    facts: Facts,
    tries: int,
) -> Document:
    """Ask until `check` accepts the document; it returns the value, or raises ValueError with what is wrong.

    A prompt that is too long is not asked again: it would be no shorter. Raises EngineError alone.
    """
    calls: list[Call] = []
    asked, failure = messages, Unscored(Reason.PARSE_ERROR)
    for number in range(1, tries + 1):
        turn = Turn(asker, asked, purpose if number == 1 else f"{purpose}:again", facts)
        turn.open_unthinking(way)
        try:
            answer = await turn.ask(Schema(canonical_json(schema)), max_tokens)
        except PromptTooLong as error:
            return Document(None, Unscored(Reason.TOO_LONG, str(error)), (*calls, *turn.calls), number)
        except RequestError as error:
            return Document(None, Unscored(Reason.ENGINE_ERROR, str(error)), (*calls, *turn.calls), number)
        calls += turn.calls
        if answer.completion.finish_reason == "length":
            failure = Unscored(Reason.TRUNCATED, f"cut after {answer.completion.generated_tokens} tokens")
            complaint = "it was cut off because it was too long"
        else:
            try:
                return Document(check(json.loads(answer.completion.text)), None, tuple(calls), number)
            except (ValueError, RecursionError) as error:
                complaint = "it was no JSON" if isinstance(error, json.JSONDecodeError) else str(error)
                failure = Unscored(Reason.PARSE_ERROR, complaint)
        asked = repaired(messages, complaint)
    return Document(None, failure, tuple(calls), tries)


def labels_schema(count: int, labels: tuple[str, ...]) -> dict[str, Any]:
    """A list of exactly `count` labels."""
    return {"type": "array", "items": {"enum": list(labels)}, "minItems": count, "maxItems": count}


def labels_check(count: int, labels: tuple[str, ...]) -> Callable[[Any], tuple[str, ...]]:
    """Accepts exactly `count` labels of the set."""

    def check(document: Any) -> tuple[str, ...]:
        if not isinstance(document, list) or len(document) != count:
            raise ValueError(f"it was not a list of exactly {count} labels")
        for label in document:
            if label not in labels:
                raise ValueError(f"it held a label that is none of {', '.join(labels)}")
        return tuple(document)

    return check
