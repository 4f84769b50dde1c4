"""How the swapped protocol is shown: RPAG, its cells, and where it differs.

Invariant: RPAG never stands without ACC_o, and neither without the judges that read nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from judgelab.metrics.accuracy import CELLS
from judgelab.metrics.estimate import Estimate
from judgelab.metrics.groups import Group
from judgelab.metrics.paired import holm
from judgelab.metrics.rpag import VERDICTS, SwappedFigures
from judgelab.records import Record
from judgelab.report import swapped_figures as draw
from judgelab.report.headline import beside, remarks
from judgelab.report.numbers import number, percent, whole_of
from judgelab.report.parts import (
    Column,
    FigureView,
    Headings,
    Judgment,
    Layout,
    Note,
    Presentation,
    Row,
    Section,
    TableView,
    figure,
    table,
)
from judgelab.report.run_report import RunReport
from judgelab.report.swapped_csv import csv_files
from judgelab.settings import NotAttempted
from judgelab.subjects import Triplet

HEADLINE = ("acc_o", "acc_s", "rpag")
LAYOUT = Layout(
    headline={
        "acc_o": "ACC_o, original reference",
        "acc_s": "ACC_s, swapped reference",
        "rpag": "RPAG = ACC_o - ACC_s, points",
        "acc_oo": "accuracy oo",
        "acc_os": "accuracy os",
        "acc_so": "accuracy so",
        "acc_ss": "accuracy ss",
        "ss_rejection": "ss marked INCORRECT",
        "not_attempted": "NOT_ATTEMPTED",
    },
    main=HEADLINE,
    test=("mcnemar_oo_ss", "McNemar p, Holm"),
    baselines={"always_a": "always A", "always_b": "always B", "random": "random", "majority": "majority"},
    quality={
        "mcnemar_oo_ss": "oo against ss, McNemar p",
        "rpag_unflagged": "RPAG, unflagged candidates",
        "rpag_best": "RPAG, unscored for the judge",
        "rpag_worst": "RPAG, unscored against it",
        "artefact_rate": "flagged candidates",
        "unscored_share": "judgments unscored",
        "auroc": "AUROC of p(CORRECT)",
        "brier": "Brier score of p(CORRECT)",
        "ece": "ECE of p(CORRECT)",
        "label_mass": "free probability on the labels",
        "known": "closed-book answers right",
    },
    trivial={
        "mcnemar_oo_ss": "no difference: 1.000",
        "auroc": "chance: 0.500",
        "brier": "base rate: {brier_base_rate}",
        "artefact_rate": "clean candidates: 0.000",
        "unscored_share": "full coverage: 0.000",
        "ece": "base rate: 0.000",
        "label_mass": "nothing forced: 1.000",
        "known": "knows nothing: 0.000",
        "rpag_unflagged": "constant judge: 0.0",
        "rpag_best": "constant judge: 0.0",
        "rpag_worst": "constant judge: 0.0",
    },
    # The baselines answer every time, so their share of NOT_ATTEMPTED is zero and not a missing number.
    absent={"not_attempted": "0.000"},
)
_TRIPLE = (Column("ACC_o", "estimate"), Column("ACC_s", "estimate"), Column("RPAG, points", "estimate"))
_GROUP = (*_TRIPLE, Column("McNemar p, Holm"))


def sections(report: RunReport) -> tuple[Section, ...]:
    """Other assumptions, cells, figures, groups and calibration."""
    found = _figures(report)
    groups = (
        _groups("By entity type", "entity type", found.by_type),
        _groups("By freshness of the answer", "freshness", found.by_freshness),
        _groups("By source of the candidates", "candidates", found.by_source),
        *(_popularity(report, of) for of in ("original", "swapped")),
    )
    return (
        Section("Coverage and other assumptions", (_variants(report), _cells(report))),
        Section("Figures", figures(report)),
        Section("Where it differs", groups),
        Section("Calibration", (_calibration(report),)),
    )


def figures(report: RunReport) -> tuple[FigureView, ...]:
    """The figures of one run, those without data included."""
    level = percent(report.level, 1)
    found = _figures(report)
    views = [
        figure(
            "rpag_by_type",
            "RPAG by entity type",
            draw.rpag_by_type(report, found),
            f"RPAG of all items, {whole_of(report.metrics['rpag'])}, and of each entity type, with {level} intervals; "
            "the numbers are in the table by entity type",
            "no judgment has a verdict under both references",
        ),
        figure(
            "verdict_mix",
            "Verdicts per cell",
            draw.verdict_mix(report, found),
            "Share of each verdict in the four cells; the numbers are in the table of verdicts per cell",
            "there is no record",
        ),
        figure(
            "reliability",
            "Reliability of p(CORRECT)",
            draw.reliability(found.calibration),
            f"Share of CORRECT truths against the judge's p(CORRECT) in ten bins with {level} Wilson intervals; "
            "the numbers are in the calibration table",
            "the verdict form of this run yields no probabilities",
        ),
    ]
    for of, each in (("original", found.by_popularity), ("swapped", found.by_swapped_popularity)):
        views.append(
            figure(
                f"popularity_{of}",
                f"RPAG by popularity of the {of} entity",
                draw.popularity(each, f"the {of} entity"),
                f"RPAG by tenths of popularity, slope {whole_of(each.slope)} per tenfold; the numbers are in the "
                "table by popularity",
                each.slope.method.removeprefix("undefined: "),
            )
        )
    return (swap_figure([report]), *views)


def swap_figure(reports: Sequence[RunReport]) -> FigureView:
    """RPAG of all runs of a report side by side."""
    numbers = "; ".join(
        f"{r.judge}, {r.setting.get('swap', '')}, {r.setting.get('condition', '')}: {whole_of(r.metrics['rpag'])}"
        for r in reports
    )
    return figure(
        "rpag_by_swap",
        "RPAG by swap type",
        draw.rpag_by_swap(reports),
        f"RPAG of each run with its interval: {numbers}",
        "no run has a verdict under both references",
    )


def together(reports: Sequence[RunReport]) -> tuple[TableView | FigureView, ...]:
    """RPAG as a forest, the headline figures of each run, and the trivial judges on the same judgments."""
    adjusted = holm([report.metrics["mcnemar_oo_ss"].value for report in reports])
    named = list(zip(reports, remarks(reports), strict=True))
    return (
        swap_figure(reports),
        table(
            "Headline figures of each run.",
            "run",
            _GROUP,
            [
                Row(r.judge, (*(r.metrics[n] for n in HEADLINE), number(p, "p")), quiet, link=r.anchor)
                for (r, quiet), p in zip(named, adjusted, strict=True)
            ],
        ),
        table(
            "Judges that read nothing, on the same judgments: ACC_o / ACC_s / RPAG",
            "run",
            [Column(LAYOUT.baselines[name]) for name in ("always_a", "always_b", "random")],
            [
                Row(r.judge, tuple(beside(r.summary, n, HEADLINE) for n in ("always_a", "always_b", "random")), quiet)
                for r, quiet in named
            ],
        ),
    )


def judgment(record: Record) -> Judgment:
    """One triplet, right if its verdict is the truth of its cell."""
    subject = record.subject
    assert isinstance(subject, Triplet)
    match record.verdict:
        case None:
            result = "unscored"
        case subject.truth:
            result = "right"
        case "NOT_ATTEMPTED":
            result = "not attempted"
        case _:
            result = "wrong"
    return Judgment(
        result=result,
        truth=subject.truth,
        group=subject.entity_type or "",
        flags=", ".join(subject.flags),
        question=subject.question,
        given=subject.reference,
        judged=subject.candidate,
        p=(record.probabilities or {}).get("CORRECT"),
        facts=(f"swap {subject.swap}", f"candidate by {subject.candidate_source}"),
    )


def notes(report: RunReport) -> tuple[Note, ...]:
    """The words of the page."""
    coding = str(report.summary["analysis"]["not_attempted"])
    return (
        Note(
            "The test",
            "Each question has its original reference and a swapped one, and one answer that asserts each. The judge "
            "sees all four pairs. It is right if it follows the reference that it is given: CORRECT where reference "
            "and answer agree, INCORRECT where they differ. With alias swaps the meaning stays, so CORRECT is right "
            "in every cell. The first letter of a cell says whose reference was given (o original, s swapped), the "
            "second whose answer was judged.",
        ),
        Note(
            "RPAG",
            "Accuracy under the original reference minus accuracy under the swapped one, in percentage points. Near 0 "
            "the judge follows either reference alike; above 0 something, such as its own memory, keeps it from "
            "following the swapped one. Read it beside ACC_o: a judge that is as bad under both has an RPAG of 0 as "
            "well.",
        ),
        Note(
            "NOT_ATTEMPTED",
            f"A verdict like the others, coded here as “{coding}”: error counts it as not right; excluded leaves the "
            "judgment out; separate counts as error does and reports the two ways of not being right apart. The other "
            "codings stand under “other assumptions”.",
        ),
        Note(
            "No candidate",
            "Items without an admissible swap (no_candidate) could not be asked and are counted apart.",
        ),
        Note(
            "Several tests",
            "The McNemar test compares being right in oo and in ss on the same question, exactly and two-sided. Where "
            "one table holds several tests their p-values are adjusted by Holm's method.",
        ),
        Note(
            "Flagged candidates",
            "Answers that failed a check: they do not assert their own reference, assert the other one, hedge, "
            "negate, or are not one sentence. They are counted, and the figures are also given without their items.",
        ),
        Note(
            "Calibration",
            "p(CORRECT) is the judge's probability of that label among the labels allowed. Brier score: mean squared "
            "distance from the truth (0 best; knowing only the share of CORRECT gives the base rate). AUROC: how "
            "often a CORRECT case gets the higher p (chance 0.5). ECE depends on its bins and only accompanies the "
            "curve.",
        ),
    )


def _tables(report: RunReport) -> Mapping[str, str]:
    return csv_files(report, _figures(report))


def _figures(report: RunReport) -> SwappedFigures:
    assert isinstance(report.figures, SwappedFigures)
    return report.figures


def _variants(report: RunReport) -> TableView:
    metrics = report.metrics
    names = {
        "": "as analysed",
        "_worst": "unscored judgments counted against the judge",
        "_best": "unscored judgments counted in favour of the judge",
        "_unflagged": "items without a flagged candidate only",
        **{f"_na_{coding.value}": f"NOT_ATTEMPTED coded as {coding.value}" for coding in NotAttempted},
    }
    rows = [
        Row(name, tuple(metrics[f"{each}{suffix}"] for each in HEADLINE))
        for suffix, name in names.items()
        if f"rpag{suffix}" in metrics
    ]
    return table("The same records under other assumptions", "assumption", _TRIPLE, rows)


def _cells(report: RunReport) -> TableView:
    counts = _figures(report).verdicts
    reasons = [name for name in counts[CELLS[0]] if name not in VERDICTS]
    outcomes = (*VERDICTS, *(name for name in reasons if any(counts[cell][name] for cell in CELLS)))
    truth = report.frame.drop_duplicates("cell").set_index("cell")["truth"]
    rows = []
    for cell in CELLS:
        total = sum(counts[cell][name] for name in outcomes)
        shares = (f" ({counts[cell][name] / total:.3f})" if total else "" for name in outcomes)
        cells = tuple(f"{counts[cell][name]:,}{share}" for name, share in zip(outcomes, shares, strict=True))
        rows.append(Row(cell, cells, f"expected {truth.get(cell, '–')}"))
    return table("Verdicts per cell", "cell", [Column(name) for name in outcomes], rows)


def _groups(caption: str, head: str, groups: tuple[Group, ...]) -> TableView:
    named = [group.name for group in groups]
    missing = ""
    if named == ["unknown"]:
        missing = f"no item has a known {head}"
    elif len(named) == 1:
        missing = f"all items are of one group: {named[0]}"
    return table(caption, head, _GROUP, [_group(each.name, each) for each in groups], missing)


def _group(name: str, group: Group) -> Row:
    items = f"({group.items:,} item{'' if group.items == 1 else 's'})"
    return Row(name, (group.acc_o, group.acc_s, group.rpag, number(group.p_holm, "p")), items)


def _popularity(report: RunReport, of: str) -> TableView:
    found = _figures(report).by_popularity if of == "original" else _figures(report).by_swapped_popularity
    slope: Estimate = found.slope
    return table(
        f"By popularity of the {of} entity: slope {whole_of(slope)} per tenfold popularity, n {slope.n:,} items",
        "popularity",
        _GROUP,
        [_group(f"{_amount(tenth.lo)} to {_amount(tenth.hi)}", tenth.group) for tenth in found.deciles],
        "" if found.deciles else slope.method,
    )


def _amount(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _calibration(report: RunReport) -> TableView:
    rows = [
        Row(f"{bin_.lo:.1f} to {bin_.hi:.1f}", (number(bin_.mean_p, "fraction"), bin_.correct))
        for bin_ in _figures(report).calibration.bins
    ]
    return table(
        "p(CORRECT) against the truth, in ten bins",
        "p(CORRECT)",
        [Column("mean"), Column("share CORRECT", "estimate")],
        rows,
        "" if rows else "the verdict form of this run yields no probabilities",
    )


PRESENTATION = Presentation(
    layout=LAYOUT,
    headings=Headings("reference given", "answer judged", "entity type", "p(CORRECT)"),
    sections=sections,
    figures=figures,
    together=together,
    tables=_tables,
    judgment=judgment,
    notes=notes,
)
