"""The table of supervised tasks, with the paper's sizes, depths and numbers of examples.

>>> sorted(TASKS)[:3]
['1-out-degree', '2-out-degree', '4-connectivity']
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.worlds import family, graphs
from herbrand.errors import UnsupportedError, nearest
from herbrand.induction.task import Task

_PEOPLE = {2: family.RELATIONS}
_EDGES = {2: ("edge",)}


def _family(name: str, arity: int, examples: int, rare: bool = False) -> Task:
    target = name.replace("-", "_")
    label: Callable[..., Any] = getattr(family, target)
    draw = partial(family.family_sample, label)
    return Task(name, target, arity, _PEOPLE, draw, (20, 50), 100, examples, rare=rare)


def _degree(degree: int, examples: int, depth: int, breadth: int) -> Task:
    draw = partial(graphs.graph_sample, partial(graphs.degree_is, degree=degree), graphs.erdos_renyi)
    target = f"out_degree_{degree}"
    return Task(f"{degree}-out-degree", target, 1, _EDGES, draw, (10, 20), 50, examples, depth, breadth)


def _connected(steps: int, make: graphs.Edges, examples: int, depth: int) -> Task:
    draw = partial(graphs.graph_sample, partial(graphs.connected, steps=steps), make)
    return Task(f"{steps}-connectivity", f"connected_{steps}", 2, _EDGES, draw, (10, 25), 50, examples, depth)


TASKS: dict[str, Task] = {
    task.name: task
    for task in (
        _family("has-father", 1, 50_000),
        _family("has-sister", 1, 50_000),
        _family("grandparents", 2, 100_000),
        _family("uncle", 2, 100_000),
        _family("maternal-great-uncle", 2, 200_000, rare=True),
        Task(
            "adjacent-to-red", "adjacent_to_red", 1, {1: graphs.COLOURS, 2: ("edge",)},
            graphs.coloured_sample, (10, 25), 50, 100_000,
        ),
        _connected(4, graphs.erdos_renyi, 50_000, 4),
        _connected(6, graphs.nearest_neighbours, 50_000, 8),
        _degree(1, 50_000, 4, 3),
        _degree(2, 100_000, 5, 4),
    )
}  # fmt: skip


def task_named(name: str) -> Task:
    """A task of the table; raises ``UnsupportedError`` where there is none of this name."""
    if name not in TASKS:
        hint = nearest(name, TASKS) or f"one of {', '.join(TASKS)}"
        raise UnsupportedError(f"there is no task '{name}'", hint=hint)
    return TASKS[name]
