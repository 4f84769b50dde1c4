"""The closed set of entity types, so that every file, tagger and report spells them alike.

Invariant: a type is one of the 18 OntoNotes labels, matched exactly; anything else is a bad row, never a guess.
"""

from __future__ import annotations

ENTITY_TYPES = (
    "PERSON",
    "NORP",
    "FAC",
    "ORG",
    "GPE",
    "LOC",
    "PRODUCT",
    "EVENT",
    "WORK_OF_ART",
    "LAW",
    "LANGUAGE",
    "DATE",
    "TIME",
    "PERCENT",
    "MONEY",
    "QUANTITY",
    "ORDINAL",
    "CARDINAL",
)
NOT_AN_ENTITY = "NAN"  # what taggers answer for an answer that names no entity
FRESHNESS = ("never", "slow", "fast")  # how soon an answer goes stale
