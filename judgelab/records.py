"""What flows through a run and what is stored of it.

Invariant: a record carries either a verdict of a closed label set or the reason why there is none, never both
and never a default.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from judgelab.subjects import Subject

_SURROGATE = re.compile("[\ud800-\udfff]")


class Reason(StrEnum):
    """Why a judgment has no verdict."""

    TRUNCATED = "truncated"
    PARSE_ERROR = "parse_error"
    TOO_LONG = "too_long"
    NO_CANDIDATE = "no_candidate"
    NO_PAGES = "no_pages"
    NO_NUGGETS = "no_nuggets"
    SEARCH_ERROR = "search_error"
    ENGINE_ERROR = "engine_error"

    @property
    def final(self) -> bool:
        """Whether asking again is known to end the same way; the others are tried again on relaunch."""
        return self not in (Reason.ENGINE_ERROR, Reason.SEARCH_ERROR)


@dataclass(frozen=True)
class Verdict:
    """A label of the protocol's closed set; `probabilities` (label -> p, sums to 1) where the form yields them."""

    label: str
    probabilities: Mapping[str, float] | None = None


@dataclass(frozen=True)
class Unscored:
    """A failed judgment: excluded from point estimates, counted, and bounded."""

    reason: Reason
    detail: str = ""


@dataclass(frozen=True)
class Message:
    """One turn of a chat."""

    role: str
    content: str


@dataclass(frozen=True)
class Call:
    """One call to the engine as a record keeps it: enough to audit the judgment without the cache."""

    purpose: str
    key: str
    messages: tuple[Message, ...]
    continuation: str
    text: str
    finish_reason: str
    prompt_tokens: int
    cached_tokens: int
    generated_tokens: int
    thinking_tokens: int
    seconds: float


@dataclass(frozen=True)
class Record:
    """One judgment as stored: a row of `records*.jsonl`."""

    record_id: str
    item_id: str
    cell: str
    verdict: str | None
    subject: Subject
    unscored: Unscored | None = None
    probabilities: Mapping[str, float] | None = None
    calls: tuple[Call, ...] = ()
    attempts: int = 1
    extra: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Hold the invariant where every record is made."""
        if (self.verdict is None) == (self.unscored is None):
            raise ValueError(f"record {self.record_id}: exactly one of verdict and unscored must be given")
        if self.verdict is not None and self.verdict not in self.subject.verdicts:
            raise ValueError(f"record {self.record_id}: {self.verdict!r} is no verdict on a {self.subject.kind}")
        if self.cell not in self.subject.cells:
            raise ValueError(f"record {self.record_id}: {self.cell!r} is no cell of a {self.subject.kind}")


def canonical_json(value: Any) -> str:
    """The one spelling of a value: sorted keys, no spaces, NaN refused; what hashes are taken of and journals hold."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    if _SURROGATE.search(text):  # half a character, as a model cut off in one may give; UTF-8 has no bytes for it
        text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return text


def content_hash(value: Any, length: int = 16) -> str:
    """First `length` hex digits of the sha256 of the canonical JSON of `value`."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()[:length]
