"""Circuits of probabilities beside all worlds of a product distribution."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from herbrand.engines.mean_field import circuit as circuits
from herbrand.engines.mean_field.circuit import Circuit, Event, classes
from herbrand.errors import BudgetError
from herbrand.graphs import linked
from tests.laws import tries

quick = settings(deadline=None, max_examples=tries(30), suppress_health_check=[HealthCheck.too_slow])
SIZES = (2, 3, 2, 2)


def values_of(atom: int) -> st.SearchStrategy[frozenset[int]]:
    return st.sets(st.integers(0, SIZES[atom] - 1)).map(frozenset)


literals = st.sets(st.integers(0, 3), max_size=3).flatmap(
    lambda atoms: st.fixed_dictionaries({atom: values_of(atom) for atom in atoms})
)
plain = st.builds(Event, literals)


def around(events: st.SearchStrategy[Event]) -> st.SearchStrategy[Event]:
    blocks = st.tuples(st.booleans(), st.lists(events, max_size=3).map(tuple))
    return st.builds(Event, literals, st.lists(blocks, max_size=2).map(tuple))


nested = st.recursive(plain, around, max_leaves=5)


def happens(event: Event, world: Mapping[int, int]) -> bool:
    return all(world[atom] in allowed for atom, allowed in event.literals.items()) and all(
        any(happens(inner, world) for inner in events) == some for some, events in event.blocks
    )


def worlds(marginals: list[np.ndarray]) -> list[tuple[dict[int, int], float]]:
    return [
        (dict(enumerate(world)), math.prod(m[v] for m, v in zip(marginals, world, strict=True)))
        for world in itertools.product(*map(range, SIZES))
    ]


def leaf_values(marginals: list[np.ndarray], scale: float = 1.0):
    def found(numbers: torch.Tensor, allowed: tuple[int, ...]) -> torch.Tensor:
        chances = [scale * float(marginals[atom][list(allowed)].sum()) for atom in numbers.tolist()]
        return torch.tensor(chances, dtype=torch.float64)

    return found


def drawn(seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.dirichlet(np.ones(size)) for size in SIZES]


@quick
@given(st.lists(nested, min_size=1, max_size=3), st.integers(0, 2**32 - 1))
def test_the_probability_of_any_event(events: list[Event], seed: int) -> None:
    """Whatever atoms literals and blocks share; several roots share one circuit."""
    marginals = drawn(seed)
    made = Circuit(np.array(SIZES))
    roots = [made.node(event) for event in events]
    found = made.finished(roots).run(leaf_values(marginals)).tolist()
    expected = [sum(p for world, p in worlds(marginals) if happens(event, world)) for event in events]
    assert found == pytest.approx(expected, abs=1e-12)


@quick
@given(nested, st.integers(0, 3), st.data())
def test_an_event_given_a_value(event: Event, atom: int, data: st.DataObject) -> None:
    """What is left speaks of the atom no more, and happens in the same worlds that have the value."""
    value = data.draw(st.integers(0, SIZES[atom] - 1))
    left = event.given(atom, frozenset({value}))
    assert isinstance(left, bool) or atom not in left.atoms
    for world in itertools.product(*map(range, SIZES)):
        here = dict(enumerate(world))
        if here[atom] == value:
            told = left if isinstance(left, bool) else happens(left, here)
            assert told == happens(event, here)


@quick
@given(values_of(1), st.lists(values_of(1), max_size=3))
def test_values_are_put_together_where_nothing_tells_them_apart(
    values: frozenset[int], mentions: list[frozenset[int]]
) -> None:
    found = classes(values, mentions)
    assert sorted(value for group in found for value in group) == sorted(values)
    for one, other in itertools.combinations(values, 2):
        alike = all((one in m) == (other in m) for m in mentions)
        assert alike == any({one, other} <= group for group in found)


@quick
@given(st.lists(plain, max_size=6))
def test_events_that_share_no_atom_are_apart(events: list[Event]) -> None:
    groups = linked(events, lambda event: event.atoms)
    assert sum(map(len, groups)) == len(events)
    for one, other in itertools.combinations(groups, 2):
        atoms = [frozenset().union(*(event.atoms for event in group)) for group in (one, other)]
        assert not atoms[0] & atoms[1]
    for group in groups:
        reached, left = set(group[0].atoms), list(group[1:])
        while near := [event for event in left if event.atoms & reached]:
            reached |= set().union(*(event.atoms for event in near))
            left = [event for event in left if event not in near]
        assert not left or all(not event.atoms for event in group)


def test_equal_parts_are_one_node() -> None:
    """A hundred events that say the same cost what one does."""
    event = Event({0: frozenset({1})}, ((True, (Event({2: frozenset({0})}), Event({3: frozenset({1})}))),))
    made = Circuit(np.array(SIZES))
    first = made.node(event)
    size = len(made.nodes)
    assert [made.node(event) for _ in range(100)] == [first] * 100
    assert len(made.nodes) == size


def test_what_is_sure_needs_no_marginals() -> None:
    made = Circuit(np.array(SIZES))
    sure, never = Event(), Event({}, ((True, ()),))
    roots = [made.node(sure), made.node(never), made.node(Event({1: frozenset({0, 1, 2})}))]
    assert made.finished(roots).run(leaf_values(drawn(0))).tolist() == [1.0, 0.0, 1.0]


def test_too_many_nodes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(circuits, "MOST_NODES", 4)
    made = Circuit(np.array(SIZES))
    with pytest.raises(BudgetError, match="need more than 4 sums and products") as refused:
        made.node(Event({0: frozenset({1}), 2: frozenset({1}), 3: frozenset({0})}))
    assert "make the domains smaller, or use another engine" in str(refused.value)
