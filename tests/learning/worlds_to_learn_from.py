"""Random theories with weights to learn, and complete worlds to learn them from."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any, NamedTuple

from hypothesis import strategies as st

from herbrand.language import syntax as s
from herbrand.language.theory import Theory
from tests.oracles.worlds import Universe, World, free_names
from tests.program_generators import DOMAINS, PREDICATES, T_NAMES, statements


class Lesson(NamedTuple):
    """A theory that states a whole world as its facts, and the same for the oracle."""

    theory: Theory
    universe: Universe
    world: World
    targets: tuple[str, ...]


@st.composite
def lessons(draw: st.DrawFn, hard: bool = False) -> Lesson:
    weighted = [_to_learn(draw, draw(statements())) for _ in range(draw(st.integers(1, 3)))]
    weighted.append(draw(statements()))
    if hard:
        weighted.append(draw(statements(hard=True)))
    universe = Universe(DOMAINS, PREDICATES)
    world: dict[Any, Any] = {}
    for atom in universe.atoms():
        values = PREDICATES[atom[0]][1]
        world[atom] = draw(st.booleans() if values is None else st.sampled_from(values))
    names = sorted(PREDICATES)
    targets = tuple(draw(st.lists(st.sampled_from(names), min_size=1, max_size=4, unique=True)))
    return Lesson(Theory((*declarations(), *facts(world), *weighted)), universe, world, targets)


def _to_learn(draw: st.DrawFn, statement: s.WeightedFormula) -> s.WeightedFormula:
    free = sorted(set(free_names(statement.formula)) & set(T_NAMES))
    by = draw(st.lists(st.sampled_from(free), unique=True, max_size=2)) if free else []
    return replace(statement, weight=s.Learned(tuple(map(s.Variable, by))))


def declarations() -> tuple[s.Statement, ...]:
    return (
        *(s.TypeDeclaration(n, tuple(map(s.Constant, v))) for n, v in DOMAINS.items() if " " not in n),
        *(
            s.PredicateDeclaration(n, types, None if values is None else tuple(map(s.Constant, values)))
            for n, (types, values) in PREDICATES.items()
        ),
    )


def facts(world: World) -> list[s.FactRows]:
    """What holds; what does not is left out, as learning takes it to be false."""
    found = []
    for (name, arguments), value in world.items():
        columns = tuple((a,) for a in arguments)
        if value is True:
            found.append(s.FactRows(name, columns, 1))
        elif value is not False:
            found.append(s.FactRows(name, (*columns, (value,)), 1, "true", (), True))
    return found


def all_keys(universe: Universe, theory: Theory) -> list[tuple[int, tuple[s.Value, ...]]]:
    """Every number that the theory wants learned."""
    found = []
    weighted = [f for f in theory.formulas if not isinstance(f.weight, s.Hard)]
    for number, statement in enumerate(weighted):
        if isinstance(statement.weight, s.Learned):
            types = universe.variable_types(statement.formula)
            ranges = [universe.domains[types[v.name]] for v in statement.weight.by]
            found += [(number, constants) for constants in itertools.product(*ranges)]
    return found
