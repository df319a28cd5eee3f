"""A queried formula once for each choice of constants for its free variables."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import product
from typing import NamedTuple

from herbrand.errors import BudgetError
from herbrand.facts.domain import Domain
from herbrand.language.scope import (
    Renaming,
    anonymous_named,
    free_variables,
    variable_types,
    with_constants,
    written,
)
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
from herbrand.program.program import Program

MOST_INSTANCES = 100_000


class Instance(NamedTuple):
    """``said``: the formula with its constants. ``closed``: the same with variables that only a comparison
    with a replaced one gave a type written out."""

    said: Formula
    closed: Formula


def instances(formula: Formula, program: Program) -> Iterator[Instance]:
    """The closed formulas, constants in the order of their domains; variables in the order they appear."""
    named = anonymous_named(formula)
    renamed = Renaming().formula(named)
    names = list(free_variables(renamed))
    types = variable_types([renamed], program.signature)
    domains = [program.domain(types[name]) for name in names]
    count = math.prod(map(len, domains))
    if count > MOST_INSTANCES:
        raise BudgetError(
            f"the queried formula has {count:,} instances; at most {MOST_INSTANCES:,} are answered",
            span=formula.span,
            hint="put constants for some of its variables",
        )
    if not count:
        return
    untyped = {name: program.domain(types[name]) for name in _untyped(renamed, types, program)}
    for values in product(*(domain.values_at(range(len(domain))) for domain in domains)):
        constants = {n: Constant(v) for n, v in zip(names, values, strict=True)}
        said = with_constants(named, constants)
        closed = _written_out(with_constants(renamed, constants), untyped) if untyped else said
        yield Instance(said, closed)


def _untyped(renamed: Formula, types: Mapping[str, str], program: Program) -> set[str]:
    """The quantified variables that have a type by comparisons with free ones alone."""
    free = free_variables(renamed)
    without = with_constants(renamed, {name: Constant(0) for name in free})
    return types.keys() - free.keys() - variable_types([without], program.signature).keys()


def _written_out(formula: Formula, untyped: Mapping[str, Domain]) -> Formula:
    """Quantifiers over these variables as disjunctions and conjunctions over their constants."""
    parts = [_written_out(part, untyped) for part in children(formula)]
    if not isinstance(formula, Exists | Forall):
        return with_children(formula, parts) if parts else formula
    (body,) = parts
    for variable in formula.variables:
        if variable.name in untyped:
            body = _over(formula, body, variable.name, untyped[variable.name])
    kept = tuple(variable for variable in formula.variables if variable.name not in untyped)
    return type(formula)(kept, body, formula.span) if kept else body


def _over(formula: Exists | Forall, body: Formula, name: str, domain: Domain) -> Formula:
    size = len(domain) * sum(1 for _ in walk(body))
    if size > MOST_INSTANCES:
        raise BudgetError(
            f"'{written(name)}' occurs in comparisons only and ranges over {len(domain):,} constants, so "
            f"the formula has {size:,} parts; at most {MOST_INSTANCES:,} are taken",
            span=formula.span,
            hint="name it in an atom, or say it without that quantifier",
        )
    cases = tuple(with_constants(body, {name: Constant(value)}) for value in domain)
    if len(cases) < 2:
        return cases[0] if cases else Truth(isinstance(formula, Forall))
    return Or(cases) if isinstance(formula, Exists) else And(cases)
