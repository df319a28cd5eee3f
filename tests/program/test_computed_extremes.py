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


BESIDE_FRACTIONS = """
type n = number
type m = number
predicate whole(n): observed
predicate other(m): observed
predicate out(m)
"""


@pytest.mark.parametrize("on", [False, True])
def test_whole_numbers_are_not_rounded_beside_fractions(on: bool, tmp_path: Path) -> None:
    """2^53 + 1 was taken for 2^53, which is the float next to it: in comparisons, and as a constant of a type
    that has fractions too."""
    large = (2**53, 2**53 + 1, 2**63 - 1)
    small = (0.5, float(2**53))
    place = f"duckdb:{tmp_path / 'w.duckdb'}" if on else None
    facts = {"whole": [(x,) for x in large], "other": [(y,) for y in small]}
    rules = BESIDE_FRACTIONS + "out(y) :- whole(x), other(y), y = x + 0"
    model = hb.Model(hb.parse(rules), facts, on=place)
    for sign, order in {"=": operator.eq, "!=": operator.ne, "<": operator.lt, ">=": operator.ge}.items():
        for one, other in (("x", "y"), ("y", "x")):
            goal = f"whole(x) and other(y) and {one} + 0 {sign} {other} * 1"
            found = {(row.bindings["x"], row.bindings["y"]) for row in model.query(goal)}
            expected = {
                (x, y)
                for x, y in itertools.product(large, small)
                if (order(x, y) if one == "x" else order(y, x))
            }
            assert found == expected, goal
    assert [(row.bindings["y"], row.weight) for row in model.query("out(y)")] == [(2**53, 1.0)]


@pytest.mark.parametrize("on", [False, True])
def test_constants_of_closed_types_are_not_rounded(on: bool, tmp_path: Path) -> None:
    text = f"""
type n = {{{2**53 + 1}, {2**53 + 2}}}
type m = {{0.5, {2**53 + 2}}}
predicate whole(n): observed
predicate other(m): observed
predicate in_m(m)
predicate in_n(n)
in_m(x + 0) :- whole(x)
in_n({2**54 + 4} * y) :- other(y)
"""
    place = f"duckdb:{tmp_path / 'w.duckdb'}" if on else None
    facts = {"whole": [(2**53 + 1,), (2**53 + 2,)], "other": [(0.5,), (2.0**53 + 2,)]}
    for goal in ("in_m(z)", "in_n(z)"):
        answers = hb.Model(hb.parse(text), facts, on=place).query(goal)
        assert [(row.bindings["z"], row.weight) for row in answers] == [(2**53 + 2, 1.0)], goal


@pytest.mark.parametrize("on", [False, True])
def test_a_constant_is_never_rounded(on: bool, tmp_path: Path) -> None:
    rule = BESIDE_FRACTIONS + "out(x + 1) :- whole(x)"
    place = f"duckdb:{tmp_path / 'w.duckdb'}" if on else None

    def answers(number: int) -> list[object]:
        model = hb.Model(hb.parse(rule), {"whole": [(number,)], "other": [(0.5,)]}, on=place)
        return [row.bindings["y"] for row in model.query("out(y)")]

    assert answers(2**53 + 1) == [2**53 + 2]
    with pytest.raises(UnsupportedError, match="would hold fractions and whole numbers beyond"):
        answers(2**53)


@pytest.mark.parametrize("on", [False, True])
def test_a_whole_number_is_round(on: bool, tmp_path: Path) -> None:
    """It was rounded as a float: that of 2^53 + 1 was 2^53, and that of 2^63 - 1 did not fit."""
    numbers = (2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63), 7)
    text = "type n = number\npredicate v(n): observed\npredicate out(n)\nout(m) :- v(a), m = round(a)"
    place = f"duckdb:{tmp_path / 'w.duckdb'}" if on else None
    model = hb.Model(hb.parse(text), {"v": [(number,) for number in numbers]}, on=place)
    assert {row.bindings["m"] for row in model.query("out(m)")} == set(numbers)
