"""The constraints from which a circuit is compiled: two-valued variables and the restrictions over them.

A literal is ``2 * variable`` for true and ``2 * variable + 1`` for false. There is one kind of restriction:
the weights of the literals that hold add up to a number or more. In a clause each weighs 1, and 1 is needed.
A *gate* is a variable that others define: restrictions that only define one carry it as their owner, so that
the compiler can leave out definitions that nothing depends on any more. Gates are built bottom up and shared
where they are equal.

>>> net = Constraints()
>>> rain, sprinkler = 2 * net.variable(), 2 * net.variable()
>>> wet = net.either([rain, sprinkler])
>>> wet == net.either([sprinkler, rain]), negated(wet) == net.every([negated(rain), negated(sprinkler)])
(True, True)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from itertools import accumulate
from typing import NamedTuple

from herbrand.budget import Budget
from herbrand.language.syntax import Operator

TRUE = -1
"""The literal that always holds."""
FALSE = -2
"""The literal that never holds."""

NO_OWNER = -1
BYTES_A_NEED = 1000
MOST_WEIGHT = 2**61
"""Largest sum of weights that fits the 64 bits of the search; for larger sums there is a gate for each amount
still to be reached."""


def negated(literal: int) -> int:
    """The negation of a literal, or of ``TRUE`` and ``FALSE``."""
    return literal ^ 1


class Restriction(NamedTuple):
    """The weights of the literals that hold add up to ``least`` or more; without ``weights`` each is 1.

    No two of the literals are of one variable. ``owner``: the gate that it helps to define.
    """

    literals: tuple[int, ...]
    least: int = 1
    weights: tuple[int, ...] | None = None
    owner: int = NO_OWNER

    @property
    def weighted(self) -> Iterable[tuple[int, int]]:
        """Each weight and its literal."""
        return zip(self.weights or [1] * len(self.literals), self.literals, strict=True)

    @property
    def possible(self) -> bool:
        """Whether all literals together would be enough."""
        return (sum(self.weights) if self.weights else len(self.literals)) >= self.least


class Constraints:
    """Variables and restrictions over them; it grows while a program is read."""

    def __init__(self) -> None:
        self.gates: list[bool] = []
        self.restrictions: list[Restriction] = []
        self.consistent = True
        self._shared: dict[tuple[object, ...], int] = {}

    def __len__(self) -> int:
        """Number of variables."""
        return len(self.gates)

    @property
    def required(self) -> list[Restriction]:
        """The restrictions that define no gate."""
        return [one for one in self.restrictions if one.owner == NO_OWNER]

    def variable(self) -> int:
        """Add a variable that no restriction defines."""
        self.gates.append(False)
        return len(self.gates) - 1

    def require(self, literals: Iterable[int]) -> None:
        """Require that at least one of the literals holds."""
        self.require_sum([(1, literal) for literal in literals], 1)

    def exactly_one(self, literals: Sequence[int]) -> None:
        """Require that exactly one of the literals holds."""
        self.require(literals)
        self.at_most_one(literals)

    def at_most_one(self, literals: Sequence[int]) -> None:
        """Require that no two of the literals hold. Equal ones, as atoms of one cause have them, count each,
        so that they must be false."""
        self.require_sum([(1, negated(literal)) for literal in literals], len(literals) - 1)

    def require_sum(self, weighted: Iterable[tuple[int, int]], least: int, owner: int = NO_OWNER) -> None:
        """Require that the weights of the literals that hold add up to ``least`` or more."""
        weights, least = _positive(weighted, least)
        if least > 0:
            values = tuple(weights.values())
            row = Restriction(tuple(weights), least, values if max(values, default=1) > 1 else None, owner)
            self.consistent = self.consistent and row.possible
            self.restrictions.append(row)

    def either(self, literals: Iterable[int]) -> int:
        """The literal of the gate that is true where at least one of the literals holds."""
        return self.every([literal ^ 1 for literal in literals]) ^ 1  # ``negated``, without its calls

    def both(self, one: int, other: int) -> int:
        """The literal of the gate that is true where two literals hold."""
        if TRUE in (one, other):
            return other if one == TRUE else one
        return self.every((one, other))

    def every(self, literals: Iterable[int]) -> int:
        """The literal of the gate that is true where all of the literals hold."""
        kept = set(literals)
        kept.discard(TRUE)
        if len(kept) < 2:
            return kept.pop() if kept else TRUE
        if FALSE in kept or not kept.isdisjoint([literal ^ 1 for literal in kept]):
            return FALSE
        key = tuple(sorted(kept))
        if key not in self._shared:
            gate = self._new_gate()
            self.define(gate, key)
            self._shared[key] = 2 * gate
        return self._shared[key]

    def at_least(self, weighted: Iterable[tuple[int, int]], least: int) -> int:
        """The literal of the gate that is true where the weights of the literals that hold reach ``least``.

        >>> net = Constraints()
        >>> one, other = 2 * net.variable(), 2 * net.variable()
        >>> net.at_least([(1, one), (2, other)], 3) == net.every([one, other])
        True
        """
        weights, least = _positive(weighted, least)
        total, smallest = sum(weights.values()), min(weights.values(), default=0)
        if least <= 0 or total < least:
            return TRUE if least <= 0 else FALSE
        if smallest == least:
            return self.either(weights)
        if total - smallest < least:
            return self.every(weights)
        key = least, *sorted(weights.items())
        if key not in self._shared:
            self._shared[key] = literal = 2 * self._new_gate()
            reached = [(weight, member) for member, weight in weights.items()]
            missed, too_little = [(w, negated(member)) for w, member in reached], total - least + 1
            self.require_sum([*reached, (least, negated(literal))], least, literal >> 1)
            self.require_sum([*missed, (too_little, literal)], too_little, literal >> 1)
        return self._shared[key]

    def totalled(
        self,
        weighted: Iterable[tuple[float | Fraction, int]],
        operator: Operator,
        number: float | Fraction,
        budget: Budget,
    ) -> int:
        """The literal of the gate that compares the total weight of the literals that hold with ``number``.

        >>> from herbrand.budget import UNLIMITED
        >>> net = Constraints()
        >>> one, other = 2 * net.variable(), 2 * net.variable()
        >>> net.totalled([(1, one), (2.5, other)], ">=", 3, UNLIMITED) == net.every([one, other])
        True
        """
        fractions = [(Fraction(amount), literal) for amount, literal in weighted]
        whole = math.lcm(*(amount.denominator for amount, _ in fractions))
        unit = Fraction(math.gcd(*(int(amount * whole) for amount, _ in fractions)) or 1, whole)
        entries = [(int(amount / unit), literal) for amount, literal in fractions]
        large = sum(abs(weight) for weight, _ in entries) > MOST_WEIGHT
        at_least = partial(self._reaching, entries, budget) if large else partial(self.at_least, entries)
        return self._compared(at_least, operator, Fraction(number) / unit)

    def _reaching(self, weighted: Iterable[tuple[int, int]], budget: Budget, least: int) -> int:
        """The same as ``at_least``, by more gates: for each weight, one per amount still to be reached before
        it that is positive and within the sum of the remaining weights."""
        weights, number = _positive(weighted, least)
        rest = list(accumulate(reversed(weights.values()), initial=0))[::-1]
        levels, count = [{number}], 0
        for weight, most in zip(weights.values(), rest[1:], strict=True):
            needs = {need for before in levels[-1] for need in (before, before - weight)}
            levels.append({need for need in needs if 0 < need <= most})
            count += len(levels[-1])
            budget.check()
            budget.claim(BYTES_A_NEED * count, "the totals of a sum of what is uncertain")
        gates = dict[int, int]()
        steps = [*zip(levels, weights.items(), rest[1:], strict=False)]
        for level, (literal, weight), most in reversed(steps):
            gates = {
                need: self.either(
                    [
                        _reached(need, most, gates),
                        self.every([literal, _reached(need - weight, most, gates)]),
                    ]
                )
                for need in sorted(level)
            }
        return _reached(number, rest[0], gates)

    def _compared(self, at_least: Callable[[int], int], operator: Operator, number: Fraction) -> int:
        least, above = math.ceil(number), math.floor(number) + 1
        match operator:
            case ">=":
                return at_least(least)
            case ">":
                return at_least(above)
            case "<":
                return negated(at_least(least))
            case "<=":
                return negated(at_least(above))
        equal = self.every([at_least(least), negated(at_least(above))])
        return equal if operator == "=" else negated(equal)

    def _new_gate(self) -> int:
        gate = self.variable()
        self.gates[gate] = True
        return gate

    def define(self, gate: int, literals: Sequence[int]) -> None:
        """Define a gate that is true where all of the literals hold."""
        for literal in literals:
            self.restrictions.append(Restriction((2 * gate + 1, literal), 1, None, gate))
        opposites = [literal ^ 1 for literal in literals]
        self.restrictions.append(Restriction((2 * gate, *opposites), 1, None, gate))

    def keeping(self, restrictions: Iterable[Restriction]) -> Constraints:
        """The same variables with other restrictions."""
        smaller = Constraints()
        smaller.gates, smaller.restrictions = self.gates, list(restrictions)
        smaller.consistent = all(one.possible for one in smaller.restrictions)
        return smaller


def _positive(weighted: Iterable[tuple[int, int]], least: int) -> tuple[dict[int, int], int]:
    """Merge weights by literal: positive, of different variables, none above ``least``; and what is left of
    ``least``.

    A negative weight of a literal is a positive one of its negation, with as much more to reach.
    """
    weights = dict[int, int]()
    for weight, literal in weighted:
        if weight < 0:
            weight, literal, least = -weight, negated(literal), least - weight
        if literal == TRUE:
            least -= weight
        elif literal != FALSE:
            weights[literal] = weights.get(literal, 0) + weight
    for literal in [literal for literal in weights if negated(literal) in weights]:
        either = min(weights[literal], weights[negated(literal)])
        weights[literal] -= either
        weights[negated(literal)] -= either
        least -= either
    return {literal: min(weight, least) for literal, weight in weights.items() if weight}, least


def _reached(need: int, most: int, gates: Mapping[int, int]) -> int:
    """The gate for an amount still to be reached; constant where it is not positive or more than ``most``."""
    return TRUE if need <= 0 else FALSE if need > most else gates[need]
