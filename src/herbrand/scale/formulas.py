"""Probabilities of queried formulas under the marginals in a database's tables.

As in :mod:`herbrand.engines.mean_field.formulas`: 1 minus the probabilities of the disjoint cases in which a
formula is false, each a product of marginals, computed by the sums that the bound on log Z uses.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from herbrand.answers.marginals import Row
from herbrand.errors import BudgetError, UnsupportedError
from herbrand.language.show import show_formula
from herbrand.language.syntax import Formula
from herbrand.program.expansion import instances
from herbrand.program.lower import forbidding
from herbrand.program.program import Template
from herbrand.program.question import Question
from herbrand.scale.evidence import StoredEvidence
from herbrand.scale.operands import Beliefs, expected_count

MOST_INSTANCES = 1_000
"""Most instances: each is a separate query."""

Cases = Sequence[Template]
Asked = Sequence[tuple[Formula, Cases]]
"""Closed formulas, each with the cases in which it is false."""


def queried_cases(evidence: StoredEvidence, question: Question) -> Asked:
    """All instances of the queried formulas with their cases; raise if these are not supported."""
    queried_formulas = []
    for formula in question.formulas:
        for written, closed in instances(formula, evidence.program):
            cases = forbidding(evidence.program, closed)
            _refuse_unserved(formula, cases, len(queried_formulas))
            queried_formulas.append((written, cases))
    return queried_formulas


def formula_rows(evidence: StoredEvidence, beliefs: Beliefs, queried_formulas: Asked) -> Iterator[Row]:
    for formula, cases in queried_formulas:
        yield Row(show_formula(formula), None, (), _probability(evidence, beliefs, cases))


def _probability(evidence: StoredEvidence, beliefs: Beliefs, cases: Cases) -> float:
    """One plus the sum of the cases, which is at most 0, as cases have a negative sign."""
    return min(max(1.0 - abs(expected_count(cases, evidence, beliefs)), 0.0), 1.0)


def _refuse_unserved(formula: Formula, cases: Cases, number: int) -> None:
    if any(case.conjunction.blocks or case.conjunction.variables for case in cases):
        raise UnsupportedError(
            f"on a database queried formulas have no quantifiers: {show_formula(formula)}",
            span=formula.span,
            hint="ask for atoms, or leave out --on",
        )
    if number >= MOST_INSTANCES:
        raise BudgetError(
            f"on a database at most {MOST_INSTANCES:,} instances of formulas are answered",
            span=formula.span,
            hint="put constants for some of their variables",
        )
