"""Evidence on ground atoms, looked up for many atoms at once.

A ground atom is a predicate and a code, the key of its argument indices (:mod:`herbrand.row_keys`).
:meth:`Known.lookup` gives the value of each code, or :data:`LATENT`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from herbrand.errors import FactsError
from herbrand.language.formulas import Value
from herbrand.language.names import shown_constant
from herbrand.language.show import show_atom
from herbrand.program.program import Program, other_values
from herbrand.row_keys import Keys, first_missing, fit, key_columns, places_among, row_keys

LATENT = -1
NOTHING = np.empty(0, np.int64)


@dataclass(frozen=True, eq=False)
class Known:
    """Settled atoms of one predicate: sorted ``codes``, their ``values``, and the ``default`` value of all
    others."""

    sizes: tuple[int, ...]
    codes: Keys
    values: np.ndarray
    default: int

    @property
    def atom_count(self) -> int:
        return math.prod(self.sizes)

    def lookup(self, codes: Keys) -> np.ndarray:
        """Value of each atom, ``LATENT`` if evidence does not settle it."""
        values = np.full(len(codes), self.default, dtype=np.int64)
        if not len(self.codes):
            return values
        at = places_among(self.codes, codes)
        hit = at >= 0
        values[hit] = self.values[at[hit]]
        return values

    @property
    def all_latent(self) -> bool:
        return self.default == LATENT and not len(self.codes)

    def latent(self, codes: Keys) -> Keys:
        """Codes of the atoms that evidence does not settle."""
        return codes if self.all_latent else codes[self.lookup(codes) == LATENT]

    def latent_count(self) -> int:
        return self.atom_count - len(self.codes) if self.default == LATENT else 0

    def latent_codes(self) -> np.ndarray:
        if self.default != LATENT:
            return np.empty(0, dtype=np.int64)
        if not len(self.codes):
            return np.arange(self.atom_count)
        latent = np.ones(self.atom_count, dtype=bool)
        latent[self.codes] = False
        return np.flatnonzero(latent)

    def latent_places(self, codes: np.ndarray) -> np.ndarray:
        """Index of each of these latent atoms among all latent ones, without listing them: its code minus the
        number of settled atoms before it."""
        return codes - np.searchsorted(self.codes, codes)

    def latent_code(self, place: int) -> int:
        """Code of the latent atom at an index: the inverse of ``latent_places``."""
        if self.all_latent:
            return place
        return place + int(np.searchsorted(self._latent_before, place, side="right"))

    @cached_property
    def _latent_before(self) -> np.ndarray:
        """Number of latent atoms before each settled one."""
        return self.latent_places(self.codes)


class Evidence:
    """Settled atoms of a program, computed for each predicate on first use."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._found: dict[str, Known] = {}

    def sizes(self, predicate: str) -> tuple[int, ...]:
        return tuple(map(len, self.program.domains_of(self.program.signature.predicates[predicate])))

    def is_valued(self, predicate: str) -> bool:
        return self.program.signature.predicates[predicate].value_type is not None

    @property
    def latent_predicates(self) -> list[str]:
        """Predicates with latent atoms, in the order of the signature."""
        return [name for name in self.program.signature.predicates if self.known(name).latent_count()]

    def rows(self, predicate: str, allowed: Sequence[int]) -> np.ndarray:
        """Argument rows of a predicate's atoms that the facts list with one of these values."""
        table = self.program.table(predicate)
        if self.is_valued(predicate):
            return table.true[np.isin(table.true[:, -1], allowed)][:, :-1]
        if len(allowed) == 1:
            return table.true if allowed[0] else table.false
        return np.concatenate([table.true, table.false]) if allowed else table.true[:0]

    def listed(self, predicate: str, allowed: Sequence[int]) -> tuple[np.ndarray, bool] | None:
        """Argument rows, and whether a literal with these values can hold for only these atoms (True) or for
        all but these (False); ``None`` if evidence rules no atom out."""
        known = self.known(predicate)
        if known.all_latent:
            return None
        if not known.latent_count() and known.default not in allowed:
            return self.rows(predicate, allowed), True
        return self.rows(predicate, other_values(self.program.value_count(predicate), allowed)), False

    def known(self, predicate: str) -> Known:
        """Cached lookup of the settled atoms; raise FactsError if latent atoms have an empty type of
        values."""
        if predicate not in self._found:
            known = self._known(predicate)
            if known.latent_count() and not self.program.value_count(predicate):
                raise self._no_values(predicate, known.latent_count())
            self._found[predicate] = known
        return self._found[predicate]

    def _no_values(self, predicate: str, atoms: int) -> FactsError:
        empty = self.program.signature.predicates[predicate].value_type
        subject = f"{atoms:,} atoms of {predicate} have" if atoms > 1 else f"the atom of {predicate} has"
        return FactsError(
            f"{subject} no value in any world: type {empty} has no constants",
            hint=f"point at facts that name some, or declare them: type {empty} = {{...}}",
        )

    def _known(self, predicate: str) -> Known:
        table = self.program.table(predicate)
        sizes = self.sizes(predicate)
        if self.is_valued(predicate):
            return self._known_valued(predicate, sizes)
        closed = table.world == "closed"
        if not len(table.true) and (closed or not len(table.false)) and fit(sizes):
            return Known(sizes, NOTHING, NOTHING, 0 if closed else LATENT)
        true = codes_of(table.true, sizes)
        if closed:
            return Known(sizes, true, np.ones(len(true), np.int64), 0)
        false = codes_of(table.false, sizes)
        values = np.concatenate([np.ones(len(true), np.int64), np.zeros(len(false), np.int64)])
        codes, first = np.unique(np.concatenate([true, false]), return_index=True)
        return Known(sizes, codes, values[first], LATENT)

    def _known_valued(self, predicate: str, sizes: tuple[int, ...]) -> Known:
        table = self.program.table(predicate)
        known = Known(sizes, NOTHING, NOTHING, LATENT)
        if len(table.true) or not fit(sizes):
            codes, first = np.unique(codes_of(table.true[:, :-1], sizes), return_index=True)
            known = Known(sizes, codes, table.true[first, -1].astype(np.int64), LATENT)
        if table.world == "closed" and known.latent_count():
            missing = self.atom_text(predicate, first_missing(known.codes, sizes))[0]
            raise FactsError(
                f"{missing} has no value, though {predicate} is observed",
                hint="list a value for every atom of an observed many-valued predicate, or declare it open",
            )
        return known

    def excluded(self, predicate: str) -> tuple[np.ndarray, np.ndarray]:
        """Codes and values of a many-valued predicate's atoms that facts exclude, aligned."""
        false = self.program.table(predicate).false
        if not self.is_valued(predicate):
            return np.empty(0, np.int64), np.empty(0, np.int64)
        return codes_of(false[:, :-1], self.sizes(predicate)), false[:, -1].astype(np.int64)

    def opinions(self, predicate: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Soft evidence: codes of atoms, the value that each is about, and what that adds to a log-weight."""
        table, sizes = self.program.table(predicate), self.sizes(predicate)
        codes = codes_of(table.soft[:, : len(sizes)], sizes)
        if not self.is_valued(predicate):
            return codes, np.ones(len(codes), np.int64), table.log_odds
        # p for one of k values leaves (1 - p) / (k - 1) for each other: the log of the ratio is logit p +
        # log(k - 1).
        others = max(1, self.program.value_count(predicate) - 1)
        return codes, table.soft[:, -1].astype(np.int64), table.log_odds + math.log(others)

    def settled_opinions(self, predicate: str) -> float:
        """Log-weight that soft evidence on settled atoms adds to every world."""
        codes, values, log_weights = self.opinions(predicate)
        return float(log_weights[self.known(predicate).lookup(codes) == values].sum())

    def weighs(self, predicate: str) -> bool:
        """Whether facts on this predicate may add to log-weights."""
        table = self.program.table(predicate)
        return bool(len(table.soft) or (self.is_valued(predicate) and len(table.false)))

    def weights(self, predicate: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Everything that facts add to log-weights: soft evidence, and minus infinity for excluded values."""
        codes, values, log_weights = self.opinions(predicate)
        barred, excluded = self.excluded(predicate)
        if not len(barred):
            return codes, values, log_weights
        never = np.full(len(barred), -math.inf)
        return np.append(codes, barred), np.append(values, excluded), np.append(log_weights, never)

    def weight_rows(self, predicate: str, codes: Keys) -> np.ndarray:
        """Log-weight that facts add for each value of these atoms, which must be distinct: [atom,
        value]."""
        added = np.zeros((len(codes), self.program.value_count(predicate)))
        about, values, log_weights = self.weights(predicate)
        order = np.argsort(codes, kind="stable")
        places = places_among(codes[order], about)
        hit = places >= 0
        np.add.at(added, (order[places[hit]], values[hit]), log_weights[hit])
        return added

    def coded(self, predicate: str, row: Sequence[int]) -> tuple[Keys, int]:
        """Code of one atom, and its value: the last number of the row of a many-valued one, else 1 (true)."""
        sizes = self.sizes(predicate)
        code = codes_of(np.array([row[: len(sizes)]], np.int64).reshape(1, len(sizes)), sizes)
        return code, row[-1] if self.is_valued(predicate) else 1

    def atom_arguments(self, predicate: str, codes: np.ndarray) -> list[list[Value]]:
        """Constants of the atoms, one column for each argument."""
        domains = self.program.domains_of(self.program.signature.predicates[predicate])
        columns = arguments_of(codes, tuple(map(len, domains)))
        return [list(domain.values_at(column)) for domain, column in zip(domains, columns, strict=True)]

    def atom_text(self, predicate: str, codes: np.ndarray) -> list[str]:
        columns = self.atom_arguments(predicate, codes)
        if not columns:
            return [show_atom(predicate, ())] * len(codes)
        return [show_atom(predicate, row) for row in zip(*columns, strict=True)]

    def literal_text(self, predicate: str, codes: np.ndarray) -> str:
        """Text of the first of these atoms with its known value: ``a``, ``not a`` or ``a = value``."""
        text, value = self.atom_text(predicate, codes[:1])[0], int(self.known(predicate).lookup(codes[:1])[0])
        value_type = self.program.signature.predicates[predicate].value_type
        if value_type is None:
            return text if value else f"not {text}"
        return f"{text} = {shown_constant(self.program.domain(value_type).value(value))}"


def codes_of(rows: np.ndarray, sizes: Sequence[int]) -> Keys:
    """One key for each row of indices."""
    return row_keys(list(rows.T), sizes, len(rows))


def arguments_of(codes: Keys, sizes: Sequence[int]) -> list[np.ndarray]:
    """Inverse of :func:`codes_of`, one column for each argument."""
    return list(key_columns(codes, sizes))


def rows_of(codes: Keys, sizes: Sequence[int]) -> np.ndarray:
    """Inverse of :func:`codes_of`, one row for each key."""
    columns = arguments_of(codes, sizes)
    return np.stack(columns, axis=1) if columns else np.empty((len(codes), 0), np.int64)
