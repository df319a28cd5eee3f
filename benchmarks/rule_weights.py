"""Horn rules compiled into the weights of a machine, so
that it concludes exactly what they derive (appendix D).

Rules without recursion, over at most ``breadth`` variables each, whose variables stand for different
objects: that is what a machine's predicates of several arguments are about. Each rule takes one layer for
the conjunction over all its variables and one for each variable that the head does not name; a predicate of
several rules, one layer more for their disjunction. Every channel is a truth value up to ``sigmoid(-SHARP /
2)``.

>>> from herbrand.language.parse import parse_theory
>>> theory = parse_theory("two(x, y) :- edge(x, z), edge(z, y), x != y, x != z, y != z")
>>> compiled = compile_rules(theory, {"edge": 2}, "two")
>>> path = torch.zeros(1, 4, 4, 1)
>>> path[0, 0, 1] = path[0, 1, 2] = path[0, 2, 3] = 1
>>> torch.nonzero(compiled({2: path})[0] > 0.5).tolist()
[[0, 2], [1, 3]]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations, permutations

import torch
from torch import nn

from herbrand.errors import LanguageError, UnsupportedError
from herbrand.induction.evaluation import ANY, Clause
from herbrand.induction.layer import LogicUnit
from herbrand.induction.machine import WIDEST, LogicMachine, Predicates
from herbrand.induction.tiles import fill_diagonals
from herbrand.language.theory import Theory
from tests.induction.rule_clauses import clause_of

SHARP = 40.0
"""The log-odds between true and false before a sigmoid: half of it on either side."""


@dataclass(frozen=True)
class _Channel:
    """Where a predicate stands after a layer."""

    arity: int
    number: int


class CompiledRules(nn.Module):
    """A machine and the channel of the target among its conclusions."""

    def __init__(self, machine: LogicMachine, arity: int, channel: int) -> None:
        super().__init__()
        self.machine, self.arity, self.channel = machine, arity, channel

    def forward(self, predicates: Predicates, present: torch.Tensor | None = None) -> torch.Tensor:
        """``[worlds, m * arity]``: near 1 where the rules derive the target, near 0 elsewhere."""
        conclusions = self.machine(predicates, present)[self.arity]
        assert conclusions is not None
        truth = conclusions[..., self.channel].clone()
        fill_diagonals(truth, 0.0, self.arity)
        return truth


def compile_rules(theory: Theory, inputs: Mapping[str, int], target: str) -> CompiledRules:
    """A machine that concludes what the theory's rules derive for the target.

    ``inputs``: arities of the predicates of the worlds, which take the channels of their arity in this order.
    Raises where rules are recursive, have more than four variables, or let two variables be one object.
    """
    clauses = _ordered([clause_of(rule) for rule in theory.rules], set(inputs), target)
    arities = {**inputs, **{clause.head: len(clause.variables) for clause in clauses}}
    breadth = max(1, *arities.values(), *(len(_all_variables(clause)) for clause in clauses))
    if breadth > WIDEST:
        raise UnsupportedError(f"a rule has {breadth} variables, more than the largest breadth, {WIDEST}")
    steps = _steps(clauses)
    counts = [sum(arity == r for arity in inputs.values()) for r in range(breadth + 1)]
    machine = LogicMachine(counts, depth=len(steps), breadth=breadth, width=1, residual=True)
    for weight in machine.parameters():
        nn.init.zeros_(weight)
    places = _input_places(inputs)
    sizes = list(counts)
    for number, step in enumerate(steps):
        layer = machine.each_layer()[number]
        made = [layer.unit(arity) is not None for arity in range(breadth + 1)]
        unit = layer.unit(step.arity)
        assert unit is not None
        step.set(unit, places, sizes)
        places[step.makes] = _Channel(step.arity, sizes[step.arity])
        sizes = [size + new for size, new in zip(sizes, made, strict=True)]
    found = places[target]
    return CompiledRules(machine, found.arity, found.number)


# Steps: one layer each


@dataclass(frozen=True)
class _Conjunction:
    """``makes(variables) <- body``, all variables named; body literals have all of them or fewer."""

    makes: str
    variables: tuple[int, ...]
    literals: tuple[tuple[str, tuple[int, ...], bool], ...]

    @property
    def arity(self) -> int:
        return len(self.variables)

    def set(self, unit: LogicUnit, places: Mapping[str, _Channel], sizes: list[int]) -> None:
        wanted = 0
        for name, variables, negated in self.literals:
            sign = -1.0 if negated else 1.0
            wanted += not negated
            _add(unit, places[name], tuple(self.variables.index(v) for v in variables), sign, sizes)
        unit.first.bias.data[0] = SHARP * (0.5 - wanted)


@dataclass(frozen=True)
class _Exists:
    """``makes(x...) <- exists the last variable: source``."""

    makes: str
    source: str
    arity: int

    def set(self, unit: LogicUnit, places: Mapping[str, _Channel], sizes: list[int]) -> None:
        below = sizes[self.arity - 1] if self.arity else 0
        column = below + sizes[self.arity] + 2 * places[self.source].number
        unit.first.weight.data[0, column] = SHARP
        unit.first.bias.data[0] = -SHARP / 2


@dataclass(frozen=True)
class _Disjunction:
    makes: str
    sources: tuple[str, ...]
    arity: int

    def set(self, unit: LogicUnit, places: Mapping[str, _Channel], sizes: list[int]) -> None:
        for source in self.sources:
            _add(unit, places[source], tuple(range(self.arity)), 1.0, sizes)
        unit.first.bias.data[0] = -SHARP / 2


@dataclass(frozen=True)
class _Expansion:
    """``makes(x..., y) <- source(x...)``, whatever y is."""

    makes: str
    source: str
    arity: int

    def set(self, unit: LogicUnit, places: Mapping[str, _Channel], sizes: list[int]) -> None:
        unit.first.weight.data[0, places[self.source].number] = SHARP
        unit.first.bias.data[0] = -SHARP / 2


_Step = _Conjunction | _Exists | _Disjunction | _Expansion


def _add(unit: LogicUnit, place: _Channel, variables: tuple[int, ...], sign: float, sizes: list[int]) -> None:
    """Weighs the channel at the permutation that reads the literal's variables in its own order."""
    arity = unit.arity
    order = _order(variables, arity)
    below = sizes[arity - 1] if arity else 0
    offset = place.number + (below if place.arity == arity else 0)
    total = sum(unit.parts)
    column = list(permutations(range(arity))).index(order) * total + offset
    unit.first.weight.data[0, column] += sign * SHARP


