"""Files that something else has written into: one line that names the place and the way out, or no harm at all."""

from __future__ import annotations

import json
import logging
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from judgelab import Config, run
from judgelab.config import preset
from judgelab.engines.cached import CallCache, compact
from judgelab.errors import JudgelabError
from judgelab.scoring import Analysis, figures_of
from judgelab.settings import AnalysisConfig, NuggetsConfig, SageConfig, ScriptedConfig, SwappedConfig
from judgelab.store import Launch, RunDirectory

FEW = AnalysisConfig(resamples=100)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["key", "completion", "record_id", "verdict", "science", "seed", "tallies", "text"]), inner
        )
    ),
    max_leaves=8,
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a finished run of each protocol, and their call caches."""
    folder = tmp_path_factory.mktemp("whole")
    for protocol in (SwappedConfig(), NuggetsConfig(), SageConfig(iterations=1)):
        config = Config(
            protocol=protocol,
            dataset=preset("dataset", "demo"),
            judge=preset("judge", "smollm2-135m"),
            engine=ScriptedConfig(),
            analysis=FEW,
            limit=3,
            runs_dir=str(folder),
        )
        if protocol.name == "sage":
            config.search = preset("search", "bm25")
        run(config)
    return folder


def only(folder: Path, protocol: str) -> RunDirectory:
    (path,) = folder.glob(f"{protocol}/*/*/*")
    return RunDirectory(path)


def journal(path: Path, stem: str) -> Path:
    (found,) = path.glob(f"{stem}-*.jsonl")
    return found


@pytest.fixture
def copied(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "runs"))


@pytest.mark.parametrize("protocol", ["swapped", "nuggets", "sage"])
@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"verdict": "MAYBE"}, "'MAYBE' is no verdict on a"),
        ({"verdict": None, "unscored": None}, "exactly one of verdict and unscored"),
        ({"cell": "zz"}, "'zz' is no cell of a"),
        ({"subject": {}}, "subject"),
        ({"record_id": 7}, "record_id"),
    ],
)
def test_a_record_that_is_none_names_its_line_and_the_way_out(
    copied: Path, protocol: str, change: dict[str, Any], told: str
) -> None:
    run_ = only(copied, protocol)
    path = journal(run_.path, "records")
    lines = path.read_text(encoding="utf-8").splitlines()
    lines[1] = json.dumps(json.loads(lines[1]) | change)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    with pytest.raises(JudgelabError) as caught:
        figures_of(run_, Analysis(FEW))
    assert str(caught.value).startswith(f"{path}:2: ")
    assert told in str(caught.value)
    assert "delete line 2 and launch again" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["{}", "[1, 2]", "null", "not json", '{"science": 5}'])
def test_the_way_out_works(copied: Path, text: str) -> None:
    run_ = only(copied, "swapped")
    path = journal(run_.path, "records")
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("".join(f"{line}\n" for line in [lines[0], text, *lines[2:]]), encoding="utf-8")
    with pytest.raises(JudgelabError, match="delete line 2"):
        run_.records()
    path.write_text("".join(f"{line}\n" for line in [lines[0], *lines[2:]]), encoding="utf-8")
    assert len(run_.records()) == len(lines) - 1


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("null", "it is no object"),
        ("[]", "it is no object"),
        ("{}", "no object science"),
        ('{"science": 5}', "no object science"),
        ('{"science": {}}', "no object science.protocol"),
        ("{", "Expecting"),
    ],
)
def test_a_damaged_manifest_says_what_is_wrong_and_comes_back(copied: Path, text: str, told: str) -> None:
    run_ = only(copied, "swapped")
    path = run_.path / "manifest.json"
    path.write_text(text)
    with pytest.raises(JudgelabError, match="move it away and launch the same command again") as caught:
        figures_of(run_, Analysis(FEW))
    assert told in str(caught.value)


@pytest.mark.parametrize("change", [{"seed": "x"}, {"seed": None}, {"engine": {"kind": 3}}])
def test_a_manifest_with_a_field_of_another_kind(copied: Path, change: dict[str, Any]) -> None:
    run_ = only(copied, "swapped")
    path = run_.path / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["science"] |= change
    path.write_text(json.dumps(manifest))
    with pytest.raises(JudgelabError, match="is damaged"):
        figures_of(run_, Analysis(FEW))


def test_a_damaged_account_of_a_launch_names_its_line(copied: Path) -> None:
    run_ = only(copied, "swapped")
    path = journal(run_.path, "launches")
    path.write_text("{}\n" + path.read_text())
    with pytest.raises(JudgelabError, match=r"launches-.*:1: not the account of a launch: started: .*delete line 1"):
        run_.add_launch(Launch("now", 1.0, "here", None, "complete"))


def test_bad_lines_of_a_cache_are_left_out_with_one_warning_and_dropped_by_compacting(
    copied: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (folder,) = {path.parent for path in (copied / ".cache" / "calls").rglob("calls-*") if "grade" in path.read_text()}
    path = next(each for each in folder.glob("calls-*") if "grade" in each.read_text())
    whole = CallCache(folder, {})._known
    lines = path.read_text().splitlines()
    bad = ["{}", "null", "[1]", "nonsense", '{"key": "k", "completion": {"text": 5}}', '{"key": 1, "completion": null}']
    path.write_text("".join(f"{line}\n" for line in [lines[0], *bad, *lines[1:]]))
    with caplog.at_level(logging.WARNING):
        assert CallCache(folder, {})._known == whole
    (warning,) = caplog.messages
    assert f"{path}:2 is no call and is left out (6 such lines" in warning
    assert compact(folder) == len(whole)
    caplog.clear()
    assert CallCache(folder, {})._known == whole
    assert not caplog.messages


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(value=JSON)
def test_nothing_but_a_told_error_comes_out_of_any_line(value: Any, tmp_path: Path) -> None:
    for stem in ("records", "launches", "calls"):
        (tmp_path / f"{stem}-x.jsonl").write_text(json.dumps(value) + "\n", encoding="utf-8")
    (tmp_path / "manifest.json").write_text(json.dumps(value), encoding="utf-8")
    run_ = RunDirectory(tmp_path)
    for read in (run_.records, lambda: run_.manifest, lambda: run_.add_launch(Launch("n", 1.0, "h", None, "part"))):
        told = str(tmp_path)
        try:
            read()
        except JudgelabError as error:
            told = str(error)
        assert str(tmp_path) in told
    for path in tmp_path.glob("launches-[!x]*"):
        path.unlink()
    assert CallCache(tmp_path, {})._known == {}
