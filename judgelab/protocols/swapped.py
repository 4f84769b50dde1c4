"""Swapped references (arXiv 2601.07506): does a judge follow the reference it is given, or its memory?

Invariant: every item gives four records, one a cell, whatever happens; an item's swap and candidates depend on
the dataset, the seed and (where it is asked) the judge, never on which other items are judged.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from judgelab.data.dataset import Dataset
from judgelab.engines.base import Asker, Choice, Facts
from judgelab.errors import RequestError, UsageError
from judgelab.items import QAItem
from judgelab.judge import Thinking
from judgelab.protocols import candidates, prompts
from judgelab.protocols.knowledge import believe
from judgelab.protocols.swaps import PERSON, Pool, Substitute, build
from judgelab.protocols.tagger import tag
from judgelab.protocols.verdicts import Decision, Way, decide, failure
from judgelab.protocols.writer import Candidate, candidate
from judgelab.records import Call, Reason, Record, Unscored, Verdict, content_hash
from judgelab.settings import CandidateSource, Condition, Swap, SwappedConfig, TypeSource, VerdictForm
from judgelab.subjects import Triplet

PROCEDURE = 1  # raise it when swaps, checks or the order of calls change
CELLS = ("oo", "os", "so", "ss")
GRADES = Choice(("A", "B", "C"), ("CORRECT", "INCORRECT", "NOT_ATTEMPTED"))

_REASONING = (Condition.cot, Condition.self_consistency)
_BY_TYPE = (Swap.type_preserving, Swap.type_changing)
_BY_FAME = (Swap.popularity_high, Swap.popularity_low)


@dataclass(frozen=True)
class _Swap:
    """What an item's reference is swapped for, or why for nothing, and what finding out took."""

    substitute: Substitute | Unscored
    calls: tuple[Call, ...] = ()
    extra: Mapping[str, float] = field(default_factory=dict)


