"""The factor graph of a theory as tables of a database: what it weighs, its classes, if it is a forest."""

from __future__ import annotations

import itertools
import math
import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.errors import BudgetError, ContradictionError, UnsupportedError
from herbrand.language.theory import Theory
from herbrand.relations.database import DuckDB
from herbrand.relations.expression import column
from herbrand.scale.atoms import StoredAtoms
from herbrand.scale.belief.colours import COLOURS, lifted
from herbrand.scale.belief.factor_families import StoredFamily
from herbrand.scale.belief.factor_tables import FactorTables, factor_tables
from herbrand.scale.belief.forests import is_forest
from tests.laws import law, tries
from tests.oracles.worlds import GroundAtom, Universe
from tests.program_generators import models
from tests.scale.test_mean_field import without_quantifiers

SOME = settings(
    max_examples=4,
    deadline=None,
    phases=[Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow],
)


def atoms_in(database: DuckDB, theory: Theory, facts: Any = None) -> StoredAtoms:
    model = hb.Model(theory, facts, on="duckdb:unused").stored
    return StoredAtoms(model.evidence_of(database))


def numbers_of(atoms: StoredAtoms) -> dict[int, GroundAtom]:
    """Every latent atom by the number that tables call it."""
    evidence, found = atoms.evidence, {}
    for name in atoms.starts:
        types = evidence.program.signature.predicates[name].types
        domains = [evidence.program.domain(kind) for kind in types]
        number = atoms.number(name, list(map(column, evidence.columns(name))))
        for *row, own in atoms.latent(name).let(number=number).rows():
            found[own] = name, tuple(d.value(i) for d, i in zip(domains, row, strict=True))
    return found


def log_weight(graph: FactorTables, database: DuckDB, chosen: dict[int, int]) -> float:
    """Of a choice of a value for every latent atom: the constant, the atoms' own weights and all factors."""
    total = graph.constant
    for size in graph.sizes:
        values = ", ".join(f"u{value}" for value in range(size))
        for atom, *own in database.rows(f"SELECT atom, {values} FROM axes_{size}"):
            total += own[chosen[atom]]
    for family in graph.families:
        slots = ", ".join(family.slots)
        for *scope, kind in database.rows(f"SELECT {slots}, kind FROM {family.table}"):
            total += family.potentials[kind][tuple(chosen[atom] for atom in scope)]
    return total


@law(models(hard=True), st.integers(0, 1000))
def check_weights_of_worlds(model: tuple[Theory, Universe], seed: int) -> None:
    theory, universe = without_quantifiers(model[0]), model[1]
    with DuckDB() as database:
        atoms = atoms_in(database, theory)
        try:
            graph = factor_tables(atoms, None)
        except ContradictionError:
            assert all(universe.log_weight(w, theory.formulas) == -math.inf for w in universe.worlds())
            return
        named = numbers_of(atoms)
        worlds = list(itertools.islice(universe.worlds(), 4096))
        for world in random.Random(seed).sample(worlds, min(len(worlds), 5)):
            chosen = {number: value_of(world[atom], atom, universe) for number, atom in named.items()}
            expected = universe.log_weight(world, theory.formulas)
            assert log_weight(graph, database, chosen) == pytest.approx(expected, abs=1e-9)


def value_of(value: object, atom: GroundAtom, universe: Universe) -> int:
    values = universe.predicates[atom[0]][1]
    return int(value is True) if values is None else values.index(value)  # type: ignore[arg-type]


def test_factors_weigh_worlds_as_the_theory_does() -> None:
    check_weights_of_worlds.holds(SOME)


@pytest.mark.slow
def test_factors_weigh_more_worlds() -> None:
    check_weights_of_worlds.holds(SOME, max_examples=200)


RING = """
predicate next(n, n): observed
predicate p(n)
0.5: next(x, y) and p(x) => p(y)
"""


def ring(count: int) -> dict[str, list[tuple[int, int]]]:
    return {"next": [(a, (a + 1) % count) for a in range(count)]}


