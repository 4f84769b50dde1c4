"""A sweep as one table a protocol: `python experiments/tabulate.py RUN... [-o FILE.csv|FILE.md]`.

One row a run with its trivial judges, a further row for each analysis that was asked for, such as the points of a
threshold sweep, and published values of the same data marked `paper`. Incomplete runs say what their processes do or
how they died, and combinations that a sweep lacks are named below the table. Runs of several protocols make several
CSV files, FILE-PROTOCOL.csv.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from judgelab.errors import JudgelabError
from judgelab.journal import write_atomic
from judgelab.report.study import Study, as_csv, as_markdown, study
from judgelab.scoring import Analysis
from judgelab.store import RunDirectory, find_runs


def main(words: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit code."""
    parser = argparse.ArgumentParser(description="One table of a set of runs, beside the published values.")
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="run directory, or a folder of them")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="FILE.csv or FILE.md (default: Markdown, printed)"
    )
    arguments = parser.parse_args(words)
    try:
        by_protocol: dict[str, list[RunDirectory]] = {}
        for run in find_runs(arguments.runs):
            by_protocol.setdefault(run.manifest["science"]["protocol"]["name"], []).append(run)
        studies = {name: study(runs, Analysis()) for name, runs in sorted(by_protocol.items())}
        _write(studies, arguments.output)
    except JudgelabError as error:
        print(f"tabulate: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def _write(studies: Mapping[str, Study], output: Path | None) -> None:
    if output is not None and output.suffix == ".csv":
        for name, each in studies.items():
            path = output if len(studies) == 1 else output.with_name(f"{output.stem}-{name}.csv")
            write_atomic(path, as_csv(each))
        return
    texts = {name: as_markdown(each) for name, each in studies.items()}
    page = "\n".join(text if len(texts) == 1 else f"## {name}\n\n{text}" for name, text in texts.items())
    if output is None:
        print(page, end="")
    else:
        write_atomic(output, page)


if __name__ == "__main__":
    sys.exit(main())
