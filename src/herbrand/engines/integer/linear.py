"""Ground formulas as linear constraints over zeros and ones.

An atom that is true or false is one variable, a many-valued one a variable for each value, of which exactly
one is 1. A conjunction of literals with a weight gets a variable. If the weight is positive, the objective
pushes it to 1, so only upper bounds are written: it is at most each of its parts. If the weight is negative,
or the conjunction is forbidden, only a lower bound: it is at least the sum of its n parts less n - 1. These
are the standard linearisations; both are never needed, as the objective pulls one way.

Atoms of which at most one may hold are one row, not a row for each pair: its relaxation excludes the
half-values that pairs allow, which is why matchings are solved without branching.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.sparse import csr_array

from herbrand.engines.highs import LinearProgram
from herbrand.program.ground import SATISFIED, GroundBlock, GroundConjunction
from herbrand.row_keys import each_in

Columns = np.ndarray
"""Numbers of variables, one for each row."""


@dataclass
class Linear:
    """Variables from 0 to 1 with an objective to maximise; rows of constraints as triples."""

    value_counts: np.ndarray
    objective: list[np.ndarray] = field(default_factory=list)
    whole: list[np.ndarray] = field(default_factory=list)
    rows: list[np.ndarray] = field(default_factory=list)
    columns: list[np.ndarray] = field(default_factory=list)
    entries: list[np.ndarray] = field(default_factory=list)
    least: list[np.ndarray] = field(default_factory=list)
    most: list[np.ndarray] = field(default_factory=list)
    variable_count: int = 0
    row_count: int = 0
    entry_count: int = 0
    constant: float = 0.0

    def __post_init__(self) -> None:
        widths = np.where(self.value_counts == 2, 1, self.value_counts)
        self.offset = (np.cumsum(widths) - widths).astype(np.int64)
        self.new(int(widths.sum()), whole=True)
        self.atom_variables = self.variable_count
        many = np.flatnonzero(self.value_counts != 2)
        if len(many):
            first = self.new_rows(np.ones(len(many)), np.ones(len(many)))
            counts = self.value_counts[many]
            own, places = each_in(self.offset[many], counts)
            self.enter(first[own], places, 1.0)

    def new(self, count: int, *, whole: bool = False) -> Columns:
        """Add ``count`` variables from 0 to 1; with ``whole`` they are restricted to 0 and 1, as rows do
        for the others."""
        self.objective.append(np.zeros(count))
        self.whole.append(np.full(count, whole))
        self.variable_count += count
        return np.arange(self.variable_count - count, self.variable_count)

    def _at_most(self, limits: np.ndarray) -> np.ndarray:
        """Add rows with these upper limits, which may still be lowered in place."""
        return self.new_rows(np.full(len(limits), -math.inf), limits)

    def new_rows(self, least: np.ndarray, most: np.ndarray) -> np.ndarray:
        self.least.append(least)
        self.most.append(most)
        self.row_count += len(least)
        return np.arange(self.row_count - len(least), self.row_count)

    def enter(self, rows: np.ndarray, columns: Columns, entry: float) -> None:
        self.rows.append(rows)
        self.columns.append(columns)
        self.entries.append(np.full(len(rows), entry))
        self.entry_count += len(rows)

    # Literals

    def value(self, atom: int, value: int, log_weight: float) -> None:
        """Add ``log_weight`` to the log-weight of worlds in which an atom has a value; minus
        infinity forbids it."""
        if log_weight == -math.inf:
            self.at_most(np.array([[atom]]), [(value,)], np.zeros(1))
            return
        two = self.value_counts[atom] == 2
        column = int(self.offset[atom]) + (0 if two else value)
        if two and value == 0:
            self.constant += log_weight
            log_weight = -log_weight
        self.objective[0][column] += log_weight

    def _literal(
        self, rows: np.ndarray, atoms: np.ndarray, allowed: Sequence[int], sign: float
    ) -> np.ndarray:
        """Enter ``sign`` times the truth of each row's literal; return the constant part of each row."""
        constants = np.where(atoms == SATISFIED, sign, 0.0)
        latent = np.flatnonzero(atoms != SATISFIED)
        if not len(latent):
            return constants
        atoms, rows = atoms[latent], rows[latent]
        count = int(self.value_counts[atoms[0]])
        if len(allowed) == count:
            constants[latent] = sign
        elif count == 2:
            for value in allowed:
                constants[latent] += 0.0 if value else sign
                self.enter(rows, self.offset[atoms], sign if value else -sign)
        else:
            for value in allowed:
                self.enter(rows, self.offset[atoms] + value, sign)
        return constants

    def at_most(self, atoms: np.ndarray, allowed: Sequence[Sequence[int]], limit: np.ndarray) -> None:
        """In each row of atoms, allow at most ``limit`` literals to hold."""
        limits = limit.astype(float)
        rows = self._at_most(limits)
        for place, values in enumerate(allowed):
            limits -= self._literal(rows, atoms[:, place], values, 1.0)

    def at_most_of_groups(
        self, groups: np.ndarray, atoms: np.ndarray, limit: np.ndarray, allowed: Sequence[int]
    ) -> None:
        """In each group of atoms, allow at most ``limit`` to have an allowed value."""
        limits = limit.astype(float)
        rows = self._at_most(limits)
        np.subtract.at(limits, groups, self._literal(rows[groups], atoms, allowed, 1.0))

    # Conjunctions

    def conjunction(self, ground: GroundConjunction, log_weight: float) -> None:
        """Add ``log_weight`` for every row of a conjunction that holds; minus infinity forbids each."""
        if not len(ground) or not log_weight:
            return
        if log_weight == -math.inf:
            parts = ground.atoms.shape[1] + len(ground.blocks)
            limits = np.full(len(ground), parts - 1.0)
            rows = self._at_most(limits)
            limits -= self._parts(ground, rows, 1.0, holds_at_most=False)
            return
        if ground.atoms.shape[1] == 1 and not ground.blocks and ground.allowed[0] in ((0,), (1,)):
            atoms = ground.atoms[:, 0]
            latent = atoms[atoms != SATISFIED]
            if len(latent) == len(atoms) and (self.value_counts[latent] == 2).all():
                sign = 1.0 if ground.allowed[0] == (1,) else -1.0
                np.add.at(self.objective[0], self.offset[latent], sign * log_weight)
                self.constant += 0.0 if sign > 0 else log_weight * len(latent)
                return
        place = len(self.objective)  # truth variables come before those of the parts
        self._truth(ground, holds_at_most=log_weight > 0)
        self.objective[place] += log_weight

    def _truth(self, ground: GroundConjunction, *, holds_at_most: bool) -> Columns:
        """Variable for the truth of each row, bounded from above by it if ``holds_at_most``,
        else from below."""
        truth = self.new(len(ground))
        parts = ground.atoms.shape[1] + len(ground.blocks)
        if not holds_at_most:  # parts - truth <= n - 1
            limits = np.full(len(ground), parts - 1.0)
            rows = self._at_most(limits)
            self.enter(rows, truth, -1.0)
            limits -= self._parts(ground, rows, 1.0, holds_at_most=False)
            return truth
        for place in range(ground.atoms.shape[1]):  # truth - part <= 0
            limits = np.zeros(len(ground))
            rows = self._at_most(limits)
            self.enter(rows, truth, 1.0)
            limits -= self._literal(rows, ground.atoms[:, place], ground.allowed[place], -1.0)
        for block in ground.blocks:
            holds = self._block(block, len(ground), holds_at_most=True)
            rows = self._at_most(np.zeros(len(ground)))
            self.enter(rows, truth, 1.0)
            self.enter(rows, holds, -1.0)
        return truth

    def _parts(
        self, ground: GroundConjunction, rows: np.ndarray, sign: float, *, holds_at_most: bool
    ) -> np.ndarray:
        """Enter the sum of a conjunction's parts; return the constant part of each row."""
        constants = np.zeros(len(ground))
        for place, allowed in enumerate(ground.allowed):
            constants += self._literal(rows, ground.atoms[:, place], allowed, sign)
        for block in ground.blocks:
            self.enter(rows, self._block(block, len(ground), holds_at_most=holds_at_most), sign)
        return constants

    def _block(self, block: GroundBlock, count: int, *, holds_at_most: bool) -> Columns:
        """Variable for each of ``count`` rows: whether some piece holds, or none does; bounded from
        above or below."""
        holds = self.new(count)
        together = block.some == holds_at_most  # the sum of the pieces bounds it, not each of them
        sign = 1.0 if block.some else -1.0
        pieces = [
            (self._truth(piece, holds_at_most=together), piece.origin) for piece in block.pieces if len(piece)
        ]
        if together:  # some: holds <= sum; none: holds >= 1 - sum
            rows = self._at_most(np.full(count, 0.0 if block.some else -1.0))
            self.enter(rows, holds, sign)
            for truth, origin in pieces:
                self.enter(rows[origin], truth, -1.0)
            return holds
        for truth, origin in pieces:  # some: holds >= piece; none: holds <= 1 - piece
            rows = self._at_most(np.full(len(truth), 0.0 if block.some else 1.0))
            self.enter(rows, holds[origin], -sign)
            self.enter(rows, truth, 1.0)
        return holds

    def program(self) -> LinearProgram:
        """Rows and ranges of the program; ``objective``, to be maximised, and ``whole`` are separate."""
        count, places = self.variable_count, (np.zeros(0, np.int64),) * 2
        entries, least, most = np.zeros(0), np.zeros(0), np.zeros(0)
        if self.entries:
            entries = np.concatenate(self.entries)
            places = np.concatenate(self.rows), np.concatenate(self.columns)
        if self.row_count:
            least, most = np.concatenate(self.least), np.concatenate(self.most)
        rows = csr_array((entries, places), shape=(self.row_count, count))
        return LinearProgram(rows, least, most, np.zeros(count), np.ones(count))

    def world(self, solution: np.ndarray) -> np.ndarray:
        """Value of each atom in a solution."""
        values = np.rint(solution[self.offset]).astype(np.int64)
        for atom in np.flatnonzero(self.value_counts != 2):
            start = self.offset[atom]
            values[atom] = np.argmax(solution[start : start + self.value_counts[atom]])
        return values
