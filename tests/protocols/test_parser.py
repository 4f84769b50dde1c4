from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgelab.engines.base import Choice
from judgelab.protocols.parser import parse_label

GRADES = Choice(("A", "B", "C"), ("CORRECT", "INCORRECT", "NOT_ATTEMPTED"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A", "A"),
        ("A.", "A"),
        ("(A)", "A"),
        ("**B**", "B"),
        ("[C]", "C"),
        ("`A`", "A"),
        (" B \n", "B"),
        ("A: CORRECT", "A"),
        ("A - CORRECT", "A"),
        ("A (CORRECT)", "A"),
        ("B) incorrect", "B"),
        ("C: NOT ATTEMPTED", "C"),
        ("CORRECT", "A"),
        ("INCORRECT", "B"),
        ("Correct.", "A"),
        ("incorrect", "B"),
        ("NOT_ATTEMPTED", "C"),
        ("NOT ATTEMPTED", "C"),
        ("Final: B", "B"),
        ("**Final:** B", "B"),
        ("**Final: B**", "B"),
        ("FINAL: B", "B"),
        ("Final:\nB", "B"),
        ("Final: INCORRECT", "B"),
        ("Reasoning:\n- it says A\n- the reference says B\nFinal: C", "C"),
        ("It agrees.\n\nA", "A"),
        ("Final: A\nFinal: B", "B"),
        ("Final: A\nOn second thought:\nFinal: C\n", "C"),
        ("Final: A\nI hope this helps.", "A"),
        ("<think>Final: A</think>B", "B"),
        ("<think>\nmaybe A\n</think>\n\nFinal: B", "B"),
        ("so it is A\n</think>\nB", "B"),
        # no verdict
        ("", None),
        ("   \n\t", None),
        ("<think>Final: A", None),
        ("<think>A</think>", None),
        ("The answer is wrong because the reference names Peru.", None),
        ("Because B is wrong, A", None),
        ("A good answer", None),
        ("A\nbecause it names both countries", None),
        ("a", None),
        ("AB", None),
        ("D", None),
        ("ABSTAIN", None),
        ("A or B", None),
        ("A: INCORRECT", None),
        ("B: CORRECT", None),
        ("CORRECTLY", None),
        ("NOT CORRECT", None),
        ("NOT", None),
        ("Final:", None),
        ("Final: A or B", None),
        ("Final: A\nFinal: unsure", None),
        ("It is the Final: B", None),
        ("Finally: A", None),
    ],
)
def test_table(text: str, expected: str | None) -> None:
    assert parse_label(text, GRADES) == expected


@given(st.text())
def test_any_text_gives_a_label_of_the_set_or_none(text: str) -> None:
    assert parse_label(text, GRADES) in (None, "A", "B", "C")


@given(st.lists(st.sampled_from(["the", "answer", "A", "B", "CORRECT", "is", "wrong", "not", "Final"]), min_size=1))
def test_prose_gives_no_label(words: list[str]) -> None:
    assert parse_label(" ".join(["Here", *words, "overall"]), GRADES) is None


@given(st.text(), st.sampled_from("ABC"))
def test_the_last_final_line_decides(before: str, label: str) -> None:
    thoughts = "<think" in before.lower() or "</think" in before.lower()
    if not thoughts:
        assert parse_label(f"{before}\nFinal: {label}", GRADES) == label
