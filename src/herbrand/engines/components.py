"""Independent parts of a ground network, equal ones put together.

Takes a :class:`Network`; gives :class:`Batch` es: components that have the same tables' shapes in the same
places, with atoms and helpers in the same places, their tables stacked along a first axis, so that a thousand
small worlds cost little more than one.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from herbrand.engines.ground_network import Network, Scope
from herbrand.graphs import component_of

LocalScope = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Batch:
    """``axes`` [component, local axis] of the network; ``tables`` [component, ...] over local scopes."""

    axes: np.ndarray
    sizes: tuple[int, ...]
    scopes: tuple[LocalScope, ...]
    tables: tuple[np.ndarray, ...]

    def __len__(self) -> int:
        return len(self.axes)


def batches(network: Network, labels: np.ndarray) -> tuple[Batch, ...]:
    """All components that have a table; ``labels`` are those of :func:`component_labels`."""
    members: dict[int, list[Scope]] = defaultdict(list)
    for scope in network.tables:
        members[int(labels[scope[0]])].append(scope)
    alike: dict[object, list[tuple[list[int], list[Scope]]]] = defaultdict(list)
    for scopes in members.values():
        axes = list(dict.fromkeys(axis for scope in scopes for axis in scope))
        place = {axis: i for i, axis in enumerate(axes)}
        local = tuple(tuple(place[axis] for axis in scope) for scope in scopes)
        kinds = tuple(axis < network.atom_count for axis in axes)
        alike[local, tuple(network.sizes[axis] for axis in axes), kinds].append((axes, scopes))
    return tuple(_stacked(network, key, group) for key, group in alike.items())


def component_labels(network: Network) -> np.ndarray:
    """The component of each axis."""
    pairs = [(scope[0], axis) for scope in network.tables for axis in scope[1:]]
    return component_of(len(network.sizes), np.array(pairs, dtype=np.int64).reshape(-1, 2))


def _stacked(network: Network, key: object, group: list[tuple[list[int], list[Scope]]]) -> Batch:
    scopes, sizes, _ = key  # type: ignore[misc]
    tables = [
        np.stack([network.tables[component[position]] for _, component in group])
        for position in range(len(scopes))
    ]
    return Batch(np.array([axes for axes, _ in group]), sizes, scopes, tuple(tables))
