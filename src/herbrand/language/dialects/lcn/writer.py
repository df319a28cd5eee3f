"""Writer of ``.lcn`` files.

Takes a theory and its signature; returns text that reads back to the same bounds, except that ``=>`` becomes
``or`` and ``not``, and bounds without labels get some. The format has no declarations: an atom that is
declared and in no bound is kept by the vacuous bound from 0 to 1. Statements that the format cannot express
are refused, each with its place.

>>> from herbrand.language.check import check
>>> from herbrand.language.parse import parse_theory
>>> theory = parse_theory("P(a => b | c) in [0.2, 0.4] independent")
>>> print(write_lcn(theory, check(theory)), end="")
s1: 0.2 <= P(!a or b | c) <= 0.4 ; True
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain, count

from herbrand.language.dialects.collecting import as_text, has_no, refusal, written_lines
from herbrand.language.dialects.infix import Sign, rewritten, write_formula
from herbrand.language.dialects.lcn.formulas import ATOM
from herbrand.language.dialects.renaming import fresh_name
from herbrand.language.formulas import (
    And,
    Atom,
    Comparison,
    Exists,
    Forall,
    Formula,
    Iff,
    Implies,
    Leaf,
    Not,
    Or,
    Truth,
    ValueIn,
    ValueIs,
    Xor,
    walk,
)
from herbrand.language.names import shown_number
from herbrand.language.signature import Signature
from herbrand.language.syntax import (
    Bound,
    PredicateDeclaration,
    Single,
    TypeDeclaration,
    predicates_of,
)
from herbrand.language.theory import Theory

_SIGNS = {
    Iff: Sign(2, " xnor "),
    Or: Sign(4, " or "),
    Xor: Sign(5, " xor "),
    And: Sign(6, " and "),
    Not: Sign(7, "!"),
}
_LABEL = re.compile(r"[^\s:#][^\s:]*")


def write_lcn(theory: Theory, signature: Signature) -> str:
    """Write a theory of bounds as ``.lcn`` text. Raises UnsupportedError for all other statements."""
    statements = tuple(theory.singly())
    bounds = [statement for statement in statements if isinstance(statement, Bound)]
    labels = {bound.label for bound in bounds if bound.label is not None}
    named = frozenset(chain.from_iterable(map(predicates_of, bounds)))
    numbers = count(1)

    def lines(statement: Single) -> Iterator[str]:
        bound = _as_bound(statement, named)
        if bound is not None:
            number, label = next(numbers), bound.label
            if label is None:
                label = fresh_name(f"s{number}", labels)
                labels.add(label)
            yield _line(bound, label)

    return as_text(written_lines(statements, lines))


def _line(bound: Bound, label: str) -> str:
    if not _LABEL.fullmatch(label):
        raise refusal(bound, f"'{label}' is no label of an .lcn file")
    event = _formula(bound.event, bound)
    if bound.given is not None:
        event += f" | {_formula(bound.given, bound)}"
    flag = " ; True" if bound.independent else ""
    return f"{label}: {shown_number(bound.lower)} <= P({event}) <= {shown_number(bound.upper)}{flag}"


def _formula(formula: Formula, bound: Bound) -> str:
    for part in walk(formula):
        match part:
            case Exists() | Forall():
                raise refusal(bound, "an .lcn file has no quantifiers")
            case Atom(predicate=name, arguments=()) if not ATOM.fullmatch(name):
                raise refusal(bound, f"'{name}' is no name of an .lcn file")
            case Atom(arguments=()):
                continue
            case Atom() | ValueIs() | ValueIn() | Comparison():
                raise refusal(bound, "an .lcn file has atoms without arguments only")
    return write_formula(rewritten(formula, _without_arrow), _SIGNS, _leaf)


def _without_arrow(formula: Formula) -> Formula:
    match formula:
        case Implies(premise=premise, conclusion=conclusion):
            return Or((Not(premise), conclusion))
    return formula


def _leaf(leaf: Leaf) -> str:
    match leaf:
        case Atom(predicate=predicate):
            return predicate
        case Truth(value=value):
            return "true" if value else "false"
    raise AssertionError(f"{leaf} should have been refused")


def _as_bound(statement: Single, named: frozenset[str]) -> Bound | None:
    """The bound that expresses a statement; for a declared atom a vacuous one, or ``None`` if ``named``."""
    match statement:
        case Bound():
            return statement
        case PredicateDeclaration(types=(), values=None, role=None, name=name, span=span):
            return None if name in named else Bound(Atom(name, ()), None, 0.0, 1.0, span=span)
        case PredicateDeclaration() | TypeDeclaration():
            raise refusal(statement, "an .lcn file declares nothing and has atoms without arguments only")
    raise has_no("an .lcn file", statement)
