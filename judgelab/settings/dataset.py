"""Which data to judge.

Invariant: paths are operational: the hash of the content is what counts.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from judgelab.settings.roles import operational


@dataclass
class DatasetConfig:
    """A file of published format. `path` is absolute, or relative to $JUDGELAB_DATA, or to the working folder."""

    name: str = "???"
    format: str = "???"
    path: str | None = operational(None)  # file or folder; the content's hash is what counts
    persons: str | None = operational(None)  # pool of persons for popularity swaps
    corpus: list[str] = field(default_factory=list, metadata={"role": "operational"})  # texts to search, for sage
    dimension: str | None = operational(None)  # which of several votes or labels of one file
    predictions: str | None = operational(None)  # systems' answers to a set that holds questions alone
