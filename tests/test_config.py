"""Every YAML composes, every mistake is told in one line that names what was meant."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from judgelab import build, composition
from judgelab import config as cfg
from judgelab.errors import UsageError
from judgelab.settings import (
    AutoConfig,
    Config,
    JudgeConfig,
    NotAttempted,
    ScriptedConfig,
    Swap,
    SwappedConfig,
    TransformersConfig,
    VllmConfig,
    scientific,
)

PRESETS = [(group, name) for group in cfg.GROUPS for name in cfg.options(group)]
NEEDS = {("dataset", "plain"): ["dataset.path=x.jsonl"]}


@pytest.mark.parametrize(("group", "name"), PRESETS)
def test_every_yaml_composes_and_is_the_preset(group: str, name: str) -> None:
    config = composition.compose([f"{group}={name}", *NEEDS.get((group, name), [])])
    changes = {"path": "x.jsonl"} if (group, name) in NEEDS else {}
    assert getattr(config, group) == cfg.preset(group, name, **changes)


@pytest.mark.parametrize("name", cfg.options("experiment"))
def test_every_experiment_composes(name: str) -> None:
    assert isinstance(composition.compose([f"experiment={name}"]), Config)


def test_the_default_run_is_the_embedded_judge_on_the_demo_set() -> None:
    config = composition.compose([])
    assert (config.judge.name, config.dataset.name) == ("smollm2-135m", "demo")
    assert isinstance(config.engine, AutoConfig)
    assert isinstance(config.protocol, SwappedConfig)


@pytest.mark.parametrize(
    ("overrides", "parts"),
    [
        (["judge=smollm"], ["no judge 'smollm'", "smollm2-135m"]),
        (["dataset=nq_type"], ["no dataset 'nq_type'", "did you mean 'nq_typed'"]),
        (["engine=vlm"], ["no engine 'vlm'", "did you mean 'vllm'"]),
        (["protocol.swp=alias"], ["no setting 'protocol.swp'", "did you mean 'protocol.swap'"]),
        (["limits=5"], ["no setting 'limits'", "did you mean 'limit'"]),
        (["in_fligth=5"], ["did you mean 'in_flight'"]),
        (["engine=scripted", "engine.rul=random"], ["did you mean 'engine.rule'"]),
        (["analysis.levl=.9"], ["did you mean 'analysis.level'"]),
        (["judge.max_modl_len=9"], ["did you mean 'judge.max_model_len'"]),
        (["protocol.swap=sideways"], ["sideways", "type_preserving"]),
        (["limit=many"], ["many"]),
        (["seed"], ["key=value"]),
        (["protocl=swapped"], ["protocl", "did you mean 'protocol'"]),
    ],
)
def test_mistakes_are_one_line(overrides: list[str], parts: list[str]) -> None:
    with pytest.raises(UsageError) as caught:
        composition.check(overrides)
    text = str(caught.value)
    assert "\n" not in text
    for part in parts:
        assert part in text


def test_sweeps_are_checked_too() -> None:
    composition.check(["protocol.swap=alias,type_changing", "seed=range(0,3)"], multirun=True)
    with pytest.raises(UsageError, match=r"did you mean 'protocol\.swap'"):
        composition.check(["protocol.swp=alias,type_changing"], multirun=True)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("limit", 0),
        ("in_flight", 0),
        ("max_unscored", 2),
        ("analysis.level", 1),
        ("shard", "3/2"),
        ("shard", "x"),
    ],
)
def test_values_that_cannot_work_are_refused_by_name(key: str, value: object) -> None:
    with pytest.raises(UsageError, match=f"^{key}={value}"):
        cfg.validate(composition.compose([f"{key}={value}"]))


def test_vllm_arguments_need_no_plus_sign() -> None:
    assert composition.open_keys(["engine.args.max_num_seqs=8", "seed=1"]) == [
        "++engine.args.max_num_seqs=8",
        "seed=1",
    ]
    config = composition.compose(composition.open_keys(["engine=vllm", "engine.args.max_num_seqs=8"]))
    assert config.engine == VllmConfig(args={"max_num_seqs": 8})


def test_a_stored_config_loads_back_equal(tmp_path: Path) -> None:
    config = composition.compose(["protocol.swap=alias", "engine=scripted", "engine.rule=random", "limit=7"])
    config.analysis.not_attempted = NotAttempted.excluded
    (tmp_path / "config.yaml").write_text(cfg.dump(config))
    assert cfg.load(tmp_path / "config.yaml") == config


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("a: [", "cannot read"),
        ("protocol: {name: swapped, swop: alias}\ndataset: {}\njudge: {}\nengine: {kind: vllm}\nsearch: {}\n", "swop"),
        ("protocol: {name: nope}\ndataset: {}\njudge: {}\nengine: {kind: vllm}\nsearch: {}\n", "nope"),
        ("protocol: {name: swapped}\ndataset: {}\njudge: {}\nengine: {kind: vllm}\nsearch: {}\nseed: x\n", "seed"),
        ("[]", "config.yaml"),
        ("protocol: {name: swapped}\n", "dataset"),
    ],
)
def test_a_damaged_config_names_the_field(tmp_path: Path, text: str, part: str) -> None:
    (tmp_path / "config.yaml").write_text(text)
    with pytest.raises(UsageError, match=part):
        cfg.load(tmp_path / "config.yaml")


def test_only_scientific_fields_are_scientific() -> None:
    assert set(scientific(Config(judge=JudgeConfig("j")))) == {
        "protocol",
        "dataset",
        "judge",
        "engine",
        "search",
        "limit",
        "seed",
    }
    assert "latency" not in scientific(ScriptedConfig())
    assert "model" not in scientific(JudgeConfig())


def test_auto_falls_back_where_vllm_is_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.util

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert build.resolve_auto(AutoConfig()) == TransformersConfig()
    with pytest.raises(UsageError, match=r"engine\.args\.max_num_seqs"):
        build.resolve_auto(AutoConfig(args={"max_num_seqs": 1}))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    assert build.resolve_auto(AutoConfig(backend="guidance")) == VllmConfig(backend="guidance")


@pytest.mark.parametrize(("text", "inside"), [("1/1", [0, 1, 2]), ("2/3", [1, 4, 7])])
def test_shards(text: str, inside: list[int]) -> None:
    shard = cfg.parse_shard(text)
    assert [i for i in range(9) if i in shard][: len(inside)] == inside


def test_shards_partition() -> None:
    parts = [cfg.parse_shard(f"{k}/4") for k in range(1, 5)]
    assert all(sum(i in part for part in parts) == 1 for i in range(50))


def test_presets_take_changes_and_refuse_unknown_ones() -> None:
    assert cfg.preset("protocol", "swapped", swap="alias").swap is Swap.alias
    with pytest.raises(UsageError, match="did you mean 'swap'"):
        cfg.preset("protocol", "swapped", swp="alias")
    with pytest.raises(UsageError, match="did you mean 'judge'"):
        cfg.preset("judg", "x")
    assert dataclasses.is_dataclass(cfg.preset("engine", "auto"))


@pytest.mark.parametrize(
    ("override", "key"),
    [
        ("engine.kind=vllm", "engine.kind=vllm"),
        ("protocol.name=nuggets", "protocol.name=nuggets"),
        ("protocol.name=foo", "protocol.name=foo"),
        ("seed=-1", "seed=-1"),
        ("analysis.resamples=1000000000000", "analysis.resamples"),
        ("analysis.level=nan", "analysis.level"),
        ("protocol.temperature=inf", "protocol.temperature"),
        ("engine.latency=inf", "engine.latency"),
        ("dataset.name=../../x", "dataset.name"),
        ("dataset.name=''", "dataset.name"),
    ],
)
def test_values_that_no_run_could_have_name_their_key(override: str, key: str) -> None:
    config = composition.compose(["engine=scripted", override])
    with pytest.raises(UsageError, match=re.escape(key)):
        cfg.validate(config)


@pytest.mark.parametrize("override", ["protocol.tie_threshold=2", "protocol.folds=1", "protocol.class_min=11"])
def test_an_analysis_that_means_nothing_is_refused_before_the_first_call(override: str) -> None:
    config = composition.compose(["engine=scripted", "protocol=nuggets", override])
    with pytest.raises(UsageError, match=f"^{re.escape(override)}"):
        cfg.validate(config)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"limit": "x"}, "limit='x': Input should be a valid integer"),
        ({"limit": "3"}, "limit='3'"),
        ({"seed": None}, "seed=None"),
        ({"seed": True}, "seed=True"),
        ({"in_flight": 2.5}, "in_flight=2.5"),
        ({"runs_dir": 7}, "runs_dir=7"),
        ({"engine": None}, "engine=None: settings are expected, such as preset('engine', NAME)"),
        ({"protocol": "swapped"}, "protocol='swapped': settings are expected"),
        ({"analysis": {}}, "analysis={}: settings are expected"),
    ],
)
def test_values_of_another_kind_from_python_name_their_field(change: dict[str, object], told: str) -> None:
    config = Config(
        dataset=cfg.preset("dataset", "demo"),
        judge=cfg.preset("judge", "smollm2-135m"),
        engine=cfg.preset("engine", "scripted"),
    )
    cfg.validate(config)
    with pytest.raises(UsageError) as caught:
        cfg.validate(dataclasses.replace(config, **change))  # type: ignore[arg-type]
    assert told in str(caught.value)
