from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
import synthetic

from judgelab.metrics.calibration import Calibration
from judgelab.report import swapped_figures as figures
from judgelab.report.drawing import draw, inline
from judgelab.report.run_report import RunReport
from judgelab.report.swapped import figures as run_figures

SVG = "{http://www.w3.org/2000/svg}"


def made(report: RunReport) -> dict[str, str]:
    views = run_figures(report)
    return {each.file: each.svg for each in views if each.svg}


def test_a_run_with_all_data_has_all_figures(plain: RunReport) -> None:
    names = ["rpag_by_swap", "rpag_by_type", "verdict_mix", "reliability", "popularity_original", "popularity_swapped"]
    assert list(made(plain)) == names
    for svg in made(plain).values():
        assert ElementTree.fromstring(svg).tag == f"{SVG}svg"


def test_the_same_run_gives_the_same_bytes(plain: RunReport) -> None:
    assert made(plain) == made(plain)


def test_nothing_in_a_figure_tells_when_or_with_what_it_was_made(plain: RunReport) -> None:
    for svg in made(plain).values():
        assert not re.search(r"20\d\d-\d\d-\d\d|Matplotlib v|matplotlib\.org|<dc:date>", svg)


def test_no_data_no_figure_and_a_reason(bare: RunReport) -> None:
    missing = {each.file: each.missing for each in run_figures(bare) if each.svg is None}
    assert missing == {
        "reliability": "the verdict form of this run yields no probabilities",
        "popularity_original": "0 items with popularity, at least 10 needed",
        "popularity_swapped": "0 items with popularity, at least 10 needed",
    }
    assert figures.reliability(Calibration({}, ())) is None
    assert figures.rpag_by_swap([]) is None


def test_all_unscored_gives_a_verdict_mix_and_no_rpag(tmp_path: Path) -> None:
    failed = [
        synthetic.record(n, cell, None, synthetic.Reason.NO_CANDIDATE)
        for n in range(3)
        for cell in ("oo", "os", "so", "ss")
    ]
    report = synthetic.report(tmp_path, failed)
    assert list(made(report)) == ["verdict_mix"]


def test_figures_in_one_page_share_no_id(plain: RunReport) -> None:
    seen: set[str] = set()
    for svg in made(plain).values():
        ids = re.findall(r'\bid="([^"]+)"', svg)
        assert len(ids) == len(set(ids))
        assert not seen.intersection(ids)
        seen.update(ids)
        for target in re.findall(r'(?:href="#|url\(#)([^")]+)', svg):
            assert target in ids


def test_inline_figure_brings_no_prolog_and_no_style_rule(plain: RunReport) -> None:
    for svg in made(plain).values():
        element = inline(svg)
        assert element.startswith("<svg ")
        assert "<style" not in element
        assert "<!DOCTYPE" not in element
        assert "http" not in re.sub(r'xmlns(:\w+)?="[^"]+"', "", element)
        ElementTree.fromstring(element)


@pytest.mark.filterwarnings("error")
def test_hostile_names_are_drawn_as_text(hostile: RunReport) -> None:
    found = made(hostile)
    found["multi"] = figures.rpag_by_swap([hostile, hostile]) or ""
    for svg in found.values():
        ElementTree.fromstring(svg)
        assert "onerror" not in svg
        assert "<img" not in svg


def test_long_and_foreign_names_do_not_break_a_figure(tmp_path: Path) -> None:
    report = synthetic.report(tmp_path, synthetic.records(12), judge="漢字-" + "x" * 120)
    svg = figures.rpag_by_swap([report])
    assert svg is not None
    assert 'width="540pt"' in svg


def test_a_figure_leaves_matplotlib_as_it_was() -> None:
    import matplotlib as mpl

    before = mpl.rcParams["svg.hashsalt"], mpl.rcParams["font.size"]
    draw(2.0, lambda figure: figure.add_subplot().plot([0, 1], [1, 0]))
    assert (mpl.rcParams["svg.hashsalt"], mpl.rcParams["font.size"]) == before
