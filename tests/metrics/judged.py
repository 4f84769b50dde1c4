"""Frames as a run leaves them, built from a rule instead of a judge."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pandas as pd

CELLS = ("oo", "os", "so", "ss")
A, B, C = "CORRECT", "INCORRECT", "NOT_ATTEMPTED"

RULES: dict[str, dict[str, str]] = {
    "follows_reference": {"oo": A, "os": B, "so": B, "ss": A},
    "believes_memory": {"oo": A, "os": B, "so": A, "ss": B},
    "always_a": dict.fromkeys(CELLS, A),
    "always_b": dict.fromkeys(CELLS, B),
}


def row(item: str, cell: str, verdict: str | None, **other: object) -> dict[str, object]:
    reason = None if verdict in (A, B, C) else verdict
    return {
        "record_id": f"{item}-{cell}",
        "item_id": item,
        "cell": cell,
        "truth": A if cell[0] == cell[1] else B,
        "verdict": None if reason else verdict,
        "reason": reason,
        "p_correct": float("nan"),
        "entity_type": "PERSON",
        "popularity": float("nan"),
        "swapped_popularity": float("nan"),
        "label_mass": float("nan"),
        "known": float("nan"),
        "freshness": None,
        "candidate_source": "template",
        "flags": "",
        "flagged": False,
        **other,
    }


def frame(rows: Iterable[dict[str, object]]) -> pd.DataFrame:
    table = pd.DataFrame(list(rows), columns=list(row("", "oo", A)))
    for column in ("verdict", "reason", "entity_type", "freshness"):
        table[column] = table[column].astype(object).where(table[column].notna(), None)
    table["flagged"] = table.groupby("item_id")["flags"].transform(lambda f: (f != "").any()).astype(bool)
    return table


def follow(rule: Callable[[int, str], str | None], items: int, **other: object) -> pd.DataFrame:
    """A frame in which `rule(item number, cell)` gives the verdict, or the reason for having none."""
    return frame(row(f"q{i:05d}", cell, rule(i, cell), **other) for i in range(items) for cell in CELLS)


def fake(name: str, items: int) -> pd.DataFrame:
    return follow(lambda _, cell: RULES[name][cell], items)
