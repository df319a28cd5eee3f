"""Atoms derived by rules, with counts and sums in their bodies, as rows of an integer program.

An atom holds if one of its instances does, an instance if all its parts do. Both implications are written, so
that the solver cannot derive more or less than the rules do. Whether a total reaches a number is another
variable: where it is 1 the total is at least the number, where it is 0 at most one less. Each of the two rows
is relaxed by the range of the total where the other one applies.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce

import numpy as np

from herbrand.budget import Budget
from herbrand.engines.circuit.grounding import (
    ANY,
    Atom,
    Grounding,
    Instance,
    Stated,
    atoms_below,
    lowered_all,
)
from herbrand.engines.integer.linear import Linear
from herbrand.errors import UnsupportedError
from herbrand.graphs import strong_components
from herbrand.language.formulas import ORDERS
from herbrand.language.syntax import Operator
from herbrand.program.dependencies import derived_by, only_count, unusable_by
from herbrand.program.evidence import arguments_of
from herbrand.program.ground import Ground
from herbrand.row_keys import zipped

LARGEST = 10**8
"""Limit of totals in units of their finest step; above, they are near the solver's rounding."""


@dataclass(frozen=True)
class Sum:
    """A linear expression: a number plus entries times columns."""

    number: Fraction = Fraction(0)
    entries: Mapping[int, Fraction] = field(default_factory=dict)

    def plus(self, other: Sum, times: Fraction | int = 1) -> Sum:
        entries = dict(self.entries)
        for column, entry in other.entries.items():
            entries[column] = entries.get(column, Fraction(0)) + times * entry
        kept = {column: entry for column, entry in entries.items() if entry}
        return Sum(self.number + times * other.number, kept)

    @property
    def reach(self) -> tuple[Fraction, Fraction]:
        """Least and largest value that it can take."""
        entries = self.entries.values()
        return (
            self.number + sum((entry for entry in entries if entry < 0), Fraction(0)),
            self.number + sum((entry for entry in entries if entry > 0), Fraction(0)),
        )


ZERO, ONE = Sum(), Sum(Fraction(1))


