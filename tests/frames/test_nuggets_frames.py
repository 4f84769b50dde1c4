"""Tables of battles and of labels: what a row holds, what is missing, and in which order."""

from __future__ import annotations

import math

import pytest

from judgelab.frames.nuggets import BATTLES, LABELS, battles, judgments, labels
from judgelab.records import Reason, Record, Unscored
from judgelab.subjects import Duel, Nugget, Profile, Sheet, Window

NUGGETS = (
    Nugget("Water boils at 100 degrees", "vital", ("support", "not_support")),
    Nugget("It boils sooner on a mountain", "vital", ("partial_support", "failed")),
    Nugget("Salt matters little", "okay", ("support", "support")),
    Nugget("Kettles whistle", "failed", ("not_support", "failed")),
)


def sheet(item: str, **other: object) -> Record:
    values = {
        "question": "when does water boil",
        "group": f"g-{item}",
        "systems": ("s1", "s2"),
        "answers": ("Water boils at 100 degrees.", "Salt matters little"),
        "nuggets": NUGGETS,
        "source": "responses",
        "vote": "model_a",
        "language": "English",
        "windows": (Window(4, 0), Window(4, 4, degenerate=True)),
    } | other
    reason = values.pop("reason", None)
    unscored = Unscored(reason) if isinstance(reason, Reason) else None
    return Record(f"{item}-n", item, "nuggets", None if unscored else "assigned", Sheet(**values), unscored)  # type: ignore[arg-type]


def duel(item: str, cell: str, verdict: str | None) -> Record:
    subject = Duel("when does water boil", f"g-{item}", ("s1", "s2"), ("x", "y z"), cell[0], "model_a", "English")
    unscored = None if verdict else Unscored(Reason.TRUNCATED)
    return Record(f"{item}-{cell}", item, cell, verdict, subject, unscored)


def test_a_battle_is_one_row() -> None:
    profile = Record("i-q", "i", "query", "rated", Profile("when does water boil", "g-i", {"subjective": 7}, "English"))
    table = battles([profile, duel("i", "ba", "tie"), sheet("i"), duel("i", "ab", None)])
    assert tuple(table.columns) == BATTLES
    (row,) = table.to_dict("records")
    assert (row["vote"], row["language"], row["group"], row["ratings"]) == (
        "model_a",
        "English",
        "g-i",
        {"subjective": 7},
    )
    assert (row["words_a"], row["words_b"], row["chars_a"], row["chars_b"]) == (5, 3, 27, 19)
    assert (row["nuggets"], row["failed_a"], row["failed_b"], row["failed_importance"]) == (4, 0, 2, 1)
    assert (row["windows"], row["degenerate"]) == (2, 1)
    assert (row["verdict_ab"], row["reason_ab"], row["verdict_ba"], row["reason_ba"]) == (
        None,
        "truncated",
        "tie",
        None,
    )
    assert [row[f"asked_{cell}"] for cell in ("nuggets", "ab", "ba", "query")] == [True] * 4
    assert (row["all_a"], row["all_b"]) == (2.5 / 4, 1 / 4)
    assert (row["all_left_out_a"], row["all_left_out_b"]) == (2.5 / 4, 1 / 2)
    assert (row["vital_a"], row["vital_strict_a"], row["vital_b"], row["vital_left_out_b"]) == (0.75, 0.5, 0.0, 0.0)
    assert (row["weighted_a"], row["weighted_strict_b"]) == (pytest.approx(2 / 2.5), pytest.approx(0.5 / 2.5))


def test_what_is_missing_is_not_zero() -> None:
    table = battles([sheet("i", nuggets=(), reason=Reason.NO_NUGGETS), duel("j", "ab", "model_b")])
    first, second = table.to_dict("records")
    assert (first["reason_nuggets"], first["nuggets"], first["ratings"]) == ("no_nuggets", 0, {})
    assert math.isnan(first["all_a"])
    assert math.isnan(second["all_b"])
    assert (second["vote"], second["system_b"], second["words_b"]) == ("model_a", "s2", 2)
    assert (second["asked_nuggets"], second["asked_ab"], second["asked_ba"]) == (False, True, False)


