"""Graphs beside worlds: whatever a theory says, its graphs give every world the weight that it has."""

from __future__ import annotations

import itertools
import math
import random

import numpy as np
import pytest

import herbrand as hb
from herbrand.budget import UNLIMITED
from herbrand.engines.belief.messages import bethe, flood, log_beliefs, no_messages
from herbrand.errors import ContradictionError, FactsError
from herbrand.factors import pieces
from herbrand.factors.class_graph import class_graph
from herbrand.factors.graph import SOME, FactorGraph
from herbrand.factors.ground_graph import ground_graph
from herbrand.factors.interchangeable import interchangeable
from herbrand.factors.program_graph import ProgramGraph
from herbrand.factors.refinement import lifted
from herbrand.program.evidence import Evidence
from herbrand.program.ground import ground
from tests.engines.belief.energies import edges_of, energy, latent_atoms, value_number
from tests.engines.unseen import theory
from tests.oracles.worlds import GroundAtom, Universe

NARROW = 3
"""So few entries that nearly every factor over several atoms is in pieces, or a helper."""
TABLES = [
    (pieces.MOST_ENTRIES, pieces.LARGEST_TABLE),
    (NARROW, pieces.LARGEST_TABLE),
    (NARROW, NARROW),
]
"""Of a conjunction by itself and of several at most: what a table holds, only together, or not at all."""


def of_worlds(universe: Universe, formulas: tuple, world: dict[GroundAtom, object]) -> float:
    if any(world[atom] == value for atom, value in universe.excluded):
        return -math.inf
    return universe.log_weight(world, formulas)


def assert_weighs_worlds(text: str, universe: Universe, dice: random.Random, worlds: int = 12) -> int:
    """Some random worlds; how many were possible."""
    parsed = hb.parse(text)
    try:
        program = ground(hb.Model(parsed).program, UNLIMITED)
    except (ContradictionError, FactsError):
        return 0
    graph = ground_graph(program).graph
    atoms = latent_atoms(program.evidence)
    assert program.atoms.count == len(atoms)
    axes = [int(program.atoms.numbers(name, np.array([code]))[0]) for name, code, _ in atoms]
    assert sorted(axes) == list(range(len(atoms)))
    possible = 0
    for _ in range(worlds):
        world = {atom: universe.choices(atom)[0] for atom in universe.atoms()}
        values = {}
        for axis, (_, _, atom) in zip(axes, atoms, strict=True):
            world[atom] = dice.choice(universe.choices(atom))
            values[axis] = value_number(universe, atom, world[atom])
        expected = of_worlds(universe, parsed.formulas, world)
        assert energy(graph, values) == pytest.approx(expected, abs=1e-9), text
        possible += expected > -math.inf
    return possible


