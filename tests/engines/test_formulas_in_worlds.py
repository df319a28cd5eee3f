"""Formulas in a most probable world: they hold in the world that is answered, though others weigh as much."""

from __future__ import annotations

import math

import pytest
from hypothesis import HealthCheck, Phase, given, settings

import herbrand as hb
from herbrand.errors import ContradictionError
from herbrand.language import syntax as s
from herbrand.language.show import show_formula
from herbrand.language.theory import Theory
from tests.oracles.worlds import GroundAtom, Universe, free_names
from tests.program_generators import PREDICATES, anchored, models

GIVE_WORLDS = ["exact", "lifted"]
generated = settings(
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    max_examples=3,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def world_of(universe: Universe, answer: hb.Marginals) -> dict[GroundAtom, object]:
    world = {atom: universe.choices(atom)[0] for atom in universe.atoms()}
    for row in answer.rows():
        if row.predicate is not None and (row.value is None or row.probability == 1.0):
            world[row.predicate, row.arguments] = row.probability == 1.0 if row.value is None else row.value
    return world


def assert_holds_there(theory: Theory, universe: Universe, query: s.Formula, engine: str) -> None:
    names = sorted(set(free_names(query)))
    closed = s.Exists(tuple(map(s.Variable, names)), query) if names else query
    if isinstance(closed, s.Atom):  # an atom by itself is no formula to be asked
        closed = s.And((closed, s.Truth(True)))
    try:
        answer = hb.Model(theory).infer([*PREDICATES, show_formula(closed)], engine=engine, map=True)
    except ContradictionError:
        return
    world = world_of(universe, answer)
    best = max(map(universe.weight_of_worlds(theory.formulas), universe.worlds()))
    assert universe.log_weight(world, theory.formulas) == pytest.approx(best, abs=1e-9)
    found = [row.probability for row in answer.rows() if row.predicate is None]
    assert found == [float(universe.holds(closed, world, {}))]


@pytest.mark.parametrize("engine", GIVE_WORLDS)
@generated
@given(models(), anchored)
def test_any_formula(engine: str, model: tuple[Theory, Universe], query: s.Formula) -> None:
    """Theories without weights are the worst: every world is a most probable one."""
    theory, universe = model
    kept = tuple(statement for statement in theory.statements if statement not in theory.formulas)
    assert_holds_there(theory, universe, query, engine)
    weightless = Theory((*kept, s.WeightedFormula(0.0, theory.formulas[0].formula)))
    assert_holds_there(weightless, universe, query, engine)


@pytest.mark.slow
@pytest.mark.parametrize("engine", GIVE_WORLDS)
@settings(generated, max_examples=300)
@given(models(hard=True), anchored)
def test_any_formula_at_length(engine: str, model: tuple[Theory, Universe], query: s.Formula) -> None:
    assert_holds_there(*model, query, engine)


T = 'type t = {"a", "b", "c"}\npredicate p(t)\npredicate f(t, t)\n'


@pytest.mark.parametrize("engine", GIVE_WORLDS)
def test_a_formula_and_its_opposite_are_never_both_true(engine: str) -> None:
    """One of three smokes, and it is one of them."""
    model = hb.Model(hb.parse(T + "hard: exists x: p(x)\n-1: p(x)"))
    asked = ['p("a")', 'p("b")', 'p("c")', 'p("a") or p("b")', 'not (p("a") or p("b"))', 'p("c") and p("c")']
    found = [row.probability for row in model.infer(asked, engine=engine, map=True).rows()]
    a, b, c, either, neither, third = found
    assert a + b + c == 1.0
    assert (either, neither, third) == (max(a, b), 1.0 - max(a, b), c)


@pytest.mark.parametrize("engine", GIVE_WORLDS)
def test_a_formula_with_variables_has_a_row_each(engine: str) -> None:
    model = hb.Model(hb.parse(T + 'hard: p("a") xor p("b")\n0.5: p("c")\nf("a", "c")\nnot f("c", "c")'))
    answer = model.infer(['p(x) and not f(x, "c")', "p(x)"], engine=engine, map=True)
    chosen = {row.arguments: row.probability for row in answer.rows() if row.predicate == "p"}
    formulas = {row.atom: row.probability for row in answer.rows() if row.predicate is None}
    assert formulas['p("a") and not f("a", "c")'] == 0.0
    assert formulas['p("c") and not f("c", "c")'] == chosen["c",] == 1.0


def test_where_a_world_is_too_large_to_look_at_it_is_counted() -> None:
    """Two million links and 10 MB: some most probable world has one."""
    constants = ", ".join(f'"c{i}"' for i in range(1500))
    text = f"type t = {{{constants}}}\npredicate p(t)\npredicate f(t, t)\n0.4: p(x) or f(x, y)\n-0.1: f(x, y)"
    model = hb.Model(hb.parse(text))
    answer = model.infer(["exists x: p(x)", "exists x: f(x, x)"], engine="lifted", map=True, memory="10MB")
    assert [row.probability for row in answer.rows()] == [1.0, 0.0]
    assert math.isfinite(answer.log_weight or 0.0)
