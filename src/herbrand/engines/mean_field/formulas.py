"""Probabilities of queried formulas under the product distribution."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from herbrand.answers.marginals import Row
from herbrand.budget import Budget
from herbrand.engines.mean_field.circuit import Circuit
from herbrand.engines.mean_field.grounded import Events, MarginalPlaces
from herbrand.engines.mean_field.problem import Problem
from herbrand.extras import Tensor, torch
from herbrand.factors.ground_graph import ground_cases
from herbrand.language.show import show_formula
from herbrand.language.syntax import Formula
from herbrand.program.expansion import instances
from herbrand.program.ground import Ground, LatentAtoms
from herbrand.program.question import Question


def formula_rows(
    problem: Problem, marginals: Mapping[str, Tensor], question: Question, budget: Budget
) -> tuple[Row, ...]:
    """A row for every instance of the queried formulas."""
    if not question.formulas:
        return ()
    atoms = LatentAtoms(problem.evidence, budget)
    formulas = [one for formula in question.formulas for one in instances(formula, problem.program)]
    return tuple(
        Row(show_formula(written), None, (), probability(problem, marginals, atoms, closed, budget))
        for written, closed in formulas
    )


def probability(
    problem: Problem, marginals: Mapping[str, Tensor], atoms: LatentAtoms, formula: Formula, budget: Budget
) -> float:
    """1 minus the probabilities of the disjoint cases in which the formula is false."""
    false = Ground(problem.program, problem.evidence, atoms, ()).negation(formula, budget)
    cases = ground_cases(false, budget)
    events = Events(cases, problem.leaders(atoms), budget)
    circuit, roots = Circuit(atoms.value_counts, budget), []
    for one, columns in zip(false.templates, cases.rows, strict=True):
        roots += [circuit.node(event) for _, event in events.of(columns)] * one.multiplicity
    if not roots:
        return 1.0
    places = MarginalPlaces(problem.unknowns.tables, atoms)
    flat = places.flat(marginals) if places.names else torch.zeros(0, dtype=torch.float64)
    values = circuit.finished(roots).run(
        lambda numbers, allowed: places.probabilities(flat, numbers, allowed)
    )
    return float(np.clip(1 - float(values.sum()), 0.0, 1.0))
