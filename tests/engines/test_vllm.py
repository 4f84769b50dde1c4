"""The real vLLM with the embedded judge. Starts cost the better part of a minute: one engine serves the module."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from judgelab.engines.base import Choice, Completion, FreeText, Output, Request, Sampling, Schema
from judgelab.engines.vllm import VllmEngine, last_error
from judgelab.errors import EngineError, PromptTooLong, RequestError
from judgelab.judge import Judge
from judgelab.records import Message, canonical_json
from judgelab.settings import VllmConfig

AB = Choice(("A", "B"), ("CORRECT", "INCORRECT"))
SCHEMA = Schema(
    canonical_json(
        {
            "type": "object",
            "properties": {"verdict": {"enum": ["A", "B"]}},
            "required": ["verdict"],
            "additionalProperties": False,
        }
    )
)
RULES = "You compare an answer with a reference. " * 20


def ask(output: Output, question: str = "Is 2 + 2 = 4? A: yes, B: no.", **sampling: float) -> Request:
    sampling.setdefault("max_tokens", 1)
    return Request((Message("user", question),), output, Sampling(**sampling), "test")


@pytest.fixture(scope="module")
def engine(embedded_judge: Judge, tmp_path_factory: pytest.TempPathFactory) -> Iterator[VllmEngine]:
    log = tmp_path_factory.mktemp("vllm") / "engine.log"
    engine = VllmEngine(embedded_judge, VllmConfig(), log, seed=0)
    yield engine
    asyncio.run(engine.close())


@pytest.fixture
def answer(engine: VllmEngine) -> Callable[..., list[Completion]]:
    """Answers of requests asked all at once, each time from a new event loop."""

    def run(*requests: Request) -> list[Completion]:
        async def all_at_once() -> list[Completion]:
            return await asyncio.gather(*(engine.complete(r) for r in requests))

        return asyncio.run(all_at_once())

    return run


@pytest.mark.vllm
def test_a_label_comes_with_probabilities_over_the_labels(answer):
    forced, free = answer(ask(AB), ask(Choice(AB.labels, AB.meanings, constrained=False)))
    assert forced.text in AB.labels
    assert (forced.finish_reason, forced.generated_tokens) == ("stop", 1)
    assert sum(forced.probabilities.values()) == pytest.approx(1)
    assert max(forced.probabilities, key=forced.probabilities.get) == forced.text
    mass = sum(free.probabilities.values())
    assert 0 < mass < 1
    assert forced.probabilities["A"] == pytest.approx(free.probabilities["A"] / mass, abs=0.02)


@pytest.mark.vllm
def test_json_follows_the_schema_without_whitespace(answer):
    (completion,) = answer(ask(SCHEMA, max_tokens=40))
    assert completion.text == json.dumps(json.loads(completion.text), separators=(",", ":"))
    assert json.loads(completion.text)["verdict"] in ("A", "B")
    assert completion.finish_reason == "stop"


@pytest.mark.vllm
def test_truncation_and_stop_strings(answer):
    story, marks = "Tell me a story.", (" ", "\n", ",", ".")
    cut, whole = answer(ask(FreeText(), story, max_tokens=5), ask(FreeText(marks), story, max_tokens=100))
    assert (cut.finish_reason, cut.generated_tokens) == ("length", 5)
    assert whole.finish_reason == "stop"
    assert not any(mark in whole.text for mark in marks)
    assert cut.text.startswith(whole.text)


@pytest.mark.vllm
def test_draws_of_one_request_differ(answer):
    draws = answer(*(ask(FreeText(), "Tell me a story.", max_tokens=24, temperature=1.0, sample=i) for i in range(3)))
    assert len({draw.text for draw in draws}) == 3


@pytest.mark.vllm
def test_draws_of_more_prompts_than_one_batch_holds(answer):
    long = " ".join(f"fact {k} of many." for k in range(200))  # 10 of these are more tokens than a batch takes
    requests = [
        ask(FreeText(), f"{n}. {long} Is this true?", max_tokens=2, temperature=0.9, sample=n) for n in range(10)
    ]
    draws = answer(*requests)
    assert sum(each.prompt_tokens for each in draws) > 8192
    assert all(each.text for each in draws)


@pytest.mark.vllm
def test_a_long_prompt_and_a_bad_schema_fail_alone(engine):
    async def three() -> list[Completion | BaseException]:
        requests = (
            ask(AB, "word " * 3000),
            ask(Schema('{"type": "no such type"}'), max_tokens=9),
            ask(AB),
        )
        return await asyncio.gather(*(engine.complete(r) for r in requests), return_exceptions=True)

    too_long, bad, good = asyncio.run(three())
    assert isinstance(too_long, PromptTooLong)
    assert too_long.limit == 2048
    assert isinstance(bad, RequestError)
    assert "\n" not in str(bad)
    assert good.text in AB.labels


@pytest.mark.vllm
def test_many_at_once_share_their_prefix_and_answer_as_one_by_one(answer):
    requests = [ask(AB, f"{RULES}Is {i} + {i} = {2 * i}? A: yes, B: no.") for i in range(48)]
    together = answer(*requests)
    (alone,) = answer(requests[17])
    assert alone.text == together[17].text
    assert alone.cached_tokens > 100
    assert sum(c.cached_tokens > 100 for c in together) > 24


@pytest.mark.vllm
def test_job_signals_to_every_process_leave_requests_in_flight_alone(engine):
    async def signalled() -> list[Completion]:
        asked = [asyncio.create_task(engine.complete(ask(FreeText(), f"Story {i}?", max_tokens=48))) for i in range(8)]
        await asyncio.sleep(0.3)
        for process in psutil.Process().children(recursive=True):
            for number in (signal.SIGUSR1, signal.SIGUSR2):
                process.send_signal(number)
        assert not any(task.done() for task in asked)
        return await asyncio.gather(*asked)

    assert len(asyncio.run(signalled())) == 8


@pytest.mark.vllm
def test_a_cancelled_request_is_forgotten(engine):
    async def cancelled() -> Completion:
        task = asyncio.create_task(engine.complete(ask(FreeText(), "A long story?", max_tokens=1500)))
        await asyncio.sleep(0.5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return await asyncio.wait_for(engine.complete(ask(AB)), 20)

    assert asyncio.run(cancelled()).text in AB.labels


@pytest.mark.vllm
def test_describe_says_what_runs(engine, answer):
    answer(ask(AB))
    told = engine.describe()
    assert told["max_model_len"] == "2048"
    assert told["backend"] == "xgrammar"
    assert told["system_role"] == "native"
    assert told["vllm"].split()[1].startswith("0.32")
    assert {"device", "build", "torch", "template"} <= set(told)


@pytest.mark.vllm
def test_a_worker_that_is_killed_is_told_as_such(script_env, tmp_path):
    code = (
        "import asyncio, os, psutil\nfrom pathlib import Path\n"
        "from judgelab.engines.vllm import VllmEngine\nfrom judgelab.judge import Judge\n"
        "from judgelab.settings import VllmConfig\n"
        "from judgelab.engines.base import FreeText, Request, Sampling\nfrom judgelab.records import Message\n"
        "judge = Judge('j', Path(os.environ['JUDGE_PATH']), 'w', max_model_len=512)\n"
        "engine = VllmEngine(judge, VllmConfig(), Path('engine.log'), 0)\n"
        "ask = Request((Message('user', 'Count to a thousand.'),), FreeText(), Sampling(400), 'test')\n"
        "async def main():\n"
        "    task = asyncio.create_task(engine.complete(ask))\n"
        "    while not (engine._link and psutil.Process(engine._link.pid).children()):\n"
        "        await asyncio.sleep(0.05)\n"
        "    psutil.Process(engine._link.pid).children()[0].kill()\n"
        "    try:\n        await task\n    except Exception as error:\n        print(error)\n"
        "asyncio.run(main())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=script_env, cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert "its process was killed by SIGKILL (out of memory?); see" in done.stdout, done.stderr[-2000:]


@pytest.mark.vllm
def test_a_dead_engine_fails_what_waits_and_what_comes(engine, all_gone):
    # The last one on the shared engine: it does not come back.
    tree = psutil.Process(engine._link.pid).children(recursive=True)
    cores = [p for p in tree if "EngineCore" in f"{p.name()} {p.cmdline()}"]
    assert cores

    # A grammar with one long way through, so that no answer is finished by the time the engine is killed.
    schema = {"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 150, "maxItems": 150}

    async def asked(then: Callable[[], object]) -> list[Completion | BaseException]:
        requests = [ask(Schema(canonical_json(schema)), f"Numbers {i}?", max_tokens=1000) for i in range(3)]
        tasks = [asyncio.create_task(engine.complete(request)) for request in requests]
        await asyncio.sleep(0.5)
        then()
        return await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 60)

    waiting = asyncio.run(asked(lambda: [core.kill() for core in cores]))
    assert all_gone([process.pid for process in tree], 5)
    for error in [*waiting, *asyncio.run(asked(lambda: None))]:
        assert isinstance(error, EngineError)
        assert "engine.log" in str(error)
        assert "\n" not in str(error)


# ---------------------------------------------------------------- starts that end badly


@pytest.mark.vllm
def test_a_start_that_fails_is_one_line_with_the_log(embedded_judge, tmp_path):
    engine = VllmEngine(embedded_judge, VllmConfig(args={"quantization": "awq"}), tmp_path / "engine.log", 0)

    async def start() -> None:
        try:
            await engine.complete(ask(AB))
        finally:
            await engine.close()

    with pytest.raises(EngineError, match=r"did not start.*(awq|quantization).*engine\.log") as caught:
        asyncio.run(start())
    assert "\n" not in str(caught.value)


def test_close_of_an_engine_that_never_started(make_judge, tmp_path):
    engine = VllmEngine(make_judge(), VllmConfig(), tmp_path / "engine.log", 0)

    async def close_twice() -> None:
        await engine.close()
        await engine.close()
        with pytest.raises(EngineError, match="closed"):
            await engine.complete(ask(AB))

    asyncio.run(close_twice())
    assert engine.describe() == {}
    assert not (tmp_path / "engine.log").exists()


LOG = """INFO 01-01 all is well
(Worker pid=9) ValueError: no room for the cache
(EngineCore pid=7) ERROR 01-01 00:00:00 [core.py:9] RuntimeError: Worker failed with 'no room', see the stack
Traceback (most recent call last):
RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}
"""


@pytest.mark.parametrize(
    ("log", "cause"),
    [
        ("", None),
        ("INFO 01-01 Error: none", None),
        (LOG, "RuntimeError: Worker failed with 'no room', see the stack"),
        ("pydantic_core._pydantic_core.ValidationError: 1 error", "ValidationError: 1 error"),
        ("vllm.v1.engine.exceptions.EngineDeadError: dead", None),
    ],
)
def test_the_cause_in_the_log_is_the_last_error_that_is_not_a_pointer(log, cause):
    assert last_error(log) == cause


# ---------------------------------------------------------------- without a main guard

SCRIPT = """
import asyncio, os, sys, time
from pathlib import Path
from judgelab.engines.base import Choice, Request, Sampling
from judgelab.engines.vllm import VllmEngine
from judgelab.judge import Judge
from judgelab.records import Message
from judgelab.settings import VllmConfig

