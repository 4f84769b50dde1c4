"""Field access: what is cleaned, what is refused, and how refusals are told."""

from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgelab.data.rows import BadFieldError, BadRow, Dropped, Row, clean, collect
from judgelab.errors import UsageError


def row(**values: Any) -> Row:
    return Row("7", values)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("  Paris\n", "Paris"),
        ("Cafe\u0301", "Café"),
        ("a  b", "a  b"),  # inner space is the text's own
        ("“Quotes”", "“Quotes”"),
        ("ﬁ", "ﬁ"),  # NFC, not NFKC
        ("🇫🇷", "🇫🇷"),
        ("\u00a0x\u2003", "x"),
    ],
)
def test_clean(value: str, expected: str) -> None:
    assert clean("f", value) == expected


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("", "empty"),
        (" \t\n", "blank"),
        ("\u200b\u200b", "blank"),
        (5, "a text is expected, not the number 5"),
        (True, "true or false"),
        ([], "a list"),
        ({}, "an object"),
        ("\ud83d", "surrogate"),
    ],
)
def test_clean_refuses(value: object, reason: str) -> None:
    with pytest.raises(BadFieldError, match=reason) as caught:
        clean("question", value)
    assert caught.value.field == "question"


@given(st.text())
def test_clean_is_idempotent_and_normal(text: str) -> None:
    try:
        once = clean("f", text)
    except BadFieldError:
        return
    assert clean("f", once) == once
    assert unicodedata.is_normalized("NFC", once)
    assert once == once.strip() != ""


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (["a", "b"], ("a", "b")),
        (["b", "a", "b ", "a"], ("b", "a")),
        ("one, two | three", ("one, two | three",)),
        ('["a", "b"]', ("a", "b")),
        (' ["a"] ', ("a",)),
    ],
)
def test_texts(value: object, expected: tuple[str, ...]) -> None:
    assert row(answers=value).texts("answers") == expected
    assert row(answers=value).optional_texts("answers") == expected


@pytest.mark.parametrize(
    ("value", "field", "reason"),
    [
        (None, "answers", "missing"),
        ([], "answers", "the list is empty"),
        ("[]", "answers", "the list is empty"),
        ("", "answers", "empty"),
        (["a", ""], r"answers\[1\]", "empty"),
        (["a", 1969], r"answers\[1\]", "the number 1969"),
        ([None], r"answers\[0\]", "null"),
        ('["a", ', "answers", "begins like a JSON list"),
        ("[sic]", "answers", "begins like a JSON list"),
        (12, "answers", "a list of texts is expected, not the number 12"),
        ({"a": 1}, "answers", "an object"),
    ],
)
def test_texts_refuses(value: object, field: str, reason: str) -> None:
    with pytest.raises(BadFieldError, match=f"^{field}: .*{reason}"):
        row(answers=value).texts("answers")


@pytest.mark.parametrize("value", [None, "", "  ", [], "[]", "[ ]"])
def test_optional_texts_may_be_none(value: object) -> None:
    assert row(aliases=value).optional_texts("aliases") == ()
    assert row().optional_texts("aliases") == ()


@pytest.mark.parametrize(
    ("value", "expected"), [(3, 3.0), ("12", 12.0), (" 1e3 ", 1000.0), (0, 0.0), (None, None), ("", None)]
)
def test_number(value: object, expected: float | None) -> None:
    assert row(popularity=value).popularity("popularity") == expected


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (True, "a number is expected, not true or false"),
        ("many", "'many' is not a number"),
        ("nan", "not a finite number"),
        (float("inf"), "not a finite number"),
        (10**400, "is not a number"),
        (-1, "-1 is negative"),
        ([1], "a list"),
    ],
)
def test_number_refuses(value: object, reason: str) -> None:
    with pytest.raises(BadFieldError, match=f"^popularity: .*{reason}"):
        row(popularity=value).popularity("popularity")


@pytest.mark.parametrize(("value", "expected"), [("q1", "q1"), (17, "17"), (None, None), (" ", None)])
def test_identity(value: object, expected: str | None) -> None:
    assert row(id=value).identity("id") == expected


