"""vLLM as an engine: batching and prefix caching are vLLM's own, in a process tree that dies with us.

Invariant: nothing is loaded before the first request, and after `close`, or after our death, nothing is left.
"""

from __future__ import annotations

import asyncio
import os
import re
import threading
import time
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

from judgelab.engines.asking import (
    COMPACT_BACKENDS,
    PROBE_ANSWER,
    Answer,
    read_answer,
    sampling_fields,
    structured_field,
)
from judgelab.engines.base import Choice, Completion, Identity, Request, probe_request
from judgelab.engines.chat import ChatFormat
from judgelab.engines.environment import engine_environment
from judgelab.engines.link import Link, WorkerDied
from judgelab.engines.preflight import check_distributions
from judgelab.engines.vllm_args import (
    OPERATIONAL_ARGS,
    argument_names,
    check_args,
    installed_builds,
    vllm_version,
)
from judgelab.errors import EngineError, JudgelabError, RequestError, UsageError
from judgelab.judge import Judge
from judgelab.settings import VllmConfig

__all__ = ["OPERATIONAL_ARGS", "VllmEngine"]

_WORKER = "judgelab.engines.vllm_worker"


class VllmEngine:
    """One vLLM, started by the first request. Raises UsageError at once for an unknown engine argument."""

    def __init__(self, judge: Judge, settings: VllmConfig, log: Path, seed: int) -> None:
        check_args(settings.args, argument_names())
        if "max_model_len" in settings.args:
            judge = replace(judge, max_model_len=settings.args["max_model_len"])
        self.chat = ChatFormat(judge)
        self._judge = judge
        self._settings = settings
        self._log = log
        self._seed = seed
        self._lock = threading.Lock()
        self._starting: Future[Link] | None = None
        self._link: Link | None = None
        self._info: dict[str, str] = {}
        self._closed = False

    @property
    def identity(self) -> Identity:
        """Judge, structured-output backend, arguments that may change answers, seed of draws, version."""
        args = {k: v for k, v in self._settings.args.items() if k not in OPERATIONAL_ARGS}
        return Identity(
            "vllm",
            {
                "judge": self._judge.identity(),
                "backend": self._settings.backend,
                "args": args,
                "seed": self._seed,
                "vllm": vllm_version(),
            },
        )

    async def complete(self, request: Request) -> Completion:
        """Answer one request; cancelling it frees its place in the engine."""
        link = await asyncio.wrap_future(self._start())
        return await self._ask(link, request, time.monotonic())

    async def close(self) -> None:
        """End the engine's processes."""
        await asyncio.to_thread(self._close)

    def describe(self) -> dict[str, str]:
        """Versions, device, context, how the system role is rendered, hash of the chat template."""
        return dict(self._info)

    async def _ask(self, link: Link, request: Request, asked: float) -> Completion:
        text = self.chat.text(request)
        ids = self.chat.encode(text)
        self.chat.check_room(len(ids), request)
        labels: tuple[int, ...] = ()
        if isinstance(request.output, Choice):
            labels = self.chat.label_tokens(request.output.labels, text)
        number, future = link.call(
            {
                "op": "complete",
                "ids": ids,
                "sampling": sampling_fields(request, ids, labels, self._seed),
                "structured": structured_field(request),
            }
        )
        try:
            message = await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            link.send({"op": "abort", "id": number})
            raise
        except WorkerDied:
            raise EngineError(self._death(link)) from None
        _raise_error(message, self._log)
        answer = Answer(
            message["text"],
            message["finish_reason"],
            message["generated_tokens"],
            message["cached_tokens"],
            dict(message["logprobs"]),
        )
        return read_answer(request, answer, labels, len(ids), time.monotonic() - asked)

    def _start(self) -> Future[Link]:
        """The one start, running in a thread of its own: requests of any event loop wait for the same."""
        with self._lock:
            if self._closed:
                raise EngineError("the engine is closed")
            if self._starting is None:
                self._starting = Future()
                self._starting.set_running_or_notify_cancel()  # one waiter's cancellation is not the others'
                threading.Thread(
                    target=self._start_into, args=(self._starting,), name="judgelab-vllm-start", daemon=True
                ).start()
            return self._starting

    def _start_into(self, result: Future[Link]) -> None:
        try:
            check_distributions(installed_builds())
            link = Link(_WORKER, (), engine_environment(os.environ), self._log)
            with self._lock:
                self._link = link
                closed = self._closed
            if closed:
                link.close()
                raise EngineError("the engine is closed")
            try:
                self._bring_up(link)
            except BaseException:
                link.close(timeout=5)
                raise
        except BaseException as error:  # handed to every request that waits, whatever it is
            result.set_exception(error)
        else:
            result.set_result(link)

    def _bring_up(self, link: Link) -> None:
        _, started = link.call(
            {
                "op": "start",
                "args": self._engine_args(),
                "kv_cache_bytes": int(self._settings.kv_cache_gib * 2**30),
            }
        )
        self.chat.load()  # meanwhile
        try:
            message = started.result(self._settings.start_timeout)
        except WorkerDied:
            raise EngineError(self._death(link, "did not start")) from None
        except TimeoutError:
            raise EngineError(
                f"vLLM did not start within engine.start_timeout={self._settings.start_timeout:g} s; see {self._log}"
            ) from None
        if error := message.get("error"):
            if error["kind"] == "usage":
                raise UsageError(error["message"])
            if error["kind"] == "preflight":
                raise EngineError(error["message"])
            cause = error["message"]
            if "root cause" in cause:  # vLLM's pointer to what its engine process has printed
                cause = last_error(self._log_text(link)) or cause
            raise EngineError(f"vLLM did not start: {cause}; see {self._log}")
        probe = asyncio.run(self._ask(link, probe_request(), time.monotonic()))
        if probe.text.strip() != PROBE_ANSWER:
            raise EngineError(
                f"vLLM ignores the grammar: asked for {PROBE_ANSWER} it said {probe.text[:40]!r} "
                f"(engine.backend={self._settings.backend}); see {self._log}"
            )
        self._info = {
            "engine": "vllm",
            "vllm": vllm_version(),
            "backend": self._settings.backend,
            "system_role": self.chat.system_role,
            "template": self.chat.template_hash,
            **message["info"],
        }

    def _engine_args(self) -> dict[str, Any]:
        judge = self._judge
        structured: dict[str, Any] = {"backend": self._settings.backend}
        if self._settings.backend in COMPACT_BACKENDS:
            structured["disable_any_whitespace"] = True
        args: dict[str, Any] = {
            "model": str(judge.path),
            "dtype": judge.dtype,
            "quantization": judge.quantization,
            "tensor_parallel_size": judge.tensor_parallel,
            "trust_remote_code": judge.trust_remote_code,
            "enable_prefix_caching": True,
            "seed": self._seed,
            "structured_outputs_config": structured,
            "enable_log_requests": False,
            "disable_log_stats": True,
        }
        if (context := self.chat.context) is not None:
            args["max_model_len"] = context
        return {**args, **self._settings.args}

    def _close(self) -> None:
        with self._lock:
            self._closed = True
            link = self._link
        if link is not None:
            link.close()

    def _log_text(self, link: Link) -> str:
        try:
            with self._log.open("rb") as log:
                log.seek(link.log_start)
                return log.read().decode("utf-8", "replace")
        except OSError:
            return ""

    def _death(self, link: Link, what: str = "died") -> str:
        if (number := link.killed_by) is not None:
            memory = " (out of memory?)" if number == "SIGKILL" else ""
            return f"vLLM {what}: its process was killed by {number}{memory}; see {self._log}"
        cause = last_error(self._log_text(link))
        return f"vLLM {what}{f': {cause}' if cause else ''}; see {self._log}"


def last_error(log: str) -> str | None:
    """The root cause in vLLM's log: the last `SomeError: message` that is not vLLM's own "see above"."""
    found = None
    for line in log.splitlines():
        match = re.search(r"(?:^|[\s.)])([A-Z]\w*(?:Error|Exception)): (\S.*)$", line)
        if match and "root cause above" not in match[2] and match[1] != "EngineDeadError":
            found = f"{match[1]}: {match[2].strip()}"
    return found[:400] if found else None


def _raise_error(message: dict[str, Any], log: Path) -> None:
    error: dict[str, str] | None = message.get("error")
    if error is None:
        return
    failure: type[JudgelabError | RequestError] = EngineError if error["kind"] == "engine" else RequestError
    raise failure(f"{error['message']}; see {log}" if failure is EngineError else error["message"])
