"""Series and parallel reduction: gates over choices that nothing else uses become one choice before
compilation.

Where nothing else depends on the inputs of a gate, and they are not queried, all of them together are one
variable whose probability is a product. A chain of edges becomes one edge, and two-hop paths become one,
whatever their number; the search decides only the variables that are left.

>>> net = Constraints()
>>> a, b = net.variable(), net.variable()
>>> both = net.every([2 * a, 2 * b])
>>> weights = np.log([[0.5, 0.5], [0.75, 0.25], [1, 1]])
>>> found = reduced(net, weights, {a, b}, {both >> 1})
>>> len(found.net.restrictions), np.exp(found.log_weights[both >> 1]).round(3).tolist()
(0, [0.875, 0.125])
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from herbrand.engines.circuit.constraints import NO_OWNER, Constraints, Restriction, negated
from herbrand.engines.circuit.factoring import conjunctions, redefined

NOBODY, MANY = -2, -3
"""Markers for variables used by no gate, and by several; unlike ``NO_OWNER``, the owner of a requirement."""
MOST_SHARED = 10_000
"""Most pairs of a gate and a variable of several uses below it that are looked at for independence."""


@dataclass(frozen=True, eq=False)
class Reduced:
    """Constraints over the same variables, with their ``log_weights``; ``normal``: variables whose two
    weights add up to 1."""

    net: Constraints
    log_weights: np.ndarray
    normal: set[int]


def reduced(
    net: Constraints, log_weights: np.ndarray, normal: Collection[int], kept: Collection[int]
) -> Reduced:
    """For each gate, merge the ``normal`` variables that only it uses into one choice, except those ``kept``.

    The last variables may have no ``log_weights``, as new gates have none.
    """
    free, users = set(normal), _users(net)
    # A list, as each weight is looked up alone; a literal comes before its negation, and false before true.
    weights = [*log_weights.reshape(-1).tolist(), *[0.0] * (2 * (len(net) - len(log_weights)))]
    inputs = conjunctions(net)
    left = dict(inputs)
    gates = list(net.gates)
    for gate, literals in inputs.items():  # a gate comes after its inputs
        own = [x for x in literals if users[x >> 1] == gate and x >> 1 in free and x >> 1 not in kept]
        if len(own) < min(2, len(literals)):
            continue
        holds = sum([weights[x ^ 1] for x in own])
        fails = log_less(holds)
        if len(own) < len(literals):
            merged = own[0] >> 1
            weights[2 * merged : 2 * merged + 2] = fails, holds
            left[gate] = [2 * merged, *(x for x in literals if x not in own)]
            continue
        if not any(weights[2 * gate : 2 * gate + 2]):
            free.add(gate)
        weights[2 * gate] += fails
        weights[2 * gate + 1] += holds
        gates[gate] = False
        del left[gate]
    return Reduced(redefined(net, inputs, left, gates), np.array(weights).reshape(-1, 2), free)


class Independent(NamedTuple):
    """Gates whose inputs are independent of each other, and the literals that hold in every world."""

    inputs: dict[int, list[int]]
    fixed: set[int]

    @classmethod
    def of(cls, net: Constraints) -> Independent | None:
        """The gates, where all are conjunctions, no variable is below two inputs of one of them, and only
        single literals are required, so that variables stay independent; ``None`` elsewhere."""
        inputs, required = conjunctions(net), net.required
        definitions = sum(len(literals) + 1 for literals in inputs.values())
        if definitions + len(required) < len(net.restrictions) or not _are_independent(inputs):
            return None
        fixed = _fixed(inputs, required)
        return None if fixed is None else cls(inputs, fixed)


def _are_independent(inputs: Mapping[int, Sequence[int]]) -> bool:
    """Whether no variable is below two inputs of one gate."""
    uses, room = Counter(literal >> 1 for literals in inputs.values() for literal in literals), MOST_SHARED
    shared: dict[int, list[int]] = {}  # below each gate, the variables of several uses: all others are in one
    for gate, literals in inputs.items():
        own = [literal >> 1 for literal in literals]
        below = [v for v in own if uses[v] > 1] + [v for under in own for v in shared.get(under, ())]
        room -= len(below)
        if len(set(below)) < len(below) or room < 0:
            return False
        shared[gate] = below
    return True


def _fixed(inputs: Mapping[int, Sequence[int]], required: Sequence[Restriction]) -> set[int] | None:
    """The literals of decisions that must hold; ``None`` where a requirement leaves a choice, or no world."""
    left, fixed = [literal for one in required for literal in one.literals], set[int]()
    if len(left) > len(required):
        return None
    while left:
        literal = left.pop()
        if literal >> 1 not in inputs:
            fixed.add(literal)
        elif literal & 1:
            return None
        else:
            left += inputs[literal >> 1]
    return fixed if fixed.isdisjoint(map(negated, fixed)) else None


def used(net: Constraints, kept: Collection[int]) -> Constraints:
    """The constraints without the definitions of gates that nothing uses, except those ``kept``."""
    inputs: dict[int, set[int]] = {}
    uses = [0] * len(net)
    for literals, _, _, owner in net.restrictions:
        if owner == NO_OWNER:
            for literal in literals:
                uses[literal >> 1] += 1
        else:
            inputs.setdefault(owner, set()).update(x >> 1 for x in literals if x >> 1 != owner)
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
    return net.keeping(one for one in net.restrictions if one.owner not in dropped)


def _users(net: Constraints) -> list[int]:
    """The one gate that uses each variable, else ``NOBODY`` or ``MANY``."""
    users = [NOBODY] * len(net)
    for literals, _, _, owner in net.restrictions:
        for literal in literals:
            variable = literal >> 1
            if variable != owner and users[variable] != owner:
                users[variable] = owner if users[variable] == NOBODY and owner != NO_OWNER else MANY
    return users


def log_less(holds: float) -> float:
    """The logarithm of 1 less a probability, from its logarithm."""
    if holds >= 0.0:
        return -math.inf
    # log(1 - exp(x)): expm1 is exact near 0, log1p far below it; the cutoff is Mächler's (log1mexp).
    return math.log(-math.expm1(holds)) if holds > -math.log(2) else math.log1p(-math.exp(holds))
