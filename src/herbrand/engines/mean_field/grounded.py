"""Templates over ground atoms, for what sums of products over variables cannot say.

Quantifiers whose assignments share atoms, and templates that speak twice of atoms that hard statements made
one. Rows without quantifiers are arrays; the others are a circuit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from herbrand.engines.mean_field.circuit import Circuit, Compiled, Event
from herbrand.engines.mean_field.tables import Table
from herbrand.program.ground import SATISFIED, GroundConjunction, GroundTemplate, LatentAtoms
from herbrand.program.template import FALSE, TRUE

Weights = Sequence[Tensor | float]


@dataclass(frozen=True, eq=False)
class Leaders:
    """Which atom each latent atom follows (itself if none), and whether it has the opposite value."""

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
    """Products of as many literals each: atom numbers [row, literal] and what each column allows."""

    atoms: Tensor
    allowed: tuple[tuple[int, ...], ...]
    weight: int
    counts: Tensor
    weight_rows: Tensor | None


@dataclass(frozen=True, eq=False)
class Roots:
    """Events by their place among the circuit's roots."""

    weight: int
    counts: Tensor
    places: Tensor
    weight_rows: Tensor | None


class Places:
    """Where atoms' numbers stand in the tables' flattened marginals, put one after another."""

    def __init__(self, tables: Mapping[str, Table], atoms: LatentAtoms) -> None:
        self.names = [name for name in tables if name in atoms.codes]
        self.valued = {name: not tables[name].true_or_false for name in self.names}
        position = np.empty(atoms.count, dtype=np.int64)
        start = 0
        for name in self.names:
            shape = tables[name].shape
            width = shape[-1] if self.valued[name] else 1
            first = atoms.start[name]
            codes = tables[name].positions(atoms.codes[name])
            position[first : first + len(codes)] = start + codes * width
            start += int(np.prod(shape, dtype=np.int64))
        self.position = torch.from_numpy(position)
        is_valued = np.concatenate([np.full(len(atoms.codes[n]), self.valued[n]) for n in self.names] or [[]])
        self.is_valued = torch.from_numpy(is_valued.astype(bool))
        self.ranks = {name: len(tables[name].shape) for name in self.names}

    def flat(self, marginals: Mapping[str, Tensor]) -> Tensor:
        """All marginals [batch, entry]."""
        ranks = self.ranks
        parts = [
            m.flatten(-ranks[n]) if ranks[n] else m.unsqueeze(-1) for n, m in marginals.items() if n in ranks
        ]
        return torch.cat(parts, dim=-1)

    def probabilities(self, flat: Tensor, atoms: Tensor, allowed: tuple[int, ...]) -> Tensor:
        """Of each of these atoms to have one of the allowed values."""
        valued = self.is_valued[atoms]
        places = self.position[atoms].to(flat.device)
        if not bool(valued.any()):
            return _of_truth(flat[..., places], allowed)
        if bool(valued.all()):
            return sum(
                (flat[..., places + value] for value in allowed), start=torch.zeros_like(flat[..., places])
            )
        found = torch.empty_like(flat[..., places])
        for some in (valued, ~valued):
            found = found.index_copy(-1, some.nonzero()[:, 0], self.probabilities(flat, atoms[some], allowed))
        return found


def _of_truth(true: Tensor, allowed: tuple[int, ...]) -> Tensor:
    if allowed == TRUE:
        return true
    return 1 - true if allowed == FALSE else torch.ones_like(true)


class GroundScore:
    """The expected log-weight of ground templates."""

    def __init__(
        self,
        templates: Iterable[GroundTemplate],
        atoms: LatentAtoms,
        leaders: Leaders,
        tables: Mapping[str, Table],
    ) -> None:
        self.places = Places(tables, atoms)
        self.constants: dict[int, float] = {}
        self.rows: list[Rows] = []
        self.roots: list[Roots] = []
        circuit = Circuit(atoms.value_counts)
        numbers: list[int] = []
        for template in templates:
            assert template.template.weight is not None
            if template.conjunction.blocks:
                self._add_events(template, leaders, circuit, numbers)
            else:
                self._add_rows(template, leaders, atoms.value_counts)
        self.circuit: Compiled | None = circuit.finished(numbers) if numbers else None

    def __bool__(self) -> bool:
        return bool(self.rows or self.roots or self.constants)

    def _add_events(
        self, ground: GroundTemplate, leaders: Leaders, circuit: Circuit, roots: list[int]
    ) -> None:
        found = [(row, event) for row, event in events(ground.conjunction, leaders)]
        rows = np.array([row for row, _ in found], dtype=np.int64)
        places = torch.arange(len(roots), len(roots) + len(found))
        roots.extend(circuit.node(event) for _, event in found)
        self.roots.append(Roots(_weight(ground), _counts(ground, rows), places, _by_constant(ground, rows)))

    def _add_rows(self, ground: GroundTemplate, leaders: Leaders, value_counts: np.ndarray) -> None:
        for rows, atoms, allowed in merged_rows(ground.conjunction, leaders, value_counts):
            by_constant = _by_constant(ground, rows)
            if not allowed and by_constant is None:
                total = float(_counts(ground, rows).sum())
                self.constants[_weight(ground)] = self.constants.get(_weight(ground), 0.0) + total
                continue
            self.rows.append(
                Rows(torch.from_numpy(atoms), allowed, _weight(ground), _counts(ground, rows), by_constant)
            )

    def value(self, marginals: Mapping[str, Tensor], weights: Weights) -> Tensor:
        """The expected log-weight [batch], differentiable."""
        flat = self.places.flat(marginals)
        total = flat.new_zeros(flat.shape[:-1])
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
            found = self.circuit.run(lambda atoms, allowed: self.places.probabilities(flat, atoms, allowed))
            for one in roots:
                total = total + _weighted(found[..., one.places], one, weights)
        return total


