"""Factors of more than a thousand entries: tables that many statements make together, beside plain loops.

A conditional probability table is a weighted statement an entry; taken one by one these are factors with
cycles among them, and nothing of the network's own messages is left.
"""

from __future__ import annotations

import numpy as np
import pytest

import herbrand as hb
from herbrand.budget import UNLIMITED, Budget
from herbrand.engines.belief.engine import BeliefPropagation
from herbrand.engines.engine import first_state
from herbrand.engines.loop import Limits, run
from herbrand.errors import BudgetError
from herbrand.factors import pieces
from herbrand.factors.compiled import compiled
from herbrand.program.question import Question
from tests.oracles.belief import Factor, Graph

SIZES = (4, 10, 10, 12)
PARENTS: tuple[tuple[int, ...], ...] = ((), (0,), (0,), (1, 2))
"""A child of 1,200 entries, of two that have a common cause."""


def tables(seed: int, sizes: tuple[int, ...] = SIZES) -> list[np.ndarray]:
    dice = np.random.default_rng(seed)
    found = []
    for size, parents in zip(sizes, PARENTS, strict=True):
        table = dice.dirichlet(np.full(size, 0.5), size=[sizes[p] for p in parents]) + 1e-3
        found.append(np.log(table / table.sum(axis=-1, keepdims=True)))
    return found


def statements(made: list[np.ndarray], argument: str = "") -> str:
    """A weighted statement an entry."""
    lines = []
    for child, (parents, table) in enumerate(zip(PARENTS, made, strict=True)):
        for cell in np.ndindex(table.shape):
            atoms = zip((*parents, child), cell, strict=True)
            said = " and ".join(f'v{variable}{argument} = "s{value}"' for variable, value in atoms)
            lines.append(f"{float(table[cell])!r}: {said}")
    return "\n".join(lines)


def declared(sizes: tuple[int, ...] = SIZES, types: str = "") -> str:
    return "".join(
        f"predicate v{i}{types} in {{{', '.join(f'{chr(34)}s{v}{chr(34)}' for v in range(size))}}}\n"
        for i, size in enumerate(sizes)
    )


def loopy(made: list[np.ndarray], rounds: int) -> Graph:
    """The network's own factors, by plain loops."""
    factors = [
        Factor((*parents, child), {cell: float(table[cell]) for cell in np.ndindex(table.shape)})
        for child, (parents, table) in enumerate(zip(PARENTS, made, strict=True))
    ]
    graph = Graph(dict(enumerate(SIZES)), factors)
    for _ in range(rounds):
        graph.round()
    return graph


@pytest.mark.parametrize("lift", [True, False])
def test_a_network_with_a_large_table_is_that_of_plain_loops(lift: bool) -> None:
    made = tables(3)
    program = hb.Model(hb.parse(declared() + statements(made))).program
    answer = run(BeliefPropagation(lift=lift), program, Question(), Limits(1e-12))
    assert answer.status.converged and not answer.status.advice
    assert answer.log_partition == pytest.approx(0.0, abs=1e-9), "a network adds up to 1"
    expected = loopy(made, 6).marginals()
    for row in answer.rows():
        found = expected[int(row.predicate[1:])][int(row.value[1:])]
        assert row.probability == pytest.approx(found, abs=1e-9), row


def test_one_large_table_alone_is_exact() -> None:
    """A forest: the network's factors are, whatever the number of statements in one."""
    made = tables(5)
    kept = [line for line in statements(made).splitlines() if "v0" not in line]
    theory = hb.parse(declared() + "\n".join(kept) + '\nv3 = "s2"')
    answer = hb.Model(theory).infer(engine="bp")
    assert answer.guarantee == "exact"
    sure = hb.Model(theory).infer(engine="exact")
    assert answer.log_partition == pytest.approx(sure.log_partition, abs=1e-9)
    found = {(row.atom, row.value): row.probability for row in answer.rows()}
    assert found == pytest.approx({(r.atom, r.value): r.probability for r in sure.rows()}, abs=1e-9)


@pytest.mark.parametrize("lift", [True, False])
def test_a_large_table_for_each_constant(lift: bool) -> None:
    """Rules of variables: grounded, or one table for all constants that are alike."""
    made = tables(7)
    text = 'type t = {"a", "b", "c"}\n' + declared(types="(t)") + statements(made, "(x)")
    program = hb.Model(hb.parse(text)).program
    found = compiled(program, UNLIMITED, lift)
    assert found.graph.factor_count == (3 if lift else 9)
    answer = run(BeliefPropagation(lift=lift), program, Question(), Limits(1e-12))
    assert answer.log_partition == pytest.approx(0.0, abs=1e-9)


def test_a_formula_of_many_cases_is_one_factor() -> None:
    """Twelve atoms, 4,096 entries: exact, as the only formula."""
    pairs = " or ".join(f"(p{i} and not q{i})" for i in range(6))
    answer = hb.Model(hb.parse(f"1.3: {pairs}\n0.4: p0\n-0.9: q3")).infer(engine="bp")
    sure = hb.Model(hb.parse(f"1.3: {pairs}\n0.4: p0\n-0.9: q3")).infer(engine="exact")
    assert answer.guarantee == "exact" and not answer.status.advice
    assert answer.log_partition == pytest.approx(sure.log_partition, abs=1e-9)
    assert [r.probability for r in answer.rows()] == pytest.approx([r.probability for r in sure.rows()])


@pytest.mark.parametrize("lift", [True, False])
def test_what_no_table_holds_is_named(lift: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "LARGEST_TABLE", 1100)
    program = hb.Model(hb.parse(declared() + statements(tables(3)))).program
    answer = run(BeliefPropagation(lift=lift), program, Question())
    assert "treat each case as a factor of its own" in answer.status.advice
    assert 'v1 = "s0" and v2 = "s0" and v3 = "s0"' in answer.status.advice
    assert "and 1,197 more" in answer.status.advice


def test_a_wide_conjunction_by_itself_needs_no_table() -> None:
    text = f"2: {' and '.join(f'p{i}' for i in range(60))}"
    answer = hb.Model(hb.parse(text)).infer(engine="bp")
    assert answer.guarantee == "exact" and not answer.status.advice


def test_tables_that_do_not_fit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "BYTES_AN_ENTRY", 10**6)
    program = hb.Model(hb.parse(declared() + statements(tables(3)))).program
    for lift in (True, False):
        with pytest.raises(BudgetError, match="tables of"):
            first_state(BeliefPropagation(budget=Budget(500 * 2**20), lift=lift), program, Question())
