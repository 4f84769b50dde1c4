"""What is published about nuggets and battles comes out of these metrics: NIST's labels and CrowdRAG-25."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from judgelab.frames.nuggets import battles, labels
from judgelab.metrics.arena import NuggetFigures, nugget_figures
from judgelab.metrics.nugget_scores import answer_scores
from judgelab.records import Reason, Record, Unscored
from judgelab.settings import AnalysisConfig, NuggetsConfig, Score
from judgelab.subjects import Duel, Nugget, Sheet

pytestmark = pytest.mark.real_data

ANALYSIS = AnalysisConfig(resamples=500)


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def nist(data_dir: Path) -> list[Record]:
    """NIST's labels both as the judge's and as people's."""
    records = []
    for row in rows_of(data_dir / "trec_rag24" / "nugget_assignment.20241108.jl"):
        nuggets = tuple(
            Nugget(n["text"], n["importance"], (n["assignment"],), n["importance"], (n["assignment"],))
            for n in row["nuggets"]
        )
        sheet = Sheet(row["query"], row["qid"], (row["run_id"],), (row["answer_text"],), nuggets, "given")
        item = f"{row['qid']}:{row['run_id']}"
        records.append(Record(item, item, "nuggets", "assigned", sheet))
    return records


def test_six_means_and_the_order_of_runs(data_dir: Path) -> None:
    records = nist(data_dir)
    table = labels(records)
    answers = answer_scores(table, "label", "importance")
    means = {score: round(float(answers[score].mean()), 4) for score in Score}
    assert len(answers) == 927
    assert means == {
        Score.vital_strict: 0.4364,
        Score.vital: 0.4512,
        Score.all_strict: 0.3814,
        Score.all: 0.3984,
        Score.weighted: 0.4175,
        Score.weighted_strict: 0.4010,
    }
    settings = NuggetsConfig(score=Score.vital_strict)
    found = nugget_figures(battles(records), table, settings, ANALYSIS, 0)
    runs = found.meta.runs
    assert (runs[0].system, round(runs[0].judge.value, 4)) == ("ldilab_gpt_4o", 0.6666)
    assert (runs[-1].system, round(runs[-1].judge.value, 4)) == ("ISIR-IRIT-zephyr_p2", 0.1469)
    assert len(runs) == 45
    assert (found.coverage.items, found.coverage.judged) == (927, 927)
    for name in ("label_kappa", "importance_kappa", "run_tau", "cell_tau"):
        assert found.metrics[name].value == pytest.approx(1)
    assert Counter(values_of(table)) == {"not_support": 7909, "support": 4813, "partial_support": 436}
    # What an assigner that understands nothing reaches, near enough to the published .763, .486, .829 and .490, which
    # depend on a list of words without content.
    trivial = found.baselines["word_overlap"]
    assert trivial["label2_accuracy"].value == pytest.approx(0.763, abs=0.005)
    assert trivial["label2_kappa"].value == pytest.approx(0.486, abs=0.005)
    assert trivial["run_tau"].value == pytest.approx(0.829, abs=0.02)
    assert trivial["cell_tau"].value == pytest.approx(0.490, abs=0.005)


def values_of(table: Any) -> list[str]:
    return [str(each) for each in table["human_label"]]


def crowd(data_dir: Path, dimension: str, judge: str | None = None) -> NuggetFigures:
    """The battles with people's gold label in a dimension, nuggets left out; GPT-4o's verdicts as those of the pairwise
    judge, in both orders where it gave both."""
    folder = data_dir / "crowdrag25"
    texts = {row["response"]: row["raw_text"] for row in rows_of(folder / "responses_text.jsonl")}
    said = {
        (row["query_id"], row["response_a"], row["response_b"]): row.get(dimension)
        for row in rows_of(folder / "llm_ratings.jsonl")
        if row["inference"] == judge
    }
    letters = {"a": "model_a", "b": "model_b", "n": "tie"}
    turned = {"a": "model_b", "b": "model_a", "n": "tie"}
    records = []
    for row in rows_of(folder / "battles_derived.jsonl"):
        topic, a, b, item = row["topic"], row["response_a"], row["response_b"], row["battle_id"]
        head = (row["prompt"], topic, ("x", "y"), (texts[a], texts[b]))
        vote = row["dims"][dimension]
        label = ("support", "support")
        records.append(
            Record(
                f"{item}-n", item, "nuggets", "assigned", Sheet(*head, (Nugget("n", "vital", label),), "given", vote)
            )
        )
        for cell, key, names in (("ab", (topic, a, b), letters), ("ba", (topic, b, a), turned)):
            if key in said:
                verdict = names.get(said[key] or "")
                why = None if verdict else Unscored(Reason.PARSE_ERROR)
                records.append(Record(f"{item}-{cell}", item, cell, verdict, Duel(*head, cell[0], vote), why))
    return nugget_figures(battles(records), labels(records), NuggetsConfig(tie_threshold=0), ANALYSIS, 0)


def test_the_longer_answer_wins(data_dir: Path) -> None:
    overall = crowd(data_dir, "quality_overall").baselines["longer_wins"]
    assert overall["agreement"].n == 1352
    assert round(overall["agreement"].value, 4) == 0.5769
    broad = crowd(data_dir, "coverage_broad")
    matrix = broad.matrix.counts
    assert [sum(row) for row in matrix] == [437, 449, 466, 0]
    longer = broad.baselines["longer_wins"]["accuracy_decisive"]
    assert longer.n == 903
    assert round(longer.value, 4) == 0.7054
    assert longer.lo < 0.7054 < longer.hi
    # in characters it is a stronger rule still
    assert round(broad.baselines["longer_wins_chars"]["accuracy_decisive"].value, 4) == 0.7619


@pytest.mark.parametrize(
    ("judge", "n", "agreement", "kappa", "consistency"),
    [("combined", 753, 0.587, 0.177, 0.832), ("individual", 754, 0.501, 0.064, 0.905)],
)
def test_gpt_4o(data_dir: Path, judge: str, n: int, agreement: float, kappa: float, consistency: float) -> None:
    found = crowd(data_dir, "quality_overall", judge).metrics
    first = found["agreement_pairwise_first"]
    assert (first.n, round(first.value, 3)) == (n, agreement)
    assert round(found["kappa_pairwise_first"].value, 3) == kappa
    assert round(found["order_consistency"].value, 3) == consistency
    assert found["agreement_pairwise"].n <= found["order_consistency"].n
