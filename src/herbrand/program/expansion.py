"""Write formulas out: replace variables by constants, or by the values of atoms.

Quantifiers over given variables become disjunctions and conjunctions over the constants of their domains.

>>> from herbrand.facts.domain import Domain
>>> from herbrand.language.parse import parse_formula
>>> from herbrand.language.show import show_formula
>>> domains = {"x": Domain.of("person", ["ann", "bob"])}
>>> show_formula(written_out(parse_formula("exists x: p(x, y)"), domains))
'p("ann", y) or p("bob", y)'

Variables in the place of a many-valued atom's value are replaced by each value in turn:
``area(p) = v and topic(v)`` for a free ``v`` is one formula for each value; under ``exists v`` it is their
disjunction. The result has constants for values.

A queried formula is instantiated for each choice of constants for its free variables.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

from herbrand.errors import BudgetError, LanguageError
from herbrand.facts.domain import Domain
from herbrand.language.formulas import (
    And,
    Comparison,
    Constant,
    Exists,
    Forall,
    Formula,
    Or,
    Term,
    Truth,
    ValueIs,
    Variable,
    children,
    walk,
    with_children,
)
from herbrand.language.scope import (
    Renaming,
    conditions_with,
    free_variables,
    variable_types,
    with_terms,
    written,
)
from herbrand.program.program import Program


def written_out(formula: Formula, domains: Mapping[str, Domain], most: int | None = None) -> Formula:
    """Replace quantifiers over the variables that have a domain here by disjunctions and conjunctions.

    ``most``: most parts of the formula after one variable is written out; BudgetError beyond that.
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


MOST_EXPANSIONS = 100_000


@dataclass(frozen=True)
class Expansion:
    """A statement for one choice of values; ``by`` holds the arguments that its weight depends on."""

    formula: Formula
    where: tuple[Comparison, ...]
    by: tuple[Term, ...]


def expanded(
    formula: Formula,
    where: Sequence[Comparison],
    by: Sequence[Term],
    types: Mapping[str, str],
    domains: Mapping[str, Domain],
) -> Iterator[Expansion]:
    """Yield the statement once for each choice of values of its free value variables, if its conditions allow
    it."""
    names = value_variables(formula)
    formula = written_out(formula, {name: domains[types[name]] for name in names})
    free = [name for name in free_variables(formula) if name in names]
    choices = [domains[types[name]] for name in free]
    _refuse_explosion(formula, free, choices)
    for indices in product(*(range(len(domain)) for domain in choices)):
        values = {
            name: Constant(domain.value(i)) for name, domain, i in zip(free, choices, indices, strict=True)
        }
        conditions = conditions_with(where, values)
        if conditions is not None:
            by_terms = tuple(values.get(t.name, t) if isinstance(t, Variable) else t for t in by)
            yield Expansion(with_terms(formula, values), conditions, by_terms)


def value_variables(formula: Formula) -> frozenset[str]:
    """Variables in the place of a many-valued atom's value."""
    return frozenset(
        part.value.name
        for part in walk(formula)
        if isinstance(part, ValueIs) and isinstance(part.value, Variable)
    )


def _refuse_explosion(formula: Formula, free: Sequence[str], choices: Sequence[Domain]) -> None:
    count = math.prod(map(len, choices))
    if count > MOST_EXPANSIONS:
        raise LanguageError(
            f"the variables {', '.join(map(written, free))} stand for {count:,} choices of values",
            span=formula.span,
            hint=f"at most {MOST_EXPANSIONS:,} are taken",
        )


MOST_INSTANCES = 100_000


class ManyInstancesError(BudgetError):
    """A queried formula has more instances than any engine answers."""


class Instance(NamedTuple):
    """A queried formula for one choice of constants, as ``written``, and ``closed``: with quantifiers written
    out whose variables got their type only from a comparison with a replaced variable."""

    written: Formula
    closed: Formula


def instances(formula: Formula, program: Program) -> Iterator[Instance]:
    """Yield the closed formulas: constants in the order of their domains, variables in order of
    appearance."""
    named = Renaming(quantified=False).formula(formula)
    renamed = Renaming().formula(named)
    names = list(free_variables(renamed))
    types = variable_types([renamed], program.signature)
    domains = [program.domain(types[name]) for name in names]
    count = math.prod(map(len, domains))
    if count > MOST_INSTANCES:
        raise ManyInstancesError(
            f"the queried formula has {count:,} instances; at most {MOST_INSTANCES:,} are answered",
            span=formula.span,
            hint="put constants for some of its variables",
        )
    if not count:
        return
    untyped = {name: program.domain(types[name]) for name in _untyped(renamed, types, program)}
    for values in product(*(domain.values_at(range(len(domain))) for domain in domains)):
        constants = {n: Constant(v) for n, v in zip(names, values, strict=True)}
        written = with_terms(named, constants)
        closed = written_out(with_terms(renamed, constants), untyped, MOST_INSTANCES) if untyped else written
        yield Instance(written, closed)


def _untyped(renamed: Formula, types: Mapping[str, str], program: Program) -> set[str]:
    """Quantified variables that get their type only from comparisons with free variables."""
    free = free_variables(renamed)
    without = with_terms(renamed, {name: Constant(0) for name in free})
    return types.keys() - free.keys() - variable_types([without], program.signature).keys()