judge = Judge("j", Path(os.environ["JUDGE_PATH"]), "w", max_model_len=512)
request = Request(
    (Message("user", "Is snow white? A: yes, B: no."),), Choice(("A", "B"), ("x", "y")), Sampling(1), "test"
)
engine = VllmEngine(judge, VllmConfig(kv_cache_gib=0.25), Path(os.environ["ENGINE_LOG"]), 0)

async def main():
    print(sum((await engine.complete(request)).probabilities.values()), flush=True)
    if "stay" in sys.argv:
        time.sleep(600)
    await engine.close()

asyncio.run(main())
"""


@pytest.fixture
def script_env(embedded_judge: Judge, tmp_path: Path) -> dict[str, str]:
    """For a child process, with a torchvision of another torch build in the way."""
    broken = tmp_path / "site" / "torchvision"
    broken.mkdir(parents=True)
    (broken / "__init__.py").write_text("raise RuntimeError('operator torchvision::nms does not exist')")
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(broken.parent), *filter(None, sys.path)]),
        "JUDGE_PATH": str(embedded_judge.path),
        "ENGINE_LOG": str(tmp_path / "engine.log"),
    }


@pytest.mark.vllm
def test_a_plain_script_killed_leaves_no_engine(script_env, tmp_path, all_gone):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    owner = subprocess.Popen(
        [sys.executable, str(script), "stay"],
        env=script_env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert owner.stdout is not None
    assert float(owner.stdout.readline()) == pytest.approx(1)
    tree = [p.pid for p in psutil.Process(owner.pid).children(recursive=True)]
    assert len(tree) >= 3  # supervisor, worker, engine
    owner.kill()
    assert all_gone(tree, 3)
    assert owner.communicate()[1] == ""


@pytest.mark.vllm
def test_from_standard_input_and_closed_without_noise(script_env):
    done = subprocess.run(
        [sys.executable, "-"], input=SCRIPT, env=script_env, capture_output=True, text=True, timeout=300
    )
    assert float(done.stdout) == pytest.approx(1)
    assert (done.returncode, done.stderr) == (0, "")
    log = Path(script_env["ENGINE_LOG"]).read_text()
    assert "Traceback" not in log