class Swapped:
    """The protocol on one dataset. `prefix` is the judge's `answer_prefix`; a judge that thinks has none.

    Raises UsageError for settings that contradict each other or the data.
    """

    def __init__(
        self,
        settings: SwappedConfig,
        dataset: Dataset[QAItem],
        seed: int,
        thinking: Thinking | None = None,
        prefix: str = "",
    ) -> None:
        _validate(settings, dataset)
        self._settings = settings
        self._dataset = dataset
        self._seed = seed
        self._form = resolve_form(settings)
        self._way = Way(self._form, settings.rationale_tokens, thinking, "" if thinking else prefix)
        trusted = settings.types is not TypeSource.judge
        self._types = {i.item_id: i.entity_type if trusted else None for i in dataset.items}
        self._pool = Pool.of(dataset.items, self._types, dataset.persons)
        self._mass_items: frozenset[str] = frozenset()

    def fingerprint(self) -> str:
        """Content hash of everything written in code that changes what is asked."""
        return content_hash([PROCEDURE, prompts.fingerprint(), candidates.TEMPLATES])

    def record_ids(self, item: QAItem) -> tuple[str, ...]:
        """The ids of an item's four records, in the order of `CELLS`."""
        return tuple(content_hash([item.item_id, cell]) for cell in CELLS)

    async def prepare(self, items: Sequence[QAItem], asker: Asker) -> None:
        """Choose the items whose label mass is probed, and tag entity types where the settings ask for it.

        Types of the whole dataset are needed where substitutes are drawn by type: the pool must not depend on
        which items are judged.
        """
        self._mass_items = frozenset(item.item_id for item in items[: self._settings.mass_probes])
        if self._settings.types is TypeSource.data or self._settings.swap not in (*_BY_TYPE, *_BY_FAME):
            return
        wanted = self._dataset.items if self._settings.swap in _BY_TYPE else items
        untyped = [item for item in wanted if self._types[item.item_id] is None]
        found = await asyncio.gather(*(tag(item, asker, self._way) for item in untyped))
        self._types |= {item.item_id: kind for item, kind in zip(untyped, found, strict=True)}
        self._pool = Pool.of(self._dataset.items, self._types, self._dataset.persons)

    async def judge(self, item: QAItem, asker: Asker) -> tuple[Record, ...]:
        """Swap the reference, write a candidate for each, and grade the four pairs. Raises EngineError alone."""
        swap = _Swap(Unscored(Reason.NO_CANDIDATE))
        try:
            swap = await self._swap(item, asker)
            if isinstance(swap.substitute, Unscored):
                return self._without(item, swap, swap.substitute)
            substitute = swap.substitute
            r_o, r_s = (item.reference, *item.aliases), substitute.names
            wrong_o, wrong_s = ((), ()) if self._settings.swap is Swap.alias else (r_s, item.right)
            c_o, c_s = await asyncio.gather(
                candidate(self._settings.candidates, item.question, r_o, wrong_o, asker, self._way),
                candidate(self._settings.candidates, item.question, r_s, wrong_s, asker, self._way),
            )
        except RequestError as error:
            return self._without(item, swap, failure(error))
        return tuple(
            await asyncio.gather(*(self._cell(cell, item, substitute, c_o, c_s, swap, asker) for cell in CELLS))
        )

    async def _swap(self, item: QAItem, asker: Asker) -> _Swap:
        settings = self._settings
        if settings.swap is Swap.evaluator_knowledge:
            belief = await believe(item, asker, settings.probe_samples, settings.probe_temperature, self._way)
            extra = {"known": belief.known, "known_forced": belief.forced}
            return _Swap(belief.substitute, belief.calls, extra)
        kind = self._types[item.item_id]
        tail = settings.popularity_tail
        found = build(settings.swap, item, kind, self._pool, tail, self._seed, self._dataset.name)
        return _Swap(found or Unscored(Reason.NO_CANDIDATE, _why_none(settings.swap, kind)))

    async def _cell(
        self,
        cell: str,
        item: QAItem,
        substitute: Substitute,
        c_o: Candidate,
        c_s: Candidate,
        swap: _Swap,
        asker: Asker,
    ) -> Record:
        reference = item.reference if cell[0] == "o" else substitute.text
        shown, entity = (c_o, item.reference) if cell[1] == "o" else (c_s, substitute.text)
        triplet = self._triplet(cell, item, substitute, shown)
        decision = await self._grade(cell, item, triplet, self._facts(item, substitute, reference, entity), asker)
        extra = dict(swap.extra)
        if decision.mass is not None:
            extra["label_mass"] = decision.mass
        if self._settings.candidates is CandidateSource.model:
            extra["candidate_tries"] = float(len(shown.calls))
        # What the item as a whole took is stored once, with its first cell.
        before = (*swap.calls, *c_o.calls, *c_s.calls) if cell == CELLS[0] else ()
        return self._record(cell, item, triplet, decision, (*before, *decision.calls), extra)

    async def _grade(self, cell: str, item: QAItem, triplet: Triplet, facts: Facts, asker: Asker) -> Decision:
        condition = self._settings.condition
        messages = prompts.grade(condition, self._form, item.question, triplet.reference, triplet.candidate)
        if condition is not Condition.self_consistency:
            mass = cell == CELLS[0] and item.item_id in self._mass_items
            return await decide(asker, messages, GRADES, self._way, "grade", facts, mass=mass)
        samples = await asyncio.gather(
            *(
                decide(asker, messages, GRADES, self._way, "grade", facts, self._settings.temperature, sample)
                for sample in range(self._settings.k)
            )
        )
        calls = tuple(call for sample in samples for call in sample.calls)
        outcome = majority([sample.outcome for sample in samples])
        if outcome is not None:
            return Decision(outcome, calls)
        greedy = await decide(asker, messages, GRADES, self._way, "grade", facts)
        return Decision(greedy.outcome, (*calls, *greedy.calls))

    def _facts(self, item: QAItem, substitute: Substitute, reference: str, entity: str) -> Facts:
        if self._settings.swap is Swap.alias:  # two spellings of one thing
            return Facts(item.reference, item.reference, item.reference)
        believed = self._settings.swap is Swap.evaluator_knowledge
        return Facts(reference, entity, substitute.text if believed else item.reference)

    def _triplet(self, cell: str, item: QAItem, substitute: Substitute | None, shown: Candidate | None) -> Triplet:
        swapped = substitute.text if substitute else ""
        same = cell[0] == cell[1] or self._settings.swap is Swap.alias
        return Triplet(
            question=item.question,
            reference=item.reference if cell[0] == "o" else swapped,
            candidate=shown.text if shown else "",
            cell=cell,
            truth="CORRECT" if same else "INCORRECT",
            swap=str(self._settings.swap),
            original=item.reference,
            swapped=swapped,
            entity_type=self._types[item.item_id],
            swapped_type=substitute.entity_type if substitute else None,
            popularity=item.popularity,
            swapped_popularity=substitute.popularity if substitute else None,
            freshness=item.freshness,
            candidate_source=shown.source if shown else str(self._settings.candidates),
            flags=shown.flags if shown else (),
        )

    def _without(self, item: QAItem, swap: _Swap, why: Unscored) -> tuple[Record, ...]:
        """Four records without verdict, for an item of which no pair could be made."""
        substitute = swap.substitute if isinstance(swap.substitute, Substitute) else None
        return tuple(
            self._record(
                cell,
                item,
                self._triplet(cell, item, substitute, None),
                Decision(why),
                swap.calls if cell == CELLS[0] else (),
                swap.extra,
            )
            for cell in CELLS
        )

    def _record(
        self,
        cell: str,
        item: QAItem,
        triplet: Triplet,
        decision: Decision,
        calls: tuple[Call, ...],
        extra: Mapping[str, float],
    ) -> Record:
        verdict = decision.outcome if isinstance(decision.outcome, Verdict) else None
        return Record(
            record_id=self.record_ids(item)[CELLS.index(cell)],
            item_id=item.item_id,
            cell=cell,
            verdict=verdict.label if verdict else None,
            subject=triplet,
            unscored=decision.outcome if isinstance(decision.outcome, Unscored) else None,
            probabilities=verdict.probabilities if verdict else None,
            calls=calls,
            attempts=decision.attempts,
            extra=dict(extra),
        )


