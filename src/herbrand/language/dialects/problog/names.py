"""Names of predicates by arity, and one kind of constants for each argument.

ProbLog distinguishes ``p/1`` from ``p/2`` and lets text and numbers stand in one argument; the language does
neither. The first predicate of a name keeps it, others are called ``p/2``; numbers in an argument that also
has text become text. A variable of a head that no goal binds ranges over all constants that its argument can
have.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeVar, cast

from herbrand.errors import LanguageError, Span
from herbrand.graphs import Classes
from herbrand.language.comparisons import Test, leaf_computes, variables_of, with_assigned
from herbrand.language.dialects.renaming import fresh_name
from herbrand.language.formulas import (
    Atom,
    Comparison,
    Constant,
    Formula,
    Term,
    Value,
    Variable,
    leaf_terms,
    replace_leaves,
    walk,
)
from herbrand.language.names import is_writable, made_writable, shown_constant
from herbrand.language.syntax import BodyLiteral, Calls

NOTHING: Mapping[str, tuple[int, ...]] = {}
Part = TypeVar("Part", bound=Formula)
Place = tuple[str, int] | tuple[int, str]
"""An argument of a predicate, or a variable of a clause by the clause's number."""


@dataclass
class PredicateNames:
    """Names of predicates in the language, by their name and number of arguments in the file.

    ``spelled``: name in the file of each predicate that has another one here, if answers can show that name.
    ``made_for``: name of the predicate for which the reader made another one. ``calls``: as in
    :class:`~herbrand.language.theory.Theory`.
    """

    given: dict[tuple[str, int], str] = field(default_factory=dict)
    spelled: dict[str, str] = field(default_factory=dict)
    made_for: dict[str, str] = field(default_factory=dict)
    calls: Mapping[str, Calls] = field(default_factory=dict)
    _taken: set[str] = field(default_factory=set)

    def of(self, name: str, arity: int, about: str = "") -> str:
        if (name, arity) not in self.given:
            ours = made_writable(name)
            ours = ours if ours not in self._taken else fresh_name(f"{ours}/{arity}", self._taken)
            self.given[name, arity] = ours
            self._taken.add(ours)
            if about:
                self.made_for[ours] = self.spelled.get(about, about)
            elif ours != name and is_writable(name):
                self.spelled[ours] = name
        return self.given[name, arity]


class LinkedPlaces:
    """Classes of places that share their constants, as variables and comparisons link them.

    ``queries``: further atoms, beside the clauses.
    """

    def __init__(self, clauses: Sequence[Sequence[Formula]], queries: Sequence[Atom] = ()) -> None:
        self._clauses = [*clauses, *((atom,) for atom in queries)]

    @cached_property
    def _linked(self) -> tuple[Classes[Place], list[tuple[Place, Value]]]:
        """Classes of places, and the constants with their places."""
        same: Classes[Place] = Classes()
        constants: list[tuple[Place, Value]] = []
        for number, clause in enumerate(self._clauses):
            for part in clause:
                for leaf in walk(part):
                    constants += _linked(same, number, leaf)
        return same, constants

    @cached_property
    def _constants(self) -> dict[Place, dict[Value, None]]:
        """Constants of each class of places, by its leader."""
        constants: dict[Place, dict[Value, None]] = {}
        by_place: dict[Place, dict[Value, None]] = {}
        for place, value in self._linked[1]:
            if place not in by_place:
                by_place[place] = constants.setdefault(self.leader(place), {})
            by_place[place].setdefault(value)
        return constants

    @cached_property
    def _mixed(self) -> dict[Place, set[str]]:
        """Texts of each class of places that also has numbers."""
        parts = (part for clause in self._clauses for part in clause)
        terms = (term for part in parts for leaf in walk(part) for term in leaf_terms(leaf))
        if len({isinstance(term.value, str) for term in terms if isinstance(term, Constant)}) < 2:
            return {}
        texts = {
            leader: {value for value in constants if isinstance(value, str)}
            for leader, constants in self._constants.items()
        }
        return {place: own for place, own in texts.items() if 0 < len(own) < len(self._constants[place])}

    def leader(self, place: Place) -> Place:
        """Representative of the class of a place."""
        return self._linked[0].leader(place)

    def constants(self, place: Place) -> list[Value]:
        return [*self._constants.get(self.leader(place), ())]

    @property
    def any_mixed(self) -> bool:
        return bool(self._mixed)

    def is_mixed(self, place: Place) -> bool:
        """Whether both text and numbers stand at a place."""
        return self.any_mixed and self.leader(place) in self._mixed

    def texts_beside_numbers(self, place: Place) -> Collection[str]:
        """Texts at a place that also has numbers."""
        return self._mixed.get(self.leader(place), ())


