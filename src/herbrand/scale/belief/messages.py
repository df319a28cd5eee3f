"""One round of belief propagation as SQL: a row a factor, its messages to its atoms in columns.

Messages ``m0_0`` ... (slot, then value) are log-values whose largest is 0, as in
:mod:`herbrand.engines.belief.kernels`; an impossible value is minus infinity. Sums over an atom keep what is
finite, ``v0`` ..., and how many messages exclude each value, ``i0`` ..., apart, so that one message can be
taken out of them again. The same queries run between atoms and between classes, which have counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from herbrand.contraction.relational_algebras import meaning_of
from herbrand.scale.belief.factor_families import Family

REAL = meaning_of("real")
NEVER = REAL.number(float("-inf"))
FAR = REAL.number(float("inf"))
NOTHING_LEFT = REAL.number(float("nan"))
ZERO, ONE = REAL.number(0.0), REAL.number(1.0)


@dataclass(frozen=True, eq=False)
class Messages:
    """Queries for the messages of these families. ``lifted``: between classes; ``barring``: some value of
    some atom may be impossible."""

    families: tuple[Family, ...]
    lifted: bool
    barring: bool

    def table(self, family: Family, step: int) -> str:
        """Two tables take turns, so that one is whole while the other is made."""
        return f"messages_{family.number}_{step % 2}"

    def first(self, family: Family) -> str:
        """Every factor says nothing, and ``d``, how far the last round moved it, is 0."""
        columns = [f"{ZERO} AS {name}" for slot in range(family.width) for name in self._of(family, slot)]
        return f"SELECT *, {', '.join((*columns, f'{ZERO} AS d'))} FROM {family.table}"

    def totals(self, size: int, step: int) -> str:
        """What atoms of so many values make of the messages to them."""
        parts = [f"SELECT atom, {self._told([f'u{value}' for value in range(size)])} FROM axes_{size}"]
        for family in self.families:
            for slot, values in enumerate(family.sizes):
                if values == size:
                    told = self._told(self._of(family, slot), f"x{slot} * " if self.lifted else "")
                    parts.append(f"SELECT s{slot} AS atom, {told} FROM {self.table(family, step)}")
        letters = "vi" if self.barring else "v"
        sums = ", ".join(
            f"SUM({letter}{value}) AS {letter}{value}" for letter in letters for value in range(size)
        )
        return f"SELECT atom, {sums} FROM ({' UNION ALL '.join(parts)}) t GROUP BY atom"

    def log_beliefs(self, size: int) -> list[str]:
        """Of a row of totals."""
        if not self.barring:
            return [f"v{value}" for value in range(size)]
        return [f"CASE WHEN i{value} > 0.5 THEN {NEVER} ELSE v{value} END" for value in range(size)]

    def round(self, family: Family, step: int, damping: float) -> str:
        """The table of the next step."""
        peaks, totals = [], []
        for slot, size in enumerate(family.sizes):
            for value in range(size):
                peak, total = _log_sum(self._terms(family, slot, value), f"p{slot}_{value}")
                peaks.append(peak)
                totals.append(f"{total} AS o{slot}_{value}")
        summed = f"SELECT *, {', '.join(totals)} FROM ({_with(self._heard(family, step), peaks)}) p"
        fresh = [
            f"{level} AS n{slot}_{value}"
            for slot in range(family.width)
            for value, level in enumerate(self._levelled([f"o{one[1:]}" for one in self._of(family, slot)]))
        ]
        counts = ["n", *(f"x{slot}" for slot in range(family.width))] if self.lifted else []
        kept = [*family.slots, "kind", *counts]
        names = [name for slot in range(family.width) for name in self._of(family, slot)]
        kept += [f"{self._damped(name, damping)} AS {name}" for name in names]
        kept.append(f"{self._moved(family, names)} AS d")
        return f"SELECT {', '.join(kept)} FROM ({_with(summed, fresh)}) n"

    def bethe_of_factors(self, family: Family, step: int) -> str:
        """What the factors add to the Bethe log-partition, less what their edges do."""
        entries = [
            " + ".join((worth, *(f"h{slot}_{value}" for slot, value in enumerate(values))))
            for worth, values in zip(self._worths(family), product(*map(range, family.sizes)), strict=True)
        ]
        own_peak, own = _log_sum(entries, "p")
        peaks, edges = [own_peak], []
        for slot, size in enumerate(family.sizes):
            terms = [f"m{slot}_{value} + h{slot}_{value}" for value in range(size)]
            peak, total = _log_sum(terms, f"p{slot}")
            peaks.append(peak)
            edges.append(f" - ({total})")
        found = _with(self._heard(family, step), peaks)
        times = "n * " if self.lifted else ""
        return f"SELECT SUM({times}({own}{''.join(edges)})) FROM ({found}) f"

    def bethe_of_axes(self, size: int) -> str:
        """What the atoms add, from their totals."""
        beliefs = ", ".join(f"{one} AS b{value}" for value, one in enumerate(self.log_beliefs(size)))
        peak, total = _log_sum([f"b{value}" for value in range(size)], "p")
        found = _with(f"SELECT atom, {beliefs} FROM totals_{size}", [peak])
        if not self.lifted:
            return f"SELECT SUM({total}) FROM ({found}) f"
        return f"SELECT SUM(a.n * ({total})) FROM ({found}) f JOIN axes_{size} a ON a.atom = f.atom"

    def _of(self, family: Family, slot: int) -> list[str]:
        return [f"m{slot}_{value}" for value in range(family.sizes[slot])]

    def _told(self, values: Sequence[str], times: str = "") -> str:
        if not self.barring:
            return ", ".join(f"{times}{value} AS v{place}" for place, value in enumerate(values))
        told = [
            f"CASE WHEN {value} = {NEVER} THEN {ZERO} ELSE {times}{value} END AS v{place}"
            for place, value in enumerate(values)
        ]
        told += [
            f"CASE WHEN {value} = {NEVER} THEN {times}{ONE} ELSE {ZERO} END AS i{place}"
            for place, value in enumerate(values)
        ]
        return ", ".join(told)

    def _heard(self, family: Family, step: int) -> str:
        """With ``h0_0`` ...: what atoms tell the factor, all but one copy of its own message; and the
        entries ``t0`` ... of its potential, where there are several."""
        joins = [
            f" JOIN totals_{size} b{slot} ON b{slot}.atom = e.s{slot}"
            for slot, size in enumerate(family.sizes)
        ]
        told = [
            f"{self._without(slot, value)} AS g{slot}_{value}"
            for slot, size in enumerate(family.sizes)
            for value in range(size)
        ]
        if len(family.potentials) > 1:
            joins.append(f" JOIN potentials_{family.number} p ON p.kind = e.kind")
            told += [f"p.{worth}" for worth in self._worths(family)]
        heard = f"SELECT e.*, {', '.join(told)} FROM {self.table(family, step)} e{''.join(joins)}"
        levelled = [
            f"{level} AS h{slot}_{value}"
            for slot in range(family.width)
            for value, level in enumerate(self._levelled([f"g{one[1:]}" for one in self._of(family, slot)]))
        ]
        return _with(heard, levelled)

    def _without(self, slot: int, value: int) -> str:
        message, total = f"e.m{slot}_{value}", f"b{slot}.v{value}"
        if not self.barring:
            return f"{total} - {message}"
        never = f"b{slot}.i{value}"
        return (
            f"CASE WHEN {message} = {NEVER} THEN CASE WHEN {never} > 1.5 THEN {NEVER} ELSE {total} END "
            f"WHEN {never} > 0.5 THEN {NEVER} ELSE {total} - {message} END"
        )

    def _levelled(self, values: Sequence[str]) -> list[str]:
        """With the largest taken off, where there is one."""
        peak = _greatest(values)
        if not self.barring:
            return [f"{value} - {peak}" for value in values]
        return [f"CASE WHEN {peak} = {NEVER} THEN {NEVER} ELSE {value} - {peak} END" for value in values]

    def _worths(self, family: Family) -> list[str]:
        """The entries of the potential, in the order of C."""
        first = family.potentials[0]
        if len(family.potentials) > 1:
            return [f"t{entry}" for entry in range(first.size)]
        return [REAL.number(worth) for worth in first.reshape(-1).tolist()]

    def _terms(self, family: Family, slot: int, value: int) -> list[str]:
        """What each entry with this value in the slot adds to the message there."""
        return [
            " + ".join((worth, *(f"h{j}_{v}" for j, v in enumerate(values) if j != slot)))
            for worth, values in zip(self._worths(family), product(*map(range, family.sizes)), strict=True)
            if values[slot] == value
        ]

    def _damped(self, message: str, damping: float) -> str:
        new = f"n{message[1:]}"
        if not damping:
            return new
        mixed = f"{REAL.number(1 - damping)} * {new} + {REAL.number(damping)} * {message}"
        if not self.barring:
            return mixed
        return (
            f"CASE WHEN {new} = {NEVER} OR {message} = {NEVER} THEN LEAST({new}, {message}) ELSE {mixed} END"
        )

    def _moved(self, family: Family, names: Sequence[str]) -> str:
        """How far undamped messages are from the last; not a number where one leaves its atom no value."""
        if not self.barring:
            return _greatest([f"ABS(n{name[1:]} - {name})" for name in names])
        moves = [
            f"CASE WHEN n{name[1:]} = {name} THEN {ZERO} "
            f"WHEN n{name[1:]} = {NEVER} OR {name} = {NEVER} THEN {FAR} ELSE ABS(n{name[1:]} - {name}) END"
            for name in names
        ]
        lost = [
            f"{_greatest([f'o{one[1:]}' for one in self._of(family, slot)])} = {NEVER}"
            for slot in range(family.width)
        ]
        return f"CASE WHEN {' OR '.join(lost)} THEN {NOTHING_LEFT} ELSE {_greatest(moves)} END"


def shares(values: Sequence[str]) -> list[str]:
    """Log-values as probabilities."""
    peak = _greatest(values)
    total = " + ".join(f"EXP({value} - {peak})" for value in values)
    return [f"EXP({value} - {peak}) / ({total})" for value in values]


def _log_sum(terms: Sequence[str], peak: str) -> tuple[str, str]:
    """The largest term, named; and, where it has this name, log Σ exp."""
    total = " + ".join(f"EXP({term} - {peak})" for term in (f"({one})" for one in terms))
    found = f"CASE WHEN {peak} = {NEVER} THEN {NEVER} ELSE {peak} + LN({total}) END"
    return f"{_greatest(terms)} AS {peak}", found


def _greatest(values: Sequence[str]) -> str:
    return f"GREATEST({', '.join(values)})" if len(values) > 1 else f"({values[0]})"


def _with(query: str, columns: Sequence[str]) -> str:
    return f"SELECT *, {', '.join(columns)} FROM ({query}) q"
