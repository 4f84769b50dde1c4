"""Knobs of the search.

Invariant: no field ever holds a key or another secret.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from judgelab.settings.roles import operational


class SearchMode(StrEnum):
    """`live` asks and keeps nothing, `record` asks and keeps, `replay` never asks, `replay_or_live` asks what is not
    kept."""

    live = "live"
    record = "record"
    replay = "replay"
    replay_or_live = "replay_or_live"


@dataclass
class SearchConfig:
    """Where evidence comes from. Keys of paid engines are read from the environment alone (SERPER_API_KEY,
    BRAVE_API_KEY, TAVILY_API_KEY)."""

    engine: str = "bm25"  # bm25, duckduckgo, serper, brave, tavily, searxng, recorded
    mode: SearchMode = operational(SearchMode.replay_or_live)
    recorded: str | None = None  # engine=recorded: which engine's evidence, where the store holds several
    corpus: list[str] = field(default_factory=list, metadata={"role": "operational"})  # default: the dataset's
    backend: str = "duckduckgo"  # of ddgs, pinned
    region: str = "us-en"
    timelimit: str | None = None  # d, w, m, y
    url: str | None = None  # of a SearXNG server
    read_pages: bool = False  # fetch the pages found and give their best passage instead of the snippet
    rate: float = operational(1.0)  # requests a second
    budget: int | None = operational(None)  # requests a launch
    tries: int = operational(4)
    timeout: float = operational(10.0)  # seconds
