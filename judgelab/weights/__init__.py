"""Where a judge's weights lie on this machine, and how they get there.

Invariant: `resolve` reads this disk alone and `fetch` is the only thing that downloads, so that a job on a node
without network either starts or says in one line what to run elsewhere.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

from judgelab.errors import JudgelabError, UsageError
from judgelab.judge import Judge, thinking_of
from judgelab.settings import JudgeConfig
from judgelab.weights import fingerprint, hub, wheel
from judgelab.weights.home import home

Say = Callable[[str], None]

_TOKENIZERS = ("tokenizer.json", "tokenizer.model", "vocab.json", "tokenizer_config.json")


def resolve(settings: JudgeConfig) -> Judge:
    """The judge with its weights on disk and named by content. Raises UsageError where they are not here.

    A local directory is hashed at its first use (seconds a gigabyte), then known by its files' sizes and times.
    """
    path = locate(settings)
    if path is None:
        raise UsageError(
            f'weights of judge {settings.name} are not here: run "judgelab models fetch {settings.name}" on a '
            "machine with network (jobs never download)"
        )
    match settings.source:
        case "hub":
            weights_id = f"hub:{path.name}"
        case "local":
            weights_id = f"local:{fingerprint.directory(path, home())}"
        case _:
            weights_id = f"wheel:{wheel.pin(settings).sha256[:16]}"
    return Judge(
        name=settings.name,
        path=path,
        weights_id=weights_id,
        dtype=settings.dtype,
        quantization=settings.quantization,
        max_model_len=settings.max_model_len,
        tensor_parallel=settings.tensor_parallel,
        chat_template=_chat_template(settings),
        template_kwargs=dict(settings.template_kwargs),
        answer_prefix=settings.answer_prefix,
        thinking=thinking_of(settings),
        trust_remote_code=settings.trust_remote_code,
        model=settings.model,
    )


def fetch(settings: JudgeConfig, say: Say) -> Path:
    """Bring the weights here and return their directory; `say` gets plain lines of progress.

    Idempotent, and safe when several processes do it at once. Raises UsageError or JudgelabError in one line.
    """
    if settings.source != "hub" and (path := locate(settings)) is not None:
        say(f"{settings.name}: {path} is in place")
        if settings.source == "local":
            say(f"{settings.name}: taking the content hash of its files")
            fingerprint.directory(path, home())
        return path
    if settings.source == "hub":
        path = hub.download(settings, say)
        _check_directory(settings, path)
    else:
        path = _wheel_target(settings)
        wheel.install(wheel.pin(settings), path, say)
    say(f"{settings.name}: {path} is in place")
    return path


def locate(settings: JudgeConfig) -> Path | None:
    """The directory of the weights, or None where they were never fetched (or only in part).

    Raises UsageError where the settings cannot name any, and where a local directory is no model.
    """
    match settings.source:
        case "hub":
            path = hub.snapshot(settings)
            return path if path is not None and not _missing(path) else None
        case "local":
            path = Path(settings.model).expanduser().absolute()
            _check_directory(settings, path)
            return path
        case "wheel":
            path = _wheel_target(settings)
            return path if path.is_dir() else None
        case other:
            raise UsageError(f"judge.source={other} of judge {settings.name} is unknown: hub, local or wheel")


def _wheel_target(settings: JudgeConfig) -> Path:
    name = re.sub(r"[^\w.-]", "_", settings.name)
    return home() / "weights" / f"{name}-{wheel.pin(settings).sha256[:16]}"


def _check_directory(settings: JudgeConfig, path: Path) -> None:
    if not path.is_dir():
        raise UsageError(f"judge {settings.name}: {path} is not a directory (knob: judge.model)")
    if missing := _missing(path):
        raise UsageError(f"judge {settings.name}: {path} is not a whole model: no {missing} (knob: judge.model)")


def _missing(path: Path) -> str:
    """What a model directory lacks, in words; empty where it is whole."""
    if not (path / "config.json").is_file():
        return "config.json"
    if not any((path / name).is_file() for name in _TOKENIZERS):
        return f"tokenizer ({' or '.join(_TOKENIZERS)})"
    index = path / "model.safetensors.index.json"
    if index.is_file():
        try:
            shards = sorted(set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()))
        except (OSError, ValueError, KeyError, AttributeError, TypeError) as error:
            raise JudgelabError(f"{index} cannot be read ({error}); fetch the weights again") from error
        return next((shard for shard in shards if not (path / shard).is_file()), "")
    if any(path.glob("*.safetensors")) or any(path.glob("*.bin")):
        return ""
    return "weights (*.safetensors)"


def _chat_template(settings: JudgeConfig) -> str | None:
    if settings.chat_template is None:
        return None
    path = Path(settings.chat_template).expanduser()
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise UsageError(f"judge {settings.name}: judge.chat_template={path}: {reason}") from error
