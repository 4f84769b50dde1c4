from __future__ import annotations

import pytest

from judgelab.protocols.candidates import TEMPLATES, check, from_template, question_kind


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("who sang imagine", "who"),
        ("Whose song is Imagine?", "who"),
        ("who's the queen", "who"),
        ("when did it end", "when"),
        ("where is it", "where"),
        ("why is it blue", "why"),
        ("in which city is it", "which"),
        ("what's the capital", "what"),
        ("how many times", "how many"),
        ("How  much is it", "how much"),
        ("how long is it", "other"),
        ("capital of kenya", "other"),
        ("the somewhat whole answer", "other"),
    ],
)
def test_question_kind(question: str, kind: str) -> None:
    assert question_kind(question) == kind


@pytest.mark.parametrize("kind", sorted(TEMPLATES))
@pytest.mark.parametrize(
    "entity", ["Jeff Bezos", "11 p.m. to 3 a.m.", "U.S.", "!!!", "No One. Ever", "never", "A", "{question}"]
)
def test_template_candidates_are_faithful(kind: str, entity: str) -> None:
    question = f"{kind if kind != 'other' else 'name'} is not maybe it. who knows?"
    sentence = from_template(question, entity)
    assert entity.rstrip(".") in sentence
    assert check(sentence, question, (entity,), ("Peru",)) == ()
    assert check(sentence, question, ("Peru",), (entity,)) == (
        "not_asserted",
        "asserts_other",
        *check(sentence, question, ("Peru",), ())[1:],
    )


def test_template_ends_in_one_mark() -> None:
    assert from_template("where is it?", "the U.S.") == "The place that answers the question “where is it” is the U.S."


@pytest.mark.parametrize(
    ("sentence", "flags"),
    [
        ("The Hobbit was written by J. R. R. Tolkien.", ()),
        ("the hobbit was written by Tolkien", ("not_asserted",)),
        ("John Tolkien wrote it.", ()),
        ("The Hobbit was written by J. R. R. Tolkien, unlike what C. S. Lewis wrote.", ("asserts_other",)),
        ("J. R. R. Tolkien wrote it. He lived in Oxford.", ("not_one_sentence",)),
        ("J. R. R. Tolkien\nwrote it.", ("not_one_sentence",)),
        ("J. R. R. Tolkien probably wrote it.", ("hedged",)),
        ("It wasn't written by J. R. R. Tolkien.", ("hedged",)),
        ("It wasn’t written by J. R. R. Tolkien.", ("hedged",)),
        ("It was not J. R. R. Tolkien.", ("hedged",)),
        ("J. R. R. Tolkien may have written it.", ("hedged",)),
        ("J. R. R. Tolkien wrote it in May 1937.", ()),
        ("J. R. R. Tolkien wrote it as No. 5 of the series.", ()),
        ("", ("not_asserted", "not_one_sentence")),
        ("I do not know. Perhaps C. S. Lewis?", ("not_asserted", "asserts_other", "not_one_sentence", "hedged")),
    ],
)
def test_check(sentence: str, flags: tuple[str, ...]) -> None:
    names = ("J. R. R. Tolkien", "John Tolkien")
    assert check(sentence, "who wrote the hobbit", names, ("C. S. Lewis",)) == flags


def test_words_of_question_and_entity_do_not_count() -> None:
    question = "who said never say never and didn't mean it"
    assert check("Never say never was said by Dr. No, who didn't mean it.", question, ("Dr. No",), ()) == ()
    assert check("Dr. No never said it, I doubt.", "who said it", ("Dr. No",), ()) == ("hedged",)


def test_other_named_by_a_quoted_question_does_not_count() -> None:
    question = "which came first, the comic or the show"
    sentence = from_template(question, "show")
    assert check(sentence, question, ("show",), ("comic",)) == ()
    assert check("The show came before the comic.", question, ("show",), ("comic",)) == ("asserts_other",)
