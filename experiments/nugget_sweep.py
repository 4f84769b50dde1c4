"""How long a threshold sweep takes, its statistics and its points: python experiments/nugget_sweep.py

Made-up battles of the size of Search Arena's; each line is the best and the median of several rounds, in seconds of
this machine as it is, alone or shared. A point is what each job of a multirun over finished calls does: data, records,
all figures, their files. The first one computes what the others share.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from judgelab.metrics.distributions import distances
from judgelab.metrics.tie_threshold import GRID, decide, fold_of, held_out, resampled_sweep, sweep
from judgelab.metrics.votes import IntArray, Sampling, chosen, count
from judgelab.settings.nuggets import BothBad, Criterion


def battles(n: int, seed: int) -> tuple[npt.NDArray[np.object_], npt.NDArray[np.float64], IntArray]:
    """Questions (one a battle), score differences on a grid as nuggets give them, and votes that lean towards them."""
    rng = np.random.default_rng(seed)
    votes = rng.choice(4, n, p=[0.336, 0.345, 0.205, 0.114])
    nuggets = rng.integers(7, 31, n)
    lean = 0.15 * (votes == 2) - 0.15 * (votes == 0)
    d = np.clip(np.round(rng.normal(lean, 0.2) * 2 * nuggets), -2 * nuggets, 2 * nuggets) / (2 * nuggets)
    return np.asarray([f"q{k:06d}" for k in range(n)], dtype=object), d, votes


def points(n: int, resamples: int, seed: int, rounds: int) -> list[float]:
    """Seconds of each point of a sweep over the finished calls of a scripted judge, the first one first."""
    import asyncio
    import json
    import tempfile
    from pathlib import Path

    from judgelab import Config
    from judgelab.config import preset
    from judgelab.experiment import run_async
    from judgelab.settings import AnalysisConfig, DatasetConfig, NuggetsConfig, ScriptedConfig

    rng = np.random.default_rng(seed)
    words = [f"word{k}" for k in range(200)]

    def answer() -> str:
        return " ".join(" ".join(rng.choice(words, 10)).capitalize() + "." for _ in range(rng.integers(2, 7)))

    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "battles.jsonl"
        with data.open("w", encoding="utf-8") as file:
            for k in range(n):
                a, b = rng.choice(12, 2, replace=False)
                row = {
                    "question": f"What is known of case {k}?",
                    "response_a": answer(),
                    "response_b": answer(),
                    "winner": str(rng.choice(["model_a", "model_b", "tie", "tie (bothbad)"])),
                    "model_a": f"system {a}",
                    "model_b": f"system {b}",
                }
                file.write(json.dumps(row) + "\n")

        def point(threshold: float | None) -> None:
            config = Config(
                protocol=NuggetsConfig(tie_threshold=threshold),
                dataset=DatasetConfig(name="battles", format="battles", path=str(data)),
                judge=preset("judge", "smollm2-135m"),
                engine=ScriptedConfig(rule="word_overlap"),
                analysis=AnalysisConfig(resamples=resamples),
                runs_dir=folder,
                seed=seed,
            )
            asyncio.run(run_async(config, page=False))

        point(None)
        return [each for k in range(rounds + 1) for each in measured(lambda k=k: point(k / 100), 1)]  # type: ignore[misc]


def measured(work: Callable[[], object], rounds: int) -> list[float]:
    """Seconds of each round."""
    seconds = []
    for _ in range(rounds):
        started = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - started)
    return seconds


def main(arguments: argparse.Namespace) -> None:
    """Measure and print."""
    groups, d, votes = battles(arguments.battles, arguments.seed)
    sampling = Sampling(0.95, arguments.resamples, arguments.seed)
    folds = fold_of(groups, 5, arguments.seed)

    def point() -> object:
        counted = count(groups, votes, {"nuggets": chosen(decide(d, 0.07))}, sampling)
        return counted.figures("nuggets", BothBad.tie)

    def held() -> object:
        return held_out(groups, d, votes, folds, Criterion.equal_shares, BothBad.tie)

    work: Sequence[tuple[str, Callable[[], object]]] = (
        ("one threshold, all figures with intervals", point),
        (f"{len(GRID)} thresholds, resampled tables alone", lambda: resampled_sweep(groups, d, votes, sampling)),
        (
            f"{len(GRID)} thresholds, choice and figures with intervals",
            lambda: sweep(groups, d, votes, Criterion.equal_shares, BothBad.tie, sampling),
        ),
        ("held-out thresholds, 5 folds", held),
        ("three KS distances, intervals and permutations", lambda: distances(groups, d, votes, sampling)),
    )
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    print(
        f"{arguments.battles} battles, {arguments.resamples} resamples, {arguments.rounds} rounds, "
        f"{os.cpu_count()} CPUs, load before {load}"
    )
    print(f"{'what':52}  {'best s':>8}  {'median s':>8}")
    for name, each in work:
        seconds = measured(each, arguments.rounds)
        _line(name, seconds)
    first, *others = points(arguments.battles, arguments.resamples, arguments.seed, arguments.rounds)
    _line("first point of a multirun over finished calls", [first])
    _line("each further point", others)


def _line(name: str, seconds: Sequence[float]) -> None:
    print(f"{name:52}  {min(seconds):8.3f}  {statistics.median(seconds):8.3f}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--battles", type=int, default=5103)
    parser.add_argument("--resamples", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    main(parser.parse_args())
