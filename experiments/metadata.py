"""What runs ask of a shared file system: python experiments/metadata.py [--runs 1000 --nodes 64 --items 1000]

Traces real runs of the scripted engine with strace and counts what touches their folder: operations on names
(open, stat, list, rename, lock, ...) and bytes. From runs of two sizes it tells what an item costs and what a run costs
whatever its size; from runs after others, what grows with the number of runs that share a call cache; from all of
these, what a sweep costs. It needs Linux and strace.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

CALLS = "%file,%desc"
# By name: each asks the metadata server. Reads, writes and what only moves in an open file do not.
_LINE = re.compile(r"^(?:\d+ +)?(\w+)\((.*)\) += (-?\d+)")
_QUIET = frozenset(
    (
        *("read", "readv", "pread64", "write", "writev", "pwrite64", "lseek", "close", "dup", "dup2", "dup3", "fcntl"),
        *("ioctl", "mmap", "poll", "ppoll", "select", "pselect6", "epoll_ctl", "epoll_wait", "epoll_pwait", "pipe2"),
        *("fadvise64", "sendfile", "copy_file_range"),
    )
)
_READ, _WRITTEN = frozenset({"read", "readv", "pread64"}), frozenset({"write", "writev", "pwrite64"})


@dataclass(frozen=True)
class Cost:
    """What one process asked below a folder: operations on names by kind, and bytes."""

    operations: Counter[str]
    read: int
    written: int

    @property
    def names(self) -> int:
        """All operations on names."""
        return self.operations.total()


@dataclass(frozen=True)
class Item:
    """What one item more costs."""

    names: float
    read: float
    written: float

    @classmethod
    def between(cls, small: Cost, large: Cost, items: int) -> Item:
        """From two runs of which the larger has `items` more."""
        return cls(
            (large.names - small.names) / items,
            (large.read - small.read) / items,
            (large.written - small.written) / items,
        )


def cost_of(trace: str, folder: str) -> Cost:
    """Read a trace of `strace -f -y`; calls that do not name `folder` are somebody else's."""
    operations: Counter[str] = Counter()
    read = written = 0
    for line in trace.splitlines():
        if folder not in line or (found := _LINE.match(line)) is None:
            continue
        call, _, result = found.groups()
        if call in _READ:
            read += max(0, int(result))
        elif call in _WRITTEN:
            written += max(0, int(result))
        elif call not in _QUIET:
            operations[call] += 1
    return Cost(operations, read, written)


def questions(path: Path, items: int, topic: str) -> Path:
    """A file of questions of which no other topic has any."""
    rows = (
        {"question": f"Which town lies at the end of {topic} {n}?", "answers": [f"Town {n:04d}ville"], "type": "GPE"}
        for n in range(items)
    )
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def traced(runs: Path, data: Path) -> Cost:
    """The cost of one run over `data`, with `runs` as the shared folder."""
    trace = runs.with_name("trace")
    command = [
        *("strace", "-f", "-y", "-s", "0", "-o", str(trace), "-e", f"trace={CALLS}"),
        *(sys.executable, "-m", "judgelab", "run", "engine=scripted", "dataset=plain"),
        *(f"dataset.path={data}", "analysis.resamples=200", f"runs_dir={runs}"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"metadata: the traced run failed: {done.stderr.strip()[-500:]}")
    return cost_of(trace.read_text(errors="replace"), str(runs))


def main(words: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--nodes", type=int, default=64)
    parser.add_argument("--runs", type=int, default=1000, help="runs of the sweep")
    parser.add_argument("--sharing", type=int, default=20, help="runs of the sweep that share one judge's call cache")
    parser.add_argument("--items", type=int, default=1000, help="items of a run")
    parser.add_argument("--sizes", type=int, nargs=2, default=(50, 250), help="items of the traced runs")
    parser.add_argument("--earlier", type=int, default=10, help="runs before the last traced one")
    arguments = parser.parse_args(words)
    if shutil.which("strace") is None:
        sys.exit("metadata: strace is not on the PATH (install the package strace)")
    few, more = arguments.sizes
    with tempfile.TemporaryDirectory() as place:
        here = Path(place).resolve()
        small = traced(here / "small", questions(here / "few.jsonl", few, "road"))
        large = traced(here / "large", questions(here / "more.jsonl", more, "road"))
        together = [
            traced(here / "together", questions(here / f"{n}.jsonl", few, f"street {n}, number"))
            for n in range(arguments.earlier + 1)
        ]
    item = Item.between(small, large, more - few)
    fixed = small.names - item.names * few
    last, first = together[-1], together[0]
    grown = (last.names - first.names) / arguments.earlier
    reread = (last.read - first.read) / arguments.earlier / few  # bytes an item of each earlier run
    print(f"{'one run of':24} {'names':>8} {'read, KB':>10} {'written, KB':>12}")
    for what, cost in (
        (f"{few} items", small),
        (f"{more} items", large),
        (f"{few} items after {arguments.earlier} runs", last),
    ):
        print(f"{what:24} {cost.names:8,} {cost.read / 1e3:10,.0f} {cost.written / 1e3:12,.0f}")
    print(f"names by kind, {more} items: {dict(large.operations.most_common())}")
    print(f"an item: {item.names:.2f} operations on names, {item.read:,.0f} bytes read, {item.written:,.0f} written")
    print(
        f"a run: {fixed:,.0f} operations on names, and for each earlier run that shares its call cache {grown:.1f} "
        f"and {reread:,.0f} bytes read an item"
    )
    sharing = (arguments.sharing - 1) / 2  # earlier runs, on average
    names = fixed + item.names * arguments.items + grown * sharing
    read = item.read * arguments.items + reread * arguments.items * sharing
    print(
        f"a sweep of {arguments.runs:,} runs of {arguments.items:,} items, {arguments.sharing} a judge: "
        f"{names * arguments.runs / 1e6:.2f} million operations on names, "
        f"{item.written * arguments.items * arguments.runs / 1e9:,.1f} GB written, "
        f"{read * arguments.runs / 1e9:,.1f} GB read; on {arguments.nodes} nodes at ten minutes a run "
        f"{names * arguments.nodes / 600:,.0f} operations on names a second"
    )


if __name__ == "__main__":
    main()
