"""The content hash of a model directory, remembered so that 140 GB are read once and not at every start.

Invariant: a file's remembered hash is used only while its path, size and modification time are what they were.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from judgelab.errors import JudgelabError
from judgelab.journal import write_atomic
from judgelab.records import canonical_json


def directory(path: Path, home: Path) -> str:
    """sha256 over the names and contents of the directory's files, hidden ones left out (64 hex digits).

    Per-file hashes are kept in `<home>/hashes/`; a home that cannot be written costs time, not the answer.
    """
    path = path.resolve()
    sidecar = home / "hashes" / f"{hashlib.sha256(str(path).encode()).hexdigest()[:16]}.json"
    known = _read(sidecar)
    files: dict[str, Any] = {}
    for file in sorted(path.rglob("*")):
        name = file.relative_to(path)
        if not file.is_file() or any(part.startswith(".") for part in name.parts):
            continue
        try:
            stat = file.stat()
            entry = known.get(name.as_posix())
            if not entry or [entry["size"], entry["mtime_ns"]] != [stat.st_size, stat.st_mtime_ns]:
                with file.open("rb") as stream:
                    digest = hashlib.file_digest(stream, "sha256").hexdigest()
                entry = {"size": stat.st_size, "mtime_ns": stat.st_mtime_ns, "sha256": digest}
        except OSError as error:
            raise JudgelabError(f"cannot read {file}: {error.strerror}") from error
        files[name.as_posix()] = entry
    if files != known:
        with suppress(JudgelabError, OSError):  # hashed again next time
            write_atomic(sidecar, canonical_json({"path": str(path), "files": files}))
    return hashlib.sha256(
        canonical_json([[name, entry["sha256"]] for name, entry in files.items()]).encode()
    ).hexdigest()


def _read(sidecar: Path) -> Mapping[str, Any]:
    try:
        files: Mapping[str, Any] = json.loads(sidecar.read_text(encoding="utf-8"))["files"]
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return files
