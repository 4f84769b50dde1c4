"""What is decided before the first call."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from judgelab import Config
from judgelab.config import preset
from judgelab.planning import plan
from judgelab.settings import DatasetConfig, ScriptedConfig, SwappedConfig


def config(folder: Path, path: str) -> Config:
    return Config(
        protocol=SwappedConfig(),
        dataset=DatasetConfig(name="plain", format="plain", path=path),
        judge=preset("judge", "smollm2-135m"),
        engine=ScriptedConfig(),
        runs_dir=str(folder / "runs"),
    )


def write(path: Path, *names: str) -> None:
    rows = ({"question": f"Who is {name}?", "answers": [name], "type": "PERSON"} for name in names)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_data_is_loaded_once_for_a_sweep_and_again_when_it_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import judgelab.data

    loads = []
    whole = judgelab.data.load
    monkeypatch.setattr(judgelab.data, "load", lambda settings: loads.append(settings) or whole(settings))
    file = tmp_path / "q.jsonl"
    write(file, "Ada", "Bob", "Cyd")
    first = config(tmp_path, str(file))
    assert plan(first).science.digest() == plan(first).science.digest() != plan(replace(first, seed=1)).science.digest()
    assert len(loads) == 1
    write(file, "Ada", "Bob", "Dan", "Eve")
    assert [item.question for item in plan(first).dataset.items][2:] == ["Who is Dan?", "Who is Eve?"]
    assert len(loads) == 2


@pytest.mark.parametrize("under", ["cwd", "data"])
def test_a_relative_path_means_another_file_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, under: str
) -> None:
    monkeypatch.delenv("JUDGELAB_DATA", raising=False)
    for folder, name in (("a", "Ada"), ("b", "Bob")):
        (tmp_path / folder).mkdir()
        write(tmp_path / folder / "q.jsonl", name, "Cyd")
        if under == "cwd":
            monkeypatch.chdir(tmp_path / folder)
        else:
            monkeypatch.setenv("JUDGELAB_DATA", str(tmp_path / folder))
        assert plan(config(tmp_path, "q.jsonl")).dataset.items[0].question == f"Who is {name}?"
