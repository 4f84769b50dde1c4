"""The judge card: what was put to the test, with what, and at what cost.

Invariant: it names everything that another lab needs to run the same test, and no path, user or machine secret.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from judgelab.engines.cached import Tally
from judgelab.report.numbers import NONE, seconds
from judgelab.report.run_report import RunReport


@dataclass(frozen=True)
class Fact:
    """One line of the card."""

    name: str
    value: str


@dataclass(frozen=True)
class Cost:
    """Calls of one purpose; `seconds` sums the time of calls that overlapped."""

    purpose: str
    calls: str
    hits: str
    prompt_tokens: str
    cached_tokens: str
    generated_tokens: str
    seconds: str


@dataclass(frozen=True)
class JudgeCard:
    """What stands on top of a run's section."""

    facts: tuple[Fact, ...]
    costs: tuple[Cost, ...]
    wall: str


def card(report: RunReport) -> JudgeCard:
    """The card of one run."""
    manifest, science = report.manifest, report.manifest["science"]
    judge, engine, launches = science["judge"], science["engine"], manifest["launches"]
    started = {name: value for launch in launches for name, value in launch["engine"].items()}
    facts = [
        ("judge", report.judge),
        ("weights", judge.get("weights", "none: a rule, not a model")),
        ("dtype", judge.get("dtype")),
        ("quantization", judge.get("quantization")),
        ("engine", engine["kind"]),
        ("structured output by", engine.get("backend")),
        ("engine arguments", _pairs(engine.get("args"))),
        ("rule", engine.get("rule")),
        *((name.replace("_", " "), value) for name, value in sorted(started.items()) if name != "engine"),
        ("dataset", f"{science['dataset']['name']}, content {science['dataset'].get('content', NONE)}"),
        *((name.replace("_", " "), value) for name, value in report.setting.items()),
        ("items", f"{report.summary['n_items']:,} of {manifest['n_items']:,}"),
        ("limit", science["limit"]),
        ("seed", science["seed"]),
        ("prompts", science["prompts"]),
        ("run", report.run_hash),
        ("made", manifest["created"]),
        ("versions", _pairs(manifest.get("versions"))),
        ("code", _code(manifest.get("git"))),
        ("platform", manifest.get("platform")),
        ("Slurm job", manifest.get("slurm_job")),
        *_evidence(launches),
        ("launches", ", ".join(f"{launch['ended']} after {seconds(launch['seconds'])}" for launch in launches)),
    ]
    shown: dict[str, str] = {}
    for name, value in facts:
        if value is not None and value != "":
            shown.setdefault(name, str(value))
    totals = {purpose: Tally(**tally) for purpose, tally in manifest.get("totals", {}).items()}
    costs = [_cost(purpose, tally) for purpose, tally in sorted(totals.items())]
    if len(costs) > 1:
        costs.append(_cost("all", sum(totals.values(), Tally())))
    wall = seconds(sum(launch["seconds"] for launch in launches))
    return JudgeCard(tuple(Fact(*each) for each in shown.items()), tuple(costs), wall)


def _evidence(launches: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """What was searched over all launches, and how old the evidence is."""
    told = [launch["search"] for launch in launches if launch.get("search")]
    if not told:
        return []
    failed: Counter[str] = Counter()
    for each in told:
        failed.update(each.get("failed", {}))
    counts = {name: sum(each.get(name, 0) for each in told) for name in ("made", "replayed", "empty")}
    parts = [f"{counts['made']:,} made", f"{counts['replayed']:,} replayed", f"{counts['empty']:,} empty"]
    parts += [f"{n:,} {status}" for status, n in sorted(failed.items())]
    dates = [each[name] for each in told for name in ("oldest", "newest") if each.get(name)]
    span = f"{min(dates)} to {max(dates)}" if dates else NONE
    return [("searches", f"{', '.join(parts)} ({told[-1].get('engine', NONE)})"), ("evidence from", span)]


def _cost(purpose: str, tally: Tally) -> Cost:
    counts = {f.name: f"{getattr(tally, f.name):,}" for f in fields(Tally) if f.name != "seconds"}
    return Cost(purpose=purpose, seconds=f"{tally.seconds:,.1f}", **counts)


def _pairs(values: Mapping[str, Any] | None) -> str:
    return ", ".join(f"{name} {value}" for name, value in (values or {}).items())


def _code(git: Mapping[str, Any] | None) -> str | None:
    return f"{git['commit'][:12]}{', with uncommitted changes' if git['dirty'] else ''}" if git else None
