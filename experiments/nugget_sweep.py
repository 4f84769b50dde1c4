"""How long the statistics of a threshold sweep take: python experiments/nugget_sweep.py

Made-up battles of the size of Search Arena's; each line is the best and the median of several rounds, in seconds of
this machine as it is, alone or shared.
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
        print(f"{name:52}  {min(seconds):8.3f}  {statistics.median(seconds):8.3f}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--battles", type=int, default=5103)
    parser.add_argument("--resamples", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    main(parser.parse_args())
