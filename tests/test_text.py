from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgelab.text import asserts, contains, normalise, overlaps, same, sentences, tokens


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("The  Manhattan Project", "manhattan project"),
        ("Wilhelm Conrad Röntgen", "wilhelm conrad röntgen"),
        ("R\u006f\u0308ntgen", "röntgen"),
        ("STRASSE", "strasse"),
        ("Straße", "strasse"),
        ("U.S.", "us"),
        ("the U.S", "us"),
        ("plan B. A dog", "plan b dog"),
        ("J. R. R. Tolkien", "jrr tolkien"),
        ("J.R.R. Tolkien", "jrr tolkien"),
        ("Jean-Paul Sartre", "jean paul sartre"),
        ("O’Brien's", "obriens"),
        ("1,163", "1163"),
        ("3.5", "3.5"),
        ("2018,2019", "2018 2019"),
        ("11 p.m. to 3 a.m.", "11 pm to 3 am"),
        ("the 1960s.", "1960s"),
        ("Москва", "москва"),
        ("東京", "東京"),
        ("हिन्दी", "हिन्दी"),
        ("The The", "the the"),
        ("A", "a"),
        ("!!!", "!!!"),
        ("", ""),
        ("  ", ""),
    ],
)
def test_normalise(raw: str, expected: str) -> None:
    assert normalise(raw) == expected


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("It was Jeff Bezos.", "jeff bezos", True),
        ("It was organised.", "ORG", False),
        ("In 1985 it began.", "5", False),
        ("In 1985 it began.", "1985", True),
        ("The answer is 3.5.", "3.5", True),
        ("The answer is 35.", "3.5", False),
        ("答案是巴黎。", "巴黎", True),
        ("파리는 수도이다", "파리", True),
        ("The blood group is A.", "A", True),
        ("It is a blood group.", "A", False),
        ("It is by !!!, a band.", "!!!", True),
        ("It is by a band!", "!!!", False),
        ("anything", "", False),
        ("anything", " ", False),
        ("the U.S. Army", "US", True),
    ],
)
def test_contains(text: str, name: str, expected: bool) -> None:
    assert contains(text, name) is expected


def test_asserts_takes_any_name() -> None:
    assert asserts("It was Ted Sturgeon.", ("Theodore Sturgeon", "Ted Sturgeon"))
    assert not asserts("It was Ted Sturgeon.", ())


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("5", "1985", True),
        ("Paris", "Paris, France", True),
        ("US", "U.S.", True),
        ("Rome", "Paris", False),
        ("", "Paris", False),
    ],
)
def test_overlaps(one: str, other: str, expected: bool) -> None:
    assert overlaps(one, other) is expected
    assert overlaps(other, one) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 0),
        (" \n ", 0),
        ("X", 1),
        ("It was J. R. R. Tolkien.", 1),
        ("It was in the U.S. Army.", 1),
        ("It was in the U.S. He left.", 2),
        ("Dr. Smith of St. Louis did it.", 1),
        ("It was Rome. Paris came later.", 2),
        ("It was Rome! Or Paris?", 2),
        ("One line\nAnother line", 2),
        ("It is 3.5 metres, at 11 p.m. to 3 a.m., they say.", 1),
        ("这是巴黎。不是罗马。", 2),
        ('He said "no." Then he left.', 2),
        ("It was Rome... maybe.", 1),
    ],
)
def test_sentences(text: str, expected: int) -> None:
    assert sentences(text) == expected


@given(st.text())
def test_what_is_not_blank_never_normalises_to_nothing(text: str) -> None:
    assert bool(normalise(text)) == bool(text.split())
    assert bool(tokens(text)) == bool(text.split())
    assert not contains("", text)


@given(st.text())
def test_normalise_is_stable(text: str) -> None:
    once = normalise(text)
    assert same(text, text) == bool(text.strip())
    if not text.strip():
        return
    assert overlaps(text, once) or once == ""


@given(st.text(alphabet="abcdefgh Ñéß東", min_size=1), st.text(alphabet="ijk "))
def test_a_name_is_found_in_what_it_stands_in(name: str, around: str) -> None:
    if name.strip():
        assert contains(f"{around} {name} {around}", name)
