"""How many assignments of constants there are, without making them.

>>> assignments({"x": 3, "y": 3}, [("x", "y")])
6
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from herbrand.facts.facts import Facts
from herbrand.language.scope import Renaming, free_variables, variable_types
from herbrand.language.signature import Signature
from herbrand.language.syntax import Constant, Term, WeightedFormula
from herbrand.program.program import Conjunction, Literal

Key = str | Constant


def groundings(statement: WeightedFormula, signature: Signature, facts: Facts) -> int:
    """The groundings of a formula that its ``where`` leaves."""
    formula = Renaming().formula(statement.formula)
    types = variable_types([formula, *statement.where], signature)
    sizes = {name: len(facts.domains[types[name]]) for name in free_variables(formula)}
    return _counted(sizes, [(_key(c.left), _key(c.right), c.operator == "=") for c in statement.where])


def assignments(sizes: Mapping[str, int], distinct: Sequence[tuple[Key, Key]]) -> int:
    """Assignments to variables of these domain sizes in which the pairs differ."""
    return _counted(sizes, [(left, right, False) for left, right in distinct])


def _counted(sizes: Mapping[str, int], conditions: Sequence[tuple[Key, Key, bool]]) -> int:
    """Settle one condition after another: those that differ are all without those that are equal."""
    if not conditions:
        return math.prod(sizes.values())
    (left, right, equal), rest = conditions[0], conditions[1:]
    if not equal:
        return _counted(sizes, rest) - _counted(sizes, [(left, right, True), *rest])
    if left == right:
        return _counted(sizes, rest)
    if isinstance(left, Constant) and isinstance(right, Constant):
        return 0
    name, by = (left, right) if isinstance(left, str) else (right, left)
    assert isinstance(name, str)
    merged = {other: size for other, size in sizes.items() if other != name}
    return _counted(merged, [(by if a == name else a, by if b == name else b, e) for a, b, e in rest])


def _key(term: Term) -> Key:
    return term if isinstance(term, Constant) else term.name


def expected_rows(
    conjunction: Conjunction, sizes: Callable[[str], int], listed: Callable[[Literal], int | None]
) -> float:
    """About how many ground rows a conjunction has, those of its quantifiers' pieces included.

    ``sizes``: of types. ``listed``: how many rows make a literal true, where these are all that do: a known
    relation bounds its variables together.
    """
    free = {name: float(sizes(kind)) for name, kind in conjunction.variables}
    rows = 1.0
    for literal in conjunction.literals:
        names = {a for a in literal.arguments if isinstance(a, str)} & set(free)
        known = listed(literal) if names else None
        if known is not None and known < math.prod(free[name] for name in names):
            rows *= max(1, known)
            for name in names:
                del free[name]
    rows *= math.prod(free.values())
    pieces = (piece for block in conjunction.blocks for piece in block.pieces)
    return rows * (1 + sum(expected_rows(piece, sizes, listed) for piece in pieces))
