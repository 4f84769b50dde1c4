"""Runs made by hand: records of every kind, without protocol, engine or model."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from judgelab.engines.cached import Tally
from judgelab.records import Call, Message, Reason, Record, Unscored, content_hash
from judgelab.report.run_report import RunReport
from judgelab.scoring import Analysis, report_of
from judgelab.settings import AnalysisConfig
from judgelab.store import Launch, RunDirectory, Science
from judgelab.subjects import Triplet

HOSTILE = (
    "</script><img src=x onerror=\"document.title='owned'\"><!-- {{ 7*7 }} {% x %} ]]> \u2028\u2029 &amp; 'q' \x1b[31m"
)
TYPES = ("PERSON", "GPE", "DATE", "WORK_OF_ART", "ORG")
ANALYSIS = Analysis(AnalysisConfig(resamples=200))


def record(
    number: int,
    cell: str,
    verdict: str | None,
    reason: Reason | None = None,
    p: float | None = None,
    **subject: Any,
) -> Record:
    """One record; `p` is p(CORRECT), the rest of the mass goes to INCORRECT."""
    known = {
        "question": f"Who built the {number}th lighthouse of the northern coast?",
        "original": f"Ada Quill {number}",
        "swapped": f"Bram Oster {number}",
        "swap": "type_preserving",
        "entity_type": TYPES[number % len(TYPES)],
        "swapped_type": TYPES[number % len(TYPES)],
        "truth": "CORRECT" if cell[0] == cell[1] else "INCORRECT",
        **subject,
    }
    names = {"o": known["original"], "s": known["swapped"]}
    triplet = Triplet(
        reference=names[cell[0]],
        candidate=f"It was built by {names[cell[1]]}.",
        cell=cell,
        **known,
    )
    call = Call(
        purpose="judge:label",
        key=content_hash([number, cell], 32),
        messages=(
            Message("system", "You grade one answer against a reference. " * 12),
            Message(
                "user", f"Question: {triplet.question}\nReference: {triplet.reference}\nAnswer: {triplet.candidate}"
            ),
        ),
        continuation="",
        text="A" if verdict == "CORRECT" else "B",
        finish_reason="stop",
        prompt_tokens=412,
        cached_tokens=380,
        generated_tokens=1,
        thinking_tokens=0,
        seconds=0.125,
    )
    return Record(
        record_id=content_hash(["synthetic", number, cell]),
        item_id=f"item-{number:05}",
        cell=cell,
        verdict=verdict,
        subject=triplet,
        unscored=Unscored(reason, f"no verdict: {reason.value}") if reason else None,
        probabilities=None if p is None else {"CORRECT": p, "INCORRECT": 1 - p, "NOT_ATTEMPTED": 0.0},
        calls=() if reason is Reason.NO_CANDIDATE else (call,),
    )


def records(items: int = 60, seed: int = 1, popular: bool = False, probabilities: bool = True) -> list[Record]:
    """Records of a judge that follows its memory in a third of the ss cells, with some failures."""
    rng = random.Random(seed)
    out = []
    for number in range(items):
        extra: dict[str, Any] = {"freshness": ("never", "slow", "fast")[number % 3]}
        if popular:
            extra |= {"popularity": 10 ** rng.uniform(2, 6), "swapped_popularity": 10 ** rng.uniform(2, 6)}
        if rng.random() < 0.08:
            extra["flags"] = ("hedged",)
        for cell in ("oo", "os", "so", "ss"):
            right = rng.random() < {"oo": 0.95, "os": 0.9, "so": 0.85, "ss": 0.66}[cell]
            positive = (cell[0] == cell[1]) == right
            verdict: str | None = "CORRECT" if positive else "INCORRECT"
            p = min(0.999, max(0.001, rng.gauss(0.8 if positive else 0.2, 0.12)))
            reason = None
            if rng.random() < 0.04:
                verdict = "NOT_ATTEMPTED"
            if rng.random() < 0.03:
                verdict, reason = None, rng.choice([Reason.TRUNCATED, Reason.PARSE_ERROR, Reason.TOO_LONG])
            shown = p if probabilities and verdict else None
            out.append(record(number, cell, verdict, reason, shown, **extra))
    return out


def run_directory(
    root: Path,
    made: list[Record],
    judge: str = "smollm2-135m",
    dataset: str = "demo",
    n_items: int | None = None,
    caveat: str = "plumbing check: a 135M judge, its figures say nothing about judging",
    engine: str = "vllm",
    **protocol: str,
) -> RunDirectory:
    """A run directory that holds these records, as `judgelab run` would leave it."""
    setting = {
        "name": "swapped",
        "swap": "type_preserving",
        "condition": "standard",
        "verdict_form": "label",
        "candidates": "template",
        **protocol,
    }
    science = Science(
        protocol=setting,
        dataset={"name": dataset, "format": "plain", "content": "0123456789abcdef"},
        judge={"name": judge, "weights": "sha256:b179c952", "dtype": "bfloat16", "quantization": None},
        engine={"kind": engine, "rule": "random"} if engine == "scripted" else {"kind": engine, "backend": "xgrammar"},
        limit=None,
        seed=7,
        prompts="fedcba9876543210",
    )
    run = RunDirectory(root / "swapped" / dataset / judge / science.digest())
    about = {
        "versions": {"python": "3.11.9", "judgelab": "0.1.0", "vllm": "0.32.0"},
        "git": {"commit": "0" * 40, "dirty": False},
        "platform": "Linux",
        "slurm_job": None,
        "judge": {"name": judge, "caveat": caveat},
        "dropped": {"no answer": 2},
        "n_items": len({r.item_id for r in made}) if n_items is None else n_items,
    }
    run.claim(science, "max_unscored: 0.05\n", about)
    run.append(made)
    run.close()
    run.add_launch(
        Launch(
            started="2026-01-02T03:04:05+00:00",
            seconds=83.5,
            host="node1",
            shard=None,
            ended="complete",
            tallies={"judge:label": Tally(240, 12, 98_880, 91_200, 240, 640.5)},
            engine={"version": "0.32.0", "device": "cpu"},
        )
    )
    return run


def report(root: Path, made: list[Record] | None = None, **about: Any) -> RunReport:
    """A scored run."""
    return report_of(run_directory(root, records() if made is None else made, **about), ANALYSIS)
