"""What is kept comes back to the letter, also after a kill, and travels as one file."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgelab.errors import JudgelabError, UsageError
from judgelab.search.base import Result, SearchRequest, SearchResponse, Status, evidence_key
from judgelab.search.evidence import Evidence, read_row
from judgelab.search.store import EvidenceStore, export_evidence, import_evidence, sources

ODD = st.one_of(
    st.text(alphabet=st.characters(exclude_categories=[]), max_size=20),
    st.sampled_from(["\ud83d", "\x00", "\u202eabc\u202c", "שלום", "a\u2028b", "\\ud83d", "\r\n", "\ufeff", "😀"]),
)
AT = "2026-01-02T03:04:05+00:00"


def evidence(query: str = "q", text: str = "found", engine: str = "serper", at: str = AT, **more: Any) -> Evidence:
    identity = {"engine": engine, "version": 1, **more}
    request = SearchRequest(query, 5)
    results = (Result(1, "T", text, "https://a.example", None),) if text else ()
    response = SearchResponse(Status.OK if results else Status.EMPTY, results, engine, at, seconds=0.5, recorded=True)
    return Evidence(evidence_key(identity, request), identity, request, response, "judgelab 1")


def fill(folder: Path, *rows: Evidence) -> None:
    for row in rows:
        store = EvidenceStore(folder, row.response.engine)
        store.put(row)
        store.close()


def held(folder: Path, *engines: str) -> list[str]:
    return [row["key"] for engine in engines for row in EvidenceStore(folder, engine).rows()]


@settings(deadline=None)
@given(
    query=ODD, hidden=st.lists(ODD, max_size=2), fields=st.lists(st.tuples(ODD, ODD, ODD, st.none() | ODD), max_size=3)
)
def test_any_text_round_trips(
    tmp_path_factory: pytest.TempPathFactory,
    query: str,
    hidden: list[str],
    fields: list[tuple[str, str, str, str | None]],
) -> None:
    folder = tmp_path_factory.mktemp("store")
    identity = {"engine": "serper", "version": 1}
    request = SearchRequest(query, 5, tuple(hidden))
    results = tuple(Result(rank, *each) for rank, each in enumerate(fields, 1))
    status = Status.OK if results else Status.EMPTY
    response = SearchResponse(status, results, "serper", AT, seconds=0.5, recorded=True)
    row = Evidence(evidence_key(identity, request), identity, request, response, "p 1")
    fill(folder, row)
    assert EvidenceStore(folder, "serper").get(row.key) == response
    assert [read_row(each) for each in EvidenceStore(folder, "serper").rows()] == [row]
    export_evidence(folder, folder / "all.jsonl.gz")
    assert import_evidence(folder / "all.jsonl.gz", folder / "other") == 1
    assert EvidenceStore(folder / "other", "serper").get(row.key) == response


def test_a_store_sees_what_it_has_just_kept(tmp_path: Path) -> None:
    store = EvidenceStore(tmp_path, "serper")
    row = evidence()
    assert store.get(row.key) is None
    store.put(row)
    assert store.get(row.key) == row.response
    store.close()
    store.close()


@pytest.mark.parametrize("status", [status for status in Status if not status.answered])
def test_a_failure_is_refused(status: Status, tmp_path: Path) -> None:
    row = evidence(text="")
    with pytest.raises(ValueError, match="failed"):
        EvidenceStore(tmp_path, "serper").put(replace(row, response=replace(row.response, status=status)))


@pytest.mark.parametrize("cut", [1, 2, 10, 100])
def test_a_torn_tail_is_as_if_never_written(cut: int, tmp_path: Path) -> None:
    first, second = evidence("one"), evidence("two")
    store = EvidenceStore(tmp_path, "serper")
    store.put(first)
    store.put(second)
    store.close()
    (path,) = tmp_path.rglob("*.jsonl")
    path.write_bytes(path.read_bytes()[:-cut])
    again = EvidenceStore(tmp_path, "serper")
    assert again.get(first.key) == first.response
    assert again.get(second.key) is None
    again.put(second)
    again.close()
    assert EvidenceStore(tmp_path, "serper").get(second.key) == second.response


def test_of_two_answers_the_newest_counts_wherever_it_stands(tmp_path: Path) -> None:
    for number, name in enumerate(("old first", "new first")):
        folder = tmp_path / name
        older, newer = evidence(text="old"), evidence(text="new", at="2026-02-02T03:04:05+00:00")
        fill(folder, *([older, newer] if number == 0 else [newer, older]))
        answer = EvidenceStore(folder, "serper").get(older.key)
        assert answer is not None
        assert answer.results[0].text == "new"


def test_of_answers_of_one_second_every_reader_takes_the_first_file(tmp_path: Path) -> None:
    fill(tmp_path, *(evidence(text=f"by {n}") for n in range(4)))
    paths = sorted(tmp_path.rglob("*.jsonl"), key=lambda path: path.name)
    assert len(paths) == 4
    expected = json.loads(paths[0].read_text())["results"][0]["text"]
    answer = EvidenceStore(tmp_path, "serper").get(evidence().key)
    assert answer is not None
    assert answer.results[0].text == expected


def test_a_row_changed_by_hand_is_told(tmp_path: Path) -> None:
    fill(tmp_path, evidence())
    (path,) = tmp_path.rglob("*.jsonl")
    path.write_text(path.read_text().replace('"status":"ok"', '"status":"fine"'))
    with pytest.raises(JudgelabError, match="status"):
        EvidenceStore(tmp_path, "serper").get(evidence().key)
    path.write_text('{"hello":1}\n')
    with pytest.raises(JudgelabError, match="not ours"):
        EvidenceStore(tmp_path, "serper").get("x")


def test_sources(tmp_path: Path) -> None:
    fill(tmp_path, evidence("a"), evidence("b"), evidence("a", engine="brave"))
    assert [(s.name, s.engine, s.searches) for s in sources(tmp_path)] == [
        ("brave", "brave", 1),
        ("serper", "serper", 2),
    ]
    fill(tmp_path, evidence("a", region="uk-en"))
    names = [s.name for s in sources(tmp_path)]
    assert names[0] == "brave"
    assert len(set(names)) == 3
    assert all(name.startswith("serper-") for name in names[1:])
    assert sources(tmp_path / "none") == ()


@pytest.mark.parametrize("name", ["all.jsonl", "all.jsonl.gz"])
def test_evidence_travels(name: str, tmp_path: Path) -> None:
    here, there, file = tmp_path / "here", tmp_path / "there", tmp_path / "sub" / name
    fill(here, evidence("a"), evidence("b"), evidence("a", engine="brave"), evidence("b", text="", engine="brave"))
    fill(there, evidence("a", text="known"))
    assert export_evidence(here, file) == 4
    assert import_evidence(file, there) == 3
    assert import_evidence(file, there) == 0
    assert held(there, "brave", "serper") == held(here, "brave", "serper")
    kept = EvidenceStore(there, "serper").get(evidence("a").key)
    assert kept is not None
    assert kept.results[0].text == "known"
    assert [path.name for path in file.parent.iterdir()] == [name]


@pytest.mark.parametrize("name", ["all.jsonl", "all.jsonl.gz"])
def test_the_same_evidence_gives_the_same_bytes(name: str, tmp_path: Path) -> None:
    rows = [evidence("a"), evidence("b"), evidence("a", engine="brave")]
    for folder, order in ((tmp_path / "1", rows), (tmp_path / "2", rows[::-1])):
        fill(folder, *order)
        export_evidence(folder, folder / name)
    assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes()


def test_nothing_to_export_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no evidence"):
        export_evidence(tmp_path / "none", tmp_path / "all.jsonl")
    assert not list(tmp_path.iterdir())


def exported(tmp_path: Path) -> Path:
    fill(tmp_path / "here", evidence("a"), evidence("b"))
    export_evidence(tmp_path / "here", tmp_path / "all.jsonl")
    return tmp_path / "all.jsonl"


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('"query":"b"', '"query":"c"', r"key: is not that"),
        ('"text":"found"', '"text":7', r"results: not as"),
        ('"status":"ok"', '"status":"timeout"', r"status: does not fit"),
        ('"status":"ok"', '"status":"empty"', r"status: does not fit"),
        ('"rank":1', '"rank":2', r"results: not as"),
        ('"fetched_at":"2026', '"fetched_at":"long ago', r"fetched_at: not as"),
        ('+00:00"', '"', r"fetched_at: not as"),
        ('"key":', '"kez":', r"key: missing"),
        ('"engine":"serper","fetched_at"', '"engine":"../../x","fetched_at"', r"engine: not the one"),
        ('"engine":"serper"', '"engine":"../../x"', r"engine: not the one"),
        ('{"engine"', "engine", r"not JSON"),
        ('{"engine"', '[{"engine"', r"not JSON"),
    ],
)
def test_a_damaged_line_is_named_and_nothing_is_taken(old: str, new: str, complaint: str, tmp_path: Path) -> None:
    file = exported(tmp_path)
    lines = file.read_text().splitlines(keepends=True)
    number = next(n for n, line in enumerate(lines) if n and '"query":"b"' in line)
    assert old in lines[number]
    lines[number] = lines[number].replace(old, new)
    file.write_text("".join(lines))
    with pytest.raises(UsageError, match=rf"all\.jsonl:{number + 1}: {complaint}"):
        import_evidence(file, tmp_path / "there")
    assert not (tmp_path / "there").exists()


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda data: data[: data.rindex(b"\n", 0, -1) + 1], "holds 1 of its 2"),
        (lambda data: data[: data.index(b"\n") + 1], "holds 0 of its 2"),
        (lambda data: data[:-30], r"all\.jsonl:3: not JSON"),
        (lambda data: data.replace(b'"version":1', b'"version":9', 1), r"all\.jsonl:1: not a file"),
        (lambda data: data[data.index(b"\n") + 1 :], r"all\.jsonl:1: not a file"),
        (lambda data: b"", "not a file"),
        (lambda data: b"\n", r"all\.jsonl:1: not JSON"),
        (lambda data: b"7\n", r"all\.jsonl:1: an object"),
        (lambda data: b"\xff\xfe\n", r"all\.jsonl:1"),
        (gzip.compress, r"all\.jsonl:1"),
    ],
)
def test_a_file_that_is_not_whole_is_refused(change: Any, complaint: str, tmp_path: Path) -> None:
    file = exported(tmp_path)
    file.write_bytes(change(file.read_bytes()))
    with pytest.raises(UsageError, match=complaint):
        import_evidence(file, tmp_path / "there")
    assert not (tmp_path / "there").exists()


@pytest.mark.parametrize("cut", [1, 9, 40])
def test_a_packed_file_that_is_cut_is_refused(cut: int, tmp_path: Path) -> None:
    fill(tmp_path / "here", evidence("a"))
    file = tmp_path / "all.jsonl.gz"
    export_evidence(tmp_path / "here", file)
    file.write_bytes(file.read_bytes()[:-cut])
    with pytest.raises(UsageError, match="nothing was imported"):
        import_evidence(file, tmp_path / "there")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"none\.jsonl: cannot be read"):
        import_evidence(tmp_path / "none.jsonl", tmp_path / "there")
