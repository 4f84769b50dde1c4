"""Published files turned into rows that know their line, so that a complaint can name the place.

Invariant: what cannot be read becomes a `BadRow` in its place among the rows; it is never skipped in silence.
Files are UTF-8, with or without byte order mark, with LF or CRLF ends, and lines may be of any length; those named
`*.gz` are unpacked on the way.
"""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import json
import os
import zlib
from collections.abc import Collection, Iterator
from pathlib import Path

from judgelab.data.rows import BadRow, Row
from judgelab.errors import UsageError

BOM = b"\xef\xbb\xbf"
BANNER_ROWS = 10  # rows looked at for the header where copies put notices above it


def locate(given: str | None, knob: str, folder: bool = False) -> Path:
    """The file (or folder) that `given` names: absolute, else under $JUDGELAB_DATA, else under the working folder.

    Raises UsageError naming every place looked at, the knob and JUDGELAB_DATA.
    """
    wanted = "FOLDER" if folder else "FILE"
    if given is None or given in ("", "???"):
        raise UsageError(f"{knob} is not set (knob: {knob}={wanted})")
    root = os.environ.get("JUDGELAB_DATA")
    data = "" if root else " is not set"
    knobs = f"(knobs: {knob}={wanted}, JUDGELAB_DATA{data})"
    try:
        path = Path(given).expanduser()
        if path.is_absolute():
            places = [path]
        else:
            places = [Path(root).expanduser() / path, Path.cwd() / path] if root else [Path.cwd() / path]
        for place in places:
            if place.is_dir() if folder else place.is_file():
                return place
        if any(place.exists() for place in places):
            what = "a file, not a folder" if folder else "a folder, not a file"
        else:
            what = f"no such {wanted.lower()}"
    except (OSError, RuntimeError) as error:  # no permission to look, too long a name, no such home
        raise UsageError(f"{given[:200]}: cannot be looked up: {error} {knobs}") from error
    raise UsageError(f"{given}: {what}; looked at {', '.join(str(place) for place in places)} {knobs}")


def stamp(given: str | None) -> tuple[tuple[str, int, int], ...]:
    """What changes with the content of a file or folder: path, size and time of each file; nothing where there is
    none."""
    if not given:
        return ()
    root = os.environ.get("JUDGELAB_DATA")
    found = []
    for place in (Path(given).expanduser(), *([Path(root).expanduser() / given] if root else [])):
        for path in sorted(place.rglob("*")) if place.is_dir() else [place]:
            with contextlib.suppress(OSError):
                about = path.stat()
                found.append((str(path.resolve()), about.st_size, about.st_mtime_ns))
    return tuple(found)


def read_text(path: Path) -> str:
    """The whole file as text; raises UsageError naming the line that is not UTF-8."""
    raw = _bytes(path)
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise UsageError(
            f"{path}:{line}: line: not UTF-8: byte 0x{raw[error.start]:02x} (knob: dataset.path, saved as UTF-8)"
        ) from error


def read_jsonl(path: Path) -> Iterator[Row | BadRow]:
    """One row a line of JSON objects; blank lines are passed over."""
    # Lines end at LF alone: splitlines() would also cut at U+2028, which JSON strings may hold.
    for number, raw in enumerate(_bytes(path).split(b"\n"), start=1):
        where = str(number)
        try:
            line = raw.decode().strip()
        except UnicodeDecodeError as error:
            yield BadRow(where, "line", f"not UTF-8: byte 0x{raw[error.start]:02x} at byte {error.start + 1}")
            continue
        if not line:
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            yield BadRow(where, "line", f"not JSON: {_reason(error)}")
            continue
        yield _object(where, value)


def read_json_list(path: Path) -> Iterator[Row | BadRow]:
    """One row an element of the one JSON list that is the file, named by its line and its position."""
    text = read_text(path)
    decoder = json.JSONDecoder()
    position = _skip_space(text, 0)
    if text[position : position + 1] != "[":
        raise UsageError(f"{path}:1: not a JSON list: it must begin with `[` (knobs: dataset.path, dataset.format)")
    position = _skip_space(text, position + 1)
    element = 0
    line, counted = 1, 0
    while text[position : position + 1] != "]":
        element += 1
        line, counted = line + text.count("\n", counted, position), position
        where = f"{line} (element {element})"
        try:
            value, position = decoder.raw_decode(text, position)
        except (ValueError, RecursionError) as error:
            yield BadRow(where, "element", f"not JSON: {_reason(error)}")
            return
        yield _object(where, value)
        position = _skip_space(text, position)
        if text[position : position + 1] == ",":
            position = _skip_space(text, position + 1)
        elif text[position : position + 1] != "]":
            yield BadRow(where, "element", "followed neither by `,` nor by `]`: the list is cut or broken here")
            return