def _order(variables: tuple[int, ...], arity: int) -> tuple[int, ...]:
    """The permutation ``p`` with which axis ``a`` of a group
    is read at the result's place ``i``, ``p[i] = a``."""
    places = [*variables, *(i for i in range(arity) if i not in variables)]
    order = [0] * arity
    for axis, place in enumerate(places):
        order[place] = axis
    return tuple(order)


def _steps(clauses: list[Clause]) -> list[_Step]:
    """Layers for each clause in turn, and for each head after its last clause."""
    found: list[_Step] = []
    parts: dict[str, list[str]] = {}
    for number, clause in enumerate(clauses):
        name = f"{clause.head}#{number}"
        parts.setdefault(clause.head, []).append(name)
        free = [v for v in _all_variables(clause) if v not in clause.variables]
        variables = (*clause.variables, *free)
        literals = []
        for place, literal in enumerate(clause.body):
            source = literal.predicate
            for extra in range(len(literal.variables) + 1, len(variables)):
                widened = f"{name}.{place}^{extra}"
                found.append(_Expansion(widened, source, extra))
                source = widened
            literals.append((source, literal.variables, literal.negated))
        whole = f"{name}/{len(variables)}"
        found.append(_Conjunction(whole, variables, tuple(literals)))
        for arity in range(len(variables) - 1, len(clause.variables) - 1, -1):
            made = f"{name}/{arity}"
            found.append(_Exists(made, whole, arity))
            whole = made
        parts[clause.head][-1] = whole
        if clause is [c for c in clauses if c.head == clause.head][-1]:
            found.append(_Disjunction(clause.head, tuple(parts[clause.head]), len(clause.variables)))
    return found


def _all_variables(clause: Clause) -> list[int]:
    return list(dict.fromkeys((*clause.variables, *(v for x in clause.body for v in x.variables))))


def _input_places(inputs: Mapping[str, int]) -> dict[str, _Channel]:
    places: dict[str, _Channel] = {}
    for name, arity in inputs.items():
        places[name] = _Channel(arity, sum(place.arity == arity for place in places.values()))
    return places


def _ordered(clauses: list[Clause], known: set[str], target: str) -> list[Clause]:
    """Clauses that the target needs, each after those of the predicates it reads."""
    if target not in {clause.head for clause in clauses}:
        raise LanguageError(f"no rule derives '{target}'")
    result: list[Clause] = []

    def visit(head: str, above: tuple[str, ...]) -> None:
        if head in above:
            raise UnsupportedError(
                f"'{head}' is recursive", hint="only rules without recursion fit into layers"
            )
        own = [clause for clause in clauses if clause.head == head]
        if not own and head not in known:
            raise LanguageError(f"'{head}' is neither derived nor among the inputs")
        if head in known and own:
            raise UnsupportedError(f"'{head}' is an input and derived by a rule")
        for clause in own:
            _refuse_equal(clause)
            for literal in clause.body:
                if not any(done.head == literal.predicate for done in result):
                    visit(literal.predicate, (*above, head))
        result.extend(own)

    visit(target, ())
    return result


def _refuse_equal(clause: Clause) -> None:
    """Predicates of a machine are about different objects; it knows no constants."""
    if clause.conditions:
        raise UnsupportedError(f"the rule for '{clause.head}' names no constants and no order in a machine")
    if any(ANY in literal.variables for literal in clause.body):
        raise UnsupportedError(f"the rule for '{clause.head}' has '_' in a negated literal")
    apart = {frozenset(pair) for pair in clause.apart}
    open_pairs = [p for p in combinations(_all_variables(clause), 2) if frozenset(p) not in apart]
    repeated = any(len(set(x.variables)) < len(x.variables) for x in clause.body)
    if open_pairs or repeated or len(set(clause.variables)) < len(clause.variables):
        raise UnsupportedError(
            f"the rule for '{clause.head}' lets two variables be one object",
            hint="state that all its variables differ: x != y",
        )
