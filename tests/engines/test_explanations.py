"""Explanations by all engines of ``infer``: the number explained is the answer's; reasons add up to it."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.answers.explanation import Explanation
from herbrand.answers.guarantee import Guarantee
from herbrand.engines.registry import INFERENCE
from herbrand.errors import BudgetError, ContradictionError, HerbrandError
from herbrand.language.names import shown_constant
from herbrand.language.show import show_atom, show_statement
from tests.engines.unseen import theory
from tests.laws import tries

OPTIONS: dict[str, dict[str, Any]] = {"gibbs": {"samples": 100}}
SETTLE = "(facts and hard statements settle it)"
OVER = "log-odds over "


def asked_of(seed: int) -> tuple[hb.Model, str, str]:
    """A theory and one atom, or value, to explain: its text, its atom's, and all its values' names."""
    text, universe = theory(seed, liftable=seed % 2 == 0)
    dice = random.Random(seed)
    name, arguments = dice.choice(universe.atoms())
    values = universe.predicates[name][1]
    atom = show_atom(name, arguments)
    if values is None:
        return hb.Model(hb.parse(text)), atom, atom
    return hb.Model(hb.parse(text)), f"{atom} = {shown_constant(dice.choice(values))}", atom


def shares(answer: hb.Marginals, atom: str) -> dict[str, float]:
    """What the answer gives each value of an atom; ``true`` and ``false`` where it has none."""
    found = {r.atom if r.value is None else f"{r.atom} = {shown_constant(r.value)}": r for r in answer.rows()}
    if atom in found:
        return {atom: found[atom].probability, "": 1 - found[atom].probability}
    return {text: row.probability for text, row in found.items() if row.atom == atom}


def assert_explains(why: Explanation, answer: hb.Marginals, asked: str, atom: str) -> None:
    assert why.subject == asked
    assert why.guarantee is answer.guarantee or why.guarantee is Guarantee.APPROXIMATION
    chances = shares(answer, atom)
    yes = chances.pop(asked)
    over = f"{atom} = {why.quantity.removeprefix(OVER)}"
    no = chances[over] if why.quantity.startswith(OVER) else math.fsum(chances.values())
    contributions = [reason.contribution for reason in why.reasons]
    if math.isinf(why.value):
        assert (no if why.value > 0 else yes) == pytest.approx(0.0, abs=1e-9)
        assert contributions and set(contributions) == {why.value}
        return
    assert all(map(math.isfinite, contributions))
    assert math.fsum((why.base, why.remainder, *contributions)) == pytest.approx(why.value, abs=1e-8)
    if min(yes, no) > 1e-9:
        assert why.value == pytest.approx(math.log(yes) - math.log(no), abs=1e-5)


@pytest.mark.parametrize("engine", INFERENCE)
@settings(
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    max_examples=tries(12),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(st.integers(0, 10**6))
def test_it_adds_up_to_what_the_engine_answers(engine: str, seed: int) -> None:
    model, asked, atom = asked_of(seed)
    options = {"iterations": 100, **OPTIONS.get(engine, {})}
    try:
        answer = model.infer(engine=engine, **options)
    except HerbrandError:
        return
    why = model.explain(asked, engine=engine, **options)
    assert isinstance(why, Explanation)
    if why.engine == "facts":
        assert (why.quantity, why.guarantee) == ("probability", Guarantee.EXACT)
        assert why.value in (0.0, 1.0)
    else:
        assert_explains(why, answer, asked, atom)


@pytest.mark.parametrize("engine", [name for name in INFERENCE if name != "circuit"])
def test_every_engine_names_the_statements_that_move_an_atom(engine: str) -> None:
    text = '1.5: p(x) => q(x)\n0.5: r(x)\n0.7: q(x) and s\np("a") ~ 0.8\ns ~ 0.3'
    theory = hb.parse(text)
    why = hb.Model(theory).explain('q("a")', engine=engine, **OPTIONS.get(engine, {}))
    assert isinstance(why, Explanation)
    told = {reason.statement for reason in why.reasons}
    stated = [next(show_statement(statement)) for statement in theory.formulas]
    alone = set() if engine == "regions" else {stated[0]}  # there it is the base, with all said of "a" alone
    assert alone | {stated[2]} <= told, "what speaks of the atom"
    assert stated[1] not in told, "what speaks of others alone"


FORCED = """\
type t = {"a", "b"}
predicate p(t)
predicate q(t)
hard: p(x) => q(x)
0.5: q(x)
p("a")
not q("b")
"""


@pytest.mark.parametrize("engine", [name for name in INFERENCE if name != "circuit"])
def test_every_engine_explains_weights_times_numbers(engine: str) -> None:
    text = 'predicate s(t, n): observed\ntype n = number\npredicate p(t)\npredicate q(t)\ns("a", 2)\n'
    model = hb.Model(hb.parse(text + "1.5 * k: s(x, k) and q(x) => p(x)\n0.5: p(x) and q(x)"))
    why = model.explain('p("a")', engine=engine, **OPTIONS.get(engine, {}))
    answer = model.infer(engine=engine, **OPTIONS.get(engine, {}))
    assert_explains(why, answer, 'p("a")', 'p("a")')


@pytest.mark.parametrize("engine", ["exact", "lifted"])
@pytest.mark.parametrize(("atom", "value"), [('q("a")', math.inf), ('p("b")', -math.inf)])
def test_the_exact_engines_name_what_forces_an_atom(engine: str, atom: str, value: float) -> None:
    why = hb.Model(hb.parse(FORCED)).explain(atom, engine=engine)
    assert isinstance(why, Explanation)
    assert (why.value, why.engine, why.base) == (value, engine, 0.0)
    assert [(r.statement, r.contribution) for r in why.reasons] == [("hard: p(x) => q(x)", value)]


@pytest.mark.parametrize("engine", ["regions", "mean-field"])
def test_others_say_that_it_is_forced(engine: str) -> None:
    why = hb.Model(hb.parse(FORCED)).explain('q("a")', engine=engine)
    assert isinstance(why, Explanation)
    assert (why.value, [reason.statement for reason in why.reasons]) == (math.inf, [SETTLE])


def test_facts_may_leave_one_value() -> None:
    """No hard statement is needed then, and none is named."""
    text = 'predicate a in {"x", "y", "z"}\n0.5: a = "x"\nnot a = "x"\nnot a = "y"'
    for engine in ("exact", "lifted"):
        why = hb.Model(hb.parse(text)).explain('a = "z"', engine=engine)
        assert isinstance(why, Explanation)
        assert (why.value, len(why.reasons)) == (math.inf, 1)


def test_lifted_explains_on_the_ground_what_counting_cannot_suppose() -> None:
    """An atom of three arguments that no statement links is counted, but not one of them alone."""
    text = 'type t = {"a", "b"}\npredicate f(t, t, t)\npredicate p(t)\n0.4: p(x)\nf("a", "b", "b") ~ 0.9'
    model = hb.Model(hb.parse(text))
    assert model.infer(engine="lifted").status.advice == ""
    why = model.explain('f("a", "b", "b")', engine="lifted")
    assert isinstance(why, Explanation)
    assert why.value == pytest.approx(math.log(9))
    assert why.note == "answered by ground elimination, since f has 3 arguments"


def test_lifted_says_that_an_atom_is_forced_where_the_ground_is_too_large() -> None:
    constants = ", ".join(f'"c{i}"' for i in range(40))
    text = (
        f"type t = {{{constants}}}\npredicate p(t)\npredicate f(t, t)\n"
        '0.1: p(x) and f(x, y) => p(y)\n0.1: p(x) <=> p(y)\nhard: p("c0")'
    )
    why = hb.Model(hb.parse(text)).explain('p("c0")', engine="lifted", memory="20MB")
    assert isinstance(why, Explanation)
    assert (why.value, [reason.statement for reason in why.reasons]) == (math.inf, [SETTLE])


def test_auto_passes_over_an_engine_whose_explanation_is_too_large() -> None:
    """An explanation sums two cases at several scales: the sums fitted into the memory, and these did not."""
    links = (
        f'e("c{i}_{j}", "c{i + 1}_{j}")\ne("c{i}_{j}", "c{i}_{j + 1}")' for i in range(12) for j in range(12)
    )
    declared = "predicate s(n)\npredicate e(n, n): observed\n0.2: s(x) and e(x, y) => s(y)\n"
    model = hb.Model(hb.parse(declared + "\n".join(links)))
    assert model.infer(memory="8MB").engine == "exact"
    assert model.explain('s("c0_1")', memory="8MB").guarantee == "approximation"
    with pytest.raises(BudgetError, match=r"(?s)exact inference needs about .*what can run it: engine bp"):
        model.explain('s("c0_1")', engine="exact", memory="8MB")


def test_regions_tell_a_very_likely_atom_from_a_certain_one() -> None:
    """1 - p is 0 in floating point long before p is 1."""
    why = hb.Model(hb.parse("60: p\n0.1: p => q")).explain("p", engine="regions")
    assert isinstance(why, Explanation)
    assert why.value == pytest.approx(
        60 + math.log(math.exp(0.1) + 1) - math.log(2 * math.exp(0.1)), abs=1e-6
    )


def test_mean_field_compares_a_value_with_the_likeliest_other() -> None:
    text = 'predicate a in {"x", "y", "z"}\n0.5: a = "x"\n0.2: a = "y"\n-1: a = "z"'
    why = hb.Model(hb.parse(text)).explain('a = "y"', engine="mean-field")
    assert isinstance(why, Explanation)
    assert (why.subject, why.quantity) == ('a = "y"', 'log-odds over "x"')
    assert why.value == pytest.approx(-0.3)


@pytest.mark.parametrize("engine", ["auto", "exact", "circuit", "gibbs"])
@pytest.mark.parametrize(
    "laws",
    ['not b("y")\nhard: b("y")', 'hard: b("y")\nhard: not b("y")', 'hard: a("x") and b("z") and not b("z")'],
)
def test_a_fact_of_no_world_is_not_explained(engine: str, laws: str) -> None:
    """A listed fact was explained, surely true, though the theory has no world at all."""
    model = hb.Model(hb.parse(f'predicate a(t)\npredicate b(t)\na("x")\n1.0: a(u) or b(u)\n{laws}'))
    with pytest.raises(ContradictionError):
        model.explain('a("x")', engine=engine)
