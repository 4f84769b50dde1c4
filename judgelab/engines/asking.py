"""How a request is put to vLLM and how its answer is read: the same in process and over HTTP.

Invariant: every parameter that shapes an answer is stated, none is left to a default of the server or of the
model's generation config; and a verdict's probabilities are read at its label's token, never by text.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from judgelab.engines.base import Choice, Completion, FreeText, Request, Schema
from judgelab.errors import RequestError
from judgelab.records import canonical_json

_ROUNDING = 1e-3  # a log-probability may lie above 0 by
PROBE_ANSWER = '"zq"'
COMPACT_BACKENDS = ("xgrammar", "guidance")  # those that can be told to write JSON without whitespace


@dataclass(frozen=True)
class Answer:
    """What vLLM said: `logprobs` maps token id to log-probability at the first generated position."""

    text: str
    finish_reason: str
    generated_tokens: int
    cached_tokens: int
    logprobs: Mapping[int, float]


def sampling_fields(request: Request, ids: Sequence[int], labels: Sequence[int], seed: int) -> dict[str, Any]:
    """The fields that SamplingParams and the body of /v1/completions share, as plain JSON values.

    `ids` is the prompt, `labels` the label tokens of a `Choice` (else empty), `seed` the engine's.
    """
    sampling, output = request.sampling, request.output
    fields: dict[str, Any] = {
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "top_k": 0,
        "min_p": 0.0,
        "repetition_penalty": 1.0,
        "max_tokens": sampling.max_tokens,
    }
    if sampling.temperature > 0:
        fields["seed"] = draw_seed(seed, sampling.sample, ids)
    match output:
        case Choice():
            fields["max_tokens"] = 1
            fields["logprob_token_ids"] = list(labels)
        case FreeText() if output.stop:
            fields["stop"] = list(output.stop)
            # A stop string may be a special token of this model (a think tag), else never shown in the text.
            fields["skip_special_tokens"] = False
    return fields


def structured_field(request: Request) -> dict[str, Any] | None:
    """The constraint as vLLM's `structured_outputs`, or None for free output."""
    match request.output:
        case Choice(labels=labels, constrained=True):
            return {"choice": list(labels)}
        case Schema(json_schema=schema):
            return {"json": schema}
    return None


def draw_seed(seed: int, sample: int, ids: Sequence[int]) -> int:
    """Seed of one draw: each prompt has its own, for draws that share their noise are correlated over items."""
    digest = hashlib.sha256(canonical_json([seed, sample, list(ids)]).encode()).digest()
    return int.from_bytes(digest[:4], "big")


def read_answer(
    request: Request, answer: Answer, labels: Sequence[int], prompt_tokens: int, seconds: float
) -> Completion:
    """vLLM's answer as a completion. Raises RequestError where a verdict came without its probabilities."""
    text, reason = answer.text, answer.finish_reason
    probabilities = None
    if isinstance(request.output, Choice):
        probabilities = label_probabilities(request.output, labels, answer.logprobs)
        # One token was allowed, so the engine always says "length"; the test is whether it is a label.
        reason = "stop" if text in request.output.labels else "length"
    return Completion(
        text=text,
        finish_reason="length" if reason == "length" else "stop",
        prompt_tokens=prompt_tokens,
        generated_tokens=answer.generated_tokens,
        cached_tokens=answer.cached_tokens,
        seconds=seconds,
        probabilities=probabilities,
    )


def label_probabilities(output: Choice, labels: Sequence[int], logprobs: Mapping[int, float]) -> dict[str, float]:
    """Label to probability: renormalised over the labels where they were forced, else raw mass."""
    if missing := [name for name, token in zip(output.labels, labels, strict=True) if token not in logprobs]:
        raise RequestError(f"the engine gave no log-probability for label {missing[0]!r}")
    for name, token in zip(output.labels, labels, strict=True):
        if not logprobs[token] <= _ROUNDING:  # also where it is no number
            raise RequestError(f"the engine gave {logprobs[token]:.4g} as log-probability of label {name!r}")
    raw = {name: math.exp(min(0.0, logprobs[token])) for name, token in zip(output.labels, labels, strict=True)}
    if not output.constrained:
        return raw
    total = sum(raw.values())
    if not (math.isfinite(total) and total > 0):
        raise RequestError(f"the labels' probabilities sum to {total}")
    return {name: p / total for name, p in raw.items()}
