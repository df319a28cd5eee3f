"""Contradictions among hard statements: a smallest contradictory set, found by deletion of blocks.

That all of them together have no world is proved first; the named set has itself been proved to have none.

The error is raised only after a proof, of one of three kinds: propagation, which leaves some atom without a
value; elimination of all hard statements together, which finds that no world has a weight; and counting of
them alone, in the max algebra, where every number is 0 or minus infinity. Rounded numbers prove nothing.
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
from herbrand.program.ground import MOST_GROUNDINGS, Ground, ground
from herbrand.program.lower import in_cells
from herbrand.program.program import Program

MOST_ROWS = 20_000
"""Number of ground rows above which no smallest set is searched for."""

MOST_OPERATIONS = 1e9


def proved_contradiction(program: Program, budget: Budget) -> ContradictionError:
    """Error for statements that propagation or counting has refuted: it names a smallest contradictory set if
    that is affordable, else every hard statement."""
    return _by_elimination(program, budget) or every_hard_statement(program)


def no_weight() -> UnsupportedError:
    """Error for statements that some world satisfies, but with a weight that underflows."""
    return UnsupportedError(
        "some worlds satisfy the hard statements, but the weight of each is 0 in floating-point numbers",
        hint="use smaller weights",
    )


def contradiction(program: Program, budget: Budget, engine: str) -> HerbrandError:
    """Error of an engine that has lost every world: the contradiction, if elimination proves it; else a
    refusal, which claims nothing."""
    return _by_elimination(program, budget) or UnsupportedError(
        f"{engine} has lost every world: either no world satisfies the hard statements, which could not be "
        "proved, or its numbers have diverged",
        hint="use --engine exact, or bp, whose propagation decides what is impossible without numbers",
    )


def _by_elimination(program: Program, budget: Budget) -> ContradictionError | None:
    """Error that names a smallest set which elimination proves to have no world; None if that is too
    expensive, or there is a world."""

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
    """Error that names all hard statements, including tables of networks with an entry of 0."""
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
"""Whether some world of a graph has a weight; the second argument is the number of atoms, its first axes."""


def smallest_contradiction(ground: Ground, satisfiable: Satisfiable) -> ContradictionError | None:
    """Error that names statements which no world satisfies, none of which can be left out; None if some
    world satisfies all."""
    needed = contradicting(ground, satisfiable)
    return None if needed is None else naming(ground, needed)


def naming(ground: Ground, needed: Collection[int], beside: str = "the facts") -> ContradictionError:
    """Error that names these statements, which no world satisfies; ``beside``: what holds in every world."""
    named = [_mistake(ground, number, len(needed), beside) for number in needed]
    return ContradictionError(named or _facts())


def smallest_in_cells(
    grounded: Ground, budget: Budget, satisfiable: Satisfiable
) -> ContradictionError | None:
    """The same, where each cell of a table counts by itself; names every hard statement if there are too many
    cells."""
    program = grounded.program
    try:
        celled = ground(in_cells(program), budget, MOST_GROUNDINGS) if program.tables else grounded
    except BudgetError:
        return every_hard_statement(program)
    return smallest_contradiction(celled, satisfiable)


def contradicting(
    ground: Ground, satisfiable: Satisfiable, excluded: tuple[int, np.ndarray] | None = None
) -> list[int] | None:
    """Numbers of hard statements without a world, given that an atom has no ``excluded`` value; none of them
    can be left out. None if some world satisfies them all."""

    def has_worlds(statements: Collection[int]) -> bool:
        graph = _hard_graph(ground, statements)
        if excluded is not None:
            atom, values = excluded
            unary = graph.unary.copy()
            unary[graph.starts[atom] + values] = FORBIDDEN
            graph = graph._replace(unary=unary)
        return satisfiable(graph, ground.atoms.count)

    needed = hard_statements(ground)
    if has_worlds(needed):
        return None
    return smallest(needed, lambda kept: not has_worlds(kept))


def hard_statements(ground: Ground) -> list[int]:
    """Numbers of the hard statements that have groundings."""
    return list(dict.fromkeys(t.template.statement for t in ground.templates if t.template.weight is None))


def only_hard(ground: Ground, statements: Collection[int]) -> Ground:
    """The ground program with these hard statements alone."""
    templates = tuple(
        template
        for template in ground.templates
        if template.template.weight is None and template.template.statement in statements
    )
    return replace(ground, templates=templates)


def _hard_graph(ground: Ground, statements: Collection[int]) -> FactorGraph:
    """Factor graph of these hard statements and of the facts."""
    return ground_graph(only_hard(ground, statements), by_formula=False).graph


def _mistake(ground: Ground, number: int, count: int, beside: str) -> Mistake:
    statement = ground.program.statements[number]
    text = statement_text(statement)
    message = f"with {beside}, no world satisfies {together(count)}"
    return Mistake(message if statement.span else f"{message}: {text}", statement.span)


def _facts() -> Mistake:
    return Mistake("the facts exclude every value of some atom")
