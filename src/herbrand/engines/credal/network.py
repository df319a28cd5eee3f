"""The ground credal network: which atoms there are, and every ground sentence as rows of a few arrays.

Made by :func:`herbrand.engines.credal.lowering.credal_network`; immutable; made for a million sentences. A
network is a set of :class:`SentenceGroup` s. A group holds all ground sentences of one shape,
``P(event | given)`` in [lower, upper]: row i speaks of the atoms ``atoms[i]``, one a column, all different,
those of the event first.
``event_table`` and ``given_table``: in which of the 2^k cases of a row's atoms the two hold; column 0 is
the highest bit of a case's number, so ``group.event_table.reshape((2,) * k)`` has one axis a column.

What a row means, for distributions P over all atoms:

- ``lower * P(given) <= P(event and given) <= upper * P(given)``, with P(given) = 1 where there is no given;
- for the Markov condition: atoms of ``given`` are linked to those of ``event``, and unless the sentence has
  no given, or is ``independent``, the event's atoms to each other (:mod:`herbrand.engines.credal.markov`).

Sentences that facts of observed predicates settle or shorten are settled and shortened already; the links
that they make as they are written are in ``links`` (:mod:`herbrand.engines.credal.written`). Facts of open
predicates do not change the set of distributions: they are in ``facts``, and every question is asked given
them.

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

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from herbrand.engines.credal.atoms import Atoms
from herbrand.engines.credal.shape import GroundFormula, Shape, columns_of, truth_table
from herbrand.engines.credal.statement_numbers import Stated
from herbrand.engines.credal.wording import formula_of
from herbrand.facts.domain import Domain
from herbrand.language.show import show_statement
from herbrand.language.syntax import Bound, Value


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

    @cached_property
    def event_columns(self) -> tuple[int, ...]:
        """The columns that occur in the event: the first ones."""
        return tuple(dict.fromkeys(columns_of(self.event)))

    @cached_property
    def given_columns(self) -> tuple[int, ...]:
        """The columns that occur in what is given; they may be the event's too."""
        return () if self.given is None else tuple(dict.fromkeys(columns_of(self.given)))

    @property
    def linked(self) -> bool:
        """Whether the event's atoms depend on each other: the paper's tau, where it matters."""
        return self.given is not None and not self.independent

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

    def stated(self, group: int, row: int) -> Bound:
        """A ground sentence as a statement of the language, at the place where it was stated."""
        found = self.groups[group]
        numbers = tuple(map(int, found.atoms[row]))
        number = int(found.statement[row])
        span = self.statements[number].span if number < len(self.statements) else None
        return Bound(
            formula_of(GroundFormula(found.event, numbers), self.atoms),
            None if found.given is None else formula_of(GroundFormula(found.given, numbers), self.atoms),
            float(found.lower[row]),
            float(found.upper[row]),
            found.independent,
            span=span,
        )

    def sentence_text(self, group: int, row: int) -> str:
        """A ground sentence in the language."""
        return next(iter(show_statement(self.stated(group, row))))

    def grounding(self, group: int, row: int) -> dict[str, Value]:
        """The constants that a statement's variables stand for in a row."""
        found = self.groups[group]
        columns = self.bindings.get(int(found.statement[row]), {})
        at = int(found.binding[row])
        return {name: domain.value(int(indices[at])) for name, (domain, indices) in columns.items()}
