"""What is asked of vLLM and how its answer is read, without one."""

from __future__ import annotations

import math

import pytest

from judgelab.engines.asking import (
    Answer,
    draw_seed,
    label_probabilities,
    read_answer,
    sampling_fields,
    structured_field,
)
from judgelab.engines.base import Choice, FreeText, Output, Request, Sampling, Schema
from judgelab.errors import RequestError
from judgelab.records import Message

AB = Choice(("A", "B"), ("CORRECT", "INCORRECT"))
FREE = Choice(("A", "B"), ("CORRECT", "INCORRECT"), constrained=False)
LOGS = {7: math.log(0.3), 8: math.log(0.1), 99: math.log(0.6)}


def ask(output: Output, **sampling: float) -> Request:
    return Request((Message("user", "?"),), output, Sampling(**{"max_tokens": 50, **sampling}), "test")


@pytest.mark.parametrize(
    ("output", "constraint", "fields"),
    [
        (AB, {"choice": ["A", "B"]}, {"max_tokens": 1, "logprob_token_ids": [7, 8]}),
        (FREE, None, {"max_tokens": 1, "logprob_token_ids": [7, 8]}),
        (Schema('{"const":1}'), {"json": '{"const":1}'}, {"max_tokens": 50}),
        (FreeText(), None, {"max_tokens": 50}),
        (FreeText(("</t>",)), None, {"max_tokens": 50, "stop": ["</t>"], "skip_special_tokens": False}),
    ],
)
def test_every_output_type_has_its_constraint_and_states_its_sampling(output, constraint, fields):
    labels = (7, 8) if isinstance(output, Choice) else ()
    stated = {"temperature": 0.0, "top_p": 1.0, "top_k": 0, "min_p": 0.0, "repetition_penalty": 1.0}
    assert structured_field(ask(output)) == constraint
    assert sampling_fields(ask(output), [1, 2], labels, 0) == {**stated, **fields}


def test_only_draws_have_a_seed_and_each_prompt_sample_and_run_its_own():
    assert "seed" not in sampling_fields(ask(FreeText()), [1], (), 0)
    assert sampling_fields(ask(FreeText(), temperature=0.7, sample=2), [1], (), 3)["seed"] == draw_seed(3, 2, [1])
    seeds = [draw_seed(0, 0, [1]), draw_seed(0, 0, [2]), draw_seed(0, 1, [1]), draw_seed(1, 0, [1])]
    assert len(set(seeds)) == 4
    assert draw_seed(0, 0, [1]) == seeds[0]
    assert all(0 <= s < 2**32 for s in seeds)


def test_forced_labels_are_renormalised_and_free_ones_are_not():
    assert label_probabilities(AB, (7, 8), LOGS) == pytest.approx({"A": 0.75, "B": 0.25})
    assert label_probabilities(FREE, (7, 8), LOGS) == pytest.approx({"A": 0.3, "B": 0.1})


@pytest.mark.parametrize("logs", [{7: -1.0}, {}, {7: -math.inf, 8: -math.inf}, {7: math.nan, 8: -1.0}])
def test_a_verdict_without_its_probabilities_is_an_error_never_a_default(logs):
    with pytest.raises(RequestError):
        label_probabilities(AB, (7, 8), logs)


@pytest.mark.parametrize(
    ("output", "text", "said", "reason"),
    [
        (AB, "A", "length", "stop"),
        (AB, " A", "length", "length"),
        (AB, "", "stop", "length"),
        (FREE, "Well", "length", "length"),
        (FreeText(), "cut", "length", "length"),
        (FreeText(), "done", "stop", "stop"),
        (Schema("{}"), '{"a":', "length", "length"),
    ],
)
def test_a_label_is_whole_if_it_is_a_label_and_text_if_it_was_not_cut(output, text, said, reason):
    labels = (7, 8) if isinstance(output, Choice) else ()
    completion = read_answer(ask(output), Answer(text, said, 3, 2, LOGS), labels, 11, 0.5)
    assert (completion.text, completion.finish_reason) == (text, reason)
    assert (completion.prompt_tokens, completion.generated_tokens, completion.cached_tokens) == (11, 3, 2)
    assert (completion.probabilities is None) == (not labels)


@pytest.mark.parametrize("value", [0.1, 3.0, 1e6, math.inf, math.nan])
@pytest.mark.parametrize("output", [AB, FREE])
def test_a_log_probability_above_zero_is_no_answer(output: Choice, value: float) -> None:
    with pytest.raises(RequestError, match="as log-probability of label 'A'"):
        label_probabilities(output, (7, 8), {7: value, 8: -1.0})


def test_rounding_just_above_zero_is_certainty() -> None:
    assert label_probabilities(FREE, (7, 8), {7: 5e-4, 8: -20.0})["A"] == 1.0
