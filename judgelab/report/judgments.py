"""Every single judgment of a report, and what was said to reach it, as JSON that a page can hold.

Invariant: the JSON holds no character that could end its `<script>` element or a line of script, whatever a model
wrote; and what is left out for size is said.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from judgelab.records import Call, Record
from judgelab.report.parts import Detail, Judgment
from judgelab.report.presentation import presentation
from judgelab.report.run_report import RunReport

DOUBTFUL = ("wrong", "not attempted", "unscored")  # whose traces a page keeps first
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
    "probabilities",
    "type",
    "flags",
    "question",
    "reference",
    "candidate",
    "attempts",
    "facts",
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
    texts, rows, records = _Texts(), [], list[tuple[Record, Judgment]]()
    for run, report in enumerate(reports):
        judgment = presentation(report.summary["protocol"]).judgment
        for record in report.records:
            shown = judgment(record)
            rows.append(_row(run, record, shown, texts))
            records.append((record, shown))
    whole = _Texts()
    size = sum(_size(record, shown) for record, shown in records)
    for text in (text for record, _ in records for call in record.calls for text in _texts_of(call)):
        whole.number(text)
    note, room = "", float("inf")
    if size + whole.size > limit:
        note, room = "only judgments that are wrong or without a verdict have a trace here", float(limit)
    start, used = texts.size, 0
    traces: dict[int, dict[str, object]] = {}
    for number, (record, shown) in enumerate(records):
        if not (record.calls or shown.details) or (note and shown.result not in DOUBTFUL):
            continue
        if used + texts.size - start >= room:
            note = f"only the first {len(traces):,} judgments that are wrong or without a verdict have a trace here"
            break
        used += _size(record, shown)
        traces[number] = {
            "calls": [_trace(call, texts) for call in record.calls],
            "details": [_detail(each, texts) for each in shown.details],
        }
    if note:
        note = f"This run is too large to hold every trace: {note}; the records on disk hold all."
    headings = presentation(reports[0].summary["protocol"]).headings
    document = {
        "runs": [f"{r.judge}: {r.summary['protocol']} on {r.summary['dataset']}, {r.run_hash}" for r in reports],
        "headings": asdict(headings),
        "columns": COLUMNS,
        "texts": _TEXTS,
        "rows": rows,
        "traces": traces,
        "strings": list(texts.numbers),
    }
    return Embedded(_script_safe(json.dumps(document, allow_nan=False, separators=(",", ":"))), note)


def _row(run: int, record: Record, shown: Judgment, texts: _Texts) -> list[object]:
    failed = record.unscored
    values: dict[str, object] = {
        "run": run,
        "id": record.record_id,
        "item": record.item_id,
        "cell": record.cell,
        "truth": shown.truth,
        "verdict": record.verdict,
        "result": shown.result,
        "reason": failed.reason.value if failed else None,
        "detail": failed.detail if failed else "",
        "p": None if shown.p is None else round(shown.p, 6),
        "probabilities": {label: round(p, 6) for label, p in (record.probabilities or {}).items()},
        "type": shown.group or None,
        "flags": shown.flags,
        "question": shown.question,
        "reference": shown.given,
        "candidate": shown.judged,
        "attempts": record.attempts,
        "facts": shown.facts,
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


def _detail(detail: Detail, texts: _Texts) -> dict[str, object]:
    rows = [[texts.number(cell) for cell in row] for row in detail.rows]
    return {"title": detail.title, "columns": detail.columns, "rows": rows}


def _size(record: Record, shown: Judgment) -> int:
    """Characters that a trace takes beside its texts, which are stored once."""
    return sum(200 + 20 * len(call.messages) for call in record.calls) + sum(
        len(cell) + 4 for each in shown.details for row in each.rows for cell in row
    )


def _script_safe(text: str) -> str:
    # json.dumps has made everything beyond ASCII an escape, line separators and lone surrogates included.
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
