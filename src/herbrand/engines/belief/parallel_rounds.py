"""Parallel rounds of messages over relations, in memory or in a database.

A :class:`Family` is a relation with a row for each factor: its atoms ``s0`` ..., its ``kind`` of potential
and its messages ``m0_0`` ... (slot, then value), log-values whose largest is 0 as in
:mod:`herbrand.engines.belief.kernels`; an impossible value is minus infinity. Sums over an atom keep their
finite part, ``v0`` ..., and the number of messages that exclude each value, ``i0`` ..., separately, so that
one message can be subtracted again. Between classes of atoms, factors and messages have counts ``n`` and
``x0`` ...

>>> from herbrand.relations.memory import Memory
>>> pair = Family(0, (2, 2), (np.array([[0.0, 0.0], [0.0, np.log(2)]]),))
>>> rounds = Rounds((pair,), lifted=False, barring=False)
>>> axes = {2: Memory.of(atom=[0, 1], u0=[0.0, 0.0], u1=[0.0, math.log(3)])}
>>> messages = {0: rounds.first(pair, Memory.of(s0=[0], s1=[1], kind=[0]))}
>>> messages = {0: rounds.after(pair, messages[0], rounds.totals(axes, messages), 0.0)}
>>> totals = rounds.totals(axes, messages)[2]
>>> totals.select(p=probabilities(rounds.log_beliefs(2))[1]).arrays()["p"].round(4)
array([0.6364, 0.8182])
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TypeVar

import numpy as np

from herbrand.engines.belief.kernels import FARTHEST, ROUNDING
from herbrand.factors.graph import Array
from herbrand.relations.expression import (
    Expression,
    Given,
    choose,
    column,
    either,
    exp,
    greater,
    lesser,
    literal,
    log,
    magnitude,
    summed,
)
from herbrand.relations.fold import largest, total
from herbrand.relations.relation import Relation

__all__ = ["Family", "Rounds", "probabilities"]

R = TypeVar("R", bound=Relation)
NEVER = -math.inf


@dataclass(frozen=True, eq=False)
class Family:
    """Factors whose atoms have ``sizes`` values; ``potentials`` [kind] are tables over these axes."""

    number: int
    sizes: tuple[int, ...]
    potentials: tuple[Array, ...]

    @property
    def width(self) -> int:
        return len(self.sizes)

    @property
    def slots(self) -> list[str]:
        return [f"s{slot}" for slot in range(self.width)]

    def names(self, letter: str, slot: int) -> list[str]:
        """Columns of the values of a slot."""
        return [f"{letter}{slot}_{value}" for value in range(self.sizes[slot])]

    def all_names(self, letter: str) -> list[str]:
        return [name for slot in range(self.width) for name in self.names(letter, slot)]

    def kinds(self) -> dict[str, Array]:
        """Entries ``t0`` ... of each kind's potential, in C order, as columns."""
        entries = np.stack([potential.reshape(-1) for potential in self.potentials])
        return {
            "kind": np.arange(len(entries)),
            **{f"t{entry}": entries[:, entry] for entry in range(entries.shape[1])},
        }


