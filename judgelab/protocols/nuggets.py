"""AutoNuggetizer (arXiv 2504.20006): facts that a good answer holds, and which of them each answer does hold.

Invariant: labels come from closed sets with the exact length of their window; a window that fails is a `failed` label
with a line that says why, never a zero in disguise.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, Protocol

from judgelab.data.dataset import Dataset
from judgelab.engines.base import Asker, Choice, Facts
from judgelab.errors import UsageError
from judgelab.items import NuggetItem
from judgelab.judge import Thinking
from judgelab.protocols import nugget_prompts as prompts
from judgelab.protocols.creator import Nuggets as Made
from judgelab.protocols.creator import create
from judgelab.protocols.documents import ask_document
from judgelab.protocols.labels import Labels, label
from judgelab.protocols.verdicts import Way, decide
from judgelab.records import Call, Reason, Record, Unscored, Verdict, content_hash
from judgelab.settings import Fallback, NuggetsConfig, NuggetSource, VerdictForm
from judgelab.subjects import Duel, Nugget, Profile, Sheet, Subject

PROCEDURE = 1  # raise it when windows, order or tries change
IMPORTANCE = ("vital", "okay")
SUPPORT = ("support", "partial_support", "not_support")
SIDES = Choice(("A", "B", "C"), ("first", "second", "tie"))


@dataclass(frozen=True)
class Shelf:
    """The chunks found for an item, best first, and how many of its pages were used, too short, not fetched, ..."""

    chunks: tuple[str, ...]
    pages: Mapping[str, int]


class Library(Protocol):
    """Where the chunks of an item's pages come from."""

    @property
    def identity(self) -> tuple[str, ...]:
        """Whatever beside the settings decides which chunks are found."""
        ...

    async def chunks(self, item: NuggetItem) -> Shelf:
        """The best chunks for the item's question."""
        ...


