"""Judges for engine tests: the embedded one, and made-up tokenizers that need no weights."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil
import pytest

from judgelab.judge import Judge

CHATML = (
    "{% for m in messages %}<|s|>{{ m.role }}\n{{ m.content }}<|e|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|s|>assistant\n{% endif %}"
)
MakeJudge = Callable[..., Judge]


@pytest.fixture(scope="session")
def embedded_judge() -> Judge:
    """The default judge, fetched if this machine does not have it yet."""
    from judgelab import weights
    from judgelab.config import preset

    settings = preset("judge", "smollm2-135m")
    weights.fetch(settings, print)
    return weights.resolve(settings)


@pytest.fixture
def make_judge(tmp_path: Path) -> MakeJudge:
    """Makes a judge with a byte-level tokenizer (no weights): `merges` are the only multi-byte tokens."""

    def make(
        template: str | None = CHATML,
        merges: Sequence[tuple[str, str]] = (),
        metaspace: bool = False,
        config: Mapping[str, Any] | None = None,
        **fields: Any,
    ) -> Judge:
        from tokenizers import Tokenizer, decoders, models, pre_tokenizers
        from transformers import PreTrainedTokenizerFast

        alphabet = sorted(pre_tokenizers.ByteLevel.alphabet()) + ["▁"] * metaspace
        pieces = dict.fromkeys([*alphabet, *(a + b for a, b in merges)])
        tokenizer = Tokenizer(models.BPE(vocab={p: i for i, p in enumerate(pieces)}, merges=list(merges)))
        if metaspace:
            tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
            tokenizer.decoder = decoders.Metaspace(prepend_scheme="always")
        else:
            tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
            tokenizer.decoder = decoders.ByteLevel()
        fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|e|>")
        fast.add_special_tokens({"additional_special_tokens": ["<|s|>"]})
        fast.chat_template = template
        path = tmp_path / "made-up"
        fast.save_pretrained(path)
        if config is not None:
            (path / "config.json").write_text(json.dumps(config))
        return Judge("made-up", path, "none", **fields)

    return make


def gone(pid: int) -> bool:
    """No such process, or nothing left of it but its exit status."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


@pytest.fixture(scope="session")
def all_gone() -> Callable[..., bool]:
    """Whether all these processes are gone, or are within `seconds`."""

    def check(pids: Iterable[int], seconds: float = 0.0) -> bool:
        pids = list(pids)
        end = time.monotonic() + seconds
        while not all(gone(pid) for pid in pids):
            if time.monotonic() > end:
                return False
            time.sleep(0.05)
        return True

    return check