class Derived:
    """Atoms derived by a program's rules, written into an integer program."""

    def __init__(self, ground: Ground, linear: Linear, budget: Budget) -> None:
        program = ground.program
        if not only_count(program.uncertain):
            raise unusable_by("integer", program.uncertain[0], program.signature)
        self._ground, self._linear = ground, linear
        self._stated = Stated(ground.evidence, program.signature, program.facts)
        statements = lowered_all(program.uncertain, program.signature, program.facts)
        grounding = Grounding(statements, self._stated, budget)
        self._names = sorted(derived_by(program.uncertain))
        for name in self._names:
            grounding.ask(name, (ANY,) * len(program.signature.predicates[name].column_types))
        rules = grounding.rules()
        self._rules = {atom: rules[atom] for (atom,) in strong_components(atoms_below(rules))}
        for atom, instances in self._rules.items():
            budget.check()
            self._holds(self._literal(atom), [self._body(instance) for instance in instances])
        for name in self._names:
            for atom in self._latent(name):
                if atom not in self._rules:
                    self._row(self._literal(atom), most=0)

    def agrees(self, values: np.ndarray) -> bool:
        """Whether a world contains exactly the atoms that the rules derive in it, evaluated
        again without rounding."""
        derived: dict[Atom, bool] = {}

        def holds(atom: Atom) -> bool:
            return derived[atom] if atom in derived else self._value(atom, values)

        for atom, instances in self._rules.items():
            derived[atom] = any(_instance_holds(instance, holds) for instance in instances)
        latent = (atom for name in self._names for atom in self._latent(name) if atom not in derived)
        return all(truth == self._value(atom, values) for atom, truth in derived.items()) and not any(
            self._value(atom, values) for atom in latent
        )

    # Atoms

    def _latent(self, name: str) -> Iterator[Atom]:
        evidence = self._ground.evidence
        codes = self._ground.atoms.codes.get(name, np.empty(0, np.int64))
        columns = [column.tolist() for column in arguments_of(codes, evidence.sizes(name))]
        values = range(self._ground.program.value_count(name) if evidence.is_valued(name) else 0)
        for row in zipped(columns, len(codes)):
            yield from ((name, (*row, value)) for value in values) if values else [(name, row)]

    def _place(self, atom: Atom) -> tuple[int, int]:
        """Number of a latent atom, and the index of the value in question."""
        code, value = self._ground.evidence.coded(*atom)
        return int(self._ground.atoms.numbers(atom[0], code)[0]), value

    def _value(self, atom: Atom, values: np.ndarray) -> bool:
        known = self._stated.status(*atom)
        if known is not None:
            return known
        number, value = self._place(atom)
        return bool(values[number] == value)

    def _literal(self, atom: Atom) -> Sum:
        known = self._stated.status(*atom)
        if known is not None:
            return ONE if known else ZERO
        number, value = self._place(atom)
        first = int(self._linear.offset[number])
        if self._linear.value_counts[number] != 2:
            return Sum(entries={first + value: Fraction(1)})
        one = Sum(entries={first: Fraction(1)})
        return one if value else ONE.plus(one, -1)

    # Rows

    def _row(self, total: Sum, least: float = -math.inf, most: float = math.inf) -> None:
        number = float(total.number)
        (row,) = self._linear.new_rows(np.array([least - number]), np.array([most - number]))
        for column, entry in total.entries.items():
            self._linear.enter(np.array([row]), np.array([column]), float(entry))

    def _new(self, *, whole: bool = False) -> Sum:
        (column,) = self._linear.new(1, whole=whole)
        return Sum(entries={int(column): Fraction(1)})

    def _holds(self, head: Sum, bodies: Sequence[Sum]) -> None:
        """Constrain the head to be the maximum of the bodies."""
        for body in bodies:
            self._row(head.plus(body, -1), least=0)
        self._row(reduce(lambda left, body: left.plus(body, -1), bodies, head), most=0)

    def _every(self, parts: Sequence[Sum]) -> Sum:
        """Expression for the minimum of the parts."""
        open_ = [part for part in parts if part != ONE]
        if ZERO in open_:
            return ZERO
        if len(open_) < 2:
            return open_[0] if open_ else ONE
        truth = self._new()
        for part in open_:
            self._row(part.plus(truth, -1), least=0)
        together = reduce(Sum.plus, open_)
        self._row(together.plus(truth, -1), most=len(open_) - 1)
        return truth

    def _body(self, instance: Instance) -> Sum:
        parts = [self._literal(atom) for atom in instance.held]
        parts += [ONE.plus(self._literal(atom), -1) for atom in instance.absent]
        parts += [self._compared(*part) for part in _totals(instance)]
        return self._every(parts)

    def _compared(self, weighted: Sequence[tuple[Fraction, Atom]], sign: Operator, number: Fraction) -> Sum:
        finest = math.lcm(*(amount.denominator for amount, _ in weighted))
        parts = Fraction(finest, math.gcd(*(int(amount * finest) for amount, _ in weighted)) or 1)
        if sum(abs(amount * parts) for amount, _ in weighted) > LARGEST:
            raise UnsupportedError(
                "integer programs cannot add up amounts that are so large beside the steps between them",
                hint="round the amounts, or name --engine circuit",
            )
        total, number = ZERO, number * parts
        for amount, atom in weighted:
            total = total.plus(self._literal(atom), amount * parts)
        least, above = math.ceil(number), math.floor(number) + 1
        match sign:
            case ">=":
                return self._reached(total, least)
            case ">":
                return self._reached(total, above)
            case "<":
                return ONE.plus(self._reached(total, least), -1)
            case "<=":
                return ONE.plus(self._reached(total, above), -1)
        equal = self._reached(total, least).plus(self._reached(total, above), -1)
        return equal if sign == "=" else ONE.plus(equal, -1)

    def _reached(self, total: Sum, number: int) -> Sum:
        """Expression for whether a whole total is at least ``number``."""
        low, high = total.reach
        if number <= low:
            return ONE
        if number > high:
            return ZERO
        truth = self._new(whole=True)
        self._row(total.plus(truth, low - number), least=float(low))
        self._row(total.plus(truth, number - 1 - high), most=number - 1)
        return truth


def _totals(instance: Instance) -> Iterator[tuple[list[tuple[Fraction, Atom]], Operator, Fraction]]:
    """Yield each comparison of an instance: the amounts and atoms that it adds up, its sign,
    and its number."""
    counted = iter(instance.counted)
    for total in instance.lowered.totals:
        weighted = [(part.amount(atom[1]), atom) for part in total.parts for atom in next(counted)]
        yield weighted, total.operator, total.number(instance.binding)


def _instance_holds(instance: Instance, holds: Callable[[Atom], bool]) -> bool:
    return (
        all(map(holds, instance.held))
        and not any(map(holds, instance.absent))
        and all(
            ORDERS[sign](sum((amount for amount, atom in weighted if holds(atom)), Fraction(0)), number)
            for weighted, sign, number in _totals(instance)
        )
    )
