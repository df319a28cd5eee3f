"""Log-probabilities of known values by plain loops: in memory, and as sums that a database takes."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from herbrand.learning.conditionals import Conditionals
from herbrand.relations.database import DuckDB
from herbrand.scale.learning.conditionals import StoredConditionals, fetched, merged
from herbrand.scale.learning.flips import FIXED
from tests.laws import tries

Changes = list[list[tuple[float, list[float]]]]
"""For each atom and alternative what it adds beside the weights, and to the count of each weight."""


@st.composite
def changes(draw: st.DrawFn) -> tuple[Changes, np.ndarray]:
    alternatives, width = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    counts = st.lists(st.sampled_from([0.0, 0.0, 1.0, -2.0, 3.0]), min_size=width, max_size=width)
    beside = st.sampled_from([0.0, 0.0, 0.5, -1.25, -math.inf])
    atom = st.lists(st.tuples(beside, counts), min_size=alternatives, max_size=alternatives)
    weights = draw(st.lists(st.floats(-2, 2), min_size=width, max_size=width))
    return draw(st.lists(atom, min_size=1, max_size=6)), np.array(weights)


def value(found: Changes, weights: np.ndarray) -> float:
    """The sum over atoms of -log(1 + Σ exp(what the alternative adds))."""
    total = 0.0
    for atom in found:
        odds = [
            math.exp(beside + sum(w * d for w, d in zip(weights, own, strict=True))) for beside, own in atom
        ]
        total -= math.log(1 + sum(odds))
    return total


def slopes(function: Callable[[np.ndarray], float], weights: np.ndarray, step: float = 1e-5) -> np.ndarray:
    nudges = np.eye(len(weights)) * step
    return np.array([(function(weights + n) - function(weights - n)) / (2 * step) for n in nudges])


def in_memory(found: Changes) -> Conditionals:
    rows = [[count for _, own in atom for count in own] for atom in found]
    offsets = [[beside for beside, _ in atom] for atom in found]
    return Conditionals.of(csr_array(np.array(rows)), np.array(offsets))


def in_database(database: DuckDB, found: Changes) -> StoredConditionals:
    """Changes of 0 have no row, and atoms that nothing changes none at all."""
    rows = [
        (code, alternative, place, change)
        for code, atom in enumerate(found)
        for alternative, (beside, own) in enumerate(atom)
        for place, change in [(FIXED, beside), *enumerate(own)]
        if change
    ]
    columns = list(zip(*rows, strict=True)) or [(), (), (), ()]
    kinds = (pa.int64(), pa.int64(), pa.int64(), pa.float64())
    names = ("code", "alternative", "place", "d")
    arrays = [pa.array(list(column), kind) for column, kind in zip(columns, kinds, strict=True)]
    database.put("changed", pa.table(dict(zip(names, arrays, strict=True))))
    table, atoms = merged(database, "changed")
    return StoredConditionals(database, table, len(found[0]), len(found[0][0][1]), atoms)


def agree(objective: Conditionals | StoredConditionals, found: Changes, weights: np.ndarray) -> None:
    assert objective.value(weights) == pytest.approx(value(found, weights), abs=1e-9)
    told, gradient = objective.value_and_gradient(weights)
    assert told == pytest.approx(value(found, weights), abs=1e-9)
    assert gradient == pytest.approx(slopes(lambda w: value(found, w), weights), abs=1e-5)
    hessian = objective.hessian(weights)
    for column in range(len(weights)):
        expected = slopes(lambda w, c=column: objective.value_and_gradient(w)[1][c], weights)
        assert hessian[column] == pytest.approx(expected, abs=1e-5)
    assert (np.linalg.eigvalsh(hessian) <= 1e-9).all(), "it is concave"
    assert (-np.diag(hessian) <= objective.curvature(weights) + 1e-9).all()


@given(changes())
@settings(max_examples=tries(40), deadline=None)
def test_in_memory(drawn: tuple[Changes, np.ndarray]) -> None:
    found, weights = drawn
    objective = in_memory(found)
    assert objective.atom_count == len(found)
    agree(objective, found, weights)


@given(changes())
@settings(max_examples=5, deadline=None)
def test_in_a_database(drawn: tuple[Changes, np.ndarray]) -> None:
    found, weights = drawn
    found = [atom for atom in found if any(beside or any(own) for beside, own in atom)] or [[(0.5, [1.0])]]
    weights = weights[: len(found[0][0][1])]
    with DuckDB() as database:
        objective = in_database(database, found)
        assert objective.atom_count == len(found)
        agree(objective, found, weights)
        kept = fetched(database, objective.table, objective.alternatives, objective.width)
        assert kept.atom_count == len(found)
        agree(kept, found, weights)
        tables = {name for (name,) in database.rows("SELECT table_name FROM duckdb_tables()")}
        assert tables <= {objective.table}, "sums leave no table behind"


def test_like_atoms_are_one_row_of_a_database() -> None:
    """The order in which an atom's changes stand does not tell it from another."""
    one, other = [(0.5, [1.0, 0.0])], [(0.5, [0.0, 1.0])]
    with DuckDB() as database:
        objective = in_database(database, [one, other, one, one])
        counts = database.rows(f"SELECT DISTINCT code, n FROM {objective.table}")
        assert sorted(n for _, n in counts) == [1, 3]


def test_nothing_changes_anything() -> None:
    with DuckDB() as database:
        objective = in_database(database, [[(0.0, [0.0])]])
        assert objective.atom_count == 0 and objective.value(np.array([3.0])) == 0
        told, gradient = objective.value_and_gradient(np.array([3.0]))
        assert (told, gradient.tolist()) == (0.0, [0.0])
