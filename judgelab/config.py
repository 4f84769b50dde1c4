"""Settings from YAML and back, without Hydra: presets of `conf/`, stored configs, and what values cannot work.

Invariant: whatever does not fit is a `UsageError` of one line that names file, field and the nearest valid name.
"""

from __future__ import annotations

import difflib
import enum
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, get_type_hints

from judgelab.errors import UsageError
from judgelab.settings import (
    AutoConfig,
    Config,
    DatasetConfig,
    EngineConfig,
    JudgeConfig,
    NuggetsConfig,
    ProtocolConfig,
    SageConfig,
    ScriptedConfig,
    SearchConfig,
    ServerConfig,
    SwappedConfig,
    TransformersConfig,
    VllmConfig,
    check_analysis,
)

ENGINES: Mapping[str, type[EngineConfig]] = {
    "auto": AutoConfig,
    "vllm": VllmConfig,
    "server": ServerConfig,
    "transformers": TransformersConfig,
    "scripted": ScriptedConfig,
}
PROTOCOLS: Mapping[str, type[ProtocolConfig]] = {
    "swapped": SwappedConfig,
    "nuggets": NuggetsConfig,
    "sage": SageConfig,
}
MOST_RESAMPLES = 1_000_000
GROUPS = ("protocol", "dataset", "judge", "engine", "search")


def conf_dir() -> Path:
    """The folder of YAML groups: beside the package in a checkout, inside it when installed."""
    package = Path(__file__).resolve().parent
    for folder in (package / "conf", package.parent / "conf"):
        if (folder / "config.yaml").is_file():
            return folder
    raise UsageError(f"conf/ is missing from the installation in {package}: install judgelab again")


def options(group: str) -> list[str]:
    """Names that a group offers."""
    return sorted(path.stem for path in (conf_dir() / group).glob("*.yaml"))


def preset(group: str, name: str, **changes: Any) -> Any:
    """One option of a group as its dataclass, with some fields changed: `preset("judge", "smollm2-135m")`.

    Raises UsageError for an unknown group, option or field, naming the nearest one.
    """
    import yaml

    if group not in GROUPS:
        raise UsageError(f"no config group {group!r}{nearest(group, GROUPS)}")
    path = conf_dir() / group / f"{name}.yaml"
    if name not in options(group) or not path.is_file():
        raise UsageError(f"no {group} {name!r}{nearest(name, options(group))}")
    values = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    values.pop("defaults", None)
    return _settings(group, {**values, **changes}, str(path))


