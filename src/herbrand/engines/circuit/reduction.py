"""Gates over choices of their own are one choice: series and parallel parts vanish before compilation.

Where nothing else rests on the inputs of a gate, and nobody asks for them, all of them together are one
variable whose probability is a product. A chain of edges becomes one edge, two-hop paths become one, whatever
their number; of what is left the search decides every variable.

>>> net = Constraints()
>>> a, b = net.variable(), net.variable()
>>> both = net.every([2 * a, 2 * b])
>>> weights = np.log([[0.5, 0.5], [0.75, 0.25], [1, 1]])
>>> found = reduced(net, weights, {a, b}, {both >> 1})
>>> len(found.net.clauses), np.exp(found.log_weights[both >> 1]).round(3).tolist()
(0, [0.875, 0.125])
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from herbrand.engines.circuit.constraints import NO_OWNER, Constraints, negated

NOBODY, MANY = -2, -3
"""In place of the gate that rests on a variable; not NO_OWNER, which clauses of nobody's have."""


@dataclass(frozen=True, eq=False)
class Reduced:
    """Constraints over the same variables, with their ``log_weights``; ``normal``: those whose two weights
    add up to 1."""

    net: Constraints
    log_weights: np.ndarray
    normal: set[int]


def reduced(
    net: Constraints, log_weights: np.ndarray, normal: Collection[int], kept: Collection[int]
) -> Reduced:
    """The constraints without ``normal`` variables that stand in one gate alone, except those ``kept``."""
    weights, free, users = log_weights.copy(), set(normal), _users(net)
    inputs = {
        owner: [negated(literal) for literal in clause if literal != 2 * owner]
        for clause, owner in zip(net.clauses, net.owners, strict=True)
        if owner != NO_OWNER and 2 * owner in clause
    }
    left = dict(inputs)
    gates = list(net.gates)
    for gate, literals in inputs.items():  # a gate comes after its inputs
        own = [x for x in literals if users[x >> 1] == gate and x >> 1 in free and x >> 1 not in kept]
        if len(own) < 2:
            continue
        holds = sum(float(weights[x >> 1, 1 - (x & 1)]) for x in own)
        fails = _log_less(holds)
        if len(own) < len(literals):
            merged = own[0] >> 1
            weights[merged] = fails, holds
            left[gate] = [2 * merged, *(x for x in literals if x not in own)]
            continue
        if not weights[gate].any():
            free.add(gate)
        weights[gate] += fails, holds
        gates[gate] = False
        del left[gate]
    smaller = Constraints()
    smaller.gates, smaller.groups, smaller.consistent = gates, net.groups, net.consistent
    smaller.counters = [counter for counter in net.counters if all(gates[gate] for gate in counter[1])]
    for clause, owner in zip(net.clauses, net.owners, strict=True):
        if owner == NO_OWNER or left.get(owner) is inputs[owner]:
            smaller.add(clause, owner)
    for gate, literals in left.items():
        if literals is not inputs[gate]:
            smaller.define(gate, literals)
    return Reduced(smaller, weights, free)


def used(net: Constraints, kept: Collection[int]) -> Constraints:
    """The constraints without the definitions of gates on which nothing rests, but for those ``kept``."""
    inputs: dict[int, set[int]] = {}
    uses = [0] * len(net)
    for clause, owner in zip(net.clauses, net.owners, strict=True):
        if owner == NO_OWNER:
            for literal in clause:
                uses[literal >> 1] += 1
        else:
            inputs.setdefault(owner, set()).update(x >> 1 for x in clause if x >> 1 != owner)
    for group in net.groups:
        for literal in group:
            uses[literal >> 1] += 1
    for below in inputs.values():
        for variable in below:
            uses[variable] += 1
    dropped: set[int] = set()
    for gate in sorted(inputs, reverse=True):  # a gate comes after its inputs
        if uses[gate] == 0 and gate not in kept:
            dropped.add(gate)
            for variable in inputs[gate]:
                uses[variable] -= 1
    if not dropped:
        return net
    return net.keeping(lambda _, owner: owner not in dropped)


def _users(net: Constraints) -> list[int]:
    """The gate that alone rests on each variable, if one does."""
    users = [NOBODY] * len(net)
    for clause, owner in zip(net.clauses, net.owners, strict=True):
        for literal in clause:
            variable = literal >> 1
            if variable != owner and users[variable] != owner:
                users[variable] = owner if users[variable] == NOBODY and owner != NO_OWNER else MANY
    for group in net.groups:
        for literal in group:
            users[literal >> 1] = MANY
    return users


def _log_less(holds: float) -> float:
    """The logarithm of 1 less a probability, given by its logarithm."""
    if holds >= 0.0:
        return -math.inf
    return math.log(-math.expm1(holds)) if holds > -math.log(2) else math.log1p(-math.exp(holds))
