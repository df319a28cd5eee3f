"""Loops as they are written and compiled."""

from __future__ import annotations

import numpy as np
import pytest

from herbrand.loops import MOST_PLAIN, chosen, compiled, loop

FACTOR = 3.0


@loop
def inner(x: float) -> float:
    return FACTOR * x


@loop
def outer(values: np.ndarray) -> float:
    found = 0.0
    for value in values:
        found += inner(value)
    return found


def test_both_ways_agree() -> None:
    values = np.array([0.5, -2.0, 1e9])
    assert outer(values) == compiled(outer)(values) == pytest.approx(3 * values.sum())


def test_a_compiled_loop_calls_compiled_loops() -> None:
    found = compiled(outer)
    assert found is compiled(outer)
    assert hasattr(found, "py_func")
    assert not hasattr(outer, "py_func")


def test_small_problems_are_not_compiled() -> None:
    assert chosen(outer, MOST_PLAIN) is outer
    assert chosen(outer, 2 * MOST_PLAIN) is compiled(outer)
