"""What a circuit is compiled from: two-valued variables, clauses, and groups of which at most one is true.

A literal is ``2 * variable`` for true and ``2 * variable + 1`` for false. A *gate* is a variable that others
define: clauses that only define one carry it as their owner, so that the compiler can leave out definitions
that nothing depends on any more. Gates are built bottom up and shared where they are equal.

>>> net = Constraints()
>>> rain, sprinkler = 2 * net.variable(), 2 * net.variable()
>>> wet = net.either([rain, sprinkler])
>>> wet == net.either([sprinkler, rain]), negated(wet) == net.every([negated(rain), negated(sprinkler)])
(True, True)
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise

from herbrand.language.syntax import Operator

TRUE = -1
"""The literal that always holds."""
FALSE = -2
"""The literal that never does."""

NO_OWNER = -1


def negated(literal: int) -> int:
    """The literal's opposite; of the constants too."""
    return literal ^ 1


class Constraints:
    """Variables and what restricts them; grows while a program is read, and is compiled as it stands."""

    def __init__(self) -> None:
        self.gates: list[bool] = []
        self.clauses: list[tuple[int, ...]] = []
        self.owners: list[int] = []
        self.groups: list[tuple[int, ...]] = []
        self.consistent = True
        self._shared: dict[tuple[int, ...], int] = {}

    def __len__(self) -> int:
        """How many variables there are."""
        return len(self.gates)

    def variable(self) -> int:
        """A new variable that nothing defines."""
        self.gates.append(False)
        return len(self.gates) - 1

    def require(self, literals: Iterable[int]) -> None:
        """One of the literals holds."""
        literals = dict.fromkeys(literals)
        if TRUE in literals or any(negated(literal) in literals for literal in literals if literal >= 0):
            return
        kept = tuple(literal for literal in literals if literal != FALSE)
        if not kept:
            self.consistent = False
        self._add(kept, NO_OWNER)

    def exactly_one(self, literals: Sequence[int]) -> None:
        """One of the literals holds, and no other."""
        self.require(literals)
        self.at_most_one(literals)

    def at_most_one(self, literals: Sequence[int]) -> None:
        """No two of the literals hold."""
        kept = list(dict.fromkeys(literal for literal in literals if literal != FALSE))
        if TRUE in kept:
            for literal in kept:
                if literal != TRUE:
                    self.require([negated(literal)])
        elif len(kept) > 1:
            self.groups.append(tuple(kept))

    def either(self, literals: Iterable[int]) -> int:
        """The literal of the gate that holds where one of the literals does."""
        return negated(self.every([negated(literal) for literal in literals]))

    def every(self, literals: Iterable[int]) -> int:
        """The literal of the gate that holds where all of the literals do."""
        kept = sorted({literal for literal in literals if literal != TRUE})
        if FALSE in kept or any(a ^ 1 == b for a, b in pairwise(kept)):
            return FALSE
        if not kept:
            return TRUE
        if len(kept) == 1:
            return kept[0]
        key = tuple(kept)
        if key not in self._shared:
            self._shared[key] = self._gate(key)
        return self._shared[key]

    def counted(self, literals: Sequence[int], operator: Operator, number: float) -> int:
        """The literal of the gate that holds where so many of the literals do.

        >>> net = Constraints()
        >>> one, other = 2 * net.variable(), 2 * net.variable()
        >>> net.counted([one, other], ">", 1) == net.every([one, other])
        True
        """
        least, above = math.ceil(number), math.floor(number) + 1
        match operator:
            case ">=":
                return self.at_least(literals, least)
            case ">":
                return self.at_least(literals, above)
            case "<":
                return negated(self.at_least(literals, least))
            case "<=":
                return negated(self.at_least(literals, above))
        equal = self.every([self.at_least(literals, least), negated(self.at_least(literals, above))])
        return equal if operator == "=" else negated(equal)

    def at_least(self, literals: Sequence[int], number: int) -> int:
        """The literal of the gate that holds where ``number`` of the literals do: a sequential counter, whose
        gates are shared with those of other numbers over the same literals."""
        number -= sum(literal == TRUE for literal in literals)
        kept = [literal for literal in literals if literal not in (TRUE, FALSE)]
        if number > len(kept) - number + 1:  # counting those that do not hold makes fewer gates
            return negated(self._reached([negated(literal) for literal in kept], len(kept) - number + 1))
        return self._reached(kept, number)

    def _reached(self, literals: Sequence[int], number: int) -> int:
        if number <= 0:
            return TRUE
        below = [TRUE] + [FALSE] * number
        for literal in literals:
            below = [TRUE] + [
                self.either([before, self.every([one_less, literal])]) for one_less, before in pairwise(below)
            ]
        return below[number]

    def _gate(self, literals: tuple[int, ...]) -> int:
        gate = self.variable()
        self.gates[gate] = True
        for literal in literals:
            self._add((2 * gate + 1, literal), gate)
        self._add((2 * gate, *(negated(literal) for literal in literals)), gate)
        return 2 * gate

    def _add(self, clause: tuple[int, ...], owner: int) -> None:
        self.clauses.append(clause)
        self.owners.append(owner)
