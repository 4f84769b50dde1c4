"""`judgelab serve`: one server of a judge that many runs share, on a port of its own, known through a registry.

Invariant: the server's process tree ends with this process, however that ends; a port that is taken is not an error
but another try.
"""

from __future__ import annotations

import os
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from judgelab.engines.registry import Endpoint, clients, serving, this_host
from judgelab.errors import EXIT_OK, EngineError, UsageError
from judgelab.settings import Config, VllmConfig

if TYPE_CHECKING:
    from judgelab.judge import Judge

TRIES = 3  # at a port that another process took between our looking and the server's binding
POLL = 2.0  # seconds
_STOPPED = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)


def serve(config: Config, registry: Path, idle: float | None) -> int:
    """Serve the judge of `config` until told to stop, or until nobody has used it for `idle` seconds.

    The time counts from when the server is ready and starts again with every client. Raises EngineError where the
    server does not start, UsageError for an engine that is not vLLM.
    """
    from judgelab import weights
    from judgelab.build import resolve_auto

    engine = resolve_auto(config.engine)
    if not isinstance(engine, VllmConfig):
        raise UsageError(f"judgelab serve starts vLLM, not {engine.kind}: install judgelab[vllm] or judgelab[cpu]")
    judge = weights.resolve(config.judge)
    stop = threading.Event()
    for number in _STOPPED:
        signal.signal(number, lambda *_: stop.set())
    log = registry / f"{judge.name}-{os.environ.get('SLURM_JOB_ID', os.getpid())}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    for attempt in range(1, TRIES + 1):
        server = _Server(judge, engine, log)
        try:
            entry = Endpoint(
                url=server.url,
                judge=judge.name,
                weights=judge.weights_id,
                key=server.key,
                state="loading",
                host=this_host(),
                pid=os.getpid(),
                job=os.environ.get("SLURM_JOB_ID"),
                beat=time.time(),
            )
            with serving(registry, entry) as known:
                if not server.wait_ready(engine.start_timeout, stop):
                    if stop.is_set():
                        return EXIT_OK
                    if attempt < TRIES and server.port_was_taken():
                        continue
                    raise EngineError(server.failure())
                known.ready()
                say(f"serving {judge.name} at {server.url} (registry {registry}, log {log})")
                _watch(server, stop, registry, judge.name, idle)
                return EXIT_OK
        finally:
            server.end()
    raise EngineError(f"no free port in {TRIES} tries; see {log}")


class _Server:
    """One vLLM server process with its supervisor."""

    def __init__(self, judge: Judge, settings: VllmConfig, log: Path) -> None:
        from judgelab.engines.environment import engine_environment, package_path

        self.port = free_port()
        self.url = f"http://{this_host()}:{self.port}"
        self.key = secrets.token_urlsafe(24)
        self._log = log
        environ = engine_environment(os.environ)
        environ["VLLM_API_KEY"] = self.key  # not on the command line, which every user of the node can read
        if path := package_path(os.environ):
            environ["PYTHONPATH"] = path
        self._started = log.stat().st_size if log.exists() else 0
        with log.open("ab") as file:
            self._process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "judgelab.engines.supervisor", str(os.getpid())),
                    *(sys.executable, "-m", "judgelab.engines.serve", str(judge.path)),
                    *arguments(judge, settings, self.port),
                ],
                stdin=subprocess.PIPE,
                stdout=file,
                stderr=file,
                env=environ,
            )

    def wait_ready(self, seconds: float, stop: threading.Event) -> bool:
        """Whether the server answers within `seconds`, unless it ends or we are told to stop."""
        import httpx

        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and self.alive() and not stop.is_set():
            try:
                if httpx.get(f"http://127.0.0.1:{self.port}/health", timeout=5, trust_env=False).status_code == 200:
                    return True
            except httpx.HTTPError:
                pass
            stop.wait(POLL)
        return False

    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process.poll() is None

    def port_was_taken(self) -> bool:
        """Whether its log says so."""
        return "address already in use" in self._tail().lower()

    def failure(self) -> str:
        """One line on why it is not there."""
        from judgelab.engines.vllm import last_error

        if self.alive():
            return f"the server did not answer in time (knob: engine.start_timeout); see {self._log}"
        return f"the server ended while it started: {last_error(self._tail())}; see {self._log}"

    def end(self) -> None:
        """End the process tree; the supervisor does it when its input closes."""
        if self._process.stdin:
            self._process.stdin.close()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()

    def _tail(self) -> str:
        with self._log.open("rb") as file:
            file.seek(self._started)
            return file.read()[-200_000:].decode(errors="replace")


def arguments(judge: Judge, settings: VllmConfig, port: int) -> list[str]:
    """vLLM's own arguments for a judge: what `engine=vllm` would use in this process."""
    import json

    from judgelab.engines.chat import ChatFormat

    structured = json.dumps({"backend": settings.backend, "disable_any_whitespace": True})
    out = ["--host", "0.0.0.0", "--port", str(port), "--served-model-name", judge.name]  # noqa: S104 - other nodes ask
    out += ["--dtype", judge.dtype, "--tensor-parallel-size", str(judge.tensor_parallel)]
    out += ["--structured-outputs-config", structured]
    if (context := ChatFormat(judge).context) is not None:
        out += ["--max-model-len", str(context)]
    if judge.quantization is not None:
        out += ["--quantization", judge.quantization]
    for name, value in settings.args.items():
        option = f"--{name.replace('_', '-')}"
        match value:
            case True:
                out.append(option)
            case False:
                out.append(f"--no-{option[2:]}")
            case dict() | list():
                out += [option, json.dumps(value)]
            case _:
                out += [option, str(value)]
    return out


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("", 0))
        port: int = probe.getsockname()[1]
        return port


def _watch(server: _Server, stop: threading.Event, registry: Path, judge: str, idle: float | None) -> None:
    used = time.monotonic()
    while not stop.wait(POLL):
        if not server.alive():
            raise EngineError(server.failure())
        if clients(registry, judge):
            used = time.monotonic()
        elif idle is not None and time.monotonic() - used > idle:
            say(f"no client for {idle:g} s: the server ends")
            return


def say(line: str) -> None:
    """Tell the job's log."""
    print(line, file=sys.stderr, flush=True)  # noqa: T201 - the server's own log
