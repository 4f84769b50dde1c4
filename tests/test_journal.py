"""Journals survive what kills their writers."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgelab.errors import JudgelabError
from judgelab.journal import JournalWriter, read_journal, write_atomic

TEXT = st.text(alphabet=st.characters(exclude_categories=[]))  # lone surrogates too: models write half characters


def test_lines_come_back_in_order(tmp_path: Path) -> None:
    with JournalWriter(tmp_path, "r") as writer:
        writer.append({"a": 1}, {"a": 2})
        writer.append({"a": 3})
    assert [line.value["a"] for line in read_journal(tmp_path, "r")] == [1, 2, 3]


@given(values=st.lists(st.dictionaries(TEXT, TEXT), max_size=5))
def test_any_text_round_trips(tmp_path_factory: pytest.TempPathFactory, values: list[dict[str, str]]) -> None:
    folder = tmp_path_factory.mktemp("journal")
    with JournalWriter(folder, "r") as writer:
        for value in values:
            writer.append(value)
    assert [dict(line.value) for line in read_journal(folder, "r")] == values


def test_an_idle_writer_leaves_no_file(tmp_path: Path) -> None:
    JournalWriter(tmp_path, "r").close()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("cut", range(1, 12))
def test_a_torn_tail_is_as_if_never_written(tmp_path: Path, cut: int) -> None:
    with JournalWriter(tmp_path, "r") as writer:
        writer.append({"a": 1})
        writer.append({"b": "täil"})
    data = writer.path.read_bytes()
    writer.path.write_bytes(data[:-cut])
    assert [dict(line.value) for line in read_journal(tmp_path, "r")] == [{"a": 1}]


def test_a_broken_line_is_named(tmp_path: Path) -> None:
    (tmp_path / "r-1.jsonl").write_text('{"a":1}\n{oops\n{"a":2}\n')
    with pytest.raises(JudgelabError, match=r"r-1\.jsonl:2"):
        list(read_journal(tmp_path, "r"))


def test_writers_never_share_a_file(tmp_path: Path) -> None:
    writers = [JournalWriter(tmp_path, "r") for _ in range(20)]
    assert len({writer.path for writer in writers}) == 20


def test_a_full_disk_is_one_line_and_keeps_what_was_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = JournalWriter(tmp_path, "r")
    writer.append({"a": 1})
    real = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: real(fd, data[:5]))
    with pytest.raises(JudgelabError, match=r"No space left.*runs_dir"):
        writer.append({"a": 2})
    monkeypatch.undo()
    with pytest.raises(JudgelabError, match="No space left"):
        writer.append({"a": 3})
    writer.close()
    assert [dict(line.value) for line in read_journal(tmp_path, "r")] == [{"a": 1}]


def test_atomic_write_leaves_nothing_behind_when_it_fails(tmp_path: Path) -> None:
    target = tmp_path / "x"
    target.mkdir()
    with pytest.raises(JudgelabError, match="cannot write"):
        write_atomic(target, "text")
    assert [p.name for p in tmp_path.iterdir()] == ["x"]
