"""How much of the bare engine's speed the whole protocol keeps: python experiments/throughput.py

Judges the same prompts twice in one run, round by round: through the protocol (call cache,
journals, supervisor, pipe), and by vLLM's AsyncLLM alone, called in this process on token ids made beforehand, as many
in flight. Only the ratio means anything: machines differ and are shared.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from judgelab.engines.asking import sampling_fields, structured_field
from judgelab.engines.base import Answer, Request
from judgelab.engines.cached import CachedEngine, CallCache
from judgelab.engines.chat import ChatFormat
from judgelab.engines.compat import shield_companions
from judgelab.engines.environment import engine_environment
from judgelab.items import Item
from judgelab.planning import Plan, plan
from judgelab.runner import run_items
from judgelab.settings import Config, SwappedConfig

# Scripts beside this one must not stand in for libraries of the same name (torch imports `tabulate`).
sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != Path(__file__).resolve().parent]
shield_companions()  # also in the process that vLLM spawns, which imports this file again


class Recorder:
    """Asks on, and keeps every request."""

    def __init__(self, asker: CachedEngine) -> None:
        self.asker = asker
        self.requests: list[Request] = []

    async def ask(self, request: Request) -> Answer:
        """As `CachedEngine.ask`."""
        self.requests.append(request)
        return await self.asker.ask(request)


async def through_protocol(plan_: Plan, asker: CachedEngine, items: Sequence[Item]) -> tuple[float, list[Request]]:
    """Seconds for these items through everything a run does but scoring, and what was asked."""
    recorder = Recorder(asker)
    started = time.perf_counter()
    await run_items(
        plan_.protocol,
        items,
        items,
        lambda _: recorder,
        recorder,
        plan_.run,
        frozenset(),
        plan_.config.in_flight,
        asyncio.Event(),
        lambda _: None,
    )
    return time.perf_counter() - started, recorder.requests


async def bare(engine: Any, chat: ChatFormat, requests: Sequence[Request], in_flight: int, tag: str) -> float:
    """Seconds for the same requests by AsyncLLM alone."""
    from vllm import SamplingParams
    from vllm.sampling_params import RequestOutputKind, StructuredOutputsParams

    prepared = []
    for request in requests:
        text = chat.text(request)
        ids = chat.encode(text)
        labels = chat.label_tokens(request.output.labels, text)  # type: ignore[union-attr]
        params = SamplingParams(
            **sampling_fields(request, ids, labels, 0),
            output_kind=RequestOutputKind.FINAL_ONLY,
            structured_outputs=StructuredOutputsParams(**(structured_field(request) or {})),
        )
        prepared.append((ids, params))
    slots = asyncio.Semaphore(in_flight)

    async def one(number: int, ids: list[int], params: Any) -> None:
        async with slots:
            async for _ in engine.generate({"prompt_token_ids": ids}, params, f"{tag}-{number}"):
                pass

    started = time.perf_counter()
    await asyncio.gather(*(one(i, *each) for i, each in enumerate(prepared)))
    return time.perf_counter() - started


async def main(arguments: argparse.Namespace, folder: Path) -> None:
    """Measure and print."""
    from vllm import AsyncEngineArgs
    from vllm.v1.engine.async_llm import AsyncLLM

    from judgelab.config import preset

    judge = preset("judge", arguments.judge)
    config = Config(
        protocol=SwappedConfig(mass_probes=0),
        dataset=preset("dataset", arguments.dataset),
        judge=judge,
        engine=preset("engine", "vllm"),
        in_flight=arguments.in_flight,
        runs_dir=str(folder),
    )
    plan_ = plan(config)
    assert plan_.judge is not None
    chat = ChatFormat(plan_.judge)
    engine = AsyncLLM.from_engine_args(
        AsyncEngineArgs(
            model=str(plan_.judge.path),
            dtype=plan_.judge.dtype,
            max_model_len=chat.context,
            enforce_eager=arguments.eager,
            structured_outputs_config={"backend": "xgrammar", "disable_any_whitespace": True},
            tensor_parallel_size=plan_.judge.tensor_parallel,
            disable_log_stats=True,
            kv_cache_memory_bytes=2**30 if arguments.eager else None,
        )
    )
    asker = CachedEngine(plan_.engine, CallCache(plan_.cache, {}), arguments.in_flight)
    try:
        size = min(arguments.items, len(plan_.items) // (arguments.rounds + 1))
        chunks = [plan_.items[i * size : (i + 1) * size] for i in range(arguments.rounds + 1)]
        _, warm = await through_protocol(plan_, asker, chunks[0])  # starts the engine, fills the shared prefix
        await bare(engine, chat, warm, arguments.in_flight, "warm")
        ratios = []
        for number, items in enumerate(chunks[1:], 1):
            ours, requests = await through_protocol(plan_, asker, items)
            alone = await bare(engine, chat, requests, arguments.in_flight, f"round{number}")
            ratios.append(alone / ours)
            print(
                f"round {number}: {len(requests)} calls; protocol {len(requests) / ours:.1f} calls/s, "
                f"bare engine {len(requests) / alone:.1f} calls/s, ratio {ratios[-1]:.2f}",
                flush=True,
            )
        print(
            f"median ratio over {len(ratios)} rounds: {statistics.median(ratios):.2f} "
            f"[{min(ratios):.2f}, {max(ratios):.2f}], {arguments.in_flight} in flight, {arguments.judge}"
        )
    finally:
        engine.shutdown()
        del engine  # while its modules are still there for its destructor
        await asker.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--judge", default="smollm2-135m")
    parser.add_argument("--dataset", default="demo")
    parser.add_argument("--in-flight", type=int, default=64)
    parser.add_argument("--items", type=int, default=20, help="items a round (4 calls each)")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--eager", action=argparse.BooleanOptionalAction, default=True, help="as the CPU build needs")
    os.environ.update(engine_environment(os.environ))
    with tempfile.TemporaryDirectory() as name:
        asyncio.run(main(parser.parse_args(), Path(name)))
