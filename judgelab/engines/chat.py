"""From a request to the token ids of its prompt, in one place, so that every real engine asks the same thing.

Invariant: the prompt is the chat template's text with its generation prompt, followed by the request's
continuation if it has one; else by the judge's `answer_prefix` where a verdict is asked for (`Choice`, `Schema`);
else by nothing. A continuation is the whole start of the assistant's turn: who continues one writes the prefix.
"""

from __future__ import annotations

import datetime
import json
import re
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from judgelab.engines.base import Choice, FreeText, Request
from judgelab.engines.compat import shield_companions
from judgelab.errors import EngineError, PromptTooLong
from judgelab.judge import Judge
from judgelab.records import Message, content_hash

# What a template that prints today's date is given: the same request must be the same prompt tomorrow.
TEMPLATE_DATE = datetime.datetime(2025, 1, 1, tzinfo=datetime.UTC)

_SENTINEL = "zq7system"
_TAIL = 48  # characters of a prompt that can decide how the label after it is tokenised


class ChatFormat:
    """The judge's tokenizer and chat template, loaded on first use from `judge.path` and never from a hub."""

    def __init__(self, judge: Judge) -> None:
        self.judge = judge
        self._lock = threading.Lock()
        self._tokenizer: Any = None
        self._system_role = "native"
        self._labels: dict[tuple[tuple[str, ...], str], tuple[int, ...]] = {}
        self._control: re.Pattern[str] | None = None
        self._pieces: frozenset[str] | None = None

    def load(self) -> None:
        """Load the tokenizer and try the template; seconds, once. Raises EngineError in one line."""
        with self._lock:
            if self._tokenizer is None:
                tokenizer = _load_tokenizer(self.judge)
                self._system_role = self._probe_system_role(tokenizer)
                self._tokenizer = tokenizer

    @property
    def tokenizer(self) -> Any:
        """The transformers tokenizer."""
        self.load()
        return self._tokenizer

    @property
    def system_role(self) -> str:
        """`native`, or `merged` where the template refuses or drops it and it opens the first user turn."""
        self.load()
        return self._system_role

    @property
    def template(self) -> str:
        """The template in force: the judge's own override, else the tokenizer's."""
        return self.judge.chat_template or str(self.tokenizer.get_chat_template())

    @property
    def template_hash(self) -> str:
        """Content hash of the template in force and its arguments."""
        return content_hash([self.template, dict(self.judge.template_kwargs), self.system_role])

    @property
    def context(self) -> int | None:
        """Tokens that prompt and answer may take together; None where neither judge nor model says."""
        limits = [n for n in (self.judge.max_model_len, _model_context(self.judge)) if n]
        return min(limits, default=None)

    def text(self, request: Request) -> str:
        """The prompt as text."""
        messages = [Message(m.role, self._disarm(m.content)) for m in request.messages]
        prompt = self._apply(self.tokenizer, messages, self.system_role)
        if request.continuation:
            return prompt + request.continuation
        return prompt if isinstance(request.output, FreeText) else prompt + self.judge.answer_prefix

    def _disarm(self, text: str) -> str:
        """`text` in which no control token of this model stands: an answer that holds `<|im_end|>` must not end
        the turn it is quoted in. A zero-width space goes after the first character of each, and half a character
        (a lone surrogate), which no tokenizer takes, becomes U+FFFD."""
        if self._control is None:
            tokens = {t.content for t in self.tokenizer.added_tokens_decoder.values() if t.special}
            if self.judge.thinking is not None:
                tokens |= {self.judge.thinking.open.strip(), self.judge.thinking.stop.strip()}
            longest_first = sorted((t for t in tokens if len(t) > 1), key=len, reverse=True)
            self._control = re.compile("|".join(map(re.escape, longest_first)) or "(?!)")
        whole = re.sub("[\ud800-\udfff]", "\ufffd", text)
        return self._control.sub(lambda found: f"{found[0][0]}\u200b{found[0][1:]}", whole)

    def encode(self, text: str) -> list[int]:
        """Token ids of prompt text; the template has already written the special tokens."""
        return list(self.tokenizer.encode(text, add_special_tokens=False))

    def render(self, request: Request) -> list[int]:
        """The prompt as token ids. Raises PromptTooLong where the answer's `max_tokens` do not fit after it."""
        ids = self.encode(self.text(request))
        self.check_room(len(ids), request)
        return ids

    def decode(self, ids: Sequence[int]) -> str:
        """Text of generated tokens, special tokens left out."""
        return str(self.tokenizer.decode(list(ids), skip_special_tokens=True, clean_up_tokenization_spaces=False))

    def check_room(self, prompt_tokens: int, request: Request) -> None:
        """Raise PromptTooLong where the prompt and `sampling.max_tokens` together exceed the context."""
        context = self.context
        if context is not None and prompt_tokens + request.sampling.max_tokens > context:
            raise PromptTooLong(prompt_tokens, context)

    def label_tokens(self, labels: Sequence[str], prompt: str) -> tuple[int, ...]:
        """The one token that each label is after `prompt` (text), in the labels' order.

        Raises EngineError where a label is not one token there, in the very spelling that the constraint admits,
        or where another token of the vocabulary is a proper prefix of it: the constraint would admit that one
        too, and the probabilities read would be those of fragments.
        """
        key = (tuple(labels), prompt[-_TAIL:])
        if key not in self._labels:
            if len(self._labels) > 4096:
                self._labels.clear()
            self._labels[key] = self._resolve_labels(key[0], prompt)
        return self._labels[key]

    def request_labels(self, request: Request) -> tuple[int, ...]:
        """`label_tokens` of a request that asks for a `Choice`."""
        if not isinstance(request.output, Choice):
            raise TypeError(f"a request for {type(request.output).__name__} has no labels")
        return self.label_tokens(request.output.labels, self.text(request))

    def _resolve_labels(self, labels: tuple[str, ...], prompt: str) -> tuple[int, ...]:
        before = self.encode(prompt)
        tail = before[-8:]
        shown = self._raw(tail)
        tokens = []
        for label in labels:
            after = self.encode(prompt + label)
            single = len(after) == len(before) + 1 and after[:-1] == before
            if not single or self._raw([*tail, after[-1]]) != shown + label:
                raise EngineError(
                    f"judge {self.judge.name}: label {label!r} is not one token after a prompt ending in "
                    f"{prompt[-12:]!r} (knobs: protocol.verdict_form, judge.answer_prefix)"
                )
            if shorter := [label[:i] for i in range(1, len(label)) if label[:i] in self._vocabulary()]:
                raise EngineError(
                    f"judge {self.judge.name}: label {label!r} begins with {shorter[0]!r}, a token of its own, "
                    "so their probabilities mix (knobs: protocol.verdict_form, judge.answer_prefix)"
                )
            tokens.append(int(after[-1]))
        if len(set(tokens)) != len(tokens):
            raise EngineError(f"judge {self.judge.name}: labels {labels} are not distinct tokens")
        return tuple(tokens)

    def _raw(self, ids: list[int]) -> str:
        return str(self.tokenizer.decode(ids, skip_special_tokens=False, clean_up_tokenization_spaces=False))

    def _vocabulary(self) -> frozenset[str]:
        """Text of every token; only labels of several characters need it."""
        if self._pieces is None:
            anchor = self.encode("\n")
            start = self._raw(anchor)
            ids = self.tokenizer.get_vocab().values()
            self._pieces = frozenset(self._raw([*anchor, i])[len(start) :] for i in ids)
        return self._pieces

    def _apply(self, tokenizer: Any, messages: Sequence[Message], system_role: str) -> str:
        from jinja2 import TemplateError

        turns = messages if system_role == "native" else merge_system(messages)
        kwargs: dict[str, Any] = {"strftime_now": TEMPLATE_DATE.strftime, **self.judge.template_kwargs}
        try:
            return str(
                tokenizer.apply_chat_template(
                    [{"role": m.role, "content": m.content} for m in turns],
                    chat_template=self.judge.chat_template,
                    add_generation_prompt=True,
                    tokenize=False,
                    **kwargs,
                )
            )
        except TemplateError as error:
            raise EngineError(
                f"judge {self.judge.name}: its chat template fails: {_first_line(error)} "
                "(knob: judge.chat_template=FILE)"
            ) from error

    def _probe_system_role(self, tokenizer: Any) -> str:
        if not self.judge.chat_template and not tokenizer.chat_template:
            raise EngineError(
                f"judge {self.judge.name}: {self.judge.path} has no chat template; give one with "
                "judge.chat_template=FILE"
            )
        messages = (Message("system", _SENTINEL), Message("user", "Hello."))
        try:
            if _SENTINEL in self._apply(tokenizer, messages, "native"):
                return "native"
        except EngineError:
            pass  # refused; the merged form below tells whether the template works at all
        self._apply(tokenizer, messages, "merged")
        return "merged"


def merge_system(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The same turns with every system text moved to the head of the first user turn."""
    system = "\n\n".join(m.content for m in messages if m.role == "system")
    turns = [m for m in messages if m.role != "system"]
    if not system:
        return tuple(turns)
    for i, turn in enumerate(turns):
        if turn.role == "user":
            turns[i] = Message("user", f"{system}\n\n{turn.content}")
            return tuple(turns)
    return (Message("user", system), *turns)


def _load_tokenizer(judge: Judge) -> Any:
    shield_companions()
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(
            judge.path, local_files_only=True, trust_remote_code=judge.trust_remote_code
        )
    except (OSError, ValueError, KeyError, ImportError) as error:
        raise EngineError(f"judge {judge.name}: no usable tokenizer in {judge.path}: {_first_line(error)}") from error


def _model_context(judge: Judge) -> int | None:
    try:
        config: Mapping[str, Any] = json.loads((judge.path / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None  # the engine itself will say what is wrong with the directory
    text = config.get("text_config") or {}
    value = config.get("max_position_embeddings") or text.get("max_position_embeddings")
    return int(value) if value else None


def _first_line(error: Exception) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
