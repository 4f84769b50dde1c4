"""How the nuggets protocol is shown: recall of facts against people's votes, and against people's labels.

Invariant: a figure at a chosen threshold is held out, and its in-sample twin stands beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from judgelab.metrics.arena import NuggetFigures
from judgelab.report.headline import remarks
from judgelab.report.nugget_csv import csv_files
from judgelab.report.nugget_drawings import figures
from judgelab.report.nugget_judgments import judgment
from judgelab.report.nugget_tables import sections
from judgelab.report.parts import (
    Column,
    FigureView,
    Headings,
    Layout,
    Note,
    Presentation,
    Row,
    Section,
    TableView,
    table,
)
from judgelab.report.run_report import RunReport

MAIN = ("agreement", "ks_ab", "label_kappa")
LAYOUT = Layout(
    headline={
        "agreement": "agreement with votes",
        "kappa": "kappa",
        "kappa_quadratic": "kappa, quadratic weights",
        "macro_f1": "macro-F1",
        "inversion_all": "inversions, of all battles",
        "inversion_decisive": "inversions, of decisive votes",
        "accuracy_decisive": "accuracy where both decide",
        "ks_ab": "D_KS, votes for a and for b",
        "label_accuracy": "labels as people gave them",
        "label_kappa": "kappa of labels",
        "label2_kappa": "kappa of labels, two grades",
        "importance_kappa": "kappa of importance",
    },
    main=MAIN,
    baselines={
        "majority": "majority",
        "chance": "chance",
        "random": "random",
        "longer_wins": "longer wins",
        "longer_tuned": "longer, tuned",
    },
    quality={
        "threshold": "tie threshold",
        "agreement_in_sample": "agreement, in sample",
        "agreement_worst": "agreement, unscored against it",
        "agreement_best": "agreement, unscored for it",
        "gain_over_longer_wins": "gain over longer wins, points",
        "agreement_pairwise": "pairwise judge, both orders",
        "nuggets_minus_pairwise_agreement": "nuggets minus pairwise, points",
        "two_stage_agreement": "two-stage rule",
        "order_consistency": "pairwise: same in both orders",
        "position_bias": "pairwise: the first wins",
        "ks_p_ab": "D_KS, permutation p",
        "log_loss": "log loss of the calibrated predictor",
        "brier": "Brier score of the calibrated predictor",
        "rank_tau_nuggets": "tau of system ranks, nuggets",
        "rank_tau_pairwise": "tau of system ranks, pairwise",
        "run_tau": "tau of runs, by labels",
        "cell_tau": "tau within topics, by labels",
        "failed_label_share": "labels failed",
        "unscored_share": "judgments unscored",
        "nuggets_per_battle": "nuggets a question",
        "degenerate_share": "windows of repeats or templates",
    },
    trivial={
        "gain_over_longer_wins": "no gain: 0.0",
        "nuggets_minus_pairwise_agreement": "no difference: 0.0",
        "agreement_in_sample": "optimistic: never the result",
        "order_consistency": "always the first: 0.000",
        "position_bias": "no bias: 0.500",
        "ks_p_ab": "no difference: 1.000",
        "log_loss": "shares of votes: {log_loss_base_rate}",
        "brier": "shares of votes: {brier_base_rate}",
        "rank_tau_nuggets": "unrelated: 0.000",
        "rank_tau_pairwise": "unrelated: 0.000",
        "run_tau": "word overlap on TREC RAG 2024: 0.829",
        "cell_tau": "word overlap on TREC RAG 2024: 0.490",
        "failed_label_share": "none: 0.000",
        "unscored_share": "full coverage: 0.000",
        "degenerate_share": "none: 0.000",
    },
    hide_empty=True,
)


def together(reports: Sequence[RunReport]) -> tuple[TableView | FigureView, ...]:
    """The main figures of each run."""
    names = ("agreement", "kappa", "ks_ab", "agreement_pairwise", "label_kappa")
    kept = [n for n in names if any(r.metrics[n].n for r in reports)]
    titles = {**LAYOUT.headline, **LAYOUT.quality}
    rows = [
        Row(
            r.judge,
            tuple(r.metrics[n] for n in kept),
            remark,
            link=r.anchor,
        )
        for r, remark in zip(reports, remarks(reports), strict=True)
    ]
    return (table("Main figures of each run.", "run", [Column(titles[n], "estimate") for n in kept], rows),)


def notes(report: RunReport) -> tuple[Note, ...]:
    """The words of the page."""
    analysis = report.summary["analysis"]
    threshold = analysis["tie_threshold"]
    chosen = (
        f"by {analysis['criterion'].replace('_', ' ')} on the other folds of {analysis['folds']} (questions are never "
        "split), so no figure at a chosen threshold saw its own battles; the in-sample one stands beside it"
        if threshold is None
        else f"at {threshold:g}, as given"
    )
    return (
        Note(
            "The test",
            "Facts that a good answer holds (nuggets) are listed for a question, called vital or okay, and looked for "
            "in each answer. The answer that holds more of them is predicted to win the battle; people's votes say "
            "whether it did.",
        ),
        Note(
            "Scores",
            f"Chosen here: {analysis['score'].replace('_', ' ')}. All: mean support over nuggets (partial counts "
            "half); strict: partial counts nothing; vital: over vital nuggets alone; weighted: vital 1, okay one half. "
            "A label that failed counts as nothing found; the figures with such labels left out stand in "
            "metrics.csv (failed_left_out).",
        ),
        Note(
            "Tie threshold",
            f"A tie is predicted where the two scores differ by no more than the threshold, chosen {chosen}.",
        ),
        Note(
            "Both bad",
            f"A vote that both answers are bad counts here as: {analysis['bothbad']}. The other treatments stand in "
            "the table of assumptions.",
        ),
        Note(
            "Inversions",
            "Battles in which the other answer is predicted than the one people preferred; of all battles, and of "
            "those in which people preferred one.",
        ),
        Note(
            "D_KS",
            "The largest distance between the distributions of score differences in battles won by a and won by b: 0 "
            "where nuggets say nothing, 1 where they tell the two apart. Its p-value shuffles the votes.",
        ),
        Note(
            "Longer wins",
            "The rule that the longer answer wins, in words, and the same with a tie threshold chosen like that of the "
            "nuggets (tuned). Recall of facts has to beat it.",
        ),
        Note(
            "Two-stage rule",
            "Nuggets where the question was rated knowledge-intensive, the pairwise judge elsewhere.",
        ),
        Note(
            "Six scores at once",
            "Whoever picks the best of six scores afterwards needs wider intervals: those of the table of scores hold "
            "for all six at the same time.",
        ),
    )


def _figures(report: RunReport) -> tuple[FigureView, ...]:
    assert isinstance(report.figures, NuggetFigures)
    return figures(report, report.figures)


def _sections(report: RunReport) -> tuple[Section, ...]:
    assert isinstance(report.figures, NuggetFigures)
    return sections(report, report.figures)


def _tables(report: RunReport) -> Mapping[str, str]:
    assert isinstance(report.figures, NuggetFigures)
    return csv_files(report.figures)


PRESENTATION = Presentation(
    layout=LAYOUT,
    headings=Headings("nuggets or order", "answers", "language", "p(verdict)"),
    sections=_sections,
    figures=_figures,
    together=together,
    tables=_tables,
    judgment=judgment,
    notes=notes,
)
