"""Thresholds moved to where they describe examples best, against trying every number."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from herbrand.induction.cover import Errors
from herbrand.induction.database import Database, World
from herbrand.induction.evaluation import Clause, Condition, Literal, covered
from herbrand.induction.examples import Examples
from herbrand.induction.thresholds import moved, simplest
from tests.laws import tries

PHASES = [Phase.reuse, Phase.generate]


@settings(max_examples=tries(60), deadline=None, phases=PHASES)
@given(st.integers(0, 10**6), st.sampled_from([">=", "<="]), st.sampled_from([0.0, 0.2]))
def test_no_other_threshold_describes_the_examples_in_fewer_bits(seed: int, sign: str, beside: float) -> None:
    rng = np.random.default_rng(seed)
    numbers = rng.integers(0, 12, 12).tolist()
    things, many = 10, len(numbers)
    facts = {"has": [(thing, things + int(n)) for thing in range(things) for n in rng.integers(0, many, 2)]}
    database = Database.of([World(things + many, facts, (*"abcdefghij", *numbers))])
    examples = Examples("t", np.arange(things)[:, None], rng.random(things) < 0.5)
    others = rng.random(things) < beside
    clause = Clause("t", (0,), (Literal("has", (0, 1)),), (), (Condition(sign, 1, value=6),))

    def bits(one: Clause) -> float:
        return Errors.of(covered(one, database, examples.rows) | others, examples.positive).bits

    def at(value: float) -> Clause:
        return replace(clause, conditions=(Condition(sign, 1, value=value),))

    found = moved(clause, examples, database, others)
    covering_some = [at(v) for v in range(13) if (covered(at(v), database, examples.rows) & ~others).any()]
    assert bits(found) <= min(map(bits, covering_some), default=bits(clause)) + 1e-9


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6))
def test_the_simplest_number_lies_between(inside: float, outside: float) -> None:
    if inside != outside:
        found = simplest(inside, outside)
        assert min(inside, outside) <= found <= max(inside, outside) and found != outside


@pytest.mark.parametrize(
    ("inside", "outside", "found"),
    [(3, 2, 3), (2, 3, 2), (65, 62, 63), (62, 65, 63), (-0.5, 12.5, 0), (0.5, 0.25, 0.4), (1e-9, 0, 1e-9)],
)
def test_few_digits_near_the_middle(inside: float, outside: float, found: float) -> None:
    assert simplest(inside, outside) == found
