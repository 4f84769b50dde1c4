"""The published files load, with the numbers their sources state."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from judgelab.data import Dataset, load
from judgelab.data.corpus import load_corpus
from judgelab.data.files import read_csv
from judgelab.data.freshqa import COLUMNS, FACT_TYPES
from judgelab.data.nq_open import load_nq_open
from judgelab.data.nuggetizer import export_nuggetizer
from judgelab.data.rows import Row
from judgelab.records import Record
from judgelab.settings import DatasetConfig
from judgelab.subjects import Nugget, Sheet
from judgelab.text import contains

pytestmark = pytest.mark.real_data

TYPES = {
    "PERSON": 1163,
    "DATE": 504,
    "GPE": 237,
    "ORG": 188,
    "CARDINAL": 176,
    "LOC": 147,
    "WORK_OF_ART": 95,
    "NORP": 62,
    "FAC": 53,
    "PRODUCT": 49,
    "QUANTITY": 28,
    "EVENT": 24,
    "ORDINAL": 22,
    "LAW": 20,
    "MONEY": 17,
    "LANGUAGE": 10,
    "TIME": 9,
    "PERCENT": 2,
}


@cache
def configured(name: str) -> Dataset[Any]:
    path = Path(__file__).parents[2] / "conf" / "dataset" / f"{name}.yaml"
    values = yaml.safe_load(path.read_text(encoding="utf-8"))
    values.pop("defaults", None)
    return load(DatasetConfig(**values))


def test_nq_typed(data_dir: Path) -> None:
    dataset = configured("nq_typed")
    assert dataset.dropped == {"not an entity": 683}
    assert len(dataset.items) == 2806 == 3489 - 683
    assert Counter(item.entity_type for item in dataset.items) == TYPES
    assert len(dataset.persons) == 1632


@pytest.mark.parametrize(
    ("file", "n"),
    [
        ("NQ-open.dev.jsonl", 3610),
        ("NQ-open.efficientqa.dev.1.1.jsonl", 1800),
        ("NQ-open.efficientqa.test.1.1.jsonl", 1769),
    ],
)
def test_nq_open(data_dir: Path, file: str, n: int) -> None:
    assert len(load_nq_open(data_dir / "nq_open" / file).values) == n


def test_nq_open_config(data_dir: Path) -> None:
    assert len(configured("nq_open").items) == 3610


def test_freshqa(data_dir: Path) -> None:
    rows = list(read_csv(data_dir / "freshqa" / "freshqa.csv", COLUMNS))
    kinds = Counter(row.choice("fact_type", FACT_TYPES) for row in rows if isinstance(row, Row))
    assert kinds == {"never": 223, "slow": 223, "fast": 154}
    dataset = configured("freshqa")
    assert dataset.dropped == {"false premise": 150}
    assert Counter(item.freshness for item in dataset.items) == {"never": 148, "slow": 150, "fast": 152}


def test_popqa(data_dir: Path) -> None:
    dataset = configured("popqa")
    assert len(dataset.items) == 1000
    assert Counter(item.entity_type for item in dataset.items) == {"PERSON": 618, "GPE": 172, None: 210}
    assert all(item.popularity is not None and item.popularity > 0 for item in dataset.items)
    assert len(dataset.persons) == 1632


def test_persons(data_dir: Path) -> None:
    persons = configured("popqa").persons
    assert Counter(p.decile for p in persons) == {d: 164 if d in (0, 5) else 163 for d in range(10)}
    lowest = [min(p.popularity for p in persons if p.decile == d) for d in range(10)]
    assert lowest == [20, 74, 122, 195, 326, 651, 1534, 3517, 10742, 42160]
    assert max(p.popularity for p in persons) == 15_101_521


@pytest.mark.parametrize(
    ("name", "n", "questions", "positive", "improper", "found"),
    [("evouna_nq", 15_098, 3019, 0.732, 590, 0.83), ("evouna_tq", 9690, 1938, 0.848, 62, 0.91)],
)
def test_evouna(
    data_dir: Path, name: str, n: int, questions: int, positive: float, improper: int, found: float
) -> None:
    dataset = configured(name)
    items = dataset.items
    assert dataset.kind == "answers"
    assert len(items) == n
    assert dataset.dropped["improper question"] == improper
    assert len({item.group for item in items}) == questions
    assert sum(item.human for item in items) / n == pytest.approx(positive, abs=5e-4)
    # Whether a gold answer stands in the candidate agrees with people as often as published for the whole set.
    some = items[::7]
    agreement = sum(any(contains(item.candidate, a) for a in item.answers) == item.human for item in some) / len(some)
    assert agreement == pytest.approx(found, abs=0.03)


def test_evouna_nq_has_gold_lists_and_paragraphs(data_dir: Path) -> None:
    items = configured("evouna_nq").items
    assert configured("evouna_nq").dropped == {"improper question": 590, "no answer": 2}
    assert sum(not item.candidate for item in items) == 4
    assert sum(item.context is not None for item in items) == 13_583
    texts = {passage.text for passage in load_corpus(configured("evouna_nq").corpus)}
    assert len(texts) == 9268
    assert all(item.context in texts for item in items if item.context)
    (strange,) = [
        i for i in items if i.question.startswith("colby") and i.answers != ("Wisconsin",) and i.system == "fid"
    ]
    assert strange.answers == ("the adrenal medulla",)


def test_nq301(data_dir: Path) -> None:
    items = configured("nq301").items
    assert len(items) == 1490
    assert len({item.group for item in items}) == 301
    assert Counter(item.human for item in items) == {True: 816, False: 674}
    pairs = [item.annotators for item in items if len(item.annotators) == 2]
    assert len(pairs) == 1483
    assert sum(a == b for a, b in pairs) / len(pairs) == pytest.approx(0.8685, abs=5e-5)
    for judge, accuracy in (("GPT-4", 0.848), ("text-davinci-003", 0.838)):
        verdicts = [item.published[judge] == item.human for item in items if judge in item.published]
        assert sum(verdicts) / len(verdicts) == pytest.approx(accuracy, abs=5e-4)


def test_crowdrag25(data_dir: Path) -> None:
    items = configured("crowdrag25").items
    assert len(items) == 1352
    assert Counter(item.vote for item in items) == {"model_a": 437, "tie": 449, "model_b": 466}
    assert all(sum(item.votes.values()) == 5 for item in items)
    assert len({item.group for item in items}) == 65
    pairs = Counter(frozenset(response.text for response in item.responses) for item in items)
    assert Counter(pairs.values()) == {1: 598, 2: 377}
    assert {len(item.pages) for item in items} == {18, 19, 20}
    decisive = [item for item in items if item.vote != "tie"]
    longer = [len(i.responses[0].text.split()) > len(i.responses[1].text.split()) for i in decisive]
    wins = sum((item.vote == "model_a") == first for item, first in zip(decisive, longer, strict=True))
    assert wins / len(decisive) == pytest.approx(0.705, abs=0.01)


def test_trec_rag24(data_dir: Path) -> None:
    items = configured("trec_rag24").items
    assert len(items) == 927
    assert len({item.group for item in items}) == 21
    assert len({item.responses[0].system for item in items}) == 45
    labels = Counter(label for item in items for label in item.responses[0].labels)
    assert labels == {"not_support": 7909, "support": 4813, "partial_support": 436}
    assert Counter(n.importance for item in items for n in item.nuggets) == {"vital": 8954, "okay": 4204}
    assert sum(not item.responses[0].text for item in items) == 4
    assert {len({item.nuggets for item in items if item.group == g}) for g in {i.group for i in items}} == {1}


def test_nist_labels_come_out_as_they_went_in(data_dir: Path, tmp_path: Path) -> None:
    records = []
    for item in configured("trec_rag24").items:
        (response,) = item.responses
        nuggets = tuple(
            Nugget(nugget.text, nugget.importance, (label,))
            for nugget, label in zip(item.nuggets, response.labels, strict=True)
        )
        sheet = Sheet(item.question, item.group, (response.system,), (response.text,), nuggets, "given")
        records.append(Record(item.item_id, item.item_id, "nuggets", "assigned", sheet))
    written = export_nuggetizer(records, tmp_path)
    published = data_dir / "trec_rag24" / "nugget_assignment.20241108.jl"

    def fields(path: Path) -> list[Any]:
        return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]

    assert fields(written.assignments) == fields(published)  # the published file has another order of fields
    assert len(fields(written.nuggets)) == 21
    means = {path.stem: fields(path)[-1]["strict_vital_score"] for path in written.metrics}
    assert len(means) == 45
    assert max(means, key=means.__getitem__) == "ldilab_gpt_4o"
    assert means["ldilab_gpt_4o"] == pytest.approx(0.6666, abs=5e-5)
    assert min(means.values()) == means["ISIR-IRIT-zephyr_p2"] == pytest.approx(0.1469, abs=5e-5)
    every = [row["strict_vital_score"] for path in written.metrics for row in fields(path)[:-1]]
    assert sum(every) / 927 == pytest.approx(0.4364, abs=5e-5)
