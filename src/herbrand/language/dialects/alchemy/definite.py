"""LoMRF's definite clauses, ``Head(x) :- Body(x, z)``, and the completion of their heads.

A clause adds the formula ``(exists z: Body(x, z)) => Head(x)`` with the clause's weight. Its body is also one
of the ways in which the head may become true: over all clauses of a predicate, a hard formula, the
completion, states that an atom holds only if the body of one clause does. An atom that no clause's head
matches is therefore false. Where a function stands in a head, the function's value is the atom's argument.
LoMRF completes each distinct head instead; the two agree if a function has different values for different
arguments.

>>> from herbrand.language.syntax import Variable
>>> x, y = Variable("x"), Variable("y")
>>> head = Atom("P", (x,))
>>> formula = completion([DefiniteClause(head, Atom("Q", (x, y))), DefiniteClause(head, Atom("R", (x,)))])
>>> formula.premise == head, [type(one).__name__ for one in formula.conclusion.operands]
(True, ['Exists', 'Atom'])
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from herbrand.language.dialects.renaming import fresh_name
from herbrand.language.formulas import (
    And,
    Atom,
    Comparison,
    Exists,
    Formula,
    Implies,
    Or,
    Term,
    ValueIs,
    Variable,
    unnegated,
)
from herbrand.language.scope import free_variables, with_terms


@dataclass(frozen=True)
class DefiniteClause:
    """``condition`` makes ``head`` true; it is the body with the values of all function terms."""

    head: Atom
    condition: Formula


def completion(clauses: Sequence[DefiniteClause]) -> Formula:
    """Formula that an atom of the predicate holds only if the condition of one of its clauses does."""
    head = _general_head(clauses)
    ways = [_way(clause, head) for clause in clauses]
    return Implies(head, ways[0] if len(ways) == 1 else Or(tuple(ways)), head.span)


def is_body(formula: Formula) -> bool:
    """Whether a formula is a literal or a conjunction of literals."""
    if isinstance(formula, And):
        return all(map(is_body, formula.operands))
    return isinstance(unnegated(formula), Atom | ValueIs | Comparison)


def _general_head(clauses: Sequence[DefiniteClause]) -> Atom:
    """The head that all clauses share if its arguments are distinct variables, else one of new variables."""
    head = clauses[0].head
    shared = all(clause.head.arguments == head.arguments for clause in clauses)
    if shared and _are_different_variables(head.arguments):
        return head
    taken = {name for clause in clauses for name in _names(clause)}
    names = (f"a{place + 1}" for place in range(len(head.arguments)))
    return Atom(head.predicate, tuple(Variable(fresh_name(name, taken)) for name in names), head.span)


def _way(clause: DefiniteClause, head: Atom) -> Formula:
    """The condition of a clause in the variables of the general head; others are existentially quantified."""
    images: dict[str, Term] = {}
    equal: list[Formula] = []
    for general, written in zip(head.arguments, clause.head.arguments, strict=True):
        if isinstance(written, Variable) and written.name not in images:
            images[written.name] = general
        else:
            equal.append(Comparison("=", general, _image(written, images), written.span))
    condition = with_terms(clause.condition, images)
    whole = And((*equal, condition), condition.span) if equal else condition
    general_names = {argument.name for argument in head.arguments if isinstance(argument, Variable)}
    inner = tuple(variable for name, variable in free_variables(whole).items() if name not in general_names)
    return Exists(inner, whole, condition.span) if inner else whole


def _image(term: Term, images: dict[str, Term]) -> Term:
    return images.get(term.name, term) if isinstance(term, Variable) else term


def _are_different_variables(arguments: Sequence[Term]) -> bool:
    names = [argument.name for argument in arguments if isinstance(argument, Variable)]
    return len(names) == len(arguments) == len(set(names))


def _names(clause: DefiniteClause) -> Iterator[str]:
    yield from free_variables(clause.condition)
    yield from free_variables(clause.head)
