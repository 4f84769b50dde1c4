"""The command line: `run score report compare reproduce export serve models doctor cache search`.

Invariant: what the user can mend is told in one line on standard error, with exit code 1 (failed), 2 (usage) or 85
(stopped, to be launched again); `judgelab --help` loads nothing heavy.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judgelab import commands, composition
from judgelab import config as cfg
from judgelab.drain import Drain
from judgelab.errors import EXIT_FAILED, EXIT_OK, EXIT_USAGE, JudgelabError, UsageError

if TYPE_CHECKING:
    from judgelab.experiment import Result

EVIDENCE = Path("runs/.cache/evidence")
SERVERS = Path("runs/.servers")
RUN_HELP = """\
usage: judgelab run [key=value ...] [-m] [--cfg job]

Judge a dataset with a judge under a protocol, then score and report. The same command again resumes.

  protocol=NAME   {protocol}
  dataset=NAME    {dataset}
  judge=NAME      {judge}
  engine=NAME     {engine}
  search=NAME     {search}
  experiment=NAME {experiment}

  limit=N seed=N in_flight=N shard=k/n runs_dir=DIR cache_dir=DIR retry_failed=true max_unscored=SHARE
  protocol.KEY= dataset.KEY= judge.KEY= engine.KEY= search.KEY= analysis.KEY=   (all keys: judgelab run --cfg job)
  engine.args.NAME=VALUE   any engine argument of vLLM by its own name

  -m              multirun: every combination of comma-separated values, such as
                  judgelab run -m protocol.swap=type_preserving,type_changing seed=0,1
  --cfg job       print the composed config and stop
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        if words[:1] == ["run"]:
            return run(words[1:])
        arguments = _parser().parse_args(words)
        if arguments.command is None:
            _parser().print_help()
            return EXIT_USAGE
        code: int = arguments.handler(arguments)
        return code
    except JudgelabError as error:
        return _fail(error)
    except BrokenPipeError:
        # The reader of our output is gone (`| head`); there is nobody left to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_FAILED
    except OSError as error:
        return _fail(_from_system(error))
    except KeyboardInterrupt:
        print("judgelab: interrupted", file=sys.stderr)
        return 130


def _fail(error: JudgelabError) -> int:
    print(f"judgelab: {' '.join(str(error).split())}", file=sys.stderr)
    return error.exit_code


def _from_system(error: OSError) -> JudgelabError:
    """What the file system or the network refused, as one of ours."""
    where = f"{error.filename}: " if error.filename else ""
    return JudgelabError(f"{where}{error.strerror or error}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="judgelab", description="Can an open-weight model be trusted as a judge? Put it to the test."
    )
    from judgelab import __version__

    parser.add_argument("--version", action="version", version=f"judgelab {__version__}")
    words = parser.add_subparsers(dest="command", metavar="COMMAND")

    def command(name: str, handler: Callable[[argparse.Namespace], int], text: str) -> argparse.ArgumentParser:
        sub = words.add_parser(name, help=text, description=text)
        sub.set_defaults(handler=handler)
        return sub

    def settable(sub: argparse.ArgumentParser) -> None:
        text = "such as analysis.level=0.99 or, for nuggets, protocol.tie_threshold=0.1"
        sub.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help=text)

    words.add_parser("run", help="judge, score and report; takes Hydra overrides (judgelab run --help)")
    sub = command("score", commands.score_runs, "Compute the figures of runs from their records; needs no model.")
    sub.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="run directory, or a folder of them")
    settable(sub)
    sub = command("report", commands.report_runs, "Write one self-contained HTML page for one or several runs.")
    sub.add_argument("runs", nargs="+", type=Path, metavar="RUN")
    sub.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help="the page to write")
    settable(sub)
    sub = command(
        "compare", commands.compare_runs, "Set runs beside the first one: flips and paired tests on common judgments."
    )
    sub.add_argument("runs", nargs="+", type=Path, metavar="RUN")
    sub.add_argument("-o", "--output", type=Path, metavar="FILE", help="also write the table as CSV")
    sub.add_argument("--flips", action="store_true", help="list every judgment whose verdict differs")
    sub = command("reproduce", commands.reproduce_run, "Run a stored config afresh and list every verdict that flips.")
    sub.add_argument("run", type=Path, metavar="RUN")
    sub.add_argument("-o", "--output", type=Path, metavar="DIR", help="where the fresh run goes")
    sub = command("export", commands.export_run, "Write a nuggets run in nuggetizer's own files.")
    sub.add_argument("run", type=Path, metavar="RUN")
    sub.add_argument("-o", "--output", type=Path, required=True, metavar="DIR", help="where the files go")
    sub = command(
        "serve", commands.serve_judge, "Serve one judge for many runs: engine=server engine.registry=DIR finds it."
    )
    sub.add_argument(
        "overrides", nargs="*", metavar="KEY=VALUE", help="such as judge=qwen2.5-7b engine.args.NAME=VALUE"
    )
    sub.add_argument("--registry", type=Path, default=SERVERS, metavar="DIR", help=f"default {SERVERS}")
    sub.add_argument("--idle", type=float, metavar="SECONDS", help="end when no run has used it for so long")
    sub = command("models", commands.judges, "List the judges known here, or fetch the weights of one.")
    actions = sub.add_subparsers(dest="action", metavar="ACTION")
    fetch = actions.add_parser("fetch", help="download the weights of judges (on a machine with network)")
    fetch.add_argument("names", nargs="+", metavar="NAME")
    sub = command("doctor", commands.doctor, "Say what works on this machine and what to do about what does not.")
    sub.add_argument("--quick", action="store_true", help="do not start an engine")
    sub = command("cache", commands.compact_cache, "Look after the call cache.")
    actions = sub.add_subparsers(dest="action", metavar="ACTION", required=True)
    compact = actions.add_parser("compact", help="merge segments and drop duplicates; no run may be working")
    compact.add_argument("folder", nargs="?", type=Path, default=Path("runs/.cache"), metavar="DIR")
    sub = command(
        "search", commands.share_searches, "Share recorded evidence, so that another judge decides on the same."
    )
    actions = sub.add_subparsers(dest="action", metavar="ACTION", required=True)
    export = actions.add_parser("export", help="write all recorded evidence into one file (.jsonl or .jsonl.gz)")
    export.add_argument("file", type=Path, metavar="FILE")
    export.add_argument("--from", dest="folder", type=Path, default=EVIDENCE, metavar="DIR", help=f"default {EVIDENCE}")
    bring = actions.add_parser("import", help="take evidence from such a file; what is known already stays")
    bring.add_argument("file", type=Path, metavar="FILE")
    bring.add_argument("--into", dest="folder", type=Path, default=EVIDENCE, metavar="DIR", help=f"default {EVIDENCE}")
    return parser


