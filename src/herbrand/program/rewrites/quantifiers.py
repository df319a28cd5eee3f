"""Quantifiers over some variables as disjunctions and conjunctions over the constants of these.

>>> from herbrand.facts.domain import Domain
>>> from herbrand.language.parse import parse_formula
>>> from herbrand.language.show import show_formula
>>> domains = {"x": Domain.of("person", ["ann", "bob"])}
>>> show_formula(written_out(parse_formula("exists x: p(x, y)"), domains))
'p("ann", y) or p("bob", y)'
"""

from __future__ import annotations

from collections.abc import Mapping

from herbrand.errors import BudgetError
from herbrand.facts.domain import Domain
from herbrand.language.scope import with_terms, written
from herbrand.language.syntax import (
    And,
    Constant,
    Exists,
    Forall,
    Formula,
    Or,
    Truth,
    children,
    walk,
    with_children,
)


def written_out(formula: Formula, domains: Mapping[str, Domain], most: int | None = None) -> Formula:
    """The formula without quantifiers over the variables that have a domain here.

    ``most``: so many parts are taken for one variable; raises above that.
    """
    parts = [written_out(part, domains, most) for part in children(formula)]
    if not isinstance(formula, Exists | Forall):
        return with_children(formula, parts) if parts else formula
    (body,) = parts
    for variable in formula.variables:
        if variable.name in domains:
            body = _over(formula, body, variable.name, domains[variable.name], most)
    kept = tuple(variable for variable in formula.variables if variable.name not in domains)
    return type(formula)(kept, body, formula.span) if kept else body


def _over(formula: Exists | Forall, body: Formula, name: str, domain: Domain, most: int | None) -> Formula:
    if most is not None and (size := len(domain) * sum(1 for _ in walk(body))) > most:
        raise BudgetError(
            f"'{written(name)}' ranges over {len(domain):,} constants, and the formula has {size:,} parts "
            f"then; at most {most:,} are taken",
            span=formula.span,
            hint="say it without that quantifier, or of fewer constants",
        )
    cases = tuple(with_terms(body, {name: Constant(value)}) for value in domain)
    if len(cases) < 2:
        return cases[0] if cases else Truth(isinstance(formula, Forall))
    return Or(cases) if isinstance(formula, Exists) else And(cases)
