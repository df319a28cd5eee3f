"""Recursions that count without end: each of their answers, or of their calls, makes another one.

>>> from herbrand.language.formulas import Arithmetic, Comparison, Constant
>>> x, y = Variable("X"), Variable("Y")
>>> step = Computed("=", y, Arithmetic("+", (x, Constant(1))))
>>> counts_on(Atom("n", (y,)), Atom("n", (x,)), [step]) == step
True
>>> counts_on(Atom("n", (y,)), Atom("n", (x,)), [Comparison("<", x, Constant(9)), step]) is None
True
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from herbrand.language.comparisons import steps_in, variables_of
from herbrand.language.formulas import Atom, Computed, Term, Variable
from herbrand.language.syntax import BodyLiteral


def counts_on(made: Atom, given: Atom, goals: Sequence[BodyLiteral]) -> Computed | None:
    """The goal that computes one atom's argument from another's, so that every such atom makes the next.

    The atoms differ in this argument alone, the made one's is the given one's plus or minus a whole number,
    and no other goal reads either: what passes once passes always. ``None`` where that is not so.
    """
    if made.predicate != given.predicate:
        return None
    pairs = zip(made.arguments, given.arguments, strict=True)
    (new, old), *more = [(one, other) for one, other in pairs if one != other] or [(None, None)]
    if more or not isinstance(new, Variable) or not isinstance(old, Variable):
        return None
    steps = [goal for goal in goals if isinstance(goal, Computed) and _adds(goal, new, old)]
    if len(steps) != 1:
        return None
    others = [goal for goal in goals if goal is not steps[0]]
    named = [*_names(others), *_names(made.arguments), *_names(given.arguments)]
    return steps[0] if named.count(new.name) == named.count(old.name) == 1 else None


def _adds(step: Computed, new: Variable, old: Variable) -> bool:
    """Whether a goal makes one variable the other plus or minus a whole number that is not 0."""
    return any((made, of) == (new.name, old.name) and by for made, of, by in steps_in(step))


def _names(parts: Iterable[BodyLiteral | Term]) -> list[str]:
    """The names of variables in parts, once for each part that names them."""
    return [name for part in parts for name in variables_of(part)]
