"""Settings that make searches of tests quick."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from loopback import Loopback, loopback

from judgelab.settings.search import SearchConfig


@pytest.fixture
def web() -> Iterator[Loopback]:
    with loopback() as server:
        yield server


@pytest.fixture
def quick() -> SearchConfig:
    return SearchConfig(engine="serper", rate=1000.0, tries=3, timeout=10.0)
