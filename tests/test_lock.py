"""One process a run, or the shards of one split side by side."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from judgelab import lock
from judgelab.errors import JudgelabError
from judgelab.lock import held


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "PAUSE", 0.002)


@pytest.mark.parametrize(
    ("holders", "asked", "free"),
    [
        ([None], None, False),
        ([None], "1/2", False),
        (["1/2"], None, False),
        (["1/2"], "1/2", False),
        (["1/2"], "2/2", True),
        (["1/2", "2/2"], "1/4", False),
        (["1/2"], "1/20", False),
        (["1/20"], "2/2", False),
        ([], None, True),
        ([], "3/3", True),
    ],
)
def test_who_may_work_beside_whom(tmp_path: Path, holders: list[str | None], asked: str | None, free: bool) -> None:
    locks = [held(tmp_path, each) for each in holders]
    for each in locks:
        each.__enter__()
    try:
        if free:
            with held(tmp_path, asked):
                pass
        else:
            with pytest.raises(JudgelabError, match=r"is being worked on by .*process"), held(tmp_path, asked):
                pass
    finally:
        for each in locks:
            each.__exit__(None, None, None)
    with held(tmp_path, asked):  # what was held is free again
        pass


def test_shards_that_start_at_the_same_moment_all_work(tmp_path: Path) -> None:
    together = threading.Barrier(16, timeout=20)

    def work(k: int) -> int:
        with held(tmp_path, f"{k}/16"):
            together.wait()  # all sixteen hold theirs now
            return k

    for _ in range(5):
        with ThreadPoolExecutor(16) as pool:
            assert sorted(pool.map(work, range(1, 17))) == list(range(1, 17))
