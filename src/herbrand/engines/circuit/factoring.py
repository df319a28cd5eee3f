"""Factor out literals that alternatives share: a b or a c becomes a (b or c), if no other gate has a.

Grounding gives each proof a separate gate. Where a literal is in several proofs of one atom and nowhere else,
these gates are replaced by one over it and what is left of them. Then each variable is an input of one gate
alone, and :mod:`~herbrand.engines.circuit.reduction` makes one choice of them, whatever their number.

>>> net = Constraints()
>>> a, b, c = (2 * net.variable() for _ in range(3))
>>> some = net.either([net.every([a, b]), net.every([a, c])])
>>> conjunctions(net)  # a is 0, b is 2, c is 4, and odd literals are negated
{3: [0, 2], 4: [0, 4], 5: [7, 9]}
>>> conjunctions(factored(net, {some >> 1}))
{6: [3, 5], 7: [0, 13], 5: [15]}
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType

from herbrand.engines.circuit.constraints import NO_OWNER, Constraints, negated

ELSEWHERE = 2
"""Use by anything but a conjunction counts as so many gates, since such a literal may not be moved."""


def factored(net: Constraints, kept: Collection[int]) -> Constraints:
    """The same constraints with shared literals factored out; new gates come last. Gates in ``kept`` keep
    their meaning."""
    making = _Factoring(net, kept)
    changed = [making.changes(gate) for gate in making.before]
    return making.made() if any(changed) else net


def conjunctions(net: Constraints) -> dict[int, list[int]]:
    """Inputs of each gate that is a conjunction; a gate comes after its inputs."""
    return {
        owner: [negated(literal) for literal in literals if literal != 2 * owner]
        for literals, least, _, owner in net.restrictions
        if owner != NO_OWNER and least == 1 and 2 * owner in literals
    }


def redefined(
    net: Constraints,
    before: Mapping[int, Sequence[int]],
    inputs: Mapping[int, Sequence[int]],
    gates: Sequence[bool],
    new: Mapping[int, Sequence[int]] = MappingProxyType({}),
) -> Constraints:
    """The constraints with ``inputs`` of conjunctions in place of ``before``, each defined after its inputs.

    ``new``: the conjunctions added for another one, by that; ``gates``: which variables are gates now.
    """
    changed, met = net.keeping(()), set[int]()
    changed.gates, changed.consistent = list(gates), net.consistent
    for one in net.restrictions:
        gate = one.owner
        if gate not in before or inputs.get(gate) == before[gate]:
            changed.restrictions.append(one)
        elif gate not in met:
            met.add(gate)
            for own in (*new.get(gate, ()), gate):
                if own in inputs:  # not a gate that its only input replaced
                    changed.define(own, inputs[own])
    return changed


class _Factoring:
    def __init__(self, net: Constraints, kept: Collection[int]) -> None:
        self._net, self._kept = net, kept
        self.before = conjunctions(net)
        self.inputs = dict(self.before)
        self._uses = [0] * len(net)
        for literals, _, _, owner in net.restrictions:
            for literal in literals:
                if owner == NO_OWNER or owner not in self.inputs:
                    self._uses[literal >> 1] += ELSEWHERE
        for literals in self.inputs.values():
            for literal in literals:
                self._uses[literal >> 1] += 1
        self._new: dict[int, list[int]] = defaultdict(list)
        """New gates, by the gate that they were made for and are defined before."""
        self._gates = list(net.gates)

    def changes(self, gate: int) -> bool:
        """Factor out what the alternatives of a gate share; whether there was anything."""
        if gate in self.inputs:
            self.inputs[gate] = self._taken_out(gate, self.inputs[gate])
        return gate in self._new

    def _taken_out(self, place: int, literals: Sequence[int]) -> list[int]:
        """The literals of a gate, with new gates for alternatives that share a literal."""
        own = [x >> 1 for x in literals if x & 1 and self._is_own(x >> 1)]
        if len(own) < 2:
            return list(literals)
        having: dict[int, list[int]] = defaultdict(list)
        for gate in own:
            for literal in self.inputs[gate]:
                having[literal].append(gate)
        left, products = dict.fromkeys(own), list[int]()
        for shared, gates in sorted(having.items(), key=lambda pair: -len(pair[1])):
            if (
                len(gates) > 1
                and self._uses[shared >> 1] == len(gates)
                and all(gate in left for gate in gates)
            ):
                products.append(negated(self._shared(place, shared, gates)))
                for gate in gates:
                    del left[gate]
        taken = set(own).difference(left)
        return [*(x for x in literals if not (x & 1 and x >> 1 in taken)), *products]

    def _is_own(self, gate: int) -> bool:
        """Whether a gate is an alternative of one gate and used nowhere else."""
        return gate in self.inputs and self._uses[gate] == 1 and gate not in self._kept

    def _shared(self, place: int, shared: int, gates: Sequence[int]) -> int:
        """The literal of ``shared`` and at least one of what is left of the gates."""
        rests = list[int]()
        for gate in gates:
            rest = [literal for literal in self.inputs[gate] if literal != shared]
            if len(rest) > 1:
                self.inputs[gate] = rest
                rests.append(2 * gate + 1)
            else:
                del self.inputs[gate]
                rests.append(negated(rest[0]))
        self._uses[shared >> 1] = 1
        rests = list(dict.fromkeys(rests))  # a gate names a literal once: reduction multiplies what it names
        if not set(map(negated, rests)).isdisjoint(rests):  # one of them holds in any case
            return shared
        none = self._gate(place, self._taken_out(place, rests))
        return self._gate(place, [shared, negated(none)])

    def _gate(self, place: int, literals: Sequence[int]) -> int:
        if len(literals) == 1:
            return literals[0]
        gate = len(self._gates)
        self._gates.append(True)
        self._uses.append(1)
        self.inputs[gate] = list(literals)
        self._new[place].append(gate)
        return 2 * gate

    def made(self) -> Constraints:
        """The constraints over the gates as they are now."""
        return redefined(self._net, self.before, self.inputs, self._gates, self._new)
