"""SAGE (arXiv 2504.07385): the judge searches, summarises, reflects, then decides; and the judges beside it.

Invariant: memory only grows, so a step's calls do not depend on how many steps follow; a search that failed leaves the
answer unscored, and never a verdict that looks as if it rested on evidence.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from judgelab.data.dataset import Dataset
from judgelab.engines.base import Asker, Choice, Facts
from judgelab.errors import RequestError, UsageError
from judgelab.items import GradedAnswer
from judgelab.judge import Thinking
from judgelab.protocols import sage_prompts as prompts
from judgelab.protocols.roles import Role, Speaker
from judgelab.protocols.verdicts import Decision, Way, decide, failure
from judgelab.records import Call, Reason, Record, Unscored, Verdict, content_hash
from judgelab.search.base import Search, SearchRequest, SearchResponse, Status
from judgelab.settings import SageConfig, Variant, VerdictForm
from judgelab.subjects import Evidence, Step, Trial
from judgelab.text import asserts, normalise

PROCEDURE = 1  # raise it when the loop or the order of calls changes
VERDICTS = Choice(("A", "B"), ("True", "False"))
LOOPS = (Variant.sage, Variant.no_refinement, Variant.no_reflection)
SEARCHING = (*LOOPS, Variant.single_pass)
_NOTHING = ("", "nothing", "none", "na", "no information is missing", "nothing is missing")


@dataclass
class _Inquiry:
    """What the judge gathered on one item, as it grows."""

    speaker: Speaker
    memory: list[Step] = field(default_factory=list)
    stopped: bool = False
    saved: int = 0
    failed: Unscored | None = None


class Sage:
    """The protocol on one data set. `search` is None for variants that make none; `prefix` is the judge's
    `answer_prefix`.

    Raises UsageError for settings that contradict each other or the data.
    """

    def __init__(
        self,
        settings: SageConfig,
        dataset: Dataset[GradedAnswer],
        search: Search | None,
        thinking: Thinking | None = None,
        prefix: str = "",
    ) -> None:
        _validate(settings, dataset, search)
        self._settings = settings
        self._search = search
        self._way = Way(settings.verdict_form, settings.rationale_tokens, thinking, "" if thinking else prefix)
        s = settings
        self._query = Role("sage:query", ("query",), s.query_tokens)
        self._summary = Role("sage:summary", ("evidence", "sources"), s.summary_tokens)
        self._reflection = Role("sage:reflection", ("missing", "stance"), s.reflection_tokens)
        self._digest = Role(
            "sage:digest", ("evidence", "missing", "sources", "stance"), s.summary_tokens + s.reflection_tokens
        )

    def fingerprint(self) -> str:
        """Content hash of everything written in code that changes what is asked."""
        return content_hash([PROCEDURE, prompts.fingerprint()])

    def record_ids(self, item: GradedAnswer) -> tuple[str, ...]:
        """The ids of an item's records, in the order of its cells."""
        return tuple(content_hash([item.item_id, cell]) for cell in self._cells(item))

    async def prepare(self, items: Sequence[GradedAnswer], asker: Asker) -> None:
        """Nothing has to be known of other items."""

    async def judge(self, item: GradedAnswer, asker: Asker) -> tuple[Record, ...]:
        """One verdict a cell: with what the variant gathers, without evidence, and with the gold answers."""
        return tuple(await asyncio.gather(*(self._cell(cell, item, asker) for cell in self._cells(item))))

    def _cells(self, item: GradedAnswer) -> tuple[str, ...]:
        variant = self._settings.variant
        cells = ["judged"]
        if self._settings.beside_none and variant is not Variant.no_search:
            cells.append("none")
        if self._settings.beside_reference and item.answers and variant is not Variant.reference:
            cells.append("reference")
        return tuple(cells)

    async def _cell(self, cell: str, item: GradedAnswer, asker: Asker) -> Record:
        variant = self._settings.variant
        if cell == "none" or (cell == "judged" and variant is Variant.no_search):
            return self._record(cell, item, await self._decide(item, (), asker, "sage" if cell == "judged" else cell))
        if cell == "reference" or variant is Variant.reference:
            return await self._by_reference(cell, item, asker)
        if variant is Variant.oracle:
            return await self._by_context(item, asker)
        inquiry = _Inquiry(Speaker(asker, self._way))
        try:
            await self._inquire(item, inquiry)
        except RequestError as error:
            inquiry.failed = failure(error)
        if inquiry.failed is not None:
            return self._record(cell, item, Decision(inquiry.failed), inquiry)
        return self._record(cell, item, await self._decide(item, inquiry.memory, asker, "sage"), inquiry)

    async def _inquire(self, item: GradedAnswer, inquiry: _Inquiry) -> None:
        """The loop of the paper: query, search, summarise, reflect, remember. Raises RequestError."""
        settings = self._settings
        rounds = settings.iterations if settings.variant in LOOPS else 1
        for number in range(1, rounds + 1):
            query, repeated = await self._ask_query(item, inquiry)
            response = await self._ask_search(query, item)
            if not response.status.answered:
                detail = f"search {number} {response.status}: {response.detail or query}"
                inquiry.failed = Unscored(Reason.SEARCH_ERROR, detail)
                return
            step = Step(
                query=query,
                status=str(response.status),
                results=_shown(response, settings.snippet_chars),
                repeated=repeated,
                fetched_at=response.fetched_at,
                engine=response.engine,
            )
            if settings.variant is not Variant.single_pass:
                step = await self._digest_step(item, step, inquiry)
            inquiry.memory.append(step)
            settled = step.stance in ("supports", "contradicts") and normalise(step.missing) in _NOTHING
            if settings.early_stop and settled and number < rounds:
                inquiry.stopped, inquiry.saved = True, rounds - number
                return

    async def _ask_query(self, item: GradedAnswer, inquiry: _Inquiry) -> tuple[str, bool]:
        """The next query and whether it was asked before; one that was comes back once with the list of them."""
        settings = self._settings
        if settings.variant in (Variant.no_refinement, Variant.single_pass):
            return item.question, bool(inquiry.memory)
        candidate = item.candidate if settings.query_sees_candidate else None
        earlier = [step.query for step in inquiry.memory]
        user = prompts.query(item.question, inquiry.memory, candidate)
        document = await inquiry.speaker.ask(self._query, user, fact=item.question)
        query = _one_line(document["query"]) if document else item.question
        if not _asked(query, earlier):
            return query, False
        user = prompts.query(item.question, inquiry.memory, candidate, earlier)
        document = await inquiry.speaker.ask(self._query, user, step="again", fact=item.question)
        query = _one_line(document["query"]) if document else query
        return query, _asked(query, earlier)

    async def _ask_search(self, query: str, item: GradedAnswer) -> SearchResponse:
        assert self._search is not None
        hidden = (item.context,) if self._settings.leave_gold_out and item.context else ()
        return await self._search.query(SearchRequest(query, self._settings.k, hidden))

    async def _digest_step(self, item: GradedAnswer, step: Step, inquiry: _Inquiry) -> Step:
        """The step with its summary and, but for `no_reflection`, its reflection."""
        if step.status == Status.EMPTY:
            return replace(step, evidence=prompts.NO_RESULTS, stance=self._unsure())
        speaker, memory, results = inquiry.speaker, inquiry.memory, step.results
        if self._settings.merge_summary_reflection and self._settings.variant is not Variant.no_reflection:
            user = prompts.digest(item.question, memory, step.query, results, item.candidate)
            both = await speaker.ask(self._digest, user, len(results), fact=results[0].text)
            if both is None:
                return replace(step, evidence=prompts.UNREADABLE, stance="inconclusive")
            return replace(
                step,
                evidence=both["evidence"].strip(),
                sources=_sources(both["sources"], results),
                stance=both["stance"],
                missing=both["missing"].strip(),
            )
        user = prompts.summary(item.question, step.query, results)
        summary = await speaker.ask(self._summary, user, len(results), fact=results[0].text)
        if summary is None:
            return replace(step, evidence=prompts.UNREADABLE, stance=self._unsure())
        step = replace(step, evidence=summary["evidence"].strip(), sources=_sources(summary["sources"], results))
        if self._settings.variant is Variant.no_reflection:
            return step
        user = prompts.reflection(item.question, memory, step.query, step.evidence, item.candidate)
        reflection = await speaker.ask(self._reflection, user)
        if reflection is None:
            return replace(step, stance="inconclusive")
        return replace(step, stance=reflection["stance"], missing=reflection["missing"].strip())

    def _unsure(self) -> str:
        return "" if self._settings.variant is Variant.no_reflection else "inconclusive"

    async def _by_context(self, item: GradedAnswer, asker: Asker) -> Record:
        if not item.context:
            why = Unscored(Reason.NO_CANDIDATE, "the data set has no gold paragraph for this question")
            return self._record("judged", item, Decision(why))
        memory = (Step(item.question, "ok", (Evidence(1, "", item.context, ""),), engine="gold paragraph"),)
        decision = await self._decide(item, memory, asker, "sage")
        return self._record("judged", item, decision, memory=memory)

    async def _by_reference(self, cell: str, item: GradedAnswer, asker: Asker) -> Record:
        if not item.answers:
            why = Unscored(Reason.NO_CANDIDATE, "the data set has no gold answer to this question")
            return self._record(cell, item, Decision(why))
        form = self._settings.verdict_form
        messages = prompts.reference_verdict(item.question, item.answers, item.candidate, form)
        purpose = "sage:judge" if cell == "judged" else cell
        return self._record(cell, item, await decide(asker, messages, VERDICTS, self._way, purpose, _facts(item)))

    async def _decide(self, item: GradedAnswer, memory: Sequence[Step], asker: Asker, whose: str) -> Decision:
        messages = prompts.verdict(item.question, memory, item.candidate, self._settings.verdict_form)
        purpose = "sage:judge" if whose == "sage" else whose
        return await decide(asker, messages, VERDICTS, self._way, purpose, _facts(item))

    def _record(
        self,
        cell: str,
        item: GradedAnswer,
        decision: Decision,
        inquiry: _Inquiry | None = None,
        memory: Sequence[Step] = (),
    ) -> Record:
        verdict = decision.outcome if isinstance(decision.outcome, Verdict) else None
        calls: list[Call] = list(inquiry.speaker.calls) if inquiry else []
        steps = tuple(inquiry.memory) if inquiry else tuple(memory)
        extra: dict[str, float] = {}
        if inquiry:
            extra = {
                "iterations": float(len(steps)),
                "saved": float(inquiry.saved),
                "repairs": float(inquiry.speaker.repairs),
            }
        return Record(
            record_id=content_hash([item.item_id, cell]),
            item_id=item.item_id,
            cell=cell,
            verdict=verdict.label if verdict else None,
            subject=Trial(
                question=item.question,
                group=item.group,
                candidate=item.candidate,
                system=item.system,
                answers=item.answers,
                human=item.human,
                annotators=item.annotators,
                published=dict(item.published),
                steps=steps,
                stopped_early=bool(inquiry and inquiry.stopped),
            ),
            unscored=decision.outcome if isinstance(decision.outcome, Unscored) else None,
            probabilities=verdict.probabilities if verdict else None,
            calls=(*calls, *decision.calls),
            attempts=decision.attempts,
            extra=extra,
        )