def read_json_member(path: Path, member: str) -> Iterator[Row | BadRow]:
    """One row an element of the list that the one JSON object of the file holds under `member`."""
    try:
        value = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        line = f":{error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise UsageError(f"{path}{line}: not JSON: {_reason(error)} (knob: dataset.path)") from error
    entries = value.get(member) if isinstance(value, dict) else None
    if not isinstance(entries, list):
        raise UsageError(f"{path}: {member}: a list is expected there (knobs: dataset.path, dataset.format)")
    for index, entry in enumerate(entries):
        yield _object(f"{member}[{index}]", entry)


def read_parquet(path: Path, columns: Collection[str]) -> Iterator[Row | BadRow]:
    """One row a record of a Parquet file, of those of `columns` that it has, named by its number from 1."""
    from pyarrow import ArrowException
    from pyarrow.parquet import ParquetFile

    try:
        file = ParquetFile(path)
        have = [name for name in file.schema_arrow.names if name in columns]
        number = 0
        for batch in file.iter_batches(batch_size=256, columns=have):
            for values in batch.to_pylist():
                number += 1
                yield Row(f"row {number}", values)
    except (ArrowException, OSError) as error:
        reason = " ".join(str(error).split())[:200]
        raise UsageError(f"{path}: not a Parquet file: {reason} (knobs: dataset.path, dataset.format)") from error


def read_own(path: Path, what: str, required: Collection[str]) -> Iterator[Row | BadRow]:
    """The rows of a file of one's own, which is JSON lines or CSV by its ending; `what` names it in complaints."""
    match path.suffix.lower():
        case ".jsonl":
            return read_jsonl(path)
        case ".csv":
            return read_csv(path, required)
        case other:
            raise UsageError(
                f"{path}: {what} is a .jsonl or a .csv file, not {other or 'one without an ending'} "
                "(knobs: dataset.path, dataset.format)"
            )


def read_csv(
    path: Path, required: Collection[str], delimiter: str = ",", banner: bool = False, quoted: bool = True
) -> Iterator[Row | BadRow]:
    """One row a record of a delimited file with a header; a row of empty cells is passed over.

    The header is the first row that is not empty, or, with `banner`, the first of the leading rows that has
    all `required` columns. Without `quoted`, a quotation mark is a character like any other. Raises UsageError where
    a required column is missing or a column comes twice.
    """
    text = read_text(path)
    lines = io.StringIO(text, newline="")
    if quoted:
        reader = csv.reader(lines, delimiter=delimiter, strict=True)
    else:
        reader = csv.reader(lines, delimiter=delimiter, strict=True, quoting=csv.QUOTE_NONE)
    header: list[str] | None = None
    tried = 0
    while True:
        where = str(reader.line_num + 1)
        limit = csv.field_size_limit(len(text) + 1)  # the module's own limit would refuse long cells
        try:
            cells = next(reader, None)
        except csv.Error as error:
            yield BadRow(where, "row", f"not readable: {error} (is a quote left open?)")
            return
        finally:
            csv.field_size_limit(limit)
        if cells is None:
            return
        if not any(cell.strip() for cell in cells):
            continue
        if header is not None:
            if len(cells) == len(header):
                yield Row(where, {name: cell for name, cell in zip(header, cells, strict=True) if name})
            else:
                yield BadRow(where, "row", f"has {len(cells)} cells where the header has {len(header)}")
            continue
        names = [cell.strip() for cell in cells]
        tried += 1
        missing = [name for name in required if name not in names]
        if not missing:
            header = names
            twice = next((name for name in names if name and names.count(name) > 1), None)
            if twice is not None:
                raise UsageError(f"{path}:{where}: column `{twice}` comes twice (knob: dataset.path)")
        elif not banner or tried == BANNER_ROWS:
            found = ", ".join(name for name in names if name)[:200]
            raise UsageError(
                f"{path}:{where}: column `{missing[0]}` is missing; found {found!r} "
                "(knobs: dataset.path, dataset.format)"
            )


def _object(where: str, value: object) -> Row | BadRow:
    if isinstance(value, dict):
        return Row(where, value)
    return BadRow(where, "line", f"a JSON object is expected, not {type(value).__name__}")


def _reason(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at column {error.colno}"
    return "nested too deeply" if isinstance(error, RecursionError) else str(error)


def _skip_space(text: str, position: int) -> int:
    while text[position : position + 1] in (" ", "\t", "\r", "\n"):
        position += 1
    return position


def _bytes(path: Path) -> bytes:
    try:
        raw = path.read_bytes()
        return (gzip.decompress(raw) if path.suffix.lower() == ".gz" else raw).removeprefix(BOM)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise UsageError(f"{path}: cannot be unpacked: {error} (is the file whole?)") from error
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror} (check its permissions)") from error
