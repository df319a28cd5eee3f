"""The ground credal network: which atoms there are, and every ground sentence as rows of a few arrays.

Atoms have numbers, and names again: all ground atoms of the predicates that are open, predicate by predicate
in the order of the theory, each in the order of its domains; also those that no sentence mentions and those
that facts settle.

>>> from herbrand.facts.domain import Domain
>>> atoms = Atoms.of({"rain": (), "smokes": (Domain.of("person", ["anna", "bob"]),)})
>>> len(atoms), atoms.text(0), atoms.text(2)
(3, 'rain', 'smokes("bob")')

Ground formulas become formulas of the language again, for messages and rows of answers.

>>> from herbrand.language.show import show_formula
>>> atoms = Atoms.of({"a": (), "b": ()})
>>> show_formula(formula_of(GroundFormula(("and", 0, ("not", 1)), (1, 0)), atoms))
'b and not a'

A theory's statements are numbered so that each row of a run of bounds has a number of its own.

>>> import herbrand as hb
>>> stated = Stated(hb.parse("P(a) <= 0.5\\nP(b) <= 0.2").statements)
>>> len(stated), stated[1].upper
(2, 0.2)

The network is made by :func:`herbrand.engines.credal.lowering.credal_network`; it is immutable, and made for
a million sentences. It is a set of :class:`SentenceGroup` s. A group holds all ground sentences of one shape,
``P(event | given)`` in [lower, upper]: row i speaks of the atoms ``atoms[i]``, one a column, all different,
those of the event first.
``event_table`` and ``given_table``: in which of the 2^k cases of a row's atoms the two hold; column 0 is
the highest bit of a case's number, so ``group.event_table.reshape((2,) * k)`` has one axis a column.

What a row means, for distributions P over all atoms:

- ``lower * P(given) <= P(event and given) <= upper * P(given)``, with P(given) = 1 where there is no given;
- for the Markov condition: atoms of ``given`` are linked to those of ``event``, and unless the sentence has
  no given, or is ``independent``, the event's atoms to each other (:mod:`herbrand.engines.credal.markov`).

Sentences that facts of observed predicates settle or shorten are settled and shortened already; the links
that they make as they are written are in ``links`` (:mod:`.written_links`). Facts of open predicates do not
change the set of distributions: they are in ``facts``, and every question is asked given them.

>>> import herbrand as hb
>>> from herbrand.engines.credal.lowering import credal_network
>>> theory = hb.parse("P(a) in [0.2, 0.3]\\nP(b | a) in [0.6, 0.7]\\nP(b | not a) in [0.1, 0.2]")
>>> network = credal_network(hb.Model(theory).program)
>>> for group in network.groups:
...     print(group.event, group.given, group.atoms.tolist(), group.lower, group.event_table.astype(int))
0 None [[0]] [0.2] [0 1]
0 1 [[1, 0]] [0.6] [0 0 1 1]
0 ('not', 1) [[1, 0]] [0.1] [0 0 1 1]
>>> network.sentence_text(2, 0)
'P(b | not a) in [0.1, 0.2]'
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate

import numpy as np

from herbrand.engines.credal.shape import TRUE, GroundFormula, Shape, truth_table
from herbrand.engines.credal.written_links import Pair, kept_links
from herbrand.facts.domain import Domain
from herbrand.language.names import shown_constant, shown_name
from herbrand.language.show import show_formula, statement_text
from herbrand.language.syntax import (
    And,
    Atom,
    Bound,
    BoundRows,
    Constant,
    Formula,
    Iff,
    Not,
    Or,
    Single,
    Statement,
    Truth,
    Value,
    Xor,
)
from herbrand.program.evidence import arguments_of


@dataclass(frozen=True, eq=False)
class Atoms:
    """``starts[i]`` is the number of the first atom of ``predicates[i]``; one more entry counts all."""

    predicates: tuple[str, ...]
    domains: tuple[tuple[Domain, ...], ...]
    starts: tuple[int, ...]

    @staticmethod
    def of(domains: Mapping[str, Sequence[Domain]]) -> Atoms:
        starts = [0]
        for typed in domains.values():
            starts.append(starts[-1] + math.prod(map(len, typed)))
        return Atoms(tuple(domains), tuple(map(tuple, domains.values())), tuple(starts))

    def __len__(self) -> int:
        return self.starts[-1]

    @cached_property
    def start(self) -> Mapping[str, int]:
        """The number of each predicate's first atom."""
        return dict(zip(self.predicates, self.starts, strict=False))

    @cached_property
    def place(self) -> Mapping[str, int]:
        """Where each predicate stands in ``predicates``."""
        return {name: place for place, name in enumerate(self.predicates)}

    def number(self, atom: Atom) -> int | None:
        """The number of a ground atom; ``None`` where it has variables, or is none of these."""
        place = self.place.get(atom.predicate)
        if place is None or len(atom.arguments) != len(self.domains[place]):
            return None
        code = 0
        for domain, term in zip(self.domains[place], atom.arguments, strict=True):
            index = self._index(domain, term.value) if isinstance(term, Constant) else None
            if index is None:
                return None
            code = code * len(domain) + index
        return self.starts[place] + code

    def _index(self, domain: Domain, value: Value) -> int | None:
        """By a table of all constants of the domain: bounds may name each of them."""
        indices = self._tables.get(domain.name)
        if indices is None:
            indices = self._tables[domain.name] = {value: index for index, value in enumerate(domain)}
        return indices.get(value)

    @cached_property
    def _tables(self) -> dict[str, dict[Value, int]]:
        return {}

    def syntax(self, atom: int) -> Atom:
        """The atom as a formula."""
        place = bisect_right(self.starts, atom) - 1
        domains, code = self.domains[place], atom - self.starts[place]
        indices = arguments_of(np.array([code]), [len(domain) for domain in domains])
        constants = (Constant(d.value(int(i[0]))) for d, i in zip(domains, indices, strict=True))
        return Atom(self.predicates[place], tuple(constants))

    def text(self, atom: int) -> str:
        return show_formula(self.syntax(atom))

    def texts(self) -> list[str]:
        """The name of every atom, in order."""
        texts: list[str] = []
        for name, domains in zip(self.predicates, self.domains, strict=True):
            shown = shown_name(name)
            constants = itertools.product(*(list(map(shown_constant, domain)) for domain in domains))
            texts += (f"{shown}({', '.join(row)})" for row in constants) if domains else [shown]
        return texts


