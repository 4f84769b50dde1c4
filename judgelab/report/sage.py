"""How SAGE is shown: agreement with people beside the judge without evidence, and the evidence itself.

Invariant: no agreement stands without the share of True, for a judge that always says True agrees often.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from judgelab.metrics.paired import holm
from judgelab.metrics.sage_figures import SageFigures
from judgelab.records import Record
from judgelab.report.headline import remarks
from judgelab.report.numbers import number
from judgelab.report.parts import (
    Column,
    Detail,
    FigureView,
    Headings,
    Judgment,
    Layout,
    Note,
    Presentation,
    Row,
    Section,
    TableView,
    table,
)
from judgelab.report.run_report import RunReport
from judgelab.report.sage_csv import csv_files
from judgelab.report.sage_drawings import figures
from judgelab.report.sage_tables import sections
from judgelab.subjects import Step, Trial

MAIN = ("accuracy", "kappa", "macro_f1")
LAYOUT = Layout(
    headline={
        "accuracy": "accuracy against people",
        "kappa": "kappa (Cohen)",
        "macro_f1": "macro-F1",
        "ac1": "AC1 (Gwet)",
        "sensitivity": "right answers called True",
        "specificity": "wrong answers called False",
        "base_rate": "share that people call True",
    },
    main=MAIN,
    test=("mcnemar_none", "with against without evidence, McNemar p, Holm"),
    baselines={
        "always_true": "always True",
        "always_false": "always False",
        "random": "random",
        "em": "EM",
        "f1": "F1 of .5",
        "contains": "Contains",
    },
    quality={
        "accuracy_none": "accuracy without evidence",
        "kappa_none": "kappa without evidence",
        "accuracy_difference": "accuracy, with minus without, points",
        "kappa_difference": "kappa, with minus without",
        "mcnemar_none": "with against without, McNemar p",
        "accuracy_reference": "accuracy of the reference judge",
        "kappa_reference": "kappa of the reference judge",
        "accuracy_vs_reference": "accuracy against the reference judge",
        "kappa_vs_reference": "kappa against the reference judge",
        "human_accuracy": "one person against another",
        "human_kappa": "kappa between people",
        "accuracy_best": "accuracy, unscored for the judge",
        "accuracy_worst": "accuracy, unscored against it",
        "unscored_share": "judgments unscored",
        "empty_search_share": "searches that found nothing",
        "repeated_query_share": "queries asked before",
        "auroc": "AUROC of p(True)",
        "brier": "Brier score of p(True)",
        "ece": "ECE of p(True)",
    },
    trivial={
        "accuracy_difference": "no gain: 0.0",
        "kappa_difference": "no gain: 0.000",
        "mcnemar_none": "no difference: 1.000",
        "kappa_none": "chance: 0.000",
        "kappa_reference": "chance: 0.000",
        "kappa_vs_reference": "chance: 0.000",
        "human_kappa": "chance: 0.000",
        "unscored_share": "full coverage: 0.000",
        "empty_search_share": "always found: 0.000",
        "repeated_query_share": "never: 0.000",
        "auroc": "chance: 0.500",
        "brier": "base rate: {brier_base_rate}",
        "ece": "base rate: 0.000",
    },
)
_CELLS = {"judged": "the judge", "none": "the judge without evidence", "reference": "the judge with gold answers"}


def together(reports: Sequence[RunReport]) -> tuple[TableView | FigureView, ...]:
    """The main figures of each run, with and without evidence."""
    adjusted = holm([report.metrics["mcnemar_none"].value for report in reports])
    columns = [Column(LAYOUT.headline[name], "estimate") for name in MAIN]
    rows = [
        Row(
            r.judge,
            (*(r.metrics[name] for name in MAIN), r.metrics["accuracy_difference"], number(p, "p")),
            remark,
            link=r.anchor,
        )
        for r, p, remark in zip(reports, adjusted, remarks(reports), strict=True)
    ]
    gain = Column("gain over no evidence, points", "estimate")
    return (table("Main figures of each run.", "run", [*columns, gain, Column("McNemar p, Holm")], rows),)


def judgment(record: Record) -> Judgment:
    """One verdict on one answer, right if people (or, where nobody said, nobody) agree, with all its evidence."""
    subject = record.subject
    assert isinstance(subject, Trial)
    truth = "" if subject.human is None else str(subject.human)
    if record.verdict is None:
        result = "unscored"
    elif not truth:
        result = "no human verdict"
    else:
        result = "right" if record.verdict == truth else "wrong"
    stances = ", ".join(dict.fromkeys(step.stance for step in subject.steps if step.stance))
    return Judgment(
        result=result,
        truth=truth,
        group=subject.system,
        flags=stances,
        question=subject.question,
        given=" | ".join(step.evidence or step.status for step in subject.steps),
        judged=subject.candidate,
        p=(record.probabilities or {}).get("True"),
        facts=(
            _CELLS.get(record.cell, record.cell),
            f"gold answers: {'; '.join(subject.answers) or 'none'}",
            *(["stopped early"] if subject.stopped_early else []),
        ),
        details=tuple(_step(number, step) for number, step in enumerate(subject.steps, 1)),
    )


def _step(number_: int, step: Step) -> Detail:
    """What was asked, what came back from where, and what the judge made of it."""
    asked = "asked before, " if step.repeated else ""
    source = f", {step.engine} {step.fetched_at}" if step.engine else ""
    rows = [("query", f"{step.query} ({asked}{step.status}{source})")]
    rows += [(f"result {r.rank}", f"{r.title}\n{r.text}\n{r.url}".strip()) for r in step.results]
    rows += [("summary", f"{step.evidence} (from results {', '.join(map(str, step.sources)) or 'none'})")]
    if step.stance:
        rows += [("reflection", f"{step.stance}; missing: {step.missing or 'nothing'}")]
    return Detail(f"search {number_}", ("what", "text"), tuple(rows))


def notes(report: RunReport) -> tuple[Note, ...]:
    """The words of the page."""
    truth = report.summary["analysis"]["truth"]
    return (
        Note(
            "The test",
            "The judge decides whether an answer to a question is right. It searches, summarises what it finds, says "
            "what is missing, and searches again, before it decides (cell judged). The same judge also decides without "
            "any evidence (cell none) and with the gold answers in hand (cell reference).",
        ),
        Note(
            "Truth",
            f"Whose verdict counts as true: {truth}. Auto takes people's where there are any, else that of the "
            "reference judge, and the method of each figure says which.",
        ),
        Note(
            "Kappa, macro-F1, AC1",
            "Most answers of a good system are right, so always saying True agrees often. Kappa takes off what chance "
            "agreement gives, macro-F1 gives right and wrong answers the same weight, and AC1 stays steady where one "
            "verdict is rare. Read them with the share that people call True.",
        ),
        Note(
            "Corrected accuracy",
            "The share of right answers that a system has, once the judge's own errors are taken off: Rogan and "
            "Gladen's estimate from the judge's sensitivity and specificity, with an interval that counts the "
            "uncertainty of both.",
        ),
        Note(
            "Evidence",
            "Every search is kept with its engine and time, and can be given to another judge word for word "
            "(search=replay), so that a difference between judges is not a difference between searches.",
        ),
        Note(
            "EM, F1, Contains",
            "Comparing strings instead of judging: equal to a gold answer, sharing half of its words, or holding it.",
        ),
    )


def _tables(report: RunReport) -> Mapping[str, str]:
    assert isinstance(report.figures, SageFigures)
    return csv_files(report.figures)


def _sections(report: RunReport) -> tuple[Section, ...]:
    assert isinstance(report.figures, SageFigures)
    return sections(report, report.figures)


def _figures(report: RunReport) -> tuple[FigureView, ...]:
    assert isinstance(report.figures, SageFigures)
    return figures(report, report.figures)


PRESENTATION = Presentation(
    layout=LAYOUT,
    headings=Headings("evidence", "answer judged", "system", "p(True)"),
    sections=_sections,
    figures=_figures,
    together=together,
    tables=_tables,
    judgment=judgment,
    notes=notes,
)
