"""What a theory declares: its types and predicates, each name once, each label once.

Takes the statements; gives a :class:`Vocabulary` that the next stage fills with what is used undeclared.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import count, repeat

from herbrand.errors import Mistake, Mistakes, Span
from herbrand.language.names import shown_constant
from herbrand.language.signature import Kind, Predicate, Type
from herbrand.language.syntax import (
    BoundRows,
    Constant,
    PredicateDeclaration,
    Statement,
    Theory,
    TypeDeclaration,
    Value,
)


@dataclass
class Vocabulary:
    """The names known so far. ``strict``: some predicate is declared, so all must be."""

    types: dict[str, Type] = field(default_factory=dict)
    predicates: dict[str, Predicate] = field(default_factory=dict)
    strict: bool = False


def vocabulary_of(theory: Theory, mistakes: Mistakes) -> Vocabulary:
    """The declared types and predicates, predicates with the names of their types."""
    vocabulary = Vocabulary(strict=bool(theory.predicates))
    _check_labels(theory.statements, mistakes)
    for declaration in theory.types:
        if _is_new("type", declaration, vocabulary.types, mistakes):
            vocabulary.types[declaration.name] = _type(declaration, mistakes)
    for declaration in theory.predicates:
        for name in _types_of(declaration):
            vocabulary.types.setdefault(name, Type(name))
    for declaration in theory.predicates:
        if _is_new("predicate", declaration, vocabulary.predicates, mistakes):
            _declare(declaration, vocabulary, mistakes)
    return vocabulary


def kind_of(value: Value) -> Kind:
    return "text" if isinstance(value, str) else "number"


def places(*notes: tuple[str, Span | None]) -> tuple[tuple[str, Span], ...]:
    """Those of a message's notes that have a place."""
    return tuple((note, span) for note, span in notes if span is not None)


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
                related = places(("first here", _row_span(*first)))
                mistakes.add(Mistake(message, _row_span(*row), "", related))


def _labelled(statement: Statement) -> Iterable[tuple[str, tuple[Statement, int]]]:
    """The labels in a statement, and which row of it bears each; in a run of bounds no two are alike."""
    if isinstance(statement, BoundRows):
        return zip(statement.labels, zip(repeat(statement), count()), strict=False)
    return [] if statement.label is None else [(statement.label, (statement, 0))]


def _row_span(statement: Statement, row: int) -> Span | None:
    return statement.row_span(row) if isinstance(statement, BoundRows) else statement.span


def _types_of(declaration: PredicateDeclaration) -> tuple[str, ...]:
    values = declaration.values
    return (*declaration.types, values) if isinstance(values, str) else declaration.types


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
    mistakes.add(Mistake(message, declaration.span, "", places(("first here", first.span))))
    return False


def _type(declaration: TypeDeclaration, mistakes: Mistakes) -> Type:
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
            mistakes.add(Mistake(message, constant.span, "a type holds text or numbers, not both"))
    return Type(name, tuple(constant.value for constant in constants), kind_of(first), True, span)


def _declare(declaration: PredicateDeclaration, vocabulary: Vocabulary, mistakes: Mistakes) -> None:
    name, values, span = declaration.name, declaration.values, declaration.span
    value_type = values if isinstance(values, str) else None
    if isinstance(values, tuple):
        value_type = _name_of_values(name, vocabulary)
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


def _name_of_values(predicate: str, vocabulary: Vocabulary) -> str:
    """A name for the type of a predicate's own values that no written type bears."""
    name = f"{predicate} value"
    while name in vocabulary.types:
        name += "_"
    return name