def formula_of(ground: GroundFormula, atoms: Atoms) -> Formula:
    """The formula with the atoms' names."""

    def formula(shape: Shape) -> Formula:
        if not isinstance(shape, tuple):
            return atoms.syntax(ground.atoms[shape])
        parts = tuple(map(formula, shape[1:]))
        match shape[0]:
            case "not":
                return Not(parts[0])
            case "and":
                return And(parts)
            case "or":
                return Or(parts)
            case "xor":
                return Xor(parts)
            case "iff":
                return Iff(parts[0], parts[1])
        return Truth(shape == TRUE)

    return formula(ground.shape)


@dataclass(frozen=True, eq=False)
class Stated:
    """``parts`` as they stand in the theory; ``starts[i]`` is the number of the first statement of part i."""

    parts: tuple[Statement, ...] = ()
    starts: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        counts = (len(part) if isinstance(part, BoundRows) else 1 for part in self.parts)
        object.__setattr__(self, "starts", tuple(accumulate(counts, initial=0)))

    def __len__(self) -> int:
        return self.starts[-1]

    def __getitem__(self, number: int) -> Single:
        place = bisect_right(self.starts, number) - 1
        part = self.parts[place]
        return part.bound(number - self.starts[place]) if isinstance(part, BoundRows) else part

    def numbered(self) -> Iterator[tuple[int, Statement]]:
        """Every part with the number of its first statement."""
        return zip(self.starts, self.parts, strict=False)


