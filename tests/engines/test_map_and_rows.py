"""The most probable world, evidence of one call and the choice of rows, by every engine that gives them."""

from __future__ import annotations

import math

import pytest

import herbrand as hb
from herbrand.engines.registry import INFERENCE
from herbrand.errors import ContradictionError
from herbrand.language import syntax as s
from herbrand.language.theory import Theory
from tests.engines.unseen import theory
from tests.oracles.worlds import Universe, chosen_world, exact_answers

SEEDS = range(40, 52)
GIVE_WORLDS = ["exact", "lifted", "integer"]
OPTIONS: dict[str, dict[str, object]] = {"gibbs": {"samples": 100}}


def assert_most_probable(seed: int, engine: str) -> None:
    text, universe = theory(seed, liftable=seed % 2 == 0)
    read = hb.parse(text)
    best = max(map(universe.weight_of_worlds(read.formulas), universe.worlds()), default=-math.inf)
    try:
        answer = hb.Model(read).infer(engine=engine, map=True)
    except ContradictionError:
        assert best == -math.inf
        return
    assert answer.log_weight == pytest.approx(best, abs=1e-9)
    world = chosen_world(universe, answer.rows())
    assert not any(world[atom] == value for atom, value in universe.excluded)
    assert universe.log_weight(world, read.formulas) == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("engine", GIVE_WORLDS)
@pytest.mark.parametrize("seed", SEEDS)
def test_the_most_probable_world(seed: int, engine: str) -> None:
    assert_most_probable(seed, engine)


@pytest.mark.slow
@pytest.mark.parametrize("engine", GIVE_WORLDS)
def test_the_most_probable_world_at_length(engine: str) -> None:
    for seed in range(500, 900):
        assert_most_probable(seed, engine)


@pytest.mark.parametrize("engine", ["exact", "lifted", "bp", "regions"])
@pytest.mark.parametrize("seed", range(60, 68))
def test_several_facts_of_one_call(seed: int, engine: str) -> None:
    """Two atoms settled by ``given`` are as if facts said so; those that contradict are refused."""
    text, universe = theory(seed)
    read = hb.parse(text)
    free = [atom for atom in universe.atoms() if len(universe.choices(atom)) > 1][:2]
    known = {atom: universe.choices(atom)[0] for atom in free}
    given = []
    for (name, arguments), value in known.items():
        atom = s.Atom(name, tuple(map(s.Constant, arguments)))
        assert isinstance(value, bool | str)
        formula = s.ValueIs(atom, s.Constant(value)) if isinstance(value, str) else s.Not(atom)
        given.append(hb.show(Theory((s.WeightedFormula(s.Hard(), formula),))).removeprefix("hard: ").strip())
    settled = Universe(
        universe.domains, universe.predicates, {**universe.known, **known}, universe.closed,
        universe.soft, universe.excluded,
    )  # fmt: skip
    log_z, marginals, _ = exact_answers(settled, read.formulas)
    try:
        answer = hb.Model(read).infer(engine=engine, given=given)
    except ContradictionError:
        assert log_z == -math.inf
        return
    if answer.guarantee != "exact":
        return
    assert answer.log_partition == pytest.approx(log_z, abs=1e-8)
    for row in answer.rows():
        value = True if row.value is None else row.value
        expected = marginals.get(((str(row.predicate), row.arguments), value), 0.0)
        assert row.probability == pytest.approx(expected, abs=1e-8)


MODEL = """\
type t = {"a", "b", "c", "d"}
predicate p(t)
predicate colour(t) in {"red", "blue"}
1.5: p("a")
0.7: p("b")
-2: p("c")
0.4: colour("a") = "red"
p("d")
"""


@pytest.mark.parametrize("engine", INFERENCE)
def test_the_likeliest_rows_are_the_likeliest_of_all(engine: str) -> None:
    model = hb.Model(hb.parse(MODEL))
    every = list(model.infer(engine=engine, **OPTIONS.get(engine, {})).rows())
    first = model.infer(engine=engine, top=4, **OPTIONS.get(engine, {}))
    assert [row.probability for row in first.rows()] == sorted((r.probability for r in every), reverse=True)[
        :4
    ]
    likely = model.infer(engine=engine, min=0.55, **OPTIONS.get(engine, {}))
    assert [row.atom for row in likely.rows()] == [row.atom for row in every if row.probability >= 0.55]


@pytest.mark.parametrize("engine", INFERENCE)
def test_known_atoms_have_their_rows_where_they_are_asked_for(engine: str) -> None:
    """An answer is of what is not known, unless an atom is named."""
    model = hb.Model(hb.parse(MODEL))
    options = OPTIONS.get(engine, {})
    everything = model.infer(engine=engine, **options)
    assert 'p("d")' not in [row.atom for row in everything.rows()]
    asked = list(model.infer(['p("d")', 'p("a")'], engine=engine, **options).rows())
    assert [row.atom for row in asked] == ['p("d")', 'p("a")']
    assert asked[0].probability == 1.0
    assert asked[1].probability == pytest.approx(everything['p("a")'], abs=1e-12)


@pytest.mark.parametrize("engine", INFERENCE)
def test_a_theory_of_facts_alone_has_nothing_to_infer(engine: str) -> None:
    model = hb.Model(hb.parse('type t = {"a"}\npredicate p(t)\np("a")\n0.5: p(x)'))
    answer = model.infer(engine=engine, **OPTIONS.get(engine, {}))
    assert list(answer.rows()) == []
    if answer.log_partition is not None:
        assert answer.log_partition == pytest.approx(0.5)


@pytest.mark.parametrize("engine", INFERENCE)
def test_atoms_that_no_statement_names_are_even(engine: str) -> None:
    text = 'type t = {"a", "b"}\npredicate p(t)\npredicate m in {"x", "y", "z"}\n0.5: p("a")'
    answer = hb.Model(hb.parse(text)).infer(engine=engine, **({"samples": 4000} if engine == "gibbs" else {}))
    near = 0.05 if engine == "gibbs" else 1e-9
    assert answer['p("b")'] == pytest.approx(0.5, abs=near)
    shares = [row.probability for row in answer.rows() if row.predicate == "m"]
    assert shares == pytest.approx([1 / 3] * 3, abs=near)
    if answer.log_partition is not None:
        assert answer.log_partition == pytest.approx(math.log((1 + math.exp(0.5)) * 2 * 3), abs=1e-9)