def is_silent(weight: Tensor | float) -> bool:
    """Whether a weight is a plain 0: nothing is to be computed, nor differentiated."""
    return not isinstance(weight, Tensor) and not weight


def _weight(ground: GroundTemplate) -> int:
    assert ground.template.weight is not None
    return ground.template.weight


def _counts(ground: GroundTemplate, rows: np.ndarray) -> Tensor:
    return torch.full((len(rows),), float(ground.template.sign * ground.multiplicity), dtype=torch.float64)


def _by_constant(ground: GroundTemplate, rows: np.ndarray) -> Tensor | None:
    return torch.from_numpy(ground.weight_rows[rows]) if ground.template.weight_arguments else None


def _weighted(products: Tensor, of: Rows | Roots, weights: Weights) -> Tensor:
    worth = weights[of.weight]
    if of.weight_rows is not None:
        worth = torch.as_tensor(worth).reshape(-1)[of.weight_rows]
    return (products * of.counts.to(products) * worth).sum(-1)


def events(conjunction: GroundConjunction, leaders: Leaders) -> Iterator[tuple[int, Event]]:
    """Each row that is possible, as an event."""
    inside = [_inside(block.pieces, leaders, len(conjunction)) for block in conjunction.blocks]
    for row in range(len(conjunction)):
        literals = literals_of_row(conjunction, row, leaders)
        if literals is None:
            continue
        blocks = tuple(
            (block.some, tuple(found[row])) for block, found in zip(conjunction.blocks, inside, strict=True)
        )
        yield row, Event(literals, blocks)


def _inside(pieces: Iterable[GroundConjunction], leaders: Leaders, count: int) -> list[list[Event]]:
    """The events of a block, for each of the ``count`` rows around it."""
    found: list[list[Event]] = [[] for _ in range(count)]
    for piece in pieces:
        for row, event in events(piece, leaders):
            found[int(piece.origin[row])].append(event)
    return found


def literals_of_row(
    conjunction: GroundConjunction, row: int, leaders: Leaders
) -> dict[int, frozenset[int]] | None:
    """Atoms with their allowed values; ``None`` where one would need two values."""
    literals: dict[int, frozenset[int]] = {}
    for atom, allowed in zip(conjunction.atoms[row].tolist(), conjunction.allowed, strict=True):
        if atom == SATISFIED:
            continue
        number, values = leaders.literal(atom, allowed)
        literals[number] = literals.get(number, values) & values
        if not literals[number]:
            return None
    return literals


def merged_rows(
    conjunction: GroundConjunction, leaders: Leaders, value_counts: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray, tuple[tuple[int, ...], ...]]]:
    """Rows of one form together: their numbers, atoms [row, literal] and what each column allows.

    The form of a row: which literals are satisfied, which atoms are opposite to their leaders, and which
    columns became one atom.
    """
    atoms = conjunction.atoms
    latent = atoms != SATISFIED
    safe = np.where(latent, atoms, 0)
    numbers = np.where(latent, leaders.leader[safe], SATISFIED) if len(leaders.leader) else atoms
    opposite = latent & leaders.opposite[safe] if len(leaders.leader) else np.zeros_like(latent)
    same = numbers[:, :, None] == numbers[:, None, :]
    first = same.argmax(axis=2) if atoms.shape[1] else np.zeros_like(atoms)
    form = np.concatenate([latent, opposite, first], axis=1).astype(np.int64)
    forms, group = np.unique(form, axis=0, return_inverse=True)
    width = atoms.shape[1]
    for index, one in enumerate(forms):
        rows = np.flatnonzero(group.reshape(-1) == index)
        columns: dict[int, frozenset[int]] = {}
        for column in np.flatnonzero(one[:width]).tolist():
            values = frozenset(conjunction.allowed[column])
            values = frozenset(1 - v for v in values) if one[width + column] else values
            at = int(one[2 * width + column])
            columns[at] = columns.get(at, values) & values
        if all(columns.values()):
            allowed = tuple(tuple(sorted(values)) for values in columns.values())
            yield rows, numbers[rows][:, list(columns)], allowed
