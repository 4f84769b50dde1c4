"""From records to figures: what `score` and `report` do, and the last step of every run.

Invariant: no model, no network, no clock: the same records and the same analysis settings give the same bytes.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judgelab import config as cfg
from judgelab.errors import JudgelabError, UsageError
from judgelab.journal import write_atomic
from judgelab.last import Last
from judgelab.records import Record, content_hash
from judgelab.settings import (
    AnalysisConfig,
    Config,
    NuggetsConfig,
    ProtocolConfig,
    SageConfig,
    analysis_defaults,
    check_analysis,
)
from judgelab.store import RunDirectory, Stamp

if TYPE_CHECKING:
    import pandas as pd

    from judgelab.metrics.estimate import Estimate
    from judgelab.metrics.figures import Figures
    from judgelab.metrics.threshold_free import ThresholdFree
    from judgelab.report.run_report import RunReport


@dataclass(frozen=True)
class Analysis:
    """How figures are computed from records: what all protocols have, and `own`, the analysis fields of the run's
    protocol that are not at their defaults (`{"tie_threshold": 0.1}`)."""

    common: AnalysisConfig = field(default_factory=AnalysisConfig)
    own: Mapping[str, Any] = field(default_factory=dict)

    def plain(self, protocol: ProtocolConfig) -> dict[str, Any]:
        """All of it as plain JSON values: what summary.json holds and what names the folder."""
        whole = {name: getattr(protocol, name) for name in analysis_defaults(type(protocol))}
        return {**cfg.plain(self.common), **cfg.plain(whole)}

    def told(self, protocol: ProtocolConfig) -> dict[str, str]:
        """What a reader must know of it: each choice that is not the default one, and how ties were told."""
        usual = cfg.plain(AnalysisConfig()) | cfg.plain(analysis_defaults(type(protocol)))
        told = {name: str(value) for name, value in self.plain(protocol).items() if value != usual[name]}
        if isinstance(protocol, NuggetsConfig) and protocol.tie_threshold is None:
            told["tie_threshold"] = f"held out over {protocol.folds} folds"
        return told


@dataclass(frozen=True)
class Scored:
    """Everything computed from one run's records. `frame` is the protocol's main one."""

    records: tuple[Record, ...]
    frame: pd.DataFrame
    figures: Figures
    summary: Mapping[str, Any]


def figures_of(run: RunDirectory, analysis: Analysis) -> Scored:
    """Compute all figures of a run, complete or not; raises JudgelabError if it has no record yet."""
    stamp = run.stamp()  # before reading: what is made from newer records than it says is made again
    records = tuple(sorted(run.records().values(), key=lambda record: record.record_id))
    if not records:
        raise JudgelabError(f"{run.path} has no finished record yet: launch the run again")
    manifest = run.manifest
    science = manifest["science"]
    protocol = protocol_of(run, analysis.own)
    table, figures = _figures(stamp, records, protocol, analysis.common, int(science["seed"]))
    items = len({record.item_id for record in records})
    unscored = Counter(record.unscored.reason.value for record in records if record.unscored)
    summary = {
        "protocol": science["protocol"]["name"],
        "dataset": science["dataset"]["name"],
        "judge": science["judge"]["name"],
        "engine": science["engine"]["kind"],
        "setting": setting_of(science) | analysis.told(protocol),
        "analysis": analysis.plain(protocol),
        "n_items": items,
        "complete": items == int(manifest["n_items"]) and len(records) == manifest.get("n_records", len(records)),
        "coverage": {
            "judged": sum(record.verdict is not None for record in records),
            "unscored": dict(sorted(unscored.items())),
        },
        "warnings": caveats(manifest, items, len(records)),
        "metrics": {name: estimate_json(each) for name, each in figures.metrics.items()},
        "baselines": {
            judge: {name: estimate_json(each) for name, each in rows.items()}
            for judge, rows in figures.baselines.items()
        },
        "dropped": manifest.get("dropped", {}),
    }
    return Scored(records, table, figures, summary)


def protocol_of(run: RunDirectory, own: Mapping[str, Any]) -> ProtocolConfig:
    """The protocol settings of a run under an analysis; what the launch asked for is no part of the default one.

    Raises UsageError for a field that changes records, not figures.
    """
    kind = cfg.protocol_class(run.manifest["science"]["protocol"]["name"])
    defaults = analysis_defaults(kind)
    if not defaults and not own:
        return kind()
    file = run.path / "config.yaml"
    written = file.stat().st_mtime_ns if file.exists() else None
    stored = _STORED.get((file.resolve(), written), lambda: cfg.load(file)).protocol
    for name in own:
        if name not in defaults:
            raise UsageError(f"protocol.{name} changes records: it needs a run{cfg.nearest(name, list(defaults))}")
    if not own:
        return replace(stored, **defaults)
    return cfg.protocol_of(cfg.plain(stored) | cfg.plain(defaults) | cfg.plain(own), "protocol")


def _figures(
    stamp: Stamp, records: Sequence[Record], protocol: ProtocolConfig, analysis: AnalysisConfig, seed: int
) -> tuple[pd.DataFrame, Figures]:
    match protocol.name:
        case "swapped":
            from judgelab.frames.swapped import frame
            from judgelab.metrics.rpag import swapped_figures

            table = frame(records)
            return table, swapped_figures(table, analysis, seed)
        case "nuggets":
            assert isinstance(protocol, NuggetsConfig)
            return _nugget_figures(stamp, records, protocol, analysis, seed)
        case "sage":
            from judgelab.frames.sage import trials
            from judgelab.metrics.sage_figures import sage_figures

            assert isinstance(protocol, SageConfig)
            table = trials(records)
            return table, sage_figures(table, protocol, analysis, seed)
    raise JudgelabError(f"runs of protocol {protocol.name!r} cannot be scored by this version of judgelab")


def _nugget_figures(
    stamp: Stamp, records: Sequence[Record], settings: NuggetsConfig, analysis: AnalysisConfig, seed: int
) -> tuple[pd.DataFrame, Figures]:
    from judgelab.frames.nuggets import battles, labels
    from judgelab.metrics.arena import figures_at_threshold
    from judgelab.metrics.threshold_free import threshold_free
    from judgelab.metrics.votes import Sampling

    check_analysis(settings)
    sampling = Sampling.of(analysis, seed)
    tables = _TABLES.get(stamp, lambda: (battles(records), labels(records)))
    shared = content_hash([cfg.plain(replace(settings, tie_threshold=None)), cfg.plain(analysis), seed])
    free = _FREE.get((stamp, shared), lambda: threshold_free(*tables, settings, sampling))
    return tables[0], figures_at_threshold(free, settings, sampling)


_STORED: Last[Config] = Last()
_TABLES: Last[tuple[pd.DataFrame, pd.DataFrame]] = Last()
_FREE: Last[ThresholdFree] = Last()


def setting_of(science: Mapping[str, Any]) -> dict[str, str]:
    """What a reader needs to know of a run in one line."""
    asked = science["protocol"] | {
        "backend": science["engine"].get("backend"),
        "search": (science.get("search") or {}).get("engine"),
    }
    names = (
        *("swap", "condition", "variant", "iterations", "source", "creator", "grades", "verdict_form", "candidates"),
        *("search", "backend"),
    )
    return {name: str(asked[name]) for name in names if asked.get(name)}


def estimate_json(estimate: Estimate) -> dict[str, Any]:
    """An estimate as summary.json holds it; undefined numbers are null."""

    def number(value: float) -> float | None:
        return value if math.isfinite(value) else None

    return {
        "value": number(estimate.value),
        "ci": [number(estimate.lo), number(estimate.hi)],
        "n": estimate.n,
        "unit": estimate.unit,
        "method": estimate.method,
    }


def report_of(run: RunDirectory, analysis: Analysis) -> RunReport:
    """All that a report of this run shows."""
    from judgelab.report.run_report import RunReport

    scored = figures_of(run, analysis)
    return RunReport(
        path=run.path,
        summary=scored.summary,
        manifest=run.manifest,
        records=scored.records,
        frame=scored.frame,
        figures=scored.figures,
    )


def score(run: RunDirectory, analysis: Analysis, page: bool = True) -> Mapping[str, Any]:
    """Compute, write and return the summary, under `analysis/<hash>/`.

    The default analysis stands at the top of the run as well, also where only another one was asked for. Another one
    has its page and figures only with `page`: drawing them takes longer than computing a point of a sweep.
    """
    from judgelab.report.html import write_outputs, write_tables

    default = is_default(run, analysis)
    if not default and not (run.path / "summary.json").exists():
        score(run, Analysis())
    report = report_of(run, analysis)
    folders = [summary_path(run, analysis).parent]
    if default:
        folders.append(run.path)
    (write_outputs if page or default else write_tables)(report, *folders)
    for folder in folders:  # last, so that a summary means that everything beside it is there
        text = json.dumps(report.summary, indent=1, ensure_ascii=False, allow_nan=False)
        write_atomic(folder / "summary.json", text + "\n")
    return report.summary


def is_default(run: RunDirectory, analysis: Analysis) -> bool:
    """Whether an analysis is the one that stands at the top of the run."""
    return analysis.plain(protocol_of(run, analysis.own)) == Analysis().plain(protocol_of(run, {}))


def summary_path(run: RunDirectory, analysis: Analysis) -> Path:
    """Where the summary of an analysis stands, once it is made."""
    plain = analysis.plain(protocol_of(run, analysis.own))
    return run.path / "analysis" / content_hash(plain, 12) / "summary.json"


def other_summaries(run: RunDirectory) -> list[Mapping[str, Any]]:
    """The summaries of analyses that were asked for beside the default one, such as the points of a threshold sweep,
    ordered by what was chosen."""
    usual = Analysis().plain(protocol_of(run, {}))
    found = []
    for path in sorted(run.path.glob("analysis/*/summary.json")):
        try:
            summary = json.loads(path.read_text(encoding="utf-8"))
            if summary["analysis"] != usual:
                found.append(summary)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise JudgelabError(f"{path} is damaged: delete its folder, judgelab score makes it again") from error
    return sorted(found, key=lambda summary: [(str(type(v)), v) for v in map(_sortable, summary["analysis"].values())])


def _sortable(value: Any) -> float | str:
    return float(value) if isinstance(value, int | float) else str(value)


def caveats(manifest: Mapping[str, Any], items: int, records: int) -> list[str]:
    """What a reader must know before believing a figure of a run with records of so many items."""
    found = []
    science = manifest["science"]
    if science["engine"]["kind"] == "scripted":
        found.append(f"scripted engine ({science['engine']['rule']}): a rule, not a model")
    elif caveat := (manifest.get("judge") or {}).get("caveat"):
        found.append(caveat)
    expected = manifest["n_items"]
    if items < expected:
        found.append(f"incomplete: {items} of {expected} items have records")
    elif records < manifest.get("n_records", records):
        found.append(f"incomplete: {records} of {manifest['n_records']} records are there; launch the run again")
    if len({launch["engine"].get("version") for launch in manifest["launches"] if launch["engine"]}) > 1:
        found.append("launches of this run used different engine versions (see manifest.json)")
    if (manifest.get("git") or {}).get("dirty"):
        found.append("made from a checkout with uncommitted changes")
    return found
