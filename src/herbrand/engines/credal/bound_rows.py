"""Runs of bounds as rows of the ground network, all rows of one form together.

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

from collections.abc import Iterator

import numpy as np

from herbrand.engines.credal.atoms import Atoms
from herbrand.engines.credal.sentence_groups import MOST_ATOMS_A_SENTENCE, Gathered
from herbrand.engines.credal.shape import FALSE, TRUE, Shape, columns_of, shape_of
from herbrand.language.syntax import Atom, Bound, BoundRows, Formula, Leaf, walk


def add_rows(number: int, rows: BoundRows, atoms: Atoms, gathered: Gathered) -> Iterator[int]:
    """Adds the rows of a run, whose first statement has this number.

    Gives the rows that are to be added one by one: those that name an atom twice, or one that is not open,
    and those with a truth value that settles something.
    """
    number_of = np.array([_number(name, atoms) for name in rows.names], np.int64)
    form = np.asarray(rows.form, np.int64)
    lower, upper = np.asarray(rows.lower, float), np.asarray(rows.upper, float)
    said = number_of[np.asarray(rows.atoms, np.int64)]
    arities = np.array([_arity(bound) for bound in rows.forms], np.int64)
    first = np.concatenate([[0], np.cumsum(arities[form])])[:-1]
    for which, bound in enumerate(rows.forms):
        members = np.flatnonzero(form == which)
        shapes = _shapes(bound)
        if shapes is None:
            yield from members.tolist()
            continue
        table = said[first[members, None] + np.arange(arities[which])]
        ordered = np.sort(table, axis=1)
        plain = (ordered[:, 1:] != ordered[:, :-1]).all(axis=1) & (table >= 0).all(axis=1)
        yield from members[~plain].tolist()
        chosen = members[plain]
        if len(chosen):
            rows_of_shape = gathered.rows(*shapes, bound.independent)
            rows_of_shape.add_table(table[plain], 0, lower[chosen], upper[chosen], number + chosen)


def _number(name: str, atoms: Atoms) -> int:
    """The number of an open atom without arguments, or -1."""
    place = atoms.place.get(name)
    return -1 if place is None or atoms.domains[place] else atoms.starts[place]


def _arity(bound: Bound) -> int:
    return sum(isinstance(part, Atom) for formula in _parts(bound) for part in walk(formula))


def _parts(bound: Bound) -> tuple[Formula, ...]:
    return (bound.event,) if bound.given is None else (bound.event, bound.given)


def _shapes(bound: Bound) -> tuple[Shape, Shape | None] | None:
    """The shapes of a form over its atoms; ``None`` where truth values leave some of them out."""
    order: dict[Leaf, int] = {}

    def column(leaf: Leaf) -> Shape:
        if isinstance(leaf, Atom):
            return order.setdefault(leaf, len(order))
        raise AssertionError(leaf)

    event = shape_of(bound.event, column)
    given = None if bound.given is None else shape_of(bound.given, column)
    columns = [c for shape in (event, given) if shape not in (None, TRUE, FALSE) for c in columns_of(shape)]
    if TRUE in (event, given) or FALSE in (event, given) or columns != list(range(_arity(bound))):
        return None
    return None if len(columns) > MOST_ATOMS_A_SENTENCE else (event, given)
