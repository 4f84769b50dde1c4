"""Knobs of the nuggets protocol.

Invariant: what only changes figures (score, threshold, folds) is declared analysis, so that sweeping it makes no call.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from judgelab.errors import UsageError
from judgelab.settings.protocol import ProtocolConfig, VerdictForm
from judgelab.settings.roles import analysis, operational


class NuggetSource(StrEnum):
    """What nuggets are made from: the answers judged, pages that were retrieved, both, or people's own lists."""

    responses = "responses"
    pages = "pages"
    both = "both"
    given = "given"


class Fallback(StrEnum):
    """What becomes of an item none of whose pages can be used."""

    responses = "responses"
    skip = "skip"


class Creator(StrEnum):
    """What a window of the creator does to the list: rewrite it (its reply is the new list), or append to it."""

    rewrite = "rewrite"
    append = "append"


class Retriever(StrEnum):
    """How chunks of pages are ranked for a question."""

    bm25 = "bm25"
    embedding = "embedding"


class ChunkPool(StrEnum):
    """Whose pages are searched: the item's own, or those of the whole set."""

    own = "own"
    all = "all"


class PageMode(StrEnum):
    """Whether pages may be fetched, or must have been fetched before."""

    fetch = "fetch"
    cached = "cached"


class Score(StrEnum):
    """The six nugget scores."""

    all = "all"
    all_strict = "all_strict"
    vital = "vital"
    vital_strict = "vital_strict"
    weighted = "weighted"
    weighted_strict = "weighted_strict"


class Criterion(StrEnum):
    """What a tie threshold is chosen by: the human ties split in the most equal shares, agreement, or kappa."""

    equal_shares = "equal_shares"
    agreement = "agreement"
    kappa = "kappa"


class BothBad(StrEnum):
    """How a vote "both are bad" counts: as a tie, not at all, or as a class of its own that no prediction meets."""

    tie = "tie"
    dropped = "dropped"
    separate = "separate"


@dataclass
class NuggetsConfig(ProtocolConfig):
    """Nuggets: does the recall of facts explain which answer people preferred?"""

    name: str = "nuggets"
    source: NuggetSource = NuggetSource.both
    fallback: Fallback = Fallback.responses
    creator: Creator = Creator.rewrite
    max_nuggets: int = 30
    keep_top: int | None = 30  # after the sort by importance
    vital_first: bool = True
    grades: int = 3  # 3: support, partial_support, not_support; 2: without partial_support
    window: int = 10  # texts a creator call sees, nuggets an importance or assignment call labels
    tries: int = 3  # at a window whose reply cannot be used
    creator_tokens: int = 1024
    chunks: int = 50  # retrieved chunks that the creator sees
    chunk_sentences: int = 10
    chunk_overlap: int = 2
    retriever: Retriever = Retriever.bm25
    embedder: str | None = operational(None)  # folder of a sentence embedder; its content is in the protocol's hash
    pool: ChunkPool = ChunkPool.own
    pages: PageMode = operational(PageMode.fetch)
    pairwise: bool = True  # judge each battle in both orders as well
    classes: bool = True  # rate each question on the eight attributes of query classes
    verdict_form: VerdictForm = VerdictForm.rationale_then_label  # of the pairwise judge
    rationale_tokens: int = 256
    score: Score = analysis(Score.all)
    tie_threshold: float | None = analysis(None)  # null: chosen on held-out folds
    criterion: Criterion = analysis(Criterion.equal_shares)
    bothbad: BothBad = analysis(BothBad.tie)
    folds: int = analysis(5)
    class_min: int = analysis(7)  # a question is of its highest attributes' classes from this rating on


def check_analysis(settings: NuggetsConfig) -> None:
    """Raise UsageError for settings of the analysis that mean nothing."""
    if settings.folds < 2:
        raise UsageError(f"protocol.folds={settings.folds}: must be 2 or more")
    if settings.tie_threshold is not None and not 0 <= settings.tie_threshold <= 1:
        raise UsageError(f"protocol.tie_threshold={settings.tie_threshold}: must be from 0 to 1, or null to choose it")
    if not 0 <= settings.class_min <= 10:
        raise UsageError(f"protocol.class_min={settings.class_min}: must be from 0 to 10")
