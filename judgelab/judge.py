"""The judge: a model and how it is prompted, resolved to what an engine needs.

Invariant: everything here that changes an answer is part of the judge's identity, and nothing else is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from judgelab.settings import JudgeConfig


@dataclass(frozen=True)
class Thinking:
    """How a reasoning model thinks before its verdict: `open` starts the block, `stop` ends it, `close` is
    what stands between the block and the answer."""

    open: str = "<think>\n"
    stop: str = "</think>"
    close: str = "\n</think>\n\n"
    max_tokens: int = 2048


def thinking_of(settings: JudgeConfig) -> Thinking | None:
    """The thinking that a judge's settings ask for, if any."""
    return None if settings.thinking is None else Thinking(**asdict(settings.thinking))


@dataclass(frozen=True)
class Judge:
    """A judge whose weights lie at `path` (a local Hugging Face directory).

    `weights_id` names their content (hub revision or hash), `model` is where they came from (a hub id, a directory).
    `chat_template` overrides the tokenizer's own.
    `answer_prefix` is the text between the generation prompt and the verdict.
    """

    name: str
    path: Path
    weights_id: str
    dtype: str = "bfloat16"
    quantization: str | None = None
    max_model_len: int | None = None
    tensor_parallel: int = 1
    chat_template: str | None = None
    template_kwargs: Mapping[str, Any] = field(default_factory=dict)
    answer_prefix: str = ""
    thinking: Thinking | None = None
    trust_remote_code: bool = False
    model: str = ""

    def is_served_as(self, *names: str) -> bool:
        """Whether a server that calls its model so may hold these weights: by our name, the hub id, or the directory,
        which has another parent on another machine and is `models--OWNER--NAME` in a hub's cache."""
        ours = {self.name, self.model, str(self.path), self.path.name, self.model.rpartition("/")[2]} - {""}
        cached = f"models--{self.model.replace('/', '--')}"
        for name in names:
            parts = name.rstrip("/").split("/")
            if name in ours or parts[-1] in ours or (self.model and cached in parts):
                return True
        return False

    def identity(self) -> dict[str, Any]:
        """What of the judge changes its answers, as plain JSON values."""
        return {
            "weights": self.weights_id,
            "dtype": self.dtype,
            "quantization": self.quantization,
            "chat_template": self.chat_template,
            "template_kwargs": dict(self.template_kwargs),
            "answer_prefix": self.answer_prefix,
        }
