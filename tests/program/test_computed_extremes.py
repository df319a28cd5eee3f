"""Arithmetic at its ends: whole numbers near 2^63, remainders of fractions, far dates, times of zones."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest

import herbrand as hb
from herbrand.errors import HerbrandError, UnsupportedError

WHOLE = (-7, 2**53, 2**53 + 1, -(2**63), 2**63 - 1)
FRACTIONS = (-2, 7, 0.1, -0.3, 1e-300, 1e300)
SIGNS: dict[str, Callable[[float, float], float]] = {
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
}


def _computed(sign: str, one: float, other: float) -> float:
    text = "type n = number\npredicate v(n, n): observed\npredicate out(m)\n"
    model = hb.Model(hb.parse(f"{text}out(a {sign} b) :- v(a, b)"), {"v": [(one, other)]})
    (row,) = model.query("out(c)").to_dict()["answers"]
    found = row["bindings"]["c"]
    assert isinstance(found, int | float)
    return found


@pytest.mark.parametrize("numbers", [WHOLE, FRACTIONS])
@pytest.mark.parametrize("sign", SIGNS)
def test_division_is_pythons(sign: str, numbers: tuple[float, ...]) -> None:
    """Fractions next to the true ratio, remainders exact and of the divisor's sign."""
    for one, other in itertools.product(numbers, repeat=2):
        expected = SIGNS[sign](one, other)
        if math.isfinite(expected):
            assert _computed(sign, one, other) == expected, (one, sign, other)


def test_the_one_quotient_that_does_not_fit() -> None:
    with pytest.raises(UnsupportedError, match="does not fit in 64 bits"):
        _computed("//", -(2**63), -1)


def test_a_mean_of_large_whole_numbers_is_rounded_once() -> None:
    """Added up as fractions, these three and their mean would each be rounded: 2^53 would come out."""
    text = "type n = number\npredicate v(n): observed\npredicate out(m)\nout(m) :- m = avg(a: v(a))"
    large = [(2**53 + 1,), (2**53 + 3,), (2**53 + 5,)]
    (answer,) = hb.Model(hb.parse(text), {"v": large}).query("out(m)").to_dict()["answers"]
    assert answer["bindings"]["m"] == float(2**53 + 3)


@pytest.mark.parametrize("on", [False, True])
@pytest.mark.parametrize(
    ("values", "mean"),
    [
        ((1e308, 1.5e308), 1.25e308),
        ((-1.5e308, -1e308), -1.25e308),
        ((1.7e308, 1.6e308, -1.7e308, 0.5), 0.4e308),
        ((0.1, 0.2, 0.3), (0.1 + 0.2 + 0.3) / 3),
        ((5e-324, 1e-323, 2e-323), 1e-323),
    ],
)
def test_a_mean_is_finite_where_the_sum_is_not(
    values: tuple[float, ...], mean: float, on: bool, tmp_path: Path
) -> None:
    text = "type n = number\npredicate v(n): observed\npredicate out(m)\nout(m) :- m = avg(a: v(a))"
    place = f"duckdb:{tmp_path / 'w.duckdb'}" if on else None
    model = hb.Model(hb.parse(text), {"v": [(value,) for value in values]}, on=place)
    (answer,) = model.query("out(m)").to_dict()["answers"]
    assert answer["bindings"]["m"] == pytest.approx(mean, rel=1e-15)


def test_the_least_whole_number_is_a_sum() -> None:
    text = "type n = number\npredicate v(t, n): observed\npredicate out(t, m)\n"
    text += "out(x, s) :- v(x, _), s = sum(a: v(x, a))"
    answers = hb.Model(hb.parse(text), {"v": [("a", -(2**63)), ("b", 1)]}).query("out(x, s)")
    assert {row["bindings"]["s"] for row in answers.to_dict()["answers"]} == {-(2**63), 1}


def _moved(kind: str, first: str, second: str, rule: str) -> list[float | str]:
    text = f"type d = {kind}\npredicate v(d): observed\npredicate w(d): observed\n{rule}"
    facts = {"v": [(first,)], "w": [(second,)]}
    answers = hb.Model(hb.parse(text), facts).query("out(x)").to_dict()["answers"]
    return [row["bindings"]["x"] for row in answers]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("2024-02-28T12:00:00", "2024-03-01T00:00:00"),
        ("2024-03-31T01:30:00+01:00", "2024-03-31T03:30:00+02:00"),
        ("2024-03-31T03:00:00+02:00", "2024-03-31T02:00:00Z"),
        ("2024-10-27T02:30:00.25+02:00", "2024-10-27T02:30:00+01:00"),
    ],
)
def test_times_are_apart_by_parts_of_a_day_and_in_the_order_of_time(first: str, second: str) -> None:
    """Their hours were dropped, and times of different zones compared as texts."""
    one, two = map(datetime.fromisoformat, (first, second))
    apart = "predicate out(number)\nout(x) :- v(a), w(b), x = b - a"
    assert _moved("time", first, second, apart) == [pytest.approx((two - one) / timedelta(days=1), abs=1e-12)]
    assert _moved("time", first, second, "predicate out(number)\nout(1) :- v(a), w(b), a < b") == [1]
    later = "predicate out(d)\nout(x) :- v(a), w(_), x = a + 2"
    expected = (one.replace(tzinfo=None) - (one.utcoffset() or timedelta())) + timedelta(days=2)
    assert _moved("time", first, second, later) == [expected.isoformat()]


@pytest.mark.parametrize("moved", ["a + 3000000", "a - 800000"])
def test_dates_out_of_the_calendar_are_refused(moved: str) -> None:
    """As texts the year 10000 would come before 2024."""
    with pytest.raises(UnsupportedError, match="outside of the years 1 to 9999"):
        _moved("date", "2024-02-28", "2024-02-28", f"predicate out(d)\nout(x) :- v(a), w(_), x = {moved}")


@pytest.mark.parametrize("text", ["2024", "2024-02", "NaT", ""])
def test_text_that_is_no_date_is_not_computed_with(text: str) -> None:
    rule = "predicate v(day): observed\nout(x) :- v(a), x = a - a"
    with pytest.raises(HerbrandError, match="no date"):
        hb.Model(hb.parse(rule + "\npredicate out(number)"), {"v": [(text,)]}).query("out(x)")


def test_numbers_read_as_text_are_told_how_they_are_declared() -> None:
    """Columns of CSV files hold text unless their type is declared; only rules named the declaration."""
    theory = hb.parse("predicate n(v): observed\npredicate big(v)\n1: n(x) and x > 2 => big(x)")
    with pytest.raises(HerbrandError, match="if both are numbers, declare the type of the text: type amount"):
        hb.Model(theory, {"n": [("1",), ("3",)]}).infer()
