"""Starts a vLLM server for `engine=server`: `python -m judgelab.engines.serve MODEL_DIR --port N ...`.

It is vLLM's own OpenAI server with its own arguments, under the environment and the defaults of our engine.

Invariant: the prompt-to-verdict behaviour is that of `engine=vllm`; what the caller passes wins.
"""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Sequence

from judgelab.engines.compat import shield_companions
from judgelab.engines.environment import engine_environment
from judgelab.engines.vllm_args import is_cpu_build

# At module level: vLLM's own children import this module again before anything else.
shield_companions()

_SERVER = "vllm.entrypoints.openai.api_server"
_CPU_KV_CACHE = str(2**30)  # bytes; without it the CPU build wants nearly all of the machine's memory
_DEFAULTS = {
    "--structured-outputs-config": '{"backend": "xgrammar", "disable_any_whitespace": true}',
    "--host": "127.0.0.1",
}


def server_arguments(arguments: Sequence[str], cpu: bool) -> list[str]:
    """vLLM's command line for ours: `MODEL_DIR [arguments of vLLM]`, with the defaults that were not given."""
    model, *rest = arguments
    given = {a.split("=")[0].split(".")[0] for a in rest if a.startswith("--")}
    out = ["--model", model, *rest]
    for name, value in _DEFAULTS.items():
        if name not in given:
            out += [name, value]
    if "--no-enable-prompt-tokens-details" not in given:
        out.append("--enable-prompt-tokens-details")  # how much of a prompt the prefix cache served
    if cpu and "--kv-cache-memory-bytes" not in given and "VLLM_CPU_KVCACHE_SPACE" not in os.environ:
        out += ["--kv-cache-memory-bytes", _CPU_KV_CACHE]
    if cpu and not {"--enforce-eager", "--no-enforce-eager"} & given:
        out.append("--enforce-eager")
    if cpu and not {"--enable-chunked-prefill", "--no-enable-chunked-prefill"} & given:
        out.append("--no-enable-chunked-prefill")  # see vllm_worker: seeded draws
    return out


def main() -> None:
    """Serve until stopped."""
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit("usage: python -m judgelab.engines.serve MODEL_DIR [--port N] [arguments of vLLM's server]")
    os.environ.update(engine_environment(os.environ))
    sys.argv = [_SERVER, *server_arguments(sys.argv[1:], is_cpu_build())]
    # Not with alter_sys: this module must stay __main__, the one that vLLM's children import again.
    runpy.run_module(_SERVER, run_name="__main__")


if __name__ == "__main__":
    main()
