"""The sentences that are judged: made from templates, or a model's own, and checked alike.

Invariant: whatever wrote a candidate, it passed through `check`, and what it failed stands in its flags.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from judgelab.text import asserts, sentences, tokens

NOT_ASSERTED = "not_asserted"
ASSERTS_OTHER = "asserts_other"
NOT_ONE_SENTENCE = "not_one_sentence"
HEDGED = "hedged"

# What each kind of question asks for, by its first question word.
TEMPLATES = {
    "who": "The person or group that answers the question “{question}” is {entity}.",
    "when": "The time that answers the question “{question}” is {entity}.",
    "where": "The place that answers the question “{question}” is {entity}.",
    "why": "The reason that answers the question “{question}” is {entity}.",
    "how many": "The number that answers the question “{question}” is {entity}.",
    "how much": "The amount that answers the question “{question}” is {entity}.",
    "which": "The one that answers the question “{question}” is {entity}.",
    "what": "The answer to the question “{question}” is {entity}.",
    "other": "The question “{question}” is answered by {entity}.",
}

_KIND = re.compile(r"\b(who|whom|whose|when|where|why|which|what|how\s+many|how\s+much)(?:'?s|’s)?\b", re.IGNORECASE)
_FIELD = re.compile(r"\{(question|entity)\}")

# Words of doubt and of denial, as they are once normalised.
_DOUBT = re.compile(
    "maybe|perhaps|possibly|probably|likely|might|could|may|seems|seemingly|appears|apparently|allegedly|reportedly|"
    "supposedly|presumably|believed|rumou?red|unclear|uncertain|unsure|unknown|disputed|"
    "not|no|never|neither|nor|none|cannot|incorrect(ly)?|wrong(ly)?|false(ly)?|untrue|mistaken(ly)?|instead|contrary"
)
_CONTRACTED_NOT = re.compile(r"n['’]t\b", re.IGNORECASE)


def question_kind(question: str) -> str:
    """The key of `TEMPLATES` for a question: its first question word, else `other`."""
    found = _KIND.search(question)
    if found is None:
        return "other"
    word = " ".join(found.group(1).casefold().split())
    return "who" if word in ("whom", "whose") else word


def from_template(question: str, entity: str) -> str:
    """One sentence that states `entity` as the answer; neither text is changed but for its closing marks."""
    values = {"question": question.strip().rstrip("?.! "), "entity": entity.strip()}
    sentence = _FIELD.sub(lambda found: values[found.group(1)], TEMPLATES[question_kind(question)])
    return sentence[:-1] if sentence[-2] in ".!?。" else sentence


def check(sentence: str, question: str, names: Sequence[str], others: Sequence[str]) -> tuple[str, ...]:
    """The flags of a candidate, empty if it is faithful.

    `names` are the spellings of what it must assert, `others` those of what it must not. Words that the question
    or the entity brings along count neither as hedge, negation or sentence end nor as assertion of another.
    """
    flags = []
    own = _mask(sentence, (question.strip().rstrip("?.! "),), "this")
    if not asserts(own, names):
        flags.append(NOT_ASSERTED)
    if asserts(own, others):
        flags.append(ASSERTS_OTHER)
    masked = _mask(own, names, "it")
    if sentences(masked) != 1:
        flags.append(NOT_ONE_SENTENCE)
    if _hedged(masked, {token for text in (question, *names) for token in tokens(text)}):
        flags.append(HEDGED)
    return tuple(flags)


def _mask(sentence: str, texts: Sequence[str], word: str) -> str:
    """The sentence with a neutral word wherever one of `texts` stands verbatim."""
    for text in filter(None, map(str.strip, texts)):
        sentence = re.sub(rf"(?<!\w){re.escape(text)}(?!\w)", word, sentence, flags=re.IGNORECASE)
    return sentence


def _hedged(masked: str, brought: set[str]) -> bool:
    for word, following in pairwise([*masked.split(), ""]):
        for part in tokens(word):
            if part in brought or (part == "may" and "may" not in word):
                continue  # May is a month
            if part == "no" and following[:1].isdigit():
                continue  # No. 5
            if _DOUBT.fullmatch(part) or _CONTRACTED_NOT.search(word):
                return True
    return False