class TestClasses:
    def test_atoms_alike_are_one(self) -> None:
        with DuckDB() as database:
            graph = factor_tables(atoms_in(database, hb.parse(RING), ring(12)), None)
            assert lifted(graph, database) is not None
            assert database.rows(f"SELECT COUNT(*), COUNT(DISTINCT c) FROM {COLOURS}") == [(12, 1)]
            assert database.rows("SELECT n FROM axes_2") == [(12.0,)]

    @pytest.mark.parametrize("symmetric", [True, False])
    def test_an_atom_is_told_by_its_way_to_another_one(self, symmetric: bool) -> None:
        """On a ring with one opinion: by its distance, or, where edges have a direction, by its place."""
        sentence = "p(x) <=> p(y)" if symmetric else "p(x) => p(y)"
        theory = hb.parse(
            "predicate next(n, n): observed\npredicate p(n)\npredicate odd(n)\n0.1: odd(x)\n"
            f"0.5: next(x, y) and ({sentence})\np(0) ~ 0.7"
        )
        with DuckDB() as database:
            atoms = atoms_in(database, theory, ring(10))
            graph = factor_tables(atoms, None)
            classes = lifted(graph, database)
            start = atoms.starts["p"]
            if not symmetric:  # 10 classes of p and one of odd are more than half of 20 atoms
                assert classes is None
                return
            rows = database.rows(f"SELECT atom, c FROM {COLOURS} WHERE atom BETWEEN {start} AND {start + 9}")
            colour = {int(atom) - start: c for atom, c in rows}
            for a, b in itertools.combinations(range(10), 2):
                assert (colour[a] == colour[b]) == (min(a, 10 - a) == min(b, 10 - b))

    def test_what_saves_little_is_left_out(self) -> None:
        facts = {"next": [(a, a + 1) for a in range(9)]}
        with DuckDB() as database:
            graph = factor_tables(atoms_in(database, hb.parse(RING + "p(0) ~ 0.9"), facts), None)
            assert lifted(graph, database) is None
            assert not database.has(COLOURS)

    def test_every_atom_counts_once(self) -> None:
        """What a class hears of a factor is what one of its atoms does, whatever the order of places."""
        theory = hb.parse("type n = 0..4\npredicate f(n, n)\n0.7: f(x, y) and f(y, x)\n-0.2: f(x, y)")
        with DuckDB() as database:
            graph = factor_tables(atoms_in(database, theory), None)
            classes = lifted(graph, database)
            assert classes is not None
            counts = dict(database.rows("SELECT atom, n FROM axes_2"))
            assert sorted(counts.values()) == [5.0, 20.0]
            (family,) = classes.families
            told = database.rows(f"SELECT s0, s1, n, x0, x1 FROM {family.table}")
            assert [(row[2], row[3] + row[4]) for row in told] == [(10.0, 1.0)]
            assert counts[told[0][0]] == 20.0 and told[0][0] == told[0][1]


def families(database: DuckDB, factors: list[tuple[int, ...]]) -> list[StoredFamily]:
    found = []
    for number, width in enumerate(sorted(set(map(len, factors)))):
        own = [factor for factor in factors if len(factor) == width]
        table = {f"s{slot}": [factor[slot] for factor in own] for slot in range(width)}
        database.put(f"factors_{number}", pa.table({**table, "kind": [0] * len(own)}))
        shape = (2,) * width
        found.append(StoredFamily(number, shape, (np.zeros(shape),), (tuple(range(width)),), len(own)))
    return found


def has_a_cycle(factors: list[tuple[int, ...]]) -> bool:
    """By joining what each atom of a factor hangs together with."""
    root: dict[object, object] = {}

    def top(part: object) -> object:
        while root.setdefault(part, part) != part:
            part = root[part]
        return part

    for number, scope in enumerate(factors):
        for atom in scope:
            one, other = top(("factor", number)), top(atom)
            if one == other:
                return True
            root[one] = other
    return False


@given(st.lists(st.lists(st.integers(0, 12), min_size=2, max_size=3, unique=True).map(tuple), max_size=6))
@settings(SOME, max_examples=tries(12))
def test_forests_are_those_without_a_cycle(factors: list[tuple[int, ...]]) -> None:
    with DuckDB() as database:
        assert is_forest(families(database, factors), database) is not has_a_cycle(factors)
        assert not database.has("links_0") and not database.has("links_1")


def test_a_long_chain_is_a_forest_and_a_very_long_one_is_not_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chain = [(atom, atom + 1) for atom in range(30)]
    with DuckDB() as database:
        found = families(database, chain)
        assert is_forest(found, database)
        monkeypatch.setattr("herbrand.scale.belief.forests.MOST_ROUNDS", 3)
        assert not is_forest(found, database)


class TestRefusals:
    def test_a_formula_over_too_many_atoms(self) -> None:
        literals = " or ".join(f"p{number}(x)" for number in range(23))
        theory = hb.parse(f'1.0: {literals}\ntype t = {{"a"}}\n' + "\n".join(
            f"predicate p{number}(t)" for number in range(23)
        ))  # fmt: skip
        with DuckDB() as database, pytest.raises(UnsupportedError, match="no factor of 8,388,608 entries"):
            factor_tables(atoms_in(database, theory), None)

    def test_a_disk_that_is_too_small(self) -> None:
        with DuckDB() as database, pytest.raises(BudgetError, match="10 B are free"):
            factor_tables(atoms_in(database, hb.parse(RING), ring(5)), 10)

    def test_more_atoms_than_can_be_numbered(self) -> None:
        names = "abcdefghijklmnopqrstuvw"
        theory = hb.parse(
            f"type t = 1..9\npredicate f({', '.join('t' * 22)})\n1.0: f({', '.join(names[:22])})"
        )
        with DuckDB() as database, pytest.raises(BudgetError, match="more than can be numbered"):
            _ = atoms_in(database, theory).starts
