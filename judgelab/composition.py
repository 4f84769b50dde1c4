"""The Hydra edge: composes `conf/` with overrides and says in one line what is wrong with them.

Invariant: Hydra and OmegaConf are known here, in `cli` and in `experiments/` only; everything else works on plain
dataclasses.
"""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from judgelab import config
from judgelab.errors import UsageError
from judgelab.settings import (
    Config,
    DatasetConfig,
    EngineConfig,
    JudgeConfig,
    ProtocolConfig,
    SearchConfig,
    SwappedConfig,
    VllmConfig,
)

OPEN_KEYS = ("engine.args.", "judge.template_kwargs.")  # hold names that are not ours to list


def register() -> None:
    """Put the schema where `conf/*.yaml` name it in their defaults."""
    from hydra.core.config_store import ConfigStore

    store = ConfigStore.instance()
    store.store(name="schema", node=Config(protocol=ProtocolConfig(), engine=EngineConfig()))
    for name, protocol in config.PROTOCOLS.items():
        store.store(group="protocol", name=f"schema_{name}", node=protocol)
    _register_launchers()
    for name, engine in config.ENGINES.items():
        store.store(group="engine", name=f"schema_{name}", node=engine)


def _register_launchers() -> None:
    """Make our launchers known to Hydra, which admits a plugin by the name of its package alone."""
    from importlib.util import find_spec

    if find_spec("hydra_plugins") is None or find_spec("hydra_plugins.hydra_submitit_launcher") is None:
        return
    from hydra.core.plugins import Plugins

    from judgelab import launcher

    sys.modules["hydra_plugins.judgelab"] = launcher
    for kind in (launcher.SlurmLauncher, launcher.LocalLauncher):
        kind.__module__ = "hydra_plugins.judgelab"
        Plugins.instance().register(kind)


# What Hydra would do beside our run directory.
CLOSED_KEYS = ("hydra.run.", "hydra.sweep.", "hydra.output_subdir", "hydra.job.chdir", "hydra.runtime.")


def open_keys(overrides: Sequence[str]) -> list[str]:
    """Overrides with `++` put before keys whose names are not ours to list (`engine.args.max_num_seqs=8`)."""
    return [f"++{each}" if each.startswith(OPEN_KEYS) else each for each in overrides]


def arrange(words: Sequence[str]) -> list[str]:
    """The words of `judgelab run` with the options in front, as Hydra wants them; UsageError for a strange one."""
    options, overrides = [], []
    rest = iter(words)
    for word in rest:
        if not word.startswith("-"):
            overrides.append(word)
        elif word in ("-m", "--multirun", "--resolve"):
            options.append(word)
        elif word in ("--cfg", "-c", "--info", "-i", "--package", "-p"):
            options += [word, next(rest, "job")]
        else:
            raise UsageError(f"no option {word}: there are -m, --cfg job, --resolve and --help; settings are key=value")
    multirun = {"-m", "--multirun"} & {*options}
    if multirun and (shown := {"--cfg", "-c", "--info", "-i"} & {*options}):
        raise UsageError(f"{min(shown)} shows one config: leave out {min(multirun)}, and give each key one value")
    if (kind := dict(itertools.pairwise(options)).get("--cfg")) not in (None, "job", "hydra", "all"):
        raise UsageError(f"--cfg {kind}: must be job, hydra or all")
    return [*options, *overrides]


def check(overrides: Sequence[str], multirun: bool = False) -> None:
    """Compose each value of every override and turn what Hydra says into one line with the nearest valid key."""
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    try:
        parsed = OverridesParser.create().parse_overrides(list(overrides))
    except HydraException as error:
        raise UsageError(f"cannot read the overrides: {_one_line(str(error))} (form: key=value)") from error
    first: list[str] = []
    others: list[tuple[int, str]] = []
    for place, (text, override) in enumerate(zip(overrides, parsed, strict=True)):
        key = override.key_or_group
        if text.startswith("+") and not key.startswith(OPEN_KEYS):
            raise UsageError(f"no setting {key!r}{config.nearest(key, _keys([]))}")
        if key.startswith(CLOSED_KEYS):
            raise UsageError(f"{key} is set by judgelab: what a run leaves lies in its run directory (knob: runs_dir=)")
        if key in config.GROUPS and override.value() is None and not override.is_delete():
            raise UsageError(f"{key}={text.partition('=')[2]}: choose one of {', '.join(config.options(key))}")
        if override.is_sweep_override():
            if not multirun:
                raise UsageError(f"{text}: several values are several runs: add -m")
            values = [f"{text.partition('=')[0]}={each}" for each in override.sweep_string_iterator()]
            others += [(place, each) for each in values[1:]]
            text = values[0] if values else f"{text.partition('=')[0]}=null"
        first.append(text)
    base = _compose(first)
    try:
        made = [from_hydra(base)]
        for place, text in others:
            key, _, value = text.lstrip("+").partition("=")
            if "." in key or key not in config.GROUPS:  # a setting: no need to compose, which takes a quarter second
                one = base.copy()
                OmegaConf.update(one, key, OmegaConf.create(f"x: {value}").x)
            else:
                one = _compose([*first[:place], text, *first[place + 1 :]])
            made.append(from_hydra(one))
    except (HydraException, OmegaConfBaseException) as error:
        raise UsageError(f"{text}: {_explain(error, first)}" if others else _explain(error, first)) from error
    if multirun:
        for each in made:
            config.validate(each)


