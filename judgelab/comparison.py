"""Runs set beside each other on the judgments that they have in common.

Invariant: every difference is paired, counts only judgments with a verdict on both sides, and its p-value is adjusted
over all pairs that are shown together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judgelab.errors import UsageError
from judgelab.frames import frame
from judgelab.settings import AnalysisConfig
from judgelab.store import RunDirectory

if TYPE_CHECKING:
    import pandas as pd

    from judgelab.metrics.estimate import Estimate
    from judgelab.metrics.paired import Flips


@dataclass(frozen=True)
class Pair:
    """A run against the baseline run. `p` is the exact McNemar p-value over all common judgments, `p_holm` the same
    adjusted over the pairs of the comparison."""

    run: Path
    label: str
    flips: Flips
    p: Estimate
    p_holm: float


@dataclass(frozen=True)
class Comparison:
    """All pairs with their common baseline; `settings` that differ make the labels."""

    baseline: Path
    label: str
    pairs: tuple[Pair, ...]
    table: pd.DataFrame


def compare(runs: Sequence[RunDirectory], analysis: AnalysisConfig) -> Comparison:
    """Set every run beside the first. Raises UsageError if a pair has no judgment in common."""
    from judgelab.metrics.accuracy import outcome
    from judgelab.metrics.paired import flips, holm, mcnemar

    labels = _labels(runs)
    frames = [frame(run.records().values()) for run in runs]
    coding = analysis.not_attempted
    base = frames[0]
    found = []
    for run, label, other in zip(runs[1:], labels[1:], frames[1:], strict=True):
        result = flips(base, other, coding, analysis.level, analysis.resamples, seed=0)
        if result.common == 0:
            raise UsageError(f"{run.path} and {runs[0].path} have no item and cell in common")
        both = base.merge(other, on=["item_id", "cell"], suffixes=("_a", "_b"))
        sides = [
            outcome(both.rename(columns={f"{c}_{s}": c for c in ("truth", "verdict", "reason")}), coding) for s in "ab"
        ]
        counted = sides[0].counted & sides[1].counted
        b = int((counted & sides[0].right & ~sides[1].right).sum())
        c = int((counted & sides[1].right & ~sides[0].right).sum())
        found.append((run, label, result, mcnemar(b, c, int(counted.sum()), ("baseline", "other"))))
    adjusted = holm([p.value for *_, p in found])
    pairs = tuple(
        Pair(run.path, label, result, p, p_holm)
        for (run, label, result, p), p_holm in zip(found, adjusted, strict=True)
    )
    return Comparison(runs[0].path, labels[0], pairs, _table(labels[0], pairs))


def _labels(runs: Sequence[RunDirectory]) -> list[str]:
    """For each run, the settings in which not all runs agree; its path where that tells none apart."""
    flat = [_flatten(run.manifest["science"]) for run in runs]
    keys = [key for key in dict.fromkeys(k for each in flat for k in each) if len({str(f.get(key)) for f in flat}) > 1]
    keys = [key for key in keys if not key.startswith(("judge.", "dataset.content", "prompts")) or key == "judge.name"]
    labels = [", ".join(f"{key.removeprefix('protocol.')}={each.get(key, '-')}" for key in keys) for each in flat]
    return labels if all(labels) else [str(run.path) for run in runs]


def _flatten(value: Any, prefix: str = "") -> dict[str, Any]:
    if not isinstance(value, dict):
        return {prefix[:-1]: value}
    return {k: v for key, each in value.items() for k, v in _flatten(each, f"{prefix}{key}.").items()}


def _table(baseline: str, pairs: Sequence[Pair]) -> pd.DataFrame:
    import pandas as pd

    def spread(name: str, estimate: Estimate) -> dict[str, Any]:
        return {name: estimate.value, f"{name}_lo": estimate.lo, f"{name}_hi": estimate.hi}

    return pd.DataFrame(
        [
            {
                "baseline": baseline,
                "run": pair.label,
                "path": str(pair.run),
                "common": pair.flips.common,
                "scored": pair.flips.scored,
                "flipped": len(pair.flips.flipped),
                **spread("flip_rate", pair.flips.rate),
                **spread("acc_difference", pair.flips.acc_difference),
                **spread("rpag_difference", pair.flips.rpag_difference),
                "p": pair.p.value,
                "p_holm": pair.p_holm,
            }
            for pair in pairs
        ]
    )


def print_comparison(comparison: Comparison) -> None:
    """One line a pair, with intervals."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    console.print(Text(f"baseline: {comparison.label}", "bold"))
    table = Table(box=None, pad_edge=False)
    for heading in ("against it", "common", "flipped", "flip rate", "accuracy, points", "RPAG, points", "p (Holm)"):
        table.add_column(heading, justify="left" if heading == "against it" else "right")
    for pair in comparison.pairs:
        rate = pair.flips.rate
        table.add_row(
            Text(pair.label),
            f"{pair.flips.scored}/{pair.flips.common}",
            str(len(pair.flips.flipped)),
            f"{rate.value:.3f} [{rate.lo:.3f}, {rate.hi:.3f}]",
            _points(pair.flips.acc_difference),
            _points(pair.flips.rpag_difference),
            f"{pair.p.value:.3g} ({pair.p_holm:.3g})",
        )
    console.print(table)
    console.print("differences are run minus baseline; p is McNemar's exact test on correctness", style="dim")


def print_flips(comparison: Comparison) -> None:
    """Every judgment whose verdict differs, and how many there are."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    for pair in comparison.pairs:
        rate = pair.flips.rate
        console.print(
            Text(
                f"{pair.label}: {len(pair.flips.flipped)} of {pair.flips.scored} verdicts flip "
                f"({rate.value:.4f} [{rate.lo:.4f}, {rate.hi:.4f}]); {pair.flips.common - pair.flips.scored} common "
                "records lack a verdict on either side"
            )
        )
        if pair.flips.flipped:
            table = Table("item", "cell", "before", "after", box=None, pad_edge=False)
            for flip in pair.flips.flipped:
                table.add_row(*(Text(str(each)) for each in (flip.item_id, flip.cell, flip.before, flip.after)))
            console.print(table)


def _points(estimate: Estimate) -> str:
    return f"{estimate.value:+.1f} [{estimate.lo:+.1f}, {estimate.hi:+.1f}]"
