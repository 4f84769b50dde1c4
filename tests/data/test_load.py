"""The one door: settings to dataset, its hash, and every dataset config of the package."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from judgelab.data import Dataset, load
from judgelab.data.corpus import load_corpus
from judgelab.data.formats import ANSWERS, BATTLES, DEMOS, FORMATS, QUESTIONS
from judgelab.errors import UsageError
from judgelab.items import GradedAnswer, NuggetItem, Person, QAItem, Response, Vote
from judgelab.settings import DatasetConfig

CONFIGS = sorted((Path(__file__).parents[2] / "conf" / "dataset").glob("*.yaml"))


def settings(**values: Any) -> DatasetConfig:
    return DatasetConfig(**({"name": "mine", "format": "plain"} | values))


def write(path: Path, *rows: dict[str, Any]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def test_demo_needs_nothing() -> None:
    dataset = load(settings(name="demo", format="demo"))
    assert dataset.name == "demo"
    assert len(dataset.items) >= 48
    assert len(dataset.persons) >= 40
    assert dataset.dropped == {}


@pytest.mark.parametrize(("fmt", "own"), DEMOS.items())
def test_demos_take_no_file(fmt: str, own: str) -> None:
    with pytest.raises(UsageError, match=rf"dataset={own} dataset\.path=FILE"):
        load(settings(format=fmt, path="q.jsonl"))


@pytest.mark.parametrize(
    ("fmt", "kind"), [("demo", "questions"), ("demo_battles", "battles"), ("demo_answers", "answers")]
)
def test_a_set_tells_what_it_holds(fmt: str, kind: str) -> None:
    assert load(settings(format=fmt)).kind == kind


def test_corpus_is_named_and_not_read(tmp_path: Path) -> None:
    questions = write(tmp_path / "q.jsonl", {"question": "a", "answers": ["b"]})
    assert load(settings(path=questions, corpus=["nowhere.jsonl", "c.tsv"])).corpus == ("nowhere.jsonl", "c.tsv")
    assert load(settings(path=questions)).corpus == ()
    assert load(settings(format="demo_answers", corpus=["mine.jsonl"])).corpus == ("mine.jsonl",)
    assert len(load_corpus(load(settings(format="demo_answers")).corpus)) >= 60


def test_questions_with_predictions_are_answers(tmp_path: Path) -> None:
    questions = write(tmp_path / "q.jsonl", {"question": "who", "answers": ["b"]}, {"question": "c", "answers": ["d"]})
    predictions = write(tmp_path / "p.jsonl", {"question": "Who?", "candidate": "b", "human": True})
    dataset = load(settings(path=questions, predictions=predictions))
    assert dataset.kind == "answers"
    assert [(item.candidate, item.answers, item.human) for item in dataset.items] == [("b", ("b",), True)]
    assert dataset.dropped == {"question without an answer": 1}
    with pytest.raises(UsageError, match=r"p2\.jsonl: no such file.*dataset\.predictions=FILE"):
        load(settings(path=questions, predictions="p2.jsonl"))


def test_gold_paragraphs_come_with_the_questions(tmp_path: Path) -> None:
    row = {"question_id": "1", "question": "a", "answer_value": "b", "ner_tag": "PERSON", "context": "a is b"}
    questions = write(tmp_path / "q.jsonl", row)
    predictions = write(tmp_path / "p.jsonl", {"id": "1", "candidate": "b"})
    dataset = load(settings(format="nq_typed", path=questions, predictions=predictions))
    assert dataset.items[0].context == "a is b"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {"format": "answers", "predictions": "p"},
            r"^dataset\.predictions=p: format answers holds its answers itself",
        ),
        ({"format": "demo", "predictions": "p"}, r"^dataset\.predictions=p: format demo holds"),
        ({"format": "plain", "dimension": "d"}, r"^dataset\.dimension=d: only format crowdrag25"),
    ],
)
def test_knobs_without_use_are_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        load(settings(**values))


def test_persons_are_loaded_where_named(tmp_path: Path) -> None:
    questions = write(tmp_path / "q.jsonl", {"question": "a", "answers": ["b"]})
    persons = write(tmp_path / "p.jsonl", {"name": "Ann", "popularity": 3})
    assert load(settings(path=questions)).persons == ()
    assert load(settings(path=questions, persons=persons)).persons == (Person("Ann", (), 3.0, 0),)
    with pytest.raises(UsageError, match=r"nobody\.jsonl: no such file.*dataset\.persons=FILE"):
        load(settings(path=questions, persons="nobody.jsonl"))


@pytest.mark.parametrize("fmt", [*QUESTIONS, *BATTLES, *ANSWERS])
def test_every_format_wants_a_path(fmt: str) -> None:
    with pytest.raises(UsageError, match=r"^dataset\.path is not set"):
        load(settings(format=fmt))


@pytest.mark.parametrize(
    ("fmt", "message"),
    [("nq_opne", "did you mean nq_open?"), ("parquet", "one of demo, demo_battles, "), ("???", "unknown format")],
)
def test_unknown_format(fmt: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        load(settings(format=fmt, path="x"))
    assert message in str(caught.value)


def test_hash_is_of_content_alone(tmp_path: Path) -> None:
    rows = [{"question": "Cafe\u0301?", "answers": ["b"]}, {"question": "c", "answers": ["d"]}]
    one = load(settings(path=write(tmp_path / "1.jsonl", *rows)))
    two = load(settings(name="other", path=write(tmp_path / "2.jsonl", rows[0] | {"question": " Café? "}, rows[1])))
    assert one.content_hash == two.content_hash


item = QAItem("1", "q", ("a", "b"), ("c",), "PERSON", 3.0, "slow")
person = Person("Ann", ("A.",), 3.0, 1)


@pytest.mark.parametrize(
    ("items", "persons"),
    [
        ((replace(item, item_id="2"),), (person,)),
        ((replace(item, question="r"),), (person,)),
        ((replace(item, answers=("b", "a")),), (person,)),
        ((replace(item, aliases=()),), (person,)),
        ((replace(item, entity_type="ORG"),), (person,)),
        ((replace(item, popularity=None),), (person,)),
        ((replace(item, freshness=None),), (person,)),
        ((item, replace(item, item_id="2")), (person,)),
        ((item,), ()),
        ((item,), (replace(person, decile=2),)),
    ],
)
def test_hash_sees_every_change(items: tuple[QAItem, ...], persons: tuple[Person, ...]) -> None:
    base = Dataset.of("d", (item,), (person,))
    assert Dataset.of("d", items, persons).content_hash != base.content_hash


battle = NuggetItem("1", "q", "g", (Response("a", "x"), Response("b", "y")), Vote.TIE, {"tie": 3})
graded = GradedAnswer("1", "q", "g", "c", "s", ("a",), True, (True, True), {"GPT-4": True}, "p")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (battle, replace(battle, vote=Vote.BOTHBAD)),
        (battle, replace(battle, votes={"tie": 2})),
        (battle, replace(battle, responses=battle.responses[::-1])),
        (battle, replace(battle, group="h")),
        (graded, replace(graded, human=None)),
        (graded, replace(graded, published={"GPT-4": False})),
        (graded, replace(graded, context=None)),
    ],
)
def test_hash_sees_every_vote_and_verdict(one: Any, other: Any) -> None:
    assert Dataset.of("d", (one,)).content_hash != Dataset.of("d", (other,)).content_hash


def test_hash_is_the_same_in_every_process() -> None:
    code = (
        "from judgelab.data import load; from judgelab.settings import DatasetConfig; "
        "print(load(DatasetConfig(name='demo', format='demo')).content_hash)"
    )
    hashes = {
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(__file__).parents[2])},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in ("1", "2")
    }
    assert hashes == {load(settings(name="demo", format="demo")).content_hash}


@pytest.mark.parametrize("config", CONFIGS, ids=lambda p: p.stem)
def test_configs_are_of_known_format_and_named_as_their_file(config: Path) -> None:
    values = yaml.safe_load(config.read_text(encoding="utf-8"))
    values.pop("defaults", None)
    made = DatasetConfig(**values)
    assert made.name == config.stem
    assert config.read_text(encoding="utf-8").startswith("# ")
    if made.format in DEMOS:
        load(made)
        return
    with pytest.raises(UsageError, match=r"no such file|no such folder|dataset\.path is not set"):
        load(replace(made, path=made.path and f"nowhere/{made.path}"))


def test_every_format_has_a_config() -> None:
    assert set(FORMATS) <= {p.stem for p in CONFIGS}