@pytest.mark.parametrize("value", [1.5, True, ["a"]])
def test_identity_refuses(value: object) -> None:
    with pytest.raises(BadFieldError, match=r"^id: a text is expected"):
        row(id=value).identity("id")


@pytest.mark.parametrize(("value", "expected"), [(" a ", "a"), ("", ""), (" \n", ""), ("\u200b", "")])
def test_reply_may_be_blank(value: str, expected: str) -> None:
    assert row(text=value).reply("text") == expected


@pytest.mark.parametrize(("value", "reason"), [(None, "missing"), (3, "the number 3"), ("a\ud83d", "surrogate")])
def test_reply_and_verbatim_refuse(value: object, reason: str) -> None:
    for read in (row(text=value).reply, row(text=value).verbatim):
        with pytest.raises(BadFieldError, match=f"^text: .*{reason}"):
            read("text")


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_verbatim_changes_nothing(text: str) -> None:
    assert row(text=text).verbatim("text") == text


@pytest.mark.parametrize(
    ("value", "expected"),
    [(True, True), (False, False), ("Yes", True), (" no", False), ("TRUE", True), (None, None), ("", None)],
)
def test_flag(value: object, expected: bool | None) -> None:
    assert row(human=value).optional_flag("human") is expected


@pytest.mark.parametrize("value", [0, 1, "1", "maybe", [], {}])
def test_flag_refuses(value: object) -> None:
    with pytest.raises(BadFieldError, match=r"^human: true or false is expected"):
        row(human=value).optional_flag("human")


def test_children_stay_at_their_line() -> None:
    one, two = row(entries=[{"a": 1}, {"a": 2}]).children("entries")
    assert (one, two) == (Row("7", {"a": 1}), Row("7", {"a": 2}))
    assert row(entries=[]).children("entries") == ()


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "entries: missing"),
        ({}, "entries: a list is expected"),
        ([{}, 1], r"entries\[1\]: an object is expected"),
    ],
)
def test_children_refuse(value: object, message: str) -> None:
    with pytest.raises(BadFieldError, match=f"^{message}"):
        row(entries=value).children("entries")


def test_only_known_fields() -> None:
    row(a=1, b=None).only(("a", "b", "c"))
    with pytest.raises(BadFieldError, match=r"^d: unknown field; the known ones are a, b"):
        row(a=1, d=2).only(("a", "b"))


def parse(r: Row) -> str | Dropped:
    text = r.text("t")
    return Dropped("skipped") if text == "skip" else text


def rows(*texts: str) -> list[Row]:
    return [Row(str(i), {"t": text}) for i, text in enumerate(texts, start=1)]


def test_collect_counts_what_it_drops() -> None:
    loaded = collect(Path("f"), rows("a", "skip", "b", "skip"), parse, lambda _, v: v)
    assert loaded.values == ("a", "b")
    assert loaded.dropped == {"skipped": 2}


@pytest.mark.parametrize(
    ("given_rows", "message"),
    [
        (rows("a", ""), "f:2: t: empty (knob: dataset.path)"),
        (rows("", "a", ""), "f:1: t: empty; 1 more bad row (knob: dataset.path)"),
        (rows("", "a", "", " "), "f:1: t: empty; 2 more bad rows (knob: dataset.path)"),
        ([*rows("a"), BadRow("2", "line", "not JSON")], "f:2: line: not JSON (knob: dataset.path)"),
        (rows("a", "b", "a"), "f:3: id: repeats line 1: both have 'a' (knob: dataset.path)"),
        (rows("skip", "skip"), "f: empty set: every row was left out (2 skipped) (knob: dataset.path)"),
        ([], "f: empty set: the file holds no rows (knob: dataset.path)"),
    ],
)
def test_collect_refuses_in_one_line(given_rows: list[Row | BadRow], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        collect(Path("f"), given_rows, parse, lambda _, v: v)
    assert str(caught.value) == message
