"""Runs set beside each other on the judgments that they have in common.

Invariant: every difference is paired, counts only judgments with a verdict on both sides, and its p-value is adjusted
over all pairs that are shown together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judgelab.errors import UsageError
from judgelab.report.clean import printable
from judgelab.report.difference import differences
from judgelab.settings import AnalysisConfig, NuggetsConfig, SageConfig
from judgelab.status import statuses
from judgelab.store import RunDirectory

if TYPE_CHECKING:
    import pandas as pd

    from judgelab.metrics.estimate import Estimate
    from judgelab.metrics.paired import Flips


_TITLES = {"acc": "accuracy, points", "rpag": "RPAG, points"}


@dataclass(frozen=True)
class Side:
    """A run of a comparison. `label` are the settings in which not all agree; `caveats` what must be known before its
    figures are believed, and what its processes do where it lacks records."""

    run: Path
    label: str
    caveats: tuple[str, ...]


@dataclass(frozen=True)
class Pair:
    """One part of a run against the same part of the baseline run: protocols that put several questions to a judge
    have several, and a difference in one is not thinned by the others. `kappa` is Cohen's between their verdicts,
    `p_holm` the p-value of `flips.test` adjusted over the comparison's pairs."""

    number: int  # of the side
    part: str
    flips: Flips
    kappa: Estimate
    p_holm: float


@dataclass(frozen=True)
class Comparison:
    """All sides, the baseline first, and the pairs of it and each other one."""

    sides: tuple[Side, ...]
    pairs: tuple[Pair, ...]

    @property
    def flipped(self) -> int:
        """How many verdicts differ from the baseline's."""
        return sum(len(pair.flips.flipped) for pair in self.pairs)


def compare(runs: Sequence[RunDirectory], analysis: AnalysisConfig) -> Comparison:
    """Set every run beside the first. Raises UsageError if a pair has no judgment in common."""
    from judgelab.metrics.paired import holm

    protocols = [run.manifest["science"]["protocol"]["name"] for run in runs]
    for run, protocol in zip(runs, protocols, strict=True):
        if protocol != protocols[0]:
            raise UsageError(
                f"{run.path} is a {protocol} run and {runs[0].path} a {protocols[0]} run: only runs of one protocol "
                "judge the same things"
            )
    frames = [_judgments(run, protocols[0]) for run in runs]
    found = []
    for number, (run, frame) in enumerate(zip(runs[1:], frames[1:], strict=True), 1):
        parts = [(name, *_of(name, frames[0], frame)) for name in dict.fromkeys(frames[0]["part"])]
        results = [(number, name, one, two, _flips(protocols[0], one, two, analysis)) for name, one, two in parts]
        results = [each for each in results if each[-1].common]
        if not results:
            raise UsageError(f"{run.path} and {runs[0].path} have no item and cell in common")
        found += results
    adjusted = holm([result.test.value for *_, result in found])
    pairs = tuple(
        Pair(number, part, result, _kappa(one, two, analysis), p_holm)
        for (number, part, one, two, result), p_holm in zip(found, adjusted, strict=True)
    )
    sides = (Side(run.path, label, _caveats(run)) for run, label in zip(runs, _labels(runs), strict=True))
    return Comparison(tuple(sides), pairs)


def _caveats(run: RunDirectory) -> tuple[str, ...]:
    from judgelab.scoring import caveats

    records, manifest = run.records(), run.manifest
    items = len({record.item_id for record in records.values()})
    found = caveats(manifest, items, len(records))
    if any(line.startswith("incomplete") for line in found):
        found += [each.line() for each in statuses(run.path)]
    return tuple(found)


def _of(part: str, *frames: pd.DataFrame) -> tuple[pd.DataFrame, ...]:
    return tuple(frame[frame["part"] == part] for frame in frames)


def _judgments(run: RunDirectory, protocol: str) -> pd.DataFrame:
    """One row a judgment, with what its protocol's comparison needs."""
    records = run.records().values()
    match protocol:
        case "swapped":
            from judgelab.frames.swapped import frame

            return frame(records).assign(part="all")
        case "nuggets":
            from judgelab.frames.nuggets import battles, labels
            from judgelab.frames.nuggets import judgments as predicted
            from judgelab.metrics.arena import predictions
            from judgelab.scoring import protocol_of

            own = protocol_of(run, {})
            assert isinstance(own, NuggetsConfig)
            table = battles(records)
            return predicted(table, labels(records), predictions(table, own, int(run.manifest["science"]["seed"])))
        case "sage":
            from judgelab.frames.sage import judgments, trials
            from judgelab.metrics.sage_figures import with_truth
            from judgelab.scoring import protocol_of

            settings = protocol_of(run, {})
            assert isinstance(settings, SageConfig)
            rows, _ = with_truth(trials(records), settings.truth)
            return judgments(rows, rows["truth"])
    raise UsageError(f"runs of protocol {protocol!r} cannot be compared by this version of judgelab")


