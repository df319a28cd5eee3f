"""Loops as they are written and compiled."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from herbrand.budget import GUARDS, seconds_compiling, working_time
from herbrand.loops import MOST_PLAIN, chosen, compiled, in_place, loop, often, run_often

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


class Table(NamedTuple):
    rows: np.ndarray
    keys: np.ndarray
    marked: np.ndarray


@loop
def added_up(table: Table, by: np.ndarray) -> int:
    """Changes what it is given: numbers of two columns, of 64 bits without a sign, and truths."""
    for place in range(len(table.keys)):
        if table.marked[place]:
            table.rows[place, 1] += table.rows[place, 0] * by[0]
            table.keys[place] ^= np.uint64(table.rows[place, 1])
            table.marked[place] = False
    return len(table.rows)


def test_plain_python_changes_arrays_as_compiled_loops_do() -> None:
    made = [
        Table(
            np.arange(6).reshape(3, 2), np.array([1, 2**64 - 1, 5], np.uint64), np.array([True, False, True])
        )
        for _ in range(2)
    ]
    assert run_often(added_up, 1, made[0], np.array([7])) == compiled(added_up)(made[1], np.array([7])) == 3
    assert [own.tolist() for own in made[0]] == [own.tolist() for own in made[1]]
    assert made[0].rows[:, 1].tolist() == [1, 3, 33]


def test_small_problems_are_not_compiled() -> None:
    assert chosen(outer, MOST_PLAIN) is outer
    assert chosen(outer, 2 * MOST_PLAIN) is compiled(outer)


def test_a_new_version_does_not_run_loops_of_the_one_before(tmp_path: Path) -> None:
    """Files of the same time and size, as those of two wheels may be; only what is imported differs."""
    package = tmp_path / "versioned"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "called.py").write_text("""from herbrand.loops import loop
FACTOR = 3.0
@loop
def inner(x):
    return FACTOR * x
""")
    (package / "kernels.py").write_text("""from herbrand.loops import loop
from versioned.called import inner
@loop
def outer(x):
    return inner(x)
""")
    asked = """from herbrand.loops import compiled
from versioned.kernels import outer
print(compiled(outer)(2.0))"""

    def answer() -> float:
        for file in package.glob("*.py"):
            os.utime(file, (1_580_601_600, 1_580_601_600))
        path = os.pathsep.join((str(tmp_path), *sys.path))
        call = [sys.executable, "-B", "-c", asked]
        found = subprocess.run(
            call, env={**os.environ, "PYTHONPATH": path}, check=True, capture_output=True, text=True
        )
        return float(found.stdout)

    assert answer() == 6.0
    (package / "called.py").write_text((package / "called.py").read_text().replace("3.0", "5.0"))
    assert answer() == 10.0


def test_the_clock_of_a_call_rests_while_loops_are_compiled_that_nothing_interrupts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: dict[str, Any] = {}
    exec("def added(x):\n    return x + 1", made)  # of no file, so that it is compiled each time
    spent, real, at = seconds_compiling(), time.monotonic(), working_time()
    assert compiled(loop(made["added"]))(2) == 3
    compiling = seconds_compiling() - spent
    assert compiling > 0
    assert working_time() - at <= time.monotonic() - real - compiling + 1e-3
    monkeypatch.setattr(GUARDS, "own_process", True)  # a timer ends it in the middle, so that it counts
    assert working_time() - at >= compiling


def test_many_small_problems_are_compiled_together() -> None:
    @loop
    def nothing(values: np.ndarray) -> float:
        return 0.0

    assert often(nothing, MOST_PLAIN) is nothing
    assert often(nothing, 1) is compiled(nothing)
    assert often(nothing, 0) is compiled(nothing)


class Counts(NamedTuple):
    of: np.ndarray


@in_place
def count(counts: Counts, value: int) -> None:
    counts.of[value] += 1


@in_place
def count_all(counts: Counts, values: np.ndarray) -> None:
    for value in values:
        count(counts, value)


def test_loops_in_place_change_the_arrays_of_named_tuples() -> None:
    found = []
    for function in (count_all, compiled(count_all)):
        counts = Counts(np.zeros(3, np.int64))
        function(counts, np.array([0, 2, 2]))
        found.append(counts.of.tolist())
    assert found == [[1, 0, 2]] * 2
