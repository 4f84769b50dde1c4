from __future__ import annotations

import contextlib
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from judgelab.errors import Drained, JudgelabError
from judgelab.status import STALE, Watch, statuses


@pytest.mark.parametrize(
    ("error", "state", "told"),
    [
        (None, "complete", ""),
        (Drained("stopped"), "drained", ""),
        (JudgelabError("disk\nfull"), "failed", "disk full"),
        (KeyError("x"), "failed", "KeyError: 'x'"),
    ],
)
def test_a_process_says_how_it_ended(tmp_path: Path, error: Exception | None, state: str, told: str) -> None:
    with contextlib.suppress(Drained, JudgelabError, KeyError), Watch(tmp_path, None) as watch:
        assert statuses(tmp_path)[0].state == "running"
        watch.update(3, 10)
        if error:
            raise error
    (status,) = statuses(tmp_path)
    assert (status.state, status.error, status.done, status.items) == (state, told, 3, 10)


def test_every_shard_has_a_file_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_JOB_ID", "17")
    monkeypatch.setenv("SLURM_RESTART_COUNT", "2")
    for shard in ("1/2", "2/2"):
        with Watch(tmp_path, shard):
            pass
    assert [s.shard for s in statuses(tmp_path)] == ["1/2", "2/2"]
    assert (statuses(tmp_path)[0].job, statuses(tmp_path)[0].restarts) == ("17", 2)
    assert "shard 1/2" in statuses(tmp_path)[0].line()
    assert "job 17" in statuses(tmp_path)[0].line()


def test_one_that_claims_to_run_and_says_nothing_has_died(tmp_path: Path) -> None:
    with Watch(tmp_path, None):
        path = tmp_path / "status.json"
        values = json.loads(path.read_text())
        old = (datetime.now(UTC) - timedelta(seconds=STALE + 60)).isoformat(timespec="seconds")
        path.write_text(json.dumps({**values, "updated": old}))
        (status,) = statuses(tmp_path)
        assert status.stale()
        assert status.line().startswith("died without a word")


def test_a_damaged_file_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "status.json").write_text("{")
    (tmp_path / "status-1-of-2.json").write_text('{"state": "x"}')
    assert statuses(tmp_path) == []
