"""Every single judgment of a report, and what was said to reach it, as JSON that a page can hold.

Invariant: the JSON holds no character that could end its `<script>` element or a line of script, whatever a model
wrote; and what is left out for size is said.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from judgelab.records import Call, Record
from judgelab.report.run_report import RunReport
from judgelab.subjects import Triplet

TRACE_LIMIT = 20_000_000  # characters of traces in one page: what a browser opens without a pause
COLUMNS = (
    "run",
    "id",
    "item",
    "cell",
    "truth",
    "verdict",
    "result",
    "reason",
    "detail",
    "p",
    "type",
    "swap",
    "source",
    "flags",
    "question",
    "reference",
    "candidate",
    "attempts",
)
_TEXTS = ("detail", "question", "reference", "candidate")  # long and repeated: stored once, referred to by number


@dataclass(frozen=True)
class Embedded:
    """`data` is safe inside `<script type="application/json">`; `note` says which traces are missing, or is empty."""

    data: str
    note: str


class _Texts:
    """Strings stored once; `size` is what they take up."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self.size = 0

    def number(self, text: str) -> int:
        """The number of a text, new or known."""
        if text not in self.numbers:
            self.numbers[text] = len(self.numbers)
            self.size += len(text) + 4
        return self.numbers[text]


def embed(reports: Sequence[RunReport], limit: int = TRACE_LIMIT) -> Embedded:
    """All judgments of the runs, with the traces of all of them, or, if these pass `limit`, of the wrong and
    unscored ones until it is reached."""
    texts, rows, records = _Texts(), [], []
    for run, report in enumerate(reports):
        for record in report.records:
            rows.append(_row(run, record, texts))
            records.append(record)
    whole = _Texts()
    size = sum(_trace_size(call) for record in records for call in record.calls)
    for text in (text for record in records for call in record.calls for text in _texts_of(call)):
        whole.number(text)
    note, room = "", float("inf")
    if size + whole.size > limit:
        note, room = "only judgments that are wrong or without a verdict have a trace here", float(limit)
    start, used = texts.size, 0
    traces: dict[int, list[dict[str, object]]] = {}
    for number, record in enumerate(records):
        if not record.calls or (note and result(record) == "right"):
            continue
        if used + texts.size - start >= room:
            note = f"only the first {len(traces):,} judgments that are wrong or without a verdict have a trace here"
            break
        used += sum(_trace_size(call) for call in record.calls)
        traces[number] = [_trace(call, texts) for call in record.calls]
    if note:
        note = f"This run is too large to hold every trace: {note}; the records on disk hold all."
    document = {
        "runs": [f"{r.judge}: {r.summary['dataset']}, {r.setting.get('swap', '')}, {r.run_hash}" for r in reports],
        "columns": COLUMNS,
        "texts": _TEXTS,
        "rows": rows,
        "traces": traces,
        "strings": list(texts.numbers),
    }
    return Embedded(_script_safe(json.dumps(document, allow_nan=False, separators=(",", ":"))), note)


def result(record: Record) -> str:
    """`right`, `wrong`, `not attempted` or `unscored`."""
    assert isinstance(record.subject, Triplet)
    match record.verdict:
        case None:
            return "unscored"
        case record.subject.truth:
            return "right"
        case "NOT_ATTEMPTED":
            return "not attempted"
        case _:
            return "wrong"


def _row(run: int, record: Record, texts: _Texts) -> list[object]:
    subject, failed = record.subject, record.unscored
    assert isinstance(subject, Triplet)
    values: dict[str, object] = {
        "run": run,
        "id": record.record_id,
        "item": record.item_id,
        "cell": record.cell,
        "truth": subject.truth,
        "verdict": record.verdict,
        "result": result(record),
        "reason": failed.reason.value if failed else None,
        "detail": failed.detail if failed else "",
        "p": {label: round(p, 6) for label, p in (record.probabilities or {}).items()},
        "type": subject.entity_type,
        "swap": subject.swap,
        "source": subject.candidate_source,
        "flags": ", ".join(subject.flags),
        "question": subject.question,
        "reference": subject.reference,
        "candidate": subject.candidate,
        "attempts": record.attempts,
    }
    return [texts.number(str(values[name])) if name in _TEXTS else values[name] for name in COLUMNS]


def _texts_of(call: Call) -> Iterator[str]:
    yield from (message.content for message in call.messages)
    yield call.continuation
    yield call.text


def _trace(call: Call, texts: _Texts) -> dict[str, object]:
    return {
        "purpose": call.purpose,
        "key": call.key,
        "messages": [[message.role, texts.number(message.content)] for message in call.messages],
        "continuation": texts.number(call.continuation),
        "text": texts.number(call.text),
        "finish": call.finish_reason,
        "tokens": [call.prompt_tokens, call.cached_tokens, call.generated_tokens, call.thinking_tokens],
        "seconds": round(call.seconds, 3),
    }


def _trace_size(call: Call) -> int:
    return 200 + 20 * len(call.messages)


def _script_safe(text: str) -> str:
    # json.dumps has made everything beyond ASCII an escape, line separators and lone surrogates included.
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
