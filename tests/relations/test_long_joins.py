"""Joins of many rows are made in pieces, between which the clock is asked."""

from __future__ import annotations

import numpy as np
import pytest

from herbrand.budget import Budget
from herbrand.errors import OutOfTimeError
from herbrand.relations import memory
from herbrand.relations.memory import Memory


def relations(budget: Budget) -> tuple[Memory, Memory]:
    rng = np.random.default_rng(4)
    x, y, z = (rng.integers(0, 20, 300) for _ in range(3))
    names = np.array([f"n{number}" for number in rng.integers(0, 9, 300)])
    return Memory.of(budget, x=x, y=y, w=rng.random(300)), Memory.of(budget, y=z, label=names)


@pytest.mark.parametrize("most", [1, 7, 100, 4_000])
def test_pieces_are_the_whole_join(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    left, right = relations(Budget())
    whole = left.join(right, ["y"])
    monkeypatch.setattr(memory, "AT_ONCE", most)
    pieces = left.join(right, ["y"])
    assert pieces.count() == whole.count() and pieces.rows() == whole.rows()
    assert pieces.kinds == whole.kinds


def test_the_clock_is_asked_between_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """One join of a doubly recursive rule took a minute of a limit of five seconds."""
    ticks = iter(range(1_000))
    budget = Budget(seconds=10, clock=lambda: next(ticks))
    left, right = relations(budget)
    monkeypatch.setattr(memory, "AT_ONCE", 50)
    with pytest.raises(OutOfTimeError):
        left.join(right, ["y"])
