"""A queried formula once for each choice of constants for its free variables."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import product
from typing import NamedTuple

from herbrand.errors import BudgetError
from herbrand.language.scope import (
    Renaming,
    anonymous_named,
    free_variables,
    variable_types,
    with_terms,
)
from herbrand.language.syntax import Constant, Formula
from herbrand.program.program import Program
from herbrand.program.rewrites.quantifiers import written_out

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
        said = with_terms(named, constants)
        closed = written_out(with_terms(renamed, constants), untyped, MOST_INSTANCES) if untyped else said
        yield Instance(said, closed)


def _untyped(renamed: Formula, types: Mapping[str, str], program: Program) -> set[str]:
    """The quantified variables that have a type by comparisons with free ones alone."""
    free = free_variables(renamed)
    without = with_terms(renamed, {name: Constant(0) for name in free})
    return types.keys() - free.keys() - variable_types([without], program.signature).keys()
