from __future__ import annotations

import math

import pytest

from judgelab.metrics.estimate import Estimate
from judgelab.report.clean import clean, printable, shortened
from judgelab.report.numbers import from_json, interval_of, number, seconds, value_of, whole_of
from judgelab.scoring import estimate_json


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (0.875, "fraction", "0.875"),
        (1.0, "fraction", "1.000"),
        (0.0, "fraction", "0.000"),
        (-2.84, "points", "-2.8"),
        (12.26, "points", "+12.3"),
        (-0.04, "points", "0.0"),
        (0.04, "points", "0.0"),
        (0.05, "points", "+0.1"),
        (0.0, "points", "0.0"),
        (0.00099, "p", "<0.001"),
        (0.032, "p", "0.032"),
        (1.0, "p", "1.000"),
        (12000, "count", "12,000"),
        (math.nan, "fraction", "–"),
        (math.inf, "points", "–"),
    ],
)
def test_one_way_to_write_a_number(value: float, unit: str, shown: str) -> None:
    assert number(value, unit) == shown


def test_an_estimate_without_interval_shows_none() -> None:
    p = Estimate(0.2, math.nan, math.nan, 9, "exact McNemar", "p")
    assert (value_of(p), interval_of(p), whole_of(p)) == ("0.200", "–", "0.200")


def test_points_name_their_unit_in_a_phrase() -> None:
    assert whole_of(Estimate(-2.8, -5.0, 0.0, 9, "m", "points")) == "-2.8 points [-5.0, 0.0]"


@pytest.mark.parametrize("estimate", [Estimate(1 / 3, 0.1, 0.7, 12, "m"), Estimate(-2.5, -9.0, 4.0, 3, "m", "points")])
def test_summary_json_gives_the_estimate_back(estimate: Estimate) -> None:
    assert from_json(estimate_json(estimate)) == estimate


def test_undefined_survives_json() -> None:
    found = from_json(estimate_json(Estimate(math.nan, math.nan, math.nan, 0, "undefined: no records")))
    assert math.isnan(found.value)
    assert found.method == "undefined: no records"


@pytest.mark.parametrize(
    ("given", "shown"),
    [(4.24, "4.2 s"), (200, "3 min 20 s"), (7500, "2 h 5 min"), (59.99, "60.0 s"), (3599.7, "1 h 0 min")],
)
def test_durations(given: float, shown: str) -> None:
    assert seconds(given) == shown


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("plain é 漢字 👩‍🚀", "plain é 漢字 👩‍🚀"),
        ("a\x1b[31mb", "a\ufffd[31mb"),
        ("a\ud800b", "a\ufffdb"),
        ("a\r\nb\rc", "a\nb\nc"),
        ("a\u202eb", "a\ufffdb"),
        ("a\x00b", "a\ufffdb"),
    ],
)
def test_clean_replaces_what_no_page_can_hold(given: str, shown: str) -> None:
    assert clean(given) == shown
    clean(given).encode()


def test_printable_is_one_line() -> None:
    assert printable("a\n\nb\u2028c\td") == "a b c d"
    assert shortened("abcdefgh", 4) == "abc…"
    assert shortened("abcd", 4) == "abcd"
