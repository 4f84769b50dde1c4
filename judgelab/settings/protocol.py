"""What every protocol has, and the forms of a verdict.

Invariant: `auto` is resolved before anything is hashed.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class VerdictForm(StrEnum):
    """The form of a verdict; `auto` is `rationale_then_label` where the condition reasons, else `label`."""

    auto = "auto"
    label = "label"
    rationale_then_label = "rationale_then_label"
    json_verdict_first = "json_verdict_first"
    json_rationale_first = "json_rationale_first"
    free_text = "free_text"


@dataclass
class ProtocolConfig:
    """What every protocol has."""

    name: str = "???"
