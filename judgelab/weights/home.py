"""The folder that judgelab keeps between runs: converted weights and the hashes of local ones.

Invariant: whatever lies there can be made again, so the folder may be deleted at any time.
"""

from __future__ import annotations

import os
from pathlib import Path


def home() -> Path:
    """`$JUDGELAB_HOME`, else `judgelab` in `$XDG_CACHE_HOME` or `~/.cache`; not created here."""
    if named := os.environ.get("JUDGELAB_HOME"):
        return Path(named).expanduser().absolute()
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(cache).expanduser().absolute() / "judgelab"
