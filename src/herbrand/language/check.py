"""Does a theory fit together? Types and predicates are collected, or inferred where nothing is declared.

Takes a :class:`Theory`; gives its :class:`Signature`, or raises one ``LanguageError`` with every mistake:
unknown predicates, wrong arities, type clashes, constants outside their type, variables nothing ranges over.

>>> from herbrand.language.parse import parse_theory
>>> signature = check(parse_theory('1.5: smokes(x) and friends(x, y) => smokes(y)'))
>>> print(signature.predicate("friends"))
friends(thing, thing)

The stages, each in a file of its own: ``declarations`` (what is said to exist), ``uses`` (every atom against
its predicate; which positions and variables share a type), ``unification`` (the classes of one type, and
their names), ``constants`` (every constant against its type).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from herbrand.errors import LanguageError, Mistake, Mistakes, in_order
from herbrand.language.collection import collector_paused
from herbrand.language.computed import separated
from herbrand.language.constants import ConstantCheck
from herbrand.language.declarations import kind_of, vocabulary_of
from herbrand.language.parse import Reading
from herbrand.language.signature import Predicate, Signature, Type
from herbrand.language.syntax import Theory
from herbrand.language.unification import Slot
from herbrand.language.uses import Uses

__all__ = ["check", "check_all", "kind_of"]


@collector_paused()
def check(theory: Theory) -> Signature:
    """The vocabulary of a theory that fits together."""
    mistakes = Mistakes()
    signature = _signature(theory, mistakes)
    mistakes.raise_any()
    return signature


def check_all(readings: Iterable[Reading]) -> tuple[Theory, Signature]:
    """The one theory that several texts make up, and its vocabulary; every mistake of all of them in one go.

    What could not be read is not held against the rest: a predicate that is named in a broken statement may
    be declared there.

    >>> from herbrand.language.parse import read_theory
    >>> check_all([read_theory("predicate smokes(person)\\nsmokes('anna')\\n1: smoks(x)", "a.hb")])
    Traceback (most recent call last):
    herbrand.errors.LanguageError: a.hb:2:8: unexpected character "'"
      smokes('anna')
             ^
      constants stand in double quotes
    a.hb:3:4: predicate 'smoks' is not declared
      1: smoks(x)
         ^^^^^^^^
      did you mean 'smokes'?
    """
    theory, signature, mistakes = _examined(readings)
    mistakes.raise_any()
    assert signature is not None
    return theory, signature


def examined(readings: Iterable[Reading]) -> tuple[Theory, Signature | None, tuple[Mistake, ...]]:
    """What could be read of several texts, its vocabulary, and every mistake in the order of lines.

    There is no vocabulary where a text could not be read at all.
    """
    theory, signature, mistakes = _examined(readings)
    return theory, signature, tuple(in_order(mistakes.listed))


def _examined(readings: Iterable[Reading]) -> tuple[Theory, Signature | None, Mistakes]:
    readings = list(readings)
    mistakes = Mistakes()
    for reading in readings:
        mistakes.add_all(LanguageError(reading.mistakes, unlisted=reading.unlisted))
    theory = Theory(tuple(statement for reading in readings for statement in reading.theory.statements))
    unread = [reading.unread for reading in readings]
    if None in unread:
        return theory, None, mistakes
    signature = _signature(theory, mistakes, frozenset().union(*(names or () for names in unread)))
    return theory, signature, mistakes


def _signature(theory: Theory, mistakes: Mistakes, unread: Collection[str] = ()) -> Signature:
    theory = separated(theory, mistakes).typing
    vocabulary = vocabulary_of(theory, mistakes)
    uses = Uses(theory, vocabulary, mistakes, unread)
    names = uses.classes.names(vocabulary.predicates)
    predicates = {name: _typed(predicate, names) for name, predicate in vocabulary.predicates.items()}
    types = vocabulary.types | {name: Type(name) for name in names.values() if name not in vocabulary.types}
    constants = ConstantCheck(types, mistakes)
    constants.check_uses((uses.classes.name_of(use.key), use) for use in uses.constants)
    for rows in uses.rows:
        constants.check_rows(rows, predicates[rows.predicate])
    constants.check_numeric((uses.classes.name_of(key), variable) for key, variable in uses.numeric)
    types |= {name: replace(types[name], kind=kind) for name, kind in constants.kinds.items()}
    return Signature(types, predicates, vocabulary.strict, constants.mentioned)


def _typed(predicate: Predicate, names: dict[Slot, str]) -> Predicate:
    if not predicate.column_types:
        return predicate
    *types, value = (names.get(Slot(predicate.name, i)) for i in range(predicate.arity + 1))
    return replace(predicate, types=tuple(types), value_type=value)
