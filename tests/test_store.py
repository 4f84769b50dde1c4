"""The run directory resumes, refuses what does not match, and counts every record once."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from pathlib import Path

import pytest

from judgelab.engines.cached import Tally
from judgelab.errors import JudgelabError, UsageError
from judgelab.frames.swapped import COLUMNS, frame
from judgelab.records import Reason, Record, Unscored
from judgelab.store import Launch, RunDirectory, Science, find_runs, now
from judgelab.subjects import Triplet

SCIENCE = Science({"name": "swapped"}, {"name": "demo"}, {"name": "j"}, {"kind": "scripted"}, None, 0, "p")
SUBJECT = Triplet("q?", "a", "It is a.", "oo", "CORRECT", "alias", "a", "b")


def record(number: int, verdict: str | None = "CORRECT", reason: Reason = Reason.ENGINE_ERROR) -> Record:
    unscored = None if verdict else Unscored(reason, "why")
    return Record(
        f"r{number}",
        f"i{number // 4}",
        "oo",
        verdict,
        SUBJECT,
        unscored,
        {"CORRECT": 0.5} if verdict else None,
    )


def claimed(path: Path) -> RunDirectory:
    run = RunDirectory(path)
    run.claim(SCIENCE, "a: 1\n", {"n_items": 1})
    return run


def test_records_come_back_equal(tmp_path: Path) -> None:
    run = claimed(tmp_path)
    run.append([record(1), record(2, None)])
    assert run.records() == {"r1": record(1), "r2": record(2, None)}


def test_a_record_needs_exactly_one_of_verdict_and_reason() -> None:
    with pytest.raises(ValueError, match="exactly one"):
        Record("r", "i", "oo", None, SUBJECT)
    with pytest.raises(ValueError, match="exactly one"):
        Record("r", "i", "oo", "CORRECT", SUBJECT, Unscored(Reason.TRUNCATED))


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ([record(1), record(1, "INCORRECT")], record(1)),
        ([record(1, None), record(1)], record(1)),
        ([record(1), record(1, None)], record(1)),
        ([record(1, None), record(1, None, Reason.TOO_LONG)], record(1, None, Reason.TOO_LONG)),
    ],
)
def test_the_first_scored_record_of_an_id_counts(tmp_path: Path, written: list[Record], kept: Record) -> None:
    run = claimed(tmp_path)
    for each in written:
        run.append([each])
    assert run.records() == {"r1": kept}


def test_the_same_science_claims_again_and_another_is_refused_by_field(tmp_path: Path) -> None:
    claimed(tmp_path)
    claimed(tmp_path)
    other = dataclasses.replace(SCIENCE, seed=1)
    with pytest.raises(JudgelabError, match=r"in 'seed': it has 0, this run has 1"):
        RunDirectory(tmp_path).claim(other, "", {})


def test_every_scientific_part_changes_the_digest() -> None:
    digests = {SCIENCE.digest()}
    for field in dataclasses.fields(Science):
        value = getattr(SCIENCE, field.name)
        changed = {**value, "x": 1} if isinstance(value, dict) else "changed" if isinstance(value, str) else 7
        digests.add(dataclasses.replace(SCIENCE, **{field.name: changed}).digest())
    assert len(digests) == 1 + len(dataclasses.fields(Science))


def test_a_second_process_is_told_who_works_here(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path)
    code = (
        "import sys; from pathlib import Path; from judgelab.store import RunDirectory\n"
        "try:\n"
        "    with RunDirectory(Path(sys.argv[1])).lock(None): print('got it')\n"
        "except Exception as error: print(error)\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    with run.lock(None):
        held = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    free = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert f"process {os.getpid()}" in held
    assert "shard=k/n" in held
    assert free == "got it\n"


def test_totals_sum_over_launches(tmp_path: Path) -> None:
    run = claimed(tmp_path)
    for _ in range(3):
        run.add_launch(Launch(now(), 1.0, "h", None, "complete", {"grade": Tally(calls=2, prompt_tokens=5)}))
    assert run.manifest["totals"]["grade"]["calls"] == 6
    assert len(run.manifest["launches"]) == 3


def test_runs_are_found_below_a_folder(tmp_path: Path) -> None:
    claimed(tmp_path / "a" / "x")
    claimed(tmp_path / "b")
    assert [run.path for run in find_runs([tmp_path])] == [tmp_path / "a" / "x", tmp_path / "b"]
    with pytest.raises(UsageError, match="does not exist"):
        find_runs([tmp_path / "c"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="no run directory"):
        find_runs([tmp_path / "empty"])


def test_a_damaged_manifest_is_named(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(JudgelabError, match=r"manifest\.json is damaged"):
        _ = RunDirectory(tmp_path).manifest


def test_the_frame_flags_all_records_of_an_item_and_ignores_order() -> None:
    flagged = dataclasses.replace(SUBJECT, flags=("hedged",))
    records = [record(0), dataclasses.replace(record(1), subject=flagged), record(4), record(5, None)]
    table = frame(records)
    assert list(table.columns) == list(COLUMNS)
    assert table["flagged"].tolist() == [True, True, False, False]
    assert table["reason"].tolist() == [None, None, None, "engine_error"]
    assert frame(records[::-1]).equals(table)
    assert frame([]).empty


def test_shards_that_end_together_lose_no_launch(tmp_path: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    def work(number: int) -> None:
        run = claimed(tmp_path)
        run.add_launch(Launch(now(), 1.0, "h", f"{number + 1}/16", "complete", {"grade": Tally(calls=1)}))

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(work, range(16)))
    manifest = RunDirectory(tmp_path).manifest
    assert len(manifest["launches"]) == 16
    assert manifest["totals"]["grade"]["calls"] == 16
