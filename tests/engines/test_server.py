"""The server engine against stand-ins that speak vLLM's format on loopback, and once against a real server."""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from judgelab.engines.base import Choice, Completion, FreeText, Output, Request, Sampling
from judgelab.engines.serve import server_arguments
from judgelab.engines.server import ServerEngine
from judgelab.errors import EngineError, PromptTooLong, RequestError
from judgelab.judge import Judge
from judgelab.records import Message
from judgelab.settings import ServerConfig

AB = Choice(("A", "B"), ("CORRECT", "INCORRECT"))
Reply = tuple[int, Any]


def ask(output: Output = AB, question: str = "Hello", max_tokens: int = 1) -> Request:
    return Request((Message("user", question),), output, Sampling(max_tokens), "test")


def constrained(body: dict[str, Any]) -> Reply:
    """What a server that honours structured_outputs says."""
    wanted = body.get("structured_outputs", {})
    text = wanted["choice"][0] if "choice" in wanted else '"zq"' if "json" in wanted else "Hello there"
    choice: dict[str, Any] = {"text": text, "finish_reason": "length" if "choice" in wanted else "stop"}
    if tokens := body.get("logprob_token_ids"):
        assert body["return_tokens_as_token_ids"]
        choice["logprobs"] = {"top_logprobs": [{f"token_id:{t}": -1.0 - i for i, t in enumerate(tokens)}]}
    usage = {"completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 16}}
    return 200, {"choices": [choice], "usage": usage}


class StandIn:
    """A server on loopback; `behave` answers a completion, `asked` keeps what was asked."""

    def __init__(self) -> None:
        self.behave: Callable[[dict[str, Any]], Reply] = constrained
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.loading_until = 0.0
        self.models: object = [{"id": "made-up", "root": "/models/served", "max_model_len": 4096}]
        stand_in = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                loading = time.monotonic() < stand_in.loading_until
                self.answer((503, {}) if loading else (200, {"data": stand_in.models}))

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                stand_in.asked.append(body)
                stand_in.keys.append(self.headers["Authorization"])
                self.answer(stand_in.behave(body))

            def answer(self, reply: Reply) -> None:
                data = json.dumps(reply[1]).encode()
                self.send_response(reply[0])
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def judged(self) -> list[dict[str, Any]]:
        """The requests that were no probe."""
        return [body for body in self.asked if "json" not in body.get("structured_outputs", {})]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def servers() -> Iterator[list[StandIn]]:
    both = [StandIn(), StandIn()]
    yield both
    for server in both:
        server.close()


@pytest.fixture
def complete(make_judge) -> Callable[..., list[Completion]]:
    """Answers of a fresh engine on these endpoints to requests asked all at once."""
    judge = make_judge(max_model_len=2048)

    def run(endpoints: list[str], *requests: Request, **settings: Any) -> list[Completion]:
        async def session() -> list[Completion]:
            engine = ServerEngine(judge, ServerConfig(endpoints=endpoints, **settings), 0)
            try:
                return await asyncio.gather(*(engine.complete(r) for r in requests))
            finally:
                await engine.close()

        return asyncio.run(session())

    return run


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.parametrize(
    "card",
    [
        {"id": "made-up"},
        {"id": "/elsewhere/weights/tiny", "root": "/elsewhere/weights/tiny"},
        {"id": "acme/tiny-7b"},
        {"id": "x", "root": "/hub/models--acme--tiny-7b/snapshots/abc"},
    ],
)
def test_a_server_may_call_our_weights_by_several_names(card):
    judge = Judge("made-up", Path("/weights/tiny"), "w", model="acme/tiny-7b")
    assert judge.is_served_as(card["id"], card.get("root", ""))
    assert not Judge("other", Path("/weights/large"), "w", model="acme/large-70b").is_served_as(*card.values())


def test_a_server_of_another_model_is_refused_and_of_several_ours_is_asked(servers, complete):
    servers[0].models = [{"id": "meta/Other-70B", "root": "/models/other"}]
    with pytest.raises(EngineError, match=r"serves meta/Other-70B \(from /models/other\), not judge=made-up") as caught:
        complete([servers[0].url], ask())
    assert "--served-model-name made-up" in str(caught.value)
    assert not servers[0].asked, "it was asked all the same"
    servers[0].models = [{"id": "meta/Other-70B"}, {"id": "made-up", "root": "/x"}]
    complete([servers[0].url], ask())
    assert {body["model"] for body in servers[0].asked} == {"made-up"}


@pytest.mark.parametrize(
    ("models", "told"),
    [
        ([], "no list of models"),
        (None, "no list of models"),
        ({"id": "made-up"}, "no list of models"),
        ([7], "a model without an id"),
        ([{"root": "made-up"}], "a model without an id"),
        ([{"id": "made-up", "max_model_len": "x"}], "max_model_len 'x' of made-up"),
        ([{"id": "made-up", "max_model_len": -1}], "max_model_len '-1' of made-up"),
    ],
)
def test_a_malformed_list_of_models_is_one_line(servers, complete, models, told):
    servers[0].models = models
    with pytest.raises(EngineError) as caught:
        complete([servers[0].url], ask())
    assert told in str(caught.value)
    assert servers[0].url in str(caught.value)


def test_a_verdict_over_http(servers, complete):
    (done,) = complete([servers[0].url + "/v1"], ask())
    assert (done.text, done.finish_reason, done.cached_tokens) == ("A", "stop", 16)
    assert done.probabilities == pytest.approx({"A": 0.7311, "B": 0.2689}, abs=1e-4)
    (body,) = servers[0].judged()
    assert body["model"] == "made-up"
    assert body["structured_outputs"] == {"choice": ["A", "B"]}
    assert all(isinstance(token, int) for token in body["prompt"])
    assert (body["max_tokens"], body["repetition_penalty"], body["top_k"]) == (1, 1.0, 0)


def test_requests_are_spread_over_the_servers(servers, complete):
    complete([s.url for s in servers], *(ask(question=f"Q{i}") for i in range(40)))
    counts = [len(s.judged()) for s in servers]
    assert sum(counts) == 40
    assert min(counts) > 0


def test_the_key_is_sent_and_comes_from_the_environment(servers, complete, monkeypatch):
    monkeypatch.setenv("MY_KEY", "secret-1")
    complete([servers[0].url], ask(), api_key_env="MY_KEY")
    assert set(servers[0].keys) == {"Bearer secret-1"}


def test_a_server_that_ignores_the_grammar_is_refused(servers, complete):
    servers[0].behave = lambda body: (200, {"choices": [{"text": "Sure!", "finish_reason": "stop"}]})
    with pytest.raises(EngineError, match=r"ignored structured_outputs.*Sure!"):
        complete([servers[0].url], ask())
    assert servers[0].judged() == []


@pytest.mark.parametrize("status", [500, 502, 503])
def test_a_failure_of_the_server_is_tried_again(servers, complete, status):
    failures = [status, status]

    def behave(body: dict[str, Any]) -> Reply:
        if "choice" in body.get("structured_outputs", {}) and failures:
            return failures.pop(), {"error": {"message": "busy"}}
        return constrained(body)

    servers[0].behave = behave
    (done,) = complete([servers[0].url], ask())
    assert done.text == "A"
    assert len(servers[0].judged()) == 3


def test_a_request_that_always_breaks_the_server_fails_alone_after_bounded_tries(servers, complete):
    def behave(body: dict[str, Any]) -> Reply:
        return constrained(body) if "json" in body.get("structured_outputs", {}) else (500, {"error": "boom"})

    servers[0].behave = behave
    with pytest.raises(RequestError, match=r"4 tries failed.*HTTP 500 boom"):
        complete([servers[0].url], ask())
    assert len(servers[0].judged()) == 4


def test_a_failed_server_hands_over_to_the_other(servers, complete):
    def dies_on_verdicts(body: dict[str, Any]) -> Reply:
        return constrained(body) if "json" in body.get("structured_outputs", {}) else (503, {})

    servers[0].behave = dies_on_verdicts
    done = complete([s.url for s in servers], *(ask(question=f"Q{i}") for i in range(12)))
    assert [d.text for d in done] == ["A"] * 12
    assert len(servers[1].judged()) == 12


def test_one_server_that_is_down_does_not_hold_up_the_other(servers, complete):
    start = time.monotonic()
    complete([f"http://127.0.0.1:{free_port()}", servers[0].url], ask(), start_timeout=60)
    assert time.monotonic() - start < 10


def test_nobody_there_names_the_knob_and_every_endpoint(complete):
    url = f"http://127.0.0.1:{free_port()}"
    with pytest.raises(EngineError, match=rf"{url}.*engine\.endpoints") as caught:
        complete([url], ask(), start_timeout=0.5)
    assert "\n" not in str(caught.value)


def test_a_loading_server_is_waited_for(servers, complete):
    servers[0].loading_until = time.monotonic() + 1.0
    assert complete([servers[0].url], ask(), start_timeout=30)[0].text == "A"


@pytest.mark.parametrize(
    ("status", "said", "error", "says"),
    [
        (400, "This model's maximum context length is 64 tokens.", PromptTooLong, "does not fit"),
        (400, "Grammar error\nat line 2", RequestError, "HTTP 400 Grammar error at line 2"),
        (404, "no such model", RequestError, "HTTP 404 no such model"),
        (401, "who are you", EngineError, "engine.api_key_env"),
    ],
)
def test_a_refusal_is_not_tried_again(servers, complete, status, said, error, says):
    def behave(body: dict[str, Any]) -> Reply:
        if "json" in body.get("structured_outputs", {}):
            return constrained(body)
        return status, {"error": {"message": said}}

    servers[0].behave = behave
    with pytest.raises(error, match=re.escape(says)) as caught:
        complete([servers[0].url], ask())
    assert "\n" not in str(caught.value)
    assert len(servers[0].judged()) == 1


def test_a_prompt_beyond_the_context_is_found_before_it_is_sent(servers, complete):
    with pytest.raises(PromptTooLong) as caught:
        complete([servers[0].url], ask(FreeText(), max_tokens=2040))
    assert caught.value.limit == 2048
    assert servers[0].judged() == []


@pytest.mark.parametrize("answer", [{}, {"choices": []}, {"choices": [{"text": "A", "logprobs": 7}]}, []])
def test_an_answer_in_another_format_is_one_failed_request(servers, complete, answer):
    servers[0].behave = lambda body: (
        constrained(body) if "json" in body.get("structured_outputs", {}) else (200, answer)
    )
    with pytest.raises(RequestError) as caught:
        complete([servers[0].url], ask())
    assert "\n" not in str(caught.value)


# ---------------------------------------------------------------- starting one


@pytest.mark.parametrize(
    ("given", "cpu", "there", "absent"),
    [
        ([], True, ["--enforce-eager", "--kv-cache-memory-bytes", "--no-enable-chunked-prefill"], []),
        ([], False, ["--structured-outputs-config"], ["--enforce-eager", "--no-enable-chunked-prefill"]),
        (["--enable-chunked-prefill"], True, [], ["--no-enable-chunked-prefill"]),
        (["--no-enforce-eager"], True, [], ["--enforce-eager"]),
        (["--structured-outputs-config.backend=guidance"], True, [], ["--structured-outputs-config"]),
    ],
)
def test_what_the_caller_passes_wins(monkeypatch, given, cpu, there, absent):
    monkeypatch.delenv("VLLM_CPU_KVCACHE_SPACE", raising=False)
    arguments = server_arguments(["model", *given], cpu)
    assert arguments[:2] == ["--model", "model"]
    assert set(there) <= set(arguments)
    assert not set(absent) & set(arguments)


@pytest.mark.vllm
def test_a_real_server_answers_with_verdicts(embedded_judge, tmp_path):
    port = free_port()
    command = [sys.executable, "-m", "judgelab.engines.serve", str(embedded_judge.path), "--port", str(port)]
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with Path(tmp_path / "serve.log").open("wb") as log:
        server = subprocess.Popen([*command, "--max-model-len", "1024"], env=environ, stdout=log, stderr=log)

    async def session() -> list[Completion]:
        settings = ServerConfig(endpoints=[f"http://127.0.0.1:{port}"], start_timeout=300)
        engine = ServerEngine(embedded_judge, settings, 0)
        try:
            free = Choice(AB.labels, AB.meanings, constrained=False)
            return await asyncio.gather(
                *(engine.complete(ask(output, "Is snow white? A: yes, B: no.")) for output in (AB, free)),
                engine.complete(ask(FreeText(), "Count to nine.", max_tokens=4)),
            )
        finally:
            told.update(engine.describe())
            await engine.close()

    told: dict[str, str] = {}
    try:
        forced, free, text = asyncio.run(session())
    finally:
        server.terminate()
        server.wait(60)
    assert forced.text in AB.labels
    assert sum(forced.probabilities.values()) == pytest.approx(1)
    assert 0 < sum(free.probabilities.values()) < 1
    assert (text.finish_reason, text.generated_tokens) == ("length", 4)
    assert told["max_model_len"] == "1024"
