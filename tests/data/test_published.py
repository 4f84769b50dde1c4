"""The published files load, with the numbers their sources state."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
import yaml

from judgelab.data import Dataset, load
from judgelab.data.files import read_csv
from judgelab.data.freshqa import COLUMNS, FACT_TYPES
from judgelab.data.nq_open import load_nq_open
from judgelab.data.rows import Row
from judgelab.settings import DatasetConfig

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


def configured(name: str) -> Dataset:
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
