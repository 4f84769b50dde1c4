"""The files of the nuggetizer tool, which NIST's labels of TREC RAG 2024 use too: read as items, written from sheets.

Invariant: what is read is kept to the letter, so that a list that goes in and out again is the same, line for line, in
the fields that the format defines.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from judgelab.data.files import read_jsonl
from judgelab.data.rows import BadFieldError, Dropped, Loaded, Row, collect
from judgelab.errors import UsageError
from judgelab.items import GivenNugget, NuggetItem, Response
from judgelab.records import Record, content_hash
from judgelab.subjects import Nugget, Sheet

_IMPORTANCE = {label: label for label in ("vital", "okay", "failed")}
_ASSIGNMENT = {label: label for label in ("support", "partial_support", "not_support", "failed")}
_SUPPORT = {"support": 1.0, "partial_support": 0.5}


@dataclass(frozen=True)
class Exported:
    """The files written: one of nugget lists, one of assignments, one of scores for every run."""

    nuggets: Path
    assignments: Path
    metrics: tuple[Path, ...]


def load_nuggetizer(path: Path, answers: Path | None = None) -> Loaded[NuggetItem]:
    """One item an answer, with the nuggets of its topic; the group is the topic, the id topic and run.

    `path` holds assignments (`query`, `qid`, `run_id`, `answer_text`, `nuggets` with `text`, `importance`,
    `assignment`), or, with `answers`, lists of nuggets (`query`, `qid`, `nuggets` with `text`, `importance`) for the
    answers of that file (`run_id`, `topic_id`, `answer`: a list of objects with `text`). Rows without nuggets or
    with one whose labelling had failed are left out and counted. Raises UsageError where lists come without answers.
    """
    if answers is not None:
        lists = _lists(path)
        return collect(
            answers,
            read_jsonl(answers),
            lambda row: _answered(row, lists),
            lambda _, i: i.item_id,
            "dataset.predictions",
        )
    return collect(path, read_jsonl(path), _assigned, lambda _, item: item.item_id)


def export_nuggetizer(records: Iterable[Record], folder: Path) -> Exported:
    """Write the sheets among `records` as `nuggets.jsonl`, `assignments.jsonl` and `metrics/RUN.jsonl` in `folder`.

    A system is a run. The qid of a battle is its item's id, that of a single answer its topic, unless answers to the
    topic have different nuggets. `response_length` counts words. Sheets without nuggets have no line. Scores follow
    the tool: what failed counts 0, and so does a score over no nuggets; a last line `all` holds the means.
    """
    sheets = [(r.item_id, r.subject) for r in records if isinstance(r.subject, Sheet) and r.subject.nuggets]
    lists: defaultdict[str, set[tuple[GivenNugget, ...]]] = defaultdict(set)
    for _, sheet in sheets:
        lists[sheet.group].add(_list_of(sheet))
    nuggets: dict[str, str] = {}
    assignments: list[str] = []
    runs: defaultdict[str, list[Mapping[str, object]]] = defaultdict(list)
    for item_id, sheet in sheets:
        shared = len(sheet.answers) == 1 and len(lists[sheet.group]) == 1
        head = {"query": sheet.question, "qid": sheet.group if shared else item_id}
        entries = [{"text": nugget.text, "importance": nugget.importance} for nugget in sheet.nuggets]
        nuggets.setdefault(head["qid"], json.dumps({**head, "nuggets": entries}))
        for i, (run, answer) in enumerate(zip(sheet.systems, sheet.answers, strict=True)):
            labelled = [{**e, "assignment": n.labels[i]} for e, n in zip(entries, sheet.nuggets, strict=True)]
            row = {"answer_text": answer, "response_length": len(answer.split()), "run_id": run, "nuggets": labelled}
            assignments.append(json.dumps({**head, **row}))
            runs[run].append({"qid": head["qid"], **_scores(sheet.nuggets, i)})
    written = tuple(
        _write(folder / "metrics" / f"{_file_name(run)}.jsonl", _with_means(rows)) for run, rows in runs.items()
    )
    return Exported(
        _write(folder / "nuggets.jsonl", nuggets.values()), _write(folder / "assignments.jsonl", assignments), written
    )


def _assigned(row: Row) -> NuggetItem | Dropped:
    if "run_id" not in row.values and "nuggets" in row.values:
        raise BadFieldError("run_id", "missing: a list of nuggets needs answers (dataset.predictions=FILE)")
    question, topic, run = _query(row), _topic(row, "qid"), row.text("run_id")
    nuggets = _nuggets(row)
    if isinstance(nuggets, Dropped):
        return nuggets
    labels = tuple(entry.choice("assignment", _ASSIGNMENT) for entry in row.children("nuggets"))
    if "failed" in labels:
        return Dropped("failed labels")
    response = Response(run, row.verbatim("answer_text"), labels)
    return NuggetItem(f"{topic}:{run}", question, topic, (response,), nuggets=nuggets)


def _lists(path: Path) -> Mapping[str, NuggetItem | Dropped]:
    def parse(row: Row) -> tuple[str, NuggetItem | Dropped]:
        topic, nuggets = _topic(row, "qid"), _nuggets(row)
        if isinstance(nuggets, Dropped):
            return topic, nuggets
        return topic, NuggetItem(topic, _query(row), topic, (), nuggets=nuggets)

    return dict(collect(path, read_jsonl(path), parse, lambda _, pair: pair[0]).values)


def _answered(row: Row, lists: Mapping[str, NuggetItem | Dropped]) -> NuggetItem | Dropped:
    topic, run = _topic(row, "topic_id"), row.text("run_id")
    given = lists.get(topic, Dropped("no nuggets"))
    if isinstance(given, Dropped):
        return given
    text = " ".join(sentence.verbatim("text") for sentence in row.children("answer"))
    return NuggetItem(f"{topic}:{run}", given.question, topic, (Response(run, text),), nuggets=given.nuggets)


def _nuggets(row: Row) -> tuple[GivenNugget, ...] | Dropped:
    nuggets = []
    for entry in row.children("nuggets"):
        entry.text("text")  # refuses a blank one
        nuggets.append(GivenNugget(entry.verbatim("text"), entry.choice("importance", _IMPORTANCE)))
    if not nuggets:
        return Dropped("no nuggets")
    return Dropped("failed labels") if any(n.importance == "failed" for n in nuggets) else tuple(nuggets)


def _query(row: Row) -> str:
    row.text("query")
    return row.verbatim("query")


def _topic(row: Row, field: str) -> str:
    topic = row.identity(field)
    if topic is None:
        raise BadFieldError(field, "missing")
    return topic


def _list_of(sheet: Sheet) -> tuple[GivenNugget, ...]:
    return (GivenNugget(sheet.question), *(GivenNugget(n.text, n.importance) for n in sheet.nuggets))


def _scores(nuggets: Sequence[Nugget], answer: int) -> dict[str, float]:
    every = [n.labels[answer] for n in nuggets]
    vital = [n.labels[answer] for n in nuggets if n.importance == "vital"]
    return {
        "strict_vital_score": _mean([float(label == "support") for label in vital]),
        "strict_all_score": _mean([float(label == "support") for label in every]),
        "vital_score": _mean([_SUPPORT.get(label, 0.0) for label in vital]),
        "all_score": _mean([_SUPPORT.get(label, 0.0) for label in every]),
    }


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _with_means(rows: Sequence[Mapping[str, object]]) -> Iterable[str]:
    names = [name for name in rows[0] if name != "qid"]
    means = {name: _mean([float(str(row[name])) for row in rows]) for name in names}
    return [json.dumps(row) for row in (*rows, {"qid": "all", **means})]


def _file_name(run: str) -> str:
    plain = re.sub(r"[^\w.-]", "_", run)
    return run if plain == run and run.strip(".") else f"{plain}-{content_hash(run, 6)}"


def _write(path: Path, lines: Iterable[str]) -> Path:
    """Write whole or not at all."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"{path.name}.part")
        part.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        part.replace(path)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}") from error
    return path
