from __future__ import annotations

import asyncio
import json
import time

import pytest

from judgelab.engines.base import Choice, Completion, Facts, FreeText, Output, Request, Sampling, Schema, probe_request
from judgelab.engines.scripted import ScriptedEngine
from judgelab.errors import RequestError, UsageError
from judgelab.records import Message
from judgelab.settings import ScriptedConfig

GRADES = Choice(("A", "B", "C"), ("CORRECT", "INCORRECT", "NOT_ATTEMPTED"))
MATCH = Facts(reference="the Paris", candidate="paris", memory="Rome")
CLASH = Facts(reference="Paris", candidate="Rome", memory="Rome")


def ask(rule: str, output: Output, facts: Facts | None = MATCH, text: str = "x", seed: int = 0) -> Completion:
    engine = ScriptedEngine(ScriptedConfig(rule=rule), seed)
    return asyncio.run(engine.complete(Request((Message("user", text),), output, Sampling(8), "grade", "", facts)))


@pytest.mark.parametrize(
    ("rule", "match", "clash"),
    [("follows_reference", "A", "B"), ("believes_memory", "B", "A"), ("always_a", "A", "A"), ("always_b", "B", "B")],
)
def test_rules_under_every_output(rule: str, match: str, clash: str) -> None:
    schema = Schema('{"properties":{"verdict":{"enum":["A","B","C"]}},"required":["verdict"],"type":"object"}')
    for facts, expected in ((MATCH, match), (CLASH, clash)):
        choice = ask(rule, GRADES, facts)
        assert choice.text == expected
        assert choice.probabilities is not None
        assert max(choice.probabilities, key=choice.probabilities.__getitem__) == expected
        assert sum(choice.probabilities.values()) == pytest.approx(1)
        assert json.loads(ask(rule, schema, facts).text) == {"verdict": expected}
        assert ask(rule, FreeText(), facts).text.endswith(f"\nFinal: {expected}")


def test_random_is_fair_and_depends_on_seed_and_request_alone() -> None:
    draws = [ask("random", GRADES, text=str(i)).text for i in range(400)]
    assert 160 < draws.count("A") < 240
    assert draws.count("A") + draws.count("B") == 400
    assert draws == [ask("random", GRADES, CLASH, text=str(i)).text for i in range(400)]
    assert draws != [ask("random", GRADES, text=str(i), seed=1).text for i in range(400)]
    assert ask("random", GRADES).probabilities == {"A": 0.5, "B": 0.5, "C": 0.0}


def test_text_stops_at_its_stop_and_says_what_it_is() -> None:
    text = ask("always_a", FreeText(("Final:",))).text
    assert "cripted" in text
    assert "Final" not in text
    assert ask("always_a", FreeText(("\n",)), None).text == text.strip()


@pytest.mark.parametrize(
    ("schema", "document"),
    [
        ({"const": "zq"}, "zq"),
        ({"enum": ["PERSON", "NAN"]}, "PERSON"),
        ({"type": "string", "minLength": 2}, "--"),
        ({"type": "array", "minItems": 2, "items": {"type": "integer", "minimum": 3}}, [3, 3]),
        ({"type": "array", "items": {"type": "integer"}}, []),
        ({"type": "object", "properties": {"a": {"type": "boolean"}, "b": {}}, "required": ["a"]}, {"a": False}),
        ({"$defs": {"N": {"type": "null"}}, "$ref": "#/$defs/N"}, None),
        ({"anyOf": [{"type": "number"}, {"type": "null"}]}, 0),
    ],
)
def test_smallest_documents(schema: dict[str, object], document: object) -> None:
    assert json.loads(ask("always_a", Schema(json.dumps(schema))).text) == document


def test_passes_the_grammar_probe() -> None:
    engine = ScriptedEngine(ScriptedConfig(), 0)
    assert json.loads(asyncio.run(engine.complete(probe_request())).text) == "zq"
    assert engine.describe() == {"engine": "scripted rule follows_reference, not a model"}


def test_a_schema_it_cannot_fill_is_a_request_error() -> None:
    with pytest.raises(RequestError, match="no document"):
        ask("always_a", Schema('{"type":"magic"}'))


def test_waits_its_latency() -> None:
    engine = ScriptedEngine(ScriptedConfig(latency=0.05), 0)
    started = time.monotonic()
    asyncio.run(engine.complete(probe_request()))
    assert time.monotonic() - started >= 0.05


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        (ScriptedConfig(rule="follow_reference"), "did you mean follows_reference"),
        (ScriptedConfig(rule="oracle"), "one of follows_reference, believes_memory"),
        (ScriptedConfig(latency=-1), "engine.latency"),
    ],
)
def test_refuses_what_it_does_not_know(settings: ScriptedConfig, match: str) -> None:
    with pytest.raises(UsageError, match=match):
        ScriptedEngine(settings, 0)


def test_identity_tells_what_changes_the_answers() -> None:
    def identity(rule: str, seed: int, latency: float = 0) -> str:
        return ScriptedEngine(ScriptedConfig(rule=rule, latency=latency), seed).identity.digest()

    assert identity("always_a", 0) == identity("always_a", 1, latency=1)
    assert identity("always_a", 0) != identity("always_b", 0)
    assert identity("random", 0) != identity("random", 1)