# ---------------------------------------------------------------- run


def run(words: Sequence[str]) -> int:
    """`judgelab run`: also what `experiments/run.py` calls. Returns the worst exit code of the runs made."""
    with Drain.installed() as drain:
        return _run(words, drain)


def _run(words: Sequence[str], drain: Drain) -> int:
    words = composition.open_keys(words)
    if any(word in ("--help", "-h", "--hydra-help") for word in words):
        groups = {g: ", ".join(cfg.options(g)) or "-" for g in (*cfg.GROUPS, "experiment")}
        print(RUN_HELP.format(**groups))
        return EXIT_OK
    try:
        words = composition.arrange(words)
        multirun = bool({"-m", "--multirun"} & {*words})
        composition.check([word for word in words if not word.startswith("-") and "=" in word], multirun)
    except JudgelabError as error:
        return _fail(error)
    stray = [word for word in words if not word.startswith("-") and "=" not in word]
    if stray and not {"--cfg", "-c", "--info", "-i", "--package", "-p"} & {*words}:
        return _fail(UsageError(f"cannot read {stray[0]!r}: write overrides as key=value (judgelab run --help)"))
    import hydra

    composition.register()
    codes: list[int] = []
    here = os.getpid()

    def task(composed: Any) -> None:
        if drain.requested and codes:
            return  # told once is enough: the runs that are left are not begun
        try:
            _run_one(composed, drain)
        except (JudgelabError, OSError) as error:
            codes.append(_fail(error if isinstance(error, JudgelabError) else _from_system(error)))
            if os.getpid() != here:
                raise  # a launcher's job elsewhere: its exit is all that comes back

    before, sys.argv = sys.argv, ["judgelab run", *words]
    try:
        hydra.main(version_base="1.3", config_path=str(cfg.conf_dir()), config_name="config")(task)()
    finally:
        sys.argv = before
    return max(codes, default=EXIT_OK)


def _run_one(composed: Any, drain: Drain) -> None:
    import asyncio

    from hydra.core.hydra_config import HydraConfig
    from hydra.types import RunMode

    from judgelab.experiment import check_unscored, run_async

    config = composition.from_hydra(composed)
    sweep = HydraConfig.get().mode is RunMode.MULTIRUN
    result = asyncio.run(run_async(config, drain=drain, fetch=commands.fetch_embedded, page=not sweep))
    if result.summary is None:
        commands.say(f"{result.missing} records are still missing in {result.path}: other shards have them to do")
        return
    from judgelab.report.tables import print_summary

    print_summary(result.summary)
    print(f"\n{_where(result)}")
    check_unscored(result, config.max_unscored)


def _where(result: Result) -> str:
    """Where the figures of a run stand: its page, or for a point of a sweep the summary and how to get a page."""
    folder = result.figures or result.path
    if (folder / "report.html").exists():
        return f"report: {folder / 'report.html'}"
    return f"figures: {folder / 'summary.json'} (page: judgelab score {result.path} --set KEY=VALUE)"


if __name__ == "__main__":
    sys.exit(main())
