"""A queried formula once for each choice of constants for its free variables."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product

from herbrand.errors import BudgetError
from herbrand.language.scope import Renaming, free_variables, variable_types, with_constants
from herbrand.language.syntax import Constant, Formula
from herbrand.program.program import Program

MOST_INSTANCES = 100_000


def instances(formula: Formula, program: Program) -> Iterator[Formula]:
    """The closed formulas, constants in the order of their domains; variables in the order they appear."""
    renamed = Renaming().formula(formula)
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
    for values in product(*(domain.values_at(range(len(domain))) for domain in domains)):
        yield with_constants(formula, {n: Constant(v) for n, v in zip(names, values, strict=True)})
