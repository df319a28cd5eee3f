"""The exact engine beside the raw program over all cases, and the graph beside the paper's, node by node."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.engines.credal.lowering import credal_network
from herbrand.engines.credal.markov import graph_of
from herbrand.errors import ContradictionError
from herbrand.language import syntax as s
from herbrand.language.show import show_probability
from herbrand.language.theory import Theory
from tests.engines.credal.theories import formulas, theories
from tests.laws import tries
from tests.oracles.credal import Network

pytest.importorskip("pyscipopt")

FEW = settings(
    max_examples=tries(12, 4),
    deadline=None,
    phases=[Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=True,
)


@given(theories(), st.data())
@FEW
def test_intervals_are_those_of_the_raw_program(theory: Theory, data: st.DataObject) -> None:
    network = Network(theory.bounds)
    event = data.draw(formulas(tuple(network.atoms)))
    truth = network.interval(event)
    assert truth is not None
    found = hb.Model(theory).bound(show_probability(event), engine="exact")
    assert found.guarantee == "exact" and found.status.converged
    assert (found.lower[0], found.upper[0]) == pytest.approx(truth, abs=1e-4)


@given(theories(most_atoms=3), st.data())
@FEW
def test_conditional_intervals_are_the_tightest(theory: Theory, data: st.DataObject) -> None:
    network = Network(theory.bounds)
    event, given = (data.draw(formulas(tuple(network.atoms))) for _ in range(2))
    possible = network.interval(given)
    assume(possible is not None and possible[0] > 0.02)
    found = hb.Model(theory).bound(f"P({show_probability(event, given)})", engine="exact")
    lower, upper = float(found.lower[0]), float(found.upper[0])
    assert network.never_below(event, given, lower - 1e-3)
    assert network.never_below(s.Not(event), given, 1 - upper - 1e-3)
    assert lower > 0.999 or not network.never_below(event, given, lower + 1e-3)
    assert upper < 0.001 or not network.never_below(s.Not(event), given, 1 - upper + 1e-3)


@st.composite
def any_theories(draw: st.DrawFn) -> Theory:
    """Bounds on anything, whether or not some distribution satisfies them."""
    names, ends = ("a", "b", "c"), st.integers(0, 10).map(lambda tenth: tenth / 10)
    bounds = [s.Bound(s.Atom(name), None, 0.0, 1.0) for name in names]
    for _ in range(draw(st.integers(2, 4))):
        lower, upper = sorted((draw(ends), draw(ends)))
        given = draw(st.one_of(st.none(), formulas(names)))
        bounds.append(s.Bound(draw(formulas(names)), given, lower, upper, draw(st.booleans())))
    return Theory(tuple(bounds))


@given(any_theories())
@FEW
def test_only_contradictions_are_called_so(theory: Theory) -> None:
    """And messages find none where there is none; the intervals that are found are outer bounds."""
    truth = Network(theory.bounds).interval(s.Atom("a"))
    ends = {}
    for engine in ("exact", "ariel"):
        try:
            row = hb.Model(theory).bound(engine=engine)["a"]
        except ContradictionError:
            assert truth is None, engine
            continue
        ends[engine] = row.lower, row.upper
    assert ("exact" in ends) == (truth is not None)
    if truth is not None:
        assert ends["exact"] == pytest.approx(truth, abs=1e-4)
        assert ends["ariel"][0] <= truth[0] + 1e-5 and ends["ariel"][1] >= truth[1] - 1e-5


@given(theories(), st.data())
@FEW
def test_without_independence_it_is_plain_probabilistic_logic(theory: Theory, data: st.DataObject) -> None:
    network = Network(theory.bounds)
    event = data.draw(formulas(tuple(network.atoms)))
    truth = network.interval(event, markov=False)
    found = hb.Model(theory).bound(show_probability(event), engine="exact", independence="none")
    assert (found.lower[0], found.upper[0]) == pytest.approx(truth, abs=1e-5)


@given(theories(most_bounds=8))
@settings(max_examples=tries(100), deadline=None, phases=[Phase.reuse, Phase.generate])
def test_the_graph_is_the_papers(theory: Theory) -> None:
    oracle = Network(theory.bounds)
    network = credal_network(hb.Model(theory).program)
    graph, names = graph_of(network), network.atoms.texts()
    for number, name in enumerate(names):
        assert {names[a] for a in graph.parents(number)} == oracle.parents(name)
        assert {names[a] for a in graph.descendants(number)} == oracle.descendants(name)
    statements = {
        (names[n], frozenset(names[a] for a in told.given), frozenset(names[a] for a in told.others))
        for n in range(len(names))
        if (told := graph.statement(n)).others
    }
    assert statements == {(a, frozenset(p), frozenset(o)) for a, p, o in oracle.independences()}
