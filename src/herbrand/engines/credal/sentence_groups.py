"""Ground sentences collected by shape, one by one and table by table, to be built into groups.

>>> gathered = Gathered()
>>> gathered.rows(0, None, False).singles.append(((4,), 0.2, 0.3, 0))
>>> gathered.groups()[0].atoms.tolist()
[[4]]

Runs of bounds become rows of the network, all rows of one form together.

>>> from herbrand.language.dialects import read_theory_text
>>> text = "s1: 0.2 <= P(a | b) <= 0.4\\ns2: 0.5 <= P(b | c) <= 1\\ns3: 0 <= P(c | c) <= 0.9"
>>> (rows,) = read_theory_text(text, "lcn").statements
>>> gathered = Gathered()
>>> list(add_rows(0, rows, Atoms.of({"a": (), "b": (), "c": ()}), gathered))
[2]
>>> gathered.groups()[0].atoms.tolist()
[[0, 1], [1, 2]]
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from herbrand.engines.credal.network import NO_LINKS, Atoms, SentenceGroup
from herbrand.engines.credal.shape import FALSE, TRUE, Shape, canonical, columns_of, constant, shape_of
from herbrand.errors import ContradictionError, UnsupportedError
from herbrand.language.formulas import predicates_in
from herbrand.language.names import is_made, shown_constant, shown_name
from herbrand.language.scope import free_variables, written
from herbrand.language.syntax import (
    Atom,
    Bound,
    BoundRows,
    Formula,
    Leaf,
    Truth,
    Value,
    formulas_in,
    walk,
)

MOST_ATOMS_A_SENTENCE = 20


class Gathered:
    """A builder of sentence groups: rows by the shape of their sentence, and links.

    The links are those of sentences as written that rows, simplified by observed facts, no longer imply.
    """

    def __init__(self) -> None:
        self._rows: dict[tuple[Shape, Shape | None, bool], Rows] = {}
        self._links: list[np.ndarray] = []

    def rows(self, event: Shape, given: Shape | None, independent: bool) -> Rows:
        key = event, given, independent
        rows = self._rows.get(key)
        if rows is None:
            rows = self._rows[key] = Rows()
        return rows

    def link(self, pairs: np.ndarray) -> None:
        """Add links, [links, 2] from atom to atom."""
        if len(pairs):
            self._links.append(np.unique(pairs, axis=0))

    def links(self) -> np.ndarray:
        """[links, 2] The links from atom to atom; they may have repetitions and links to the atom itself."""
        return np.concatenate([NO_LINKS, *self._links])

    def groups(self) -> tuple[SentenceGroup, ...]:
        return tuple(SentenceGroup(*key, *rows.arrays()) for key, rows in self._rows.items())


class Rows:
    """The collected rows of one shape: single rows, and tables of rows."""

    def __init__(self) -> None:
        self.singles: list[tuple[tuple[int, ...], float, float, int]] = []
        self.tables: list[tuple[np.ndarray, ...]] = []

    def add_table(
        self,
        atoms: np.ndarray,
        binding: np.ndarray | int,
        lower: np.ndarray | float,
        upper: np.ndarray | float,
        statement: np.ndarray | int,
    ) -> None:
        """Add the rows of ``atoms`` [n, k]; the other arguments are arrays [n] or one value for all rows."""
        n = len(atoms)
        self.tables.append(
            (
                atoms,
                np.broadcast_to(np.asarray(lower, float), n),
                np.broadcast_to(np.asarray(upper, float), n),
                np.broadcast_to(np.asarray(statement, np.int64), n),
                np.broadcast_to(np.asarray(binding, np.int64), n),
            )
        )

    def arrays(self) -> tuple[np.ndarray, ...]:
        """The columns atoms, lower, upper, statement and binding, sorted by statement."""
        parts = list(self.tables)
        if self.singles:
            atoms, lower, upper, statement = zip(*self.singles, strict=True)
            numbers = np.array(atoms, np.int64).reshape(len(atoms), len(atoms[0]))
            ends = np.array(lower, float), np.array(upper, float)
            parts.append((numbers, *ends, np.array(statement, np.int64), np.zeros(len(atoms), np.int64)))
        joined = tuple(map(np.concatenate, zip(*parts, strict=True)))
        order = np.argsort(joined[3], kind="stable")
        return tuple(column[order] for column in joined)


def without_last_value(event: Formula, grounding: Mapping[str, Value]) -> str:
    """Advice for excluding an instance in which a computed atom is false because its type lacks the value.

    Empty where no atom of the event is computed.
    """
    computed = (part for part in walk(event) if isinstance(part, Atom) and is_made(part.predicate))
    names = [name for part in computed for name in free_variables(part) if name in grounding]
    if not names:
        return ""
    apart = f"{shown_name(written(names[0]))} != {shown_constant(grounding[names[0]])}"
    return (
        "an atom is false as its type has no such value: leave it out by a condition, "
        f"P(... | ... and {apart})"
    )


def sentence_of(
    event: Shape, given: Shape | None, bound: Bound, way_out: Callable[[], str] = str
) -> tuple[Shape, Shape | None, tuple[int, ...]] | None:
    """The shapes over columns and the atom of each column; ``None`` for a sentence that always holds.

    ``way_out`` gives advice for excluding an instance whose event is false, or an empty text. Raises where
    the sentence is settled and its bound contradicts that, or where it has too many atoms.
    """
    if given == FALSE or (event == TRUE and bound.upper == 1) or (event == FALSE and bound.lower == 0):
        return None
    if given == TRUE:
        given = None
    if given is None:
        if event in (TRUE, FALSE):
            raise _settled_otherwise(event, bound, way_out() if event == FALSE else "")
        shape, atoms = canonical(event)
        condition = None
    else:
        both, atoms = canonical(("", event, given))
        assert isinstance(both, tuple)
        _, shape, condition = both
    if len(atoms) > MOST_ATOMS_A_SENTENCE:
        raise too_many_atoms(len(atoms), bound)
    return shape, condition, atoms


def _settled_otherwise(event: Shape, bound: Bound, way_out: str) -> ContradictionError:
    """The error for an event that facts or logic make true or false, against its bound."""
    if not any(predicates_in(bound.event)):
        sure = "always" if event == TRUE else "never"
        return ContradictionError(
            f"the formula of this bound {sure} holds, which contradicts it", span=bound.span
        )
    return ContradictionError(
        "the observed facts determine the formula of this bound, and contradict it",
        span=bound.span,
        hint=way_out or "what is to be open is declared without 'observed'; its facts are evidence then",
    )


def too_many_atoms(count: int, bound: Bound) -> UnsupportedError:
    return UnsupportedError(
        f"a ground instance of this bound names {count:,} open atoms; at most {MOST_ATOMS_A_SENTENCE} are "
        "taken",
        span=bound.span,
        hint="state it of fewer constants, or declare what is observed",
    )


def add_rows(number: int, rows: BoundRows, atoms: Atoms, gathered: Gathered) -> Iterator[int]:
    """Add the rows of a run whose first statement has this number.

    Yield the rows that must be added one by one: those that name an atom twice, or one that is not open,
    and those of a form that truth values simplify.
    """
    found = (atoms.number(Atom(name)) for name in rows.names)
    number_of = np.array([-1 if number is None else number for number in found], np.int64)
    form = np.asarray(rows.form, np.int64)
    lower, upper = np.asarray(rows.lower, float), np.asarray(rows.upper, float)
    numbers = number_of[np.asarray(rows.atoms, np.int64)]
    arities = np.array([_arity(bound) for bound in rows.forms], np.int64)
    first = np.concatenate([[0], np.cumsum(arities[form])])[:-1]
    for which, bound in enumerate(rows.forms):
        members = np.flatnonzero(form == which)
        shapes = _shapes(bound)
        if shapes is None:
            yield from members.tolist()
            continue
        table = numbers[first[members, None] + np.arange(arities[which])]
        ordered = np.sort(table, axis=1)
        plain = (ordered[:, 1:] != ordered[:, :-1]).all(axis=1) & (table >= 0).all(axis=1)
        yield from members[~plain].tolist()
        chosen = members[plain]
        if len(chosen):
            rows_of_shape = gathered.rows(*shapes, bound.independent)
            rows_of_shape.add_table(table[plain], 0, lower[chosen], upper[chosen], number + chosen)


def _arity(bound: Bound) -> int:
    return sum(isinstance(part, Atom) for formula in formulas_in(bound) for part in walk(formula))


def _shapes(bound: Bound) -> tuple[Shape, Shape | None] | None:
    """The shapes of a form over its atoms; ``None`` where truth values simplify it or atoms are too many."""
    order: dict[Leaf, int] = {}

    def column(leaf: Leaf) -> Shape:
        if isinstance(leaf, Truth):
            return constant(leaf.value)
        assert isinstance(leaf, Atom), leaf
        return order.setdefault(leaf, len(order))

    event = shape_of(bound.event, column)
    given = None if bound.given is None else shape_of(bound.given, column)
    columns = [c for shape in (event, given) if shape not in (None, TRUE, FALSE) for c in columns_of(shape)]
    if TRUE in (event, given) or FALSE in (event, given) or columns != list(range(_arity(bound))):
        return None
    return None if len(columns) > MOST_ATOMS_A_SENTENCE else (event, given)
