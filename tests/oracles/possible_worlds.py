"""Rules with probabilities, world by world: plain loops over all choices, each with its least model.

A world is a set of atoms, each a predicate and its row; a many-valued atom stands there with its value as one
more argument. A weighted rule has a choice for each assignment of the variables of its head and of what must
hold. Strata are evaluated one after the other, so that an absent atom is complete when it is asked for.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from herbrand.language import syntax as s
from tests.oracles.proofs import compares

Row = tuple[s.Value, ...]
Ground = tuple[str, Row]
Binding = Mapping[str, s.Value]


class Literal(NamedTuple):
    """Holds if one of these atoms is in the model, or if none is."""

    anyone: tuple[Ground, ...]
    positive: bool


class Instance(NamedTuple):
    """A ground rule; what compares constants in its body holds."""

    predicate: str
    row: Row
    binding: object
    body: tuple[Literal, ...]

    def holds(self, model: set[Ground]) -> bool:
        return all(any(atom in model for atom in part.anyone) == part.positive for part in self.body)


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
        asked = [(list(self._instances(goal)), known) for goal, known in zip(goals, found, strict=True)]
        for chance, atoms, taken in self._worlds():
            model = self._least_model(atoms, taken)
            for atom, holds in evidence:
                chance *= holds if atom in model else 1 - holds
            if chance:
                total += chance
                for instances, known in asked:
                    for row in {each.row for each in instances if each.holds(model)}:
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
        known = set(atoms)
        for stratum in self._grounded:
            while True:
                new = {
                    (each.predicate, each.row)
                    for place, instances in stratum
                    for each in instances
                    if (place is None or (place, each.binding) in taken) and each.holds(known)
                } - known
                if not new:
                    break
                known |= new
        return known

    @cached_property
    def _grounded(self) -> list[list[tuple[int | None, list[Instance]]]]:
        """The instances of each rule by strata, with the number of the rule where instances are chosen."""
        number = itertools.count()
        places = [[(next(number), rule) for rule in stratum] for stratum in self.strata]
        return [
            [(None if rule.weight is None else place, list(self._instances(rule))) for place, rule in stratum]
            for stratum in places
        ]

    def _instances(self, rule: s.Rule) -> Iterator[Instance]:
        for binding in self._assignments(rule):
            body = [self._literal(part, binding) for part in rule.body]
            if all(body):
                row = tuple(_value(term, binding) for term in rule.head.arguments)
                literals = tuple(part for part in body if part is not True)
                yield Instance(rule.head.predicate, row, tuple(binding.items()), literals)  # type: ignore[arg-type]

    def _assignments(self, rule: s.Rule) -> list[dict[str, s.Value]]:
        names = _names([rule.head, *(part for part in rule.body if not isinstance(part, s.Not))])
        every = itertools.product(*(self.ranges[name] for name in names))
        return [dict(zip(names, values, strict=True)) for values in every]

    def _literal(self, part: s.Formula, binding: Binding) -> Literal | bool:
        match part:
            case s.Not(operand=inner):
                own = [name for name in _names([inner]) if name not in binding]
                found = [
                    self._literal(inner, {**binding, **dict(zip(own, values, strict=True))})
                    for values in itertools.product(*(self.ranges[name] for name in own))
                ]
                if isinstance(inner, s.Comparison):
                    return not any(found)
                return Literal(tuple(atom for each in found for atom in each.anyone), False)  # type: ignore[union-attr]
            case s.Atom(predicate=name, arguments=terms):
                return Literal(((name, tuple(_value(term, binding) for term in terms)),), True)
            case s.ValueIs(atom=atom, value=value):
                return Literal(((atom.predicate, _row(atom, value, binding)),), True)
            case s.ValueIn(atom=atom, values=values):
                return Literal(tuple((atom.predicate, _row(atom, value, binding)) for value in values), True)
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
