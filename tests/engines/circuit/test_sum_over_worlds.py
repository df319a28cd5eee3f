"""The engine against the sum over all worlds: random theories of every kind of statement."""

from __future__ import annotations

import math

import pytest

import herbrand as hb
from herbrand.errors import ContradictionError, FactsError
from herbrand.language.parse import parse_formula
from tests.engines.circuit.programs import random_program
from tests.laws import long, tries
from tests.oracles.choices import ChoiceWorlds, worlds_of

MOST_WORLDS = 20_000


def check(seed: int) -> bool:
    """A random program by whatever the engine takes; whether it was small enough to be checked."""
    program = random_program(seed)
    theory = hb.parse(program.text)
    worlds = worlds_of(theory)
    if world_count(worlds) > MOST_WORLDS:
        return False
    formulas = [parse_formula(text) for text in program.queries]
    if worlds.total == 0:
        with pytest.raises((ContradictionError, FactsError)):
            hb.Model(theory).infer(list(program.queries), engine="circuit")
        return True
    expected = dict(zip(program.queries, worlds.probabilities(formulas), strict=True))
    found = hb.Model(theory).infer(list(program.queries), engine="circuit")
    for row in found.rows():
        assert row.probability == pytest.approx(expected[row.atom], abs=1e-9), (program.text, row.atom)
    assert found.log_partition == pytest.approx(math.log(worlds.total), abs=1e-9), program.text
    return True


def world_count(worlds: ChoiceWorlds) -> float:
    """At most so many worlds are gone through."""
    base = worlds._base
    count = math.prod(len(base.choices(atom)) for atom in base.atoms())
    first = next(iter(base.worlds()), {})
    most = {**first, **{atom: True for atom in base.atoms() if base.predicates[atom[0]][1] is None}}
    for choice in worlds.choices:
        for instance in worlds._instances(choice, most):
            count *= len(instance.heads) + 1
    return count


@pytest.mark.parametrize("start", long([*range(0, 300, 50), *range(1000, 2500, 50)], 1))
def test_random_programs(start: int) -> None:
    count = tries(50, 20)
    assert sum(check(seed) for seed in range(start, start + count)) >= count // 2


@pytest.mark.parametrize(
    "text",
    [
        '0.3 :: q\n1.0 :: v = "a" :- q\n1.0 :: v = "b" :- q',
        '0.3 :: q\n1.0 :: v = "a" :- q\n1.0 :: v = "b" :- q\n0.5 :: v = "a"',
        '0.3 :: q\n1.0 :: v = "a"\n1.0 :: v = "b" :- q',
    ],
)
def test_values_of_one_cause_exclude_each_other(text: str) -> None:
    """Their literals are equal, and were taken for one value's."""
    theory = hb.parse(f'predicate v in {{"a", "b"}}\npredicate q\n{text}')
    asked = ["q", 'v = "a"', 'v = "b"']
    expected = worlds_of(theory).probabilities([parse_formula(one, valued=["v"]) for one in asked])
    found = hb.Model(theory).infer(asked, engine="circuit")
    assert [row.probability for row in found.rows()] == pytest.approx(expected, abs=1e-12)


def test_two_certain_values_are_a_contradiction() -> None:
    theory = hb.parse('predicate v in {"a", "b"}\npredicate q\n1.0 :: v = "a"\n1.0 :: v = "b"\n0.5 :: q')
    with pytest.raises(ContradictionError):
        hb.Model(theory).infer("v")
