"""Rules with probabilities, world by world: plain loops over all choices, each with its least model.

A world is a set of atoms, each a predicate and its row; a many-valued atom stands there with its value as one
more argument. A weighted rule has a choice for each assignment of the variables of its head and of what must
hold. Strata are evaluated one after the other, so that an absent atom is complete when it is asked for.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from herbrand.language import syntax as s
from tests.oracles.proofs import compares

Row = tuple[s.Value, ...]
Ground = tuple[str, Row]
Binding = Mapping[str, s.Value]


@dataclass(frozen=True)
class Worlds:
    """``choices``: of each, the chance of every outcome, one of which holds; no atom: nothing does.
    ``ranges``: the constants of each variable, by its name."""

    strata: Sequence[Sequence[s.Rule]]
    choices: Sequence[Sequence[tuple[float, Ground | None]]]
    ranges: Mapping[str, Sequence[s.Value]]

    def conditional(
        self, goals: Sequence[s.Rule], evidence: Sequence[tuple[Ground, float]]
    ) -> tuple[float, list[dict[Row, float]]]:
        """How probable the evidence is, and the probability of each goal's heads given it.

        Evidence of 1 or 0 holds or does not; with a number between, a world in which its atom holds counts by
        that number, and another one by the rest."""
        total, found = 0.0, [dict[Row, float]() for _ in goals]
        for chance, atoms, taken in self._worlds():
            model = self._least_model(atoms, taken)
            for atom, holds in evidence:
                chance *= holds if atom in model else 1 - holds
            if chance:
                total += chance
                for goal, known in zip(goals, found, strict=True):
                    for row in {row for row, _ in self._instances(goal, model)}:
                        known[row] = known.get(row, 0.0) + chance
        return total, [{row: p / total for row, p in known.items()} for known in found]

    def _worlds(self) -> Iterator[tuple[float, set[Ground], set[object]]]:
        weighted = [
            (rule, number, tuple(binding.items()))
            for number, rule in enumerate(rule for stratum in self.strata for rule in stratum)
            if rule.weight is not None
            for binding in self._assignments(rule)
        ]
        rules: list[list[tuple[float, object]]] = [
            [(float(rule.weight), (number, binding)), (1 - float(rule.weight), None)]  # type: ignore[arg-type]
            for rule, number, binding in weighted
        ]
        for outcomes in itertools.product(*self.choices, *rules):
            chance = 1.0
            for one, _ in outcomes:
                chance *= one
            if chance:
                named = [name for _, name in outcomes]
                atoms = {atom for atom in named[: len(self.choices)] if atom is not None}
                yield chance, atoms, {name for name in named[len(self.choices) :] if name is not None}  # type: ignore[misc]

    def _least_model(self, atoms: set[Ground], taken: set[object]) -> set[Ground]:
        known, number = set(atoms), 0
        for stratum in self.strata:
            numbered = list(enumerate(stratum, start=number))
            number += len(stratum)
            while True:
                new = {
                    (rule.head.predicate, row)
                    for place, rule in numbered
                    for row, binding in self._instances(rule, known)
                    if rule.weight is None or (place, binding) in taken
                } - known
                if not new:
                    break
                known |= new
        return known

    def _instances(self, rule: s.Rule, known: set[Ground]) -> Iterator[tuple[Row, object]]:
        for binding in self._assignments(rule):
            if all(self._holds(part, binding, known) for part in rule.body):
                yield tuple(_value(term, binding) for term in rule.head.arguments), tuple(binding.items())

    def _assignments(self, rule: s.Rule) -> list[dict[str, s.Value]]:
        names = _names([rule.head, *(part for part in rule.body if not isinstance(part, s.Not))])
        every = itertools.product(*(self.ranges[name] for name in names))
        return [dict(zip(names, values, strict=True)) for values in every]

    def _holds(self, part: s.Formula, binding: Binding, known: set[Ground]) -> bool:
        match part:
            case s.Not(operand=inner):
                own = [name for name in _names([inner]) if name not in binding]
                return not any(
                    self._holds(inner, {**binding, **dict(zip(own, values, strict=True))}, known)
                    for values in itertools.product(*(self.ranges[name] for name in own))
                )
            case s.Atom(predicate=name, arguments=terms):
                return (name, tuple(_value(term, binding) for term in terms)) in known
            case s.ValueIs(atom=atom, value=value):
                return (atom.predicate, _row(atom, value, binding)) in known
            case s.ValueIn(atom=atom, values=values):
                return any((atom.predicate, _row(atom, value, binding)) in known for value in values)
            case s.Comparison(operator=sign, left=left, right=right):
                return compares(sign, _value(left, binding), _value(right, binding))
        raise AssertionError(part)


def _row(atom: s.Atom, value: s.Term, binding: Binding) -> Row:
    return tuple(_value(term, binding) for term in (*atom.arguments, value))


def _value(term: s.Term, binding: Binding) -> s.Value:
    return term.value if isinstance(term, s.Constant) else binding[term.name]


def _names(parts: Sequence[s.Formula]) -> list[str]:
    terms = (term for part in parts for leaf in s.walk(part) for term in s.leaf_terms(leaf))
    return list(dict.fromkeys(term.name for term in terms if isinstance(term, s.Variable)))
