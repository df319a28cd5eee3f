"""Queried formulas with variables: a row for each choice of constants, beside the walk through worlds."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, assume, given, reject, settings

import herbrand as hb
from herbrand.budget import UNLIMITED, Budget
from herbrand.engines.mean_field.hard import UnkeptError
from herbrand.errors import OutOfTimeError
from herbrand.factors.ground_graph import ground_cases
from herbrand.language import syntax as s
from herbrand.language.parse import parse_formula
from herbrand.language.scope import Renaming, free_variables, with_terms
from herbrand.language.show import show_formula
from herbrand.language.theory import Theory
from herbrand.program.ground import ground
from tests.oracles.worlds import Universe, exact_answers
from tests.program_generators import anchored, models

quick = settings(
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    max_examples=4,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
TAKE_FORMULAS = ["exact", "lifted", "mean-field"]


def chosen(universe: Universe, asked: s.Formula) -> list[s.Formula]:
    """The closed formulas, constants in the order of their types', variables as they appear."""
    renamed = Renaming().formula(asked)
    types = universe.variable_types(renamed)
    names = list(free_variables(renamed))
    return [
        with_terms(asked, {n: s.Constant(v) for n, v in zip(names, values, strict=True)})
        for values in itertools.product(*(universe.domains[types[name]] for name in names))
    ]


def assert_rows(model: tuple[Theory, Universe], asked: s.Formula, engine: str, **options: Any) -> None:
    theory, universe = model
    closed = chosen(universe, asked)
    log_z, _, expected = exact_answers(universe, theory.formulas, closed)
    assume(log_z > -math.inf and len(closed) > 1)
    try:
        answer = hb.Model(theory).infer(show_formula(asked), engine=engine, **options)
    except UnkeptError:  # no product of single atoms keeps what is hard
        assert engine == "mean-field"
        reject()
    rows = list(answer.rows())
    assert [row.atom for row in rows] == list(map(show_formula, closed))
    for row, probability in zip(rows, expected, strict=True):
        if engine == "mean-field":
            assert 0 <= row.probability <= 1
        else:
            assert row.probability == pytest.approx(probability, abs=1e-8), row


@pytest.mark.parametrize("engine", TAKE_FORMULAS)
@quick
@given(models(hard=True), anchored)
def test_every_instance_has_a_row(engine: str, model: tuple[Theory, Universe], asked: s.Formula) -> None:
    assert_rows(model, asked, engine)


@pytest.mark.slow
@pytest.mark.parametrize("engine", TAKE_FORMULAS)
@settings(quick, max_examples=300)
@given(models(hard=True), anchored)
def test_every_instance_at_length(engine: str, model: tuple[Theory, Universe], asked: s.Formula) -> None:
    assert_rows(model, asked, engine)


THEORY = """\
type t = {"a", "b"}
predicate p(t)
predicate f(t, t)
0.7: p(x)
-0.4: f(x, y)
0.9: p(x) and f(x, y) => p(y)
"""
UNIVERSE = Universe({"t": ("a", "b")}, {"p": (("t",), None), "f": (("t", "t"), None)})


@pytest.mark.parametrize("engine", TAKE_FORMULAS[:2])
@pytest.mark.parametrize(
    "asked",
    [
        "p(x) and exists y: y != x",
        "p(x) or forall y: y = x",
        "forall y, z: y = z or y != x or p(x)",
        "p(x) and exists y: y != x and exists z: z != y and f(x, z)",
        "p(x) and (exists y: y = x) and forall y: y != x",
    ],
)
def test_a_quantifier_may_have_its_type_by_comparison(engine: str, asked: str) -> None:
    """Of the variable that the row puts a constant for: y ranges over x's type all the same."""
    theory = hb.parse(THEORY)
    renamed = Renaming().formula(parse_formula(asked))
    holds = []
    for value in ("a", "b"):
        total = share = 0.0
        log_weight = UNIVERSE.weight_of_worlds(theory.formulas)
        for world in UNIVERSE.worlds():
            weight = math.exp(log_weight(world))
            total += weight
            share += weight * truth(renamed, world, {"x": value})
        holds.append(share / total)
    answer = hb.Model(theory).infer(asked, engine=engine)
    assert [row.probability for row in answer.rows()] == pytest.approx(holds, abs=1e-9)
    first = with_terms(parse_formula(asked), {"x": s.Constant("a")})
    assert next(answer.rows()).atom == show_formula(first)


def truth(formula: s.Formula, world: Any, binding: dict[str, s.Value]) -> bool:
    """With one type, so that nothing must be known of a variable."""
    if isinstance(formula, s.Exists | s.Forall):
        names = [variable.name for variable in formula.variables]
        found = (
            truth(formula.body, world, {**binding, **dict(zip(names, values, strict=True))})
            for values in itertools.product("ab", repeat=len(names))
        )
        return any(found) if isinstance(formula, s.Exists) else all(found)
    if isinstance(formula, s.And):
        return all(truth(part, world, binding) for part in formula.operands)
    if isinstance(formula, s.Or):
        return any(truth(part, world, binding) for part in formula.operands)
    return UNIVERSE.holds(formula, world, binding)


@pytest.mark.parametrize("engine", TAKE_FORMULAS)
def test_each_anonymous_variable_is_one_of_its_own(engine: str) -> None:
    model = hb.Model(hb.parse(THEORY))
    short = list(model.infer("p(_) or f(_, _)", engine=engine).rows())
    long = list(model.infer("p(x) or f(y, z)", engine=engine).rows())
    assert [(row.atom, row.probability) for row in short] == [(row.atom, row.probability) for row in long]
    assert len({row.atom for row in short}) == 8


@pytest.mark.parametrize("engine", ["auto", "exact", "lifted", "mean-field", "circuit"])
def test_too_many_groundings_are_refused_with_their_number(engine: str) -> None:
    """Three quantifiers over 300 constants: it had run for minutes, and asked no clock."""
    model = hb.Model(hb.parse("type node = 1..300\npredicate s(node)\n0.3: s(x)"))
    with pytest.raises(hb.HerbrandError, match="grounding needs 27,000,000 rows, and at most 3,000,000 are"):
        model.infer("forall x: exists y: forall z: (s(x) <=> s(y)) xor s(z)", engine=engine)


def test_helpers_of_quantifiers_are_made_within_the_budget() -> None:
    model = hb.Model(hb.parse("type node = 1..9\npredicate s(node)\n0.3: s(x)"))
    program, _ = model.measured(UNLIMITED, (), ())
    queried = parse_formula("forall x: exists y: (s(x) and s(y))")
    cases = ground(program).negation(queried, UNLIMITED)
    with pytest.raises(OutOfTimeError):
        ground_cases(cases, Budget(seconds=0))
