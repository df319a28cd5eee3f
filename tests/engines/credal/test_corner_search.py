"""Ends of queries over few rows, searched by corners, beside closed forms, worlds, and the program."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.engines.credal.corner_masses import CornerMasses, at_corners, corner_masses
from herbrand.engines.credal.corner_search import corner_end
from herbrand.engines.credal.interval import Clock, LocalQuery, ends_of
from herbrand.engines.credal.lowering import Lowering, credal_network
from herbrand.engines.credal.network_part import NetworkPart
from herbrand.engines.credal.network_query import network_question
from herbrand.engines.credal.proved_networks import Conditions, proved_network, with_multipliers
from herbrand.engines.credal.question import ImpossibleConditionError, read_bound_question
from herbrand.language import syntax as s
from herbrand.language.show import show_probability
from herbrand.language.theory import Theory
from tests.engines.credal.theories import formulas, theories
from tests.laws import tries

ODD = "P(not (a and b)) = 0.9\nP(a xor b xor c) = 0.5"
ROOT = math.sqrt(0.1)


def asked_of(theory: Theory | str, query: str) -> tuple[NetworkPart, LocalQuery]:
    program = hb.Model(hb.parse(theory) if isinstance(theory, str) else theory).program
    question = read_bound_question([query], Lowering.over(program))
    asked = network_question(credal_network(program), question, True)
    return asked.part_of(next(iter(asked.queries())))


def masses_of(theory: Theory | str, query: str) -> CornerMasses | None:
    part, local = asked_of(theory, query)
    return corner_masses(part, local.atoms, local.event, local.given)


@pytest.mark.parametrize(
    "query, lower, upper",
    [
        ("a", 0.1, 1),
        ("c", 0, 1),
        ("a and b", 0.1, 0.1),
        ("a or b", 2 * ROOT - 0.1, 1),
        ("a xor b", 2 * ROOT - 0.2, 0.9),
        ("a and c", 0, 0.5),
        ("a xor c", 0.2, 0.8),
        ("c | a and b", 0, 1),
        ("a and b | c", 0.1, 0.1),
        ("a xor b | c", 2 * ROOT - 0.2, 0.9),
        ("a | not b", 0.1, 1),
    ],
)
def test_two_sentences_over_three_unlinked_atoms(query: str, lower: float, upper: float) -> None:
    """All three are independent, P(a) P(b) = 0.1, and one of them is a fair coin."""
    found = hb.Model(hb.parse(ODD)).bound(query, engine="exact")
    (row,) = found.rows()
    assert found.guarantee == "exact" and row.certified and row.gap is not None and row.gap <= 1e-9
    assert (row.lower, row.upper) == pytest.approx((lower, upper), abs=1e-9)
    assert row.lower <= lower + 1e-15 and row.upper >= upper - 1e-15


def test_masses_at_corners_are_sums_over_worlds() -> None:
    masses = masses_of("P(a | c) <= 0.9\nP(a and b and c) >= 0.1\nP(b) <= 0.8", "a xor b | c")
    assert masses is not None and masses.rows == 4
    lower, upper = np.sort(np.random.default_rng(3).random((2, 1, masses.rows)), axis=0)
    found = at_corners(masses.event, lower, upper)[0]
    for corner, ends in enumerate(itertools.product((0, 1), repeat=masses.rows)):
        rows = np.where(ends, upper[0], lower[0])
        worlds = itertools.product((0, 1), repeat=masses.rows)
        each = np.array([np.prod(np.where(bits, rows, 1 - rows)) for bits in worlds])
        assert found[:, corner] == pytest.approx(masses.event @ each, rel=1e-12)


@given(theories(most_atoms=3), st.data())
@settings(
    max_examples=tries(25),
    deadline=None,
    phases=[Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    derandomize=True,
)
def test_ends_are_those_of_the_program_over_tables(theory: Theory, data: st.DataObject) -> None:
    names = tuple(sorted(bound.event.predicate for bound in theory.bounds if isinstance(bound.event, s.Atom)))
    event, condition = data.draw(formulas(names)), data.draw(st.none() | formulas(names))
    part, local = asked_of(theory, show_probability(event, condition))
    masses = corner_masses(part, local.atoms, local.event, local.given)
    assume(masses is not None and len(masses.event) > 1)
    assert masses is not None
    try:
        program = ends_of(part, local, Clock(most=3), at_vertices=False)
    except ImpossibleConditionError:
        assert all(corner_end(masses, least=least, tolerance=1e-6) is None for least in (True, False))
        return
    for least, other in ((True, program.lower), (False, program.upper)):
        end = corner_end(masses, least=least, tolerance=1e-6)
        if end is None:
            continue
        assert abs(end.gap) <= 2e-6
        if other.proved:
            assert end.bound == pytest.approx(other.bound, abs=2e-6)
        if other.value is not None:
            assert (end.bound - other.value) * (1 if least else -1) <= 1e-9


def test_rare_events_keep_their_digits() -> None:
    masses = masses_of("P(a and b) = 2e-12\nP(a or c) <= 0.5", "a and b and not c")
    assert masses is not None
    lower, upper = (corner_end(masses, least=least, tolerance=1e-6) for least in (True, False))
    assert lower is not None and upper is not None
    assert lower.bound == pytest.approx(1e-12, rel=1e-6)
    assert upper.bound == pytest.approx(2e-12, rel=1e-6)


@pytest.mark.parametrize(
    "theory, query, lower, upper",
    [
        ("P(b) = 1e-12\nP(a and b) in [1e-13, 9e-13]", "a", 0.1, 0.9),
        ("P(b) = 1e-12\nP(a and b) in [1e-13, 9e-13]", "a | b", 0.1, 0.9),
        ("P(b) = 1e-12\nP(a and b) <= 1e-12", "a", 0, 1),
        ("P(b) >= 1e-12\nP(a and b) <= 1e-12", "a and b", 0, 1e-12),
        ("P(b) = 1e-12\nP(a or not b) in [0.9999999999991, 0.9999999999999]", "a", 0.1, 0.9),
    ],
)
def test_an_interval_of_rare_events_is_no_equation(
    theory: str, query: str, lower: float, upper: float
) -> None:
    (row,) = hb.Model(hb.parse(theory)).bound(query, engine="exact").rows()
    assert (row.lower, row.upper) == pytest.approx((lower, upper), rel=1e-3, abs=1e-15)


@pytest.mark.parametrize("sign", [1, -1])
def test_multiples_of_a_narrow_interval_are_not_negative_where_it_holds(sign: int) -> None:
    masses = masses_of("P(b) = 0.5\nP(a and b) in [0.25, 0.2500000000002]", "a")
    assert masses is not None and masses.equations[0]
    objective = Conditions(np.array([1]), np.array([sign * 0.5]), np.array([sign * 0.5]))
    added = with_multipliers(masses, objective, np.array([0.5, 0.5])).of(np.array([1]))
    for share_of_a in (0.5, 0.5000000000004):
        point = np.array([[share_of_a, 0.5]])
        value, _ = added.values(at_corners(masses.tables, point, point))
        assert added.of_event[0] != 0 and value.min() >= -1e-15


def test_a_network_that_is_attained_satisfies_every_sentence() -> None:
    masses = masses_of(ODD, "a and not b")
    assert masses is not None
    network = proved_network(masses, np.array([0.9, 0.2, 0.4]))
    assert network is not None
    a, b, c = network.point.tolist()
    assert a * b == pytest.approx(0.1, rel=1e-14)
    assert (1 - 2 * a) * (1 - 2 * b) * (1 - 2 * c) == pytest.approx(0, abs=1e-14)
    assert network.event[0] <= a * (1 - b) <= network.event[1]


def test_what_nothing_satisfies_is_not_attained() -> None:
    masses = masses_of("P(a and b) >= 0.3\nP(a or b) <= 0.4", "a")
    assert masses is not None
    assert proved_network(masses, np.array([0.5, 0.5])) is None
    assert corner_end(masses, least=True, tolerance=1e-6) is None


@pytest.mark.parametrize("query", ["a", "b", "a | b"])
def test_contradictory_products_are_still_named(query: str) -> None:
    with pytest.raises(hb.HerbrandError, match="contradict"):
        hb.Model(hb.parse("P(a and b) >= 0.3\nP(a or b) <= 0.4")).bound(query, engine="exact")
