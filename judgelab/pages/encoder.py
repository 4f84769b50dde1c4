"""Texts as vectors: mean-pooled states of a transformers model in a local directory.

Invariant: a model is loaded once, however many page sets are ranked, and one batch runs at a time, for tokenizers
keep padding state that threads must not share.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from judgelab.errors import JudgelabError, UsageError
from judgelab.weights import fingerprint
from judgelab.weights.home import home

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_LENGTH = 256  # tokens read of a text
_BATCH = 32


class _Loaded(NamedTuple):
    tokenizer: Any
    model: Any


class Encoder:
    """The model in `path`, loaded with the first text; raises UsageError where there is no such directory."""

    def __init__(self, path: str) -> None:
        if not Path(path).is_dir():
            raise UsageError(
                f"protocol.embedder={path}: no local directory (jobs never download: fetch the model first and name "
                "its folder)"
            )
        self._path = path
        self._lock = threading.Lock()

    @cached_property
    def identity(self) -> str:
        """The content hash of the model's files, for the name of the run."""
        return fingerprint.directory(Path(self._path), home())

    def encode(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """One unit vector a text, (texts, width)."""
        import numpy as np

        with self._lock:
            out = [self._batch(texts[start : start + _BATCH]) for start in range(0, len(texts), _BATCH)]
        return np.concatenate(out) if out else np.zeros((0, 1), dtype=np.float32)

    def _batch(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        import torch

        batch = self._loaded.tokenizer(
            list(texts), padding=True, truncation=True, max_length=_LENGTH, return_tensors="pt"
        )
        with torch.inference_mode():
            states = self._loaded.model(**batch).last_hidden_state
        mask = batch["attention_mask"].unsqueeze(-1)
        mean = (states * mask).sum(1) / mask.sum(1)
        vectors: npt.NDArray[np.float32] = torch.nn.functional.normalize(mean, dim=1).numpy()
        return vectors

    @cached_property
    def _loaded(self) -> _Loaded:
        from judgelab.engines.compat import shield_companions

        shield_companions()
        import torch
        from transformers import AutoModel, AutoTokenizer

        try:
            tokenizer = AutoTokenizer.from_pretrained(self._path, local_files_only=True)
            model = AutoModel.from_pretrained(self._path, local_files_only=True, dtype=torch.float32).eval()
        except Exception as error:  # whatever transformers raises for files that are no model
            why = str(error).strip().splitlines() or [type(error).__name__]
            raise JudgelabError(
                f"protocol.embedder={self._path}: not a model that transformers can load ({why[0]})"
            ) from error
        if tokenizer.pad_token is None:
            tokenizer.pad_token = tokenizer.eos_token
        return _Loaded(tokenizer, model)
