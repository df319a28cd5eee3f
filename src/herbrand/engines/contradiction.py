"""Which hard statements cannot hold together: a smallest set, found by leaving out one after another.

That there is none is proved first, of all of them together; what is named has itself been proved to have no
world.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy as np

from herbrand.engines.ground_network import Network, Scope, add_template, add_unary
from herbrand.errors import ContradictionError, Mistake
from herbrand.language.show import show_statement
from herbrand.program.ground import Ground

Satisfiable = Callable[[Network], bool]


def smallest_contradiction(ground: Ground, satisfiable: Satisfiable) -> ContradictionError | None:
    """The error that names statements no world satisfies, none of which could be left out; ``None`` where
    some world satisfies all."""
    needed = contradicting(ground, satisfiable)
    if needed is None:
        return None
    return ContradictionError([_mistake(ground, number, len(needed)) for number in needed] or _facts())


def contradicting(
    ground: Ground, satisfiable: Satisfiable, assumed: Mapping[Scope, np.ndarray] | None = None
) -> list[int] | None:
    """Numbers of hard statements that no world satisfies along with what is assumed, none of which can be
    left out; ``None`` where some world satisfies them all."""
    needed = list(dict.fromkeys(t.template.statement for t in ground.templates if t.template.weight is None))
    if satisfiable(_network_of_hard(ground, needed, assumed or {})):
        return None
    for statement in tuple(needed):
        rest = [other for other in needed if other != statement]
        if not satisfiable(_network_of_hard(ground, rest, assumed or {})):
            needed = rest
    return needed


def _network_of_hard(
    ground: Ground, statements: Iterable[int], assumed: Mapping[Scope, np.ndarray]
) -> Network:
    wanted = set(statements)
    network = Network(ground.atoms.value_counts.tolist(), ground.atoms.count)
    for template in ground.templates:
        if template.template.weight is None and template.template.statement in wanted:
            add_template(network, template, ground.program.weights)
    add_unary(network, ground)
    for scope, table in assumed.items():
        network.add_ordered(scope, table)
    return network


def _mistake(ground: Ground, number: int, count: int) -> Mistake:
    statement = ground.program.statements[number]
    text = next(iter(show_statement(statement)))
    together = "this statement" if count == 1 else f"these {count} statements together"
    message = f"with the facts, no world satisfies {together}"
    return Mistake(message if statement.span else f"{message}: {text}", statement.span)


def _facts() -> Mistake:
    return Mistake("the facts exclude every value of some atom")
