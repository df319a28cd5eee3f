"""Log-probabilities of known values, with counts in a database: as :class:`Conditionals`, by grouped sums.

Atoms with equal counts are one row with their number. The result is fetched if it fits into memory; otherwise
the database computes the value, the gradient and the second derivatives as sums.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array

from herbrand.learning.conditionals import Conditionals
from herbrand.relations.database import Database
from herbrand.relations.expression import Expression, cast, choose, column, exp, log
from herbrand.relations.fold import count, log_sum, total
from herbrand.relations.memory import Memory
from herbrand.relations.relation import Relation
from herbrand.relations.stored import Scratch
from herbrand.scale.learning.flips import FIXED

BYTES_A_CHANGE = 160
"""Memory for a fetched row of changes."""
SAME_VALUE = ("code", "alternative")


def merged(database: Database, changed: str) -> tuple[str, int]:
    """Merge atoms with equal changes into one with their number ``n``; return the table and the number of
    atoms.

    The table of all changes is dropped.
    """
    like, kept = f"{changed}_like", f"{changed}_kept"
    written = ", ".join(f"CAST({name} AS STRING)" for name in ("alternative", "place", "d"))
    signs = database.dialect.gathered.format(value=f"CONCAT_WS(' ', {written})")
    signed = f"SELECT code, {signs} AS signed FROM {changed} GROUP BY code"
    database.make(like, f"SELECT MIN(code) AS code, COUNT(*) AS n FROM ({signed}) t GROUP BY signed")
    chosen = "c.code, c.alternative, c.place, c.d, k.n"
    database.make(kept, f"SELECT {chosen} FROM {changed} c JOIN {like} k ON k.code = c.code")
    atoms = database.number(f"SELECT COALESCE(SUM(n), 0) FROM {like}")
    for table in (changed, like):
        database.drop(table)
    return kept, int(atoms)


def fetched(database: Database, table: str, alternatives: int, width: int) -> Conditionals:
    """The changes in memory."""
    columns = database.arrow(f"SELECT * FROM {table}")
    code, alternative, place, d, n = (
        columns[name].to_numpy() for name in ("code", "alternative", "place", "d", "n")
    )
    codes, first, atom = np.unique(code, return_index=True, return_inverse=True)
    offsets = np.zeros((len(codes), alternatives))
    fixed = place == FIXED
    offsets[atom[fixed], alternative[fixed]] = d[fixed]
    rows = atom[~fixed] * alternatives + alternative[~fixed]
    shape = (len(codes) * alternatives, width)
    differences = coo_array((d[~fixed], (rows, place[~fixed])), shape=shape).tocsr()
    return Conditionals(differences, offsets, n[first].astype(np.float64))


@dataclass(frozen=True, eq=False)
class StoredConditionals:
    """Changes in ``table`` with ``code``, ``alternative``, ``place``, ``d`` and ``n``; missing rows change
    nothing.

    ``width``: number of weights.
    """

    database: Database
    table: str
    alternatives: int
    width: int
    atoms: int

    @property
    def atom_count(self) -> float:
        return float(self.atoms)

    def value(self, weights: np.ndarray) -> float:
        """Sum of the known values' log-probabilities."""
        with self._scratch() as scratch:
            return _value(self._totals(self._scores(scratch, weights)))

    def value_and_gradient(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        with self._scratch() as scratch:
            scores = self._scores(scratch, weights)
            totals = self._totals(scores).kept()
            changes = self._weighed(scratch, scores, totals)
            return _value(totals), -self._by_place(changes, column("d"))

    def curvature(self, weights: np.ndarray) -> np.ndarray:
        """Upper bound of the curvature in each weight."""
        with self._scratch() as scratch:
            scores = self._scores(scratch, weights)
            changes = self._weighed(scratch, scores, self._totals(scores))
            return self._by_place(changes, column("d") * column("d"))

    def hessian(self, weights: np.ndarray) -> np.ndarray:
        """Second derivatives [parameter, parameter]; negative semidefinite."""
        with self._scratch() as scratch:
            scores = self._scores(scratch, weights)
            changes = self._weighed(scratch, scores, self._totals(scores)).kept()
            means = changes.group(["code", "n", "place"], d=total(column("share") * column("d")))
            return self._pairs(means, ["code"], column("n")) - self._pairs(
                changes, ["code", "alternative"], column("n") * column("share")
            )

    def bearing(self) -> tuple[np.ndarray, np.ndarray]:
        """Masks of the weights on which some alternative depends, and of those on which a possible one
        does."""
        with self._scratch() as scratch:
            changes = self._changes(scratch)
            learned = changes.where(column("place") != FIXED)
            impossible = changes.where((column("place") == FIXED) & (column("d") == -math.inf))
            matters = np.zeros((2, self.width), dtype=bool)
            for bears, rows in zip(matters, (learned, learned.without(impossible, SAME_VALUE)), strict=True):
                bears[rows.only("place").distinct().arrays()["place"]] = True
            return matters[0], matters[1]

    def _scratch(self) -> Scratch:
        return Scratch(self.database, f"{self.table}_sums")

    def _changes(self, scratch: Scratch) -> Relation:
        return scratch.table(self.table, code="int", alternative="int", place="int", d="float", n="int")

    def _scores(self, scratch: Scratch, weights: np.ndarray) -> Relation:
        """Log-weight of each alternative relative to the known value; fixed parts have weight 1."""
        places = np.arange(FIXED, self.width)
        factors = scratch.put(Memory.of(place=places, weight=np.concatenate([[1.0], weights])))
        score = total(column("d") * column("weight"))
        changes = self._changes(scratch).join(factors, ["place"])
        return changes.group(["code", "n", "alternative"], score=score).kept()

    def _totals(self, scores: Relation) -> Relation:
        """Log of the sum over an atom's values; the known value, and alternatives without rows, have
        log-weight 0."""
        atoms = scores.group(["code", "n"], listed=log_sum(column("score")), count=count())
        rest = log(cast(1 + self.alternatives - column("count"), "float"))
        peak = choose(column("listed") > rest, column("listed"), rest)
        odds = exp(column("listed") - peak) + exp(rest - peak)
        return atoms.select(code=column("code"), n=column("n"), total=peak + log(odds))

    def _weighed(self, scratch: Scratch, scores: Relation, totals: Relation) -> Relation:
        """Changes of learned weights, with the probability ``share`` of each alternative."""
        shares = scores.join(totals.only("code", "total"), ["code"])
        shares = shares.let(share=exp(column("score") - column("total"))).only(*SAME_VALUE, "share")
        return self._changes(scratch).where(column("place") != FIXED).join(shares, SAME_VALUE)

    def _by_place(self, changes: Relation, value: Expression) -> np.ndarray:
        sums = changes.group(["place"], total=total(column("n") * column("share") * value)).arrays()
        totals = np.zeros(self.width)
        totals[sums["place"]] = sums["total"]
        return totals

    def _pairs(self, rows: Relation, on: Sequence[str], factor: Expression) -> np.ndarray:
        others = rows.renamed(other="place", e="d").only(*on, "other", "e")
        factor = factor * column("d") * column("e")
        sums = rows.join(others, on).group(["place", "other"], total=total(factor)).arrays()
        totals = np.zeros((self.width, self.width))
        totals[sums["place"], sums["other"]] = sums["total"]
        return totals


def _value(totals: Relation) -> float:
    return -float(totals.scalar(total(column("n") * column("total"))))
