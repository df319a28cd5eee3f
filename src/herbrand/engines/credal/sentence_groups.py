"""Ground sentences gathered by shape, one by one and table by table, until they become groups.

>>> gathered = Gathered()
>>> gathered.rows(0, None, False).singles.append(((4,), 0.2, 0.3, 0))
>>> gathered.groups()[0].atoms.tolist()
[[4]]
"""

from __future__ import annotations

import numpy as np

from herbrand.engines.credal.network import NO_LINKS, SentenceGroup
from herbrand.engines.credal.shape import FALSE, TRUE, Shape, canonical
from herbrand.errors import ContradictionError, UnsupportedError
from herbrand.language.syntax import Bound

MOST_ATOMS_A_SENTENCE = 20


class Gathered:
    """Rows by the shape of their sentence; they become groups at the end.

    And the links of sentences as written that their rows, shortened by observed facts, no longer show.
    """

    def __init__(self) -> None:
        self._rows: dict[tuple[Shape, Shape | None, bool], Rows] = {}
        self._links: list[np.ndarray] = []

    def rows(self, event: Shape, given: Shape | None, independent: bool) -> Rows:
        key = event, given, independent
        found = self._rows.get(key)
        if found is None:
            found = self._rows[key] = Rows()
        return found

    def link(self, pairs: np.ndarray) -> None:
        """Add links, [links, 2] from atom to atom."""
        self._links.append(np.unique(pairs, axis=0))

    def links(self) -> np.ndarray:
        """[links, 2]; some may be there twice, or lead from an atom to itself."""
        return np.concatenate([NO_LINKS, *self._links])

    def groups(self) -> tuple[SentenceGroup, ...]:
        return tuple(SentenceGroup(*key, *rows.arrays()) for key, rows in self._rows.items())


class Rows:
    """Rows one by one, and tables of rows."""

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
        """Rows that have atoms of their own; of the others' entries there may be one for all."""
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
        """Atoms, lower, upper, statement, binding; in the order of statements."""
        parts = list(self.tables)
        if self.singles:
            atoms, lower, upper, statement = zip(*self.singles, strict=True)
            numbers = np.array(atoms, np.int64).reshape(len(atoms), len(atoms[0]))
            ends = np.array(lower, float), np.array(upper, float)
            parts.append((numbers, *ends, np.array(statement, np.int64), np.zeros(len(atoms), np.int64)))
        joined = tuple(map(np.concatenate, zip(*parts, strict=True)))
        order = np.argsort(joined[3], kind="stable")
        return tuple(column[order] for column in joined)


def sentence_of(
    event: Shape, given: Shape | None, bound: Bound
) -> tuple[Shape, Shape | None, tuple[int, ...]] | None:
    """The shapes over columns and what stands in each; ``None`` for a sentence that says nothing."""
    if given == FALSE or (event == TRUE and bound.upper == 1) or (event == FALSE and bound.lower == 0):
        return None
    if given == TRUE:
        given = None
    if given is None:
        if event in (TRUE, FALSE):
            raise ContradictionError(
                "the observed facts settle what this bound speaks of, and contradict it",
                span=bound.span,
                hint="what is to be open is declared without 'observed'; its facts are evidence then",
            )
        shape, atoms = canonical(event)
        condition = None
    else:
        both, atoms = canonical(("", event, given))
        assert isinstance(both, tuple)
        _, shape, condition = both
    if len(atoms) > MOST_ATOMS_A_SENTENCE:
        raise too_many_atoms(len(atoms), bound)
    return shape, condition, atoms


def too_many_atoms(count: int, bound: Bound) -> UnsupportedError:
    return UnsupportedError(
        f"a ground instance of this bound names {count:,} open atoms; at most {MOST_ATOMS_A_SENTENCE} are "
        "taken",
        span=bound.span,
        hint="state it of fewer constants, or declare what is observed",
    )
