from __future__ import annotations

import json
import socket
import stat
import time
from dataclasses import replace
from pathlib import Path

import pytest

from judgelab.engines import registry
from judgelab.engines.registry import Endpoint, clients, endpoints, lease, serving, this_host

ENTRY = Endpoint(
    url="http://node1:8001",
    judge="small",
    weights="hub:abc",
    key="secret",
    state="loading",
    host="node1",
    pid=1,
    job="17",
    beat=0.0,
)


def test_a_server_is_known_while_it_lives_and_not_afterwards(tmp_path: Path) -> None:
    with serving(tmp_path, ENTRY) as entry:
        (found,) = endpoints(tmp_path, "small", "hub:abc")
        assert (found.url, found.key, found.state) == ("http://node1:8001", "secret", "loading")
        assert time.time() - found.beat < 10
        entry.ready()
        assert endpoints(tmp_path, "small", "hub:abc")[0].state == "ready"
    assert endpoints(tmp_path, "small", "hub:abc") == []
    assert list(tmp_path.iterdir()) == []


def test_its_key_can_be_read_by_its_owner_alone(tmp_path: Path) -> None:
    with serving(tmp_path, ENTRY):
        (path,) = tmp_path.glob("server-*.json")
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize(("judge", "weights"), [("other", "hub:abc"), ("small", "hub:def")])
def test_other_judges_and_other_weights_are_not_found(tmp_path: Path, judge: str, weights: str) -> None:
    with serving(tmp_path, ENTRY):
        assert endpoints(tmp_path, judge, weights) == []


def test_an_entry_that_is_not_renewed_is_dead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(tmp_path, ENTRY), serving(tmp_path, replace(ENTRY, url="http://node2:1")):
        (path, _) = sorted(tmp_path.glob("server-*.json"))
        values = json.loads(path.read_text())
        path.write_text(json.dumps({**values, "beat": time.time() - registry.SILENCE - 5}))
        assert len(endpoints(tmp_path, "small", "hub:abc")) == 1


def test_entries_are_renewed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "BEAT", 0.05)
    with serving(tmp_path, ENTRY):
        first = endpoints(tmp_path, "small", "hub:abc")[0].beat
        deadline = time.monotonic() + 10
        while endpoints(tmp_path, "small", "hub:abc")[0].beat == first:
            assert time.monotonic() < deadline
            time.sleep(0.02)


def test_clients_are_counted_by_judge(tmp_path: Path) -> None:
    with lease(tmp_path, "small"), lease(tmp_path, "small"), lease(tmp_path, "large"):
        assert (clients(tmp_path, "small"), clients(tmp_path, "large")) == (2, 1)
    assert clients(tmp_path, "small") == 0


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"beat": "x"}', '{"beat": 9e99}'])
def test_files_that_are_not_entries_are_passed_over(tmp_path: Path, text: str) -> None:
    (tmp_path / "server-small-x.json").write_text(text)
    assert endpoints(tmp_path, "small", "hub:abc") == []


def test_no_registry_is_no_server(tmp_path: Path) -> None:
    assert endpoints(tmp_path / "none", "small", "hub:abc") == []


def test_a_node_is_called_by_a_name_that_resolves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURMD_NODENAME", "localhost")
    assert this_host() == "localhost"
    monkeypatch.setenv("SLURMD_NODENAME", "no-such-node.invalid")
    assert this_host() == socket.gethostname()
