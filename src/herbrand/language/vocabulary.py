"""The types and predicates that a theory declares; names and labels that it gives twice are refused.

The result is a :class:`Vocabulary`, to which the next stage adds the predicates that are used undeclared.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import count, repeat

from herbrand.errors import Mistakes, Span
from herbrand.language.formulas import Constant
from herbrand.language.names import not_taken, shown_constant
from herbrand.language.signature import Predicate, Type, kind_of
from herbrand.language.syntax import BoundRows, PredicateDeclaration, Statement, TypeDeclaration
from herbrand.language.theory import Theory


@dataclass
class Vocabulary:
    """The names known so far. ``strict``: some predicate is declared, so all must be."""

    types: dict[str, Type] = field(default_factory=dict)
    predicates: dict[str, Predicate] = field(default_factory=dict)
    strict: bool = False


def vocabulary_of(theory: Theory, mistakes: Mistakes) -> Vocabulary:
    """Collect the declared types and predicates; note names and labels that are given twice."""
    vocabulary = Vocabulary(strict=bool(theory.predicates))
    _check_labels(theory.statements, mistakes)
    for declaration in theory.types:
        if _is_new("type", declaration, vocabulary.types, mistakes):
            vocabulary.types[declaration.name] = _declared_type(declaration, mistakes)
    for declaration in theory.predicates:
        for name in declaration.named_types:
            vocabulary.types.setdefault(name, Type(name))
    for declaration in theory.predicates:
        if _is_new("predicate", declaration, vocabulary.predicates, mistakes):
            _declare(declaration, vocabulary, mistakes)
    return vocabulary


def _check_labels(statements: Iterable[Statement], mistakes: Mistakes) -> None:
    seen: dict[str, tuple[Statement, int]] = {}
    for statement in statements:
        if isinstance(statement, BoundRows) and seen.keys().isdisjoint(statement.labels):
            seen.update(_labelled(statement))
            continue
        for label, row in _labelled(statement):
            first = seen.setdefault(label, row)
            if first is not row:
                message = f"the label [{label}] is given twice"
                mistakes.note(message, _row_span(*row), related=[("first here", _row_span(*first))])


def _labelled(statement: Statement) -> Iterable[tuple[str, tuple[Statement, int]]]:
    """Labels in a statement, each with its statement and row; the labels within a run of bounds differ."""
    if isinstance(statement, BoundRows):
        return zip(statement.labels, zip(repeat(statement), count()), strict=False)
    return [] if statement.label is None else [(statement.label, (statement, 0))]


def _row_span(statement: Statement, row: int) -> Span | None:
    return statement.row_span(row) if isinstance(statement, BoundRows) else statement.span


def _is_new(
    what: str,
    declaration: TypeDeclaration | PredicateDeclaration,
    known: dict[str, Type] | dict[str, Predicate],
    mistakes: Mistakes,
) -> bool:
    first = known.get(declaration.name)
    if first is None:
        return True
    message = f"{what} '{declaration.name}' is declared twice"
    mistakes.note(message, declaration.span, related=[("first here", first.span)])
    return False


def _declared_type(declaration: TypeDeclaration, mistakes: Mistakes) -> Type:
    if declaration.bounds is not None:
        first, last = declaration.bounds
        return Type(declaration.name, range(first, last + 1), "number", True, declaration.span)
    if declaration.values is not None:
        return _closed_type(declaration.name, declaration.values, declaration.span, mistakes)
    kind = "number" if declaration.numeric else "text" if declaration.calendar else None
    return Type(declaration.name, None, kind, True, declaration.span, declaration.calendar)


def _closed_type(name: str, constants: Sequence[Constant], span: Span | None, mistakes: Mistakes) -> Type:
    first = constants[0].value
    for constant in constants:
        if kind_of(constant.value) != kind_of(first):
            message = f"{shown_constant(first)} and {shown_constant(constant.value)} stand in one set"
            mistakes.note(message, constant.span, "a type holds text or numbers, not both")
    return Type(name, tuple(constant.value for constant in constants), kind_of(first), True, span)


def _declare(declaration: PredicateDeclaration, vocabulary: Vocabulary, mistakes: Mistakes) -> None:
    name, values, span = declaration.name, declaration.values, declaration.span
    value_type = values if isinstance(values, str) else None
    if isinstance(values, tuple):
        value_type = not_taken(f"{name} value", vocabulary.types)
        vocabulary.types[value_type] = _closed_type(value_type, values, span, mistakes)
    vocabulary.predicates[name] = Predicate(
        name,
        declaration.types,
        value_type,
        declaration.role,
        True,
        span,
        declaration.tells_world,
        declaration.query,
        declaration.function,
    )
