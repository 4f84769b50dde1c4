"""The process that holds vLLM: reads questions from its stdin, answers many at once on its stdout.

Run by `link.Link` under the supervisor. Whatever vLLM or its children print goes to stderr, which is the log.

Invariant: every question is answered, with a result or with a typed error of one line, never with a traceback.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import traceback
from collections.abc import Mapping
from functools import partial
from typing import Any

from judgelab.engines.compat import shield_companions
from judgelab.engines.preflight import (
    Gpu,
    check_free_memory,
    check_tensor_parallel,
    check_visible_devices,
)
from judgelab.engines.supervisor import JOB_SIGNALS
from judgelab.errors import JudgelabError, UsageError

# At module level: vLLM's own children import this module again before anything else.
shield_companions()

_LINE_LIMIT = 2**26  # bytes of a question: far above any context


class _Pipe:
    """Our stdin and stdout, taken away from whatever prints."""

    def __init__(self) -> None:
        self._out = os.fdopen(os.dup(1), "wb")
        self._in = os.fdopen(os.dup(0), "rb", buffering=0)
        os.dup2(2, 1)
        with open(os.devnull, "rb") as nothing:  # noqa: PTH123 - a descriptor is wanted, not a path
            os.dup2(nothing.fileno(), 0)

    async def lines(self) -> asyncio.StreamReader:
        reader = asyncio.StreamReader(limit=_LINE_LIMIT)
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), self._in)
        return reader

    def write(self, number: int, **message: Any) -> None:
        self._out.write(json.dumps({"id": number, **message}).encode() + b"\n")
        self._out.flush()

    def error(self, number: int, kind: str, error: BaseException) -> None:
        self.write(number, error={"kind": kind, "message": one_line(error)})


def one_line(error: BaseException) -> str:
    """An exception as one line that can stand in a message."""
    lines = [line.strip() for line in str(error).splitlines()]
    text = " ".join(line for line in lines if line and not line.startswith("For further information"))
    return text[:500] or type(error).__name__


async def serve(pipe: _Pipe) -> None:
    """Start the engine that the first line asks for; answer until told to close or until the engine dies."""
    reader = await pipe.lines()
    first = json.loads(await reader.readline() or "null")
    if first is None:
        return
    try:
        engine = _start(first)
    except JudgelabError as error:
        pipe.error(first["id"], "usage" if isinstance(error, UsageError) else "preflight", error)
        return
    except Exception as error:  # whatever vLLM raises while starting is the reason why there is no engine
        traceback.print_exc()
        pipe.error(first["id"], "engine", error)
        return
    pipe.write(first["id"], info=_describe(engine))
    tasks: dict[int, asyncio.Task[None]] = {}
    dead = asyncio.Event()
    try:
        await _answer_all(reader, pipe, engine, tasks, dead)
    finally:
        for task in tasks.values():
            task.cancel()
        await asyncio.gather(*tasks.values(), return_exceptions=True)
        engine.shutdown()


async def _answer_all(
    reader: asyncio.StreamReader,
    pipe: _Pipe,
    engine: Any,
    tasks: dict[int, asyncio.Task[None]],
    dead: asyncio.Event,
) -> None:
    died = asyncio.create_task(dead.wait())
    while True:
        line = asyncio.create_task(reader.readline())
        await asyncio.wait((line, died), return_when=asyncio.FIRST_COMPLETED)
        message: dict[str, Any] = json.loads(line.result() or "{}") if line.done() else {}
        match message.get("op"):
            case "abort":
                if message["id"] in tasks:
                    tasks[message["id"]].cancel()
            case "complete":
                task = asyncio.create_task(_answer(pipe, engine, message, dead))
                tasks[message["id"]] = task
                task.add_done_callback(partial(_forget, tasks, message["id"]))
            case _:  # close, or nobody there any more, or a dead engine
                line.cancel()
                died.cancel()
                return


def _forget(tasks: dict[int, asyncio.Task[None]], number: int, _task: asyncio.Task[None]) -> None:
    tasks.pop(number, None)


async def _answer(pipe: _Pipe, engine: Any, message: Mapping[str, Any], dead: asyncio.Event) -> None:
    from vllm import SamplingParams
    from vllm.sampling_params import RequestOutputKind, StructuredOutputsParams
    from vllm.v1.engine.exceptions import EngineDeadError

    number = message["id"]
    structured = message["structured"]
    try:
        params = SamplingParams(
            **message["sampling"],
            output_kind=RequestOutputKind.FINAL_ONLY,
            structured_outputs=StructuredOutputsParams(**structured) if structured else None,
        )
        result = None
        async for final in engine.generate({"prompt_token_ids": message["ids"]}, params, str(number)):
            result = final
        if result is None:
            raise ValueError("vLLM gave no answer")
    except EngineDeadError as error:
        pipe.error(number, "engine", error)
        dead.set()
        return
    except Exception as error:  # vLLM has many classes for "this request is wrong"; the engine lives on
        pipe.error(number, "request", error)
        return
    output = result.outputs[0]
    first = output.logprobs[0] if output.logprobs else {}
    pipe.write(
        number,
        text=output.text,
        finish_reason=output.finish_reason or "stop",
        generated_tokens=len(output.token_ids),
        cached_tokens=result.num_cached_tokens or 0,
        logprobs=[[token, value.logprob] for token, value in first.items()],
    )


def _start(spec: Mapping[str, Any]) -> Any:
    from vllm import AsyncEngineArgs
    from vllm.platforms import current_platform
    from vllm.v1.engine.async_llm import AsyncLLM

    args = dict(spec["args"])
    cpu = bool(current_platform.is_cpu())
    if cpu:
        # Compiling costs a minute, needs a C++ compiler and was seen to change answers for the worse.
        # A seeded draw whose prompt is cut into chunks kills this build ("CPU Generator does not use offset").
        args = {"enforce_eager": True, "enable_chunked_prefill": False, **args}
        if not os.environ.get("VLLM_CPU_KVCACHE_SPACE"):
            args = {"kv_cache_memory_bytes": spec["kv_cache_bytes"], **args}
    engine_args = AsyncEngineArgs(**args)
    if current_platform.is_cuda():
        check_visible_devices(os.environ.get("CUDA_VISIBLE_DEVICES"))
    devices = 0 if cpu else current_platform.device_count()
    check_tensor_parallel(engine_args.tensor_parallel_size, devices, cpu)
    if current_platform.is_cuda():
        gpus = _gpus(engine_args.tensor_parallel_size)
        check_free_memory(gpus, engine_args.gpu_memory_utilization)
    return AsyncLLM.from_engine_args(engine_args)


def _gpus(count: int) -> list[Gpu]:
    """The first `count` visible devices, asked through NVML: CUDA itself would take memory for a context."""
    from vllm.platforms import current_platform
    from vllm.third_party import pynvml

    pynvml.nvmlInit()
    try:
        gpus = []
        for index in range(count):
            physical = current_platform.device_id_to_physical_device_id(index)
            memory = pynvml.nvmlDeviceGetMemoryInfo(pynvml.nvmlDeviceGetHandleByIndex(physical))
            gpus.append(Gpu(current_platform.get_device_name(index), int(memory.free), int(memory.total)))
        return gpus
    finally:
        pynvml.nvmlShutdown()


def _describe(engine: Any) -> dict[str, str]:
    import torch
    import transformers
    from vllm.platforms import current_platform

    config = engine.vllm_config
    cpu = current_platform.is_cpu()
    ranks = config.parallel_config.tensor_parallel_size
    return {
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "build": "cpu" if cpu else current_platform.device_type,
        "device": "cpu" if cpu else ", ".join(current_platform.get_device_name(i) for i in range(ranks)),
        "dtype": str(config.model_config.dtype).removeprefix("torch."),
        "max_model_len": str(config.model_config.max_model_len),
        "max_num_seqs": str(config.scheduler_config.max_num_seqs),
        "enforce_eager": str(config.model_config.enforce_eager).lower(),
    }


def main() -> None:
    """Serve until told to close."""
    for number in (*JOB_SIGNALS, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    asyncio.run(serve(_Pipe()))
    sys.stderr.flush()
    os._exit(0)  # all is shut down; vLLM's destructors would only raise in a half-dismantled interpreter


if __name__ == "__main__":
    main()
