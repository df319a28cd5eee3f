"""Messages by steps beside derivatives of the expected log-weight, for random statements."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.contraction import Sparse
from herbrand.engines.mean_field.message_terms import (
    KNOWN,
    MOST_DIAGONALS,
    OF_MARGINALS,
    Diagonals,
    Operand,
    Registers,
    Target,
    Tree,
)
from herbrand.engines.mean_field.pair_product import BATCH, PairProduct, Shift
from tests.laws import tries

HEAD = """\
type t = {names}
type u = {{"k", "l", "m"}}
predicate s(t)
predicate c(t, t)
predicate g(t, u)
predicate mood(t) in {{"v", "w", "z"}}
predicate k(t): observed
predicate e(t, t): observed
predicate h(t, u): observed
"""
LITERALS = [
    "s({0})",
    "c({0}, {1})",
    "c({0}, {0})",
    'c({0}, "n2")',
    "g({0}, {2})",
    'mood({0}) = "v"',
    'mood({0}) in {{"w", "z"}}',
    "k({0})",
    "e({0}, {1})",
    "e({1}, {0})",
    "not e({0}, {1})",
    "h({0}, {2})",
]
LARGE = 30


def statement(dice: random.Random) -> str:
    parts = []
    for _ in range(dice.randint(1, 4)):
        first, second = dice.sample("xyz", 2)
        literal = dice.choice(LITERALS).format(first, second, dice.choice("ab"))
        parts.append(literal if dice.random() < 0.7 or literal.startswith("not") else f"not {literal}")
    used = [name for name in "xyz" if any(f"{name}" in _variables(part) for part in parts)]
    pairs = [f"{a} != {b}" for a, b in pairwise(used) if dice.random() < 0.5]
    where = f" where {' and '.join(pairs)}" if pairs else ""
    return f"{dice.uniform(-1, 1):.3f}: {' and '.join(parts)}{where}"


def _variables(literal: str) -> Iterator[str]:
    inside = literal[literal.index("(") + 1 : literal.index(")")]
    yield from (part.strip() for part in inside.split(","))


def facts(dice: random.Random, size: int) -> dict[str, list[tuple[str, ...]]]:
    names = [f"n{i}" for i in range(size)]
    shape = dice.choice(["chain", "scattered", "few"])
    pairs = {
        "chain": list(pairwise(names)),
        "scattered": [(a, b) for a in names for b in names if dice.random() < 0.3],
        "few": [(dice.choice(names), dice.choice(names)) for _ in range(2)],
    }[shape]
    return {
        "e": pairs,
        "k": [(a,) for a in names if dice.random() < 0.5],
        "h": [(a, b) for a in names for b in "klm" if dice.random() < 0.4],
    }


@given(seed=st.integers(0, 100_000))
@settings(max_examples=tries(80), deadline=None)
def test_steps_give_the_derivatives_of_the_expected_log_weight(seed: int) -> None:
    dice = random.Random(seed)
    size = dice.choice([3, 4, LARGE])
    names = ", ".join(f'"n{i}"' for i in range(size))
    stated = "\n".join(statement(dice) for _ in range(dice.randint(1, 3)))
    same_messages(hb.parse(HEAD.format(names=f"{{{names}}}") + stated), facts(dice, size), seed)


def same_messages(theory: hb.Theory, facts: dict[str, list[tuple[str, ...]]], seed: int) -> None:
    layer = hb.nn.LogicLayer(hb.Model(theory, facts), 1).double()
    with torch.no_grad():
        for parameter, formula in zip(layer.weights, theory.formulas, strict=True):
            parameter.fill_(float(str(formula.weight)))
    made = torch.Generator().manual_seed(seed)
    logits = {
        name: torch.randn((2, *shape), generator=made, dtype=torch.float64)
        for name, shape in layer.shapes.items()
    }
    marginals = {n: t.requires_grad_() for n, t in layer.problem.unknowns.marginals(logits).items()}
    nothing = sum(0 * table.sum() for table in marginals.values())
    total = layer.expected(marginals).sum() + nothing
    slopes = torch.autograd.grad(total, list(marginals.values()), allow_unused=True, materialize_grads=True)
    said = layer.messages(marginals)
    assert not layer._plan().left
    for name, slope in zip(marginals, slopes, strict=True):
        found = said[name]
        if name == "mood":  # what is said to all values alike says nothing
            found, slope = (one - one.mean(-1, keepdim=True) for one in (found, slope))
        torch.testing.assert_close(found, slope, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("others", [("y",), ("y", "z")])
def test_neighbours_that_share_a_value_are_multiplied_entry_by_entry(
    others: tuple[str, ...], seed: int
) -> None:
    size = (4, LARGE)[seed % 2]
    names = ", ".join(f'"n{i}"' for i in range(size))
    shared = "".join(
        f"{0.3 + number}: mood(x) = {value} and e(x, y) and {agree}\n"
        for number, value in enumerate(['"v"', '"w"', '"v"'])
        for agree in [" and ".join(f"mood({other}) = {value}" for other in others)]
    )
    theory = hb.parse(HEAD.format(names=f"{{{names}}}") + shared)
    same_messages(theory, facts(random.Random(seed), size), seed)
    apart = '-0.7: mood(x) = "v" and e(x, y) and mood(y) in {"v", "z"}\n'
    same_messages(
        hb.parse(HEAD.format(names=f"{{{names}}}") + shared + apart), facts(random.Random(seed), size), seed
    )


@pytest.mark.parametrize("offsets", [(1,), (-1,), (1, -1), (2, 0, -3)])
@pytest.mark.parametrize("gaps", [False, True])
def test_a_matrix_of_few_diagonals_is_shifts(offsets: tuple[int, ...], gaps: bool) -> None:
    size = 12
    pairs = [
        (i, i + o) for o in offsets for i in range(size) if 0 <= i + o < size and not (gaps and i % 4 == 1)
    ]
    relation = Sparse.of(pairs, [1.0] * len(pairs), (size, size))
    diagonals = Diagonals.of(relation)
    assert diagonals is not None and len(diagonals.offsets) == len(offsets) <= MOST_DIAGONALS
    table = torch.randn(2, size, 3, dtype=torch.float64)
    for axes, equation in ((("x", "y"), "bxv,xy->byv"), (("y", "x"), "bxv,yx->byv")):
        registers = Registers()
        left, right, out = (registers.new(OF_MARGINALS) for _ in range(3))
        known = Operand(axes, registers.known("e", relation.to_dense), KNOWN, diagonals)
        read = [
            Operand((BATCH, "x", "v"), left, OF_MARGINALS),
            Operand((BATCH, "y", "v"), right, OF_MARGINALS, None, Target(out, 1)),
        ]
        (found,) = Tree(registers, [known, *read], {"x": size, "y": size, "v": 3}).derivatives()
        values = {left: table}
        assert any(isinstance(step.operation, Shift) for step in registers.steps)
        for step in registers.steps:
            if right not in step.inputs:
                inputs = [values[n] if n in values else registers.value(n) for n in step.inputs]
                values[step.output] = step.operation(*inputs)
        assert found.axes == (BATCH, "y", "v")
        expected = torch.einsum(equation, table, relation.to_dense())
        torch.testing.assert_close(values[found.register], expected)


def test_a_shift_is_its_matrix() -> None:
    step = Shift(1, 5, (2, -1), (False, True))
    mask = torch.tensor([1.0, 0.0, 1.0, 1.0, 0.0])
    table = torch.randn(3, 5, 2)
    expected = torch.zeros(3, 5, 2)
    expected[:, 2:] += table[:, :3]
    expected[:, :4] += table[:, 1:] * mask[:4, None]
    torch.testing.assert_close(step(table, mask), expected)


@pytest.mark.parametrize("output", ["xz", "zx", "xyz", "yx", "x", ""])
def test_pairs_are_einsums(output: str) -> None:
    sizes = {"x": 2, "y": 3, "z": 4, "w": 5}
    left, right = torch.randn(2, 3, 5), torch.randn(3, 4)
    step = PairProduct.of(tuple("xyw"), tuple("yz"), tuple(output), sizes)
    torch.testing.assert_close(step(left, right), torch.einsum(f"xyw,yz->{output}", left, right))