class Nuggets:
    """The protocol on one data set. `library` finds chunks of pages; `prefix` is the judge's `answer_prefix`.

    Raises UsageError for settings that contradict each other or the data.
    """

    def __init__(
        self,
        settings: NuggetsConfig,
        dataset: Dataset[NuggetItem],
        seed: int,
        library: Library,
        thinking: Thinking | None = None,
        prefix: str = "",
    ) -> None:
        _validate(settings, dataset)
        self._settings = settings
        self._seed = seed
        self._library = library
        self._way = Way(settings.verdict_form, settings.rationale_tokens, thinking, "" if thinking else prefix)
        self._grades = SUPPORT if settings.grades == 3 else (SUPPORT[0], SUPPORT[2])

    def fingerprint(self) -> str:
        """Content hash of everything beside the settings that changes what is asked."""
        return content_hash([PROCEDURE, prompts.fingerprint(), *self._library.identity])

    def record_ids(self, item: NuggetItem) -> tuple[str, ...]:
        """The ids of an item's records, in the order of its cells."""
        return tuple(content_hash([item.item_id, cell]) for cell in self._cells(item))

    async def prepare(self, items: Sequence[NuggetItem], asker: Asker) -> None:
        """Nothing has to be known of other items."""

    async def judge(self, item: NuggetItem, asker: Asker) -> tuple[Record, ...]:
        """The nugget sheet of an item; for a battle also the pairwise judge in both orders, and the query's ratings."""
        work = {
            "nuggets": lambda: self._sheet(item, asker),
            "ab": lambda: self._duel("ab", item, asker),
            "ba": lambda: self._duel("ba", item, asker),
            "query": lambda: self._profile(item, asker),
        }
        return tuple(await asyncio.gather(*(work[cell]() for cell in self._cells(item))))

    def _cells(self, item: NuggetItem) -> tuple[str, ...]:
        battle = len(item.responses) == 2
        pairwise = ("ab", "ba") if battle and self._settings.pairwise else ()
        classes = ("query",) if battle and self._settings.classes else ()
        return ("nuggets", *pairwise, *classes)

    async def _sheet(self, item: NuggetItem, asker: Asker) -> Record:
        settings, source = self._settings, self._settings.source
        shelf = Shelf((), {})
        if source in (NuggetSource.pages, NuggetSource.both):
            shelf = await self._library.chunks(item)
            if not shelf.chunks:
                if source is NuggetSource.pages and settings.fallback is Fallback.skip:
                    why = Unscored(Reason.NO_PAGES, "no page of this battle could be used (knob: protocol.fallback)")
                    return self._record("nuggets", item, self._empty(item, str(source), shelf), why)
                source = NuggetSource.responses
        if source is NuggetSource.given:
            made = Made([nugget.text for nugget in item.nuggets])
        else:
            documents = self._documents(item, source, shelf)
            facts = [_first_sentence(text) for text in documents]
            made = await create(item.question, documents, facts, settings, asker, self._way)
        if not made.texts:
            why = made.failure or Unscored(Reason.NO_NUGGETS, "there is no nugget")
            return self._record("nuggets", item, self._empty(item, str(source), shelf, made), why, made.calls)
        importance = await label(
            made.texts,
            lambda part: prompts.importance(item.question, part),
            IMPORTANCE,
            "importance",
            item.question,
            asker,
            self._way,
            settings,
        )
        order = list(range(len(made.texts)))
        if settings.vital_first and source is not NuggetSource.given:
            order.sort(key=lambda k: importance.labels[k] != "vital")
        if settings.keep_top is not None and source is not NuggetSource.given:
            order = order[: settings.keep_top]
        texts = [made.texts[k] for k in order]
        assigned = await asyncio.gather(
            *(self._assign(item, response.text, texts, asker) for response in item.responses)
        )
        sheet = replace(
            self._empty(item, str(source), shelf, made),
            nuggets=tuple(
                self._nugget(item, made.texts[k], importance.labels[k], [each.labels[n] for each in assigned], k)
                for n, k in enumerate(order)
            ),
            failures=(*importance.failures, *(line for each in assigned for line in each.failures)),
        )
        calls = [*made.calls, *importance.calls, *(call for each in assigned for call in each.calls)]
        tries = max([importance.tries, *(each.tries for each in assigned)])
        return self._record("nuggets", item, sheet, "assigned", calls, attempts=tries)

    def _documents(self, item: NuggetItem, source: NuggetSource, shelf: Shelf) -> list[str]:
        answers = [response.text for response in item.responses if response.text.strip()]
        # Which answer the creator reads first must not depend on which side it stands on.
        random.Random(sha256(f"{self._seed}:{item.item_id}".encode()).digest()).shuffle(answers)
        if source is NuggetSource.responses:
            return answers
        return [*shelf.chunks] if source is NuggetSource.pages else [*answers, *shelf.chunks]

    async def _assign(self, item: NuggetItem, text: str, nuggets: Sequence[str], asker: Asker) -> Labels:
        if not text.strip():
            return Labels(("not_support",) * len(nuggets), (), (), 1)
        grades = self._settings.grades
        return await label(
            nuggets,
            lambda part: prompts.assignment(item.question, text, part, grades),
            self._grades,
            "assign",
            text,
            asker,
            self._way,
            self._settings,
        )

    def _nugget(self, item: NuggetItem, text: str, importance: str, labels: Sequence[str], given: int) -> Nugget:
        if self._settings.source is not NuggetSource.given:
            return Nugget(text, importance, tuple(labels))
        human = tuple(response.labels[given] for response in item.responses if response.labels)
        return Nugget(text, importance, tuple(labels), item.nuggets[given].importance, human)

    def _empty(self, item: NuggetItem, source: str, shelf: Shelf, made: Made | None = None) -> Sheet:
        return Sheet(
            question=item.question,
            group=item.group,
            systems=tuple(response.system for response in item.responses),
            answers=tuple(response.text for response in item.responses),
            nuggets=(),
            source=source,
            vote=str(item.vote) if item.vote else None,
            votes=dict(item.votes) or None,
            language=item.language,
            windows=tuple(made.windows) if made else (),
            removed=tuple(made.removed) if made else (),
            pages=dict(shelf.pages) or None,
        )

    async def _duel(self, cell: str, item: NuggetItem, asker: Asker) -> Record:
        a, b = (response.text for response in item.responses)
        first, second = (a, b) if cell == "ab" else (b, a)
        messages = prompts.compare(item.question, first, second, self._settings.verdict_form)
        facts = Facts(reference=first, candidate=first if len(first) >= len(second) else second, memory=first)
        decision = await decide(asker, messages, SIDES, self._way, "pairwise", facts)
        sides = {"first": f"model_{cell[0]}", "second": f"model_{cell[1]}", "tie": "tie"}
        duel = Duel(
            question=item.question,
            group=item.group,
            systems=tuple(response.system for response in item.responses),
            answers=(a, b),
            first=cell[0],
            vote=str(item.vote) if item.vote else None,
            language=item.language,
        )
        outcome = decision.outcome
        if isinstance(outcome, Unscored):
            return self._record(cell, item, duel, outcome, decision.calls, attempts=decision.attempts)
        p = {sides[name]: value for name, value in (outcome.probabilities or {}).items()} or None
        verdict = Verdict(sides[outcome.label], p)
        return self._record(cell, item, duel, verdict, decision.calls, attempts=decision.attempts)

    async def _profile(self, item: NuggetItem, asker: Asker) -> Record:
        names = prompts.ATTRIBUTES
        schema = {
            "type": "object",
            "properties": {name: {"type": "integer", "minimum": 0, "maximum": 10} for name in names},
            "required": list(names),
            "additionalProperties": False,
        }

        def check(document: Any) -> dict[str, int]:
            if not isinstance(document, dict) or set(document) != set(names):
                raise ValueError("it was not an object with the eight attributes")
            if not all(isinstance(each, int) and 0 <= each <= 10 for each in document.values()):
                raise ValueError("a rating was not a whole number from 0 to 10")
            return dict(document)

        document = await ask_document(
            asker,
            self._way,
            prompts.rate(item.question),
            schema,
            160,
            "classes",
            check,
            Facts(candidate=item.question),
            self._settings.tries,
        )
        profile = Profile(item.question, item.group, document.value or {}, item.language)
        outcome: Unscored | str = document.failure or "rated"
        return self._record("query", item, profile, outcome, document.calls, attempts=document.tries)

    def _record(
        self,
        cell: str,
        item: NuggetItem,
        subject: Subject,
        outcome: Verdict | Unscored | str,
        calls: Sequence[Call] = (),
        attempts: int = 1,
    ) -> Record:
        verdict = outcome if isinstance(outcome, str) else outcome.label if isinstance(outcome, Verdict) else None
        return Record(
            record_id=content_hash([item.item_id, cell]),
            item_id=item.item_id,
            cell=cell,
            verdict=verdict,
            subject=subject,
            unscored=outcome if isinstance(outcome, Unscored) else None,
            probabilities=outcome.probabilities if isinstance(outcome, Verdict) else None,
            calls=tuple(calls),
            attempts=attempts,
        )


