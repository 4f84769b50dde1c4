from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgelab.pages.chunks import LONGEST, chunks
from judgelab.text import sentences, split_sentences


def numbered(n: int) -> str:
    return " ".join(f"Sentence {k} is here." for k in range(1, n + 1))


@pytest.mark.parametrize(
    ("n", "size", "overlap", "starts"),
    [(10, 10, 2, [1]), (18, 10, 2, [1, 9]), (19, 10, 2, [1, 9, 17]), (3, 10, 2, [1]), (5, 1, 0, [1, 2, 3, 4, 5])],
)
def test_chunks_overlap_as_asked(n: int, size: int, overlap: int, starts: list[int]) -> None:
    found = chunks(numbered(n), size, overlap)
    assert [int(chunk.split()[1]) for chunk in found] == starts
    for one, two in itertools.pairwise(found):
        assert set(split_sentences(two)[:overlap]) <= set(split_sentences(one))


def test_nothing_gives_nothing() -> None:
    assert chunks("", 10, 2) == []
    assert chunks(" \n\t\n", 10, 2) == []


def test_a_text_without_sentences_is_cut_by_length() -> None:
    found = chunks("x" * 100_000, 10, 2)
    assert all(len(chunk) <= LONGEST for chunk in found)
    assert len(found) > 5


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("Dr. Who came. He left.", ["Dr. Who came.", "He left."]),
        ("这是一句。这是另一句！", ["这是一句。", "这是另一句！"]),
        ("a line\nanother line", ["a line", "another line"]),
        ("J. R. R. Tolkien wrote it.", ["J. R. R. Tolkien wrote it."]),
    ],
)
def test_sentences_are_split_where_they_are_counted(text: str, expected: list[str]) -> None:
    assert split_sentences(text) == expected
    assert sentences(text) == len(expected)


@given(st.text(max_size=400), st.integers(1, 5), st.integers(0, 3))
def test_every_sentence_is_in_some_chunk(text: str, size: int, overlap: int) -> None:
    found = chunks(text, size, min(overlap, size - 1))
    for sentence in split_sentences(text):
        if len(sentence) < 1000:
            assert any(sentence in chunk for chunk in found)
