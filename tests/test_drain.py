"""Signals at every moment of a run: exit 85, one line, nothing lost, no traceback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from judgelab.drain import Drain, signals
from judgelab.errors import Drained
from judgelab.store import find_runs

RUN = (sys.executable, "-m", "judgelab", "run", "engine=scripted", "analysis.resamples=200")


def start(folder: Path, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*RUN, *words], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def until(holds: object, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not holds():  # type: ignore[operator]
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def ended(child: subprocess.Popen[str]) -> str:
    """Its words on standard error, once it has ended as it should."""
    _, error = child.communicate(timeout=90)
    assert child.returncode == 85, (child.returncode, error[-2000:])
    assert "Traceback" not in error
    assert error.splitlines()[-1].startswith("judgelab: stopped on request")
    return error


def handles(child: subprocess.Popen[str]) -> bool:
    """Whether the process has put its handlers in place, as the system tells."""
    status = Path(f"/proc/{child.pid}/status").read_text()
    (caught,) = (line.split()[1] for line in status.splitlines() if line.startswith("SigCgt"))
    return bool(int(caught, 16) & (1 << (signal.SIGUSR1 - 1)))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGUSR1])
def test_a_signal_before_anything_is_loaded(tmp_path: Path, number: signal.Signals) -> None:
    child = start(tmp_path, "limit=3")
    until(lambda: handles(child))
    child.send_signal(number)
    ended(child)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_the_whole_sweep(tmp_path: Path, number: signal.Signals) -> None:
    child = start(tmp_path, "-m", "engine.latency=0.5", "in_flight=2", "limit=40", "seed=0,1,2")
    until(lambda: list(tmp_path.glob("runs/swapped/*/*/*/records*")))
    child.send_signal(number)
    error = ended(child)
    assert error.count("judgelab: stopped on request") == 1
    assert len(find_runs([tmp_path / "runs"])) == 1, "a run was begun after the signal"


def test_a_signal_while_figures_are_computed_keeps_the_records(tmp_path: Path) -> None:
    child = start(tmp_path, "limit=61", "analysis.resamples=100000")
    runs = tmp_path / "runs" / "swapped"
    until(lambda: [p for p in runs.glob("*/*/*/records*") if p.read_bytes().count(b"\n") == 4 * 61])
    time.sleep(0.3)
    child.send_signal(signal.SIGTERM)
    error = ended(child)
    (run,) = find_runs([tmp_path / "runs"])
    assert len(run.records()) == 4 * 61
    assert f"judgelab score {run.path.relative_to(tmp_path)} computes the figures" in error


def test_ctrl_c_twice_ends_at_once(tmp_path: Path) -> None:
    child = start(tmp_path, "engine.latency=20", "limit=3")
    until(lambda: list(tmp_path.glob("runs/swapped/*/*/*/status.json")))
    child.send_signal(signal.SIGINT)
    time.sleep(0.2)
    child.send_signal(signal.SIGINT)
    started = time.monotonic()
    child.communicate(timeout=15)
    assert child.returncode == -signal.SIGINT
    assert time.monotonic() - started < 10, "it waited for what was in flight"


def test_handlers_are_given_back() -> None:
    before = [signal.getsignal(number) for number in signals()]
    with Drain.installed() as drain:
        os.kill(os.getpid(), signal.SIGUSR1)
        assert drain.requested
        woken = []
        with drain.waking(lambda: woken.append(1)):
            assert woken == [1], "a request that came before is not forgotten"
        with pytest.raises(Drained, match="stopped on request: left"), drain.interrupting("left"):
            pytest.fail("begun all the same")
        with Drain.suspended():
            assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert [signal.getsignal(number) for number in signals()] == before


def test_work_that_may_be_interrupted_is() -> None:
    def figures(drain: Drain) -> None:
        with drain.interrupting("figures"):
            os.kill(os.getpid(), signal.SIGUSR1)
            time.sleep(5)

    started = time.monotonic()
    with Drain.installed() as drain, pytest.raises(Drained, match="stopped on request: figures"):
        figures(drain)
    assert time.monotonic() - started < 4
