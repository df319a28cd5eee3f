"""Constants that nothing stated or known tells apart: what is asked of one has the answer of the other.

Two constants are alike where no statement names them, and what is known of the one is what is known of the
other, with the one put for the other. No fact names both then. Where they are exchanged every world keeps
its weight, so that two instances of one formula have the same probability if their constants are alike in
turn, and equal where the others are equal.

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

from herbrand.language.show import show_formula
from herbrand.language.signature import Predicate
from herbrand.language.syntax import (
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
from herbrand.program.evidence import Evidence, arguments_of
from herbrand.program.program import Argument, Conjunction, differing, literals_of

MOST_FACTS = 100_000
"""Above this many about one type, comparing them costs more than it saves."""


class AlikeConstants:
    """What tells the constants of a program apart, type by type as it is asked for."""

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        self.program = evidence.program
        self._classes = cache(self._classes_of)

    def pattern(self, closed: Formula) -> object:
        """Equal for two instances of one formula only where they have the same probability."""
        places: dict[Value, int] = {}
        return tuple(
            (words, places.setdefault(value, len(places)))
            for part in walk(closed)
            for words, value in self._words_of(part)
        )

    def _words_of(self, part: Formula) -> Iterator[tuple[object, Value]]:
        """The constants in a part itself, and what there is to say of each but its name."""
        match part:
            case Atom(predicate=predicate, arguments=arguments):
                types = self.program.signature.predicates[predicate].types
                for argument, type_name in zip(arguments, types, strict=True):
                    if isinstance(argument, Constant):
                        yield self._class_of(argument.value, type_name), argument.value
            case ValueIs(atom=atom, value=value):
                yield from self._words_of(atom)
                yield from _named(value)
            case ValueIn(atom=atom, values=values):
                yield from self._words_of(atom)
                yield from _named(*values)
            case Comparison(operator="=" | "!=", left=left, right=right):
                yield from ((None, value) for value, _ in _named(left, right))
            case Comparison(left=left, right=right):
                yield from _named(left, right)
            case Computed():
                yield part, show_formula(part)
            case _:
                pass

    def _class_of(self, value: Value, type_name: str) -> object:
        """Equal for constants that are alike; those that nothing is like stand for themselves."""
        code = self.program.domain(type_name).index_of(value)
        classes = self._classes(type_name)
        return value if code is None or classes is None or code in classes.named else classes.known[code]

    def _classes_of(self, type_name: str) -> _Classes | None:
        """``None`` where all constants of a type are to be told apart."""
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
        """What is known of each constant of a type, with itself left out."""
        known = self.evidence.known(predicate.name)
        about, values, worths = self.evidence.weights(predicate.name)
        codes, settled = np.append(known.codes, about), np.append(known.values, values)
        added = np.append(np.zeros(len(known.codes)), worths)
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
    """Constants that some statement names, and what is ``known`` of each one."""

    named: set[int]
    known: Mapping[int, object]


def _named(*terms: Expression) -> Iterator[tuple[Value, Value]]:
    """Constants that are told apart by their names."""
    return ((term.value, term.value) for term in terms if isinstance(term, Constant))


def _type_of(name: Argument, conjunction: Conjunction) -> str | None:
    return conjunction.types.get(name) if isinstance(name, str) else None


def _constants(conjunction: Conjunction) -> Iterator[int]:
    """The codes of all constants in it, of whatever types."""
    arguments = (argument for literal in literals_of(conjunction) for argument in literal.arguments)
    for argument in (*arguments, *(a for pair in differing(conjunction) for a in pair)):
        if isinstance(argument, int):
            yield argument
