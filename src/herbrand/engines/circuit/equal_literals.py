"""Merge literals that are equal in every world into one variable before compilation.

``friends(x, y) <=> friends(y, x)`` and ``before(x, y) xor before(y, x)`` leave one variable a pair where
there were two: clauses that then are equal become one, and every case of the search has half as many
variables to look at. Two literals are equal where each implies the other by clauses of two literals.

>>> net = Constraints()
>>> a, b = net.variable(), net.variable()
>>> net.require([2 * a, 2 * b])
>>> net.require([2 * a + 1, 2 * b + 1])
>>> equal_literals(net)
{1: 1}
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import replace

import numpy as np

from herbrand.engines.circuit.choices import Task
from herbrand.engines.circuit.constraints import NO_OWNER, Constraints, negated
from herbrand.graphs import strong_components


def unified(task: Task) -> tuple[Task, np.ndarray]:
    """The task with one variable for all literals that are equal, and for each literal of the original task
    the literal with its numbers."""
    places = np.arange(2 * len(task.net))
    equal = equal_literals(task.net)
    if not equal:
        return task, places
    for variable, literal in equal.items():
        places[2 * variable], places[2 * variable + 1] = literal, negated(literal)
    weights = np.zeros_like(task.log_weights)
    np.add.at(weights.reshape(-1), places ^ 1, task.log_weights[:, ::-1].reshape(-1))
    written = {int(places[2 * variable]) >> 1 for variable in task.written}
    merged = equal.keys() | {literal >> 1 for literal in equal.values()}
    net = _with(task.net, equal.keys(), places.tolist())
    return replace(task, net=net, log_weights=weights, written=written, normal=task.normal - merged), places


def equal_literals(net: Constraints) -> dict[int, int]:
    """For each variable to be left out, the equal literal of a kept one. Gates are kept, as restrictions
    define them."""
    below = defaultdict[int, list[int]](list)
    for literals, least, _, owner in net.restrictions:
        if owner == NO_OWNER and len(literals) == 2 and least == 1:
            one, other = literals
            if not (net.gates[one >> 1] or net.gates[other >> 1]):
                below[negated(one)].append(other)
                below[negated(other)].append(one)
                below[one], below[other] = below[one], below[other]
    equal: dict[int, int] = {}
    for component in strong_components(below):
        kept, *others = sorted(component)
        if others and not kept & 1 and negated(kept) not in component:
            equal.update((x >> 1, kept ^ (x & 1)) for x in others)
    return equal


def _with(net: Constraints, left_out: Collection[int], places: list[int]) -> Constraints:
    """The constraints over the kept literals, each restriction once. Variables left out become gates, so that
    the circuit does not write them."""
    smaller = net.keeping(())
    smaller.gates = [gate or variable in left_out for variable, gate in enumerate(net.gates)]
    for one in net.restrictions:
        smaller.require_sum(((w, places[literal]) for w, literal in one.weighted), one.least, one.owner)
    seen = {(frozenset(one.weighted), one.least, one.owner): one for one in smaller.restrictions}
    return smaller.keeping(seen.values())
