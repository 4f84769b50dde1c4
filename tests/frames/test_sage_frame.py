from __future__ import annotations

import math
from dataclasses import replace

from judgelab.frames.sage import COLUMNS, judgments, trials
from judgelab.records import Call, Reason, Record, Unscored
from judgelab.subjects import Evidence, Step, Trial

STEPS = (
    Step("who lit the lamp", "ok", (Evidence(1, "", "Lamps.", ""),), engine="bm25"),
    Step("lamp lighter", "empty", engine="bm25"),
    Step("who lit the lamp", "ok", repeated=True, engine="bm25"),
)
TRIAL = Trial(
    question="Who lit the lamp?",
    group="g1",
    candidate="It was Vera Holm.",
    system="one",
    answers=("Vera Holm", "V. Holm"),
    human=True,
    annotators=(True, False),
    published={"old judge": False},
    steps=STEPS,
    stopped_early=True,
)
CALLS = (
    Call("sage:query", "k1", (), "", "", "stop", 100, 40, 10, 0, 0.5),
    Call("sage:judge", "k2", (), "", "A", "stop", 300, 60, 1, 0, 0.25),
)


def record(cell: str, verdict: str | None, subject: Trial = TRIAL, item: str = "i1") -> Record:
    return Record(
        f"{item}-{cell}",
        item,
        cell,
        verdict,
        subject,
        unscored=None if verdict else Unscored(Reason.TRUNCATED),
        probabilities={"True": 0.75, "False": 0.25} if verdict else None,
        calls=CALLS if cell == "judged" else CALLS[1:],
        extra={"saved": 2.0},
    )


def test_one_row_an_item_with_every_cell() -> None:
    (row,) = trials([record("none", "False"), record("reference", None), record("judged", "True")]).to_dict("records")
    assert {name: row[name] for name in ("verdict_judged", "verdict_none", "verdict_reference")} == {
        "verdict_judged": True,
        "verdict_none": False,
        "verdict_reference": None,
    }
    assert (row["reason_reference"], row["reason_judged"], row["asked_reference"]) == ("truncated", None, True)
    assert (row["p_judged"], math.isnan(row["p_reference"])) == (0.75, True)
    assert (row["calls_judged"], row["tokens_judged"], row["prompt_judged"], row["cached_judged"]) == (2, 411, 400, 100)
    assert (row["calls_none"], row["tokens_none"], row["seconds_judged"], row["seconds_none"]) == (1, 301, 0.75, 0.25)
    assert (row["steps"], row["searches"], row["empty"], row["repeated"], row["saved"]) == (3, 3, 1, 1, 2.0)
    assert (row["stopped"], row["words"]) == (True, 4)
    assert (row["em"], row["f1"], row["contains"]) == (False, 2 * 2 / (4 + 2), True)
    assert (row["human"], row["annotators"], row["published"]) == (True, (True, False), {"old judge": False})


def test_a_gold_paragraph_is_no_search() -> None:
    shown = replace(TRIAL, steps=(Step("Who lit the lamp?", "ok", engine="gold paragraph"),))
    (row,) = trials([record("judged", "True", shown)]).to_dict("records")
    assert (row["steps"], row["searches"]) == (1, 0)


def test_nothing_is_compared_without_gold_answers() -> None:
    (row,) = trials([record("judged", "True", replace(TRIAL, answers=(), human=None))]).to_dict("records")
    assert (row["em"], row["contains"], row["human"], math.isnan(row["f1"])) == (None, None, None, True)


def test_the_evidence_is_that_of_the_judged_cell_whatever_comes_first() -> None:
    bare = replace(TRIAL, steps=())
    made = [record("none", "True", bare), record("judged", "True"), record("reference", "True", bare)]
    for records in (made, made[::-1]):
        assert trials(records)["searches"].tolist() == [3]


def test_no_record_makes_a_table_without_rows() -> None:
    table = trials([])
    assert (len(table), tuple(table.columns)) == (0, COLUMNS)
    assert len(judgments(table, [])) == 0


def test_rows_are_in_the_order_of_items() -> None:
    made = [record("judged", "True", item=item) for item in ("b", "c", "a")]
    assert trials(made)["item_id"].tolist() == ["a", "b", "c"]


def test_judgments_are_right_wrong_or_unknown() -> None:
    verdicts = {"a": "True", "b": "True", "c": None, "d": "False"}
    got = judgments(trials([record("judged", v, item=i) for i, v in verdicts.items()]), [True, False, True, None])
    assert got["verdict"].tolist() == ["True", "True", None, "False"]
    assert got["right"].tolist()[:2] == [1.0, 0.0]
    assert all(math.isnan(right) for right in got["right"].tolist()[2:])
