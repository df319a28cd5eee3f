"""One push through a relation: what its kernel takes, what it gives, and its way back for gradients.

Groups are pointers into ``pivots``, the constants that are pushed, and ``values``, their weights.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from herbrand.engines.proof import kernels, reverse
from herbrand.engines.proof.workspace import Workspace

CHUNK = 2**20


@dataclass(frozen=True, eq=False)
class Push:
    """What one push takes, and its way back."""

    groups: np.ndarray
    pivots: np.ndarray
    values: np.ndarray
    pointers: np.ndarray
    columns: np.ndarray
    weights: np.ndarray
    width: int
    workspace: Workspace

    def forward(
        self, best: bool, check_size: Callable[[float, int], None]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """How many entries each group found, which, and their totals; in chunks, as long as they fit."""
        marks, base = self.workspace.of(self.width)
        number = len(self.groups) - 1
        counts = np.zeros(number, np.int64)
        bound = 0
        if len(self.pivots):
            bound = int((self.pointers[self.pivots + 1] - self.pointers[self.pivots]).sum())
        capacity = max(1, min(bound, max(CHUNK, self.width)))
        parts: list[tuple[np.ndarray, np.ndarray]] = []
        group, total = 0, 0
        while group < number:
            found, totals = np.empty(capacity, np.int64), np.empty(capacity)
            group, filled = kernels.push(
                self.groups, self.pivots, self.values, self.pointers, self.columns, self.weights, marks, base,
                best, group, counts, found, totals,
            )  # fmt: skip
            parts.append((found[:filled], totals[:filled]))
            total += filled
            check_size(total, 4)
        if not parts:
            return counts, np.empty(0, np.int64), np.empty(0)
        if len(parts) == 1:
            return counts, *parts[0]
        return counts, np.concatenate([f for f, _ in parts]), np.concatenate([t for _, t in parts])

    def back(
        self, counts: np.ndarray, found: np.ndarray, slope: np.ndarray, needed: Sequence[bool]
    ) -> tuple[np.ndarray | None, ...]:
        of_values = np.zeros(len(self.values))
        of_weights = np.zeros(len(self.weights)) if needed[1] else reverse.NONE
        reverse.push_back(
            self.groups, self.pivots, self.values, self.pointers, self.columns, self.weights,
            np.zeros(self.width), np.append(0, np.cumsum(counts)), found, slope, of_values, of_weights,
        )  # fmt: skip
        return of_values, of_weights if needed[1] else None


@dataclass(frozen=True, eq=False)
class MaskedPush:
    """What a push under a mask takes, and its way back."""

    groups: np.ndarray
    pivots: np.ndarray
    values: np.ndarray
    pointers: np.ndarray
    columns: np.ndarray
    weights: np.ndarray
    first: np.ndarray
    length: np.ndarray
    allowed: np.ndarray
    allowed_weights: np.ndarray
    width: int
    workspace: Workspace

    def forward(self, best: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        marks, base = self.workspace.of(self.width)
        counts = np.zeros(len(self.first), np.int64)
        most = int(self.length.sum())
        found, totals = np.empty(most, np.int64), np.empty(most)
        filled = kernels.push_where(
            self.groups, self.pivots, self.values, self.pointers, self.columns, self.weights, marks, base,
            best, self.first, self.length, self.allowed, self.allowed_weights, counts, found, totals,
        )  # fmt: skip
        return counts, found[:filled], totals[:filled]

    def back(
        self, ends: np.ndarray, found: np.ndarray, slope: np.ndarray, needed: Sequence[bool]
    ) -> tuple[np.ndarray | None, ...]:
        of_values = np.zeros(len(self.values))
        of_weights = np.zeros(len(self.weights)) if needed[1] else reverse.NONE
        of_allowed = np.zeros(len(self.allowed_weights)) if needed[2] else reverse.NONE
        reverse.push_where_back(
            self.groups, self.pivots, self.values, self.pointers, self.columns, self.weights,
            np.zeros(self.width), np.zeros(self.width), self.first, self.length, self.allowed,
            self.allowed_weights, ends, found, slope, of_values, of_weights, of_allowed,
        )  # fmt: skip
        return of_values, of_weights if needed[1] else None, of_allowed if needed[2] else None


def pull_back(
    pointers: np.ndarray,
    sources: np.ndarray,
    weights: np.ndarray,
    state: np.ndarray,
    active: np.ndarray | None,
    slope: np.ndarray,
    needed: Sequence[bool],
) -> tuple[np.ndarray | None, ...]:
    active = kernels.rows_filled(state) if active is None else active
    of_state = np.zeros(state.shape) if needed[0] else reverse.NO_MATRIX
    of_weights = np.zeros(len(weights)) if needed[1] else reverse.NONE
    reverse.pull_back(pointers, sources, weights, state, active, slope, of_state, of_weights)
    return of_state if needed[0] else None, of_weights if needed[1] else None
