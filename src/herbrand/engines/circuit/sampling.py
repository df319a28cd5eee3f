"""Exact samples, by rejection or by a circuit.

Where only choices weigh worlds, each choice is drawn independently, derived atoms follow, and draws that
contradict the evidence are dropped. Where nearly all do, or formulas weigh worlds too, each draw is a walk
down a circuit that takes one kid of every sum by its share of the weight.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, ClassVar, Protocol

import numpy as np

from herbrand.answers.samples import DrawnAtom, World
from herbrand.budget import Budget
from herbrand.engines.circuit.circuit import Circuit
from herbrand.engines.circuit.constraints import FALSE, NO_OWNER, TRUE, Restriction
from herbrand.engines.circuit.worlds import Worlds
from herbrand.language.show import show_atom
from herbrand.language.syntax import Value
from herbrand.program.program import Program

NUMBERS_AT_ONCE = 1_000_000


Assignments = Callable[[np.ndarray], np.ndarray]
"""Maps numbers between 0 and 1, [draw, variable], to values of variables in those draws that are worlds; -1
for a variable without weight that is not queried."""
MEASURED, BYTES_A_WORLD, BYTES_AN_ATOM = 100, 240, 8
"""Worlds by which the size of all is estimated, and bytes: a world of one or no atom takes 260, measured."""
TRIED, LEAST_KEPT = 1000, 20
"""Number of trial draws of choices, and how many of them have to be worlds; else a circuit is compiled."""


def by_circuit(worlds: Worlds, circuit: Circuit) -> Assignments:
    """Sampler over all worlds of a circuit with the literals of every choice."""
    weights = worlds.made.log_weights()
    values = circuit.values(weights)
    return lambda uniform: circuit.samples(weights, values, uniform)


def by_choices(worlds: Worlds) -> Assignments | None:
    """Sampler that draws each choice independently, or ``None`` where too few draws are worlds. Gates are
    computed in their order, each after its inputs."""
    if worlds.made.has_laws:
        return None
    net, conditions = worlds.made.net, worlds.made.conditions
    chances = np.full(len(net), 0.5)
    for _, drawn in worlds.drawn:
        for variable, chance, behind in drawn.decisions:
            chances[variable] = chance / (chance + behind)
    needs = defaultdict[int, list[Restriction]](list)
    for one in net.restrictions:
        if one.owner != NO_OWNER and 2 * one.owner + 1 in one.literals:
            needs[one.owner].append(one)

    def assigned(uniform: np.ndarray) -> np.ndarray:
        values = (uniform < chances).T
        for gate in np.flatnonzero(net.gates).tolist():
            values[gate] = np.logical_and.reduce([_holds_in(values, one) for one in needs[gate]])
        for one in conditions:
            values = values[:, _holds_in(values, one)]
        return values.T.astype(np.int8)

    if not conditions:
        return assigned
    tried = assigned(np.random.default_rng(0).random((TRIED, len(net))))
    return assigned if len(tried) >= LEAST_KEPT else None


def _holds_in(values: np.ndarray, one: Restriction) -> np.ndarray:
    """Draws in which a restriction holds without the gate that it defines."""
    total = np.zeros(values.shape[1], np.int64)
    for weight, literal in one.weighted:
        if literal >> 1 != one.owner:
            total += weight * (values[literal >> 1] ^ bool(literal & 1))
    return total >= one.least


class Sampler(Protocol):
    """Draws worlds. ``engine``: the one that it belongs to; ``atoms``: what a world says, by axis."""

    engine: ClassVar[str]

    @property
    def atoms(self) -> Mapping[Any, tuple[str, DrawnAtom]]: ...

    def worlds(self, count: int, seed: int, budget: Budget) -> Iterator[World]:
        """Draw ``count`` independent worlds."""
        ...


@dataclass(frozen=True, eq=False)
class CircuitSamples:
    """Sampler by the variables of constraints. ``atoms``: each atom asked for, by its axis."""

    engine: ClassVar[str] = "circuit"
    constrained: Worlds
    atoms: dict[int, tuple[str, DrawnAtom]]
    assigned: Assignments

    def worlds(self, count: int, seed: int, budget: Budget) -> Iterator[World]:
        """Draw ``count`` independent worlds."""
        made = self.constrained.made
        weights = made.log_weights()
        random, variables = np.random.default_rng(seed), len(weights)
        at_once = max(1, NUMBERS_AT_ONCE // max(1, variables))
        done, kept = 0, 1.0
        while done < count:
            budget.check()
            uniform = random.random((min(at_once, math.ceil((count - done) / kept)), variables))
            chosen = self.assigned(uniform)
            kept = max(len(chosen), 1) / len(uniform)
            chosen = chosen[: count - done]
            written = np.maximum(chosen, 0)
            totals = np.where(chosen >= 0, weights[np.arange(variables), written], 0.0).sum(axis=1)
            for row, total in zip(chosen, totals.tolist(), strict=True):
                yield self._world(row, total + made.constant)
            done += len(chosen)

    @cached_property
    def _literals(self) -> list[tuple[str, DrawnAtom, Sequence[int]]]:
        return [(*told, self.constrained.axis(axis)) for axis, told in self.atoms.items()]

    def _world(self, row: np.ndarray, weight: float) -> World:
        true: list[str] = []
        values: dict[str, Value] = {}
        for text, atom, own in self._literals:
            held = [place for place, literal in enumerate(own) if _holds(row, literal)]
            if atom.values and held:
                values[text] = atom.values[held[0]]
            elif not atom.values and held == [1]:
                true.append(text)
        return World(tuple(true), values, weight)


def kept_worlds(worlds: Iterator[World], count: int, budget: Budget) -> tuple[World, ...]:
    """So many worlds; raises ``BudgetError`` where, by the first ones, they do not fit in memory."""
    first = tuple(islice(worlds, MEASURED))
    atoms = sum(len(world.true) + len(world.values) for world in first) / max(1, len(first))
    hint = "draw fewer --worlds, or allow more by --memory"
    budget.claim(count * (BYTES_A_WORLD + BYTES_AN_ATOM * atoms), f"drawing {count:,} worlds", hint)
    return (*first, *worlds)


def _holds(row: np.ndarray, literal: int) -> bool:
    if literal in (TRUE, FALSE):
        return literal == TRUE
    return bool(row[literal >> 1] == 1 - (literal & 1))


def drawn_values(chances: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """A value for each row of chances [draw, value], which need not add up to 1."""
    sums = chances.cumsum(axis=1)
    return (sums <= random.random((len(sums), 1)) * sums[:, -1:]).sum(axis=1)


def drawn_atom(program: Program, name: str, row: Sequence[int]) -> tuple[str, DrawnAtom]:
    """An atom's text, and the atom with the values it may have."""
    signature, facts = program.signature, program.facts
    predicate, shown = signature.predicates[name], signature.spelled.get(name, name)
    arguments = tuple(facts.constants(predicate.types, row))
    if predicate.value_type is None:
        return show_atom(shown, arguments), DrawnAtom(name, arguments)
    values = facts.domains[predicate.value_type]
    constants = tuple(values.value(i) for i in range(len(values)))
    return show_atom(shown, arguments), DrawnAtom(name, arguments, constants)
