"""Variables that stand for the value of a many-valued atom become its values, one after another.

``area(p) = v and topic(v)`` for a free ``v`` is one formula for each value; under ``exists v`` it is their
disjunction. What remains has constants for values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product

from herbrand.errors import LanguageError
from herbrand.facts.domain import Domain
from herbrand.language.scope import free_variables, with_terms, written
from herbrand.language.syntax import (
    Comparison,
    Constant,
    Formula,
    Term,
    ValueIs,
    Variable,
    walk,
)
from herbrand.program.rewrites.quantifiers import written_out

MOST_EXPANSIONS = 100_000


@dataclass(frozen=True)
class Expansion:
    """The statement for one choice of values; ``by`` is what its weight depends on."""

    formula: Formula
    where: tuple[Comparison, ...]
    by: tuple[Term, ...]


def expanded(
    formula: Formula,
    where: Sequence[Comparison],
    by: Sequence[Variable],
    types: Mapping[str, str],
    domains: Mapping[str, Domain],
) -> Iterator[Expansion]:
    """The statement once for each choice of values of its free value variables."""
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
            by_terms = tuple(values.get(variable.name, variable) for variable in by)
            yield Expansion(with_terms(formula, values), conditions, by_terms)


def conditions_with(
    where: Sequence[Comparison], values: Mapping[str, Constant]
) -> tuple[Comparison, ...] | None:
    """What is left to check; ``None`` where two constants already fail."""
    kept = []
    for condition in where:
        found = with_terms(condition, values)
        assert isinstance(found, Comparison)
        if not isinstance(found.left, Constant) or not isinstance(found.right, Constant):
            kept.append(found)
        elif (found.left == found.right) != (found.operator == "="):
            return None
    return tuple(kept)


def value_variables(formula: Formula) -> frozenset[str]:
    """Variables that stand for the value of a many-valued atom."""
    return frozenset(
        part.value.name
        for part in walk(formula)
        if isinstance(part, ValueIs) and isinstance(part.value, Variable)
    )


def _refuse_explosion(formula: Formula, free: Sequence[str], choices: Sequence[Domain]) -> None:
    count = reduce(lambda total, domain: total * len(domain), choices, 1)
    if count > MOST_EXPANSIONS:
        raise LanguageError(
            f"the variables {', '.join(map(written, free))} stand for {count:,} choices of values",
            span=formula.span,
            hint=f"at most {MOST_EXPANSIONS:,} are taken",
        )
