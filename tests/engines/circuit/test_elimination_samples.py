"""Worlds drawn by elimination: every world is as likely as plain loops over all worlds say."""

from __future__ import annotations

import itertools
import math
import random
from typing import Any

import numpy as np
import pytest

import herbrand as hb
from herbrand.budget import UNLIMITED
from herbrand.engines.circuit import engine
from herbrand.engines.circuit.choices import ChoiceConstraints
from herbrand.engines.circuit.elimination_samples import EliminationSamples, SummedOut
from herbrand.errors import ContradictionError
from herbrand.factors.graph import Assembly, FactorGraph, Tables
from tests.laws import long

Loops = list[tuple[tuple[int, ...], np.ndarray]]


def random_graph(seed: int) -> tuple[FactorGraph, Loops]:
    """Some axes of two to four values, own weights, and tables over up to three, a sixth of them forbidden;
    the second, the same tables for loops."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 5, rng.integers(1, 7)).tolist()
    assembly, tables = Assembly(sizes), []
    for axis, size in enumerate(sizes):
        own = rng.normal(size=size)
        assembly.add_unary(np.array([axis]), own[None])
        tables.append(((axis,), own))
    for _ in range(int(rng.integers(0, 7))):
        scope = rng.permutation(len(sizes))[: rng.integers(1, 4)]
        table = rng.normal(size=[sizes[axis] for axis in scope])
        table[rng.random(table.shape) < 1 / 6] = -math.inf
        assembly.add_tables(Tables(scope[None], np.array([0]), table[None]))
        tables.append((tuple(scope.tolist()), table))
    return assembly.build(), tables


@pytest.mark.parametrize("seed", long(range(300), 60))
def test_chances_multiply_to_the_share_of_every_world(seed: int) -> None:
    graph, tables = random_graph(seed)
    found = SummedOut.of(graph, UNLIMITED)
    assert found is not None
    total = -math.inf
    for world in itertools.product(*map(range, graph.sizes.tolist())):
        weight = math.fsum(float(table[tuple(world[axis] for axis in scope)]) for scope, table in tables)
        total = float(np.logaddexp(total, weight))
        with np.errstate(divide="ignore"):
            chances = [
                float(np.log(step.chances(np.array(world)[:, None])[world[step.axis], 0]))
                for step in found.steps
            ]
            chances += [
                float(np.log(own[world[axis]]))
                for alike in found.unlinked
                for axis, own in zip(alike.axes.tolist(), alike.chances, strict=True)
            ]
        if weight > -math.inf:
            assert found.total + math.fsum(chances) == pytest.approx(weight, abs=1e-9)
        else:
            assert -math.inf in chances or found.total == -math.inf
    assert found.total == pytest.approx(total, abs=1e-9)


def unlinked_graph() -> FactorGraph:
    """Two linked axes, and four that no table links, of two and three values."""
    rng = np.random.default_rng(2)
    sizes = [2, 3, 2, 2, 3, 2]
    assembly = Assembly(sizes)
    for axis, size in enumerate(sizes):
        assembly.add_unary(np.array([axis]), rng.normal(size=(1, size)))
    assembly.add_tables(Tables(np.array([[0, 4]]), np.array([0]), rng.normal(size=(1, 2, 3))))
    return assembly.build()


def test_axes_that_no_table_links_are_drawn_together() -> None:
    """A world of 100,000 atoms that do not depend on each other took ten seconds."""
    found = SummedOut.of(unlinked_graph(), UNLIMITED)
    assert found is not None and sorted(step.axis for step in found.steps) == [0, 4]
    assert [alike.axes.tolist() for alike in found.unlinked] == [[2, 3, 5], [1]]


@pytest.mark.parametrize("graph", [random_graph(8)[0], unlinked_graph()])
def test_rows_are_drawn_by_their_chances(graph: FactorGraph) -> None:
    found = SummedOut.of(graph, UNLIMITED)
    assert found is not None and found.total > -math.inf
    values, weights = found.drawn(np.random.default_rng(1), 20_000)
    drawn = {tuple(world): weight for world, weight in zip(values.T.tolist(), weights.tolist(), strict=True)}
    share = math.fsum(math.exp(weight - found.total) for weight in drawn.values())
    assert 0.99 < share < 1 + 1e-9
    for world, weight in drawn.items():
        expected = math.exp(weight - found.total)
        counted = float((world == values.T).all(axis=1).mean())
        assert counted == pytest.approx(expected, abs=6 * math.sqrt(expected / 20_000) + 1e-4)


def grid(side: int) -> str:
    links = (
        f'e("c{i}_{j}", "c{i + 1}_{j}")\ne("c{i}_{j}", "c{i}_{j + 1}")'
        for i in range(side)
        for j in range(side)
    )
    declared = "predicate s(n)\npredicate e(n, n): observed\n0.6: s(x) and e(x, y) => s(y)\n"
    return declared + "\n".join(links)


def test_a_grid_needs_no_circuit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A circuit of 12 × 12 took minutes and gigabytes; elimination takes a tenth of a second."""
    monkeypatch.setattr(ChoiceConstraints, "circuit", None)
    model = hb.Model(hb.parse(grid(12)))
    drawn = model.sample(2_000, seed=3)
    assert drawn.engine == "exact" and drawn.guarantee == "exact"
    rows = model.infer().rows()
    for row in itertools.islice(rows, 20):
        assert drawn.share(row.text) == pytest.approx(row.probability, abs=5 * math.sqrt(0.25 / 2_000))


def test_longer_elimination_is_taken_where_a_circuit_takes_much_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """A circuit of 20 × 20 takes gigabytes without end; elimination takes ten seconds."""
    monkeypatch.setattr(engine, "TRIED_ENTRIES", 1)
    monkeypatch.setattr(engine, "TRIED_WORK", 100)
    drawn = hb.Model(hb.parse(grid(5))).sample(10)
    assert drawn.engine == "exact"
    small = hb.Model(hb.parse("0.5: a or b")).sample(10)
    assert small.engine == "circuit"


MIXED = """
type t = {"x", "y", "z"}
predicate v(p) in t
predicate a(p)
predicate b(p)
0.7: a(p) => v(p) = "x"
-0.4: exists q: a(q) and b(p)
hard: b(p) => v(p) != "z"
v("one") = "y"
a("two") ~ 0.8
b("three")
"""


@pytest.mark.parametrize("given", [[], ['a("one")'], ['not a("one")']])
def test_what_elimination_draws_a_circuit_draws_as_well(
    given: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same worlds with the same weights, evidence and quantifiers among them."""

    def drawn() -> dict[Any, float]:
        found = hb.Model(hb.parse(MIXED)).sample(4_000, given=given, seed=random.randint(0, 9))
        engines.append(found.engine)
        return {tuple(sorted(world.atoms)): round(world.log_weight, 9) for world in found.worlds}

    engines: list[str] = []
    one = drawn()
    monkeypatch.setattr(EliminationSamples, "of", lambda *_: None)
    other = drawn()
    assert engines == ["exact", "circuit"]
    both = one.keys() & other.keys()
    assert len(both) > 0.5 * len(one.keys() | other.keys())
    assert {world: one[world] for world in both} == {world: other[world] for world in both}


def test_no_world_is_the_same_error() -> None:
    with pytest.raises(ContradictionError, match="no world satisfies these 3 statements"):
        hb.Model(hb.parse("hard: a\nhard: not a or b\nhard: not b\n0.2: b")).sample(3)
