"""How many assignments there are, against loops over all of them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.language.syntax import Constant
from herbrand.language.theory import Theory
from herbrand.program.ground import Key, assignments, groundings
from tests.laws import tries
from tests.oracles.worlds import Universe
from tests.program_generators import models

laws = settings(phases=[Phase.explicit, Phase.reuse, Phase.generate])
names = ("x", "y", "z", "w")
keys = st.one_of(st.sampled_from(names), st.integers(0, 2).map(Constant))


@laws
@given(st.integers(0, 4), st.integers(0, 4), st.lists(st.tuples(keys, keys), max_size=6))
def test_assignments_that_differ(size: int, count: int, pairs: list[tuple[Key, Key]]) -> None:
    """Over one type of ``size`` constants; the constants named are among them."""
    used = names[:count]
    known = [
        (a, b)
        for a, b in pairs
        if all(k in used if isinstance(k, str) else int(k.value) < size for k in (a, b))
    ]

    def value(key: Key, binding: Mapping[Any, int]) -> object:
        return binding[key] if isinstance(key, str) else key.value

    expected = sum(
        all(value(a, binding) != value(b, binding) for a, b in known)
        for row in itertools.product(range(size), repeat=count)
        for binding in [dict(zip(used, row, strict=True))]
    )
    assert assignments(dict.fromkeys(used, size), known) == expected


@pytest.mark.parametrize(
    ("sizes", "distinct", "count"),
    [
        ({}, [], 1),
        ({"x": 0}, [], 0),
        ({"x": 0, "y": 10**9}, [], 0),
        ({"x": 10**9, "y": 10**9, "z": 10**9}, [], 10**27),
        ({"x": 10**9, "y": 10**9}, [("x", "y")], 10**18 - 10**9),
        ({"x": 5}, [("x", "x")], 0),
        ({"x": 5}, [("x", Constant(1)), ("x", Constant(1))], 4),
        ({}, [(Constant(1), Constant(1))], 0),
        ({}, [(Constant(1), Constant("1"))], 1),
        ({"x": 3, "y": 3, "z": 3}, [("x", "y"), ("y", "z"), ("x", "z")], 6),
        ({"x": 2, "y": 2, "z": 2}, [("x", "y"), ("y", "z"), ("x", "z")], 0),
    ],
)
def test_sizes_from_none_to_huge(sizes: dict[str, int], distinct: list, count: int) -> None:
    assert assignments(sizes, distinct) == count


@settings(laws, max_examples=tries(15), suppress_health_check=[HealthCheck.too_slow])
@given(models(hard=True))
def test_groundings_of_any_formula(model: tuple[Theory, Universe]) -> None:
    theory, universe = model
    program = hb.Model(theory).program
    for statement in theory.formulas:
        expected = len(list(universe.bindings(statement)))
        assert groundings(statement, program.signature, program.facts) == expected


WHERE = {
    "": 9,
    " where x = y": 3,
    " where x != y": 6,
    ' where x = "a"': 3,
    ' where x = "a" and y != x': 2,
    ' where x = "a" and x = "b"': 0,
    ' where x != "a" and y != "a" and x != y': 2,
    " where x = y and y = x and x != y": 0,
}


@pytest.mark.parametrize("where", WHERE)
def test_where(where: str) -> None:
    text = f'type t = {{"a", "b", "c"}}\npredicate f(t, t)\n1.0: f(x, y){where}'
    program = hb.Model(hb.parse(text)).program
    (statement,) = program.statements[2:]
    assert groundings(statement, program.signature, program.facts) == WHERE[where]  # type: ignore[arg-type]


def test_many_that_all_differ() -> None:
    """Each pair doubled the work: eight variables that all differ took minutes."""
    sizes = dict.fromkeys("abcdefghijkl", 30)
    assert assignments(sizes, list(itertools.combinations(sizes, 2))) == math.perm(30, 12)
    ring = [*zip(sizes, [*sizes][1:], strict=False), ("l", "a")]
    assert assignments(sizes, ring) == 29**12 + 29
