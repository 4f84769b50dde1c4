"""The roles of SAGE that are no verdict: one constrained document each, tried twice.

Invariant: a document that cannot be used is None with the reason, never a guess; the second try is told what was wrong
with the first and is counted apart.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from judgelab.engines.base import Asker, Facts, Schema
from judgelab.errors import PromptTooLong
from judgelab.protocols import sage_prompts as prompts
from judgelab.protocols.verdicts import Turn, Way
from judgelab.records import Call, canonical_json

STANCES = ("supports", "contradicts", "inconclusive")
_CHARACTERS = 3  # room in characters that a token of JSON text is sure to fill in most languages
_FRAME = 24  # tokens of a document beside its texts


@dataclass(frozen=True)
class Role:
    """One role: `purpose` names its calls, `fields` are those of its document, in the order they are written."""

    purpose: str
    fields: tuple[str, ...]
    max_tokens: int

    def schema(self, results: int = 0) -> str:
        """The JSON schema of its document; `results` is how many results `sources` may name."""
        strings = [name for name in self.fields if name in ("query", "evidence", "missing")]
        room = max(40, _CHARACTERS * (self.max_tokens - _FRAME) // max(1, len(strings)))
        kinds: dict[str, Any] = {
            "query": {"type": "string", "minLength": 1, "maxLength": room},
            "evidence": {"type": "string", "minLength": 1, "maxLength": room},
            "missing": {"type": "string", "maxLength": room},
            "sources": {
                "type": "array",
                "items": {"type": "integer", "minimum": 1, "maximum": max(1, results)},
                "maxItems": max(1, results),
            },
            "stance": {"enum": list(STANCES)},
        }
        return canonical_json(
            {
                "type": "object",
                "properties": {name: kinds[name] for name in self.fields},
                "required": list(self.fields),
                "additionalProperties": False,
            }
        )


@dataclass
class Speaker:
    """Asks roles on behalf of one item."""

    asker: Asker
    way: Way
    calls: list[Call] = field(default_factory=list)
    repairs: int = 0

    async def ask(
        self, role: Role, user: str, results: int = 0, step: str = "", fact: str = ""
    ) -> dict[str, Any] | None:
        """The role's document, or None after two tries. `fact` is what a scripted engine says.

        Raises RequestError but for a prompt that is too long.
        """
        complaint = ""
        for attempt in range(2):
            text = prompts.repair(user, complaint) if complaint else user
            purpose = f"{role.purpose}:repair" if attempt else role.purpose
            turn = Turn(self.asker, prompts.turns(text), purpose, Facts(statements=(fact,)))
            turn.open_unthinking(self.way)
            try:
                answer = await turn.ask(Schema(role.schema(results)), role.max_tokens, step)
            except PromptTooLong:
                return None
            finally:
                self.calls += turn.calls
            self.repairs += attempt
            if answer.completion.finish_reason == "length":
                complaint = "it was cut off because it was too long"
                continue
            document = _read(answer.completion.text, role.fields)
            if document is not None:
                return document
            complaint = "it was not one JSON object with the fields asked for"
        return None


def _read(text: str, names: Sequence[str]) -> dict[str, Any] | None:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict) or set(document) != set(names):
        return None
    strings = (document[name] for name in names if name in ("query", "evidence", "missing"))
    if not all(isinstance(each, str) for each in strings):
        return None
    if "stance" in names and document["stance"] not in STANCES:
        return None
    if any(not document[name].strip() for name in names if name in ("query", "evidence")):
        return None
    return document
