"""Single judgments of the nuggets protocol: what each answer holds, which one the pairwise judge took, and what kind of
question it is.

Invariant: people's labels and votes stand beside the judge's wherever there are any.
"""

from __future__ import annotations

from judgelab.records import Record
from judgelab.report.parts import Detail, Judgment
from judgelab.subjects import Duel, Profile, Sheet

_NONE = "–"


def judgment(record: Record) -> Judgment:
    """One record of any cell."""
    match record.subject:
        case Sheet() as sheet:
            return _sheet(record, sheet)
        case Duel() as duel:
            return _duel(record, duel)
        case Profile() as profile:
            return _profile(record, profile)
    raise ValueError(f"record {record.record_id} is none of the nuggets protocol")


def _sheet(record: Record, sheet: Sheet) -> Judgment:
    failed = sum(label == "failed" for nugget in sheet.nuggets for label in nugget.labels)
    result = "unscored" if record.verdict is None else "failed labels" if sheet.failures else "assigned"
    counts = [
        f"{system or f'answer {k + 1}'}: {sum(n.labels[k] == 'support' for n in sheet.nuggets)} of {len(sheet.nuggets)}"
        for k, system in enumerate(sheet.systems)
    ]
    return Judgment(
        result=result,
        truth=sheet.vote or "",
        group=sheet.language or "",
        flags=sheet.source,
        question=sheet.question,
        given=f"{len(sheet.nuggets)} nuggets" + (f", {failed} labels failed" if failed else ""),
        judged="; ".join(counts),
        facts=(
            f"nuggets from {sheet.source}",
            *([f"votes {', '.join(f'{name} {n}' for name, n in sheet.votes.items())}"] if sheet.votes else []),
            *([f"pages {', '.join(f'{name} {n}' for name, n in sheet.pages.items())}"] if sheet.pages else []),
        ),
        details=_details(sheet),
    )


def _details(sheet: Sheet) -> tuple[Detail, ...]:
    names = [system or f"answer {k + 1}" for k, system in enumerate(sheet.systems)]
    people = any(nugget.human_labels or nugget.human_importance for nugget in sheet.nuggets)
    columns = ["nugget", "importance", *names]
    if people:
        columns += ["importance by people", *(f"{name}, by people" for name in names)]
    rows = []
    for nugget in sheet.nuggets:
        row = [nugget.text, nugget.importance, *nugget.labels]
        if people:
            given = nugget.human_labels or (_NONE,) * len(names)
            row += [nugget.human_importance or _NONE, *given]
        rows.append(tuple(row))
    details = [Detail("nuggets and what each answer holds of them", tuple(columns), tuple(rows))]
    details.append(
        Detail("answers", ("system", "text"), tuple((n, t) for n, t in zip(names, sheet.answers, strict=True)))
    )
    if sheet.windows:
        steps = tuple(
            (
                str(k),
                str(w.size),
                str(w.survived),
                str(w.duplicates),
                "yes" if w.degenerate else "no",
                w.failed or _NONE,
            )
            for k, w in enumerate(sheet.windows, 1)
        )
        heads = ("window", "nuggets after it", "kept from before", "repeats removed", "degenerate", "failed")
        details.append(Detail("how the list grew", heads, steps))
    if sheet.removed:
        details.append(Detail("repeats removed", ("nugget",), tuple((text,) for text in sheet.removed)))
    if sheet.failures:
        details.append(Detail("what failed", ("window",), tuple((text,) for text in sheet.failures)))
    return tuple(details)


def _duel(record: Record, duel: Duel) -> Judgment:
    vote = {"tie (bothbad)": "tie"}.get(duel.vote or "", duel.vote or "")
    result = "unscored" if record.verdict is None else "no vote" if not vote else ""
    first, second = ("a", "b") if duel.first == "a" else ("b", "a")
    return Judgment(
        result=result or ("right" if record.verdict == vote else "wrong"),
        truth=duel.vote or "",
        group=duel.language or "",
        flags="",
        question=duel.question,
        given=f"model_{first} shown first, then model_{second}",
        judged=" against ".join(system or f"model_{side}" for side, system in zip("ab", duel.systems, strict=False)),
        p=(record.probabilities or {}).get(record.verdict or ""),
        facts=(f"model_{first} shown first",),
        details=(Detail("answers", ("system", "text"), tuple(zip(duel.systems, duel.answers, strict=True))),),
    )


def _profile(record: Record, profile: Profile) -> Judgment:
    best = max(profile.ratings.values(), default=0)
    classes = [name for name, rating in profile.ratings.items() if rating == best]
    return Judgment(
        result="unscored" if record.verdict is None else "rated",
        truth="",
        group=profile.language or "",
        flags="",
        question=profile.question,
        given="eight attributes, 0 to 10",
        judged=f"{', '.join(classes)}: {best}" if classes else _NONE,
        details=(Detail("ratings", ("attribute", "0 to 10"), tuple((n, str(r)) for n, r in profile.ratings.items())),),
    )
