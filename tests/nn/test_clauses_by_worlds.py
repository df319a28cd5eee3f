"""``clauses="independent"``: every clause counts once for each grounding of its formula, by all worlds."""

from __future__ import annotations

import itertools
import math
import random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.program.independent_clauses import clauses
from tests.engines.mean_field.theories import universe_of
from tests.laws import tries

DECLARED = """
type t = {"A", "B"}
predicate p(t)
predicate q
predicate r(t, t)
predicate m in {"u", "v", "w"}
"""
LEAVES = ["p(x)", "p(y)", "q", "r(x, y)", 'r(x, "A")', 'm = "u"', 'm in {"u", "w"}', 'x != "A"', "x = y", "q"]
QUANTIFIED = ["(exists z: r(x, z) and p(z))", "(forall z: r(z, y))", "(exists z: z != x and p(z))"]
STATED = [
    '0.6: p(x) and (x != "A" => q)',
    "0.6: p(x) and q",
    "0.6: p(x) and r(x, y) and (exists z: p(z))",
    '0.6: r(x, y) and q where x != y and x != "B"',
    '0.6: p(x) and (m = "u" xor q)',
    "0.6: r(x, _) and q",
    "0.6: p(x) and x = x",
    '0.6: x = "A" and q and p(x)',
    "0.6: (exists z: r(x, z) and p(z)) and ((exists y: r(x, y) and p(y)) and q)",
]


def formula(dice: random.Random, depth: int = 2) -> str:
    if not depth or dice.random() < 0.2:
        return dice.choice([*LEAVES, *QUANTIFIED])
    left, right = formula(dice, depth - 1), formula(dice, depth - 1)
    return f"({left} {dice.choice(['and', 'and', 'or', '=>', 'xor'])} {right})"


def assert_expected(text: str, seed: int) -> None:
    """The expected log-weight under random marginals is the sum over worlds."""
    theory = hb.parse(DECLARED + text)
    (statement,) = theory.formulas
    layer = hb.nn.LogicLayer(hb.Model(theory), clauses="independent").double()
    universe = universe_of(theory)
    parts = list(clauses(statement.formula))
    dice = random.Random(seed)
    atoms = list(universe.atoms())
    chances = {}
    tables = {name: torch.zeros(shape, dtype=torch.float64) for name, shape in layer.shapes.items()}
    for atom in atoms:
        name, arguments = atom
        place = tuple("AB".index(str(one)) for one in arguments)
        if name == "m":
            drawn = [dice.random() for _ in range(3)]
            chances[atom] = dict(zip("uvw", (one / sum(drawn) for one in drawn), strict=True))
            tables[name][:] = torch.tensor(list(chances[atom].values()), dtype=torch.float64)
        else:
            p = dice.random()
            chances[atom] = {False: 1 - p, True: p}
            tables[name][place] = p
    expected = 0.0
    bindings = list(universe.bindings(statement))
    meanings = [universe.meaning(part, binding) for part in parts for binding in bindings]
    for values in itertools.product(*(chances[atom] for atom in atoms)):
        world = dict(zip(atoms, values, strict=True))
        chance = math.prod(chances[atom][value] for atom, value in world.items())
        count = sum(holds(world) for holds in meanings)
        expected += chance * count
    (weight,) = layer.weights
    found = layer.expected(tables).item() / weight.item()
    assert found == pytest.approx(expected, abs=1e-9), text


@pytest.mark.parametrize("text", STATED)
def test_stated_formulas(text: str) -> None:
    assert_expected(text, 1)


def check_random_formulas(seed: int) -> None:
    dice = random.Random(seed)
    text = f"0.5: (p(x) or r(x, y) or true) and {formula(dice)}"
    where = dice.choice(["", " where x != y", ' where x != "A"', ' where y = "B" and x != y'])
    assert_expected(text + where, seed)


@given(seed=st.integers(0, 10**6))
@settings(max_examples=tries(25), deadline=None)
def test_random_formulas(seed: int) -> None:
    check_random_formulas(seed)


@pytest.mark.slow
@given(seed=st.integers(0, 10**6))
@settings(max_examples=400, deadline=None)
def test_random_formulas_at_length(seed: int) -> None:
    check_random_formulas(seed)


def test_a_weight_for_each_constant_and_a_variable_value() -> None:
    """A clause that lacks the constant, or the value, counts for each of them."""
    head = 'type t = {"A", "B"}\npredicate p(t)\npredicate q\npredicate m(t) in {"u", "v", "w"}\n'
    by = hb.nn.LogicLayer(hb.Model(hb.parse(head + "?[x]: p(x) and q")), clauses="independent").double()
    values = hb.nn.LogicLayer(hb.Model(hb.parse(head + "1: m(x) = v and q")), clauses="independent").double()
    with torch.no_grad():
        by.weights[0].copy_(torch.tensor([0.5, 2.0]))
    half = {"p": torch.full((2,), 0.5), "q": torch.tensor(0.25), "m": torch.full((2, 3), 1 / 3)}
    half = {name: table.double() for name, table in half.items()}
    assert by.expected(half).item() == pytest.approx((0.5 + 2.0) * (0.5 + 0.25))
    assert values.expected(half).item() == pytest.approx(2 * 3 * 0.25 + 2)
