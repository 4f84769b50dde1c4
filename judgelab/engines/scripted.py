"""A rule instead of a model, for tests and simulation.

Invariant: it decides by `Request.facts` alone (never by truth or cell) and gives the same answer to the same
request in every process; whatever it writes names itself scripted.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from difflib import get_close_matches
from hashlib import sha256
from typing import Any

from judgelab.engines.base import Choice, Completion, Facts, FreeText, Identity, Request, Schema
from judgelab.engines.overlap import holds
from judgelab.errors import RequestError, UsageError
from judgelab.records import canonical_json
from judgelab.settings import ScriptedConfig
from judgelab.text import normalise

RULES = ("follows_reference", "believes_memory", "always_a", "always_b", "random", "word_overlap")
TEXT = "Scripted text, written by a rule and not by a model."
_SURE = 0.9  # probability given to the label that the rule picks


class ScriptedEngine:
    """Answers by `settings.rule`. The first label of a choice is the positive one, the second the negative.

    `follows_reference`: positive iff the candidate is the reference; `believes_memory`: iff it is what the judge
    remembers; `always_a`, `always_b`; `random`: either with probability one half, by seed and request; `word_overlap`:
    iff most content words of the statement (or reference) occur in the candidate.
    """

    def __init__(self, settings: ScriptedConfig, seed: int) -> None:
        if settings.rule not in RULES:
            near = get_close_matches(settings.rule, RULES, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise UsageError(f"engine.rule={settings.rule}: unknown rule{hint} (one of {', '.join(RULES)})")
        if not settings.latency >= 0:
            raise UsageError(f"engine.latency={settings.latency}: must be 0 or more seconds")
        self._settings = settings
        self._seed = seed

    @property
    def identity(self) -> Identity:
        """The rule, and the seed where the rule draws."""
        fields: dict[str, Any] = {"rule": self._settings.rule}
        if self._settings.rule == "random":
            fields["seed"] = self._seed
        return Identity("scripted", fields)

    async def complete(self, request: Request) -> Completion:
        """Answer after `latency` seconds. Raises RequestError for a schema it has no document for."""
        started = time.monotonic()
        await asyncio.sleep(self._settings.latency)
        positive = self._positive(request)
        probabilities = None
        match request.output:
            case Choice() as choice:
                text = choice.labels[0 if positive else 1]
                probabilities = self._probabilities(choice, text)
            case Schema(json_schema):
                schema = json.loads(json_schema)
                document = self._document(schema, request, positive)
                text = json.dumps(document, ensure_ascii=False)
            case FreeText(stop):
                text = TEXT
                if request.facts is not None:
                    text += f"\nFinal: {'A' if positive else 'B'}"
                for mark in stop:
                    text = text.split(mark)[0]
        prompt = " ".join([*(m.content for m in request.messages), request.continuation])
        return Completion(
            text=text,
            finish_reason="stop",
            prompt_tokens=len(prompt.split()),
            generated_tokens=max(1, len(text.split())),
            seconds=time.monotonic() - started,
            probabilities=probabilities,
        )

    async def close(self) -> None:
        """Nothing is held."""

    def describe(self) -> dict[str, str]:
        """Says in every manifest that no model ran."""
        return {"engine": f"scripted rule {self._settings.rule}, not a model"}

    def _document(self, schema: Mapping[str, Any], request: Request, positive: bool) -> Any:
        """A list of labels has one a statement, a list of texts the statements; anything else is the smallest."""
        facts = request.facts or Facts()
        match schema:
            case {"type": "array", "items": {"enum": [first, *_, last]}} if facts.statements:
                return [first if self._holds(request, each, k) else last for k, each in enumerate(facts.statements)]
            case {"type": "array", "items": {"type": "string"} as item} if facts.statements:
                texts = dict.fromkeys(each[: item.get("maxLength")] for each in facts.statements)
                return list(texts)[: schema.get("maxItems")]
        return _document(schema, schema, "A" if positive else "B", facts.statements)

    def _holds(self, request: Request, statement: str, number: int) -> bool:
        """What the rule says of one statement about the candidate."""
        facts = request.facts or Facts()
        match self._settings.rule:
            case "always_b":
                return False
            case "always_a":
                return True
            case "random":
                text = canonical_json([self._seed, request.canonical(), number])
                return sha256(text.encode()).digest()[0] % 2 == 0
            case _:
                return holds(facts.candidate, statement)

    def _positive(self, request: Request) -> bool:
        facts = request.facts or Facts()
        match self._settings.rule:
            case "follows_reference":
                return normalise(facts.candidate) == normalise(facts.reference)
            case "believes_memory":
                return normalise(facts.candidate) == normalise(facts.memory)
            case "random":
                text = canonical_json([self._seed, request.canonical()])
                return sha256(text.encode()).digest()[0] % 2 == 0
            case "word_overlap":
                return holds(facts.candidate, facts.reference)
            case rule:
                return rule == "always_a"

    def _probabilities(self, choice: Choice, chosen: str) -> dict[str, float]:
        if self._settings.rule == "random":
            return {label: 0.5 if i < 2 else 0.0 for i, label in enumerate(choice.labels)}
        rest = (1 - _SURE) / max(1, len(choice.labels) - 1)
        return {label: _SURE if label == chosen else rest for label in choice.labels}


def _document(schema: Mapping[str, Any], root: Mapping[str, Any], label: str, statements: tuple[str, ...]) -> Any:
    """A small document of a schema; an enum that holds the labels gets `label`, a text the first of `statements`."""
    match schema:
        case {"const": value}:
            return value
        case {"enum": values}:
            return label if {"A", "B"} <= {v for v in values if isinstance(v, str)} else values[0]
        case {"$ref": str(path)}:
            target: Any = root
            for step in path.removeprefix("#/").split("/"):
                target = target[step]
            return _document(target, root, label, statements)
        case {"anyOf": [first, *_]} | {"oneOf": [first, *_]}:
            return _document(first, root, label, statements)
        case {"type": "object"} | {"properties": _}:
            properties = schema.get("properties", {})
            names = schema.get("required", ())
            return {name: _document(properties.get(name, {}), root, label, statements) for name in names}
        case {"type": "array"}:
            return [_document(schema.get("items", {}), root, label, statements)] * schema.get("minItems", 0)
        case {"type": "string"}:
            text = statements[0][: schema.get("maxLength")] if statements and schema.get("minLength") else ""
            return text or "-" * schema.get("minLength", 0)
        case {"type": "integer" | "number"}:
            return schema.get("minimum", 0)
        case {"type": "boolean"}:
            return False
        case {"type": "null"}:
            return None
        case _ if not schema:
            return None
    raise RequestError(f"scripted engine has no document for the schema {json.dumps(schema)[:120]}")
