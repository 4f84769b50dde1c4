"""Stop strings for transformers: ends each row of a batch at its own, also where that is a special token.

Invariant: a row's recorded length is its number of generated tokens when the stop string was complete, whatever
padding follows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from judgelab.engines.chat import ChatFormat


class StopText:
    """A stopping criterion of `generate`. `lengths` has a row's tokens once its text held one of `stop`, else None.

    `width` is the padded prompt's length in tokens. `interrupted` ends every row.
    """

    def __init__(
        self, chat: ChatFormat, stop: tuple[str, ...], width: int, rows: int, interrupted: Callable[[], bool]
    ) -> None:
        self._chat = chat
        self._stop = stop
        self._width = width
        self._interrupted = interrupted
        self._tail = max(map(len, stop), default=0) + 8
        self.lengths: list[int | None] = [None] * rows

    def __call__(self, input_ids: Any, scores: Any, **kwargs: Any) -> Any:  # noqa: ARG002 - transformers' signature
        """Which rows are done."""
        import torch

        if self._stop:
            generated = input_ids[:, self._width :].tolist()
            for i, row in enumerate(generated):
                if self.lengths[i] is None and self._found(row):
                    self.lengths[i] = len(row)
        interrupted = self._interrupted()
        done = [interrupted or length is not None for length in self.lengths]
        return torch.tensor(done, device=input_ids.device)

    def _found(self, row: list[int]) -> bool:
        # A look at the last tokens decides nearly always; the whole row then confirms, for it is what will be cut.
        return all(
            any(each in text for each in self._stop)
            for text in (raw_text(self._chat, ids) for ids in (row[-self._tail :], row))
        )


def raw_text(chat: ChatFormat, ids: Sequence[int]) -> str:
    """Text of tokens with special ones spelled out."""
    return str(chat.tokenizer.decode(list(ids), skip_special_tokens=False, clean_up_tokenization_spaces=False))
