"""Labels name what tells runs apart, and nothing else."""

from __future__ import annotations

from judgelab.report.difference import differences

BASE = {
    "protocol": {"swap": "alias", "verdict_form": "label"},
    "judge": {"name": "a", "dtype": "bfloat16"},
    "engine": {"kind": "vllm", "backend": "xgrammar"},
    "seed": 0,
}


def test_only_what_differs_is_named():
    other = {**BASE, "engine": {"kind": "transformers"}, "seed": 1}
    assert differences([BASE, other]) == [
        "engine=vllm, backend=xgrammar, seed=0",
        "engine=transformers, backend=-, seed=1",
    ]
    assert differences([BASE, BASE]) == ["", ""]


def test_a_judges_name_stands_for_all_of_it_and_shown_settings_are_left_out():
    other = {**BASE, "judge": {"name": "b", "dtype": "float32"}}
    assert differences([BASE, other]) == ["judge=a", "judge=b"]
    assert differences([BASE, other], shown=("judge.name",)) == ["", ""]