def _compose(overrides: Sequence[str]) -> Any:
    from hydra import compose as hydra_compose
    from hydra import initialize_config_dir
    from hydra.core.global_hydra import GlobalHydra
    from hydra.errors import HydraException
    from omegaconf.errors import OmegaConfBaseException

    register()
    GlobalHydra.instance().clear()
    try:
        with initialize_config_dir(str(config.conf_dir()), version_base="1.3"):
            return hydra_compose("config", overrides=list(overrides))
    except (HydraException, OmegaConfBaseException) as error:
        raise UsageError(_explain(error, overrides)) from error


def compose(overrides: Sequence[str]) -> Config:
    """The Config that these overrides make of `conf/config.yaml`; UsageError in one line for what cannot be."""
    return from_hydra(_compose(overrides))


def from_hydra(composed: Any) -> Config:
    """A composed DictConfig as a Config."""
    from omegaconf import OmegaConf
    from omegaconf.errors import MissingMandatoryValue

    try:
        settings = OmegaConf.to_object(composed)
    except MissingMandatoryValue as error:
        key = re.search(r"full_key: (\S+)", str(error))
        raise UsageError(f"{key[1] if key else 'a value'} is missing: give {key[1] if key else 'it'}=VALUE") from error
    assert isinstance(settings, Config)
    return settings


def _explain(error: Exception, overrides: Sequence[str]) -> str:
    causes = [error]
    while causes[-1].__cause__ is not None:
        causes.append(causes[-1].__cause__)  # type: ignore[arg-type]
    text = "\n".join(str(cause) for cause in causes)
    if missing := re.search(r"Could not find '([^']+)'", text):
        group, _, name = missing[1].rpartition("/")
        return (
            f"no {group} {name!r}{config.nearest(name, config.options(group))}"
            if group in (*config.GROUPS, "experiment")
            else f"no config {missing[1]!r}"
        )
    if key := re.search(r"Key '([^']+)' (?:is not in struct|not in '\w+')", text):
        full = re.search(r"full_key: (\S+)", text)
        name = full[1] if full else key[1]
        if name in config.PROTOCOLS:
            return f"no setting {name!r}: settings of a protocol are protocol.KEY=VALUE"
        return f"no setting {name!r}{config.nearest(name, _keys(overrides))}"
    if group := re.search(r"Could not override '([^']+)'", text):
        return f"no setting {group[1]!r}{config.nearest(group[1], _keys(overrides))}"
    return _one_line(text)


def _keys(overrides: Sequence[str]) -> list[str]:
    """Every dotted key that the chosen groups have, those overridden by name left out."""
    chosen = {group: value for group, _, value in (o.partition("=") for o in overrides) if group in config.GROUPS}
    parts: list[Any] = [Config()]
    keys = [f.name for f in fields(Config)]
    for group in config.GROUPS:
        try:
            part = config.preset(group, chosen[group]) if group in chosen else None
        except UsageError:
            part = None
        part = (
            part
            or {
                "protocol": SwappedConfig,
                "engine": VllmConfig,
                "dataset": DatasetConfig,
                "judge": JudgeConfig,
                "search": SearchConfig,
            }[group]()
        )
        keys += [f"{group}.{f.name}" for f in fields(part)]
    return keys + [f"analysis.{f.name}" for f in fields(parts[0].analysis)]


def _one_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return "; ".join(line for line in lines if not line.startswith(("full_key", "object_type", "reference_type")))
