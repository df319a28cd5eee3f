"""Computed arguments of atoms as equations: ``p(n + 1)`` becomes ``p(v)`` with ``v = n + 1``.

In a rule the equation is one more literal of the body. In a formula the value is quantified, so that an atom
is false if the value is not a constant: ``p(n + 1)`` becomes ``exists v: v = n + 1 and p(v)``. The name of
the variable is the text of the value, which a theory can hold in back-quotes, so that printed text reads
back.

>>> from herbrand.language.formulas import Arithmetic, Constant
>>> from herbrand.language.show import show_formula
>>> later = Arithmetic("+", (Variable("n"), Constant(1)))
>>> print(show_formula(in_formula(Atom("p", (Variable("x"), later)))))
p(x, n + 1)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from herbrand.language.formulas import (
    Aggregate,
    And,
    Arithmetic,
    Atom,
    Computed,
    Constant,
    Exists,
    Formula,
    Leaf,
    Not,
    Term,
    ValueIn,
    ValueIs,
    Variable,
    refuse_deep,
    replace_leaves,
    unnegated,
)
from herbrand.language.show import name_of_value


def computes_argument(leaf: Formula) -> bool:
    """Whether a leaf is an atom with a computed argument."""
    return bool(_plain(leaf)[1])


def in_formula(formula: Formula) -> Formula:
    """The formula with a quantified variable for each computed argument."""

    def changed(leaf: Leaf) -> Formula:
        plain, equations = _plain(leaf)
        if not equations:
            return leaf
        variables = tuple(one.left for one in equations if isinstance(one.left, Variable))
        return Exists(variables, And((*equations, plain), leaf.span), leaf.span)

    refuse_deep(formula)
    return replace_leaves(formula, changed)


def in_body(body: Iterable[Formula]) -> tuple[Formula, ...]:
    """The body of a rule or aggregate with an equation for each computed argument."""
    return in_rule((), body)[1]


def in_rule(heads: Sequence[Any], body: Iterable[Any]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Heads and body without computed arguments; the body gets the equations of both."""
    body = tuple(body)
    refuse_deep(*heads, *body)
    conditions: dict[Formula, None] = {}

    def changed(literal: Formula) -> Formula:
        inner = unnegated(literal)
        plain, equations = _plain(inner)
        conditions.update(dict.fromkeys(equations))
        return Not(plain, literal.span) if isinstance(literal, Not) else plain

    literals = tuple(map(changed, body))
    return tuple(map(changed, heads)), (*literals, *conditions)


def _plain(leaf: Formula) -> tuple[Formula, tuple[Computed, ...]]:
    """A leaf with terms alone as arguments, and the equations for the arguments that were computed."""
    match leaf:
        case Atom():
            return _atom(leaf)
        case ValueIs(atom=atom) | ValueIn(atom=atom):
            plain, equations = _atom(atom)
            return replace(leaf, atom=plain), equations
    return leaf, ()


def _atom(atom: Atom) -> tuple[Atom, tuple[Computed, ...]]:
    if all(isinstance(argument, Variable | Constant) for argument in atom.arguments):
        return atom, ()
    equations: dict[str, Computed] = {}

    def term(argument: Term | Arithmetic | Aggregate) -> Term:
        if isinstance(argument, Variable | Constant):
            return argument
        name = Variable(name_of_value(argument), argument.span)
        equations[name.name] = Computed("=", name, argument, argument.span)
        return name

    return replace(atom, arguments=tuple(map(term, atom.arguments))), tuple(equations.values())
