"""Probabilities of ground conjunctions with quantifiers under a product distribution, with shared atoms.

Pieces that share no atom multiply. Where they share one, its values are distinguished: the probability is the
sum over them of the value's probability times that of the rest given the value. The result is a circuit of
sums and products over the marginals, built once and run for any of them.

>>> circuit = Circuit(np.array([2, 2, 2]))
>>> shared = [Event({0: frozenset({1}), 1: frozenset({1})}), Event({0: frozenset({1}), 2: frozenset({1})})]
>>> root = circuit.node(Event({}, ((False, tuple(shared)),)))
>>> half = torch.full((3,), 0.5, dtype=torch.float64)
>>> circuit.finished([root]).run(lambda numbers, allowed: half[numbers])
tensor([0.6250], dtype=torch.float64)
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from herbrand.budget import UNLIMITED, Budget
from herbrand.errors import BudgetError
from herbrand.extras import Tensor, torch
from herbrand.graphs import linked

Values = frozenset[int]
LeafValues = Callable[[Tensor, tuple[int, ...]], Tensor]
"""Gives the probability that each atom of these numbers has one of the allowed values."""

MOST_NODES = 3_000_000
ONE, ZERO = 0, 1


@dataclass(frozen=True)
class Event:
    """A conjunction: the values allowed for each atom, and blocks. A block is true if at least one of its
    events happens, or, if its flag is false, if none does."""

    literals: Mapping[int, Values] = field(default_factory=dict)
    blocks: tuple[tuple[bool, tuple[Event, ...]], ...] = ()

    @cached_property
    def atoms(self) -> frozenset[int]:
        inside = (event.atoms for _, events in self.blocks for event in events)
        return frozenset(self.literals).union(*inside)

    def mentions(self, atom: int) -> Iterator[Values]:
        """The sets of values allowed for an atom, wherever it occurs."""
        if atom in self.literals:
            yield self.literals[atom]
        for _, events in self.blocks:
            for event in events:
                if atom in event.atoms:
                    yield from event.mentions(atom)

    def given(self, atom: int, values: Values) -> Event | bool:
        """The event given that the atom has one of ``values``, or its truth; each literal must allow all of
        these values or none."""
        literals = dict(self.literals)
        if atom in literals and not values & literals.pop(atom):
            return False
        blocks = []
        for some, events in self.blocks:
            settled = _settled([e.given(atom, values) if atom in e.atoms else e for e in events])
            if isinstance(settled, bool):
                if settled != some:
                    return False
            else:
                blocks.append((some, settled))
        return Event(literals, tuple(blocks)) if literals or blocks else True


def _settled(events: Sequence[Event | bool]) -> tuple[Event, ...] | bool:
    """The undecided events of a disjunction, or its truth where that is known."""
    if any(event is True for event in events):
        return True
    left = tuple(event for event in events if isinstance(event, Event))
    if any(not event.literals and not event.blocks for event in left):
        return True
    return left or False


class Circuit:
    """Builder of nodes, equal ones shared; ``value_counts``: number of values of each atom."""

    def __init__(self, value_counts: np.ndarray, budget: Budget = UNLIMITED) -> None:
        self.value_counts, self.budget = value_counts, budget
        self.nodes: list[tuple[str, tuple[object, ...]]] = [("one", ()), ("zero", ())]
        self.numbers: dict[tuple[str, tuple[object, ...]], int] = {("one", ()): ONE, ("zero", ()): ZERO}

    def node(self, event: Event) -> int:
        """The node of an event's probability."""
        inside = Event({}, event.blocks).atoms
        for atom, allowed in event.literals.items():
            if atom in inside:
                others = {other: values for other, values in event.literals.items() if other != atom}
                return self._by_value(Event(others, event.blocks), atom, allowed)
        blocks = []
        for some, events in event.blocks:
            settled = _settled(events)
            if isinstance(settled, bool):
                if settled != some:
                    return ZERO
            else:
                blocks.append((some, settled))
        times = Counter(
            atom for _, events in blocks for atom in frozenset().union(*(e.atoms for e in events))
        )
        shared, most = max(times.items(), key=lambda item: item[1], default=(-1, 0))
        if most > 1:
            every = frozenset(range(int(self.value_counts[shared])))
            rest = self._by_value(Event({}, tuple(blocks)), shared, every)
            return self._product([rest, *self._leaves(event)])
        nones = [self._none(events) for _, events in blocks]
        quantified = [self._complement(n) if some else n for (some, _), n in zip(blocks, nones, strict=True)]
        return self._product([*self._leaves(event), *quantified])

    def node_given(self, event: Event, atom: int, values: Values) -> int:
        """The node of an event's probability given that an atom has one of ``values``."""
        left = event.given(atom, values)
        return (ONE if left else ZERO) if isinstance(left, bool) else self.node(left)

    def _leaves(self, event: Event) -> list[int]:
        return [self._leaf(atom, allowed) for atom, allowed in event.literals.items()]

    def _by_value(self, event: Event, atom: int, allowed: Values) -> int:
        """The node of an event's probability, split by classes of an atom's values: the sum of the class's
        probability times that of the rest."""
        self.budget.check()
        terms = []
        for values in classes(allowed, event.mentions(atom)):
            rest = self.node_given(event, atom, values)
            terms.append(self._product([self._leaf(atom, values), rest]))
        return self._sum(terms)

    def _none(self, events: Sequence[Event]) -> int:
        """The node of the probability that none of the events happens."""
        return self._product(
            [self._none_together(group) for group in linked(events, lambda event: event.atoms)]
        )

    def _none_together(self, events: Sequence[Event]) -> int:
        """The same for events that are linked by shared atoms."""
        if len(events) == 1:
            return self._complement(self.node(events[0]))
        times = Counter(atom for event in events for atom in event.atoms)
        # The atom in most events is split first: once its value is fixed it links none of them.
        atom = max(times, key=lambda one: times[one])
        every = frozenset(range(int(self.value_counts[atom])))
        return self._by_value(Event({}, ((False, tuple(events)),)), atom, every)

    def _leaf(self, atom: int, values: Values) -> int:
        if len(values) == self.value_counts[atom]:
            return ONE
        return self._made("leaf", (atom, tuple(sorted(values)))) if values else ZERO

    def _product(self, parts: Iterable[int]) -> int:
        factors = [part for part in parts if part != ONE]
        if ZERO in factors:
            return ZERO
        if len(factors) < 2:
            return factors[0] if factors else ONE
        return self._made("product", tuple(sorted(factors)))

    def _sum(self, parts: Iterable[int]) -> int:
        terms = [part for part in parts if part != ZERO]
        if len(terms) < 2:
            return terms[0] if terms else ZERO
        return self._made("sum", tuple(terms))

    def _complement(self, node: int) -> int:
        if node in (ONE, ZERO):
            return ZERO if node == ONE else ONE
        return self._made("complement", (node,))

    def _made(self, kind: str, parts: tuple[object, ...]) -> int:
        key = (kind, parts)
        if key not in self.numbers:
            if len(self.nodes) >= MOST_NODES:
                raise BudgetError(
                    f"quantifiers that share ground atoms need more than {MOST_NODES:,} sums and products",
                    hint="make the domains smaller, or use another engine",
                )
            self.numbers[key] = len(self.nodes)
            self.nodes.append(key)
        return self.numbers[key]

    def finished(self, roots: Sequence[int]) -> Compiled:
        """All nodes as arrays, ready to be run."""
        return Compiled.of(self.nodes, roots)


