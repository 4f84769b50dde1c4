"""One run: all groups together, and what is of none of them.

Invariant: only scientific fields of the groups, `limit` and `seed` name a run.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from judgelab.settings.dataset import DatasetConfig
from judgelab.settings.engine import AutoConfig, EngineConfig
from judgelab.settings.judge import JudgeConfig
from judgelab.settings.protocol import ProtocolConfig
from judgelab.settings.roles import operational
from judgelab.settings.search import SearchConfig
from judgelab.settings.swapped import NotAttempted, SwappedConfig


@dataclass
class AnalysisConfig:
    """How figures are computed from records. Changing it makes no call."""

    level: float = 0.95
    resamples: int = 10_000
    not_attempted: NotAttempted = NotAttempted.error
    min_type: int = 15  # entity types with fewer items are pooled as OTHER


@dataclass
class Config:
    """One run."""

    protocol: ProtocolConfig = field(default_factory=SwappedConfig)
    dataset: DatasetConfig = field(default_factory=DatasetConfig)
    judge: JudgeConfig = field(default_factory=JudgeConfig)
    engine: EngineConfig = field(default_factory=AutoConfig)
    search: SearchConfig = field(default_factory=SearchConfig)  # for protocols that search
    analysis: AnalysisConfig = field(default_factory=AnalysisConfig, metadata={"role": "analysis"})
    limit: int | None = None  # first so many items of the seeded order
    seed: int = 0
    runs_dir: str = operational("runs")
    cache_dir: str | None = operational(None)  # default: <runs_dir>/.cache
    in_flight: int = operational(64)  # calls at once
    shard: str | None = operational(None)  # "k/n": this process takes part k of n
    retry_failed: bool = operational(False)
    max_unscored: float = operational(0.05)  # a run with a larger unscored share fails loudly