@dataclass(frozen=True, eq=False)
class SentenceGroup:
    """Ground sentences of one shape, a row each.

    ``statement`` is the number of the statement that each row comes from, ``binding`` the row of
    ``Network.bindings[statement]`` that it was made for (0 where the statement has no variables).
    """

    event: Shape
    given: Shape | None
    independent: bool
    atoms: np.ndarray  # [n, k] int64
    lower: np.ndarray  # [n]
    upper: np.ndarray  # [n]
    statement: np.ndarray  # [n] int64
    binding: np.ndarray  # [n] int64

    def __len__(self) -> int:
        return len(self.atoms)

    @property
    def arity(self) -> int:
        return self.atoms.shape[1]

    @property
    def links(self) -> list[Pair]:
        """From which column to which its sentences link; independent ones (the paper's tau) do not link the
        event's atoms to each other."""
        return kept_links(self.event, self.given, self.independent)

    @property
    def event_table(self) -> np.ndarray:
        """[2^k] bool: the event holds."""
        return truth_table(self.event, self.arity)

    @property
    def given_table(self) -> np.ndarray:
        """[2^k] bool: what is given holds; everywhere where nothing is."""
        if self.given is None:
            return np.ones(2**self.arity, dtype=bool)
        return truth_table(self.given, self.arity)

    @cached_property
    def tables(self) -> tuple[np.ndarray, np.ndarray | None]:
        """Where the event holds together with what is given, and where that is given, if anything is: an axis
        a column."""
        shape = (2,) * self.arity
        event = (self.event_table & self.given_table).reshape(shape)
        return event, None if self.given is None else self.given_table.reshape(shape)

    def rows(self, kept: np.ndarray) -> SentenceGroup:
        """The group with these rows only."""
        parts = {name: getattr(self, name)[kept] for name in _BY_ROW}
        return replace(self, **parts)


NO_LINKS = np.empty((0, 2), np.int64)
_BY_ROW = ("atoms", "lower", "upper", "statement", "binding")


@dataclass(frozen=True, eq=False)
class KnownAtoms:
    """Open atoms that are known: ``truths[i]`` is that of ``atoms[i]``; in ascending order of atoms."""

    atoms: np.ndarray  # [f] int64
    truths: np.ndarray  # [f] bool

    def __len__(self) -> int:
        return len(self.atoms)


@dataclass(frozen=True, eq=False)
class Network:
    """All ground sentences over numbered atoms; ``statements`` are the theory's, for messages.

    ``bindings[s][v]`` is a domain and, for every grounding of statement s, the index in it of variable v.
    ``links``: those that sentences make as they are written, where their rows no longer show them.
    """

    atoms: Atoms
    groups: tuple[SentenceGroup, ...]
    facts: KnownAtoms
    statements: Stated = field(default_factory=Stated)
    bindings: Mapping[int, Mapping[str, tuple[Domain, np.ndarray]]] = field(default_factory=dict)
    links: np.ndarray = field(default_factory=lambda: NO_LINKS)  # [links, 2] from, to

    def __len__(self) -> int:
        """How many ground sentences there are."""
        return sum(map(len, self.groups))

    def only(self, groups: tuple[SentenceGroup, ...]) -> Network:
        """The same atoms with other sentences."""
        return replace(self, groups=groups)

    def statement(self, group: int, row: int) -> Single:
        """The statement that a ground sentence comes from."""
        return self.statements[int(self.groups[group].statement[row])]

    def stated(self, group: int, row: int) -> Bound:
        """A ground sentence as a statement of the language, at the place where it was stated."""
        rows = self.groups[group]
        numbers = tuple(map(int, rows.atoms[row]))
        number = int(rows.statement[row])
        span = self.statements[number].span if number < len(self.statements) else None
        return Bound(
            formula_of(GroundFormula(rows.event, numbers), self.atoms),
            None if rows.given is None else formula_of(GroundFormula(rows.given, numbers), self.atoms),
            float(rows.lower[row]),
            float(rows.upper[row]),
            rows.independent,
            span=span,
        )

    def sentence_text(self, group: int, row: int) -> str:
        """A ground sentence in the language."""
        return statement_text(self.stated(group, row))

    def grounding(self, group: int, row: int) -> dict[str, Value]:
        """The constants that a statement's variables stand for in a row."""
        rows = self.groups[group]
        columns = self.bindings.get(int(rows.statement[row]), {})
        at = int(rows.binding[row])
        return {name: domain.value(int(indices[at])) for name, (domain, indices) in columns.items()}
