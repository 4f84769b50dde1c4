"""Knobs of the swapped protocol.

Invariant: values that the paper leaves unstated are ours and named so.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from judgelab.settings.protocol import ProtocolConfig, VerdictForm


class Swap(StrEnum):
    """What replaces the original reference."""

    type_preserving = "type_preserving"
    type_changing = "type_changing"
    popularity_high = "popularity_high"
    popularity_low = "popularity_low"
    evaluator_knowledge = "evaluator_knowledge"
    alias = "alias"


class Condition(StrEnum):
    """How the judge is asked."""

    standard = "standard"
    direct = "direct"
    cot = "cot"
    self_consistency = "self_consistency"


class CandidateSource(StrEnum):
    """Who writes the candidates: sentence templates, the judge model (checked), or the bare entity."""

    template = "template"
    model = "model"
    entity = "entity"


class TypeSource(StrEnum):
    """Where entity types come from: `auto` takes the data's and asks the judge for the missing ones."""

    data = "data"
    judge = "judge"
    auto = "auto"


class NotAttempted(StrEnum):
    """How a NOT_ATTEMPTED verdict counts: as an error, not at all, or as a class of its own."""

    error = "error"
    excluded = "excluded"
    separate = "separate"


@dataclass
class SwappedConfig(ProtocolConfig):
    """Swapped references: does the judge follow the reference it is given, or its memory?

    The paper leaves `k` and `temperature` of self-consistency unstated; these are our defaults.
    """

    name: str = "swapped"
    swap: Swap = Swap.type_preserving
    condition: Condition = Condition.standard
    verdict_form: VerdictForm = VerdictForm.auto
    candidates: CandidateSource = CandidateSource.template
    types: TypeSource = TypeSource.data
    k: int = 5
    temperature: float = 0.7
    rationale_tokens: int = 256
    popularity_tail: float = 0.2  # share of the person pool that counts as high, and as low
    probe_samples: int = 3  # closed-book answers asked for by evaluator_knowledge
    probe_temperature: float = 0.6
    mass_probes: int = 8  # unconstrained extra requests that show the labels' share of the free mass
