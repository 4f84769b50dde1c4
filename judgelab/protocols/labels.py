"""One label for each nugget of a list, asked for in windows that run at the same time.

Invariant: there are as many labels as nuggets; a window that gives none is `failed` throughout, with a line that says
why.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from judgelab.engines.base import Asker, Facts
from judgelab.protocols.documents import ask_document, labels_check, labels_schema
from judgelab.protocols.verdicts import Way
from judgelab.records import Call, Message
from judgelab.settings import NuggetsConfig

FAILED = "failed"
_TOKENS = 12  # a label with its quotes and comma


@dataclass(frozen=True)
class Labels:
    """Labels of a list, `failed` where a window gave none, with what failed, the calls made, and the most tries that a
    window took."""

    labels: tuple[str, ...]
    failures: tuple[str, ...]
    calls: tuple[Call, ...]
    tries: int


async def label(
    nuggets: Sequence[str],
    messages: Callable[[Sequence[str]], tuple[Message, ...]],
    grades: tuple[str, ...],
    purpose: str,
    text: str,
    asker: Asker,
    way: Way,
    settings: NuggetsConfig,
) -> Labels:
    """Label `nuggets` by `grades`, in windows of `settings.window`; `messages` asks for one window, `text` is what they
    are looked for in."""
    size = settings.window
    parts = [nuggets[start : start + size] for start in range(0, len(nuggets), size)]
    documents = await asyncio.gather(
        *(
            ask_document(
                asker,
                way,
                messages(part),
                labels_schema(len(part), grades),
                _TOKENS * len(part) + 8,
                purpose,
                labels_check(len(part), grades),
                Facts(candidate=text, statements=tuple(part)),
                settings.tries,
            )
            for part in parts
        )
    )
    found: list[str] = []
    failures = []
    for number, (part, document) in enumerate(zip(parts, documents, strict=True), 1):
        if document.failure is None:
            found += document.value
        else:
            found += [FAILED] * len(part)
            why = document.failure
            failures.append(f"{purpose}, window {number}: {why.reason} after {document.tries} tries: {why.detail}")
    calls = tuple(call for document in documents for call in document.calls)
    return Labels(tuple(found), tuple(failures), calls, max((d.tries for d in documents), default=1))