def _settings(group: str, values: Mapping[str, Any], where: str) -> Any:
    from pydantic import TypeAdapter, ValidationError

    kind: type
    match group:
        case "protocol":
            kind = _lookup(PROTOCOLS, values.get("name"), f"{where}: protocol name")
        case "engine":
            kind = _lookup(ENGINES, values.get("kind"), f"{where}: engine kind")
        case "dataset":
            kind = DatasetConfig
        case "search":
            kind = SearchConfig
        case _:
            kind = JudgeConfig
    names = [f.name for f in fields(kind)]
    for key in values:
        if key not in names:
            raise UsageError(f"{where}: no field {key!r} in {kind.__name__}{nearest(key, names)}")
    try:
        return TypeAdapter(kind).validate_python(dict(values))
    except ValidationError as error:
        first = error.errors()[0]
        raise UsageError(f"{where}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from error


def _lookup(table: Mapping[str, Any], name: Any, where: str) -> Any:
    if name not in table:
        raise UsageError(f"{where} {name!r} is unknown{nearest(str(name), table)}")
    return table[name]


def protocol_of(values: Mapping[str, Any], where: str) -> ProtocolConfig:
    """Protocol settings of plain values, its `name` among them; UsageError names the field that does not fit."""
    settings: ProtocolConfig = _settings("protocol", values, where)
    return settings


def protocol_class(name: str) -> type[ProtocolConfig]:
    """The settings class of a protocol; UsageError for an unknown one."""
    kind: type[ProtocolConfig] = _lookup(PROTOCOLS, name, "protocol name")
    return kind


def nearest(name: str, known: Sequence[str] | Mapping[str, Any]) -> str:
    """A hint to append to an error: the nearest known name, or all of a short list."""
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; known: {', '.join(sorted(known))}"


def plain(value: Any) -> Any:
    """A settings dataclass as plain YAML values (enums by name)."""
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return value


def dump(config: Config) -> str:
    """The YAML that `load` reads back."""
    import yaml

    text: str = yaml.safe_dump(plain(config), sort_keys=False, allow_unicode=True)
    return text


def load(path: Path) -> Config:
    """A stored `config.yaml` as a Config; UsageError names file and field of what does not fit."""
    import yaml
    from pydantic import TypeAdapter, ValidationError

    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise UsageError(f"cannot read {path}: {error}") from error
    if missing := [
        group for group in GROUPS if not isinstance(values, dict) or not isinstance(values.get(group), dict)
    ]:
        raise UsageError(f"{path}: not a stored run config: it has no {missing[0]}")
    parts = {group: _settings(group, values.pop(group), str(path)) for group in GROUPS}
    try:
        config: Config = TypeAdapter(Config).validate_python(values)
    except ValidationError as error:
        first = error.errors()[0]
        raise UsageError(f"{path}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from error
    for group, part in parts.items():
        setattr(config, group, part)
    return config


def _numbers(settings: Any, prefix: str = "") -> Iterator[tuple[str, float]]:
    """Every floating number of a settings dataclass with its dotted key."""
    for f in fields(settings):
        value = getattr(settings, f.name)
        if isinstance(value, float):
            yield f"{prefix}{f.name}", value
        elif is_dataclass(value) and not isinstance(value, type):
            yield from _numbers(value, f"{prefix}{f.name}.")


def _check_kinds(config: Config) -> None:
    """Refuse what YAML and overrides cannot hold but Python can: text for a number, None for a group."""
    from pydantic import TypeAdapter, ValidationError

    hints = get_type_hints(Config)
    for f in fields(Config):
        value = getattr(config, f.name)
        if f.name in (*GROUPS, "analysis"):
            if not isinstance(value, hints[f.name]):
                raise UsageError(f"{f.name}={value!r:.80}: settings are expected, such as preset({f.name!r}, NAME)")
            continue
        try:
            TypeAdapter(hints[f.name]).validate_python(value, strict=True)
        except ValidationError as error:
            raise UsageError(f"{f.name}={value!r:.80}: {error.errors()[0]['msg']}") from error


def validate(config: Config) -> None:
    """Refuse values that no part could work with; UsageError names the key."""
    _check_kinds(config)

    def need(good: bool, key: str, value: Any, what: str) -> None:
        if not good:
            raise UsageError(f"{key}={value}: {what}")

    analysis = config.analysis
    for group, key, table in (("protocol", "name", PROTOCOLS), ("engine", "kind", ENGINES)):
        part = getattr(config, group)
        given = getattr(part, key)
        need(
            table.get(given) is type(part),
            f"{group}.{key}",
            given,
            f"is set by the group: choose {group}={given} instead",
        )
    for key, value in _numbers(config):
        need(math.isfinite(value), key, value, "a finite number")
    name = config.dataset.name
    plain_name = bool(name) and name not in (".", "..") and not re.search(r"[/\\\x00-\x1f]", name)
    need(plain_name, "dataset.name", repr(name), "a plain name: it names a folder of the run")
    for key in ("runs_dir", "cache_dir"):
        need(getattr(config, key) != "", key, "''", "a folder")
    need(config.seed >= 0, "seed", config.seed, "0 or more")
    need(config.limit is None or config.limit > 0, "limit", config.limit, "a positive number, or null for all")
    need(config.in_flight > 0, "in_flight", config.in_flight, "at least one call at a time")
    need(0 <= config.max_unscored <= 1, "max_unscored", config.max_unscored, "a share from 0 to 1")
    need(0 < analysis.level < 1, "analysis.level", analysis.level, "a level between 0 and 1, such as 0.95")
    need(
        100 <= analysis.resamples <= MOST_RESAMPLES,
        "analysis.resamples",
        analysis.resamples,
        f"from 100 to {MOST_RESAMPLES} (10000 for papers)",
    )
    need(analysis.min_type >= 1, "analysis.min_type", analysis.min_type, "at least 1")
    if isinstance(config.protocol, NuggetsConfig):
        check_analysis(config.protocol)
    if config.shard is not None:
        parse_shard(config.shard)
    if isinstance(config.engine, VllmConfig | AutoConfig) and "hf_token" in config.engine.args:
        raise UsageError("engine.args.hf_token: secrets do not belong in configs; set HF_TOKEN in the environment")


def parse_shard(text: str) -> range:
    """`k/n` (1 <= k <= n) as the range whose `start` is k - 1 and `step` n: item i belongs to it if i % n == k - 1."""
    match = re.fullmatch(r"(\d+)/(\d+)", str(text))
    if not match or not 1 <= int(match[1]) <= int(match[2]):
        raise UsageError(f"shard={text}: write it as k/n with 1 <= k <= n, such as 2/8")
    return range(int(match[1]) - 1, 2**62, int(match[2]))
