"""The dataclasses that `conf/` fills: every knob of a run, its type, its default and what it may change.

Invariant: each field is scientific (it may change a record, so it enters the run's hash), analysis (it changes
only what is computed from records) or operational (it changes neither).
"""

from judgelab.settings.dataset import DatasetConfig
from judgelab.settings.engine import (
    AutoConfig,
    EngineConfig,
    ScriptedConfig,
    ServerConfig,
    TransformersConfig,
    VllmConfig,
)
from judgelab.settings.judge import JudgeConfig, ThinkingConfig
from judgelab.settings.nuggets import (
    BothBad,
    ChunkPool,
    Creator,
    Criterion,
    Fallback,
    NuggetsConfig,
    NuggetSource,
    PageMode,
    Retriever,
    Score,
    check_analysis,
)
from judgelab.settings.protocol import ProtocolConfig, VerdictForm
from judgelab.settings.roles import analysis, analysis_defaults, analysis_of, operational, scientific
from judgelab.settings.run import AnalysisConfig, Config
from judgelab.settings.sage import SageConfig, Truth, Variant
from judgelab.settings.search import SearchConfig, SearchMode
from judgelab.settings.swapped import CandidateSource, Condition, NotAttempted, Swap, SwappedConfig, TypeSource

__all__ = [
    "AnalysisConfig",
    "AutoConfig",
    "BothBad",
    "CandidateSource",
    "ChunkPool",
    "Condition",
    "Config",
    "Creator",
    "Criterion",
    "DatasetConfig",
    "EngineConfig",
    "Fallback",
    "JudgeConfig",
    "NotAttempted",
    "NuggetSource",
    "NuggetsConfig",
    "PageMode",
    "ProtocolConfig",
    "Retriever",
    "SageConfig",
    "Score",
    "ScriptedConfig",
    "SearchConfig",
    "SearchMode",
    "ServerConfig",
    "Swap",
    "SwappedConfig",
    "ThinkingConfig",
    "TransformersConfig",
    "Truth",
    "TypeSource",
    "Variant",
    "VerdictForm",
    "VllmConfig",
    "analysis",
    "analysis_defaults",
    "analysis_of",
    "check_analysis",
    "operational",
    "scientific",
]
