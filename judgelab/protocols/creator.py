"""The nugget creator: a list that grows window by window over the documents of one question.

Invariant: a window that fails leaves the list as it was and says so; what a window did to the list is recorded, so that
a good early nugget that a late window pushed out can be seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from judgelab.engines.base import Asker, Facts
from judgelab.protocols import nugget_prompts as prompts
from judgelab.protocols.documents import ask_document
from judgelab.protocols.verdicts import Way
from judgelab.records import Call, Reason, Unscored
from judgelab.settings import Creator, NuggetsConfig
from judgelab.subjects import Window
from judgelab.text import normalise

_TEXT = 160  # characters a nugget may have: twelve words in most languages
_DEGENERATE = 0.3  # share of repeats, or of one opening, from which a reply counts as noise


@dataclass
class Nuggets:
    """The list and how it came to be."""

    texts: list[str] = field(default_factory=list)
    windows: list[Window] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    failure: Unscored | None = None


async def create(
    question: str, documents: Sequence[str], facts: Sequence[str], settings: NuggetsConfig, asker: Asker, way: Way
) -> Nuggets:
    """Nuggets for a question from documents, `settings.window` at a time. `facts` are what a scripted engine lists.

    A window that does not fit the judge's context is taken in two halves, down to single documents. Raises EngineError
    alone; `failure` is the last window's where no window gave anything.
    """
    made = Nuggets()
    append = settings.creator is Creator.append
    schema = {
        "type": "array",
        "items": {"type": "string", "minLength": 2, "maxLength": _TEXT},
        "maxItems": settings.max_nuggets,
        "minItems": 0 if append else 1,
    }
    waiting = [
        (start, min(start + settings.window, len(documents))) for start in range(0, len(documents), settings.window)
    ]
    while waiting:
        start, end = waiting.pop(0)
        window = documents[start:end]
        messages = prompts.create(question, window, made.texts, settings.max_nuggets, append=append)
        document = await ask_document(
            asker,
            way,
            messages,
            schema,
            settings.creator_tokens,
            "create",
            _strings,
            Facts(statements=tuple(facts[start:end])),
            settings.tries,
        )
        made.calls += document.calls
        if document.failure is not None and document.failure.reason is Reason.TOO_LONG and end - start > 1:
            middle = (start + end) // 2
            waiting[:0] = [(start, middle), (middle, end)]
            continue
        if document.failure is not None:
            made.failure = document.failure
            told = f"{document.failure.reason} after {document.tries} tries: {document.failure.detail}"
            made.windows.append(Window(len(made.texts), len(made.texts), failed=told))
            continue
        before = [*made.texts]
        kept, removed = _distinct([*before, *document.value] if append else document.value)
        made.texts = kept[: settings.max_nuggets]
        made.removed += removed
        known = set(made.texts)
        made.windows.append(
            Window(len(made.texts), sum(t in known for t in before), len(removed), degenerate(document.value))
        )
    if not made.texts and made.failure is None:
        made.failure = Unscored(Reason.NO_NUGGETS, "the creator listed nothing")
    return made


def degenerate(reply: Sequence[str]) -> bool:
    """Whether a reply is repeats or a template: valid JSON that says nothing.

    Several entries of which a good part are equal, or begin with the same three words.
    """
    if len(reply) < 4:
        return False
    folded = [normalise(text) for text in reply]
    openings = [" ".join(text.split()[:3]) for text in folded]
    most = max(openings.count(each) for each in set(openings))
    repeats = len(folded) - len(set(folded))
    return repeats > _DEGENERATE * len(folded) or most > max(3, 2 * _DEGENERATE * len(folded))


def _strings(document: Any) -> list[str]:
    if not isinstance(document, list) or not all(isinstance(each, str) for each in document):
        raise ValueError("it was not a list of strings")
    return [line for each in document if (line := " ".join(each.split()))]


def _distinct(texts: Sequence[str]) -> tuple[list[str], list[str]]:
    """The texts without those equal to an earlier one once normalised, and those."""
    seen: set[str] = set()
    kept: list[str] = []
    removed: list[str] = []
    for text in texts:
        key = normalise(text)
        (removed if key in seen else kept).append(text)
        seen.add(key)
    return kept, removed
