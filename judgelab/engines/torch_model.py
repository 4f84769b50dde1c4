"""A transformers model that answers a batch of prompts of one kind: the synchronous half of the engine.

Invariant: a row of the batch is answered as if it were alone, up to the rounding of padded bfloat16 arithmetic:
random draws are seeded by the request, and lengths are counted to the row's own end.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from judgelab.engines.base import Choice, FreeText, Request, Sampling, Schema
from judgelab.engines.chat import ChatFormat
from judgelab.engines.compat import shield_companions
from judgelab.engines.stop_text import StopText, raw_text
from judgelab.errors import EngineError
from judgelab.judge import Judge
from judgelab.records import content_hash

STRUCTURED_BACKEND = "outlines_core"


@dataclass(frozen=True)
class Prompt:
    """A request and the token ids that it renders to."""

    request: Request
    ids: tuple[int, ...]


@dataclass(frozen=True)
class Reply:
    """What the model says to one prompt. `generated_tokens` counts the closing token, never padding."""

    text: str
    finish_reason: str
    generated_tokens: int
    probabilities: dict[str, float] | None = None


class TorchModel:
    """The weights, loaded at construction (seconds to minutes). Raises EngineError in one line.

    For use from one thread. `interrupted` is asked once a token; when it says so, generation ends at once and what
    it returns is worthless.
    """

    def __init__(self, judge: Judge, chat: ChatFormat, device: str, seed: int, interrupted: Callable[[], bool]) -> None:
        self._chat = chat
        self._seed = seed
        self._interrupted = interrupted
        shield_companions()
        import torch

        self._torch = torch
        self.device = _device(device)
        self._model = self._load(judge)
        self._end = _end_tokens(self._model, chat.tokenizer)
        pad = chat.tokenizer.pad_token_id
        self._pad = int(pad if pad is not None else self._end[0])
        from transformers import GenerationConfig

        # Or `generate` would fill every field left unset with what the model's makers recommend for chatting.
        self._model.generation_config = GenerationConfig()
        self._grammar = lru_cache(maxsize=64)(_grammars(self._model, chat.tokenizer))

    @property
    def device_name(self) -> str:
        """The device in words, for the manifest."""
        if self.device.type == "cuda":
            return str(self._torch.cuda.get_device_name(self.device))
        return str(self.device)

    def answer(self, prompts: Sequence[Prompt]) -> list[Reply]:
        """One reply a prompt. All outputs must be of one kind; `Schema` and `FreeText` also of one text and length.

        Of several prompts none may be sampled (temperature above 0): draws need the generator to themselves.
        """
        with self._torch.inference_mode():
            match prompts[0].request.output:
                case Choice():
                    return self._choose(prompts)
                case Schema(json_schema=schema):
                    # The mask is a handful of bit operations; compiling it would cost a minute and need g++.
                    with self._torch.compiler.set_stance("force_eager"):
                        return self._generate(prompts, schema, ())
                case FreeText(stop=stop):
                    return self._generate(prompts, None, stop)

    def _choose(self, prompts: Sequence[Prompt]) -> list[Reply]:
        """One forward pass; the labels' probabilities are read off the last position, at temperature 1."""
        torch = self._torch
        inputs = self._pad_left(prompts)
        positions = (inputs["attention_mask"].cumsum(-1) - 1).clamp(min=0)
        logits = self._model(**inputs, position_ids=positions, use_cache=False, logits_to_keep=1).logits
        log_p = torch.log_softmax(logits[:, -1].float(), dim=-1).cpu()
        replies = []
        for row, prompt in zip(log_p, prompts, strict=True):
            output = prompt.request.output
            assert isinstance(output, Choice)
            tokens = list(self._chat.request_labels(prompt.request))
            if output.constrained:
                p = torch.softmax(row[tokens].double(), dim=-1).tolist()
                text = output.labels[self._draw(p, prompt.request)]
            else:
                p = row[tokens].double().exp().tolist()
                text = self._chat.decode([int(row.argmax())])
            finish = "stop" if text in output.labels else "length"
            replies.append(Reply(text, finish, 1, dict(zip(output.labels, p, strict=True))))
        return replies

    def _draw(self, p: Sequence[float], request: Request) -> int:
        """Index of the likeliest label, or of one drawn at the request's temperature and top_p."""
        order = sorted(range(len(p)), key=lambda i: (-p[i], i))
        sampling = request.sampling
        if sampling.temperature <= 0:
            return order[0]
        weights = [(p[i] / p[order[0]]) ** (1 / sampling.temperature) for i in order]
        total = sum(weights)
        kept: list[float] = []
        for weight in weights:
            if sum(kept) >= sampling.top_p * total:
                break
            kept.append(weight)
        draw = random.Random(self._request_seed(request))
        return draw.choices(order[: len(kept)], kept)[0]

    def _generate(self, prompts: Sequence[Prompt], schema: str | None, stop: tuple[str, ...]) -> list[Reply]:
        torch = self._torch
        sampling = prompts[0].request.sampling
        inputs = self._pad_left(prompts)
        width = int(inputs["input_ids"].shape[1])
        ends = StopText(self._chat, stop, width, len(prompts), self._interrupted)
        fork: Any = nullcontext()
        if sampling.temperature > 0:
            assert len(prompts) == 1
            fork = torch.random.fork_rng([self.device] if self.device.type == "cuda" else [])
        with fork:
            if sampling.temperature > 0:
                torch.manual_seed(self._request_seed(prompts[0].request))
            out = self._model.generate(
                **inputs,
                generation_config=self._generation_config(sampling),
                logits_processor=[self._fresh_grammar(schema)] if schema is not None else [],
                stopping_criteria=[ends],
            )
        rows = out[:, width:].tolist()
        return [
            self._reply(row, length, stop, sampling.max_tokens) for row, length in zip(rows, ends.lengths, strict=True)
        ]

    def _reply(self, row: list[int], stopped: int | None, stop: tuple[str, ...], cap: int) -> Reply:
        """A row of generated ids, still with its padding, as a reply."""
        closed = next((i for i, token in enumerate(row) if token in self._end), None)
        if stopped is not None and (closed is None or stopped <= closed):
            return Reply(self._before_stop(row[:stopped], stop), "stop", stopped)
        if closed is not None:
            return Reply(self._chat.decode(row[:closed]), "stop", closed + 1)
        return Reply(self._chat.decode(row[:cap]), "length", len(row[:cap]))

    def _before_stop(self, ids: list[int], stop: tuple[str, ...]) -> str:
        """Text up to the first stop string, which may be a special token and so invisible to `decode`."""
        text = raw_text(self._chat, ids)
        text = text[: min(at for at in (text.find(each) for each in stop) if at >= 0)]
        for special in self._chat.tokenizer.all_special_tokens:
            text = text.replace(special, "")
        return text

    def _generation_config(self, sampling: Sampling) -> Any:
        from transformers import GenerationConfig

        config = GenerationConfig(
            max_new_tokens=sampling.max_tokens, eos_token_id=list(self._end), pad_token_id=self._pad
        )
        if sampling.temperature > 0:
            config.update(do_sample=True, temperature=sampling.temperature, top_p=sampling.top_p, top_k=0)
        return config

    def _fresh_grammar(self, schema: str) -> Any:
        processor = self._grammar(schema)
        processor.reset()
        return processor

    def _pad_left(self, prompts: Sequence[Prompt]) -> dict[str, Any]:
        torch = self._torch
        width = max(len(p.ids) for p in prompts)
        ids = [[self._pad] * (width - len(p.ids)) + list(p.ids) for p in prompts]
        mask = [[0] * (width - len(p.ids)) + [1] * len(p.ids) for p in prompts]
        return {
            "input_ids": torch.tensor(ids, device=self.device),
            "attention_mask": torch.tensor(mask, device=self.device),
        }

    def _request_seed(self, request: Request) -> int:
        return int(content_hash([self._seed, request.canonical()], 15), 16)

    def _load(self, judge: Judge) -> Any:
        from transformers import AutoConfig, AutoModelForCausalLM
        from transformers.utils import logging

        logging.disable_progress_bar()
        trust = {"local_files_only": True, "trust_remote_code": judge.trust_remote_code}
        try:
            config = AutoConfig.from_pretrained(judge.path, **trust)
            if judge.quantization and getattr(config, "quantization_config", None) is None:
                raise EngineError(
                    f"judge {judge.name}: engine=transformers cannot quantize to {judge.quantization} while loading: "
                    "take engine=vllm, weights that are quantized already, or judge.quantization=null"
                )
            model = AutoModelForCausalLM.from_pretrained(judge.path, dtype=judge.dtype, **trust)
            return model.to(self.device).eval()
        except (OSError, ValueError, KeyError, ImportError) as error:
            raise EngineError(f"judge {judge.name}: {judge.path} cannot be loaded: {first_line(error)}") from error
        except (RuntimeError, MemoryError) as error:
            if not out_of_memory(error):
                raise
            raise EngineError(
                f"judge {judge.name} does not fit the memory of {self.device}: take a smaller judge, or engine=vllm "
                "with judge.tensor_parallel=CARDS"
            ) from error


