"""What tells runs apart: the settings in which they do not all agree.

Invariant: two runs that differ in a setting that a reader can choose never get the same label.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

# A judge's name stands for all of it, a scripted one's for its rule.
_IMPLIED = ("judge.", "engine.rule", "dataset.content", "dataset.format", "prompts")


def differing(sciences: Sequence[Mapping[str, Any]], shown: Collection[str] = ()) -> list[dict[str, str]]:
    """For each run, its values of the settings in which not all agree, by their short names.

    `shown` names settings that stand beside them already (`judge.name`, `protocol.swap`, ...).
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
    return [{_short(key): str(each.get(key, "-")) for key in chosen} for each in flat]


def differences(sciences: Sequence[Mapping[str, Any]], shown: Collection[str] = ()) -> list[str]:
    """One label a run, of the settings in which not all agree, such as `verdict_form=label, engine=vllm`."""
    return [", ".join(f"{key}={value}" for key, value in each.items()) for each in differing(sciences, shown)]


def told(
    sciences: Sequence[Mapping[str, Any]], settings: Sequence[Mapping[str, str]], shown: Collection[str] = ()
) -> list[dict[str, str]]:
    """What a reader must know of each of several runs: its `settings`, as its summary has them, and whatever else
    tells it from the others, such as a seed."""
    known = {f"protocol.{name}" for setting in settings for name in setting} | {
        *("engine.backend", "search.engine", "dataset.name", "judge.name"),
        *shown,
    }
    return [{**one, **more} for one, more in zip(settings, differing(sciences, known), strict=True)]


def _flatten(value: Any, prefix: str = "") -> dict[str, Any]:
    if not isinstance(value, Mapping):
        return {prefix[:-1]: value}
    return {k: v for key, each in value.items() for k, v in _flatten(each, f"{prefix}{key}.").items()}


def _short(key: str) -> str:
    return (
        key.removeprefix("protocol.").removesuffix(".name").removesuffix(".kind").replace("engine.backend", "backend")
    )
