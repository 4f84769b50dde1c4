"""Knobs of the SAGE protocol.

Invariant: values that the paper leaves unstated are ours and named so.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from judgelab.settings.protocol import ProtocolConfig, VerdictForm
from judgelab.settings.roles import analysis


class Variant(StrEnum):
    """What the judge gets before it decides: searches in a loop, the loop without one of its parts, or other means."""

    sage = "sage"
    single_pass = "single_pass"  # noqa: S105 - no password
    no_refinement = "no_refinement"
    no_reflection = "no_reflection"
    oracle = "oracle"
    reference = "reference"
    no_search = "no_search"


class Truth(StrEnum):
    """Whose verdict counts as true: people's, the reference judge's, or people's where there are any."""

    auto = "auto"
    human = "human"
    reference = "reference"


@dataclass
class SageConfig(ProtocolConfig):
    """SAGE: does searching for evidence make the judge agree with people?

    The paper leaves results a query, temperature and token limits unstated; these are our defaults.
    """

    name: str = "sage"
    variant: Variant = Variant.sage
    iterations: int = 3
    k: int = 5  # results a query
    snippet_chars: int = 400
    merge_summary_reflection: bool = False
    early_stop: bool = False  # stop once a reflection takes a stance and misses nothing
    query_sees_candidate: bool = False
    leave_gold_out: bool = False  # hide the item's own gold paragraph from the search
    verdict_form: VerdictForm = VerdictForm.rationale_then_label
    query_tokens: int = 64
    summary_tokens: int = 256
    reflection_tokens: int = 192
    rationale_tokens: int = 384
    beside_none: bool = True  # the verdict without any evidence as well, for the comparison within the run
    beside_reference: bool = True  # and the reference judge's, where there are gold answers
    truth: Truth = analysis(Truth.auto)
