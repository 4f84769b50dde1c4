"""Small data files for the tests of the loaders, and the one line that every refusal must be."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from judgelab.data.rows import Loaded
from judgelab.errors import UsageError


def put(tmp_path: Path, name: str, content: str | bytes) -> Path:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def jsonl(*rows: Any) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def table(rows: list[dict[str, str]], delimiter: str = ",") -> str:
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, list(rows[0]), delimiter=delimiter)
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def refused(loader: Callable[[Path], Loaded[Any]], path: Path) -> str:
    """The complaint about a file, without the path it begins with."""
    with pytest.raises(UsageError) as caught:
        loader(path)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert "dataset." in message
    assert "\n" not in message
    return message.removeprefix(str(path))
