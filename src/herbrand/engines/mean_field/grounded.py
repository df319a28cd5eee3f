"""Templates over ground atoms, for what sums of products over variables cannot express.

These are quantifiers whose assignments share atoms, and templates with two atoms that hard statements tied.
Rows without quantifiers are arrays; the others are a circuit.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from herbrand.budget import UNLIMITED, Budget
from herbrand.engines.mean_field.circuit import Circuit, Compiled, Event, Values
from herbrand.engines.mean_field.network_tables import NetworkTables
from herbrand.engines.mean_field.tables import PredicateTable
from herbrand.extras import Tensor, torch
from herbrand.factors.ground_graph import Cases, ground_cases
from herbrand.factors.ground_quantifiers import Columns
from herbrand.factors.pieces import ABSENT, shapes, together
from herbrand.program.ground import Ground, GroundTemplate, LatentAtoms
from herbrand.program.program import FALSE, TRUE, Allowed, other_values

Weights = Sequence[Tensor | float]


@dataclass(frozen=True, eq=False)
class Leaders:
    """The atom that each latent atom follows (itself if none), and whether it has the opposite value."""

    leader: np.ndarray
    opposite: np.ndarray

    @staticmethod
    def nobody(count: int) -> Leaders:
        return Leaders(np.arange(count), np.zeros(count, dtype=bool))

    def literal(self, atom: int, allowed: Iterable[int]) -> tuple[int, frozenset[int]]:
        values = frozenset(allowed)
        if self.opposite[atom]:
            values = frozenset(1 - value for value in values)
        return int(self.leader[atom]), values


@dataclass(frozen=True, eq=False)
class Rows:
    """Products with the same form of literals: atom numbers [row, literal], and the values each column
    allows."""

    atoms: Tensor
    allowed: tuple[tuple[int, ...], ...]
    weight: int
    counts: Tensor
    weight_rows: Tensor | None


@dataclass(frozen=True, eq=False)
class Roots:
    """Roots of the circuit that have the same weight, by their ``places`` among all roots."""

    weight: int
    counts: Tensor
    places: Tensor
    weight_rows: Tensor | None


class MarginalPlaces:
    """Where each atom is in the flattened marginals of all tables, one table after another.

    ``start``: place of a table's first entry.
    """

    def __init__(self, tables: Mapping[str, PredicateTable], atoms: LatentAtoms) -> None:
        self.names = [name for name in tables if name in atoms.codes]
        self.valued = {name: not tables[name].true_or_false for name in self.names}
        position = np.empty(atoms.count, dtype=np.int64)
        self.start: dict[str, int] = {}
        start = 0
        for name in self.names:
            shape = tables[name].shape
            width = shape[-1] if self.valued[name] else 1
            codes = tables[name].positions(atoms.codes[name])
            self.start[name] = start
            position[atoms.places(name)] = start + codes * width
            start += math.prod(shape)
        self.position = torch.from_numpy(position)
        is_valued = np.concatenate([np.full(len(atoms.codes[n]), self.valued[n]) for n in self.names] or [[]])
        self.is_valued = torch.from_numpy(is_valued.astype(bool))
        self.shapes = {name: tables[name].shape for name in self.names}

    def flat(self, marginals: Mapping[str, Tensor]) -> Tensor:
        """All marginals, flattened [batch, entry]."""
        shaped = ((marginals[name], len(shape)) for name, shape in self.shapes.items())
        parts = [table.flatten(-rank) if rank else table.unsqueeze(-1) for table, rank in shaped]
        return torch.cat(parts or [torch.zeros(0, dtype=torch.float64)], dim=-1)

    def apart(self, flat: Tensor) -> dict[str, Tensor]:
        """The table of each predicate, from all of them flattened."""
        sizes = [math.prod(shape) for shape in self.shapes.values()]
        parts = zip(self.shapes.items(), flat.split(sizes), strict=True)
        return {name: part.view(shape) for (name, shape), part in parts}

    def probabilities(self, flat: Tensor, atoms: Tensor, allowed: tuple[int, ...]) -> Tensor:
        """The probability that each of these atoms has one of the allowed values."""
        valued = self.is_valued[atoms]
        places = self.position[atoms].to(flat.device)
        if not bool(valued.any()):
            return _of_truth(flat[..., places], allowed)
        if bool(valued.all()):
            return sum(
                (flat[..., places + value] for value in allowed), start=torch.zeros_like(flat[..., places])
            )
        chances = torch.empty_like(flat[..., places])
        for some in (valued, ~valued):
            chances = chances.index_copy(
                -1, some.nonzero()[:, 0], self.probabilities(flat, atoms[some], allowed)
            )
        return chances


def _of_truth(true: Tensor, allowed: tuple[int, ...]) -> Tensor:
    if allowed == TRUE:
        return true
    return 1 - true if allowed == FALSE else torch.ones_like(true)


class GroundScore:
    """The expected log-weight of ground templates and of networks' tables."""

    def __init__(self, ground: Ground, leaders: Leaders, tables: Mapping[str, PredicateTable]) -> None:
        self.places = MarginalPlaces(tables, ground.atoms)
        self.whole = NetworkTables.of(ground.program.tables, ground.evidence, self.places.start)
        self.constants: dict[int, float] = {}
        self.rows: list[Rows] = []
        self.roots: list[Roots] = []
        cases = ground_cases(ground)
        events = Events(cases, leaders)
        circuit = Circuit(ground.atoms.value_counts)
        numbers: list[int] = []
        for template, columns in zip(ground.templates, cases.rows, strict=True):
            if template.conjunction.blocks:
                self._add_events(template, events.of(columns), circuit, numbers)
            else:
                self._add_rows(template, columns, leaders)
        self.circuit: Compiled | None = circuit.finished(numbers) if numbers else None

    def __bool__(self) -> bool:
        return bool(self.rows or self.roots or self.constants or self.whole)

    def _add_events(
        self, ground: GroundTemplate, events: Iterable[tuple[int, Event]], circuit: Circuit, roots: list[int]
    ) -> None:
        nodes = [(row, circuit.node(event)) for row, event in events]
        rows = np.array([row for row, _ in nodes], dtype=np.int64)
        places = torch.arange(len(roots), len(roots) + len(nodes))
        roots.extend(node for _, node in nodes)
        self.roots.append(Roots(_weight(ground), _counts(ground, rows), places, _by_constant(ground, rows)))

    def _add_rows(self, ground: GroundTemplate, columns: Columns, leaders: Leaders) -> None:
        for rows, atoms, allowed in merged_rows(columns, leaders):
            by_constant = _by_constant(ground, rows)
            if not allowed and by_constant is None:
                total = float(_counts(ground, rows).sum())
                self.constants[_weight(ground)] = self.constants.get(_weight(ground), 0.0) + total
                continue
            self.rows.append(
                Rows(torch.from_numpy(atoms), allowed, _weight(ground), _counts(ground, rows), by_constant)
            )

    def value(self, marginals: Mapping[str, Tensor], weights: Weights) -> Tensor:
        """Compute the expected log-weight [batch]; differentiable."""
        return self._value_at(self.places.flat(marginals), weights)

    def messages(self, marginals: Mapping[str, Tensor], weights: Weights) -> tuple[float, dict[str, Tensor]]:
        """The expected log-weight, and its derivatives by the marginals of each table; no graph is kept."""
        flat = self.places.flat(marginals).detach().requires_grad_()
        with torch.enable_grad():
            value = self._value_at(flat, weights)
            gradient = torch.autograd.grad(value, flat)[0] if value.requires_grad else torch.zeros_like(flat)
        return value.item(), self.places.apart(gradient)

    def _value_at(self, flat: Tensor, weights: Weights) -> Tensor:
        total = self.whole.expected(flat)
        for weight, count in self.constants.items():
            total = total + weights[weight] * count
        for rows in self.rows:
            if is_silent(weights[rows.weight]):
                continue
            product = torch.ones((), dtype=flat.dtype, device=flat.device)
            for column, allowed in enumerate(rows.allowed):
                product = product * self.places.probabilities(flat, rows.atoms[:, column], allowed)
            total = total + _weighted(product, rows, weights)
        roots = [one for one in self.roots if not is_silent(weights[one.weight])]
        if self.circuit is not None and roots:
            values = self.circuit.run(lambda atoms, allowed: self.places.probabilities(flat, atoms, allowed))
            for one in roots:
                total = total + _weighted(values[..., one.places], one, weights)
        return total


