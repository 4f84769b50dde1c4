from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
import synthetic

from judgelab.report.html import page, write_outputs, write_report
from judgelab.report.run_report import RunReport

VOID = {"meta", "link", "img", "input", "br"}


class Outline(HTMLParser):
    """Tags, their attributes and the visible text of a page; fails on tags that do not nest."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.stack: list[str] = []
        self.text: list[str] = []
        self.scripts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.stack.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.stack and self.stack[-1] == "script":
            self.scripts.append(data)
        else:
            self.text.append(data)


def outline(text: str) -> Outline:
    found = Outline()
    found.feed(text)
    found.close()
    assert found.stack == []
    return found


@pytest.fixture(scope="module")
def text(plain: RunReport) -> str:
    return page([plain])


def test_page_holds_card_headline_baselines_and_notes(text: str) -> None:
    shown = " ".join(outline(text).text)
    for part in (
        "Judge card",
        "sha256:b179c952",
        "demo, content 0123456789abcdef",
        "judge:label",
        "98,880",
        "always A",
        "plumbing check",
        "unscored judgments counted against the judge",
        "NOT_ATTEMPTED coded as excluded",
        "How these figures are made",
        "rows of the data left out: no answer 2",
    ):
        assert part in shown


def test_page_asks_for_nothing_outside_itself(text: str) -> None:
    found = outline(text)
    for tag, attributes in found.tags:
        assert tag not in ("link", "iframe", "object", "embed", "img")
        for name in ("src", "href", "xlink:href", "action"):
            assert (attributes.get(name) or "#").startswith("#")
    assert "@import" not in text
    assert not re.search(r"url\((?!#)", text)


def test_only_the_pages_own_script_may_run(text: str) -> None:
    _, script = outline(text).scripts
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'" in text
    assert "innerHTML" not in script
    assert not any(name.startswith("on") for _, attributes in outline(text).tags for name in attributes)


def test_page_is_accessible(text: str) -> None:
    found = outline(text)
    assert all("scope" in attributes for tag, attributes in found.tags if tag == "th")
    assert all(attributes.get("aria-label") for tag, attributes in found.tags if tag == "svg")
    labelled = re.findall(r"<label>[^<]+<(?:select|input) id=\"([^\"]+)\"", text)
    fields = [attributes["id"] for tag, attributes in found.tags if tag in ("select", "input")]
    assert labelled == fields
    ids = [attributes["id"] for _, attributes in found.tags if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_same_run_same_bytes_wherever_it_lies(tmp_path: Path, plain: RunReport) -> None:
    moved = replace(plain, path=tmp_path / "elsewhere" / plain.path.name)
    assert page([plain]) == page([moved])
    assert str(plain.path.parent) not in page([plain])


def test_hostile_text_makes_no_tag_and_no_template(hostile: RunReport, plain: RunReport) -> None:
    found = outline(page([hostile]))
    assert {tag for tag, _ in found.tags} <= {tag for tag, _ in outline(page([plain])).tags} | {"p"}
    shown = "".join(found.text)
    assert "onerror=\"document.title='owned'\"" in shown
    assert "{{ 7*7 }} {% x %}" in shown
    assert "49" not in re.findall(r"<!-- (\S+)", shown)
    document = json.loads(found.scripts[0])
    assert synthetic.HOSTILE in document["strings"]


def test_lone_surrogates_and_controls_can_be_written(tmp_path: Path) -> None:
    bad = "a\ud800b\x00c\x1b[2Jd"
    made = [*synthetic.records(12)]
    report = synthetic.report(tmp_path, made)
    first = report.records[0]
    broken = replace(
        first,
        subject=replace(first.subject, question=bad, entity_type=bad),
        calls=tuple(replace(call, text=bad) for call in first.calls),
    )
    report = replace(
        report,
        records=(broken, *report.records[1:]),
        summary={**report.summary, "judge": bad, "warnings": [bad]},
    )
    write_outputs(report, tmp_path / "out")
    written = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert bad in json.loads(outline(written).scripts[0])["strings"]
    assert not re.search("[\x00-\x08\x0b-\x1f\ud800-\udfff]", written)


def test_several_runs_stand_side_by_side(plain: RunReport, bare: RunReport) -> None:
    text = page([plain, bare])
    shown = " ".join(outline(text).text)
    assert "Report of 2 runs" in shown
    assert "The runs side by side" in shown
    assert "RPAG by swap type" in shown
    assert f'href="#{bare.anchor}"' in text
    assert (
        "No table “p(CORRECT) against the truth, in ten bins”: the verdict form of this run yields no probabilities."
        in shown
    )


def test_outputs_are_complete_and_stale_figures_go(tmp_path: Path, plain: RunReport, bare: RunReport) -> None:
    write_outputs(plain, tmp_path)
    names = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert names == {
        "report.html",
        *(f"tables/{t}.csv" for t in ("metrics", "baselines", "cells", "by_type", "by_freshness", "by_source")),
        *(f"tables/{t}.csv" for t in ("popularity", "calibration", "unscored")),
        *(f"figures/{f}.svg" for f in ("rpag_by_swap", "rpag_by_type", "verdict_mix", "reliability")),
        *(f"figures/popularity_{f}.svg" for f in ("original", "swapped")),
    }
    write_outputs(bare, tmp_path)
    assert {path.name for path in (tmp_path / "figures").iterdir()} == {
        "rpag_by_swap.svg",
        "rpag_by_type.svg",
        "verdict_mix.svg",
    }


def test_twelve_thousand_judgments_are_written_in_bounds(tmp_path: Path, plain: RunReport) -> None:
    many = tuple(replace(r, record_id=f"{n}-{r.record_id}") for n in range(50) for r in plain.records)
    write_report([replace(plain, records=many)], tmp_path / "report.html")
    assert (tmp_path / "report.html").stat().st_size < 25_000_000
