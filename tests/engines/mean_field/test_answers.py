"""Queried formulas, explanations, listed predicates, and what is asked of the command line."""

from __future__ import annotations

import gc
import json
import math
import weakref
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings

import herbrand as hb
from herbrand.engines.engine import first_state
from herbrand.engines.loop import settle
from herbrand.engines.mean_field.engine import MeanField
from herbrand.engines.mean_field.problem import prepared
from herbrand.engines.mean_field.tables import ListedTable
from herbrand.errors import BudgetError
from herbrand.language.theory import Theory
from herbrand.program.question import Question, read_explained, read_question
from tests.engines.mean_field.theories import people, universe_of
from tests.laws import tries
from tests.oracles import mean_field as oracle
from tests.oracles.worlds import Universe
from tests.program_generators import models

few = settings(
    phases=[Phase.reuse, Phase.generate],
    max_examples=tries(10),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
SMOKERS = (
    people(3)
    + '1.1: s(x) and f(x, y) => s(y)\n0.6: s(x) => exists y: f(x, y) and c(y)\ns("p0") ~ 0.8\nc("p1")'
)


@pytest.mark.parametrize(
    "text", ['s("p0") and f("p0", "p1")', 'exists x: s(x) and f(x, "p0")', "s(x) <=> c(x)"]
)
def test_formulas_are_answered_under_the_product_distribution(text: str) -> None:
    theory = hb.parse(people(2) + "0.9: s(x) and f(x, y) => s(y)\n0.4: s(x) => c(x)")
    engine, model = MeanField(), hb.Model(theory)
    state, status = settle(engine, partial(first_state, engine, model.program, Question()))
    universe = universe_of(theory)
    asked = engine.read(
        type(state)(state.problem, read_question([text], model.signature, model.program.facts), state.runs),
        status,
    )
    atoms = {row.atom: row.probability for row in engine.read(state, status).rows()}
    slow = oracle.MeanField(universe, ())
    for row in asked.rows():
        formula = hb.parse(f"0: {row.atom}").formulas[0].formula
        expected = sum(
            math.prod(chance(atoms, atom, value) for atom, value in world.items())
            for world, _ in slow.worlds
            if universe.holds(formula, world, {})
        )
        assert row.probability == pytest.approx(expected, abs=1e-9)


def chance(atoms: dict[str, float], atom: tuple[str, tuple[object, ...]], value: object) -> float:
    probability = atoms[f"{atom[0]}({', '.join(json.dumps(a) for a in atom[1])})"]
    return probability if value else 1 - probability


def explanation(model: hb.Model, atom: str) -> Any:
    question = read_explained(atom, model.signature, model.program.facts)
    engine = MeanField()
    state, status = settle(engine, partial(first_state, engine, model.program, question))
    return engine.explain(state, status), engine.read(state, status)


def assert_adds_up(why: Any, odds: float) -> None:
    assert why.value == pytest.approx(odds, abs=1e-4)
    total = why.base + sum(reason.contribution for reason in why.reasons) + why.remainder
    assert total == pytest.approx(why.value, abs=1e-9)


def test_contributions_sum_to_the_reported_log_odds() -> None:
    model = hb.Model(hb.parse(SMOKERS))
    for atom in ('s("p0")', 's("p2")', 'f("p0", "p1")', 'f("p2", "p2")', 'c("p0")'):
        why, answer = explanation(model, atom)
        assert_adds_up(why, math.log(answer[atom] / (1 - answer[atom])))
    assert explanation(model, 's("p0")')[0].base == pytest.approx(math.log(4))


@few
@given(models())
def test_every_atom_of_random_theories_is_explained(drawn: tuple[Theory, Universe]) -> None:
    theory, universe = drawn
    assume(oracle.world_count(universe) <= 300)
    model = hb.Model(theory)
    for table in model.infer(engine="mean-field").tables[:4]:
        row = next(iter(table.rows()))
        found = row.probability
        if table.values is None:
            assert_adds_up(explanation(model, row.atom)[0], math.log(found / (1 - found)))
            continue
        for value, chance in zip(table.values, table.probabilities[0], strict=True):
            other = max(p for v, p in zip(table.values, table.probabilities[0], strict=True) if v != value)
            why, _ = explanation(model, f"{row.atom} = {json.dumps(value)}")
            if chance == 0 or other == 0:
                assert why.value == (-math.inf if chance == 0 else math.inf)
            else:
                assert_adds_up(why, math.log(chance / other))


def test_a_reason_names_statement_and_constants() -> None:
    model = hb.Model(hb.parse(people(2) + "1.5: s(x) => c(x)\n-0.5: c(y) and f(y, z)"))
    why, _ = explanation(model, 'c("p1")')
    told = {(reason.statement, tuple(reason.grounding.items())) for reason in why.reasons}
    assert told == {
        ("1.5: s(x) => c(x)", (("x", "p1"),)),
        ("-0.5: c(y) and f(y, z)", (("y", "p1"), ("z", "p0"))),
        ("-0.5: c(y) and f(y, z)", (("y", "p1"), ("z", "p1"))),
    }


def test_hard_statements_explain_with_certainty() -> None:
    model = hb.Model(hb.parse(people(1) + 'c("p0")\nhard: s(x)\n0.3: s(x)'))
    assert model.explain('c("p0")', engine="mean-field").engine == "facts"
    assert explanation(model, 's("p0")')[0].value == math.inf


def test_atoms_that_are_one_are_explained_together() -> None:
    model = hb.Model(
        hb.parse(people(2) + "hard: f(x, y) <=> f(y, x)\n0.7: f(x, y)\n0.2: f(x, y) and f(y, x)")
    )
    why, answer = explanation(model, 'f("p1", "p0")')
    odds = answer['f("p1", "p0")']
    assert_adds_up(why, math.log(odds / (1 - odds)))
    assert why.value == pytest.approx(1.8, abs=1e-4)


BUYERS = """type person
type item
predicate likes(person, item): observed
predicate buys(person, item)
predicate rich(person)
0.9: likes(x, i) and rich(x) => buys(x, i)
-0.6: buys(x, i)
0.2: rich(x)
"""


def test_a_predicate_is_kept_by_its_exceptions_where_that_is_exact() -> None:
    rows = [(f"x{i}", f"i{(i * j) % 90}") for i in range(80) for j in range(1, 4)]
    model = hb.Model(hb.parse(BUYERS + 'buys("x0", "i5")\nbuys("x1", "i7") ~ 0.9'), {"likes": rows})
    program = model.program
    listed, whole = prepared(program), prepared(program, listing=False)
    assert isinstance(listed.unknowns.tables["buys"], ListedTable)
    assert len(listed.unknowns.tables["buys"].codes) < 300
    answers = []
    for problem in (listed, whole):
        engine = MeanField()
        state = first_state(engine, program, Question())
        begun = type(state)(problem, Question(), tuple(_started(problem) for _ in state.runs))
        state, status = settle(engine, partial(replace, begun))
        answers.append(engine.read(state, status))
    one, other = answers
    assert one.log_partition == pytest.approx(other.log_partition, abs=1e-6)
    for left, right in zip(one.rows(), other.rows(), strict=True):
        assert left.probability == pytest.approx(right.probability, abs=1e-6)


def _started(problem: Any) -> Any:
    from herbrand.engines.mean_field.run import started

    return started(problem, 1.0)


def test_a_predicate_too_large_for_a_table_is_inferred_by_its_exceptions() -> None:
    count = 30_000
    rows = [(f"x{i}", f"i{i}") for i in range(count)]
    model = hb.Model(hb.parse(BUYERS), {"likes": rows})
    answer = model.infer('buys("x1", "i1")', engine="mean-field")
    engine, question = MeanField(), read_question(['rich("x1")'], model.signature, model.program.facts)
    state, _ = settle(engine, partial(first_state, engine, model.program, question))
    default = float(state.best.marginals["buys"][-1])
    assert default == pytest.approx(1 / (1 + math.exp(0.6)))
    assert answer['buys("x1", "i1")'] > default


def test_what_does_not_fit_is_refused_before_it_is_made() -> None:
    names = [(f"x{i}",) for i in range(50_000)]
    model = hb.Model(
        hb.parse(
            "predicate p(t): observed\npredicate s(t)\npredicate f(t, t)\n"
            "1.0: s(x) and f(x, y) => s(y)\n0.1: p(x) => s(x)"
        ),
        {"p": names},
    )
    with pytest.raises(BudgetError, match="2,500,000,000 of them of f"):
        model.infer('s("x1")', engine="mean-field", memory="4GB")


def test_more_values_than_64_bits_number_are_refused() -> None:
    """Which values facts exclude had been multiplied out before: an internal error, by every engine."""
    text = 'type n = 1..60000\npredicate red(n, n, n, n) in {"a", "b"}\nred(1, 1, 1, 1) = "a"\n'
    model = hb.Model(hb.parse(text + '0.3: red(x, x, x, x) = "b" and red(x, y, x, y) = "a"'))
    with pytest.raises(BudgetError, match="of them of red"):
        model.infer('red(1, 1, 1, 2) = "a"', engine="mean-field")


def test_the_command_line(herbrand: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "small.hb"
    path.write_text(SMOKERS)
    outcome = herbrand("infer", path, "--engine", "mean-field", "--format", "json")
    told = json.loads(outcome.out)
    assert outcome.status == 0
    assert (told["engine"], told["guarantee"], told["log_partition_guarantee"]) == (
        "mean-field",
        "approximation",
        "lower",
    )
    assert told["log_partition"] <= hb.Model(hb.parse(SMOKERS)).infer(engine="exact").log_partition
    assert told["converged"] and told["iterations"] > 1
    refused = herbrand("infer", path, "--engine", "mean-field", "--given", 's("nobody")')
    assert refused.status == 1 and "Traceback" not in refused.err


@pytest.mark.parametrize(
    "text",
    [
        "0.5: s(x) => c(x)",
        "type t = {}\npredicate s(t)\n0.5: s(x)",
        "predicate rain",
        'type t = {"a"}\npredicate s(t)',
    ],
)
def test_theories_with_nothing_to_say(text: str) -> None:
    try:
        theory = hb.parse(text)
    except hb.HerbrandError:
        return
    answer = hb.Model(theory).infer(engine="mean-field")
    assert answer.log_partition == pytest.approx(hb.Model(theory).infer(engine="exact").log_partition)


def test_what_was_prepared_goes_with_its_last_use() -> None:
    """Large relations must not wait in cycles for a collection of garbage."""
    gc.disable()
    try:
        text = SMOKERS + '\npredicate k(t): observed\nk("p0")\n1: k(x) => s(x)'
        problem = prepared(hb.Model(hb.parse(text)).program)
        problem.evidence.known("k")
        watched = [weakref.ref(one) for one in (problem.evidence, problem.score, problem.score.relations)]
        del problem
        assert [one() for one in watched] == [None, None, None]
    finally:
        gc.enable()
