"""The main job on real engines and published data: the same command under vLLM, transformers and a server."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from judgelab.judge import Judge

JOB = ["protocol=swapped", "dataset=nq_typed", "limit=6", "judge=smollm2-135m", "analysis.resamples=500"]
pytestmark = [pytest.mark.vllm, pytest.mark.real_data]


@pytest.fixture(scope="module", autouse=True)
def _needs(embedded_judge: Judge, data_dir: Path) -> None:
    pytest.importorskip("vllm", reason="vLLM is not installed: pip install 'judgelab[cpu]'")


def command(folder: Path, *words: str) -> list[str]:
    return [sys.executable, "-m", "judgelab", "run", *JOB, f"runs_dir={folder}", *words]


def judge(folder: Path, *words: str) -> dict[str, Any]:
    done = subprocess.run(command(folder, *words), capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    (summary,) = folder.glob("swapped/nq_typed/*/*/summary.json")
    found: dict[str, Any] = json.loads(summary.read_text())
    return found


def verdicts(folder: Path) -> dict[str, tuple[str, dict[str, float]]]:
    rows = [
        json.loads(line)
        for file in folder.glob("swapped/*/*/*/records*")
        for line in file.read_text().splitlines()
        if line.endswith("}")
    ]
    assert len(rows) == len({row["record_id"] for row in rows}), "a record was written twice"
    return {row["record_id"]: (row["verdict"], row["probabilities"]) for row in rows}


def check(summary: dict[str, Any], engine: str) -> None:
    assert summary["engine"] == engine
    assert summary["coverage"]["judged"] + sum(summary["coverage"]["unscored"].values()) == 24
    assert set(summary["coverage"]["unscored"]) <= {"no_candidate"}
    for name in ("acc_o", "acc_s", "rpag", "acc_oo", "acc_os", "acc_so", "acc_ss", "ss_rejection", "not_attempted"):
        metric = summary["metrics"][name]
        assert metric["ci"][0] <= metric["value"] <= metric["ci"][1], name
        assert metric["n"] > 0
    assert summary["warnings"][0] == "plumbing check: 135M judge, not evidence"


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    check(judge(folder, "engine=vllm"), "vllm")
    return folder


def test_kill_9_resumes_to_the_same_records_and_leaves_no_process(uninterrupted: Path, tmp_path: Path) -> None:
    words = ["engine=vllm", "in_flight=2"]
    child = subprocess.Popen(command(tmp_path, *words), stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 300
    while not list(tmp_path.rglob("records*")):
        assert child.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    tree = psutil.Process(child.pid).children(recursive=True)
    assert len(tree) >= 3, "supervisor, worker and engine core"
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    _, alive = psutil.wait_procs(tree, timeout=10)
    assert not alive
    done = len(verdicts(tmp_path))
    assert 0 < done < 24
    judge(tmp_path, "engine=vllm")
    one, two = verdicts(uninterrupted), verdicts(tmp_path)
    assert {key: label for key, (label, _) in one.items()} == {key: label for key, (label, _) in two.items()}
    for key, (_, probabilities) in one.items():  # bf16 rounds otherwise in another batch
        assert two[key][1] == pytest.approx(probabilities, abs=0.08)
    keys = [
        json.loads(line)["key"]
        for file in tmp_path.rglob("calls-*")
        for line in file.read_text().splitlines()
        if line.endswith("}")
    ]
    assert len(keys) == len(set(keys)), "a finished call was asked again"


def test_another_analysis_starts_no_engine(uninterrupted: Path) -> None:
    log = next(uninterrupted.rglob("engine.log"))
    size = log.stat().st_size
    summary = judge(uninterrupted, "engine=vllm", "analysis.level=0.9", "analysis.not_attempted=excluded")
    assert summary["analysis"]["level"] == 0.95, "the default stays at the top"
    assert log.stat().st_size == size
    (manifest,) = uninterrupted.rglob("manifest.json")
    assert len(json.loads(manifest.read_text())["launches"]) == 1


def test_transformers_gives_the_same_verdicts(uninterrupted: Path, tmp_path: Path) -> None:
    check(judge(tmp_path, "engine=transformers"), "transformers")
    one, two = verdicts(uninterrupted), verdicts(tmp_path)
    assert one.keys() == two.keys()
    for key, (label, probabilities) in one.items():
        other, others = two[key]
        if label is not None:
            gap = max(abs(probabilities[each] - others[each]) for each in probabilities)
            assert gap < 0.2
            assert label == other or gap > 0, "argmax may differ only where probabilities do"


@pytest.fixture
def server(embedded_judge: Judge, tmp_path: Path) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    args = ["--port", str(port), "--host", "127.0.0.1", "--max-model-len", "2048", "--dtype", "bfloat16"]
    with (tmp_path / "server.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "judgelab.engines.serve", str(embedded_judge.path), *args],
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        tree = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
        for each in tree:
            each.kill()
        process.wait()


def test_a_server_gives_the_same_verdicts(uninterrupted: Path, server: str, tmp_path: Path) -> None:
    check(judge(tmp_path, "engine=server", f"engine.endpoints=[{server}]"), "server")
    assert {k: v for k, (v, _) in verdicts(tmp_path).items()} == {k: v for k, (v, _) in verdicts(uninterrupted).items()}
    assert httpx.get(f"{server}/health").status_code == 200


def test_a_prompt_longer_than_the_context_costs_its_own_item_alone(tmp_path: Path) -> None:
    rows = [
        {"question": f"Who is number {n}?", "answers": [f"Person {chr(75 + n)}"], "type": "PERSON"} for n in range(6)
    ]
    rows[0]["question"] = "Who is it " + "that was there " * 600 + "?"
    data = tmp_path / "long.jsonl"
    data.write_text("\n".join(map(json.dumps, rows)))
    words = ["dataset=plain", f"dataset.path={data}", "limit=null", "engine=transformers", "max_unscored=1"]
    done = subprocess.run(command(tmp_path / "runs", *words), capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    (path,) = (tmp_path / "runs").glob("swapped/plain/*/*/summary.json")
    assert json.loads(path.read_text())["coverage"] == {"judged": 20, "unscored": {"too_long": 4}}
    words[-1] = "max_unscored=0.05"
    failed = subprocess.run(command(tmp_path / "runs", *words), capture_output=True, text=True, timeout=600)
    assert failed.returncode == 1
    assert "too_long 4" in failed.stderr
