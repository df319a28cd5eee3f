"""What looks at proofs one by one: the heaviest ones, exact probabilities, whether the depth cut any off."""

from __future__ import annotations

import math

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.answers.explanation import Reason
from herbrand.answers.guarantee import Guarantee
from herbrand.engines.proof.query import Proof
from herbrand.engines.proof.request import Request
from herbrand.errors import UnsupportedError
from herbrand.language import syntax as s
from herbrand.language.show import show_formula
from herbrand.language.theory import Theory
from tests.engines.proof.explained import explained
from tests.engines.proof.programs import EXAMPLES, PLACES, Program, goals, programs
from tests.engines.proof.test_against_proofs import plus, told
from tests.oracles.chances import chances, of_predicate
from tests.oracles.proofs import goal_answers

quick = settings(
    max_examples=EXAMPLES,
    deadline=None,
    phases=[Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)


def proof_of(model: hb.Model) -> Proof:
    return Proof.of(model.theory.rules, model.signature, model.stated_program.facts)


@quick
@given(st.data(), programs(weights=(1.0, 2.0)), st.integers(0, 2))
def test_truncated_tells_whether_deeper_proofs_exist(
    data: st.DataObject, program: Program, depth: int
) -> None:
    """Whole numbers, so that one proof more is more however many there are."""
    whole = Program(
        [s.Rule(rule.head, rule.body) for rule in program.lower],
        [s.Rule(rule.head, rule.body) for rule in program.upper],
        {name: dict.fromkeys(rows, 1) for name, rows in program.facts.items()},
    )
    goal = data.draw(goals(program))
    shallow = goal_answers(goal, whole.proofs().answers(goal.predicate, depth + 1), plus)
    deep = goal_answers(goal, whole.proofs().answers(goal.predicate, 25), plus)
    model, asked = whole.model(), show_formula(goal)
    assert model.query(asked, depth=depth).truncated == (deep != shallow)
    assert model.query(asked, depth=depth, algebra="boolean").truncated == (deep.keys() != shallow.keys())


def test_what_is_true_already_is_not_cut_off() -> None:
    """More proofs of the same do not change what is true."""
    model = hb.Model(hb.parse("a(x) :- e(x), a(y)\na(1)\ne(1)\ne(2)"))
    assert not model.query("a(1)", depth=0, algebra="boolean").truncated
    assert model.query("a(x)", depth=0, algebra="boolean").truncated
    assert not model.query("a(x)", depth=1, algebra="boolean").truncated
    assert model.query("a(x)", depth=1, algebra="count").truncated


@quick
@given(st.data(), programs(), st.integers(0, 3))
def test_proofs_add_up(data: st.DataObject, program: Program, depth: int) -> None:
    """All proofs together weigh what the oracle says; fewer leave the rest as the remainder."""
    name = data.draw(st.sampled_from(sorted({rule.head.predicate for rule in program.rules})))
    weights = program.proofs().answers(name, depth + 1)
    row = data.draw(st.sampled_from(sorted(weights) or [tuple(values[0] for values in PLACES[name])]))
    goal = show_formula(s.Atom(name, tuple(map(s.Constant, row))))
    proof = proof_of(program.model())
    few = explained(proof, goal, Request(depth=depth, top=3))
    assert few.value == pytest.approx(weights.get(row, 0.0))
    assert math.fsum([few.remainder, *(r.contribution for r in few.reasons)]) == pytest.approx(few.value)
    assert len(few.reasons) <= 3
    many = explained(proof, goal, Request(depth=depth, top=2000))
    if len(many.reasons) < 2000:
        assert many.remainder == pytest.approx(0.0, abs=1e-9 * many.value)
    listed = sorted((r.contribution for r in many.reasons), reverse=True)
    assert [r.contribution for r in few.reasons] == pytest.approx(listed[:3])
    best = told(program.model().query(goal, depth=depth, algebra="max"))
    assert best.get((), 0.0) == pytest.approx(max(listed, default=0.0))


def product(reason: Reason) -> float:
    """A tree's weight from its leaves; of unweighted rules."""
    return math.prod(map(product, reason.parts)) if reason.parts else reason.contribution


def test_a_tree_weighs_the_product_of_its_facts() -> None:
    theory = hb.parse(
        'e("a","b") @ 0.5\ne("b","c") @ 4\ne("a","c") @ 3\np(x,y) :- e(x,y)\np(x,y) :- e(x,z), p(z,y)'
    )
    why = explained(proof_of(hb.Model(theory)), 'p("a","c")', Request())
    assert [(r.contribution, product(r)) for r in why.reasons] == [(3.0, 3.0), (2.0, 2.0)]
    assert why.value == 5.0 and why.remainder == 0.0
    assert why.reasons[1].statement == "p(x, y) :- e(x, z), p(z, y)"
    assert why.reasons[1].grounding == {"x": "a", "y": "c", "z": "b"}
    assert [part.statement for part in why.reasons[1].parts] == ['e("a", "b") @ 0.5', "p(x, y) :- e(x, y)"]


small = st.builds(
    lambda rules, facts: (rules, facts),
    st.lists(
        st.builds(
            s.Rule,
            st.sampled_from(["p", "q"]).flatmap(
                lambda name: st.tuples(st.sampled_from("xy"), st.sampled_from("xy")).map(
                    lambda pair: s.Atom(name, tuple(map(s.Variable, pair)))
                )
            ),
            st.lists(
                st.builds(
                    lambda name, a, b: s.Atom(name, (s.Variable(a), s.Variable(b))),
                    st.sampled_from("eepq"),
                    st.sampled_from("xyz"),
                    st.sampled_from("xyz"),
                ),
                min_size=1,
                max_size=2,
            ).map(lambda atoms: (*atoms, s.Atom("d", (s.Variable("x"),)), s.Atom("d", (s.Variable("y"),)))),
            st.none(),
        ),
        min_size=1,
        max_size=3,
    ),
    st.dictionaries(
        st.tuples(st.sampled_from((1, 2)), st.sampled_from((1, 2))),
        st.sampled_from([0.25, 0.5, 1.0]),
        max_size=4,
    ),
)


@quick
@given(small, st.sampled_from([None, 0.5]))
def test_exact_probabilities_are_those_of_all_worlds(
    drawn: tuple[list[s.Rule], dict[tuple[int, int], float]], weight: float | None
) -> None:
    rules, edges = drawn
    last = rules[-1]
    rules = [*rules[:-1], s.Rule(last.head, last.body, weight)]
    facts = {"e": edges, "d": {(1,): 1.0, (2,): 1.0}}
    declared: list[s.Statement] = [s.TypeDeclaration("n", (s.Constant(1), s.Constant(2)))]
    declared += [
        s.PredicateDeclaration(name, ("n",) * arity)
        for name, arity in (("e", 2), ("d", 1), ("p", 2), ("q", 2))
    ]
    rows = {name: [(*row, w) for row, w in known.items()] for name, known in facts.items()}
    theory = Theory((*declared, *rules, *_weighted(rows)))
    expected = chances(rules, facts, (1, 2))  # type: ignore[arg-type]
    for name in {rule.head.predicate for rule in rules}:
        answer = hb.Model(theory).query(f"{name}(x, y)", algebra="probability", depth="fixpoint")
        assert told(answer) == pytest.approx(of_predicate(expected, name))
        assert answer.guarantee is Guarantee.EXACT


def _weighted(rows: dict[str, list[tuple[float, ...]]]) -> list[s.Statement]:
    return [
        s.FactRows(
            name,
            tuple(zip(*[row[:-1] for row in known], strict=True)),
            len(known),
            "weighted",
            tuple(r[-1] for r in known),
        )  # type: ignore[arg-type]
        for name, known in rows.items()
        if known
    ]


CHAIN = 'e("a","b") @ 0.5\ne("b","c") @ 0.5\ne("a","c") @ 0.5\np(x,y) :- e(x,y)\np(x,y) :- e(x,z), p(z,y)'


def test_independent_is_an_approximation_and_says_so() -> None:
    model = hb.Model(hb.parse(CHAIN))
    answer = model.query('p("a", y)', algebra="independent")
    assert answer.guarantee is Guarantee.APPROXIMATION
    assert answer["c"] == pytest.approx(1 - 0.5 * 0.75)
    assert model.query('p("a", y)', algebra="probability")["c"] == pytest.approx(0.625)


def test_a_probability_cut_by_the_depth_is_a_bound() -> None:
    answer = hb.Model(hb.parse(CHAIN)).query('p("a", y)', algebra="probability", depth=0)
    assert answer.guarantee is Guarantee.BOUND and answer.truncated
    assert answer["c"] == pytest.approx(0.5)


def test_soft_evidence_is_a_probability() -> None:
    theory = hb.parse('predicate rain(day)\npredicate wet(day)\nrain("mon") ~ 0.3\nwet(x) :- rain(x) @ 0.5')
    assert hb.Model(theory).query("wet(x)", algebra="probability")["mon"] == pytest.approx(0.15)


def test_what_has_no_probability_is_refused() -> None:
    heavy = hb.Model(hb.parse('e("a") @ 2\np(x) :- e(x)'))
    with pytest.raises(UnsupportedError, match="a fact of e weighs 2, which is no probability"):
        heavy.query("p(x)", algebra="probability")


def test_explaining_takes_one_answer() -> None:
    proof = proof_of(hb.Model(hb.parse(CHAIN)))
    with pytest.raises(UnsupportedError, match="one answer is explained at a time, and y is a variable"):
        explained(proof, 'p("a", y)', Request())
    assert explained(proof, 'p("c", "a")', Request()).reasons == ()
