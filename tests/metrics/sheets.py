"""Records of nuggets runs as a protocol leaves them, made by rules instead of a judge."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from judgelab.records import Record
from judgelab.subjects import Duel, Nugget, Profile, Sheet

SYSTEMS = ("s1", "s2", "s3", "s4")
VOTES = ("model_a", "tie", "model_b", "tie (bothbad)")


def battle(k: int, vote: str | None, rng: np.random.Generator, group: str | None = None) -> list[Record]:
    """All four records of a battle. The answer with the vote tends to hold more nuggets, and to be the judge's."""
    item, group = f"i{k:04d}", group or f"g{k:04d}"
    systems = tuple(str(name) for name in rng.choice(SYSTEMS, 2, replace=False))
    answers = tuple("w " * int(rng.integers(0, 40)) for _ in range(2))
    lean = {"model_a": (0.7, 0.3), "model_b": (0.3, 0.7)}.get(vote or "", (0.5, 0.5))
    nuggets = tuple(
        Nugget(
            f"fact {n}",
            "vital" if n % 2 else "okay",
            tuple("support" if rng.random() < p else str(rng.choice(["partial_support", "not_support"])) for p in lean),
        )
        for n in range(int(rng.integers(2, 9)))
    )
    head = {"question": f"question {group}", "group": group, "systems": systems, "answers": answers}
    language = "English" if k % 3 else "German"
    sheet = Sheet(**head, nuggets=nuggets, source="responses", vote=vote, language=language)  # type: ignore[arg-type]
    verdict = vote if vote in VOTES[:3] and rng.random() < 0.6 else str(rng.choice(VOTES[:3]))
    duels = [
        Record(f"{item}-{cell}", item, cell, verdict, Duel(**head, first=cell[0], vote=vote, language=language))  # type: ignore[arg-type]
        for cell in ("ab", "ba")
    ]
    ratings = {"knowledge_intensive": int(rng.integers(4, 11)), "subjective": int(rng.integers(0, 11))}
    profile = Profile(head["question"], group, ratings, language)  # type: ignore[arg-type]
    return [
        Record(f"{item}-n", item, "nuggets", "assigned", sheet),
        *duels,
        Record(f"{item}-q", item, "query", "rated", profile),
    ]


def battles_of(votes: Sequence[str | None], seed: int = 0, group: str | None = None) -> list[Record]:
    """One battle a vote, all of one group if it is given."""
    rng = np.random.default_rng(seed)
    return [record for k, vote in enumerate(votes) for record in battle(k, vote, rng, group)]


def answer(topic: str, system: str, labels: Sequence[str], people: Sequence[str], text: str = "water boils") -> Record:
    """A plain answer with the judge's labels beside people's; all nuggets vital, in people's eyes the even ones."""
    nuggets = tuple(
        Nugget("water boils", "vital", (label,), "okay" if n % 2 else "vital", (human,))
        for n, (label, human) in enumerate(zip(labels, people, strict=True))
    )
    sheet = Sheet("when", topic, (system,), (text,), nuggets, "given")
    item = f"{topic}:{system}"
    return Record(item, item, "nuggets", "assigned", sheet)
