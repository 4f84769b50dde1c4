"""NQ301: answers to 301 NQ questions, each judged by two people and three models, and by a third person where needed.

Invariant: the rows of the four files are the same answers in the same order; where that can be seen not to hold, the
set does not load.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from judgelab.data.files import read_csv, read_text
from judgelab.data.question_key import question_group
from judgelab.data.rows import BadFieldError, BadRow, Loaded, Row, collect
from judgelab.errors import UsageError
from judgelab.items import GradedAnswer

HUMAN, BEM, GPT4, DAVINCI = (f"NQ301_{name}.tsv" for name in ("human", "BEM", "gpt-4", "text-davinci-003"))
_VERDICT = "Acceptable?"
_COLUMNS = ("id", "Question", "Model answer", _VERDICT)


@dataclass(frozen=True)
class _Beside:
    """What the three other files say of an answer."""

    number: int
    bem: Row
    gpt4: Row
    davinci: Row


def load_nq301(folder: Path) -> Loaded[GradedAnswer]:
    """The answers of a folder with the four published files, in the order of the human one.

    `human` is the adjudicated verdict and `annotators` the two people who saw every answer (the third saw few). The
    id is the row's number. `published` holds the verdicts of `GPT-4`, `text-davinci-003` and `BEM`; an empty one is
    left away. Gold answers come with the file of BEM. Systems are not told.
    """
    path = folder / HUMAN
    human = _rows(path, read_csv(path, (*_COLUMNS, "annotator1", "annotator2"), "\t", quoted=False))
    bem = _rows(folder / BEM, read_csv(folder / BEM, (*_COLUMNS, "Gold answers"), "\t"))
    gpt4 = _rows(folder / GPT4, read_csv(folder / GPT4, _COLUMNS, "\t", quoted=False))
    davinci = _rows(folder / DAVINCI, _shifted(folder / DAVINCI))
    for name, rows in ((BEM, bem), (GPT4, gpt4), (DAVINCI, davinci)):
        if len(rows) != len(human):
            raise UsageError(
                f"{folder / name}: has {len(rows)} answers where {HUMAN} has {len(human)} (knob: dataset.path)"
            )
    beside = {
        row.where: _Beside(number, *others)
        for number, (row, *others) in enumerate(zip(human, bem, gpt4, davinci, strict=True), start=1)
    }
    return collect(path, human, lambda row: _item(row, beside[row.where]), lambda _, item: item.item_id)


def _item(row: Row, beside: _Beside) -> GradedAnswer:
    question, human = row.text("Question"), row.optional_flag(_VERDICT)
    if human is None:
        raise BadFieldError(_VERDICT, "missing")
    for name, same, file in (
        ("Question", beside.bem.text("Question") == question, BEM),
        ("id", beside.gpt4.text("id") == row.text("id"), GPT4),
        ("id", beside.davinci.text("id") == row.text("id"), DAVINCI),
    ):
        if not same:
            raise BadFieldError(name, f"differs from that of the same row in {file}")
    verdicts = {"GPT-4": beside.gpt4, "text-davinci-003": beside.davinci, "BEM": beside.bem}
    published = {name: other.optional_flag(_VERDICT) for name, other in verdicts.items()}
    annotators = [row.optional_flag(name) for name in ("annotator1", "annotator2")]
    gold = [answer.strip() for answer in beside.bem.text("Gold answers").split(" | ")]
    return GradedAnswer(
        str(beside.number),
        question,
        question_group(question),
        row.text("Model answer"),
        answers=tuple(dict.fromkeys(answer for answer in gold if answer)),
        human=human,
        annotators=tuple(verdict for verdict in annotators if verdict is not None),
        published={name: verdict for name, verdict in published.items() if verdict is not None},
    )


def _rows(path: Path, rows: Iterable[Row | BadRow]) -> tuple[Row, ...]:
    return collect(path, rows, lambda row: row, lambda row, _: row.where).values


def _shifted(path: Path) -> Iterator[Row | BadRow]:
    """The davinci file, whose rows lack the tab between question and answer: the verdict is the last cell but one."""
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        cells = line.rstrip("\r").split("\t")
        if number > 1 and len(cells) > 2:
            yield Row(str(number), {"id": cells[0], _VERDICT: cells[-2]})
        elif number > 1 and line.strip():
            yield BadRow(str(number), "row", f"has {len(cells)} cells where at least 3 are expected")
