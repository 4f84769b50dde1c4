"""The tables of a nuggets run: matrices, thresholds, scores, classes, languages, ranks, and people's labels.

Invariant: every share has its interval and its n; counts are counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from judgelab.metrics.arena import NuggetFigures
from judgelab.metrics.estimate import Estimate
from judgelab.metrics.nugget_labels import LabelMatrix
from judgelab.metrics.vote_groups import VoteGroup
from judgelab.metrics.votes import PREDICTED, VOTES, Matrix
from judgelab.report.nugget_drawings import figures
from judgelab.report.parts import Column, Row, Section, TableView, table
from judgelab.report.run_report import RunReport
from judgelab.settings import BothBad

_THREE = (Column("agreement", "estimate"), Column("kappa", "estimate"), Column("inversions, of all", "estimate"))
_NAMES = ("agreement", "kappa", "inversion_all")
_NO_BATTLES = "the run has no battle with a vote"


def sections(report: RunReport, found: NuggetFigures) -> tuple[Section, ...]:
    """What stands below the headline; parts of which the run has no case are left out."""
    out = []
    how = "held-out thresholds" if found.folds else "the given threshold"
    if found.matrix.n:
        out += [
            Section(
                "Votes and predictions",
                (
                    _matrix(found.matrix, f"nuggets, {how}"),
                    _matrix(found.matrix_in_sample, "nuggets, threshold chosen in sample"),
                    _matrix(found.matrix_pairwise, "pairwise judge, both orders"),
                    _assumptions(report, found),
                ),
            ),
            Section("Threshold", (_folds(found), _sweep(found))),
            Section("The six scores", (_scores(found),)),
        ]
    out.append(Section("Figures", figures(report, found)))
    if found.matrix.n:
        out += [
            Section("Where it differs", (_groups("class", found.by_class), _groups("language", found.by_language))),
            Section("Against the pairwise judge", (_two_stage(found), _order(report))),
            Section("Systems ranked", (_ranks(found),)),
            Section("Calibrated predictor", (_odds(found),)),
        ]
    if found.meta.support or found.meta.importance:
        out.append(
            Section(
                "Against people's labels",
                (
                    _label_figures(found),
                    _labels("support", found.meta.support),
                    _labels("importance", found.meta.importance),
                    _runs(found),
                ),
            )
        )
    return tuple(out)


def _matrix(matrix: Matrix, what: str) -> TableView:
    rows = []
    for vote, counts in zip(VOTES, matrix.counts, strict=True):
        total = sum(counts)
        shares = tuple(f"{n:,.0f} ({n / total:.3f})" if total else "0" for n in counts)
        rows.append(Row(vote, shares, f"{total:,.0f} votes"))
    columns = [Column(f"predicted {name}") for name in PREDICTED]
    return table(f"Votes (rows) by prediction: {what}", "vote", columns, rows, "" if matrix.n else _NO_BATTLES)


def _assumptions(report: RunReport, found: NuggetFigures) -> TableView:
    chosen = report.summary["analysis"]["bothbad"]
    names = {
        "": "as analysed, held out" if found.folds else "as analysed",
        "_in_sample": "threshold chosen in sample",
        **{f"_bothbad_{b}": f"votes that both are bad: {b}" for b in BothBad if b != chosen},
        "_failed_left_out": "failed labels left out",
        "_selected_score": "score chosen on the other folds too",
        "_calibrated": "the likeliest outcome of the calibrated predictor",
    }
    rows = [
        Row(title, tuple(report.metrics.get(f"{n}{suffix}", "–") for n in _NAMES), main=not suffix)
        for suffix, title in names.items()
        if f"agreement{suffix}" in report.metrics
    ]
    return table("The same battles under other assumptions", "assumption", _THREE, rows)


def _folds(found: NuggetFigures) -> TableView:
    rows = [Row(str(f.number), (f"{f.questions:,}", f"{f.battles:,}", f"{f.threshold:.2f}")) for f in found.folds]
    columns = [Column("questions"), Column("battles"), Column("threshold from the others")]
    missing = "" if rows else "the threshold was given, not chosen"
    return table("Folds, each with the threshold that the others chose", "fold", columns, rows, missing)


def _sweep(found: NuggetFigures) -> TableView:
    columns = [Column("agreement", "estimate"), Column("kappa", "estimate"), Column("human ties as a / tie / b")]
    rows = [
        Row(
            f"{point.threshold:.2f}",
            (
                point.figures["agreement"],
                point.figures["kappa"],
                " / ".join(f"{share:.2f}" for share in point.tie_shares),
            ),
        )
        for point in found.sweep.points
    ]
    return table("The whole sweep, in sample: every threshold sees the battles it is judged on", "t", columns, rows)


def _scores(found: NuggetFigures) -> TableView:
    rows = [
        Row(
            row.score.replace("_", " "),
            (*(row.figures[name] for name in _NAMES), f"{row.threshold:.2f}"),
            f"taken by {found.scores.taken.get(row.score, 0)} folds",
        )
        for row in found.scores.rows
    ]
    columns = [*_THREE, Column("threshold in sample")]
    how = "held out" if found.folds else "at the given threshold"
    return table(f"The six scores, {how}; these intervals hold for all six at once", "score", columns, rows)


def _groups(what: str, groups: Sequence[VoteGroup]) -> TableView:
    rows = [
        Row(g.name.replace("_", " "), tuple(g.figures[n] for n in _NAMES), f"({g.battles:,} battles)") for g in groups
    ]
    columns = list(_THREE)
    missing = "" if rows else f"no question has a {what}"
    return table(f"By {what} of the question", what, columns, rows, missing)


def _two_stage(found: NuggetFigures) -> TableView:
    rows = [
        Row(
            row.rule.replace("_", " "),
            tuple(row.figures[n] for n in _NAMES),
            f"({row.by_nuggets:,} of {row.battles:,} by nuggets)",
        )
        for row in found.two_stage.rows
    ]
    missing = "" if rows else "needs the pairwise judge and the classes of questions"
    return table(
        "Nuggets, the pairwise judge, and the two-stage rule, on the same battles", "rule", _THREE, rows, missing
    )


def _order(report: RunReport) -> TableView:
    names = {
        "agreement_pairwise": "agreement, both orders (a disagreement is a tie)",
        "agreement_pairwise_first": "agreement, answer a shown first",
        "order_consistency": "same verdict in both orders",
        "position_bias": "the answer shown first wins",
        "order_flip_first": "took the first in both orders",
        "order_flip_second": "took the second in both orders",
        "two_stage_minus_nuggets_agreement": "two-stage minus nuggets, points",
        "two_stage_minus_pairwise_agreement": "two-stage minus pairwise, points",
        "nuggets_minus_pairwise_agreement": "nuggets minus pairwise, points",
    }
    return _listed("The pairwise judge", names, report.metrics)


def _ranks(found: NuggetFigures) -> TableView:
    rows = found.ranks.rows
    sides = [side for side in ("people", "nuggets", "pairwise") if rows and side in rows[0].scores]
    columns = [Column(side, "estimate") for side in sides]
    lines = [Row(r.system, tuple(r.scores[s] for s in sides), f"({r.battles:,} battles)") for r in rows]
    missing = "" if lines else "there are not two systems that met"
    return table("Bradley-Terry scores on Elo's scale, by who decides the battles", "system", columns, lines, missing)


def _odds(found: NuggetFigures) -> TableView:
    rows = [Row(f"{o.difference:+.2f}", (f"{o.model_a:.3f}", f"{o.tie:.3f}", f"{o.model_b:.3f}")) for o in found.odds]
    columns = [Column("p(model_a)"), Column("p(tie)"), Column("p(model_b)")]
    missing = "" if rows else "there are too few votes to fit one"
    return table("What a difference of scores (b minus a) means for the vote", "difference", columns, rows, missing)


def _label_figures(found: NuggetFigures) -> TableView:
    names = {
        "label_accuracy": "support: accuracy, three grades",
        "label_kappa": "support: kappa, three grades",
        "label2_accuracy": "support: accuracy, two grades",
        "label2_kappa": "support: kappa, two grades",
        "importance_accuracy": "importance: accuracy",
        "importance_kappa": "importance: kappa",
        "run_tau": "tau of the runs' mean scores",
        "cell_tau": "tau of the answers' scores within topics",
    }
    return _listed("The judge's labels against people's", names, found.meta.metrics)


def _labels(what: str, matrix: LabelMatrix | None) -> TableView:
    if matrix is None:
        return table(f"Labels of {what}", "people", [], [], f"people gave no labels of {what}")
    rows = [
        Row(label, tuple(f"{n:,}" for n in counts), f"{sum(counts):,} labels")
        for label, counts in zip(matrix.labels, matrix.counts, strict=True)
    ]
    columns = [Column(f"judge: {label}") for label in matrix.labels]
    return table(f"Labels of {what}: people (rows) by judge", "people", columns, rows)


def _runs(found: NuggetFigures) -> TableView:
    rows = [Row(r.system, (r.judge, r.people), f"({r.answers:,} answers)") for r in found.meta.runs]
    columns = [Column("by the judge's labels", "estimate"), Column("by people's", "estimate")]
    return table("Mean score of each system", "system", columns, rows, "" if rows else "no system has labels by people")


def _listed(caption: str, names: Mapping[str, str], metrics: Mapping[str, Estimate]) -> TableView:
    rows = [Row(title, (metrics[name],)) for name, title in names.items() if name in metrics and metrics[name].n]
    missing = "" if rows else "there is no case of it in this run"
    return table(caption, "figure", [Column("value", "estimate")], rows, missing)