def test_plain_answers_are_no_battles_but_have_labels() -> None:
    nuggets = (
        Nugget("Water boils at 100 degrees", "vital", ("support",), "okay", ("partial_support",)),
        Nugget("Salt is in it", "okay", ("failed",)),
    )
    plain = sheet("p", systems=("run",), answers=("At 100 degrees, water boils.",), nuggets=nuggets, vote=None)
    assert battles([plain]).empty
    table = labels([plain])
    assert tuple(table.columns) == LABELS
    one, two = table.to_dict("records")
    assert (one["system"], one["label"], one["human_label"], one["importance"], one["human_importance"]) == (
        *("run", "support", "partial_support"),
        *("vital", "okay"),
    )
    assert (one["overlap"], two["overlap"]) == (1.0, 0.0)  # `is`, `in` and `it` are no content
    assert (two["label"], two["human_label"], two["human_importance"]) == ("failed", None, None)


def test_labels_of_one_answer_of_two_are_nobodys() -> None:
    nugget = Nugget("Water boils", "vital", ("support", "support"), None, ("support",))
    assert labels([sheet("i", nuggets=(nugget,))])["human_label"].tolist() == [None, None]


def test_an_answer_without_nuggets_keeps_a_row() -> None:
    table = labels([sheet("i", nuggets=(), reason=Reason.NO_PAGES), sheet("h")])
    assert table["item_id"].tolist() == ["h"] * 8 + ["i"] * 2
    assert table["reason"].tolist()[-2:] == ["no_pages"] * 2
    assert table["nugget"].tolist()[-2:] == [None, None]


def test_order_of_records_changes_nothing() -> None:
    records = [sheet("i"), duel("i", "ab", "tie"), sheet("h"), duel("h", "ba", "model_b")]
    assert battles(records).equals(battles(records[::-1]))
    assert labels(records).equals(labels(records[::-1]))


def test_no_records_give_empty_tables() -> None:
    assert (len(battles([])), len(labels([]))) == (0, 0)
    assert (tuple(battles([]).columns), tuple(labels([]).columns)) == (BATTLES, LABELS)


def test_judgments_to_compare_runs_by() -> None:
    records = [
        sheet("i", vote="tie (bothbad)"),
        duel("i", "ab", "model_b"),
        sheet("j", nuggets=(), reason=Reason.NO_PAGES),
    ]
    nuggets = (
        Nugget("n", "vital", ("support",), None, ("support",)),
        Nugget("m", "okay", ("failed",), None, ("support",)),
    )
    plain = sheet("p", systems=("run",), answers=("x",), nuggets=nuggets, vote=None)
    table = judgments(battles(records), labels([*records, plain]), ["tie", None])
    rows = [(r["item_id"], r["cell"], r["part"], r["verdict"]) for r in table.to_dict("records")]
    assert rows == [
        ("i", "nuggets", "nuggets", "tie"),
        ("i", "ab", "pairwise judge", "model_b"),
        ("j", "nuggets", "nuggets", None),
        ("p", "0:0", "labels", "support"),
        ("p", "0:1", "labels", None),
    ]
    assert table["right"].tolist() == pytest.approx([1, 0, math.nan, 1, math.nan], nan_ok=True)
    assert judgments(battles([]), labels([]), []).empty


def test_two_runs_are_compared() -> None:
    from judgelab.metrics.paired import item_flips

    records = [sheet("i"), duel("i", "ab", "model_a"), sheet("j"), duel("j", "ab", None)]
    first, second = (
        judgments(battles(records), labels(records), each) for each in (["model_a", "tie"], ["tie", "tie"])
    )
    found = item_flips(first, second, 0.95, 50, 0)
    assert (found.common, found.scored, len(found.flipped)) == (4, 3, 1)
    assert found.differences["acc"].value == pytest.approx(-100 / 3)
