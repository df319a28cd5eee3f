"""Interchangeable constants: a formula has the same probability for either of them.

Two constants are interchangeable if no statement names them and exchanging them leaves the evidence as it is;
then no fact names both. The exchange keeps the weight of every world, so two instances of one formula have
the same probability if their constants are interchangeable in turn, and equal in the same positions.

>>> from herbrand import Model, parse
>>> from herbrand.language.parse import parse_formula
>>> from herbrand.program.evidence import Evidence
>>> model = Model(parse('type t = {"a", "b", "c", "d"}\\npredicate p(t)\\n0.5: p(x)\\np("d")'))
>>> alike = AlikeConstants(Evidence(model.program))
>>> one, other, known = (alike.pattern(parse_formula(f'p("{x}") and not p("b")')) for x in "acd")
>>> one == other, one == known
(True, False)
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from herbrand.language.formulas import (
    Atom,
    Comparison,
    Computed,
    Constant,
    Expression,
    Formula,
    Value,
    ValueIn,
    ValueIs,
    walk,
)
from herbrand.language.show import show_formula
from herbrand.language.signature import Predicate
from herbrand.program.evidence import Evidence, arguments_of
from herbrand.program.program import Argument, Conjunction, differing, literals_of

MOST_FACTS = 100_000
"""Most facts on predicates of one type; beyond that comparing constants costs more than it saves."""


class AlikeConstants:
    """Classes of interchangeable constants of a program, computed type by type on first use."""

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        self.program = evidence.program
        self._classes = cache(self._classes_of)

    def pattern(self, closed: Formula) -> object:
        """A key that two instances of one formula share only if they have the same probability."""
        places: dict[Value, int] = {}
        return tuple(
            (words, places.setdefault(value, len(places)))
            for part in walk(closed)
            for words, value in self._words_of(part)
        )

    def _words_of(self, part: Formula) -> Iterator[tuple[object, Value]]:
        """Yield each constant of a formula node, children excluded, with the class that replaces it in a
        pattern."""
        match part:
            case Atom(predicate=predicate, arguments=arguments):
                types = self.program.signature.predicates[predicate].types
                for argument, type_name in zip(arguments, types, strict=True):
                    if isinstance(argument, Constant):
                        yield self._class_of(argument.value, type_name), argument.value
            case ValueIs() | ValueIn():
                yield from self._words_of(part.atom)
                yield from _named(*(part.values if isinstance(part, ValueIn) else (part.value,)))
            case Comparison(operator="=" | "!=", left=left, right=right):
                yield from ((None, value) for value, _ in _named(left, right))
            case Comparison(left=left, right=right):
                yield from _named(left, right)
            case Computed():
                yield part, show_formula(part)
            case _:
                pass

    def _class_of(self, value: Value, type_name: str) -> object:
        """A key that interchangeable constants share; a constant that statements name is its own key."""
        code = self.program.domain(type_name).index_of(value)
        classes = self._classes(type_name)
        return value if code is None or classes is None or code in classes.named else classes.known[code]

    def _classes_of(self, type_name: str) -> _Classes | None:
        """Evidence on each constant of a type; ``None`` if no constants of the type may be interchanged."""
        predicates = [p for p in self.program.signature.predicates.values() if type_name in p.types]
        facts = sum(len(self.evidence.known(p.name).codes) for p in predicates)
        values = {p.value_type for p in self.program.signature.predicates.values()}
        if self.program.tables or self.program.uncertain or type_name in values or facts > MOST_FACTS:
            return None
        named: set[int] = set()
        for template in self.program.templates:
            if any(_type_of(name, template.conjunction) == type_name for name in template.weight_arguments):
                return None
            named.update(_constants(template.conjunction))
        known: dict[int, list[object]] = defaultdict(list)
        for predicate in predicates:
            for code, fact in self._facts(predicate, type_name):
                known[code].append(fact)
        return _Classes(named, defaultdict(tuple, {c: tuple(sorted(f, key=repr)) for c, f in known.items()}))

    def _facts(self, predicate: Predicate, type_name: str) -> Iterator[tuple[int, object]]:
        """Yield each fact on a constant of the type, with the constant replaced by ``ITSELF``."""
        known = self.evidence.known(predicate.name)
        about, values, log_weights = self.evidence.weights(predicate.name)
        codes, settled = np.append(known.codes, about), np.append(known.values, values)
        added = np.append(np.zeros(len(known.codes)), log_weights)
        rows = np.column_stack(arguments_of(codes, known.sizes)).tolist()
        own = [place for place, name in enumerate(predicate.types) if name == type_name]
        for number, row in enumerate(rows):
            for code in {row[place] for place in own}:
                others = tuple(ITSELF if p in own and c == code else c for p, c in enumerate(row))
                soft = number >= len(known.codes)
                yield code, (predicate.name, others, int(settled[number]), soft, float(added[number]))


ITSELF = -1


@dataclass(frozen=True)
class _Classes:
    """Constants that some statement names, and the evidence on each constant (``known``)."""

    named: set[int]
    known: Mapping[int, object]


def _named(*terms: Expression) -> Iterator[tuple[Value, Value]]:
    """Yield the constants with their own values as class, so that their names distinguish them."""
    return ((term.value, term.value) for term in terms if isinstance(term, Constant))


def _type_of(name: Argument, conjunction: Conjunction) -> str | None:
    return conjunction.types.get(name) if isinstance(name, str) else None


def _constants(conjunction: Conjunction) -> Iterator[int]:
    """Yield the indices of all constants in a conjunction, of any type."""
    arguments = (argument for literal in literals_of(conjunction) for argument in literal.arguments)
    for argument in (*arguments, *(a for pair in differing(conjunction) for a in pair)):
        if isinstance(argument, int):
            yield argument
