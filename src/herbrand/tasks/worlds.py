"""Tasks of learning a predicate in random worlds that the user's function draws.

>>> def ring(rng, worlds, size):
...     edge = np.roll(np.eye(size), 1, axis=1)[None].repeat(worlds, 0)
...     return {"edge": edge, "two_steps": edge @ edge}
>>> task = worlds_task(ring, target="two_steps", sizes=(5, 8), breadth=3)
>>> task.vocabulary, task.target_arity, task.draw(np.random.default_rng(0), worlds=3, objects=5).target.shape
({2: ('edge',)}, 2, torch.Size([3, 5, 5]))
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from herbrand.errors import UnsupportedError, nearest
from herbrand.induction.task import Sample, Task
from herbrand.options.kinds import Whole, check_functions, check_values
from herbrand.tasks.relations import Relations, arities, channels

DrawWorlds = Callable[[np.random.Generator, int, int], Relations]
"""Function from a generator, a number of worlds and a size to their relations, the target's included."""


def worlds_task(
    draw: DrawWorlds,
    target: str,
    sizes: tuple[int, int],
    *,
    examples: int = 20_000,
    depth: int = 4,
    breadth: int = 2,
    rare: bool = False,
) -> Task:
    """The task of predicting ``target`` from the other relations that ``draw`` returns.

    ``sizes``: number of objects in training, and in the larger worlds of the last exam. ``examples``: largest
    number of worlds of training; ``depth``: layers of the machine; ``breadth``: largest arity of its
    predicates, 3 if a pair of the target depends on a third object; ``rare``: the target holds in few worlds,
    which are preferred."""
    if not (isinstance(sizes, tuple | list) and [*map(type, sizes)] == [int, int] and min(sizes) > 0):
        raise UnsupportedError(f"sizes are two whole numbers from 1 on, not {sizes}", hint="sizes=(6, 12)")
    check_functions(draw=draw)
    kinds = {"examples": Whole(1), "depth": Whole(1), "breadth": Whole(0)}
    check_values(kinds, {"examples": examples, "depth": depth, "breadth": breadth})
    drawn = draw(np.random.default_rng(0), 1, sizes[0])
    if not isinstance(drawn, Mapping):
        raise UnsupportedError(
            f"worlds are tables by the names of their relations, not {type(drawn).__name__}"
        )
    if target not in drawn:
        raise UnsupportedError(
            f"the worlds have no table of the target '{target}'",
            hint=nearest(target, drawn) or f"they have {', '.join(drawn)}",
        )
    if len(drawn) == 1:
        raise UnsupportedError(
            f"the worlds have no table but that of '{target}'", hint="add tables to predict it from"
        )
    known = arities({name: table for name, table in drawn.items() if name != target})
    arity = np.ndim(drawn[target]) - 1

    def sample(rng: np.random.Generator, worlds: int, objects: int) -> Sample:
        drawn = draw(rng, worlds, objects)
        truth, tables = channels(drawn, {arity: (target,)})[arity], channels(drawn, known)
        shaped = [(arity, truth), *tables.items()]
        if {len(table) for _, table in shaped} != {worlds} or len({t.shape[1] for a, t in shaped if a}) > 1:
            raise UnsupportedError(
                f"worlds were drawn for {worlds} of size {objects}, and came as tables of the shapes "
                + ", ".join(str(tuple(table.shape[:-1])) for _, table in shaped),
                hint="each is [worlds, objects, ...], of so many worlds and of the same objects",
            )
        return Sample(tables, truth[..., 0])

    sample(np.random.default_rng(0), 1, sizes[0])  # raises for tables of another shape
    widest = max(arity, breadth, *known)
    return Task(target, target, arity, known, sample, sizes, sizes[1], examples, depth, widest, rare)
