"""Whole numbers beside fractions: compared as Python compares them, in memory and in a database."""

from __future__ import annotations

import itertools
import operator

import numpy as np
import pytest

from herbrand.relations.database import DuckDB
from herbrand.relations.exact_order import in_exact_order, is_float
from herbrand.relations.expression import column
from herbrand.relations.memory import Memory
from herbrand.relations.relation import Relation
from herbrand.relations.stored import Scratch

EDGES = [power + step for power in (0, 2**32, 2**53, 2**62) for step in (-1, 0, 1, 7)]
WHOLE = sorted({*EDGES, *(-number for number in EDGES), 2**63 - 1, -(2**63)})
FRACTIONS = [*map(float, WHOLE), 0.5, -0.5, -1 + 1e-16, 2**32 - 0.25, 1e300, -1e300, 5e-324]


@pytest.fixture(params=["memory", "database"], scope="module")
def pairs(request: pytest.FixtureRequest) -> Relation:
    whole, fraction = zip(*itertools.product(WHOLE, FRACTIONS), strict=True)
    memory = Memory.of(n=np.array(whole, np.int64), x=np.array(fraction))
    if request.param == "memory":
        return memory
    database = DuckDB()
    request.addfinalizer(database.close)
    return Scratch(database).put(memory)


@pytest.mark.parametrize("name", ["eq", "ne", "lt", "le", "gt", "ge"])
def test_a_whole_number_is_compared_as_it_is(name: str, pairs: Relation) -> None:
    order = getattr(operator, name)
    kept = pairs.where(in_exact_order(order, column("n"), column("x"))).rows()
    expected = [(n, x) for n, x in itertools.product(WHOLE, FRACTIONS) if order(n, x)]
    assert sorted(kept) == sorted(expected)


def test_whole_numbers_that_are_floats(pairs: Relation) -> None:
    kept = pairs.only("n").distinct().where(is_float(column("n"))).rows()
    assert sorted(kept) == [(n,) for n in WHOLE if float(n) == n]