def classes(values: Values, mentions: Iterable[Values]) -> list[Values]:
    """Group the values that every mention treats alike."""
    mentioned = list(mentions)
    alike: dict[tuple[bool, ...], set[int]] = defaultdict(set)
    for value in values:
        alike[tuple(value in allowed for allowed in mentioned)].add(value)
    return [frozenset(group) for group in alike.values()]


@dataclass(frozen=True, eq=False)
class Compiled:
    """A circuit as arrays: leaves grouped by the values they allow, then layers of one operation and one
    number of parts each."""

    leaves: tuple[tuple[tuple[int, ...], Tensor], ...]
    layers: tuple[tuple[str, Tensor], ...]
    roots: Tensor

    @staticmethod
    def of(nodes: Sequence[tuple[str, tuple[object, ...]]], roots: Sequence[int]) -> Compiled:
        depth: list[int] = []
        for kind, parts in nodes:
            inner = kind in ("product", "sum", "complement")
            depth.append(1 + max(depth[part] for part in parts) if inner else 0)  # type: ignore[index]
        leaves: dict[tuple[int, ...], list[int]] = defaultdict(list)
        layers: dict[tuple[int, str, int], list[int]] = defaultdict(list)
        for number, (kind, parts) in enumerate(nodes):
            if kind == "leaf":
                leaves[parts[1]].append(number)  # type: ignore[index]
            elif depth[number]:
                layers[depth[number], kind, len(parts)].append(number)
        place = np.zeros(len(nodes), dtype=np.int64)
        place[[ONE, ZERO]] = [0, 1]
        order = [
            number
            for group in (*leaves.values(), *(layers[key] for key in sorted(layers)))
            for number in group
        ]
        place[order] = np.arange(2, len(order) + 2)
        return Compiled(
            tuple((k, torch.tensor([nodes[n][1][0] for n in group])) for k, group in leaves.items()),
            tuple(
                (
                    key[1],
                    torch.from_numpy(place[np.array([nodes[n][1] for n in layers[key]], dtype=np.int64)]),
                )
                for key in sorted(layers)
            ),
            torch.from_numpy(place[np.asarray(roots, dtype=np.int64)]),
        )

    def run(self, leaf_values: LeafValues) -> Tensor:
        """Compute the roots' probabilities [..., root]."""
        leaves = [leaf_values(numbers, allowed) for allowed, numbers in self.leaves]
        if not leaves:
            return torch.tensor([1.0, 0.0], dtype=torch.float64)[self.roots]
        constants = leaves[0].new_tensor([1.0, 0.0]).expand(*leaves[0].shape[:-1], 2)
        values = torch.cat([constants, *leaves], dim=-1)
        for kind, parts in self.layers:
            values = torch.cat([values, _OPERATIONS[kind](values[..., parts])], dim=-1)
        return values[..., self.roots]


_OPERATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "product": lambda parts: parts.prod(-1),
    "sum": lambda parts: parts.sum(-1),
    "complement": lambda parts: 1 - parts[..., 0],
}
