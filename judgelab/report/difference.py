"""What tells runs apart: the settings in which they do not all agree.

Invariant: two runs that differ in a setting that a reader can choose never get the same label.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

# A judge's name stands for all of it, a scripted one's for its rule.
_IMPLIED = ("judge.", "engine.rule", "dataset.content", "dataset.format", "prompts")


def differences(sciences: Sequence[Mapping[str, Any]], shown: Collection[str] = ()) -> list[str]:
    """One label a run, of the settings in which not all agree, such as `verdict_form=label, engine=vllm`.

    `shown` names settings that stand beside the label already (`judge.name`, `protocol.swap`, ...).
    """
    flat = [_flatten(science) for science in sciences]
    keys = dict.fromkeys(key for each in flat for key in each)
    chosen = [
        key
        for key in keys
        if len({str(each.get(key)) for each in flat}) > 1
        and key not in shown
        and (key == "judge.name" or not key.startswith(_IMPLIED))
    ]
    return [", ".join(f"{_short(key)}={each.get(key, '-')}" for key in chosen) for each in flat]


def _flatten(value: Any, prefix: str = "") -> dict[str, Any]:
    if not isinstance(value, Mapping):
        return {prefix[:-1]: value}
    return {k: v for key, each in value.items() for k, v in _flatten(each, f"{prefix}{key}.").items()}


def _short(key: str) -> str:
    return (
        key.removeprefix("protocol.").removesuffix(".name").removesuffix(".kind").replace("engine.backend", "backend")
    )
