"""Every engine of ``infer`` on structures that hard statements define, beside a walk through all worlds.

A contradiction is claimed only where there is no world, and a smallest set that is named has none by itself;
what is called exact is exact; and what is not keeps its own terms: probabilities, a bound on the side it is
said to be on, statements about one atom respected, and a reason where it has not come to rest.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, event, given, settings

import herbrand as hb
from herbrand.answers.guarantee import Guarantee, PartitionGuarantee
from herbrand.answers.marginals import Marginals
from herbrand.errors import BudgetError, ContradictionError, UnsupportedError
from herbrand.language import syntax as s
from herbrand.language.syntax import Hard, WeightedFormula
from herbrand.language.theory import Theory
from tests.engines.hard_structures import structures
from tests.laws import tries
from tests.oracles.worlds import GroundAtom, Universe, exact_answers

ENGINES = ("exact", "lifted", "regions", "bp", "mean-field", "gibbs", "auto")
PROVED = ("exact", "lifted", "auto")
"""Engines that answer exactly, or not at all, and find every contradiction."""

few = settings(
    phases=[Phase.reuse, Phase.generate],
    deadline=None,
    max_examples=tries(40),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
Case = tuple[str, Theory, Universe]
Values = dict[tuple[GroundAtom, object], float]


def atoms_of(formula: s.Formula, binding: Mapping[str, s.Value]) -> set[GroundAtom]:
    """The ground atoms of a formula; none, where a quantifier names more."""
    if any(isinstance(part, s.Exists | s.Forall) for part in s.walk(formula)):
        return set()
    return {
        (a.predicate, tuple(t.value if isinstance(t, s.Constant) else binding[t.name] for t in a.arguments))
        for a in s.walk(formula)
        if isinstance(a, s.Atom)
    }


def forced(universe: Universe, formulas: list[WeightedFormula]) -> dict[GroundAtom, set[object]]:
    """The values left to each atom by hard groundings that leave one atom only open, again and again."""
    left = {atom: set(universe.choices(atom)) for atom in universe.atoms()}
    moved = True
    while moved:
        moved = False
        for statement in formulas:
            for binding in universe.bindings(statement):
                named = atoms_of(statement.formula, binding)
                open_atoms = [atom for atom in named if len(left[atom]) > 1]
                if len(open_atoms) != 1:
                    continue
                (atom,) = open_atoms
                rest = {other: next(iter(left[other]), False) for other in named if other != atom}
                kept = {
                    v for v in left[atom] if universe.holds(statement.formula, {**rest, atom: v}, binding)
                }
                moved, left[atom] = moved or kept != left[atom], kept
    return left


def check(case: Case, engine: str, counted: Counter[str] | None = None) -> None:
    counted = Counter() if counted is None else counted
    name, theory, universe = case
    log_z, marginals, _ = exact_answers(universe, theory.formulas)
    try:
        answer = hb.Model(theory).infer(engine=engine, **OPTIONS.get(engine, {}))
    except ContradictionError as error:
        counted["contradiction"] += 1
        assert log_z == -math.inf, f"{name}: a world was claimed away"
        check_named(theory, universe, error)
        return
    except (UnsupportedError, BudgetError):
        counted["refused"] += 1
        assert engine not in ("exact", "bp", "auto"), f"{name}: {engine} takes any hard statement"
        return
    counted["converged" if answer.status.converged else "not at rest"] += 1
    assert engine not in PROVED or log_z > -math.inf, f"{name}: there is no world"
    if log_z > -math.inf:
        check_answer(answer, universe, theory, log_z, marginals)
    assert answer.guarantee is not Guarantee.EXACT or log_z > -math.inf or not answer.status.converged


OPTIONS: dict[str, dict[str, Any]] = {"gibbs": {"samples": 200}, "bp": {"iterations": 400}}


def check_named(theory: Theory, universe: Universe, error: ContradictionError) -> None:
    """Statements that are named as a smallest set have no world, and none of them could be left out."""
    smallest = [m for m in error.mistakes if "satisfies th" in m.message and "this one" not in m.message]
    lines = {mistake.span.line for mistake in smallest if mistake.span is not None}
    named = [x for x in theory.formulas if x.span is not None and x.span.line in lines]
    if not named or "the hard statements together" in smallest[0].message:
        return
    assert exact_answers(universe, named)[0] == -math.inf
    for left_out in named:
        rest = [x for x in named if x is not left_out]
        assert exact_answers(universe, rest)[0] > -math.inf, "one of them could be left out"


def check_answer(
    answer: Marginals, universe: Universe, theory: Theory, log_z: float, marginals: Values
) -> None:
    left = forced(universe, [x for x in theory.formulas if isinstance(x.weight, Hard)])
    sums: dict[GroundAtom, float] = defaultdict(float)
    for row in answer.rows():
        atom = (str(row.predicate), tuple(row.arguments))
        value = True if row.value is None else row.value
        assert -1e-12 <= row.probability <= 1 + 1e-12, row
        sums[atom] += row.probability if row.value is not None else 1.0
        if answer.guarantee is Guarantee.EXACT:
            assert row.probability == pytest.approx(marginals.get((atom, value), 0.0), abs=1e-9), row
        if value not in left[atom]:
            assert row.probability == pytest.approx(0.0, abs=1e-9), (row, "hard statements exclude it")
        elif left[atom] == {value}:
            assert row.probability == pytest.approx(1.0, abs=1e-9), (row, "hard statements force it")
    assert all(total == pytest.approx(1.0, abs=1e-9) for total in sums.values())
    kind = answer.log_partition_guarantee
    assert kind is None or answer.log_partition is not None
    if answer.log_partition is not None:
        assert not math.isnan(answer.log_partition)
        if kind is PartitionGuarantee.EXACT:
            assert answer.log_partition == pytest.approx(log_z, abs=1e-9)
        if kind is PartitionGuarantee.LOWER:
            assert answer.log_partition <= log_z + 1e-9
        if kind is PartitionGuarantee.UPPER:
            assert answer.log_partition >= log_z - 1e-9
    assert answer.status.converged or answer.status.advice


@pytest.mark.parametrize("engine", ENGINES)
@few
@given(structures())
def test_hard_structures(engine: str, case: Case) -> None:
    event(case[0])
    check(case, engine)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
@settings(few, max_examples=1000)
@given(structures(most=12, extra=1))
def test_hard_structures_at_length(engine: str, case: Case) -> None:
    check(case, engine)
