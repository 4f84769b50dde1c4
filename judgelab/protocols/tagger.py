"""The entity type of an answer, asked of the judge itself where the data gives none.

Invariant: a type is one of the labels, whole, as the schema forces it; any failure is no type, never a guess.
"""

from __future__ import annotations

import json

from judgelab.data.entity import ENTITY_TYPES
from judgelab.engines.base import Asker, Schema
from judgelab.errors import RequestError
from judgelab.items import QAItem
from judgelab.protocols import prompts
from judgelab.protocols.verdicts import Turn, Way
from judgelab.records import canonical_json

# A choice needs labels of one token; an enum takes any.
TAG_SCHEMA = canonical_json({"enum": list(prompts.TAG_LABELS)})
_TAG_TOKENS = 16


async def tag(item: QAItem, asker: Asker, way: Way) -> str | None:
    """The type of an item's reference, None if it is no entity or could not be told. Raises EngineError alone."""
    turn = Turn(asker, prompts.tag(item.question, item.reference), "tag")
    turn.open_unthinking(way)
    try:
        answer = await turn.ask(Schema(TAG_SCHEMA), _TAG_TOKENS)
        label = json.loads(answer.completion.text)
    except (RequestError, ValueError):
        return None
    return label if label in ENTITY_TYPES else None
