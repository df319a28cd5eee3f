"""Loopy belief propagation by plain loops: factors and messages as dictionaries.

The slow, obviously right version. It reads syntax and nothing else of the project.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

from herbrand.language import syntax as s
from tests.oracles.worlds import GroundAtom, Universe

Message = list[float]


@dataclass
class Factor:
    """``table``: the log-weight of each choice of values for the variables of ``scope``."""

    scope: tuple[Hashable, ...]
    table: dict[tuple[int, ...], float]


@dataclass
class Graph:
    sizes: Mapping[Hashable, int]
    factors: Sequence[Factor]
    constant: float = 0.0
    messages: dict[tuple[int, int], Message] = field(default_factory=dict)
    """By factor and place of its scope, the log-message to the variable there."""

    def __post_init__(self) -> None:
        for number, factor in enumerate(self.factors):
            for place, variable in enumerate(factor.scope):
                self.messages[number, place] = [0.0] * self.sizes[variable]
            if len(factor.scope) == 1:  # a variable's own weights are there from the beginning
                self.messages[number, 0] = [factor.table[v,] for v in range(self.sizes[factor.scope[0]])]

    def round(self, damping: float = 0.0) -> None:
        """Every message anew from those before."""
        fresh = dict(self.messages)
        for (number, place), before in self.messages.items():
            if len(self.factors[number].scope) == 1:
                continue
            new = self._message(number, place)
            fresh[number, place] = [
                a if damping == 0 else (1 - damping) * a + damping * b
                for a, b in zip(new, before, strict=True)
            ]
        self.messages = fresh

    def _message(self, number: int, place: int) -> Message:
        factor = self.factors[number]
        found = []
        for value in range(self.sizes[factor.scope[place]]):
            terms = []
            for values, weight in factor.table.items():
                if values[place] == value:
                    told = [
                        self.incoming(number, other)[values[other]]
                        for other in range(len(values))
                        if other != place
                    ]
                    terms.append(weight + sum(told))
            found.append(log_sum(terms))
        return [m - max(found) for m in found]

    def incoming(self, number: int, place: int) -> Message:
        """What a variable tells a factor: the other factors' messages."""
        variable = self.factors[number].scope[place]
        told = [
            sum(
                message[value]
                for (other, at), message in self.messages.items()
                if self.factors[other].scope[at] == variable and (other, at) != (number, place)
            )
            for value in range(self.sizes[variable])
        ]
        return [m - max(told) for m in told]

    def marginals(self) -> dict[Hashable, list[float]]:
        found = {}
        for variable, size in self.sizes.items():
            told = self._belief(variable)
            total = log_sum(told)
            found[variable] = [math.exp(told[value] - total) for value in range(size)]
        return found

    def _belief(self, variable: Hashable) -> Message:
        return [
            sum(
                message[value]
                for (number, place), message in self.messages.items()
                if self.factors[number].scope[place] == variable
            )
            for value in range(self.sizes[variable])
        ]

    def bethe(self) -> float:
        """The Bethe log-partition by its definition from beliefs: averages of log-weights plus entropies.

        Only a fixed point of the messages has one.
        """
        marginals = self.marginals()
        total = self.constant
        counting = dict.fromkeys(self.sizes, 1)
        for number, factor in enumerate(self.factors):
            logs = {
                values: weight
                + sum(self.incoming(number, place)[value] for place, value in enumerate(values))
                for values, weight in factor.table.items()
            }
            scale = log_sum(list(logs.values()))
            for values, log_belief in logs.items():
                if log_belief > -math.inf:
                    belief = math.exp(log_belief - scale)
                    total += belief * (factor.table[values] - (log_belief - scale))
            for variable in factor.scope:
                counting[variable] -= 1
        for variable, count in counting.items():
            total -= count * sum(p * math.log(p) for p in marginals[variable] if p > 0)
        return total


def log_sum(terms: Sequence[float]) -> float:
    largest = max(terms, default=-math.inf)
    if largest == -math.inf:
        return largest
    return largest + math.log(sum(math.exp(term - largest) for term in terms))


def ground_graph(universe: Universe, statements: Sequence[s.WeightedFormula]) -> Graph:
    """A factor a ground formula over the latent atoms it names; factors over the same atoms added up.

    For formulas without quantifiers.
    """
    latent = {a: universe.choices(a) for a in universe.atoms() if len(universe.choices(a)) > 1}
    tables: dict[frozenset[GroundAtom], dict[tuple[int, ...], float]] = {}
    constant = 0.0

    def add(scope: Sequence[GroundAtom], weight: object) -> None:
        nonlocal constant
        atoms = sorted(scope)
        if not atoms:
            constant += weight({})  # type: ignore[operator]
            return
        table = tables.setdefault(frozenset(atoms), {})
        for values in itertools.product(*(range(len(latent[a])) for a in atoms)):
            chosen = {a: latent[a][v] for a, v in zip(atoms, values, strict=True)}
            table[values] = table.get(values, 0.0) + weight(chosen)  # type: ignore[operator]

    fixed = {a: universe.choices(a)[0] for a in universe.atoms() if a not in latent}
    for statement in statements:
        for binding in universe.bindings(statement):
            named = dict.fromkeys(
                (
                    part.predicate,
                    tuple(t.value if isinstance(t, s.Constant) else binding[t.name] for t in part.arguments),
                )
                for part in s.walk(statement.formula)
                if isinstance(part, s.Atom)
            )

            meaning = universe.meaning(statement.formula, binding)

            def worth(chosen: dict, statement=statement, meaning=meaning) -> float:  # type: ignore[no-untyped-def]
                holds = meaning({**fixed, **chosen})
                if isinstance(statement.weight, s.Hard):
                    return 0.0 if holds else -math.inf
                return statement.weight * holds  # type: ignore[operator]

            add([a for a in named if a in latent], worth)
    for atom, value, weight in universe.soft:
        if atom in latent:
            add([atom], lambda chosen, a=atom, v=value, w=weight: w if chosen[a] == v else 0.0)
        elif fixed[atom] == value:
            constant += weight
    factors = [Factor(tuple(sorted(scope)), table) for scope, table in tables.items()]
    return Graph({a: len(values) for a, values in latent.items()}, factors, constant)
