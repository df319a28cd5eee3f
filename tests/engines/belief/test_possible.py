"""What propagation excludes: nothing that some world has, on forests all else, of classes the same."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand import loops
from herbrand.engines.belief.forest import forest_order
from herbrand.engines.belief.messages import flood, log_beliefs, no_messages
from herbrand.errors import ContradictionError
from herbrand.factors.graph import FORBIDDEN, SOME, Assembly, FactorGraph
from herbrand.factors.ground_graph import ground_graph
from herbrand.factors.possible_values import possible_values
from herbrand.factors.refinement import lifted
from herbrand.language.theory import Theory
from tests.engines.belief.energies import edges_of
from tests.engines.belief.test_graphs import grounded_program
from tests.engines.belief.theories import symmetric
from tests.laws import tries
from tests.oracles.worlds import Universe
from tests.program_generators import models

quick = settings(
    phases=[Phase.reuse, Phase.generate],
    deadline=None,
    max_examples=tries(60),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@pytest.mark.parametrize(
    ("unary", "constant", "impossible"),
    [
        ([0.0, FORBIDDEN, 0.0, 0.0, 0.0], 0.0, False),
        ([FORBIDDEN, FORBIDDEN, 0.0, 0.0, 0.0], 0.0, True),
        ([0.0, 0.0, FORBIDDEN, FORBIDDEN, -900.0], 0.0, False),
        ([0.0, 0.0, FORBIDDEN, FORBIDDEN, FORBIDDEN], 0.0, True),
        ([0.0] * 5, FORBIDDEN, True),
        ([0.0] * 5, -1e300, False),
    ],
)
def test_what_leaves_no_world(unary: list[float], constant: float, impossible: bool) -> None:
    assembly = Assembly([2, 3])
    assembly.unary[:] = unary
    assembly.constant = constant
    assert (possible_values(assembly.build()) is None) == impossible


def test_a_constant_alone_may_leave_no_world() -> None:
    assembly = Assembly([])
    assembly.constant = -math.inf
    assert possible_values(assembly.build()) is None


def worlds(graph: FactorGraph) -> np.ndarray:
    """For each value of each axis of a ground graph whether some assignment of all axes has it."""
    found = np.zeros(len(graph.unary), bool)
    for values in itertools.product(*map(range, graph.sizes.tolist())):
        here = graph.starts + np.array(values, np.int64)
        if np.isneginf(graph.unary[here]).any():
            continue
        if all(allows(graph, factor, values) for factor in range(graph.factor_count)):
            found[here] = True
    return found if graph.constant > -math.inf else np.zeros_like(found)


def allows(graph: FactorGraph, factor: int, values: tuple[int, ...]) -> bool:
    edges = list(edges_of(graph, factor))
    here = [values[axis] for axis in graph.edge_axes[edges]]
    if graph.table_starts[factor] == SOME:
        members = zip(edges[1:], here[1:], strict=True)
        return bool(here[0]) == any(graph.allowed[graph.message_starts[e] + v] for e, v in members)
    entry = np.ravel_multi_index(here, graph.sizes[graph.edge_axes[edges]].tolist())
    return bool(graph.tables[graph.table_starts[factor] + entry] > -math.inf)


def graph_of(theory: Theory) -> FactorGraph | None:
    try:
        return ground_graph(grounded_program(theory)).graph
    except ContradictionError:
        return None


def check_propagation(theory: Theory) -> None:
    graph = graph_of(theory)
    if graph is None or math.prod(graph.sizes.tolist()) > 1 << 13:
        return
    here, left = worlds(graph), possible_values(graph)
    if left is None:
        assert not here.any()
        return
    assert not (here & ~left).any(), "some world has a value that was excluded"
    if forest_order(graph) is not None:
        assert (here == left).all(), "on a forest everything that no world has is excluded"


@quick
@given(models(hard=True))
def test_propagation_excludes_what_no_world_has(model: tuple[Theory, Universe]) -> None:
    check_propagation(model[0])


@pytest.mark.slow
@settings(quick, max_examples=1500)
@given(models(hard=True))
def test_propagation_excludes_what_no_world_has_at_length(model: tuple[Theory, Universe]) -> None:
    check_propagation(model[0])


@quick
@given(st.one_of(symmetric(hard=True), models(hard=True).map(lambda model: model[0])))
def test_classes_lose_what_their_ground_axes_lose(theory: Theory) -> None:
    graph = graph_of(theory)
    small = None if graph is None else lifted(graph, 1.0)
    if graph is None or small is None:
        return
    left, of_classes = possible_values(graph), possible_values(small.graph)
    assert (left is None) == (of_classes is None)
    if left is not None and of_classes is not None:
        for axis, place in enumerate(small.axis_class.tolist()):
            own, its = int(graph.starts[axis]), int(small.graph.starts[place])
            size = int(graph.sizes[axis])
            assert left[own : own + size].tolist() == of_classes[its : its + size].tolist()


@quick
@given(models(hard=True))
def test_messages_exclude_what_propagation_does(model: tuple[Theory, Universe]) -> None:
    """However far their numbers are gone: minus infinity is nothing but an exclusion."""
    graph = graph_of(model[0])
    left = None if graph is None else possible_values(graph)
    if graph is None or left is None:
        return
    messages = no_messages(graph)
    for _ in range(60):
        messages, moved = flood(graph, messages, 0.0)
        assert not math.isnan(moved)
    assert (np.isneginf(log_beliefs(graph, messages).values) == ~left).all()


def test_the_loops_as_written_are_the_compiled_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (
        'type t = {"a", "b"}\npredicate p(t)\nhard: exists x: p(x)\nhard: not p("a")\nhard: p("b") or p("a")'
    )
    graph = graph_of(hb.parse(text))
    assert graph is not None
    written = possible_values(graph)
    assert written is not None
    monkeypatch.setattr(loops, "MOST_PLAIN", 0)
    again = possible_values(graph)
    assert again is not None and again.tolist() == written.tolist()
