"""Files to rows: places looked at, encodings, line numbers, broken syntax."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgelab.data.files import locate, read_csv, read_json_list, read_jsonl
from judgelab.data.rows import BadRow, Row
from judgelab.errors import UsageError


def write(tmp_path: Path, content: str | bytes, name: str = "f.jsonl") -> Path:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))
    return path


class TestLocate:
    @pytest.fixture(autouse=True)
    def _places(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "here").mkdir()
        (tmp_path / "data").mkdir()
        monkeypatch.chdir(tmp_path / "here")
        monkeypatch.setenv("JUDGELAB_DATA", str(tmp_path / "data"))

    def test_data_folder_goes_before_working_folder(self, tmp_path: Path) -> None:
        here = write(tmp_path / "here", "", "q.jsonl")
        assert locate("q.jsonl", "dataset.path") == here
        there = write(tmp_path / "data", "", "q.jsonl")
        assert locate("q.jsonl", "dataset.path") == there

    def test_absolute_is_taken_as_it_is(self, tmp_path: Path) -> None:
        write(tmp_path / "data", "", "q.jsonl")
        with pytest.raises(UsageError, match="no such file"):
            locate(str(tmp_path / "q.jsonl"), "dataset.path")
        path = write(tmp_path, "", "q.jsonl")
        assert locate(str(path), "dataset.path") == path

    def test_missing_names_places_and_knobs(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError) as caught:
            locate("q.jsonl", "dataset.persons")
        message = str(caught.value)
        for part in (tmp_path / "data/q.jsonl", tmp_path / "here/q.jsonl", "dataset.persons=", "JUDGELAB_DATA"):
            assert str(part) in message
        assert "not set" not in message
        assert "\n" not in message

    def test_missing_says_when_the_data_folder_is_not_set(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("JUDGELAB_DATA")
        with pytest.raises(UsageError, match="JUDGELAB_DATA is not set"):
            locate("q.jsonl", "dataset.path")

    def test_folder(self, tmp_path: Path) -> None:
        (tmp_path / "data" / "set").mkdir()
        assert locate("set", "dataset.path", folder=True) == tmp_path / "data" / "set"
        write(tmp_path / "here", "", "q.jsonl")
        with pytest.raises(UsageError, match=r"q\.jsonl: a file, not a folder; .*dataset\.path=FOLDER"):
            locate("q.jsonl", "dataset.path", folder=True)
        with pytest.raises(UsageError, match="nowhere: no such folder"):
            locate("nowhere", "dataset.path", folder=True)

    @pytest.mark.parametrize(
        ("name", "message"),
        [
            (None, "dataset.path is not set"),
            ("???", "dataset.path is not set"),
            (".", "a folder, not a file"),
            ("x" * 5000, "cannot be looked up"),
        ],
    )
    def test_refuses(self, name: str | None, message: str) -> None:
        with pytest.raises(UsageError, match=message):
            locate(name, "dataset.path")


class TestJsonl:
    @pytest.mark.parametrize(
        "content",
        [
            b'{"a": 1}\n{"a": 2}\n',
            b'{"a": 1}\n{"a": 2}',
            b'\xef\xbb\xbf{"a": 1}\r\n{"a": 2}\r\n',
        ],
    )
    def test_reads(self, tmp_path: Path, content: bytes) -> None:
        assert list(read_jsonl(write(tmp_path, content))) == [Row("1", {"a": 1}), Row("2", {"a": 2})]

    def test_packed(self, tmp_path: Path) -> None:
        path = write(tmp_path, gzip.compress(b'\xef\xbb\xbf{"a": 1}\n'), "f.jsonl.gz")
        assert list(read_jsonl(path)) == [Row("1", {"a": 1})]

    @pytest.mark.parametrize("content", [b"plain", gzip.compress(b"{}" * 99)[:-9], b"\x1f\x8b\x08" + b"\x00" * 20])
    def test_packed_badly(self, tmp_path: Path, content: bytes) -> None:
        with pytest.raises(UsageError, match="cannot be unpacked"):
            list(read_jsonl(write(tmp_path, content, "f.jsonl.gz")))

    def test_blank_lines_count_but_are_no_rows(self, tmp_path: Path) -> None:
        assert [r.where for r in read_jsonl(write(tmp_path, '\n{"a": 1}\n  \n{"a": 2}\n\n'))] == ["2", "4"]

    def test_line_separators_inside_texts_do_not_end_a_line(self, tmp_path: Path) -> None:
        lines = [json.dumps({"a": "x\u2028y\u0085z"}, ensure_ascii=False), '{"a": "second"}']
        read = list(read_jsonl(write(tmp_path, "\n".join(lines))))
        assert [r.where for r in read] == ["1", "2"]

    def test_very_long_line(self, tmp_path: Path) -> None:
        text = "x" * 3_000_000
        (read,) = read_jsonl(write(tmp_path, json.dumps({"a": text})))
        assert isinstance(read, Row)
        assert read.values["a"] == text

    @pytest.mark.parametrize(
        ("line", "reason"),
        [
            (b'{"a": 1', "not JSON: Expecting ',' delimiter at column 8"),
            (b"{'a': 1}", "not JSON: Expecting property name"),
            (b'{"a": 1} {"a": 2}', "not JSON: Extra data at column 10"),
            (b'{"a": "\xff"}', "not UTF-8: byte 0xff at byte 8"),
            (b'["a"]', "a JSON object is expected, not list"),
            (b"null", "a JSON object is expected, not NoneType"),
            (b"[" * 100_000, "not JSON: nested too deeply"),
            (b'{"a": ' + b"9" * 5000 + b"}", "not JSON: Exceeds the limit"),
        ],
    )
    def test_bad_line_stands_in_its_place(self, tmp_path: Path, line: bytes, reason: str) -> None:
        good, bad, after = read_jsonl(write(tmp_path, b'{"a": 0}\n' + line + b'\n{"a": 3}\n'))
        assert isinstance(bad, BadRow)
        assert (bad.where, bad.field) == ("2", "line")
        assert bad.reason.startswith(reason)
        assert (good.where, after.where) == ("1", "3")

    @given(st.lists(st.dictionaries(st.text(), st.text() | st.integers() | st.none()), max_size=5))
    def test_round_trip(self, tmp_path_factory: pytest.TempPathFactory, objects: list[dict[str, object]]) -> None:
        path = write(tmp_path_factory.mktemp("d"), "\r\n".join(json.dumps(o) for o in objects))
        assert [r.values for r in read_jsonl(path) if isinstance(r, Row)] == objects


class TestJsonList:
    def test_elements_know_their_line(self, tmp_path: Path) -> None:
        path = write(tmp_path, '\ufeff[\n {"a": 1},\n {"a":\n 2},{"a": 3}\n]\n')
        read = list(read_json_list(path))
        assert [r.where for r in read] == ["2 (element 1)", "3 (element 2)", "4 (element 3)"]
        assert [r.values for r in read if isinstance(r, Row)] == [{"a": 1}, {"a": 2}, {"a": 3}]

    def test_empty_list(self, tmp_path: Path) -> None:
        assert list(read_json_list(write(tmp_path, " [ ] "))) == []

    @pytest.mark.parametrize(
        ("content", "where", "reason"),
        [
            ('[{"a": 1},\n{"a": ]', "2 (element 2)", "not JSON: Expecting value"),
            ('[{"a": 1}\n{"a": 2}]', "1 (element 1)", "followed neither"),
            ('[{"a": 1},\n{"a": 2}', "2 (element 2)", "followed neither"),
            ("[1]", "1 (element 1)", "a JSON object is expected, not int"),
            ('[{"a": 1},\n', "2 (element 2)", "not JSON"),
        ],
    )
    def test_broken(self, tmp_path: Path, content: str, where: str, reason: str) -> None:
        bad = [r for r in read_json_list(write(tmp_path, content)) if isinstance(r, BadRow)]
        assert [b.where for b in bad] == [where]
        assert bad[0].reason.startswith(reason)

    @pytest.mark.parametrize("content", ["", '{"a": 1}'])
    def test_no_list(self, tmp_path: Path, content: str) -> None:
        with pytest.raises(UsageError, match="not a JSON list"):
            list(read_json_list(write(tmp_path, content)))


class TestCsv:
    def test_unquoted(self, tmp_path: Path) -> None:
        path = write(tmp_path, 'a\tb\n"x" y\t"z\n')
        assert list(read_csv(path, ("a",), "\t", quoted=False)) == [Row("2", {"a": '"x" y', "b": '"z'})]
        assert any(isinstance(r, BadRow) for r in read_csv(path, ("a",), "\t"))

    def test_rows_know_the_line_they_begin_on(self, tmp_path: Path) -> None:
        path = write(tmp_path, '\ufeffa, b ,\r\n1,"two\r\nlines",x\r\n,,\r\n3,4,\r\n')
        assert list(read_csv(path, ("a", "b"))) == [
            Row("2", {"a": "1", "b": "two\r\nlines"}),
            Row("5", {"a": "3", "b": "4"}),
        ]

    def test_long_cell_and_the_module_limit_is_left_alone(self, tmp_path: Path) -> None:
        limit = csv.field_size_limit()
        (read,) = read_csv(write(tmp_path, "a,b\n1," + "x" * 400_000), ("a",))
        assert isinstance(read, Row)
        assert len(str(read.values["b"])) == 400_000
        assert csv.field_size_limit() == limit

    def test_banner(self, tmp_path: Path) -> None:
        path = write(tmp_path, "Please read the notice,,\n,,\na,b,c\n1,2,3\n")
        assert list(read_csv(path, ("a", "b"), banner=True)) == [Row("4", {"a": "1", "b": "2", "c": "3"})]
        with pytest.raises(UsageError, match=r":1: column `a` is missing; found 'Please read the notice'"):
            list(read_csv(path, ("a", "b")))

    def test_banner_is_looked_through_for_ten_rows_only(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match=r":10: column `a` is missing"):
            list(read_csv(write(tmp_path, "notice\n" * 12 + "a,b\n"), ("a",), banner=True))

    @pytest.mark.parametrize(
        ("content", "where", "reason"),
        [
            ("a,b\n1,2\n3\n", "3", "has 1 cells where the header has 2"),
            ("a,b\n1,2,3\n", "2", "has 3 cells where the header has 2"),
            ('a,b\n1,2\n3,"open\n4,5\n', "3", "not readable: unexpected end of data"),
            ('a,b\n1,"x"y\n', "2", "not readable: ',' expected after"),
        ],
    )
    def test_bad_rows(self, tmp_path: Path, content: str, where: str, reason: str) -> None:
        bad = [r for r in read_csv(write(tmp_path, content), ("a",)) if isinstance(r, BadRow)]
        assert [b.where for b in bad] == [where]
        assert bad[0].reason.startswith(reason)

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"x,y\n1,2\n", "f.csv:1: column `a` is missing; found 'x, y'"),
            (b"a,b,a\n1,2,3\n", "f.csv:1: column `a` comes twice"),
            (b"a,b\n1,2\n3,\xe9\n", "f.csv:3: line: not UTF-8: byte 0xe9"),
            (b"\xff\xfea\x00", "f.csv:1: line: not UTF-8: byte 0xff"),
        ],
    )
    def test_refuses(self, tmp_path: Path, content: bytes, message: str) -> None:
        with pytest.raises(UsageError) as caught:
            list(read_csv(write(tmp_path, content, "f.csv"), ("a",)))
        assert message in str(caught.value)
        assert "\n" not in str(caught.value)

    @pytest.mark.parametrize("delimiter", [",", "\t"])
    @given(cells=st.lists(st.tuples(st.text(), st.text()), max_size=6))
    def test_round_trip(
        self, tmp_path_factory: pytest.TempPathFactory, delimiter: str, cells: list[tuple[str, str]]
    ) -> None:
        buffer = io.StringIO(newline="")
        writer = csv.writer(buffer, delimiter=delimiter, quoting=csv.QUOTE_ALL)
        writer.writerow(("a", "b"))
        writer.writerows(cells)
        path = write(tmp_path_factory.mktemp("d"), buffer.getvalue())
        read = [(r.values["a"], r.values["b"]) for r in read_csv(path, ("a",), delimiter) if isinstance(r, Row)]
        assert read == [pair for pair in cells if pair[0].strip() or pair[1].strip()]
