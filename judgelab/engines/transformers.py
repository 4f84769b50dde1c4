"""Transformers in this process: what runs anywhere that torch runs, micro-batched on one worker thread.

Invariant: every request that was accepted is answered or failed, whatever happens to the thread, so that no
coroutine waits for an engine that is gone.

Greedy answers of one request may differ in rounding with the batch that it lands in: labels were measured never to
flip, long JSON texts sometimes do. Sampled requests run alone, so that their draws depend on nothing but themselves.
"""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import Hashable
from concurrent.futures import Future
from dataclasses import dataclass, replace
from importlib.metadata import version

from judgelab.engines.base import Choice, Completion, Identity, Request, probe_request
from judgelab.engines.chat import ChatFormat
from judgelab.engines.torch_model import (
    STRUCTURED_BACKEND,
    Prompt,
    Reply,
    TorchModel,
    first_line,
    out_of_memory,
)
from judgelab.errors import EngineError, RequestError
from judgelab.judge import Judge
from judgelab.records import canonical_json
from judgelab.settings import TransformersConfig

LINGER = 0.005  # seconds; coroutines woken together ask together, so the batch is closed once none came for so long


@dataclass(frozen=True)
class _Job:
    """A request on its way. `prompt` is there once rendered; jobs of one `kind` can share a batch."""

    request: Request
    future: Future[Completion]
    asked: float
    kind: Hashable
    prompt: Prompt | None = None

    @property
    def length(self) -> int:
        return len(self.prompt.ids) if self.prompt else 0


class TransformersEngine:
    """`base.Engine` on transformers and Outlines; the model is loaded at the first request."""

    def __init__(self, judge: Judge, settings: TransformersConfig, seed: int) -> None:
        self._judge = judge
        self._settings = settings
        self._seed = seed
        self._identity = Identity(
            "transformers",
            {
                "judge": judge.identity(),
                "backend": STRUCTURED_BACKEND,
                "outlines": version("outlines"),
                "transformers": version("transformers"),
                "seed": seed,
            },
        )
        self._changed = threading.Condition()
        self._waiting: list[_Job] = []
        self._thread: threading.Thread | None = None
        self._closed = False
        self._broken: str | None = None
        self._facts: dict[str, str] = {}

    @property
    def identity(self) -> Identity:
        """Known before anything is loaded."""
        return self._identity

    async def complete(self, request: Request) -> Completion:
        """Answer one request; see `base.Engine` for what it raises."""
        job = _Job(request, Future(), time.monotonic(), _kind(request))
        with self._changed:
            if self._broken or self._closed:
                raise EngineError(self._broken or "the transformers engine is closed")
            self._waiting.append(job)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="judgelab-transformers", daemon=True)
                self._thread.start()
            self._changed.notify_all()
        return await asyncio.wrap_future(job.future)

    async def close(self) -> None:
        """End the worker and free the model; what still waits gets an EngineError. Idempotent."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        if self._thread is not None:
            await asyncio.to_thread(self._thread.join)
            torch = sys.modules.get("torch")
            if torch is not None and torch.cuda.is_initialized():
                torch.cuda.empty_cache()

    def describe(self) -> dict[str, str]:
        """Versions and device of a started engine; empty before."""
        return dict(self._facts)

    def _work(self) -> None:
        """The worker thread: load, probe, then answer batch after batch until closed."""
        rendered: list[_Job] = []
        batch: list[_Job] = []
        try:
            chat = ChatFormat(self._judge)
            chat.load()
            model = TorchModel(self._judge, chat, self._settings.device, self._seed, interrupted=lambda: self._closed)
            _probe(model, chat, self._judge)
            self._facts = {
                "transformers": version("transformers"),
                "torch": version("torch"),
                "outlines": version("outlines"),
                "device": model.device_name,
            }
            while (fresh := self._take(idle=not rendered)) is not None:
                for job in fresh:
                    if job.future.set_running_or_notify_cancel():
                        rendered.extend(_render(job, chat))
                if not rendered:
                    continue
                batch = _pick(rendered, self._settings.batch_size)
                rendered = [job for job in rendered if job not in batch]
                replies = model.answer([job.prompt for job in batch if job.prompt])
                if self._closed:
                    break  # an interrupted generation is cut short
                for job, reply in zip(batch, replies, strict=True):
                    job.future.set_result(_completion(job, reply))
                batch = []
            message = "the transformers engine was closed before it answered"
        except Exception as error:  # whatever breaks this thread must reach those who wait on it
            message = self._explain(error)
            self._broken = message
        with self._changed:
            left = [*batch, *rendered, *self._waiting]
            self._waiting.clear()
        for job in left:
            if not job.future.cancelled() and not job.future.done():
                job.future.set_exception(EngineError(message))

    def _take(self, idle: bool) -> list[_Job] | None:
        """What was asked since the last call, None once closed; an idle worker waits for the first of a batch."""
        with self._changed:
            while idle and not self._waiting and not self._closed:
                self._changed.wait()
            seen = 0
            while seen < len(self._waiting) < self._settings.batch_size and not self._closed:
                seen = len(self._waiting)
                self._changed.wait(LINGER)
            fresh, self._waiting = self._waiting, []
            if self._closed:
                self._waiting = fresh
                return None
            return fresh

    def _explain(self, error: Exception) -> str:
        if isinstance(error, EngineError):
            return str(error)
        if out_of_memory(error):
            return (
                f"the transformers engine ran out of memory: lower engine.batch_size (now {self._settings.batch_size}) "
                "or judge.max_model_len"
            )
        return f"the transformers engine failed: {type(error).__name__}: {first_line(error)}"


def _kind(request: Request) -> Hashable:
    """Equal for requests that may share a batch."""
    if request.sampling.temperature > 0:
        return object()
    if isinstance(request.output, Choice):
        return Choice
    return (request.output, request.sampling.max_tokens)


def _render(job: _Job, chat: ChatFormat) -> list[_Job]:
    """The job with its prompt; nothing where it failed by itself, which its asker then hears."""
    try:
        ids = tuple(chat.render(job.request))
    except RequestError as error:
        job.future.set_exception(error)
        return []
    return [replace(job, prompt=Prompt(job.request, ids))]


def _pick(jobs: list[_Job], size: int) -> list[_Job]:
    """The oldest job and its neighbours in length among those of its kind, so that little is padded."""
    oldest = jobs[0]
    kin = sorted((job for job in jobs if job.kind == oldest.kind), key=lambda job: job.length)
    at = next(i for i, job in enumerate(kin) if job is oldest)
    start = max(0, min(at - size // 2, len(kin) - size))
    return kin[start : start + size]


def _completion(job: _Job, reply: Reply) -> Completion:
    return Completion(
        text=reply.text,
        finish_reason=reply.finish_reason,
        prompt_tokens=job.length,
        generated_tokens=reply.generated_tokens,
        seconds=time.monotonic() - job.asked,
        probabilities=reply.probabilities,
    )


def _probe(model: TorchModel, chat: ChatFormat, judge: Judge) -> None:
    """Refuse a model that answers past the grammar."""
    request = probe_request()
    try:
        prompt = Prompt(request, tuple(chat.render(request)))
    except RequestError as error:
        raise EngineError(f"judge {judge.name}: {error}") from error
    said = model.answer([prompt])[0].text
    if said != canonical_json("zq"):
        raise EngineError(
            f'judge {judge.name}: the grammar does not bind under engine=transformers (asked for "zq", got '
            f"{said[:40]!r}); use engine=vllm"
        )
