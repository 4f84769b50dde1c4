"""Weights of the Hugging Face hub, in the ordinary cache that every other tool on the machine shares.

Invariant: only safetensors, configuration and tokenizer files are taken; pickled weights are never downloaded.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from judgelab.errors import JudgelabError, UsageError
from judgelab.settings import JudgeConfig

_TAKE = ("*.safetensors", "*.json", "*.jinja", "*.model", "*.tiktoken", "merges.txt", "vocab.txt")
# Nested folders hold second copies in other formats, and so does `consolidated*`.
_LEAVE = ("*/*", "consolidated*")


def snapshot(settings: JudgeConfig) -> Path | None:
    """The cached snapshot, its name being the commit; None where there is none. Never asks the hub."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(settings.model, revision=settings.revision, local_files_only=True))
    except LocalEntryNotFoundError:
        return None
    except HFValidationError as error:
        raise UsageError(f"judge {settings.name}: judge.model={settings.model} is no hub id") from error


def download(settings: JudgeConfig, say: Callable[[str], None]) -> Path:
    """Download what is missing (the hub's own bars show progress) and return the snapshot's directory."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import (
        GatedRepoError,
        HfHubHTTPError,
        HFValidationError,
        LocalEntryNotFoundError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    where = f"https://huggingface.co/{settings.model}"
    revision = settings.revision or "main"
    say(f"{settings.name}: fetching {settings.model} at revision {revision} from the hub")
    take = [*_TAKE, "*.py"] if settings.trust_remote_code else list(_TAKE)
    try:
        return Path(
            snapshot_download(
                settings.model, revision=settings.revision, allow_patterns=take, ignore_patterns=list(_LEAVE)
            )
        )
    except GatedRepoError as error:
        raise UsageError(
            f"judge {settings.name}: {settings.model} is gated: accept its licence at {where}, then set HF_TOKEN"
        ) from error
    except RevisionNotFoundError as error:
        raise UsageError(
            f"judge {settings.name}: {settings.model} has no revision {revision} (knob: judge.revision)"
        ) from error
    except RepositoryNotFoundError as error:
        raise UsageError(
            f"judge {settings.name}: no public model {settings.model} on the hub (knobs: judge.model, HF_TOKEN)"
        ) from error
    except HFValidationError as error:
        raise UsageError(f"judge {settings.name}: judge.model={settings.model} is no hub id") from error
    except (LocalEntryNotFoundError, HfHubHTTPError) as error:
        raise JudgelabError(
            f"judge {settings.name}: the hub cannot be reached for {settings.model}: run this on a machine with "
            "network, or copy the model here and set judge.source=local judge.model=DIRECTORY"
        ) from error
    except OSError as error:
        raise JudgelabError(
            f"judge {settings.name}: fetching {settings.model} failed: {error}; free space or set HF_HOME elsewhere"
        ) from error
