"""Bounds ask the clock of the call: what was not done in time is wider, never wrong, or told."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

import herbrand as hb
from herbrand.budget import Budget
from herbrand.engines.credal import interval
from herbrand.engines.credal.branch_and_bound import End, optimum
from herbrand.engines.credal.polynomial import Assembly
from herbrand.engines.credal.proved_linear import least
from herbrand.engines.highs import LinearProgram, Optimum
from herbrand.errors import OutOfTimeError
from tests.language.test_clock import Clock
from tests.laws import long

PAIRS = """
type t = {"u", "v", "w"}
predicate a(t)
predicate b(t, t)
P(a(x)) in [0.2, 0.5]
P(b(x, y) | a(x)) in [0.3, 0.6]
P(a(y) | b(x, y)) in [0.4, 0.9]
"""
CHAIN = "P(e0) in [0.2, 0.7]\n" + "\n".join(f"P(e{i + 1} | e{i}) in [0.3, 0.6]" for i in range(20))


@pytest.mark.parametrize(
    ("text", "query", "engine", "options"),
    [
        (PAIRS, 'P(a("u") and a("v"))', "exact", {"independence": "none"}),
        (PAIRS, 'P(a("u") and a("v"))', "ariel", {}),
        (CHAIN, "P(e9 and not e3)", "ariel", {}),
    ],
)
@pytest.mark.parametrize("first", long([1, 3], 1))
def test_a_search_without_time_is_wider_or_told(
    text: str, query: str, engine: str, options: dict[str, str], first: int
) -> None:
    model = hb.Model(hb.parse(text))
    (whole,) = model.bound(query, engine=engine, **options).rows()
    cut = 0
    for seconds in range(first, 40, 4):
        budget = Budget(seconds=seconds, clock=Clock())
        try:
            found = model.bound(query, engine=engine, within=budget, **options)
        except OutOfTimeError:
            cut += 1
            continue
        (row,) = found.rows()
        assert row.lower <= whole.lower + 1e-9 and whole.upper <= row.upper + 1e-9
        cut += not found.status.converged
    assert cut, "a clock that goes on by a second each time it is asked ends the first of these"


DIAMOND = """P(a) in [0.2, 0.4]
P(b | a) in [0.3, 0.6]
P(b | not a) in [0.1, 0.5]
P(c | a) in [0.2, 0.7]
P(c | not a) in [0.3, 0.4]
P(d | b and c) in [0.1, 0.3]
P(d | b and not c) in [0.6, 0.7]
P(d | not b and c) in [0.2, 0.9]
P(d | not b and not c) in [0.4, 0.5]
"""


def test_what_vertices_leave_open_is_searched_on_as_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search over vertices closes some networks late or never, which the other one closes at once."""
    known = hb.Model(hb.parse(DIAMOND)).bound("P(d)", engine="exact")

    def nothing(masses: object, least: bool, clock: object, ends_left: int) -> End:
        return End(0.0 if least else 1.0, None, 0, proved=False)

    monkeypatch.setattr("herbrand.engines.credal.interval._at_vertices", nothing)
    found = hb.Model(hb.parse(DIAMOND)).bound("P(d)", engine="exact")
    assert found.guarantee == "exact"
    (row,), (expected,) = found.rows(), known.rows()
    assert (row.lower, row.upper) == pytest.approx((expected.lower, expected.upper), abs=1e-5)


def test_a_search_ends_with_its_part_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """It took half a minute for each end where the call itself had no limit."""
    seconds: list[float] = []

    def watched(part: Any, query: Any, clock: interval.Clock, *others: Any, **options: Any) -> interval.Ends:
        seconds.append(clock.seconds())
        return interval.ends_of(part, query, clock, *others, **options)

    monkeypatch.setattr("herbrand.engines.credal.exact.ends_of", watched)
    model = hb.Model(hb.parse(PAIRS))
    part = Budget().at_most(10.0)
    model.bound('P(a("u") and a("v"))', engine="exact", independence="none", within=part)
    assert seconds and max(seconds) <= 10.0


def test_no_program_is_handed_over_where_that_takes_longer_than_the_time_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """To hand over a table of 16 atoms takes 0.4 s, by which the last of a call was late."""

    def never(*program: Any, **options: Any) -> Optimum:
        raise AssertionError

    monkeypatch.setattr("herbrand.engines.credal.proved_linear.optimum", never)
    side = 1000
    rows, ends, zeros = csr_array(np.ones((side, side))), np.ones(side), np.zeros(side)
    program = LinearProgram(rows, zeros, ends, zeros, ends)
    assert least(ends, program, time.monotonic() + 0.1).bound == -math.inf


@pytest.mark.parametrize("lowest", [True, False])
def test_a_search_that_begins_late_is_not_prepared(lowest: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*program: Any) -> None:
        raise AssertionError

    made = Assembly()
    variables = made.variables(2, np.zeros(2), np.ones(2))
    monkeypatch.setattr("herbrand.engines.credal.branch_and_bound.tightened", never)
    end = optimum(made.program(), variables, np.ones(2), least=lowest, seconds=0.0)
    assert end.bound == (-math.inf if lowest else math.inf) and not end.proved
