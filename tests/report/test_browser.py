"""The page in a real browser: filters, traces, and what hostile text can do there (nothing)."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from html import unescape
from pathlib import Path

import pytest
import synthetic

from judgelab.report.html import write_report
from judgelab.report.run_report import RunReport

pytestmark = pytest.mark.browser
Browse = Callable[[RunReport, str], str]


@pytest.fixture(scope="module")
def browse(tmp_path_factory: pytest.TempPathFactory) -> Browse:
    """Open a run's page with a URL hash and give back the document as the browser holds it then."""
    chromium = next(
        (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
    )
    if chromium is None:
        pytest.skip("no Chromium on the PATH (Debian: apt-get install chromium)")
    root = tmp_path_factory.mktemp("browser")
    pages: dict[int, Path] = {}

    def open_page(report: RunReport, fragment: str) -> str:
        if id(report) not in pages:
            pages[id(report)] = root / f"{len(pages)}.html"
            write_report([report], pages[id(report)])
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        command = [chromium, *flags, f"--user-data-dir={root / 'profile'}", "--virtual-time-budget=4000", "--dump-dom"]
        address = f"{pages[id(report)].as_uri()}#{fragment}"
        done = subprocess.run([*command, address], capture_output=True, text=True, check=True, timeout=120)
        return done.stdout

    return open_page


def count(document: str) -> str:
    found = re.search(r'<p id="count"[^>]*>([^<]*)</p>', document)
    assert found
    return found[1]


def body(document: str) -> str:
    found = re.search(r'<table id="rows".*?<tbody>(.*?)</tbody>', document, re.DOTALL)
    assert found
    return found[1]


def test_all_judgments_are_shown_in_pages_of_fifty(browse: Browse, plain: RunReport) -> None:
    document = browse(plain, "page=5")
    assert count(document) == "240 of 240 judgments"
    assert "page 5 of 5" in document
    assert body(document).count("<tr") == 40


def test_filters_of_the_address_apply_together(browse: Browse, plain: RunReport) -> None:
    wanted = [r for r in plain.records if r.cell == "ss" and r.verdict == "INCORRECT"]
    document = browse(plain, "cell=ss&verdict=INCORRECT&result=wrong&truth=CORRECT")
    assert count(document) == f"{len(wanted)} of 240 judgments"
    assert set(re.findall(r'aria-label="trace of (\w+)"', body(document))) == {r.record_id for r in wanted}


@pytest.mark.parametrize(
    ("fragment", "holds"),
    [
        ("type=DATE", lambda r: r.subject.entity_type == "DATE"),
        ("reason=truncated", lambda r: r.unscored and r.unscored.reason == "truncated"),
        ("flags=hedged", lambda r: r.subject.flags == ("hedged",)),
        ("result=not+attempted", lambda r: r.verdict == "NOT_ATTEMPTED"),
        ("q=oster+7th", lambda r: "7th" in r.subject.question and r.cell != "oo"),
        ("verdict=(none)", lambda r: r.verdict is None),
    ],
)
def test_each_filter(browse: Browse, plain: RunReport, fragment: str, holds: Callable[..., bool]) -> None:
    wanted = sum(bool(holds(r)) for r in plain.records)
    assert wanted
    assert count(browse(plain, fragment)) == f"{wanted} of 240 judgments"


def test_a_row_opens_its_trace(browse: Browse, plain: RunReport) -> None:
    record = plain.records[3]
    document = browse(plain, f"q={record.record_id}&open={record.record_id}")
    assert count(document) == "1 of 240 judgments"
    shown = unescape(body(document))
    for part in (
        record.calls[0].messages[1].content,
        record.calls[0].key,
        "prompt 412 tokens (380 cached)",
        "judge:label",
    ):
        assert part in shown
    assert 'aria-expanded="true"' in body(document)


def test_hostile_text_stays_text(browse: Browse, hostile: RunReport) -> None:
    record = next(r for r in hostile.records if r.item_id == "item-00900" and r.cell == "so")
    document = browse(hostile, f"q=item-00900&open={record.record_id}")
    assert count(document) == "4 of 124 judgments"
    assert "<title>judgelab: swapped on demo: $x_1$ &lt;b&gt;&amp; (vllm)</title>" in document
    assert "<img" not in document
    shown = unescape(body(document))
    assert synthetic.HOSTILE.replace("\x1b", "\u241b") in shown
    assert "\u241b" in shown


def test_a_page_without_matches_says_so(browse: Browse, plain: RunReport) -> None:
    document = browse(plain, "q=nothing-holds-this")
    assert count(document) == "0 of 240 judgments"
    assert body(document) == ""