def _linked(same: Classes[Place], number: int, leaf: Formula) -> list[tuple[Place, Value]]:
    """Join the places that a leaf of a clause links; return its constants with their places."""
    terms, constants = leaf_terms(leaf), list[tuple[Place, Value]]()
    if isinstance(leaf, Atom):
        places: list[Place] = [(leaf.predicate, i) for i in range(len(terms))]
    elif isinstance(leaf, Comparison) and any(isinstance(term, Variable) for term in terms):
        variable = next(term for term in terms if isinstance(term, Variable))
        places = [(number, variable.name)] * 2
    else:
        return []
    for place, term in zip(places, terms, strict=True):
        if isinstance(term, Constant):
            constants.append((place, term.value))
        elif not term.anonymous:
            same.join(place, (number, term.name))
    return constants


def with_one_kind(part: Part, places: LinkedPlaces, number: int) -> Part:
    """A part of a clause with numbers as text wherever text stands at the same place."""

    def as_text(term: Term, place: Place) -> Term:
        if not isinstance(term, Constant) or isinstance(term.value, str) or not places.is_mixed(place):
            return term
        text = shown_constant(term.value)
        if text in places.texts_beside_numbers(place):
            hint = "numbers beside text become text here, so write the text in another way"
            raise LanguageError(
                f"{text} is a number here, and '{text}' in its place a text", span=term.span, hint=hint
            )
        return Constant(text, term.span)

    def changed(leaf: Formula) -> Formula:
        terms = leaf_terms(leaf)
        if isinstance(leaf, Atom):
            return replace(
                leaf, arguments=tuple(as_text(t, (leaf.predicate, i)) for i, t in enumerate(terms))
            )
        if leaf_computes(leaf):
            for name in variables_of(leaf):
                if places.is_mixed((number, name)):
                    message = f"{name} has to be a number here, and its place has text too"
                    hint = "numbers beside text become text here: give the texts a predicate of their own"
                    raise LanguageError(message, span=leaf.span, hint=hint)
        variable = next((term for term in terms if isinstance(term, Variable)), None)
        if not isinstance(leaf, Comparison) or variable is None:
            return leaf
        place = (number, variable.name)
        return Comparison(leaf.operator, as_text(leaf.left, place), as_text(leaf.right, place), leaf.span)

    return cast(Part, replace_leaves(part, changed))


def reads_numbers(part: Formula, tests: Mapping[Span, str]) -> bool:
    """Whether a literal tests numbers alone; ``tests``: names of comparisons, as ``@<`` also orders texts."""
    return leaf_computes(part) and not orders_terms(part, tests)


def orders_terms(part: Formula, tests: Mapping[Span, str]) -> bool:
    """Whether a literal is ``@<`` or another comparison by Prolog's order of terms."""
    return isinstance(part, Comparison) and part.span is not None and "@" in tests.get(part.span, "")


def valued(body: Collection[BodyLiteral], called: Mapping[str, tuple[int, ...]] = NOTHING) -> set[str]:
    """Variables to which a body gives values; ``called``: positions at which atoms give none, because their
    callers must."""
    known = [
        term
        for part in body
        if isinstance(part, Atom)
        for place, term in enumerate(part.arguments)
        if place not in called.get(part.predicate, ())
    ]
    return with_assigned([part for part in body if isinstance(part, Test)], variables_of(known))


def unbound(heads: Iterable[Atom], body: Sequence[BodyLiteral]) -> dict[str, tuple[str, int]]:
    """Variables of heads that no goal binds, each with a place where it stands."""
    places = {
        term.name: (head.predicate, i)
        for head in heads
        for i, term in enumerate(head.arguments)
        if isinstance(term, Variable)
    }
    bound = valued(body) if places else ()
    return {name: place for name, place in places.items() if name not in bound}
