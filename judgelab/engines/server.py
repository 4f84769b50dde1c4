"""One or several vLLM servers as an engine, over HTTP.

Invariant: prompts are rendered here and sent as token ids, so that a verdict does not depend on whether the same
model answers in our process or behind a server.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from judgelab.engines.asking import (
    PROBE_ANSWER,
    Answer,
    read_answer,
    sampling_fields,
    structured_field,
)
from judgelab.engines.base import Choice, Completion, Identity, Request, probe_request
from judgelab.engines.chat import ChatFormat
from judgelab.engines.pool import Address, Card, Pool, Server
from judgelab.engines.registry import Entry, endpoints, lease
from judgelab.errors import EngineError, PromptTooLong, RequestError
from judgelab.judge import Judge
from judgelab.settings import ServerConfig


class ServerEngine:
    """The servers at `settings.endpoints` or in `settings.registry`, which serve the weights of `judge`;
    its tokenizer is read here.

    It belongs to the event loop of its first request.
    """

    def __init__(self, judge: Judge, settings: ServerConfig, seed: int) -> None:
        self.chat = ChatFormat(judge)
        self._judge = judge
        self._settings = settings
        self._seed = seed
        self._lock = asyncio.Lock()
        self._pool: Pool | None = None
        self._closed = False
        self._lease: Entry | None = None

    @property
    def identity(self) -> Identity:
        """Judge, structured-output backend, seed of draws; not the endpoints, which may be any that serve it."""
        return Identity(
            "server",
            {"judge": self._judge.identity(), "backend": self._settings.backend, "seed": self._seed},
        )

    async def complete(self, request: Request) -> Completion:
        """Answer one request, from another server where one fails."""
        asked = time.monotonic()
        pool = await self._start()
        ids, labels, body = self._body(request)
        limit = self._limit(pool)
        if limit is not None and len(ids) + request.sampling.max_tokens > limit:
            raise PromptTooLong(len(ids), limit)
        try:
            answer = await pool.post(body)
        except RequestError as error:
            if "context length" in str(error) or "maximum model length" in str(error):
                raise PromptTooLong(len(ids), limit or len(ids)) from error
            raise
        return read_answer(request, _answer(answer), labels, len(ids), time.monotonic() - asked)

    async def close(self) -> None:
        """Close the connections and, in a registry, our lease; the servers stay."""
        self._closed = True
        held, self._lease = self._lease, None
        if held is not None:
            held.__exit__(None, None, None)
        pool, self._pool = self._pool, None
        if pool is not None:
            await pool.close()

    def describe(self) -> dict[str, str]:
        """The servers that are up, what they serve, how the system role is rendered, hash of the template."""
        if self._pool is None:
            return {}
        up = [s for s in self._pool.servers if s.up]
        return {
            "engine": "server",
            "endpoints": ", ".join(s.url for s in up),
            "model": ", ".join(sorted({s.root for s in up})),
            "backend": self._settings.backend,
            "max_model_len": str(self._limit(self._pool)),
            "system_role": self.chat.system_role,
            "template": self.chat.template_hash,
        }

    async def _start(self) -> Pool:
        async with self._lock:
            if self._closed:
                raise EngineError("the engine is closed")
            if self._pool is None:
                await asyncio.to_thread(self.chat.load)
                settings = self._settings
                knob = "engine.endpoints" if settings.registry is None else f"engine.registry={settings.registry}"
                pool = Pool(self._find, settings.timeout, self._choose, self._probe, knob)
                if settings.registry is not None:
                    self._lease = lease(Path(settings.registry), self._judge.name)
                    self._lease.__enter__()
                try:
                    await pool.wait(settings.start_timeout)
                except BaseException:
                    await pool.close()
                    raise
                self._pool = pool
            return self._pool

    def _find(self) -> list[Address]:
        settings = self._settings
        if settings.registry is None:
            key = os.environ.get(settings.api_key_env)
            return [Address(url, key) for url in settings.endpoints]
        judge = self._judge
        return [
            Address(each.url, each.key) for each in endpoints(Path(settings.registry), judge.name, judge.weights_id)
        ]

    def _body(self, request: Request) -> tuple[list[int], tuple[int, ...], dict[str, Any]]:
        text = self.chat.text(request)
        ids = self.chat.encode(text)
        labels: tuple[int, ...] = ()
        if isinstance(request.output, Choice):
            labels = self.chat.label_tokens(request.output.labels, text)
        body = {"prompt": ids, **sampling_fields(request, ids, labels, self._seed)}
        if labels:
            body |= {"logprobs": len(labels), "return_tokens_as_token_ids": True}
        if structured := structured_field(request):
            body["structured_outputs"] = structured
        return ids, labels, body

    def _choose(self, url: str, cards: Sequence[Card]) -> Card:
        """The model that is ours; another one would be judged under our judge's name."""
        judge = self._judge
        for card in cards:
            if judge.is_served_as(card.id, card.root):
                return card
        offered = "; ".join(c.id if c.root == c.id else f"{c.id} (from {c.root})" for c in cards)
        raise EngineError(
            f"{url} serves {offered[:200]}, not judge={judge.name} ({judge.model or judge.path}): choose the judge "
            f"that it serves, another server, or serve these weights with --served-model-name {judge.name}"
        )

    async def _probe(self, pool: Pool, server: Server) -> None:
        """Refuse a server that does not hold its answers to a grammar: its verdicts would be free text."""
        _, _, body = self._body(probe_request())
        answer = _answer(await pool.post_to(server, body))
        if answer.text.strip() != PROBE_ANSWER:
            raise EngineError(
                f"{server.url} ignored structured_outputs: asked for {PROBE_ANSWER} it said {answer.text[:40]!r} "
                "(its verdicts would be free text; serve with a vLLM that constrains, see engine.endpoints)"
            )

    def _limit(self, pool: Pool) -> int | None:
        """Tokens that prompt and answer may take: what the judge, its model and every server allow."""
        limits = [self.chat.context, *(s.max_model_len for s in pool.servers)]
        return min((n for n in limits if n), default=None)


def _answer(reply: dict[str, Any]) -> Answer:
    try:
        choice, usage = reply["choices"][0], reply.get("usage") or {}
        top = ((choice.get("logprobs") or {}).get("top_logprobs") or [None])[0] or {}
        return Answer(
            text=choice["text"],
            finish_reason=choice.get("finish_reason") or "stop",
            generated_tokens=int(usage.get("completion_tokens") or 0),
            cached_tokens=int((usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0),
            logprobs={int(name.removeprefix("token_id:")): float(value) for name, value in top.items()},
        )
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise RequestError(f"the server's answer is not in the completions format: {error!r}") from error
