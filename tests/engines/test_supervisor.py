"""Nothing outlives its owner: a cheap worker with a grandchild that ignores SIGTERM and has left the session."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from judgelab.engines.link import Link, WorkerDied

HERE = Path(__file__).parent
ENV = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), *filter(None, sys.path)])}
OWNER = """
import os, sys, time
from pathlib import Path
from judgelab.engines.link import Link
link = Link("standin", (), os.environ, Path(sys.argv[1]))
pids = link.call({"op": "spawn"})[1].result(20)
if "fork" in sys.argv and os.fork() == 0:
    time.sleep(60)  # a child of the owner that holds the pipe open
    os._exit(0)
print(link.pid, pids["worker"], pids["pid"], flush=True)
time.sleep(60)
"""


@pytest.fixture
def link(tmp_path: Path) -> Iterator[Link]:
    link = Link("standin", (), ENV, tmp_path / "log")
    yield link
    link.close(timeout=5)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGUSR2])
@pytest.mark.parametrize("fork", ["", "fork"])
def test_a_killed_owner_leaves_nothing(tmp_path, number, fork, all_gone):
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(tmp_path / "log"), fork],
        env=ENV,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert owner.stdout is not None
    pids = [int(pid) for pid in owner.stdout.readline().split()]
    assert len(pids) == 3
    assert not any(all_gone([pid]) for pid in pids)
    try:
        owner.send_signal(number)
        assert owner.wait(5) == -number
        assert all_gone(pids, 3)
    finally:
        if fork:
            os.killpg(owner.pid, signal.SIGKILL)


def test_answers_find_their_questions_whatever_the_order_of_reading(link):
    futures = [link.call({"op": "add", "a": i, "b": 1})[1] for i in range(500)]
    assert [f.result(20)["sum"] for f in reversed(futures)] == [i + 1 for i in reversed(range(500))]


def test_a_question_larger_than_the_pipe_arrives(link):
    assert len(link.call({"op": "add", "a": "x" * 1_000_000, "b": "y"})[1].result(20)["sum"]) == 1_000_001


def test_what_the_worker_prints_is_in_the_log(link):
    link.call({"op": "add", "a": 1, "b": 1})[1].result(20)
    assert "noise before the protocol" in link.log.read_text()


def test_a_dead_worker_fails_what_waits_and_what_comes_and_takes_its_tree_along(link, all_gone):
    grandchild = link.call({"op": "spawn"})[1].result(20)["pid"]
    waiting = link.call({"op": "silent"})[1]
    link.send({"op": "die"})
    with pytest.raises(WorkerDied):
        waiting.result(5)
    assert all_gone([grandchild])
    with pytest.raises(WorkerDied):
        link.call({"op": "add", "a": 1, "b": 1})[1].result(5)


def test_close_ends_the_tree_and_may_be_called_twice(link, all_gone):
    pids = link.call({"op": "spawn"})[1].result(20)
    link.close()
    link.close()
    assert all_gone([pids["pid"], pids["worker"]])


def test_job_signals_to_every_process_change_nothing(link):
    link.call({"op": "add", "a": 1, "b": 1})[1].result(20)
    for process in (psutil.Process(link.pid), *psutil.Process(link.pid).children(recursive=True)):
        for number in (signal.SIGUSR1, signal.SIGUSR2):
            process.send_signal(number)
    assert link.call({"op": "add", "a": 2, "b": 2})[1].result(20)["sum"] == 4


def test_job_signals_during_the_start_change_nothing(tmp_path):
    link = Link("standin", (), ENV, tmp_path / "log")
    os.killpg(link.pid, signal.SIGUSR2)
    assert link.call({"op": "add", "a": 2, "b": 2})[1].result(20)["sum"] == 4
    link.close()


def test_a_file_of_the_users_does_not_stand_in_for_a_module(tmp_path, monkeypatch):
    (tmp_path / "json.py").write_text("raise SystemExit('the wrong json')")
    monkeypatch.chdir(tmp_path)
    link = Link("standin", (), ENV, tmp_path / "log")
    assert link.call({"op": "add", "a": 2, "b": 2})[1].result(20)["sum"] == 4
    link.close()
