"""The command line as a user meets it: one line for a mistake, the promised exit codes, no traceback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from judgelab.cli import main

FAST = ["engine=scripted", "limit=6", "analysis.resamples=200"]


ROOT = Path(__file__).resolve().parent.parent


def judgelab(
    folder: Path, *words: str, program: str = "-m judgelab", **environ: str
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *program.split(), *words]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **environ}
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment, timeout=300)


def one_line(done: subprocess.CompletedProcess[str], code: int) -> str:
    """The error of a command that must fail with one line."""
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    errors = [line for line in done.stderr.splitlines() if line.startswith("judgelab: ")]
    assert len(errors) == 1, done.stderr
    return errors[0]


MISTAKES = [
    (["judge=qwen2.5-7"], 2, ["no judge 'qwen2.5-7'", "did you mean 'qwen2.5-7b'"]),
    (["protocol.swp=alias"], 2, ["did you mean 'protocol.swap'"]),
    (["dataset=plain", "dataset.path=missing.jsonl"], 2, ["missing.jsonl", "dataset.path"]),
    (["dataset=plain"], 2, ["dataset.path"]),
    (["dataset=plain", "dataset.path=bad.jsonl"], 2, ["bad.jsonl:2", "answers"]),
    (["dataset=plain", "dataset.path=empty.jsonl"], 2, ["empty.jsonl"]),
    (["dataset=plain", "dataset.path=twice.jsonl"], 2, ["twice.jsonl:2", "repeats line 1"]),
    (["engine=scripted", "engine.rule=guess"], 2, ["guess", "follows_reference"]),
    (["engine=scripted", "shard=3/2"], 2, ["shard=3/2"]),
    (["engine=scripted", "protocol.condition=cot", "protocol.verdict_form=label"], 2, ["protocol.verdict_form"]),
    (["engine=transformers", "judge=qwen2.5-7b"], 2, ["judgelab models fetch qwen2.5-7b", "jobs never download"]),
    (["engine=transformers", "judge=smollm2-135m", "judge.source=local", "judge.model=nowhere"], 2, ["nowhere"]),
    (["hello"], 2, ["'hello'", "key=value"]),
    (["protocol.swap=[a"], 2, ["override"]),
]


@pytest.mark.parametrize(("words", "code", "parts"), MISTAKES)
def test_a_mistake_is_one_line(tmp_path: Path, words: list[str], code: int, parts: list[str]) -> None:
    good = json.dumps({"question": "q?", "answers": ["a"], "id": "1"})
    (tmp_path / "bad.jsonl").write_text(f'{good}\n{{"question": "q?"}}\n')
    (tmp_path / "empty.jsonl").write_text("")
    (tmp_path / "twice.jsonl").write_text(f"{good}\n{good}\n")
    text = one_line(judgelab(tmp_path, "run", *words), code)
    for part in parts:
        assert part in text
    assert not list(tmp_path.rglob("records*"))


def test_an_unwritable_runs_dir_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    text = one_line(judgelab(tmp_path, "run", *FAST, "runs_dir=file"), 1)
    assert "file" in text


def test_a_full_disk_keeps_what_is_done(tmp_path: Path) -> None:
    """A file-size limit stands in for the disk: the journal cannot grow past it."""
    code = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000));"
        "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "from judgelab.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parent.parent)}
    command = [sys.executable, "-c", code, "run", "engine=scripted", "analysis.resamples=200", "in_flight=2"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=environment)
    text = one_line(done, 1)
    assert "cannot write" in text
    assert "finished work is kept" in text
    again = judgelab(tmp_path, "run", "engine=scripted", "analysis.resamples=200")
    assert again.returncode == 0, again.stderr
    assert "judged 244 of 244" in again.stdout
    ids = [
        json.loads(line)["record_id"]
        for file in tmp_path.rglob("records*")
        for line in file.read_text().splitlines()
        if line.endswith("}")
    ]
    assert len(ids) == len(set(ids)) == 244


def test_run_score_report_compare_reproduce(tmp_path: Path) -> None:
    for rule in ("follows_reference", "random"):
        done = judgelab(tmp_path, "run", *FAST, f"engine.rule={rule}")
        assert done.returncode == 0, done.stderr
        assert "judged 24 of 24" in done.stdout
        assert "report.html" in done.stdout
    runs = sorted(str(path.parent) for path in tmp_path.rglob("manifest.json"))
    scored = judgelab(tmp_path, "score", runs[0], "--set", "analysis.resamples=200", "--set", "analysis.level=0.5")
    assert "50% interval" in scored.stdout
    assert judgelab(tmp_path, "report", "runs/swapped", "-o", "all.html").returncode == 0
    assert "scripted-random" in (tmp_path / "all.html").read_text()
    compared = judgelab(tmp_path, "compare", *runs, "-o", "c.csv", "--flips")
    assert compared.returncode == 0, compared.stderr
    assert "scripted-random" in compared.stdout
    assert (tmp_path / "c.csv").read_text().startswith("baseline,run,path,part,common,scored,flipped")
    reproduced = judgelab(tmp_path, "reproduce", runs[0])
    assert reproduced.returncode == 0, reproduced.stderr
    assert "0 of 24 verdicts flip" in reproduced.stdout


def test_reproduce_refuses_data_that_changed(tmp_path: Path) -> None:
    data = tmp_path / "mine.csv"
    rows = [f"Who is number {n}?,Person {chr(65 + n)},PERSON" for n in range(8)]
    data.write_text("\n".join(["question,answers,type", *rows]))
    words = ["run", "engine=scripted", "dataset=plain", "dataset.path=mine.csv", "analysis.resamples=200"]
    assert judgelab(tmp_path, *words).returncode == 0
    (manifest,) = tmp_path.rglob("manifest.json")
    data.write_text("\n".join(["question,answers,type", *rows[:-1], "Who is number 7?,Somebody Else,PERSON"]))
    text = one_line(judgelab(tmp_path, "reproduce", str(manifest.parent)), 1)
    assert "its dataset was" in text


def test_a_sweep_makes_every_run_and_reports_the_failed_one(tmp_path: Path) -> None:
    words = ["run", "-m", *FAST, "protocol.swap=type_preserving,type_changing", "engine.rule=always_a,nonsense"]
    done = judgelab(tmp_path, *words)
    assert done.returncode == 2
    assert len(list(tmp_path.rglob("summary.json"))) == 2 * 3
    assert done.stderr.count("judgelab: ") == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["runs"]


def test_the_hydra_entry_point_is_the_same(tmp_path: Path) -> None:
    script = Path(__file__).resolve().parent.parent / "experiments" / "run.py"
    done = judgelab(tmp_path, *FAST, program=str(script))
    assert done.returncode == 0, done.stderr
    assert "judged 24 of 24" in done.stdout
    again = judgelab(tmp_path, "run", *FAST)
    assert "judged 24 of 24" in again.stdout
    assert len(list(tmp_path.rglob("launches*"))) == 1


def test_a_job_never_downloads(tmp_path: Path) -> None:
    done = judgelab(tmp_path, "run", "limit=4", JUDGELAB_HOME=str(tmp_path / "home"), SLURM_JOB_ID="7")
    assert "jobs never download" in one_line(done, 2)
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize(
    ("words", "code", "part"),
    [
        (["score", "nowhere"], 2, "nowhere does not exist"),
        (["score", "."], 2, "no run directory"),
        (["report", "nowhere", "-o", "x.html"], 2, "nowhere"),
        (["compare", "nowhere", "nowhere"], 2, "nowhere"),
        (["reproduce", "."], 2, "not a run directory"),
        (["models", "fetch", "smol"], 2, "no judge 'smol'"),
        (["cache", "compact", "."], 2, "no call cache"),
    ],
)
def test_other_commands_say_what_is_wrong(tmp_path: Path, words: list[str], code: int, part: str) -> None:
    assert part in one_line(judgelab(tmp_path, *words), code)


def test_help_answers_at_once_and_loads_nothing_heavy(tmp_path: Path) -> None:
    code = "import sys; from judgelab.cli import main\ntry: main(['--help'])\n"
    code += "finally: print(*sys.modules, file=sys.stderr)"
    done = judgelab(tmp_path, code, program="-c")
    loaded = set(done.stderr.split())
    assert "reproduce" in done.stdout
    assert not loaded & {"torch", "vllm", "transformers", "pandas", "numpy", "hydra", "pydantic"}


def test_run_help_lists_every_group(tmp_path: Path) -> None:
    text = judgelab(tmp_path, "run", "--help").stdout
    for word in ("swapped", "nq_typed", "smollm2-135m", "transformers", "nq_type_preserving", "-m"):
        assert word in text


def test_cfg_job_prints_every_setting(tmp_path: Path) -> None:
    done = judgelab(tmp_path, "run", "--cfg", "job", "engine=vllm", "engine.args.max_num_seqs=3")
    assert done.returncode == 0, done.stderr
    assert "max_num_seqs: 3" in done.stdout
    assert "retry_failed: false" in done.stdout
    assert not (tmp_path / "runs").exists()


def test_models_lists_what_is_known(tmp_path: Path) -> None:
    text = judgelab(tmp_path, "models", JUDGELAB_HOME=str(tmp_path)).stdout
    (line,) = [line for line in text.splitlines() if line.startswith("smollm2-135m")]
    assert "tested" in line
    assert "not fetched" in line
    assert text.count("untested") >= 10


def test_doctor_explains_without_starting_anything(tmp_path: Path) -> None:
    done = judgelab(tmp_path, "doctor", "--quick", JUDGELAB_DATA=str(tmp_path / "nope"))
    assert done.returncode == 1
    assert "FAIL" in done.stdout
    assert "set it to the folder of published files" in " ".join(done.stdout.split())


def test_compaction_keeps_every_call(tmp_path: Path) -> None:
    for limit in (2, 4):
        judgelab(tmp_path, "run", "engine=scripted", f"limit={limit}", "analysis.resamples=200")
    done = judgelab(tmp_path, "cache", "compact")
    assert done.stdout.strip().endswith("calls")
    assert len(list(tmp_path.rglob("calls-*.jsonl"))) == 1
    before = time.time()
    assert judgelab(tmp_path, "run", "engine=scripted", "limit=5", "analysis.resamples=200").returncode == 0
    launches = [json.loads(file.read_text()) for file in tmp_path.rglob("launches*") if file.stat().st_mtime >= before]
    assert launches[0]["tallies"]["grade"]["hits"] >= 12


def test_every_protocol_runs_on_its_part_of_the_demo_set(tmp_path: Path) -> None:
    done = judgelab(tmp_path, "run", "-m", "engine=scripted", "protocol=swapped,nuggets,sage", "limit=4")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("report: ") == 3
    runs = [str(path.parent) for path in (tmp_path / "runs").rglob("manifest.json")]
    table = judgelab(tmp_path, "runs", program=str(ROOT / "experiments" / "tabulate.py")).stdout
    assert [line for line in table.splitlines() if line.startswith("## ")] == ["## nuggets", "## sage", "## swapped"]
    assert table.count("complete; scripted engine") == 3
    mixed = judgelab(tmp_path, "compare", *runs[:2])
    assert mixed.returncode == 2
    assert "only runs of one protocol judge the same things" in mixed.stderr
    nuggets = next(path for path in runs if "/nuggets/" in path)
    exported = judgelab(tmp_path, "export", nuggets, "-o", "out")
    assert exported.returncode == 0, exported.stderr
    assert (tmp_path / "out" / "assignments.jsonl").exists()
    refused = judgelab(tmp_path, "export", next(path for path in runs if "/sage/" in path), "-o", "out")
    assert (refused.returncode, "only nuggets runs" in refused.stderr) == (2, True)


def test_a_data_set_of_another_kind_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "q.jsonl").write_text('{"question": "q?", "answers": ["a"]}\n')
    for protocol in ("nuggets", "sage"):
        done = judgelab(
            tmp_path, "run", "engine=scripted", f"protocol={protocol}", "dataset=plain", "dataset.path=q.jsonl"
        )
        assert done.returncode == 2
        assert f"but protocol={protocol} judges" in done.stderr


def test_evidence_is_replayed_exported_and_imported(tmp_path: Path) -> None:
    common = ("run", "protocol=sage", "engine=scripted", "limit=3")
    assert judgelab(tmp_path, *common).returncode == 0
    replayed = judgelab(tmp_path, *common, "search=replay", "engine.rule=random")
    assert replayed.returncode == 0, replayed.stderr
    missing = judgelab(tmp_path, *common, "search=replay", "engine.rule=random", "limit=60")
    assert missing.returncode == 1
    assert "no recorded evidence of bm25 for the query" in missing.stderr
    assert judgelab(tmp_path, "search", "export", "e.jsonl.gz").returncode == 0
    other = judgelab(tmp_path, "search", "import", "e.jsonl.gz", "--into", "elsewhere/.cache/evidence")
    assert other.returncode == 0, other.stderr
    again = judgelab(tmp_path, *common, "search=replay", "runs_dir=elsewhere")
    assert again.returncode == 0, again.stderr


def test_thresholds_over_finished_calls_ask_nothing(tmp_path: Path) -> None:
    common = ("engine=scripted", "engine.rule=word_overlap", "protocol=nuggets", "limit=6", "analysis.resamples=100")
    assert judgelab(tmp_path, "run", *common).returncode == 0
    (run,) = (tmp_path / "runs").glob("nuggets/*/*/*")
    before = (run / "manifest.json").read_bytes()
    points = ",".join(f"{k / 100:.2f}" for k in range(100))
    swept = judgelab(tmp_path, "run", "-m", *common, f"protocol.tie_threshold={points}")
    assert swept.returncode == 0, swept.stderr
    assert (run / "manifest.json").read_bytes() == before, "a launch was made"
    assert len(list((run / "analysis").iterdir())) == 2 + 100  # the default one, the first command, the points


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["protocol=null"], "protocol=null: choose one of nuggets, sage, swapped"),
        (["limit=1,2"], "limit=1,2: several values are several runs: add -m"),
        (["--foo"], "no option --foo"),
        (["--config-name", "foo"], "no option --config-name"),
        (["--cfg", "foo"], "--cfg foo: must be job, hydra or all"),
        (["-m", "--cfg", "job"], "leave out -m"),
        (["hydra.run.dir=/etc"], "hydra.run.dir is set by judgelab"),
        (["+foo=1"], "no setting 'foo'"),
        (["nuggets.source=pages"], "settings of a protocol are protocol.KEY=VALUE"),
        (["runs_dir="], "runs_dir='': a folder"),
        (["experiment=nq_type"], "no experiment 'nq_type'; did you mean 'nq_type_preserving'?"),
        (["-m", "seed=0,1,x"], "seed=x"),
        (["seed=0,1,-2", "-m"], "seed=-2"),
        (["-m", "dataset=demo,sciq,nope"], "no dataset 'nope'"),
    ],
)
def test_what_hydra_would_say_in_many_lines_is_one(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "engine=scripted", *words]) == 2
    said = capsys.readouterr()
    (line,) = said.err.splitlines()
    assert line.startswith("judgelab: ")
    assert told in line
    assert not said.out


def test_overrides_may_stand_on_both_sides_of_m(tmp_path: Path) -> None:
    done = judgelab(tmp_path, "run", "engine=scripted", "-m", "seed=0,1", "limit=2", "analysis.resamples=200")
    assert done.returncode == 0, done.stderr
    assert len(list((tmp_path / "runs").glob("swapped/*/*/*"))) == 2