def _flips(protocol: str, first: pd.DataFrame, second: pd.DataFrame, analysis: AnalysisConfig) -> Flips:
    from judgelab.metrics.paired import flips, item_flips

    if protocol == "swapped":
        return flips(first, second, analysis.not_attempted, analysis.level, analysis.resamples, seed=0)
    return item_flips(first, second, analysis.level, analysis.resamples, seed=0)


def _kappa(first: pd.DataFrame, second: pd.DataFrame, analysis: AnalysisConfig) -> Estimate:
    from judgelab.metrics.agreement import agreement

    columns = ["item_id", "cell", "verdict"]
    both = first[columns].merge(second[columns], on=["item_id", "cell"], suffixes=("_a", "_b")).dropna()
    items, one, two = (both[name].tolist() for name in ("item_id", "verdict_a", "verdict_b"))
    labels = sorted({*one, *two})
    return agreement(items, one, two, labels, analysis.level, analysis.resamples, seed=0)["kappa"]


def _labels(runs: Sequence[RunDirectory]) -> list[str]:
    """For each run, the settings in which not all runs agree; its path where that tells none apart."""
    labels = differences([run.manifest["science"] for run in runs])
    return labels if len(set(labels)) == len(labels) else [str(run.path) for run in runs]


def as_table(comparison: Comparison) -> pd.DataFrame:
    """One row a pair, numbers in full."""
    import pandas as pd

    def spread(name: str, estimate: Estimate) -> dict[str, Any]:
        return {name: estimate.value, f"{name}_lo": estimate.lo, f"{name}_hi": estimate.hi}

    baseline = comparison.sides[0]
    rows = []
    for pair in comparison.pairs:
        side = comparison.sides[pair.number]
        row = {
            "baseline": baseline.label,
            "run": side.label,
            "path": str(side.run),
            "part": pair.part,
            "common": pair.flips.common,
            "scored": pair.flips.scored,
            "flipped": len(pair.flips.flipped),
            **spread("flip_rate", pair.flips.rate),
            **spread("kappa", pair.kappa),
        }
        for name, each in pair.flips.differences.items():
            row |= spread(f"{name}_difference", each)
        caveats = "; ".join(dict.fromkeys((*baseline.caveats, *side.caveats)))
        rows.append({**row, "p": pair.flips.test.value, "p_holm": pair.p_holm, "caveats": caveats})
    return pd.DataFrame(rows)


def print_comparison(comparison: Comparison) -> None:
    """What the runs are and what must be known of them, then one line a pair, with intervals."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    console.width = max(console.width, 132)  # figures cut short would be worse than a wrapped line
    names = ["baseline", *(f"run {number}" for number in range(1, len(comparison.sides)))]
    named = list(zip(names, comparison.sides, strict=True))
    for name, side in named:
        console.print(Text(printable(f"{name:<8}  {side.label}"), "bold" if name == "baseline" else ""))
    for line in dict.fromkeys(line for side in comparison.sides for line in side.caveats):
        whose = [name for name, side in named if line in side.caveats]
        where = "" if len(whose) == len(names) else f"{', '.join(whose)}: "
        console.print(Text(printable(f"WARNING: {where}{line}"), "bold yellow"))
    table = Table(box=None, pad_edge=False)
    measured = [_TITLES[name] for name in comparison.pairs[0].flips.differences]
    table.add_column("run", justify="right")
    table.add_column("part", no_wrap=True)
    for heading in ("common", "flipped", "flip rate", "kappa", *measured, "p (Holm)"):
        table.add_column(heading, justify="right", no_wrap=True)
    for pair in comparison.pairs:
        table.add_row(
            str(pair.number),
            pair.part,
            f"{pair.flips.scored}/{pair.flips.common}",
            str(len(pair.flips.flipped)),
            _spread(pair.flips.rate, ".3f"),
            _spread(pair.kappa, ".2f"),
            *(_spread(each, "+.1f") for each in pair.flips.differences.values()),
            f"{pair.flips.test.value:.3g} ({pair.p_holm:.3g})",
        )
    console.print(table)
    console.print("differences are run minus baseline; p is an exact McNemar test with questions as pairs", style="dim")


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
                printable(f"{comparison.sides[pair.number].label}, {pair.part}: ")
                + f"{len(pair.flips.flipped)} of {pair.flips.scored} verdicts flip "
                f"({rate.value:.4f} [{rate.lo:.4f}, {rate.hi:.4f}]); {pair.flips.common - pair.flips.scored} common "
                "records lack a verdict on either side"
            )
        )
        if pair.flips.flipped:
            table = Table("item", "cell", "before", "after", box=None, pad_edge=False)
            for flip in pair.flips.flipped:
                table.add_row(*(Text(printable(str(e))) for e in (flip.item_id, flip.cell, flip.before, flip.after)))
            console.print(table)


def _spread(estimate: Estimate, form: str) -> str:
    if math.isnan(estimate.value):
        return "undefined"
    return f"{estimate.value:{form}} [{estimate.lo:{form}}, {estimate.hi:{form}}]"
