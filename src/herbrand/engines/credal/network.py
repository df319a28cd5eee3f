"""The ground credal network: numbered atoms, and every ground sentence as a row of a few arrays.

Numbers go to all ground atoms of open predicates, predicate by predicate in the order of the theory, each in
the order of its domains; also to atoms that no sentence mentions and atoms with facts.

>>> from herbrand.facts.domain import Domain
>>> atoms = Atoms.of({"rain": (), "smokes": (Domain.of("person", ["anna", "bob"]),)})
>>> len(atoms), atoms.text(0), atoms.text(2)
(3, 'rain', 'smokes("bob")')

Ground formulas are translated back to formulas of the language, for error messages and rows of answers.

>>> from herbrand.language.show import show_formula
>>> atoms = Atoms.of({"a": (), "b": ()})
>>> show_formula(formula_of(GroundFormula(("and", 0, ("not", 1)), (1, 0)), atoms))
'b and not a'

A theory's statements are numbered so that each row of a run of bounds has a number of its own.

>>> import herbrand as hb
>>> stated = Stated(hb.parse("P(a) <= 0.5\\nP(b) <= 0.2").statements)
>>> len(stated), stated[1].upper
(2, 0.2)

:func:`herbrand.engines.credal.lowering.credal_network` builds the network; it is immutable, and designed for
a million sentences. It is a tuple of :class:`SentenceGroup` s. A group holds all ground sentences of one
shape, ``P(event | given)`` in [lower, upper]: row i is over the atoms ``atoms[i]``, one a column, all
different, those of the event first.
``event_table`` and ``given_table`` mark the cases, of the 2^k of a row's atoms, in which the two hold;
column 0 is the highest bit of a case's number, so ``group.event_table.reshape((2,) * k)`` has one axis a
column.

A row means, for distributions P over all atoms:

- ``lower * P(given) <= P(event and given) <= upper * P(given)``, with P(given) = 1 where there is no given;
- for the Markov condition: atoms of ``given`` are linked to those of ``event``, and unless the sentence has
  no given, or is ``independent``, the event's atoms to each other (:mod:`herbrand.engines.credal.markov`).

Sentences are simplified by facts of observed predicates; the links that they have as written are in ``links``
(:mod:`.written_links`). Facts of open predicates do not change the set of distributions: they are in
``facts``, and every query is conditioned on them.

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
from typing import NamedTuple

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
    """A numbering of the ground atoms of some predicates.

    ``starts[i]`` is the number of the first atom of ``predicates[i]``; a last entry counts all atoms.
    """

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
        """Position of each predicate in ``predicates``."""
        return {name: place for place, name in enumerate(self.predicates)}

    def number(self, atom: Atom) -> int | None:
        """The number of an atom; ``None`` where it has variables, or is not among the numbered atoms."""
        place = self.place.get(atom.predicate)
        if place is None or len(atom.arguments) != len(self.domains[place]):
            return None
        code = 0
        for domain, term in zip(self.domains[place], atom.arguments, strict=True):
            index = domain.index_by_table(term.value) if isinstance(term, Constant) else None
            if index is None:
                return None
            code = code * len(domain) + index
        return self.starts[place] + code

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
    """Translate a ground formula over numbered atoms to a formula of the language."""

    def formula(shape: Shape) -> Formula:
        if not isinstance(shape, tuple):
            return atoms.syntax(ground.atoms[shape])
        parts = tuple(map(formula, shape[1:]))
        match shape[0]:
            case "not":
                return Not(parts[0])
            case "iff":
                return Iff(parts[0], parts[1])
            case "and" | "or" | "xor" as sign:
                return {"and": And, "or": Or, "xor": Xor}[sign](parts)
        return Truth(shape == TRUE)

    return formula(ground.shape)


@dataclass(frozen=True, eq=False)
class Stated:
    """The numbered statements of a theory; each row of a run of bounds has its own number.

    ``parts`` are the statements and runs as written; ``starts[i]`` is the number of the first of part i.
    """

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

    ``statement`` is the number of the statement that each row comes from, ``binding`` its row of
    ``Network.bindings[statement]`` (0 where the statement has no variables).
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
        """Pairs of columns, from and to, that the sentences link.

        Independent sentences (the paper's tau) do not link the event's atoms to each other.
        """
        return kept_links(self.event, self.given, self.independent)

    @property
    def event_table(self) -> np.ndarray:
        """[2^k] bool: whether the event holds in each case."""
        return truth_table(self.event, self.arity)

    @property
    def given_table(self) -> np.ndarray:
        """[2^k] bool: whether the condition holds in each case; all True without one."""
        if self.given is None:
            return np.ones(2**self.arity, dtype=bool)
        return truth_table(self.given, self.arity)

    @cached_property
    def tables(self) -> tuple[np.ndarray, np.ndarray]:
        """The cases where event and condition hold, and those where the condition holds, an axis a column."""
        shape = (2,) * self.arity
        return (self.event_table & self.given_table).reshape(shape), self.given_table.reshape(shape)

    @cached_property
    def table_row(self) -> TableRow | None:
        """The row of a conditional table that a sentence bounds, if it bounds one."""
        return table_row(*self.tables)

    def rows(self, kept: np.ndarray) -> SentenceGroup:
        """The group restricted to these rows."""
        parts = {name: getattr(self, name)[kept] for name in _BY_ROW}
        return replace(self, **parts)


class LiteralCases(NamedTuple):
    """The cases of the other atoms in which a sentence is about one atom, or about its negation."""

    cases: np.ndarray  # (2,) * (k - 1) bool
    positive: bool


def literal_at(event: np.ndarray, given: np.ndarray, axis: int) -> LiteralCases | None:
    """Read ``P(event | given)`` as ``P(x | cases of the others)`` or ``P(not x | ...)``, x at an axis.

    ``event`` implies ``given``. ``None`` for a sentence of another form.
    """
    known, false, true = given.take(0, axis), event.take(0, axis), event.take(1, axis)
    if (known != given.take(1, axis)).any():
        return None
    if not false.any() and (true == known).all():
        return LiteralCases(known, True)
    if not true.any() and (false == known).all():
        return LiteralCases(known, False)
    return None


class TableRow(NamedTuple):
    """``P(x | a case of the other columns)``, or ``P(not x | ...)``: the column of x, the others' truths."""

    child: int
    truths: tuple[int, ...]
    positive: bool


def table_row(event: np.ndarray, given: np.ndarray) -> TableRow | None:
    """Read ``P(event | given)`` as a row of one atom's conditional table; ``None`` for another form."""
    for child in range(event.ndim):
        literal = literal_at(event, given, child)
        if literal is not None and np.count_nonzero(literal.cases) == 1:
            (truths,) = np.argwhere(literal.cases).tolist()
            return TableRow(child, tuple(truths), literal.positive)
    return None


NO_LINKS = np.empty((0, 2), np.int64)
_BY_ROW = ("atoms", "lower", "upper", "statement", "binding")


@dataclass(frozen=True, eq=False)
class KnownAtoms:
    """Facts of open atoms: ``truths[i]`` is the truth value of ``atoms[i]``; atoms ascend."""

    atoms: np.ndarray  # [f] int64
    truths: np.ndarray  # [f] bool

    def __len__(self) -> int:
        return len(self.atoms)


@dataclass(frozen=True, eq=False)
class Network:
    """A ground credal network: all ground sentences over numbered atoms, and facts of open atoms.

    ``statements`` are the theory's, for error messages. ``bindings[s][v]`` is the domain of variable v of
    statement s, and its constant's index there in every grounding. ``links``: links of sentences as written
    that their simplified rows no longer imply.
    """

    atoms: Atoms
    groups: tuple[SentenceGroup, ...]
    facts: KnownAtoms
    statements: Stated = field(default_factory=Stated)
    bindings: Mapping[int, Mapping[str, tuple[Domain, np.ndarray]]] = field(default_factory=dict)
    links: np.ndarray = field(default_factory=lambda: NO_LINKS)  # [links, 2] from, to

    def __len__(self) -> int:
        """Number of ground sentences."""
        return sum(map(len, self.groups))

    def only(self, groups: tuple[SentenceGroup, ...]) -> Network:
        """The network with other sentences over the same atoms."""
        return replace(self, groups=groups)

    def statement(self, group: int, row: int) -> Single:
        """The statement that a ground sentence comes from."""
        return self.statements[int(self.groups[group].statement[row])]

    def stated(self, group: int, row: int) -> Bound:
        """A ground sentence as a bound of the language, with the span of its statement."""
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
        """The text of a ground sentence in the language."""
        return statement_text(self.stated(group, row))

    def grounding(self, group: int, row: int) -> dict[str, Value]:
        """The constants of a statement's variables in the grounding of a row."""
        rows = self.groups[group]
        columns = self.bindings.get(int(rows.statement[row]), {})
        at = int(rows.binding[row])
        return {name: domain.value(int(indices[at])) for name, (domain, indices) in columns.items()}
