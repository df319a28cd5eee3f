"""Gradients against differences: of every answer by the weight of every fact and rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
import torch
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from torch import Tensor

import herbrand as hb
from herbrand.engines.proof.differentiable import scores
from herbrand.engines.proof.query import Proof
from herbrand.language import syntax as s
from herbrand.language.show import show_formula
from herbrand.language.syntax import Value
from tests.engines.proof.programs import EXAMPLES, Program, goals, programs
from tests.engines.proof.roads import roads, taken
from tests.engines.proof.test_single_proofs import proof_of
from tests.oracles.proofs import Weights, goal_answers
from tests.oracles.slopes import Key, slopes

quick = settings(
    max_examples=EXAMPLES,
    deadline=None,
    phases=[Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def parameters(proof: Proof, program: Program) -> tuple[dict[str, Tensor], Tensor | None]:
    """The stated weights as tensors that are to have gradients."""
    facts = {}
    for name, rows in program.facts.items():
        if rows:
            weights = [program.facts[name][row] for row in fact_rows(proof, name)]
            facts[name] = torch.tensor(weights, dtype=torch.float64, requires_grad=True)
    numbers = [rule.weight for rule in proof.program.weighted]
    rules = torch.tensor(numbers, dtype=torch.float64, requires_grad=True) if numbers else None
    return facts, rules


def in_order(program: Program) -> list[s.Rule]:
    """The rules as the model has them."""
    return [*program.upper, *program.lower]


def fact_rows(proof: Proof, name: str) -> list[tuple[Value, ...]]:
    """A relation's facts, in its order."""
    relation = proof.program.relation(name)
    domains = [proof.program.facts.domains[kind] for kind in proof.program.column_types(name)]
    columns = [domain.values_at(column) for domain, column in zip(domains, relation.columns, strict=True)]
    return list(zip(*columns, strict=True)) if columns else [()] * relation.count


def slopes_by_torch(
    proof: Proof, program: Program, goal: str, depth: int
) -> tuple[Weights, dict[Key, Weights]]:
    """The answers, and what the oracle gives of them."""
    facts, rules = parameters(proof, program)
    read = proof.read(goal)
    table = scores(proof, read.shape, [read.inputs], facts, rules, depth=depth)
    domains = [proof.program.facts.domains[read.shape.clause.types[name]] for name in read.shape.found]
    columns = [domain.values_at(column) for domain, column in zip(domains, table.columns[1:], strict=True)]
    answers = list(zip(*columns, strict=True)) if columns else [()] * len(table)
    places = [place for place, rule in enumerate(in_order(program)) if rule.weight is not None]
    keyed: list[tuple[Tensor, list[Key]]] = [
        (weights, [(name, row) for row in fact_rows(proof, name)]) for name, weights in facts.items()
    ]
    if rules is not None:
        keyed.append((rules, list(places)))
    found: dict[Key, Weights] = {}
    for answer, value in zip(answers, table.values, strict=True):
        if not value.requires_grad:
            continue
        gradients = torch.autograd.grad(value, [t for t, _ in keyed], retain_graph=True, allow_unused=True)
        for gradient, (_, keys) in zip(gradients, keyed, strict=True):
            if gradient is not None:
                for key, number in zip(keys, gradient.tolist(), strict=True):
                    if number:
                        found.setdefault(key, {})[answer] = number
    return dict(zip(answers, table.values.tolist(), strict=True)), found


