"""Webis CrowdRAG-25: pairs of answers to TREC RAG topics, each voted on by five people in seven dimensions.

Invariant: a battle's group is its topic, so that a pair shown in both orders (377 of the published ones) is never
parted by a fold or a resample.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from judgelab.data.files import read_jsonl
from judgelab.data.rows import BadFieldError, Loaded, Row, collect
from judgelab.errors import UsageError
from judgelab.items import NuggetItem, Page, Response, Vote

DIMENSIONS = (
    "coverage_broad",
    "coverage_deep",
    "correctness_topical",
    "coherence_logical",
    "coherence_stylistic",
    "consistency_internal",
    "quality_overall",
)
_LABELS = {"model_a": Vote.MODEL_A, "model_b": Vote.MODEL_B, "tie": Vote.TIE}
_LETTERS = {"A": Vote.MODEL_A, "B": Vote.MODEL_B, "N": Vote.TIE}


def load_crowdrag25(folder: Path, dimension: str | None = None) -> Loaded[NuggetItem]:
    """The battles of a folder with `battles_derived.jsonl`, `responses_text.jsonl` and `study1_retrieval.jsonl.gz`.

    `dimension` is one of DIMENSIONS, by default `coverage_broad`, which has ties (`quality_overall` has none).
    `vote` is the label that the publishers aggregated from the five votes, weighted by how far each voter is to be
    trusted; `votes` counts the votes themselves. Pages are the topic's 20 retrieved passages, repeats left out. A
    system is named by who wrote and in what style.
    """
    chosen = dimension or DIMENSIONS[0]
    if chosen not in DIMENSIONS:
        raise UsageError(f"dataset.dimension={chosen}: one of {', '.join(DIMENSIONS)}")
    responses = _responses(folder / "responses_text.jsonl")
    pages = _passages(folder / "study1_retrieval.jsonl.gz")

    def item(row: Row) -> NuggetItem:
        return _item(row, chosen, responses, pages)

    path = folder / "battles_derived.jsonl"
    return collect(path, read_jsonl(path), item, lambda _, battle: battle.item_id)


def _item(
    row: Row, dimension: str, responses: Mapping[str, Response], pages: Mapping[str, tuple[Page, ...]]
) -> NuggetItem:
    topic = row.text("topic")
    letters = row.child("votes").text(dimension)
    strange = next((letter for letter in letters if letter not in _LETTERS), None)
    if strange is not None:
        raise BadFieldError(f"votes.{dimension}", f"{strange!r} is none of {', '.join(_LETTERS)}")
    return NuggetItem(
        row.text("battle_id"),
        row.text("prompt"),
        topic,
        tuple(_known(row, f"response_{side}", responses) for side in ("a", "b")),
        row.child("dims").choice(dimension, _LABELS),
        {vote.value: n for vote, n in sorted(Counter(_LETTERS[letter] for letter in letters).items())},
        pages=pages.get(topic, ()),
    )


def _known(row: Row, field: str, responses: Mapping[str, Response]) -> Response:
    identity = row.text(field)
    if identity not in responses:
        raise BadFieldError(field, f"no text of {identity!r} in responses_text.jsonl")
    return responses[identity]


def _responses(path: Path) -> Mapping[str, Response]:
    def parse(row: Row) -> tuple[str, Response]:
        return row.text("response"), Response(f"{row.text('kind')}-{row.text('style')}", row.reply("raw_text"))

    return dict(collect(path, read_jsonl(path), parse, lambda _, pair: pair[0]).values)


def _passages(path: Path) -> Mapping[str, tuple[Page, ...]]:
    def parse(row: Row) -> tuple[str, tuple[Page, ...]]:
        return row.text("topic"), tuple(Page(text=text) for text in row.texts("references_texts"))

    return dict(collect(path, read_jsonl(path), parse, lambda _, pair: pair[0]).values)
