"""The solver of linear programs says nothing of its own, and its verdicts are those of programs known."""

from __future__ import annotations

import signal
import threading

import numpy as np
import pytest
from scipy.sparse import csr_array

from herbrand.engines.highs import LinearProgram, Optimum, optimum


def program(least: float, most: float) -> LinearProgram:
    rows = csr_array(np.array([[1.0, 1.0]]))
    return LinearProgram(rows, np.array([least]), np.array([most]), np.zeros(2), np.ones(2))


def test_a_new_solver_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    """Not even where Python does not see it: what a command prints may be JSON. Each thread has a new one."""
    found: list[Optimum] = []
    thread = threading.Thread(target=lambda: found.append(optimum(np.ones(2), program(1, 1))))
    thread.start()
    thread.join()
    assert found[0].bound == pytest.approx(1)
    assert capfd.readouterr() == ("", "")


def test_a_program_without_a_point_is_infeasible() -> None:
    assert optimum(np.ones(2), program(3, 4)).infeasible
    assert optimum(np.ones(2), program(3, 4), whole=np.ones(2, dtype=bool)).infeasible


def test_whole_numbers_cost_more() -> None:
    cost, half = np.array([1.0, 2.0]), program(0.5, 2)
    assert optimum(cost, half).bound == pytest.approx(0.5)
    found = optimum(cost, half, whole=np.ones(2, dtype=bool))
    assert found.point is not None and found.point.tolist() == [1.0, 0.0] and found.bound == pytest.approx(1)


def test_without_time_nothing_is_found() -> None:
    """Nor is the program tried a second time, simplified."""
    found = optimum(np.array([1.0, 2.0]), program(0.5, 2), seconds=0.0)
    assert (found.infeasible, found.point, found.multipliers) == (False, None, None)


def test_small_entries_of_rows_count() -> None:
    """Rows of rare events have entries below 1e-9, which HiGHS drops where it is not told otherwise."""
    rows = csr_array(np.array([[1.0, -1e-10]]))
    small = LinearProgram(rows, np.zeros(1), np.zeros(1), np.array([0.0, 0.5]), np.ones(2))
    found = optimum(np.array([1e10, 0.0]), small, exactness=1e-10)
    assert found.point is not None and found.bound == pytest.approx(0.5)


def test_a_search_can_be_interrupted() -> None:
    """A split of numbers among rows is hard: this one takes minutes. The interrupt comes while the solver is
    still at work, and the next program gets another."""
    random = np.random.default_rng(1)
    rows = csr_array(random.integers(0, 100, (5, 40)).astype(float))
    halves = np.floor(rows.sum(axis=1) / 2)
    hard = LinearProgram(rows, halves, halves, np.zeros(40), np.ones(40))
    before, timer = set(threading.enumerate()), threading.Timer(0.5, signal.raise_signal, [signal.SIGINT])
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # behind a shell Ctrl-C is set aside
    try:
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            optimum(np.zeros(40), hard, whole=np.ones(40, bool), seconds=6.0)
    finally:
        signal.signal(signal.SIGINT, handler)
    assert set(threading.enumerate()) - before - {timer}
    test_whole_numbers_cost_more()
