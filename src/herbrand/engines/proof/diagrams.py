"""Boolean functions as binary decision diagrams: the fewest nodes for an order of the variables.

Variables are numbered; node 0 is false, node 1 is true. Equal functions are one node, so that a fixpoint is
reached when nothing changes.

>>> diagrams = Diagrams(100)
>>> either = diagrams.either(diagrams.variable(0), diagrams.variable(1))
>>> diagrams.probability(either, [0.5, 0.5]), diagrams.probability(diagrams.negation(either), [0.5, 0.5])
(0.75, 0.25)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from herbrand.errors import BudgetError

FALSE, TRUE = 0, 1
LEAF = 2**60


class Diagrams:
    """All nodes of one order. Raises ``BudgetError`` above ``most`` nodes."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._nodes: list[tuple[int, int, int]] = [(LEAF, 0, 0), (LEAF, 1, 1)]
        self._numbers: dict[tuple[int, int, int], int] = {}
        self._both: dict[tuple[int, int], int] = {}
        self._either: dict[tuple[int, int], int] = {}
        self._negations: dict[int, int] = {FALSE: TRUE, TRUE: FALSE}

    def __len__(self) -> int:
        return len(self._nodes)

    def variable(self, number: int) -> int:
        return self._node(number, FALSE, TRUE)

    def both(self, left: int, right: int) -> int:
        """left and right."""
        return self._applied(left, right, self._both, FALSE)

    def either(self, left: int, right: int) -> int:
        """left or right."""
        return self._applied(left, right, self._either, TRUE)

    def negation(self, root: int) -> int:
        """not root."""
        known = self._negations
        for node in self._below(root, known):
            variable, low, high = self._nodes[node]
            known[node] = self._node(variable, known[low], known[high])
            known[known[node]] = node
        return known[root]

    def variables(self, root: int) -> frozenset[int]:
        """The variables that the function depends on."""
        seen: dict[int, None] = {FALSE: None, TRUE: None}
        found = set[int]()
        for node in self._below(root, seen):
            seen[node] = None
            found.add(self._nodes[node][0])
        return frozenset(found)

    def probability(self, root: int, probabilities: Sequence[float]) -> float:
        """That the function holds, if its variables hold independently with these probabilities."""
        known = {FALSE: 0.0, TRUE: 1.0}
        for node in self._below(root, known):
            variable, low, high = self._nodes[node]
            p = probabilities[variable]
            known[node] = (1 - p) * known[low] + p * known[high]
        return known[root]

    def _below(self, root: int, known: Mapping[int, object]) -> Iterator[int]:
        """The nodes that are not known yet, each after those below it; the caller makes each known."""
        stack = [root]
        while stack:
            node = stack[-1]
            missing = [] if node in known else [n for n in self._nodes[node][1:] if n not in known]
            if missing:
                stack += missing
                continue
            stack.pop()
            if node not in known:
                yield node

    def _node(self, variable: int, low: int, high: int) -> int:
        if low == high:
            return low
        key = (variable, low, high)
        if key not in self._numbers:
            if len(self._nodes) >= self._most:
                raise BudgetError(
                    f"the exact probability needs a decision diagram of more than {self._most:,} nodes",
                    hint="--algebra independent approximates it; a smaller --depth needs less",
                )
            self._numbers[key] = len(self._nodes)
            self._nodes.append(key)
        return self._numbers[key]

    def _applied(self, left: int, right: int, known: dict[tuple[int, int], int], strong: int) -> int:
        """``strong`` decides alone, the other leaf changes nothing. No recursion: diagrams may be deep."""

        def settled(one: int, other: int) -> int | None:
            if strong in (one, other):
                return strong
            if one == 1 - strong:
                return other
            if other == 1 - strong or one == other:
                return one
            return known.get((one, other) if one < other else (other, one))

        result = settled(left, right)
        stack = [] if result is not None else [(left, right)]
        while stack:
            one, other = stack[-1]
            if settled(one, other) is not None:
                stack.pop()
                continue
            (first, *below), (second, *beside) = self._nodes[one], self._nodes[other]
            variable = min(first, second)
            low = (below[0] if first == variable else one, beside[0] if second == variable else other)
            high = (below[1] if first == variable else one, beside[1] if second == variable else other)
            lower, higher = settled(*low), settled(*high)
            if lower is None or higher is None:
                stack += [pair for pair, done in ((low, lower), (high, higher)) if done is None]
                continue
            known[(one, other) if one < other else (other, one)] = self._node(variable, lower, higher)
            stack.pop()
        result = settled(left, right)
        assert result is not None
        return result