def _grammars(model: Any, tokenizer: Any) -> Callable[[str], Any]:
    """JSON schema text -> Outlines logits processor; the vocabulary is read once, at the first schema."""
    backend: Any = None

    def make(schema: str) -> Any:
        nonlocal backend
        if backend is None:
            import outlines
            from outlines.backends.outlines_core import OutlinesCoreBackend

            backend = OutlinesCoreBackend(outlines.from_transformers(model, tokenizer))
        # No free whitespace: what the model does with it conditions the verdict that follows.
        return backend.get_json_schema_logits_processor(schema, whitespace_pattern="")

    return make


def _end_tokens(model: Any, tokenizer: Any) -> tuple[int, ...]:
    """Tokens that close the assistant's turn: the model's own list and the tokenizer's, by which grammars end."""
    listed = getattr(model.generation_config, "eos_token_id", None)
    found = [*(listed if isinstance(listed, list) else [listed]), tokenizer.eos_token_id]
    ends = tuple(dict.fromkeys(int(token) for token in found if token is not None))
    if not ends:
        raise EngineError("the model names no end-of-turn token (eos_token_id in its generation_config.json)")
    return ends


def _device(name: str) -> Any:
    import torch

    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise EngineError(f"engine.device={name} is no device: auto, cpu, cuda or cuda:N") from error
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise EngineError(
            f"engine.device={name} is not here ({torch.cuda.device_count()} CUDA devices seen): use auto or cpu"
        )
    return device


def out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory ran out, on whatever device."""
    import torch

    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    text = str(error).lower()
    return isinstance(error, RuntimeError) and ("out of memory" in text or "can't allocate memory" in text)


def first_line(error: BaseException) -> str:
    """The first line of an error's text, or its class where there is none."""
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
