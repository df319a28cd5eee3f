"""Log-probabilities of known values, their counts in a database: as :class:`Conditionals`, by grouped sums.

Atoms whose counts are all alike are one row with their number. What is left is fetched where it fits into
memory; else the value, the gradient and the second derivatives are sums that the database takes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from scipy.sparse import coo_array

from herbrand.learning.conditionals import Conditionals
from herbrand.relations.database import Database
from herbrand.scale.learning.flips import FIXED, IMPOSSIBLE

BYTES_A_CHANGE = 160
"""In memory, of one row of changes once it is fetched."""


def merged(database: Database, changed: str) -> tuple[str, int]:
    """A table of changes with like atoms once, each with their number ``n``; and how many atoms there were.

    The table of all changes is dropped.
    """
    like, kept = f"{changed}_like", f"{changed}_kept"
    written = ", ".join(f"CAST({name} AS STRING)" for name in ("alternative", "place", "d"))
    signs = database.dialect.gathered.format(value=f"CONCAT_WS(' ', {written})")
    told = f"SELECT code, {signs} AS told FROM {changed} GROUP BY code"
    database.make(like, f"SELECT MIN(code) AS code, COUNT(*) AS n FROM ({told}) t GROUP BY told")
    chosen = "c.code, c.alternative, c.place, c.d, k.n"
    database.make(kept, f"SELECT {chosen} FROM {changed} c JOIN {like} k ON k.code = c.code")
    atoms = database.number(f"SELECT COALESCE(SUM(n), 0) FROM {like}")
    for table in (changed, like):
        database.drop(table)
    return kept, int(atoms)


def fetched(database: Database, table: str, alternatives: int, width: int) -> Conditionals:
    """The changes in memory."""
    found = database.arrow(f"SELECT * FROM {table}")
    code, alternative, place, d, n = (
        found[name].to_numpy() for name in ("code", "alternative", "place", "d", "n")
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
    """``table`` has ``code``, ``alternative``, ``place``, ``d`` and ``n``; no row: nothing changes.

    ``width``: how many weights there are.
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
        """The sum of the known values' log-probabilities."""
        self._weigh(weights)
        shares = self._shares()
        return float(self.database.number(f"SELECT COALESCE(SUM(n * told / listed), 0) FROM ({shares}) s"))

    def value_and_gradient(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        self._keep_shares(weights)
        value = self.database.number(f"SELECT COALESCE(SUM(n * told / listed), 0) FROM {self.table}_shares")
        return float(value), -self._by_place("c.n * s.share * c.d")

    def curvature(self, weights: np.ndarray) -> np.ndarray:
        """How much the function bends in each weight, at most."""
        self._keep_shares(weights)
        return self._by_place("c.n * s.share * c.d * c.d")

    def hessian(self, weights: np.ndarray) -> np.ndarray:
        """Second derivatives [parameter, parameter]; negative semidefinite."""
        self._keep_shares(weights)
        changes = f"(SELECT c.*, s.share FROM {self._changes} c JOIN {self.table}_shares s ON {SAME_VALUE})"
        means = f"(SELECT code, n, place, SUM(share * d) AS mean FROM {changes} m GROUP BY code, n, place)"
        outer = self._pairs(means, "a.n * a.mean * b.mean", "a.code = b.code")
        spread = self._pairs(
            changes, "a.n * a.share * a.d * b.d", "a.code = b.code AND a.alternative = b.alternative"
        )
        return outer - spread

    def bearing(self) -> tuple[np.ndarray, np.ndarray]:
        """On which weights some alternative bears, and on which some that is possible."""
        lowest = f"SELECT code, alternative, MIN(d) AS d FROM {self.table} WHERE place = {FIXED}"
        fixed = (
            f"SELECT code, alternative FROM ({lowest} GROUP BY code, alternative) f WHERE d = {IMPOSSIBLE}"
        )
        joined = (
            f"{self._changes} c LEFT JOIN ({fixed}) e ON e.code = c.code AND e.alternative = c.alternative"
        )
        free = "MAX(CASE WHEN e.code IS NULL THEN 1 ELSE 0 END)"
        bears, bears_possibly = np.zeros((2, self.width), dtype=bool)
        for place, some in self.database.rows(f"SELECT c.place, {free} FROM {joined} GROUP BY c.place"):
            bears[int(place)], bears_possibly[int(place)] = True, bool(some)
        return bears, bears_possibly

    @property
    def _changes(self) -> str:
        """What weights that are learned change."""
        return f"(SELECT * FROM {self.table} WHERE place <> {FIXED})"

    def _weigh(self, weights: np.ndarray) -> None:
        """The weights as a table; what is fixed counts once."""
        places = np.arange(-1, self.width)
        worth = np.concatenate([[1.0], weights])
        assert places[0] == FIXED
        self.database.put(f"{self.table}_weights", pa.table({"place": places, "weight": worth}))

    def _shares(self) -> str:
        """The probability of each alternative, and the log-probability of the known value.

        Each row of an atom has the latter; ``listed`` says in how many of them it stands.
        """
        scores = (
            f"SELECT c.code, c.n, c.alternative, SUM(c.d * w.weight) AS score FROM {self.table} c "
            f"JOIN {self.table}_weights w ON w.place = c.place GROUP BY c.code, c.n, c.alternative"
        )
        over = "OVER (PARTITION BY code)"
        peaks = (
            f"SELECT *, GREATEST(MAX(score) {over}, 0) AS peak, COUNT(*) {over} AS listed FROM ({scores}) c"
        )
        odds = f"SELECT *, EXP(score - peak) AS odds FROM ({peaks}) p"
        rest = f"(1 + {self.alternatives} - listed) * EXP(-peak)"
        totals = f"SELECT *, SUM(odds) {over} + {rest} AS total FROM ({odds}) o"
        return (
            "SELECT code, n, alternative, listed, odds / total AS share, -peak - LN(total) AS told "
            f"FROM ({totals}) t"
        )

    def _keep_shares(self, weights: np.ndarray) -> None:
        self._weigh(weights)
        self.database.make(f"{self.table}_shares", self._shares())

    def _by_place(self, value: str) -> np.ndarray:
        found = np.zeros(self.width)
        rows = self.database.rows(
            f"SELECT c.place, SUM({value}) FROM {self._changes} c JOIN {self.table}_shares s ON {SAME_VALUE} "
            "GROUP BY c.place"
        )
        for place, total in rows:
            found[place] = total
        return found

    def _pairs(self, source: str, value: str, on: str) -> np.ndarray:
        found = np.zeros((self.width, self.width))
        rows = self.database.rows(
            f"SELECT a.place, b.place, SUM({value}) FROM {source} a JOIN {source} b ON {on} "
            "GROUP BY a.place, b.place"
        )
        for left, right, total in rows:
            found[left, right] = total
        return found


def derived_tables(table: str) -> tuple[str, ...]:
    """What sums over a table of changes make beside it."""
    return f"{table}_weights", f"{table}_shares"


SAME_VALUE = "s.code = c.code AND s.alternative = c.alternative"
