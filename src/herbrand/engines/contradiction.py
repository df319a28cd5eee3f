"""Which hard statements cannot hold together: a smallest set, found by leaving out one after another.

That there is none is proved first, of all of them together; what is named has itself been proved to have no
world.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

import numpy as np

from herbrand.errors import ContradictionError, Mistake
from herbrand.factors.graph import FORBIDDEN, FactorGraph
from herbrand.factors.ground_graph import ground_graph
from herbrand.language.show import show_statement
from herbrand.program.ground import Ground

Satisfiable = Callable[[FactorGraph, int], bool]
"""Whether some world of a graph, whose first axes are so many atoms, has a weight."""


def smallest_contradiction(ground: Ground, satisfiable: Satisfiable) -> ContradictionError | None:
    """The error that names statements no world satisfies, none of which could be left out; ``None`` where
    some world satisfies all."""
    needed = contradicting(ground, satisfiable)
    if needed is None:
        return None
    return ContradictionError([_mistake(ground, number, len(needed)) for number in needed] or _facts())


def contradicting(
    ground: Ground, satisfiable: Satisfiable, excluded: tuple[int, np.ndarray] | None = None
) -> list[int] | None:
    """Numbers of hard statements that no world satisfies in which an atom has no ``excluded`` value, none of
    which can be left out; ``None`` where some world satisfies them all."""

    def has_worlds(statements: Collection[int]) -> bool:
        graph = _hard_graph(ground, statements)
        if excluded is not None:
            atom, values = excluded
            unary = graph.unary.copy()
            unary[graph.starts[atom] + values] = FORBIDDEN
            graph = graph._replace(unary=unary)
        return satisfiable(graph, ground.atoms.count)

    needed = list(dict.fromkeys(t.template.statement for t in ground.templates if t.template.weight is None))
    if has_worlds(needed):
        return None
    for statement in tuple(needed):
        rest = [other for other in needed if other != statement]
        if not has_worlds(rest):
            needed = rest
    return needed


def _hard_graph(ground: Ground, statements: Collection[int]) -> FactorGraph:
    """Of these hard statements, and of what is known of atoms."""
    templates = tuple(
        template
        for template in ground.templates
        if template.template.weight is None and template.template.statement in statements
    )
    return ground_graph(replace(ground, templates=templates), by_formula=False).graph


def _mistake(ground: Ground, number: int, count: int) -> Mistake:
    statement = ground.program.statements[number]
    text = next(iter(show_statement(statement)))
    together = "this statement" if count == 1 else f"these {count} statements together"
    message = f"with the facts, no world satisfies {together}"
    return Mistake(message if statement.span else f"{message}: {text}", statement.span)


def _facts() -> Mistake:
    return Mistake("the facts exclude every value of some atom")