def _facts(item: GradedAnswer) -> Facts:
    """What a scripted judge decides by: the gold answer, and the gold answer again where the candidate states one."""
    gold = item.answers[0] if item.answers else ""
    said = gold if gold and asserts(item.candidate, item.answers) else item.candidate
    return Facts(reference=gold, candidate=said, memory=gold)


def _shown(response: SearchResponse, characters: int) -> tuple[Evidence, ...]:
    return tuple(Evidence(k, r.title, _cut(r.text, characters), r.url) for k, r in enumerate(response.results, 1))


def _cut(text: str, characters: int) -> str:
    return text if len(text) <= characters else f"{text[: characters - 1].rstrip()}…"


def _sources(named: Sequence[int], results: Sequence[Evidence]) -> tuple[int, ...]:
    return tuple(sorted({int(number) for number in named} & {each.rank for each in results}))


def _one_line(query: str) -> str:
    return " ".join(query.split())


def _asked(query: str, earlier: Sequence[str]) -> bool:
    return normalise(query) in {normalise(each) for each in earlier}


def _validate(settings: SageConfig, dataset: Dataset[GradedAnswer], search: Search | None) -> None:
    counts: Mapping[str, int] = {
        name: getattr(settings, name)
        for name in ("iterations", "k", "snippet_chars", "query_tokens", "summary_tokens", "reflection_tokens")
    }
    for name, value in counts.items():
        least = 32 if name.endswith("_tokens") else 1
        if value < least:
            raise UsageError(f"protocol.{name}={value}: must be {least} or more")
    if settings.rationale_tokens < 1:
        raise UsageError(f"protocol.rationale_tokens={settings.rationale_tokens}: must be 1 or more")
    if settings.verdict_form is VerdictForm.auto:
        raise ValueError("verdict form auto must be resolved before a protocol is built")
    if settings.variant in SEARCHING and search is None:
        raise UsageError(f"protocol.variant={settings.variant} searches: choose where with search=NAME")
    if settings.variant is Variant.oracle and not any(item.context for item in dataset.items):
        raise UsageError(
            f"protocol.variant={settings.variant} needs gold paragraphs, but dataset {dataset.name} has none"
        )
    if settings.variant is Variant.reference and not any(item.answers for item in dataset.items):
        raise UsageError(f"protocol.variant={settings.variant} needs gold answers, but dataset {dataset.name} has none")