def is_silent(weight: Tensor | float) -> bool:
    """Whether a weight is a plain 0, so that nothing must be computed or differentiated."""
    return not isinstance(weight, torch.Tensor) and not weight


def _weight(ground: GroundTemplate) -> int:
    assert ground.template.weight is not None
    return ground.template.weight


def _counts(ground: GroundTemplate, rows: np.ndarray) -> Tensor:
    return torch.full((len(rows),), float(ground.template.sign * ground.multiplicity), dtype=torch.float64)


def _by_constant(ground: GroundTemplate, rows: np.ndarray) -> Tensor | None:
    return torch.from_numpy(ground.weight_rows[rows]) if ground.template.weight_arguments else None


def _weighted(products: Tensor, of: Rows | Roots, weights: Weights) -> Tensor:
    row_weights = weights[of.weight]
    if of.weight_rows is not None:
        row_weights = torch.as_tensor(row_weights).reshape(-1)[of.weight_rows]
    return (products * of.counts.to(products) * row_weights).sum(-1)


class Events:
    """Converts rows of literals to events over leading atoms; the members of each helper are read once."""

    def __init__(self, cases: Cases, leaders: Leaders, budget: Budget = UNLIMITED) -> None:
        self.budget = budget
        self.leaders, self.somes, self.sizes = leaders, cases.somes, cases.sizes.tolist()
        self.pieces: dict[int, tuple[Event, ...]] = {}

    def of(self, columns: Columns) -> Iterator[tuple[int, Event]]:
        """Each possible row, with its event."""
        for row, literals in zip(columns.rows.tolist(), columns.literals(), strict=True):
            event = self._event(literals)
            if event is not None:
                yield row, event

    def _event(self, row: Iterable[tuple[int, Allowed]]) -> Event | None:
        """The event of a row; ``None`` where an atom would need two values."""
        literals: dict[int, Values] = {}
        blocks: list[tuple[bool, tuple[Event, ...]]] = []
        for axis, allowed in row:
            if axis in self.somes.places:
                blocks.append((1 in allowed, self._pieces_of(axis)))
                continue
            number, values = self.leaders.literal(axis, allowed)
            literals[number] = literals.get(number, values) & values
            if not literals[number]:
                return None
        return Event(literals, tuple(blocks))

    def _pieces_of(self, helper: int) -> tuple[Event, ...]:
        """The events of which at least one happens where a helper is true."""
        if helper not in self.pieces:
            rows = (
                self._none_of(axis) if axis in self.somes.places and 1 not in allowed else [(axis, allowed)]
                for axis, allowed in self.somes.members_of(helper)
            )
            rows = self.budget.each(rows)
            self.pieces[helper] = tuple(e for row in rows if (e := self._event(row)) is not None)
        return self.pieces[helper]

    def _none_of(self, helper: int) -> list[tuple[int, Allowed]]:
        """The literals that all hold where a helper is false; a piece of several literals is such a negated
        helper."""
        members = self.somes.members_of(helper)
        return [(axis, other_values(self.sizes[axis], barred)) for axis, barred in members]


def merged_rows(
    columns: Columns, leaders: Leaders
) -> Iterator[tuple[np.ndarray, np.ndarray, tuple[Allowed, ...]]]:
    """Merge rows of the same form, without quantifiers: row numbers, leading atoms [row, literal], and the
    values allowed for each literal."""
    atoms = columns.atoms
    leading = np.append(leaders.leader, ABSENT)[atoms]  # the last entry is that of ABSENT
    opposite = np.append(leaders.opposite, False)[atoms]
    for shape in shapes(leading, opposite, rising=False):
        literals = together(
            (slot, tuple(sorted(1 - value for value in allowed)) if flipped else allowed)
            for slot, allowed, flipped in zip(shape.slots, columns.allowed, shape.alive, strict=True)
            if slot != ABSENT
        )
        if literals is not None:
            chosen = [literals[slot] for slot in range(len(literals))]
            yield columns.rows[shape.rows], shape.scopes, tuple(chosen)
