"""Records of the nuggets protocol as two tables: one row a battle, and one row a label.

Invariant: both are in the order of item ids, so a figure does not depend on the order in which work was finished.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from judgelab.metrics.nugget_scores import FAILED, scores
from judgelab.records import Record
from judgelab.settings import Score
from judgelab.subjects import Duel, Profile, Sheet
from judgelab.text import tokens

if TYPE_CHECKING:
    import pandas as pd

CELLS = ("nuggets", "ab", "ba", "query")
SIDES = ("a", "b")
LABELS = (
    "item_id",
    "group",
    "system",
    "answer",
    "index",
    "nugget",
    "importance",
    "human_importance",
    "label",
    "human_label",
    "overlap",
    "reason",
)
_BATTLE = (
    "item_id",
    "group",
    "question",
    "language",
    "vote",
    "system_a",
    "system_b",
    "words_a",
    "words_b",
    "chars_a",
    "chars_b",
    "source",
    "nuggets",
    "failed_a",
    "failed_b",
    "failed_importance",
    "windows",
    "degenerate",
)
_SCORES = tuple(f"{score}{rule}_{side}" for rule in ("", "_left_out") for score in Score for side in SIDES)
BATTLES = (
    *_BATTLE,
    *_SCORES,
    "verdict_ab",
    "verdict_ba",
    "ratings",
    *(f"{what}_{cell}" for what in ("asked", "reason") for cell in CELLS),
)
_FUNCTION_WORDS = frozenset(
    tokens(
        "and any are as at be been being but by can could did do does for from had has have he her his how if in into "
        "is it its may might more most must no nor not of on or our over she should so some such than that their them "
        "then there these they this those to under up was we were what when where which while who whom whose why will "
        "with would you your"
    )
)


def battles(records: Iterable[Record]) -> pd.DataFrame:
    """One row a battle, by item id; plain answers are left out.

    `SCORE_a`, `SCORE_b` are the six scores where a failed label counts 0, `SCORE_left_out_a` where it does not count;
    NaN without nuggets. `failed_a` counts failed labels, `nuggets`, `windows` and `degenerate` count too. `verdict_ab`
    and `verdict_ba` are the pairwise judge's, in terms of the battle, with answer a (b) shown first. `ratings` maps
    each attribute of the question to 0..10, empty where it was not rated. `asked_CELL`, `reason_CELL` say whether a
    judgment was made and why it has no verdict. Missing strings are None.
    """
    import pandas as pd

    by_item: dict[str, dict[str, Record]] = defaultdict(dict)
    for record in records:
        by_item[record.item_id][record.cell] = record
    rows = [row for item_id in sorted(by_item) if (row := _battle(item_id, by_item[item_id])) is not None]
    table = pd.DataFrame(rows, columns=list(BATTLES))
    texts = ("language", "vote", "source", "verdict_ab", "verdict_ba", *(f"reason_{cell}" for cell in CELLS))
    for name in texts:
        table[name] = table[name].astype(object).where(table[name].notna(), None)
    for name in _SCORES:
        table[name] = pd.to_numeric(table[name]).astype(float)
    return table


def labels(records: Iterable[Record]) -> pd.DataFrame:
    """One row a nugget and answer (columns `LABELS`), by item id.

    `overlap` is the share of the nugget's content words that occur in the answer: what an assigner that understands
    nothing goes by. An answer without nuggets has one row, whose `nugget` is None and whose `reason` says why.
    """
    import pandas as pd

    rows: list[dict[str, object]] = []
    for record in sorted(records, key=lambda r: r.record_id):
        if isinstance(record.subject, Sheet):
            rows += _labels(record, record.subject)
    rows.sort(key=lambda row: str(row["item_id"]))
    table = pd.DataFrame(rows, columns=list(LABELS))
    for name in ("nugget", "importance", "human_importance", "label", "human_label", "reason"):
        table[name] = table[name].astype(object).where(table[name].notna(), None)
    table["overlap"] = pd.to_numeric(table["overlap"]).astype(float)
    return table


def judgments(battles: pd.DataFrame, labels: pd.DataFrame, predicted: Sequence[str | None]) -> pd.DataFrame:
    """What a comparison of runs needs: `item_id`, `cell`, the `part` of the protocol, `group`, `verdict`, `right`
    against people (NaN where they said nothing).

    One row a battle and cell (`nuggets`, with the outcome `predicted` by them, `ab`, `ba`), a vote that both are bad
    being a tie; and one a label beside people's, its cell naming answer and nugget. A failed label is no verdict.
    """
    import pandas as pd

    rows: list[dict[str, object]] = []
    for battle, outcome in zip(battles.to_dict("records"), predicted, strict=True):
        truth = {"tie (bothbad)": "tie"}.get(battle["vote"], battle["vote"])
        verdicts = {"nuggets": outcome, "ab": battle["verdict_ab"], "ba": battle["verdict_ba"]}
        rows += [
            _judgment(battle, cell, "nuggets" if cell == "nuggets" else "pairwise judge", verdicts[cell], truth)
            for cell in verdicts
            if battle[f"asked_{cell}"]
        ]
    for label in labels[labels["human_label"].notna()].to_dict("records"):
        verdict = None if label["label"] == FAILED else label["label"]
        rows.append(_judgment(label, f"{label['answer']}:{label['index']}", "labels", verdict, label["human_label"]))
    table = pd.DataFrame(rows, columns=["item_id", "cell", "part", "group", "verdict", "right"])
    table["verdict"] = table["verdict"].astype(object).where(table["verdict"].notna(), None)
    table["right"] = pd.to_numeric(table["right"]).astype(float)
    return table


def _judgment(
    row: Mapping[Hashable, object], cell: str, part: str, verdict: str | None, truth: str | None
) -> dict[str, object]:
    right = math.nan if verdict is None or truth is None else float(verdict == truth)
    about = {"item_id": row["item_id"], "cell": cell, "part": part, "group": row["group"]}
    return {**about, "verdict": verdict, "right": right}


def _battle(item_id: str, cells: Mapping[str, Record]) -> dict[str, object] | None:
    shown = [cells[name].subject for name in ("nuggets", "ab", "ba") if name in cells]
    subject = next((s for s in shown if isinstance(s, Sheet | Duel) and len(s.answers) == 2), None)
    if subject is None:
        return None
    row: dict[str, object] = {
        "item_id": item_id,
        "group": subject.group,
        "question": subject.question,
        "language": subject.language,
        "vote": subject.vote,
        "source": None,
        "nuggets": 0,
        "failed_importance": 0,
        "windows": 0,
        "degenerate": 0,
        "ratings": {},
    }
    for side, system, answer in zip(SIDES, subject.systems, subject.answers, strict=True):
        row |= {
            f"system_{side}": system,
            f"words_{side}": len(answer.split()),
            f"chars_{side}": len(answer),
            f"failed_{side}": 0,
        }
    row |= dict.fromkeys(_SCORES, math.nan)
    for cell in CELLS:
        record = cells.get(cell)
        row[f"asked_{cell}"] = record is not None
        row[f"reason_{cell}"] = record.unscored.reason.value if record and record.unscored else None
        if record is None:
            continue
        match record.subject:
            case Sheet() as sheet:
                row |= _sheet(sheet, record.verdict is not None)
            case Duel():
                row[f"verdict_{cell}"] = record.verdict
            case Profile() as profile if record.verdict is not None:
                row["ratings"] = dict(profile.ratings)
    return row


def _sheet(sheet: Sheet, scored: bool) -> dict[str, object]:
    importance = [nugget.importance for nugget in sheet.nuggets]
    out: dict[str, object] = {
        "source": sheet.source,
        "nuggets": len(sheet.nuggets),
        "failed_importance": importance.count(FAILED),
        "windows": len(sheet.windows),
        "degenerate": sum(window.degenerate for window in sheet.windows),
    }
    for k, side in enumerate(SIDES):
        given = [nugget.labels[k] for nugget in sheet.nuggets]
        out[f"failed_{side}"] = given.count(FAILED)
        if scored:
            for rule, counts in (("", True), ("_left_out", False)):
                found = scores(importance, given, counts)
                out |= {f"{score}{rule}_{side}": value for score, value in found.items()}
    return out


def _labels(record: Record, sheet: Sheet) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for k, (system, answer) in enumerate(zip(sheet.systems, sheet.answers, strict=True)):
        head: dict[str, object] = {
            "item_id": record.item_id,
            "group": sheet.group,
            "system": system,
            "answer": k,
            "index": 0,
            "reason": record.unscored.reason.value if record.unscored else None,
        }
        if record.unscored or not sheet.nuggets:
            rows.append(head)
            continue
        known = frozenset(tokens(answer))
        for index, nugget in enumerate(sheet.nuggets):
            # People may have labelled one answer of two: then nothing says whose the labels are.
            people = nugget.human_labels if len(nugget.human_labels) == len(sheet.answers) else None
            rows.append(
                head
                | {
                    "index": index,
                    "nugget": nugget.text,
                    "importance": nugget.importance,
                    "human_importance": nugget.human_importance,
                    "label": nugget.labels[k],
                    "human_label": people[k] if people else None,
                    "overlap": _overlap(nugget.text, known),
                }
            )
    return rows


def _overlap(nugget: str, known: frozenset[str]) -> float:
    words = tokens(nugget)
    content = [word for word in words if word not in _FUNCTION_WORDS] or words
    return sum(word in known for word in content) / len(content) if content else 0.0
