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
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from itertools import accumulate, pairwise

from herbrand.budget import Budget
from herbrand.language.syntax import Operator

TRUE = -1
"""The literal that always holds."""
FALSE = -2
"""The literal that never does."""

NO_OWNER = -1
Number = float | Fraction
BYTES_A_NEED = 1000
WIDE_COUNTER = 4
"""So many gates a literal. What such a counter counts is decided before its gates: each literal leaves as
many states as it has gates, where deciding gates first may leave as many as they have subsets."""


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
        self._counts: dict[int, tuple[tuple[int, ...], bool]] = {}
        self.counters: list[tuple[tuple[int, ...], range]] = []
        """What wide counters count, and their gates."""

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
        self.add(kept, NO_OWNER)

    def exactly_one(self, literals: Sequence[int]) -> None:
        """One of the literals holds, and no other."""
        self.require(literals)
        self.at_most_one(literals)

    def at_most_one(self, literals: Sequence[int]) -> None:
        """No two of the literals hold. Equal ones, as atoms of one cause have them, hold both or neither."""
        counts = Counter(literal for literal in literals if literal != FALSE)
        for literal, times in counts.items():
            if times > 1:
                self.require([negated(literal)])
        kept = [literal for literal, times in counts.items() if times == 1]
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

    def counted(self, literals: Sequence[int], operator: Operator, number: Number) -> int:
        """The literal of the gate that holds where so many of the literals do.

        >>> net = Constraints()
        >>> one, other = 2 * net.variable(), 2 * net.variable()
        >>> net.counted([one, other], ">", 1) == net.every([one, other])
        True
        """
        found = self._counted(literals, operator, number)
        above = {"=": number + 1, "<=": math.floor(number) + 1, "<": math.ceil(number)}.get(operator)
        # A group holds each literal once: equal ones, which atoms of one cause have, would count as one.
        distinct = TRUE not in literals and len(set(literals)) == len(literals)
        if found >= 0 and above == 2 and distinct:
            self._counts[found] = tuple(literals), operator == "="
        return found

    def exclude(self, literals: Iterable[int]) -> None:
        """Not all of the literals hold. What comes to a count of one is a group, which decides much faster
        than the gates that count."""
        kept = [literal for literal in literals if literal != TRUE]
        counted, exactly = self._counts.get(negated(kept[0]), ((), False)) if len(kept) == 1 else ((), False)
        if not counted:
            self.require(map(negated, kept))
        elif exactly:
            self.exactly_one(counted)
        else:
            self.at_most_one(counted)

    def totalled(
        self, weighted: Iterable[tuple[float, int]], operator: Operator, number: float, budget: Budget
    ) -> int:
        """The literal of the gate that holds where the weights of the literals that hold add up so.

        >>> from herbrand.budget import UNLIMITED
        >>> net = Constraints()
        >>> one, other = 2 * net.variable(), 2 * net.variable()
        >>> net.totalled([(1, one), (2.5, other)], ">=", 3, UNLIMITED) == net.every([one, other])
        True
        """
        weights = dict[int, Fraction]()
        left = Fraction(number)
        for amount, literal in weighted:
            weight = Fraction(amount)
            if (
                weight < 0
            ):  # to take a weight off is to add it to what does not hold, and to compare with more
                weight, literal, left = -weight, negated(literal), left - weight
            if literal == TRUE:
                left -= weight
            elif literal != FALSE and weight:
                weights[literal] = weights.get(literal, Fraction(0)) + weight
        units = set(weights.values())
        if len(units) <= 1:
            unit = units.pop() if units else 1
            return self.counted(list(weights), operator, left / unit)
        whole = math.lcm(*(weight.denominator for weight in weights.values()))
        entries = [(int(weights[literal] * whole), literal) for literal in sorted(weights)]
        return self._compared(partial(self._reaching, entries, budget), operator, left * whole)

    def _reaching(self, weighted: Sequence[tuple[int, int]], budget: Budget, number: int) -> int:
        """The literal of the gate that holds where positive weights reach a number: for each weight, what is
        still to be reached before it, as far as that depends on what follows."""
        rest = list(accumulate(reversed([weight for weight, _ in weighted]), initial=0))[::-1]
        levels, made = [{number}], 0
        for (weight, _), most in zip(weighted, rest[1:], strict=True):
            needs = {need for before in levels[-1] for need in (before, before - weight)}
            levels.append({need for need in needs if 0 < need <= most})
            made += len(levels[-1])
            budget.check()
            budget.claim(BYTES_A_NEED * made, "the totals of a sum of what is uncertain")
        gates, before = dict[int, int](), len(self)
        for level, (weight, literal), most in reversed([*zip(levels, weighted, rest[1:], strict=False)]):
            gates = {
                need: self.either(
                    [
                        _reached(need, most, gates),
                        self.every([literal, _reached(need - weight, most, gates)]),
                    ]
                )
                for need in sorted(level)
            }
        self._keep_counter([literal for _, literal in weighted], before, max(map(len, levels)))
        return _reached(number, rest[0], gates)

    def _counted(self, literals: Sequence[int], operator: Operator, number: Number) -> int:
        if operator not in ("=", "!="):
            return self._compared(partial(self.at_least, literals), operator, number)
        kept = [literal for literal in literals if literal not in (TRUE, FALSE)]
        number -= sum(literal == TRUE for literal in literals)
        if 2 * number > len(kept):
            kept, number = [negated(literal) for literal in kept], len(kept) - number
        return self._compared(partial(self._reached, kept), operator, number)

    def _compared(self, at_least: Callable[[int], int], operator: Operator, number: Number) -> int:
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
        before = len(self)
        below = [TRUE] + [FALSE] * number
        for literal in reversed(
            literals
        ):  # the compiler decides later ones first: each ends a level of gates
            below = [TRUE] + [
                self.either([as_many, self.every([one_less, literal])])
                for one_less, as_many in pairwise(below)
            ]
        self._keep_counter(literals, before, number)
        return below[number]

    def _keep_counter(self, literals: Sequence[int], first: int, width: int) -> None:
        """Note a counter whose gates are those from ``first`` on, so many a literal."""
        if width >= WIDE_COUNTER and len(self) > first:
            self.counters.append((tuple(literals), range(first, len(self))))

    def _gate(self, literals: tuple[int, ...]) -> int:
        gate = self.variable()
        self.gates[gate] = True
        self.define(gate, literals)
        return 2 * gate

    def define(self, gate: int, literals: Sequence[int]) -> None:
        """The gate holds where all of the literals do."""
        for literal in literals:
            self.add((2 * gate + 1, literal), gate)
        self.add((2 * gate, *(negated(literal) for literal in literals)), gate)

    def add(self, clause: tuple[int, ...], owner: int) -> None:
        """A clause, of a gate's definition or of nobody's."""
        self.clauses.append(clause)
        self.owners.append(owner)

    def keeping(self, is_kept: Callable[[tuple[int, ...], int], bool]) -> Constraints:
        """The same variables, groups and counters, with some of the clauses: each is asked for, and its
        owner."""
        smaller = Constraints()
        smaller.gates, smaller.groups, smaller.consistent = self.gates, self.groups, self.consistent
        smaller.counters = self.counters
        for clause, owner in zip(self.clauses, self.owners, strict=True):
            if is_kept(clause, owner):
                smaller.add(clause, owner)
        return smaller


def _reached(need: int, most: int, gates: Mapping[int, int]) -> int:
    """The gate of what is still to be reached, of which at most so much can be."""
    return TRUE if need <= 0 else FALSE if need > most else gates[need]
