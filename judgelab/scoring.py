"""From records to figures: what `score` and `report` do, and the last step of every run.

Invariant: no model, no network, no clock: the same records and the same analysis settings give the same bytes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from judgelab import config as cfg
from judgelab.frames.swapped import frame
from judgelab.journal import write_atomic
from judgelab.records import Reason, Record, content_hash
from judgelab.settings import AnalysisConfig
from judgelab.store import RunDirectory

if TYPE_CHECKING:
    import pandas as pd

    from judgelab.metrics.calibration import Calibration
    from judgelab.metrics.estimate import Estimate
    from judgelab.metrics.rpag import SwappedFigures
    from judgelab.report.run_report import RunReport


@dataclass(frozen=True)
class Scored:
    """Everything computed from one run's records."""

    records: tuple[Record, ...]
    frame: pd.DataFrame
    figures: SwappedFigures
    calibration: Calibration
    summary: Mapping[str, Any]


def figures_of(run: RunDirectory, analysis: AnalysisConfig) -> Scored:
    """Compute all figures of a run, complete or not; raises JudgelabError if it has no record yet."""
    from judgelab.errors import JudgelabError
    from judgelab.metrics.calibration import calibrate
    from judgelab.metrics.rpag import swapped_figures

    records = tuple(sorted(run.records().values(), key=lambda record: record.record_id))
    if not records:
        raise JudgelabError(f"{run.path} has no finished record yet: launch the run again")
    table = frame(records)
    manifest = run.manifest
    seed = int(manifest["science"]["seed"])
    figures = swapped_figures(table, analysis, seed)
    calibration = calibrate(table, analysis.level, analysis.resamples, seed)
    metrics = {**figures.metrics, **calibration.metrics}
    unscored = {reason.value: int((table["reason"] == reason.value).sum()) for reason in Reason}
    science = manifest["science"]
    summary = {
        "protocol": science["protocol"]["name"],
        "dataset": science["dataset"]["name"],
        "judge": science["judge"]["name"],
        "engine": science["engine"]["kind"],
        "setting": _setting(science),
        "analysis": cfg.plain(analysis),
        "n_items": int(table["item_id"].nunique()),
        "complete": int(table["item_id"].nunique()) == int(manifest["n_items"]),
        "coverage": {
            "judged": int(table["verdict"].notna().sum()),
            "unscored": {reason: n for reason, n in unscored.items() if n},
        },
        "warnings": _warnings(manifest, table),
        "metrics": {name: estimate_json(each) for name, each in metrics.items()},
        "baselines": {
            judge: {name: estimate_json(each) for name, each in rows.items()}
            for judge, rows in figures.baselines.items()
        },
        "dropped": manifest.get("dropped", {}),
    }
    return Scored(records, table, figures, calibration, summary)


def _setting(science: Mapping[str, Any]) -> dict[str, str]:
    """What a reader needs to know of a run in one line."""
    asked = science["protocol"] | {"backend": science["engine"].get("backend")}
    names = ("swap", "condition", "verdict_form", "candidates", "backend")
    return {name: asked[name] for name in names if asked.get(name)}


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


def report_of(run: RunDirectory, analysis: AnalysisConfig) -> RunReport:
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
        calibration=scored.calibration,
    )


def score(run: RunDirectory, analysis: AnalysisConfig) -> Mapping[str, Any]:
    """Compute, write and return the summary, under `analysis/<hash>/`.

    The default analysis stands at the top of the run as well, also where only another one was asked for.
    """
    from judgelab.report.html import write_outputs

    default = AnalysisConfig()
    if analysis != default and not (run.path / "summary.json").exists():
        score(run, default)
    report = report_of(run, analysis)
    folders = [run.path / "analysis" / content_hash(cfg.plain(analysis), 12)]
    if analysis == default:
        folders.append(run.path)
    write_outputs(report, *folders)
    for folder in folders:  # last, so that a summary means that everything beside it is there
        text = json.dumps(report.summary, indent=1, ensure_ascii=False, allow_nan=False)
        write_atomic(folder / "summary.json", text + "\n")
    return report.summary


def _warnings(manifest: Mapping[str, Any], table: pd.DataFrame) -> list[str]:
    """What a reader must know before believing a figure."""
    found = []
    science = manifest["science"]
    if science["engine"]["kind"] == "scripted":
        found.append(f"scripted engine ({science['engine']['rule']}): a rule, not a model")
    elif caveat := (manifest.get("judge") or {}).get("caveat"):
        found.append(caveat)
    items, expected = table["item_id"].nunique(), manifest["n_items"]
    if items < expected:
        found.append(f"incomplete: {items} of {expected} items have records")
    if len({launch["engine"].get("version") for launch in manifest["launches"] if launch["engine"]}) > 1:
        found.append("launches of this run used different engine versions (see manifest.json)")
    if (manifest.get("git") or {}).get("dirty"):
        found.append("made from a checkout with uncommitted changes")
    return found
