"""Which hard statements cannot hold together: a smallest set, found by leaving out one block after another.

That there is none is proved first, of all of them together; what is named has itself been proved to have no
world.

The error is raised once it is proved that statements contradict each other. Three things prove it:
propagation, which has left some atom without a value; elimination of all hard statements together, which
finds that no world has a weight; and counting of them alone, in the max algebra, where every number is 0 or
minus infinity. What rounded numbers seem to say proves nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import replace

import numpy as np

from herbrand.budget import Budget
from herbrand.engines.elimination import planned
from herbrand.engines.smallest_set import smallest, together
from herbrand.errors import BudgetError, ContradictionError, HerbrandError, Mistake, UnsupportedError
from herbrand.factors.graph import FORBIDDEN, FactorGraph
from herbrand.factors.ground_graph import ground_graph
from herbrand.language.network_tables import NetworkTable
from herbrand.language.show import statement_text
from herbrand.program.ground import Ground, ground
from herbrand.program.lower import in_cells
from herbrand.program.program import Program

MOST_ROWS = 20_000
"""Larger programs are not searched for a smallest set."""

MOST_OPERATIONS = 1e9


def proved_contradiction(program: Program, budget: Budget) -> ContradictionError:
    """For statements that propagation or counting has refuted: names a smallest contradictory set where that
    is affordable, else every hard statement."""
    return _by_elimination(program, budget) or every_hard_statement(program)


def no_weight() -> UnsupportedError:
    """For statements that some world satisfies, though numbers have lost it."""
    return UnsupportedError(
        "some worlds satisfy the hard statements, but the weight of each is 0 in floating-point numbers",
        hint="use smaller weights",
    )


def contradiction(program: Program, budget: Budget, engine: str) -> HerbrandError:
    """For statements that an engine found nothing possible for: the contradiction, if elimination proves it;
    else a refusal, which claims nothing."""
    return _by_elimination(program, budget) or UnsupportedError(
        f"{engine} has lost every world: either no world satisfies the hard statements, which could not be "
        "proved, or its numbers have run away",
        hint="use --engine exact, or bp, whose propagation decides what is impossible without numbers",
    )


def _by_elimination(program: Program, budget: Budget) -> ContradictionError | None:
    """Names a smallest set of which elimination proves that no world satisfies it; ``None`` where that is too
    dear, or there is a world."""

    def satisfiable(graph: FactorGraph, atom_count: int) -> bool:
        plan = planned(graph, atom_count, "maximum", gradient=False)
        if plan.operations > MOST_OPERATIONS or plan.bytes > budget.bytes:
            raise BudgetError("too large to look for a smallest contradiction")
        return plan.run().total > -math.inf

    try:
        return smallest_contradiction(ground(in_cells(program), budget, MOST_ROWS), satisfiable)
    except ContradictionError as error:
        return error
    except BudgetError:
        return None


def every_hard_statement(program: Program) -> ContradictionError:
    """The error that names all of them; whole tables of networks are among them where an entry is 0."""
    numbers = dict.fromkeys(t.statement for t in program.templates if t.weight is None)
    for number, statement in enumerate(program.statements):
        if isinstance(statement, NetworkTable) and not statement.values.all():
            numbers[number] = None
    mistakes = [
        Mistake(
            "with the facts, no world satisfies the hard statements together; this is one of them"
            + ("" if program.statements[n].span else f": {statement_text(program.statements[n])}"),
            program.statements[n].span,
        )
        for n in numbers
    ]
    return ContradictionError(mistakes or Mistake("the facts exclude every value of some atom"))


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
    return smallest(needed, lambda kept: not has_worlds(kept))


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
    text = statement_text(statement)
    message = f"with the facts, no world satisfies {together(count)}"
    return Mistake(message if statement.span else f"{message}: {text}", statement.span)


def _facts() -> Mistake:
    return Mistake("the facts exclude every value of some atom")