def _first_sentence(text: str) -> str:
    """What a scripted creator takes for the nugget of a text."""
    line = " ".join(text[:600].split())
    return line.split(". ")[0][:160] or "nothing"


def _validate(settings: NuggetsConfig, dataset: Dataset[NuggetItem]) -> None:
    for name in ("max_nuggets", "window", "tries", "chunks", "chunk_sentences"):
        if (value := getattr(settings, name)) < 1:
            raise UsageError(f"protocol.{name}={value}: must be 1 or more")
    if settings.keep_top is not None and settings.keep_top < 1:
        raise UsageError(f"protocol.keep_top={settings.keep_top}: must be 1 or more, or null for all")
    if not 0 <= settings.chunk_overlap < settings.chunk_sentences:
        raise UsageError(
            f"protocol.chunk_overlap={settings.chunk_overlap}: must be 0 or more and below "
            f"protocol.chunk_sentences={settings.chunk_sentences}"
        )
    if settings.grades not in (2, 3):
        raise UsageError(f"protocol.grades={settings.grades}: 2 (support or not) or 3 (with partial_support)")
    if settings.creator_tokens < 64:
        raise UsageError(f"protocol.creator_tokens={settings.creator_tokens}: must be 64 or more")
    if settings.verdict_form is VerdictForm.auto:
        raise ValueError("verdict form auto must be resolved before a protocol is built")
    if settings.source is NuggetSource.given and not all(item.nuggets for item in dataset.items):
        raise UsageError(
            f"protocol.source=given takes people's nuggets, but dataset {dataset.name} has items without any: "
            "choose responses, pages or both"
        )
    if settings.source is NuggetSource.pages and not any(item.pages for item in dataset.items):
        raise UsageError(
            f"protocol.source=pages needs pages, but dataset {dataset.name} has none: choose protocol.source=responses"
        )