@dataclass(frozen=True, eq=False)
class Rounds:
    """Rounds between these families. ``lifted``: between classes; ``barring``: whether values of atoms
    may be impossible."""

    families: tuple[Family, ...]
    lifted: bool
    barring: bool

    def first(self, family: Family, factors: R) -> R:
        """Uniform first messages, with ``d``, the change in the last round, of 0."""
        return factors.only(*self._kept(family)).let(**dict.fromkeys([*family.all_names("m"), "d"], 0.0))

    def totals(self, axes: Mapping[int, R], messages: Mapping[int, R]) -> dict[int, R]:
        """Sums of own weights ``u0`` ... and messages of each atom, in a relation for each
        number of values."""
        return {size: self._totals(size, own, messages) for size, own in axes.items()}

    def _totals(self, size: int, own: R, messages: Mapping[int, R]) -> R:
        one = literal(1.0)
        names = [f"u{value}" for value in range(size)]
        parts = [own.select(atom=column("atom"), **self._apart(names, one))]
        for family in self.families:
            for slot in (slot for slot, values in enumerate(family.sizes) if values == size):
                times = column(f"x{slot}") if self.lifted else one
                terms = self._apart(family.names("m", slot), times)
                parts.append(messages[family.number].select(atom=column(f"s{slot}"), **terms))
        folds = {name: total(column(name)) for name in parts[0].columns if name != "atom"}
        return parts[0].stack(*parts[1:]).group(["atom"], **folds)

    def _apart(self, names: Sequence[str], times: Expression) -> dict[str, Expression]:
        """Messages times their multiplicity: their finite parts, and how often each value is excluded."""
        values = [column(name) for name in names]
        scaled = values if times.operation == "literal" else [times * value for value in values]
        if not self.barring:
            return {f"v{place}": value for place, value in enumerate(scaled)}
        never = [value == NEVER for value in values]
        return {
            **{f"v{i}": choose(never[i], 0.0, value) for i, value in enumerate(scaled)},
            **{f"i{i}": choose(never[i], times, 0.0) for i in range(len(values))},
        }

    def log_beliefs(self, size: int) -> list[Expression]:
        """Log-beliefs from a row of totals."""
        sums = [column(f"v{value}") for value in range(size)]
        if not self.barring:
            return sums
        return [choose(column(f"i{value}") > 0.5, NEVER, log_sum) for value, log_sum in enumerate(sums)]

    def after(
        self,
        family: Family,
        messages: R,
        totals: Mapping[int, R],
        damping: float,
        kinds: R | None = None,
    ) -> R:
        """Messages of a family after the next round; ``kinds`` has the potentials if there are several.

        ``d`` is not a number if a message leaves its atom no value.
        """
        incoming = self._incoming(family, messages, totals, kinds)
        terms = {
            name: self._terms(family, slot, value)
            for slot in range(family.width)
            for value, name in enumerate(family.names("o", slot))
        }
        summed_up = _log_sums(incoming, terms)
        fresh = {
            name: self._near(level)
            for slot in range(family.width)
            for name, level in zip(
                family.names("n", slot), self._levelled(family.names("o", slot)), strict=True
            )
        }
        known = {name: column(name) for name in self._kept(family)}
        damped = {name: self._damped(name, damping) for name in family.all_names("m")}
        return summed_up.let(**fresh).select(**known, **damped, d=self._moved(family))

    def moved(self, messages: Mapping[int, R]) -> float:
        """Largest change of a message in the round, by one query for all families."""
        moves = [one.only("d") for one in messages.values()]
        if not moves:
            return 0.0
        return float(max(moves[0].stack(*moves[1:]).scalar(largest(column("d"))), 0.0))

    def bethe(
        self,
        axes: Mapping[int, R],
        messages: Mapping[int, R],
        totals: Mapping[int, R],
        kinds: Mapping[int, R],
    ) -> float:
        """Bethe log-partition: atoms plus factors minus edges, each times its number of ground copies; minus
        infinity if some atom has no value left."""
        parts = [self._bethe_of_axes(size, own, totals[size]) for size, own in axes.items()]
        parts += [
            self._bethe_of_factors(one, messages[one.number], totals, kinds.get(one.number))
            for one in self.families
        ]
        return math.fsum(parts) if all(map(math.isfinite, parts)) else NEVER

    def _bethe_of_factors(
        self, family: Family, messages: R, totals: Mapping[int, R], kinds: R | None
    ) -> float:
        """Sum over factors, less that over their edges."""
        entries = product(*map(range, family.sizes))
        entry_sums = [
            summed(potential, *(column(f"h{slot}_{value}") for slot, value in enumerate(values)))
            for potential, values in zip(self._potential_entries(family), entries, strict=True)
        ]
        edges = {
            f"e{slot}": [
                column(message) + column(incoming)
                for message, incoming in zip(family.names("m", slot), family.names("h", slot), strict=True)
            ]
            for slot in range(family.width)
        }
        sums = _log_sums(self._incoming(family, messages, totals, kinds), {"own": entry_sums, **edges})
        gain = column("own") - summed(*(column(name) for name in edges))
        return float(sums.scalar(total(column("n") * gain if self.lifted else gain)))

    def _bethe_of_axes(self, size: int, own: R, totals: R) -> float:
        """Sum over atoms, from their totals."""
        sums = _log_sums(totals, {"own": self.log_beliefs(size)}).only("atom", "own")
        if not self.lifted:
            return float(sums.scalar(total(column("own"))))
        return float(sums.join(own.only("atom", "n"), ["atom"]).scalar(total(column("n") * column("own"))))

    def _kept(self, family: Family) -> list[str]:
        counts = ["n", *(f"x{slot}" for slot in range(family.width))] if self.lifted else []
        return [*family.slots, "kind", *counts]

    def _incoming(self, family: Family, messages: R, totals: Mapping[int, R], kinds: R | None) -> R:
        """Rows with ``h0_0`` ...: the messages of atoms to the factor, without one copy of its own; and the
        entries ``t0`` ... of its potential, if there are several."""
        incoming, letters = messages, "vi" if self.barring else "v"
        for slot, size in enumerate(family.sizes):
            sums = {
                f"{letter}{slot}_{value}": column(f"{letter}{value}")
                for letter in letters
                for value in range(size)
            }
            incoming = incoming.join(
                totals[size].select(**{f"s{slot}": column("atom")}, **sums), [f"s{slot}"]
            )
        if len(family.potentials) > 1:
            assert kinds is not None
            incoming = incoming.join(kinds, ["kind"])
        gathered = {
            f"g{slot}_{value}": self._without(slot, value)
            for slot, size in enumerate(family.sizes)
            for value in range(size)
        }
        levelled = {
            name: level
            for slot in range(family.width)
            for name, level in zip(
                family.names("h", slot), self._levelled(family.names("g", slot)), strict=True
            )
        }
        return incoming.let(**gathered).let(**levelled)

    def _without(self, slot: int, value: int) -> Expression:
        message, all_messages = column(f"m{slot}_{value}"), column(f"v{slot}_{value}")
        if not self.barring:
            return all_messages - message
        excluded, never = column(f"i{slot}_{value}"), message == NEVER
        others = choose(never, excluded - 1.0, excluded)
        return choose(others > 0.5, NEVER, all_messages - choose(never, 0.0, message))

    def _levelled(self, names: Sequence[str]) -> list[Expression]:
        """Log-values with the largest subtracted, unless all are impossible."""
        values = [column(name) for name in names]
        peak = greater(*values)
        if not self.barring:
            return [value - peak for value in values]
        return [choose(peak == NEVER, NEVER, value - peak) for value in values]

    def _near(self, message: Expression) -> Expression:
        """Message clipped at -:data:`FARTHEST`: only impossible values are minus infinity."""
        near = greater(message, -FARTHEST)
        return choose(message == NEVER, NEVER, near) if self.barring else near

    def _potential_entries(self, family: Family) -> list[Expression]:
        """Entries of the potential, in C order."""
        first = family.potentials[0]
        if len(family.potentials) > 1:
            return [column(f"t{entry}") for entry in range(first.size)]
        return [literal(potential) for potential in first.reshape(-1).tolist()]

    def _terms(self, family: Family, slot: int, value: int) -> list[Expression]:
        """Log-terms of the message to a slot's value, one for each entry with it."""
        return [
            summed(potential, *(column(f"h{j}_{v}") for j, v in enumerate(values) if j != slot))
            for potential, values in zip(
                self._potential_entries(family), product(*map(range, family.sizes)), strict=True
            )
            if values[slot] == value
        ]

    def _damped(self, message: str, damping: float) -> Expression:
        new, old = column(f"n{message[1:]}"), column(message)
        if not damping:
            return new
        mixed = (1 - damping) * new + damping * old
        if not self.barring:
            return mixed
        return choose((new == NEVER) | (old == NEVER), lesser(new, old), mixed)

    def _moved(self, family: Family) -> Expression:
        """Distance of undamped messages from the last ones, at least their rounding; not a number if one
        leaves its atom no value, infinite if one has run away to :data:`FARTHEST`."""
        pairs = [(column(f"n{name[1:]}"), column(name)) for name in family.all_names("m")]
        lowest = lesser(*(self._finite(new) for new, _ in pairs))
        moves = [self._move(new, old) for new, old in pairs]
        distance = choose(lowest <= -FARTHEST, math.inf, greater(*moves, -ROUNDING * lowest))
        if not self.barring:
            return distance
        lost = [
            greater(*(column(name) for name in family.names("o", slot))) == NEVER
            for slot in range(family.width)
        ]
        return choose(either(*lost), math.nan, distance)

    def _finite(self, message: Expression) -> Expression:
        return choose(message == NEVER, 0.0, message) if self.barring else message

    def _move(self, new: Expression, old: Expression) -> Expression:
        if not self.barring:
            return magnitude(new - old)
        excluded = choose((new == NEVER) | (old == NEVER), math.inf, magnitude(new - old))
        return choose(new == old, 0.0, excluded)


def probabilities(log_values: Sequence[Given]) -> list[Expression]:
    """Probabilities from log-values."""
    values = [literal(value) for value in log_values]
    peak = greater(*values)
    shares = [exp(value - peak) for value in values]
    return [share / summed(*shares) for share in shares]


def _log_sums(rows: R, sums: Mapping[str, Sequence[Expression]]) -> R:
    """Rows with log-sums of exponentials; the largest term of each is taken out first."""
    peaks = {f"peak_{name}": greater(*terms) for name, terms in sums.items()}
    log_sums = {name: _log_sum(terms, column(f"peak_{name}")) for name, terms in sums.items()}
    return rows.let(**peaks).let(**log_sums)


def _log_sum(terms: Sequence[Expression], peak: Expression) -> Expression:
    return choose(peak == NEVER, NEVER, peak + log(summed(*(exp(term - peak) for term in terms))))
