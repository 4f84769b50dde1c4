"""The tables of a nuggets run as CSV.

Invariant: every figure stands beside its interval and n.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from judgelab.metrics.arena import NuggetFigures
from judgelab.metrics.estimate import Estimate
from judgelab.metrics.vote_groups import VoteGroup
from judgelab.metrics.votes import FIGURES, PREDICTED, VOTES, Matrix
from judgelab.report.csv_text import as_csv

_SWEPT = ("agreement", "kappa", "inversion_all", "predicted_tie")


def csv_files(found: NuggetFigures) -> Mapping[str, str]:
    """File name -> content: matrices, sweep, scores, by_class, by_language, ranks, two_stage, odds, label_runs, curves;
    a file without rows still has its header."""
    matrices = {
        "held_out": found.matrix,
        "in_sample": found.matrix_in_sample,
        "pairwise": found.matrix_pairwise,
    }
    sides = ("people", "nuggets", "pairwise")
    return {
        "matrices.csv": as_csv(
            ("rule", "vote", *(f"predicted_{name}" for name in PREDICTED)),
            ((rule, *row) for rule, matrix in matrices.items() for row in _rows(matrix)),
        ),
        "sweep.csv": as_csv(
            ("threshold", "tie_as_a", "tie_as_tie", "tie_as_b", *_heads(_SWEPT)),
            (
                (point.threshold, *point.tie_shares, *_flat(point.figures[name] for name in _SWEPT))
                for point in found.sweep.points
            ),
        ),
        "scores.csv": as_csv(
            ("score", "threshold_in_sample", "folds", *_heads(FIGURES)),
            (
                (row.score, row.threshold, found.scores.taken.get(row.score, 0), *_figures(row.figures))
                for row in found.scores.rows
            ),
        ),
        "by_class.csv": _groups("class", found.by_class),
        "by_language.csv": _groups("language", found.by_language),
        "ranks.csv": as_csv(
            ("system", "battles", *_heads(sides)),
            ((row.system, row.battles, *_flat(row.scores.get(side) for side in sides)) for row in found.ranks.rows),
        ),
        "two_stage.csv": as_csv(
            ("rule", "battles", "by_nuggets", *_heads(FIGURES)),
            ((row.rule, row.battles, row.by_nuggets, *_figures(row.figures)) for row in found.two_stage.rows),
        ),
        "odds.csv": as_csv(
            ("difference", "p_model_a", "p_tie", "p_model_b"),
            ((o.difference, o.model_a, o.tie, o.model_b) for o in found.odds),
        ),
        "label_runs.csv": as_csv(
            ("system", "answers", *_heads(("judge", "people"))),
            ((row.system, row.answers, *_flat([row.judge, row.people])) for row in found.meta.runs),
        ),
        "curves.csv": as_csv(
            ("vote", "n", "difference", "kde"),
            ((c.vote, c.n, x, y) for c in found.curves for x, y in zip(c.points, c.kde, strict=False)),
        ),
    }


def _rows(matrix: Matrix) -> Iterable[Sequence[object]]:
    return ((vote, *counts) for vote, counts in zip(VOTES, matrix.counts, strict=True))


def _groups(column: str, groups: Iterable[VoteGroup]) -> str:
    return as_csv((column, "battles", *_heads(FIGURES)), ((g.name, g.battles, *_figures(g.figures)) for g in groups))


def _figures(figures: Mapping[str, Estimate]) -> list[object]:
    return _flat(figures.get(name) for name in FIGURES)


def _heads(names: Iterable[str]) -> list[str]:
    return [f"{name}{part}" for name in names for part in ("", "_lo", "_hi", "_n")]


def _flat(estimates: Iterable[Estimate | None]) -> list[object]:
    return [
        part
        for each in estimates
        for part in ((each.value, each.lo, each.hi, each.n) if each else (None, None, None, None))
    ]
