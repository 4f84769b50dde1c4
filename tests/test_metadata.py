"""What runs ask of a shared file system, and the script that measures it."""

from __future__ import annotations

import json
import os
import runpy
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from judgelab import Config, run
from judgelab.config import preset
from judgelab.settings import AnalysisConfig, DatasetConfig, ScriptedConfig, SwappedConfig

TRACE = """\
7 openat(AT_FDCWD</w>, "/w/runs/a.jsonl", O_RDONLY) = 5</w/runs/a.jsonl>
7 read(5</w/runs/a.jsonl>, ""..., 8192) = 100
7 newfstatat(AT_FDCWD</w>, "/w/runs/b", 0x7ff, 0) = -1 ENOENT (No such file or directory)
8 write(6</w/runs/c.jsonl>, ""..., 512) = 512
8 write(1</dev/pts/0>, ""..., 9) = 9
8 lseek(6</w/runs/c.jsonl>, 0, SEEK_CUR) = 0
8 flock(6</w/runs/.lock>, LOCK_EX) = 0
8 +++ exited with 0 +++
"""
_SEEN: Counter[str] = Counter()
_FOLDER: list[str] = []


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if _FOLDER and event in ("open", "os.mkdir", "os.rename", "os.listdir", "os.scandir", "os.remove"):
        path = arguments[0]
        if isinstance(path, str | os.PathLike) and os.fspath(path).startswith(_FOLDER[0]):
            _SEEN[event] += 1


def test_a_trace_is_read_for_one_folder() -> None:
    script = runpy.run_path(str(Path(__file__).parents[1] / "experiments" / "metadata.py"))
    cost = script["cost_of"](TRACE, "/w/runs")
    assert cost.operations == {"openat": 1, "newfstatat": 1, "flock": 1}
    assert (cost.names, cost.read, cost.written) == (3, 100, 512)


def test_an_item_asks_nothing_of_the_metadata_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sys.addaudithook(_hook)
    whole = os.stat

    def stat(path: Any, *args: Any, **kwargs: Any) -> os.stat_result:
        if _FOLDER and isinstance(path, str | os.PathLike) and os.fspath(path).startswith(_FOLDER[0]):
            _SEEN["stat"] += 1
        return whole(path, *args, **kwargs)

    monkeypatch.setattr(os, "stat", stat)
    rows = [{"question": f"Where is {n}?", "answers": [f"Town {n:03d}ville"], "type": "GPE"} for n in range(60)]
    (tmp_path / "q.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    asked = []
    for limit in (20, 20, 60):  # the first one also imports
        folder = tmp_path / f"runs-{len(asked)}"
        _SEEN.clear()
        _FOLDER[:] = [str(folder)]
        run(
            Config(
                protocol=SwappedConfig(),
                dataset=DatasetConfig(name="plain", format="plain", path=str(tmp_path / "q.jsonl")),
                judge=preset("judge", "smollm2-135m"),
                engine=ScriptedConfig(),
                analysis=AnalysisConfig(resamples=100),
                limit=limit,
                runs_dir=str(folder),
            )
        )
        asked.append(_SEEN.total())
        _FOLDER.clear()
    assert asked[1] > 50, "the hook sees nothing"
    assert abs(asked[2] - asked[1]) <= 8, asked  # figures that 20 items are too few for
