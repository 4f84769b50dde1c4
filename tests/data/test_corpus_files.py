"""Corpora: the formats passages come in, one passage once, ids, what is refused."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from datafiles import jsonl, put

from judgelab.data.corpus import Passage, load_corpus
from judgelab.errors import UsageError
from judgelab.records import content_hash


def test_formats_are_read_in_order_and_repeats_merged(tmp_path: Path) -> None:
    packed = put(tmp_path, "p.jsonl.gz", gzip.compress(jsonl({"title": "Well", "text": " Deep. "}).encode()))
    rows = [{"question": "q", "context": "Ode dug it."}, {"question": "r", "context": None}]
    typed = put(tmp_path, "n.jsonl", jsonl(*rows, {"question": "s", "context": "Ode dug it."}))
    tsv = put(tmp_path, "t.tsv", 'id\ttext\ttitle\n7\tDeep.\tWell\n8\t"A ""pump""."\tPump\n')
    own = put(tmp_path, "o.jsonl", jsonl({"id": 8, "contents": "New.", "url": "http://n.example"}))
    passages = load_corpus([str(path) for path in (packed, typed, tsv, own)])
    assert passages == (
        Passage(content_hash(["Well", "Deep."]), "Well", "Deep."),
        Passage(content_hash(["", "Ode dug it."]), "", "Ode dug it."),
        Passage("8", "Pump", 'A "pump".'),
        Passage(content_hash(["", "New."]), "", "New.", "http://n.example"),  # id 8 was given away
    )


def test_paths_are_looked_up_under_the_data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUDGELAB_DATA", str(tmp_path))
    put(tmp_path, "c.jsonl", jsonl({"text": "Deep."}))
    assert [passage.text for passage in load_corpus(["c.jsonl"])] == ["Deep."]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("c.jsonl", jsonl({"title": "x"}), "c.jsonl:1: text: missing (a passage has one of text, contents, context)"),
        ("c.jsonl", jsonl({"text": 5}), "c.jsonl:1: text: a text is expected"),
        ("c.jsonl", jsonl({"text": ""}), "c.jsonl: empty set: every row was left out (1 blank)"),
        ("c.tsv", "id\tbody\n1\tx\n", "c.tsv:1: column `text` is missing"),
        ("c.txt", "x", "c.txt: a corpus is a .jsonl or a .tsv file"),
        ("c.jsonl.gz", b"\x1f\x8bnot whole", "c.jsonl.gz: cannot be unpacked"),
        ("c.jsonl.gz", b"plain", "c.jsonl.gz: cannot be unpacked"),
    ],
)
def test_refuses(tmp_path: Path, name: str, content: str | bytes, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        load_corpus([str(put(tmp_path, name, content))])
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_refuses_no_file_and_a_missing_one() -> None:
    with pytest.raises(UsageError, match=r"dataset\.corpus names no file"):
        load_corpus([])
    with pytest.raises(UsageError, match=r"^nowhere\.jsonl: no such file; .*search\.corpus="):
        load_corpus(["nowhere.jsonl"], "search.corpus")