@pytest.mark.parametrize(("most_entries", "largest"), TABLES)
def test_a_ground_graph_weighs_worlds_as_they_weigh(
    most_entries: int, largest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Quantifiers, many values, hard statements, evidence of every kind; and with tables that never fit."""
    monkeypatch.setattr(pieces, "MOST_ENTRIES", most_entries)
    monkeypatch.setattr(pieces, "LARGEST_TABLE", largest)
    dice = random.Random(most_entries)
    possible = sum(assert_weighs_worlds(*theory(seed), dice) for seed in range(26))
    assert possible > 80


@pytest.mark.slow
def test_ground_graphs_weigh_worlds_at_length(monkeypatch: pytest.MonkeyPatch) -> None:
    for most_entries, largest in (*TABLES, (12, 24)):
        monkeypatch.setattr(pieces, "MOST_ENTRIES", most_entries)
        monkeypatch.setattr(pieces, "LARGEST_TABLE", largest)
        for seed in range(1000, 1400):
            assert_weighs_worlds(*theory(seed), random.Random(seed))


def classes_of(text: str) -> tuple[ProgramGraph, Evidence, tuple]:
    parsed = hb.parse(text)
    program = hb.Model(parsed).program
    evidence = Evidence(program)
    return class_graph(program, evidence, interchangeable(program)), evidence, parsed.formulas


def assert_counts_fit(graph: FactorGraph) -> None:
    """What a class tells and what its atoms hear are the same messages."""
    assert (graph.counts >= 1).all() and (graph.factor_counts >= 1).all()
    for factor in range(graph.factor_count):
        told: dict[int, float] = {}
        heard: dict[int, float] = {}
        for edge in edges_of(graph, factor):
            axis = int(graph.edge_axes[edge])
            told[axis] = told.get(axis, 0.0) + graph.factor_counts[factor] * graph.multiplicities[edge]
            heard[axis] = heard.get(axis, 0.0) + graph.counts[axis] * graph.exponents[edge]
        assert heard == pytest.approx(told)


def assert_weighs_even_worlds(text: str, universe: Universe, dice: random.Random) -> None:
    """Worlds in which all atoms of a class have one value; and the classes' sizes."""
    try:
        built, evidence, formulas = classes_of(text)
    except (ContradictionError, FactsError):
        return
    atoms = latent_atoms(evidence)
    axes = [int(built.atoms.numbers(name, np.array([code]))[0]) for name, code, _ in atoms]
    graph = built.graph
    assert set(axes) == set(built.atoms.axes.tolist())
    assert [float(graph.counts[axis]) for axis in sorted(set(axes))] == [
        float(axes.count(axis)) for axis in sorted(set(axes))
    ]
    assert_counts_fit(graph)
    choices = {axis: universe.choices(atom) for axis, (_, _, atom) in zip(axes, atoms, strict=True)}
    for _ in range(6):
        chosen = {axis: dice.choice(values) for axis, values in choices.items()}
        world = {atom: universe.choices(atom)[0] for atom in universe.atoms()}
        values = {}
        for axis, (_, _, atom) in zip(axes, atoms, strict=True):
            world[atom] = chosen[axis]
            values[axis] = value_number(universe, atom, chosen[axis])
        expected = of_worlds(universe, formulas, world)
        assert energy(graph, values) == pytest.approx(expected, abs=1e-8), text


@pytest.mark.parametrize(("most_entries", "largest"), TABLES)
def test_a_graph_of_classes_weighs_even_worlds_as_they_weigh(
    most_entries: int, largest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pieces, "MOST_ENTRIES", most_entries)
    monkeypatch.setattr(pieces, "LARGEST_TABLE", largest)
    dice = random.Random(most_entries)
    for seed in range(100, 126):
        assert_weighs_even_worlds(*theory(seed), dice)


SYMMETRIC = [
    "0.7: f(x, y) <=> f(y, x)",
    "0.4: p(x) and f(x, y) => p(y)",
    "-0.9: p(x) <=> exists y: f(x, y) and p(y)",
    "0.3: exists x, y: f(x, y) and f(y, x) and x != y",
    "0.6: p(x) or exists y: forall z: f(x, y) or g(y, z)",
    "1.1: p(x) and p(y) and f(x, y) and f(y, x) and g(x, y) and g(y, x)",
    "-0.2: f(x, y) and f(y, z) and f(z, x)",
    "0.5: f(x, y) and f(y, z) => f(x, z) where x != z",
    'hard: f("c0", x) => p(x)',
    'hard: f(x, x) or exists y: g(x, y) and y != "c1"',
    "0.8: forall x: exists y: f(x, y) xor p(y)",
]
FACTS = ["", 'p("c1")\nf("c2", "c3")', 'not f("c0", "c0")\np("c2") ~ 0.8\np("c3") ~ 0.8']


@pytest.mark.parametrize(("most_entries", "largest"), TABLES)
def test_classes_of_several_constants_are_counted(
    most_entries: int, largest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pairs, triples and loops of constants that nothing tells apart, in every sentence and with facts."""
    monkeypatch.setattr(pieces, "MOST_ENTRIES", most_entries)
    monkeypatch.setattr(pieces, "LARGEST_TABLE", largest)
    constants = tuple(f"c{i}" for i in range(4))
    declared = "type t = {" + ", ".join(f'"{c}"' for c in constants) + "}\n"
    declared += "predicate p(t)\npredicate f(t, t)\npredicate g(t, t)\n"
    predicates = {"p": (("t",), None), "f": (("t", "t"), None), "g": (("t", "t"), None)}
    dice = random.Random(0)
    for sentence, facts in itertools.product(SYMMETRIC, FACTS):
        known: dict[GroundAtom, object] = {}
        soft: list[tuple[GroundAtom, object, float]] = []
        if facts.startswith("p"):
            known = {("p", ("c1",)): True, ("f", ("c2", "c3")): True}
        elif facts:
            known = {("f", ("c0", "c0")): False}
            soft = [(("p", (c,)), True, math.log(0.8) - math.log(0.2)) for c in ("c2", "c3")]
        universe = Universe({"t": constants}, predicates, known, frozenset(), soft)
        assert_weighs_even_worlds(f"{declared}{facts}\n{sentence}", universe, dice)


def rounds(graph: FactorGraph, count: int) -> tuple[np.ndarray, float] | None:
    messages = no_messages(graph)
    for _ in range(count):
        messages, moved = flood(graph, messages, 0.1)
        if math.isnan(moved):
            return None
    return log_beliefs(graph, messages).probabilities(graph), bethe(graph, messages)


@pytest.mark.parametrize("sentence", SYMMETRIC)
def test_messages_of_classes_are_those_of_the_ground_with_tables_that_never_fit(
    sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pieces by themselves and helpers for them, on both roads, after some rounds, collapsed or not."""
    monkeypatch.setattr(pieces, "MOST_ENTRIES", NARROW)
    monkeypatch.setattr(pieces, "LARGEST_TABLE", NARROW)
    text = 'type t = {"c0", "c1", "c2", "c3"}\npredicate p(t)\npredicate f(t, t)\npredicate g(t, t)\n'
    text += f'p("c3")\n0.3: p(x)\n{sentence}'
    built, evidence, _ = classes_of(text)
    program = ground(evidence.program, UNLIMITED)
    whole = ground_graph(program).graph
    assert (whole.table_starts == SOME).any(), "some piece is a helper"
    expected, found = rounds(whole, 3), rounds(built.graph, 3)
    assert (expected is None) == (found is None)
    if expected is None or found is None:
        return
    assert found[1] == pytest.approx(expected[1], abs=1e-8)
    for name, code, atom in latent_atoms(evidence):
        axis = int(built.atoms.numbers(name, np.array([code]))[0])
        number = int(program.atoms.numbers(name, np.array([code]))[0])
        assert found[0][axis] == pytest.approx(expected[0][number], abs=1e-9), atom
    small = lifted(whole, 1.0)
    assert small is not None
    again = rounds(small.graph, 3)
    assert again is not None and again[1] == pytest.approx(expected[1], abs=1e-8)
    assert again[0][small.axis_class] == pytest.approx(expected[0], abs=1e-9)
