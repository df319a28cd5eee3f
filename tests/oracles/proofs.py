"""Proofs of Horn rules by plain loops: every rule, every assignment of constants, call by call.

The slow, obviously right version. A fact is a predicate, its constants and a weight; a call with ``left``
calls to spend, its own included, gives nothing where none is left.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from herbrand.language import syntax as s

Row = tuple[s.Value, ...]
Weights = dict[Row, float]
Facts = Mapping[str, Weights]
Places = Mapping[str, Sequence[Sequence[s.Value]]]


@dataclass(frozen=True)
class Proofs:
    """``add`` says how proofs of one atom come together; ``truths`` holds all provable atoms, for ``not``;
    ``places`` what may stand in each place of a predicate, where that is not every constant."""

    rules: Sequence[s.Rule]
    facts: Facts
    constants: Sequence[s.Value]
    truths: Mapping[str, frozenset[Row]]
    add: Callable[[float, float], float] = lambda left, right: left + right
    places: Places = field(default_factory=dict)
    _known: dict[tuple[str, int], Weights] = field(default_factory=dict)

    def answers(self, predicate: str, left: int) -> Weights:
        """The weight of every atom of a predicate that has a proof."""
        if not any(rule.head.predicate == predicate for rule in self.rules):
            return dict(self.facts.get(predicate, {}))
        if left == 0:
            return {}
        if (predicate, left) not in self._known:
            found = dict(self.facts.get(predicate, {}))
            for rule in self.rules:
                if rule.head.predicate == predicate:
                    for row, weight in self._instances(rule, left):
                        found[row] = self.add(found[row], weight) if row in found else weight
            self._known[predicate, left] = found
        return self._known[predicate, left]

    def _instances(self, rule: s.Rule, left: int) -> list[tuple[Row, float]]:
        made = itertools.count()
        body = [part if isinstance(part, s.Not) else _apart(part, made) for part in rule.body]
        positive = [part for part in body if not isinstance(part, s.Not)]
        names = _names([rule.head, *positive])
        found = []
        for values in itertools.product(*ranges(names, [rule.head, *positive], self.constants, self.places)):
            binding = dict(zip(names, values, strict=True))
            weight = rule.weight if isinstance(rule.weight, float) else 1
            for part in body:
                weight *= self._weight(part, binding, left)
                if not weight:
                    break
            if weight:
                found.append((_row(rule.head, binding), weight))
        return found

    def _weight(self, part: s.Formula, binding: Mapping[str, s.Value], left: int) -> float:
        match part:
            case s.Atom():
                return self.answers(part.predicate, left - 1).get(_row(part, binding), 0)
            case s.Not(operand=s.Atom() as atom):
                return int(not self._provable(atom, binding))
            case s.Comparison(operator=sign, left=one, right=other):
                return int(compares(sign, _value(one, binding), _value(other, binding)))
        raise AssertionError(part)

    def _provable(self, atom: s.Atom, binding: Mapping[str, s.Value]) -> bool:
        apart = _apart(atom, itertools.count(1000))
        assert isinstance(apart, s.Atom)
        own = [name for name in _names([apart]) if name not in binding]
        return any(
            _row(apart, {**binding, **dict(zip(own, values, strict=True))})
            in self.truths.get(atom.predicate, ())
            for values in itertools.product(*ranges(own, [apart], self.constants, self.places))
        )


def goal_answers(goal: s.Atom, weights: Weights, add: Callable[[float, float], float]) -> Weights:
    """The weights by the values of the goal's named variables, in the order they appear."""
    names = [name for name in _names([goal]) if name != "_"]
    found: Weights = {}
    for row, weight in weights.items():
        binding: dict[str, s.Value] = {}
        for term, value in zip(goal.arguments, row, strict=True):
            if isinstance(term, s.Constant):
                if term.value != value:
                    break
            elif term.name != "_" and binding.setdefault(term.name, value) != value:
                break
        else:
            key = tuple(binding[name] for name in names)
            found[key] = add(found[key], weight) if key in found else weight
    return found


def softmax(weights: Weights, null: float = -10.0) -> Weights:
    """Beside "no answer"."""
    total = math.exp(null) + sum(map(math.exp, weights.values()))
    return {row: math.exp(weight) / total for row, weight in weights.items()}


def compares(sign: str, left: s.Value, right: s.Value) -> bool:
    """Whether two constants compare so; a number and a text are unequal and in no order."""
    if isinstance(left, str) != isinstance(right, str):
        return sign == "!="
    order: dict[str, Callable[[Any, Any], bool]] = {
        "=": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt,
        ">=": operator.ge,
    }  # fmt: skip
    return order[sign](left, right)


def ranges(
    names: Sequence[str], parts: Sequence[s.Formula], constants: Sequence[s.Value], places: Places
) -> list[Sequence[s.Value]]:
    """What each variable ranges over: what may stand where an atom has it."""
    known = {
        term.name: values
        for part in parts
        if isinstance(part, s.Atom) and part.predicate in places
        for term, values in zip(part.arguments, places[part.predicate], strict=True)
        if isinstance(term, s.Variable)
    }
    return [known.get(name, constants) for name in names]


def _apart(part: s.Formula, made: itertools.count[int]) -> s.Formula:
    """Every ``_`` of an atom as a variable of its own, named by the next number."""
    if not isinstance(part, s.Atom):
        return part
    terms = [s.Variable(f"_{next(made)}`") if t == s.Variable("_") else t for t in part.arguments]
    return s.Atom(part.predicate, tuple(terms))


def _names(parts: Sequence[s.Formula]) -> list[str]:
    terms = (term for part in parts for leaf in s.walk(part) for term in s.leaf_terms(leaf))
    return list(dict.fromkeys(term.name for term in terms if isinstance(term, s.Variable)))


def _value(term: s.Term, binding: Mapping[str, s.Value]) -> s.Value:
    return term.value if isinstance(term, s.Constant) else binding[term.name]


def _row(atom: s.Atom, binding: Mapping[str, s.Value]) -> Row:
    return tuple(_value(term, binding) for term in atom.arguments)
