"""The transformers engine on the embedded judge: one engine for the module, since each takes seconds to load."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from judgelab.engines.base import Choice, Completion, FreeText, Request, Sampling, Schema, probe_request
from judgelab.engines.transformers import TransformersEngine, _kind, _pick
from judgelab.errors import EngineError, PromptTooLong
from judgelab.judge import Judge
from judgelab.records import Message, canonical_json
from judgelab.settings import TransformersConfig

LABELS = Choice(("A", "B", "C"), ("CORRECT", "INCORRECT", "NOT_ATTEMPTED"))
QUESTIONS = (
    ("What is the capital of France?", "Paris", "It is Paris."),
    ("Who wrote Hamlet?", "William Shakespeare", "Christopher Marlowe wrote it."),
    ("How many legs has a spider?", "eight", "I do not know."),
    ("Which metal is liquid at room temperature?", "mercury", "Mercury, also called quicksilver, is liquid."),
    ("What is the largest planet?", "Jupiter", "Saturn."),
    ("In which year did the Berlin Wall fall?", "1989", "The wall came down in 1989, " + "as is well known, " * 12),
    ("What gas do plants take in?", "carbon dioxide", "Oxygen."),
    ("Who painted the Mona Lisa?", "Leonardo da Vinci", "Leonardo da Vinci painted it around 1503."),
)


def ask(text: str, output: Choice | Schema | FreeText, **sampling: float) -> Request:
    return Request((Message("user", text),), output, Sampling(**{"max_tokens": 1, **sampling}), "test")


def verdict(question: str, reference: str, candidate: str) -> Request:
    return ask(
        f"Question: {question}\nReference: {reference}\nAnswer: {candidate}\n"
        "Reply A if the answer matches the reference, B if it does not, C if no answer is attempted.",
        LABELS,
    )


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    loop = asyncio.new_event_loop()
    yield loop
    loop.close()


@pytest.fixture(scope="module")
def engine(loop: asyncio.AbstractEventLoop, embedded_judge: Judge) -> Iterator[TransformersEngine]:
    engine = TransformersEngine(embedded_judge, TransformersConfig(batch_size=8, device="cpu"), seed=7)
    yield engine
    loop.run_until_complete(engine.close())


@pytest.fixture
def complete(loop: asyncio.AbstractEventLoop, engine: TransformersEngine):
    """Answers of requests asked at the same time; exceptions are returned in their place."""

    def run(*requests: Request) -> list[Completion]:
        async def gather() -> list[Completion]:
            return await asyncio.gather(*map(engine.complete, requests), return_exceptions=True)

        return loop.run_until_complete(gather())

    return run


def test_labels_are_the_same_alone_and_in_a_batch(complete) -> None:
    requests = [verdict(*row) for row in QUESTIONS]
    together = complete(*requests)
    alone = [complete(request)[0] for request in requests]
    assert [c.text for c in together] == [c.text for c in alone]
    for a, b in zip(together, alone, strict=True):
        assert set(a.probabilities) == set(LABELS.labels)
        assert sum(a.probabilities.values()) == pytest.approx(1)
        assert a.text == max(a.probabilities, key=a.probabilities.get)
        assert a.probabilities == pytest.approx(b.probabilities, abs=0.1)
        assert (a.prompt_tokens, a.generated_tokens) == (b.prompt_tokens, 1)
        assert a.seconds > 0
    assert len({c.prompt_tokens for c in together}) > 1


def test_unconstrained_choice_gives_raw_mass(complete) -> None:
    constrained, free = complete(
        verdict(*QUESTIONS[0]), replace(verdict(*QUESTIONS[0]), output=replace(LABELS, constrained=False))
    )
    mass = sum(free.probabilities.values())
    assert 0 < mass < 1
    scaled = {label: p / mass for label, p in free.probabilities.items()}
    assert scaled == pytest.approx(constrained.probabilities, abs=0.02)


def test_probe_binds(complete) -> None:
    [probe] = complete(probe_request())
    assert (probe.text, probe.finish_reason) == ('"zq"', "stop")
    assert 1 < probe.generated_tokens <= 16


def test_schema_with_enum_binds_exactly_in_a_batch(complete) -> None:
    schema = canonical_json(
        {
            "type": "object",
            "properties": {"verdict": {"enum": ["CORRECT", "INCORRECT"]}, "sure": {"type": "boolean"}},
            "required": ["verdict", "sure"],
            "additionalProperties": False,
        }
    )
    answers = complete(*(ask(verdict(*q).messages[0].content, Schema(schema), max_tokens=40) for q in QUESTIONS[:3]))
    for answer in answers:
        value = json.loads(answer.text)
        assert answer.text == json.dumps(value, separators=(",", ":")), "spacing is not the model's to choose"
        assert set(value) == {"verdict", "sure"}
        assert value["verdict"] in ("CORRECT", "INCORRECT")
        assert answer.finish_reason == "stop"


def test_schema_cut_by_its_cap_says_length(complete) -> None:
    schema = canonical_json({"type": "object", "properties": {"why": {"type": "string"}}, "required": ["why"]})
    [answer] = complete(ask("Explain tides at length.", Schema(schema), max_tokens=6))
    assert (answer.finish_reason, answer.generated_tokens) == ("length", 6)


def test_too_long_prompt_fails_alone(complete) -> None:
    good = verdict(*QUESTIONS[0])
    first, long, last = complete(good, verdict("Why?", "because " * 3000, "no"), good)
    assert isinstance(long, PromptTooLong)
    assert long.prompt_tokens > 2048 == long.limit
    assert first.text == last.text
    assert first.text in LABELS.labels


def test_free_text_stops_before_the_stop_string(complete) -> None:
    question = "Count from one to ten in digits, separated by commas."
    [whole] = complete(ask(question, FreeText(), max_tokens=24))
    marker = whole.text[6:9]
    assert marker.strip()
    [cut] = complete(ask(question, FreeText((marker,)), max_tokens=24))
    assert cut.text == whole.text[: whole.text.index(marker)]
    assert cut.finish_reason == "stop"
    assert cut.generated_tokens < whole.generated_tokens


def test_special_token_can_be_the_stop_string(complete) -> None:
    # The end-of-turn token is invisible in decoded text, as are the channel markers of some reasoning models.
    [answer] = complete(ask("What is the capital of France?", FreeText(("<|im_end|>",)), max_tokens=60))
    assert answer.finish_reason == "stop"
    assert "<|" not in answer.text
    assert "Paris" in answer.text


def test_lengths_are_counted_to_each_rows_own_end(complete) -> None:
    short = ask("What is the capital of France? Answer in one word.", FreeText(), max_tokens=48)
    long = ask("Tell a very long story about a fox and a crow.", FreeText(), max_tokens=48)
    a, b = complete(short, long)
    assert (a.finish_reason, b.finish_reason) == ("stop", "length")
    assert a.generated_tokens < b.generated_tokens == 48


def test_sampling_depends_on_the_request_alone(complete) -> None:
    def draw(sample: int) -> Request:
        return ask("Name an animal and say why you like it.", FreeText(), max_tokens=16, temperature=1.0, sample=sample)

    first, other = complete(draw(0), draw(1))
    again = complete(verdict(*QUESTIONS[0]), draw(1), draw(0), draw(2))
    assert first.text == again[2].text
    assert other.text == again[1].text
    assert len({first.text, other.text, again[3].text}) > 1


def test_sampled_labels_follow_their_probabilities(complete) -> None:
    request = verdict(*QUESTIONS[1])
    draws = complete(*(replace(request, sampling=Sampling(1, temperature=1.0, sample=i)) for i in range(40)), request)
    greedy = draws.pop()
    top = greedy.probabilities[greedy.text]
    share = sum(d.text == greedy.text for d in draws) / len(draws)
    assert abs(share - top) < 0.3
    assert {d.text for d in draws} <= set(LABELS.labels)
    nucleus = replace(request, sampling=Sampling(1, temperature=1.0, top_p=0.01, sample=5))
    assert complete(nucleus)[0].text == greedy.text


def test_identity_is_known_before_loading_and_describes_after(embedded_judge: Judge, engine, complete) -> None:
    idle = TransformersEngine(embedded_judge, TransformersConfig(batch_size=1), seed=7)
    assert idle.describe() == {}
    assert idle.identity == engine.identity
    assert idle.identity != TransformersEngine(embedded_judge, TransformersConfig(), seed=8).identity
    complete(probe_request())
    assert engine.describe()["device"] == "cpu"


@pytest.mark.parametrize(
    ("judge", "settings", "says"),
    [
        ({}, {"device": "gpu0"}, "engine.device=gpu0"),
        ({"quantization": "fp8"}, {}, "judge.quantization"),
        ({"max_model_len": 8}, {}, "judge.max_model_len"),
    ],
)
def test_what_cannot_start_says_so_in_one_line(embedded_judge: Judge, judge, settings, says: str) -> None:
    async def start() -> None:
        engine = TransformersEngine(replace(embedded_judge, **judge), TransformersConfig(**settings), seed=0)
        try:
            for _ in range(2):
                with pytest.raises(EngineError, match=says) as caught:
                    await engine.complete(probe_request())
                assert "\n" not in str(caught.value)
        finally:
            await engine.close()

    asyncio.run(start())


def test_close_fails_what_waits_and_what_comes(embedded_judge: Judge) -> None:
    async def run() -> None:
        engine = TransformersEngine(embedded_judge, TransformersConfig(device="cpu"), seed=0)
        long = ask("Tell a very long story.", FreeText(), max_tokens=1500)
        waiting = asyncio.ensure_future(engine.complete(long))
        await engine.complete(verdict(*QUESTIONS[0]))
        await asyncio.sleep(0.3)  # the long one is being generated now
        assert not waiting.done()
        await engine.close()
        with pytest.raises(EngineError, match="closed"):
            await waiting
        with pytest.raises(EngineError, match="closed"):
            await engine.complete(long)
        await engine.close()

    asyncio.run(run())


def test_never_started_closes() -> None:
    judge = Judge("none", path=None, weights_id="x")  # type: ignore[arg-type]
    asyncio.run(TransformersEngine(judge, TransformersConfig(), seed=0).close())


def test_out_of_memory_names_the_batch_size(embedded_judge: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    from judgelab.engines.torch_model import TorchModel

    async def run() -> None:
        engine = TransformersEngine(embedded_judge, TransformersConfig(batch_size=4, device="cpu"), seed=0)
        await engine.complete(verdict(*QUESTIONS[0]))

        def fail(*_: object) -> None:
            raise RuntimeError("CUDA out of memory. Tried to allocate 20 GiB\nmore")

        monkeypatch.setattr(TorchModel, "answer", fail)
        asked = [engine.complete(verdict(*row)) for row in QUESTIONS]
        for answer in await asyncio.gather(*asked, return_exceptions=True):
            assert isinstance(answer, EngineError)
            assert "engine.batch_size (now 4)" in str(answer)
        await engine.close()

    asyncio.run(run())


def test_batches_hold_the_oldest_and_its_neighbours_in_length() -> None:
    class Job:
        def __init__(self, length: int, kind: str) -> None:
            self.length, self.kind = length, kind

    jobs = [Job(50, "a"), Job(1, "b"), *(Job(n, "a") for n in (10, 90, 40, 60, 45))]
    assert [job.length for job in _pick(jobs, 3)] == [45, 50, 60]
    assert [job.length for job in _pick(jobs[1:], 3)] == [1]
    assert [job.length for job in _pick(jobs, 99)] == [10, 40, 45, 50, 60, 90]


def test_what_may_share_a_batch() -> None:
    label = verdict(*QUESTIONS[0])
    other = replace(label, output=replace(LABELS, constrained=False))
    sampled = replace(label, sampling=Sampling(1, temperature=0.7))
    text = ask("x", FreeText(("a",)), max_tokens=5)
    assert _kind(label) == _kind(other)
    assert _kind(sampled) != _kind(sampled)
    assert _kind(text) == _kind(replace(text, purpose="y"))
    assert _kind(text) != _kind(replace(text, output=FreeText(("b",))))
    assert _kind(text) != _kind(replace(text, sampling=Sampling(6)))
