"""Texts to search: passages of one or several files, as one corpus.

Invariant: a passage is there once, whatever number of files hold it, and its text is cleaned like every other text of
the data sets, so that a gold paragraph equals the passage it was taken from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from judgelab.data.files import locate, read_csv, read_jsonl
from judgelab.data.rows import BadFieldError, BadRow, Dropped, Row, collect
from judgelab.errors import UsageError
from judgelab.records import content_hash

TEXT_FIELDS = ("text", "contents", "context")
_KNOB = "dataset.corpus"


@dataclass(frozen=True)
class Passage:
    """A text to be found; `title` and `url` are empty where there is none. `id` is unique within a corpus."""

    id: str
    title: str
    text: str
    url: str = ""


def load_corpus(paths: Iterable[str], knob: str = _KNOB) -> tuple[Passage, ...]:
    """The passages of `*.jsonl`, `*.tsv` files, packed (`*.gz`) or not, in order, those of equal title and text once.

    Paths are looked up as those of data sets are. The text is the first of TEXT_FIELDS that a row has (`context` is
    the gold paragraph of NQ questions; rows whose text is null or blank are passed over); `title`, `url` and `id` are
    optional, other fields ignored. A TSV has a header with `text`. An id is the given one, or, where there is none or
    another file has given it away, the hash of title and text. Raises UsageError.
    """
    found: dict[tuple[str, str], Passage] = {}
    ids: set[str] = set()
    for given in paths:
        path = locate(given, knob)
        for passage in collect(path, _rows(path, knob), _passage, lambda row, _: row.where, knob).values:
            content = (passage.title, passage.text)
            if content in found:
                continue
            identity = passage.id if passage.id and passage.id not in ids else content_hash(list(content))
            ids.add(identity)
            found[content] = Passage(identity, passage.title, passage.text, passage.url)
    if not found:
        raise UsageError(f"{knob} names no file: a search of texts needs one (knob: {knob}=[FILE,...])")
    return tuple(found.values())


def _rows(path: Path, knob: str) -> Iterator[Row | BadRow]:
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() != ".gz"]
    match suffixes[-1:]:
        case [".jsonl"]:
            return read_jsonl(path)
        case [".tsv"]:
            return read_csv(path, ("text",), "\t")
        case _:
            raise UsageError(f"{path}: a corpus is a .jsonl or a .tsv file, packed as .gz or not (knob: {knob})")


def _passage(row: Row) -> Passage | Dropped:
    field = next((name for name in TEXT_FIELDS if name in row.values), None)
    if field is None:
        raise BadFieldError("text", f"missing (a passage has one of {', '.join(TEXT_FIELDS)})")
    text = row.optional_text(field)
    if text is None:
        return Dropped("blank")
    identity = row.identity("id") or ""
    return Passage(identity, row.optional_text("title") or "", text, row.optional_text("url") or "")