def resolve_form(settings: SwappedConfig) -> VerdictForm:
    """The verdict form with `auto` resolved: reasons before the label where the condition reasons."""
    if settings.verdict_form is not VerdictForm.auto:
        return settings.verdict_form
    return VerdictForm.rationale_then_label if settings.condition in _REASONING else VerdictForm.label


def majority(outcomes: Sequence[Verdict | Unscored]) -> Verdict | Unscored | None:
    """The verdict most samples give, None on a tie. Unscored ones do not vote; with none left the first reason
    stands, and one engine error leaves the whole unscored, since asking again may change the vote."""
    failures = [o for o in outcomes if isinstance(o, Unscored)]
    broken = next((f for f in failures if f.reason is Reason.ENGINE_ERROR), None)
    votes = Counter(o.label for o in outcomes if isinstance(o, Verdict)).most_common()
    if broken or not votes:
        return broken or failures[0]
    if len(votes) > 1 and votes[0][1] == votes[1][1]:
        return None
    return Verdict(votes[0][0])


def _why_none(swap: Swap, kind: str | None) -> str:
    if swap is Swap.alias:
        return "the reference has no other spelling"
    if kind is None:
        return "the reference has no entity type (knob: protocol.types)"
    if swap in _BY_FAME and kind != PERSON:
        return f"the reference is a {kind}, not a person"
    return f"no admissible {swap} substitute for a {kind}"


def _validate(settings: SwappedConfig, dataset: Dataset[QAItem]) -> None:
    form, condition, swap = settings.verdict_form, settings.condition, settings.swap
    verdict_only = (VerdictForm.label, VerdictForm.json_verdict_first)
    if condition in _REASONING and form in verdict_only:
        raise UsageError(
            f"protocol.condition={condition} reasons first but protocol.verdict_form={form} asks for the verdict "
            "first: use rationale_then_label, json_rationale_first, free_text or auto"
        )
    if condition is Condition.self_consistency and (settings.k < 1 or settings.temperature <= 0):
        raise UsageError(
            f"protocol.condition={condition} needs protocol.k of 1 or more and protocol.temperature above 0, "
            f"not {settings.k} and {settings.temperature:g}"
        )
    if settings.rationale_tokens < 1:
        raise UsageError(f"protocol.rationale_tokens={settings.rationale_tokens}: must be 1 or more")
    if settings.mass_probes < 0:
        raise UsageError(f"protocol.mass_probes={settings.mass_probes}: must be 0 or more")
    if swap is Swap.evaluator_knowledge and (settings.probe_samples < 1 or settings.probe_temperature < 0):
        raise UsageError(
            f"protocol.swap={swap} needs protocol.probe_samples of 1 or more and protocol.probe_temperature of 0 "
            f"or more, not {settings.probe_samples} and {settings.probe_temperature:g}"
        )
    if swap in _BY_FAME and not dataset.persons:
        raise UsageError(
            f"protocol.swap={swap} draws from a pool of persons, but dataset {dataset.name} has none: "
            "give a file with dataset.persons=FILE"
        )
    if swap in _BY_FAME and not 0 < settings.popularity_tail <= 0.5:
        raise UsageError(f"protocol.popularity_tail={settings.popularity_tail:g}: must be above 0 and at most 0.5")
    if swap is Swap.alias and not any(item.aliases for item in dataset.items):
        raise UsageError(
            f"protocol.swap={swap} needs aliases, but dataset {dataset.name} has none: take another dataset"
        )
    typed = any(item.entity_type for item in dataset.items)
    if swap in (*_BY_TYPE, *_BY_FAME) and settings.types is TypeSource.data and not typed:
        raise UsageError(
            f"protocol.swap={swap} needs entity types, but dataset {dataset.name} has none: "
            "let the judge tag them with protocol.types=auto"
        )