def compare(program: Program, goal_atom: object, depth: int, road: Mapping[str, object]) -> None:
    proof = proof_of(program.model())
    proofs = replace(program.proofs(), rules=in_order(program))
    expected = slopes(proofs, goal_atom, depth + 1)  # type: ignore[arg-type]
    weights = program.proofs().answers(goal_atom.predicate, depth + 1)  # type: ignore[attr-defined]
    with taken(road):
        values, found = slopes_by_torch(proof, program, show_formula(goal_atom), depth)  # type: ignore[arg-type]
    answers = goal_answers(goal_atom, weights, lambda one, other: one + other)  # type: ignore[arg-type]
    every = dict.fromkeys([*answers, *values], 0.0)  # what adds up to 0 is no answer
    assert every | values == pytest.approx(every | answers, rel=1e-9)
    scale = 1 + max((abs(value) for value in answers.values()), default=0.0)
    for key in {*expected, *found}:
        by_torch, by_differences = found.get(key, {}), expected.get(key, {})
        for row in {*by_torch, *by_differences}:
            assert by_torch.get(row, 0.0) == pytest.approx(
                by_differences.get(row, 0.0), rel=1e-5, abs=1e-6 * scale
            )


@quick
@given(st.data(), programs(), st.integers(0, 3), roads)
def test_positive_weights(
    data: st.DataObject, program: Program, depth: int, road: Mapping[str, object]
) -> None:
    compare(program, data.draw(goals(program)), depth, road)


@quick
@given(st.data(), programs(weights=(-1.0, 0.5, 2.0)), st.integers(0, 3), roads)
def test_weights_that_cancel(
    data: st.DataObject, program: Program, depth: int, road: Mapping[str, object]
) -> None:
    """What adds up to 0 has a slope all the same."""
    compare(program, data.draw(goals(program)), depth, road)


def random_proof(rules: str, predicates: str, size: int, seed: int) -> Proof:
    """Rules over random links between ``size`` numbers, with positive weights."""
    rng = np.random.default_rng(seed)
    facts = {
        name: [
            (int(a), int(b), float(w))
            for (a, b), w in zip(pairs, rng.uniform(0.5, 1.5, len(pairs)), strict=True)
        ]
        for name in predicates
        for pairs in [np.unique(rng.integers(0, size, (3 * size, 2)), axis=0)]
    }
    declared = "".join(f"predicate {name}(n, n): observed\n" for name in predicates)
    theory = hb.parse(f"type n = 0..{size - 1}\n{declared}predicate p(n, n)\npredicate k(n)\n{rules}")
    tables = {
        name: pa.table(dict(zip(("a", "b", "weight"), zip(*rows, strict=True), strict=True)))
        for name, rows in facts.items()
    }
    return proof_of(hb.Model(theory, tables))


SHAPES = {
    "a chain": "p(x, y) :- e(x, z), f(z, w), e(y, w)",
    "a cycle closed by a relation": "p(x, y) :- e(x, w), f(x, y), e(w, y)",
    "a triangle": "k(x) :- e(x, y), f(y, z), e(z, x)\np(x, y) :- k(x), e(x, y)",
    "recursion": "p(x, y) :- e(x, y)\np(x, y) :- e(x, z), p(z, y)",
    "a side branch": "p(x, y) :- e(x, y), f(y, _)",
}


@pytest.mark.parametrize("dense", [True, False], ids=["grids", "lists"])
@pytest.mark.parametrize("rules", SHAPES.values(), ids=SHAPES)
def test_shapes_of_bodies(rules: str, dense: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each kernel's way back, for a batch of questions, against torch's own differences."""
    if not dense:
        monkeypatch.setattr("herbrand.engines.proof.table.LARGEST_GRID", 0)
    proof = random_proof(rules, "ef", 8, seed=3)
    goal = proof.read("p(x, y)", ("x",))
    tensors = tuple(torch.tensor(proof.program.relation(name).weights, requires_grad=True) for name in "ef")
    factors = torch.linspace(0.5, 2.0, 64, dtype=torch.float64)

    def total(*weights: Tensor) -> Tensor:
        facts = dict(zip("ef", weights, strict=True))
        table = scores(proof, goal.shape, [(x,) for x in range(8)], facts, depth=3)
        return (table.values * factors[table.columns[0] * 8 + table.columns[1]]).sum()

    assert total(*tensors).item() > 0
    assert torch.autograd.gradcheck(total, tensors)
