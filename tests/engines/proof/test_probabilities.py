"""Exact probabilities of answers beside a walk through all worlds, kind by kind of rule."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.answers.guarantee import Guarantee
from herbrand.engines.proof import probability
from herbrand.errors import BudgetError, UnsupportedError
from herbrand.language import syntax as s
from tests.engines.proof.kinds_of_rules import spelled
from tests.engines.proof.test_against_proofs import told
from tests.laws import tries
from tests.oracles.chances import chances, of_predicate
from tests.oracles.proofs import Facts

DECLARED = """\
type n = {"a", "b", "c"}
predicate e(n, n): observed
predicate f(n, n): observed
predicate u(n): observed
predicate p(n, n)
predicate q(n)
predicate r
"""
RULES: dict[str, str] = {
    "a chain": "p(x, y) :- e(x, z), f(z, y)",
    "two ways": "p(x, y) :- e(x, y)\np(x, y) :- f(x, y)",
    "the same fact twice": "p(x, y) :- e(x, y), e(x, z)",
    "the same fact in two proofs": "p(x, y) :- e(x, y), u(x)\np(x, y) :- e(x, y), u(y)",
    "a weighted rule": "p(x, y) :- e(x, y) @ 0.5",
    "a weighted rule of many instances": "p(x, x) :- e(x, y), f(y, _), u(x) @ 0.5",
    "two weighted rules": "p(x, y) :- e(x, y) @ 0.5\np(x, y) :- e(x, y) @ 0.25",
    "a rule of weight 0": "p(x, y) :- e(x, y)\np(x, y) :- f(x, y) @ 0",
    "a rule of weight 1": "p(x, y) :- f(x, y) @ 1",
    "recursion": "p(x, y) :- e(x, y)\np(x, y) :- e(x, z), p(z, y)",
    "recursion from both sides": "p(x, y) :- e(x, y)\np(x, y) :- p(x, z), p(z, y)",
    "mutual recursion": "p(x, y) :- e(x, y)\np(x, y) :- q(x), f(x, y)\nq(x) :- p(y, x)",
    "no argument": "r :- e(x, y), f(y, x)\np(x, y) :- e(x, y), r",
    "tests": 'p(x, y) :- e(x, y), x != y\np(x, y) :- e(x, y), x = "a"',
    "not before what is certain": "p(x, y) :- e(x, y), not u(y)",
    "anyone": "p(x, y) :- e(x, y), e(y, _)",
    "constants": 'p("a", y) :- e(y, "b")\np(x, "c") :- f(x, _)',
}
WORLDS: list[dict[str, dict[tuple[str, ...], float]]] = [
    {"e": {("a", "b"): 0.5, ("b", "c"): 0.25}, "f": {("b", "c"): 0.5}, "u": {("c",): 1.0}},
    {
        "e": {("a", "b"): 0.5, ("b", "a"): 0.75, ("a", "a"): 0.5},
        "f": {("b", "a"): 0.5, ("a", "b"): 0.25},
        "u": {("a",): 1.0},
    },
    {"e": {("a", "b"): 1.0, ("b", "c"): 0.0}, "f": {("a", "c"): 0.5}, "u": {}},
    {"e": {}, "f": {("a", "b"): 0.5}, "u": {("b",): 1.0}},
]


FEW: list[dict[str, dict[tuple[str, ...], float]]] = [
    {"e": {("a", "b"): 0.5, ("b", "a"): 0.75}, "f": {("b", "a"): 0.5}, "u": {("a",): 1.0}},
    WORLDS[3],
]
"""For weighted rules, each of whose instances is one more choice."""


def text_of(rules: str, facts: Facts) -> str:
    rows = (
        f"{name}({', '.join(f'{value!r}' for value in row)}) @ {weight}".replace("'", '"')
        for name, known in facts.items()
        for row, weight in known.items()
    )
    return "\n".join([DECLARED, rules, *rows])


@pytest.mark.parametrize("kind", RULES)
def test_probabilities_are_those_of_all_worlds(kind: str) -> None:
    weighted = "weight" in kind
    constants = ("a", "b") if weighted else ("a", "b", "c")
    for facts in FEW if weighted else WORLDS:
        theory = hb.parse(text_of(RULES[kind], facts))
        kept = {name: {row: w for row, w in rows.items() if w} for name, rows in facts.items()}
        if "not" in kind and facts["u"] == {}:
            continue
        rules = [replace(spelled(rule), weight=rule.weight) for rule in theory.rules]
        expected = chances(rules, kept, constants)
        model = hb.Model(theory)
        answer = model.query("p(x, y)", algebra="probability", depth="fixpoint")
        wanted = {row: p for row, p in of_predicate(expected, "p").items() if p}
        assert told(answer) == pytest.approx(wanted), facts
        assert answer.guarantee is Guarantee.EXACT
        alone = model.query('p("a", y)', algebra="probability", depth="fixpoint")
        assert told(alone) == pytest.approx({row[1:]: p for row, p in wanted.items() if row[0] == "a"})
        some = model.query("p(_, _)", algebra="probability", depth="fixpoint")
        any_of = chances([*rules, s.Rule(s.Atom("any"), (spelled_any(),))], kept, constants)
        assert told(some) == pytest.approx({(): any_of["any", ()]} if any_of.get(("any", ())) else {})


def spelled_any() -> s.Atom:
    return s.Atom("p", (s.Variable("x1"), s.Variable("x2")))


quick = settings(
    max_examples=tries(10),
    deadline=None,
    phases=[Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow],
)
edges = st.dictionaries(
    st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), st.sampled_from([0.25, 0.5, 1.0]), max_size=5
)


@quick
@given(edges, st.sampled_from([0.25, 0.5]))
def test_laws_of_probabilities(drawn: dict[tuple[str, str], float], weight: float) -> None:
    """Deeper is no less; the heaviest proof is a bound from below, the sum over proofs one from above."""
    facts = {"e": drawn, "f": {}, "u": {}}
    rules = f"p(x, y) :- e(x, y)\np(x, y) :- e(x, z), p(z, y) @ {weight}"
    model = hb.Model(hb.parse(text_of(rules, facts)))
    by_depth = [told(model.query("p(x, y)", algebra="probability", depth=depth)) for depth in (0, 1, 3)]
    whole = told(model.query("p(x, y)", algebra="probability", depth="fixpoint"))
    for shallow, deep in itertools.pairwise([*by_depth, whole]):
        assert all(chance <= deep[row] + 1e-12 for row, chance in shallow.items())
    best = told(model.query("p(x, y)", algebra="max", depth=3))
    total = told(model.query("p(x, y)", depth=3))
    for row, chance in by_depth[-1].items():
        assert best[row] - 1e-12 <= chance <= total[row] + 1e-12
    goals = [f'p("{x}", y)' for x in "abc"]
    for goal, answer in zip(goals, model.query(goals, algebra="probability", depth="fixpoint"), strict=True):
        assert told(answer) == pytest.approx({row[1:]: p for row, p in whole.items() if row[0] == goal[3]})


def test_soft_evidence_and_weights_are_told_apart_from_certain_facts() -> None:
    text = "predicate rain(day)\npredicate wet(day)\npredicate hot(day): observed\n"
    facts = (
        'rain("mon") ~ 0.25\nrain("tue") ~ 0.5\nrain("tue")\nrain("wed") ~ 1\nrain("thu") ~ 0\n'
        'hot("fri") @ 0.5'
    )
    rules = "wet(x) :- rain(x)\nwet(x) :- hot(x)"
    answer = hb.Model(hb.parse(f"{text}{facts}\n{rules}")).query("wet(x)", algebra="probability")
    assert told(answer) == {("mon",): 0.25, ("tue",): 1.0, ("wed",): 1.0, ("fri",): 0.5}


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ('e("a", "b") @ 1.5', "a fact of e weighs 1.5, which is no probability\n  --algebra count takes"),
        ('e("a", "b") @ -0.5', "a fact of e weighs -0.5, which is no probability"),
        ("p(x, y) :- e(x, y) @ 2", "this rule weighs 2, which is no probability"),
    ],
)
@pytest.mark.parametrize("algebra", ["probability", "independent"])
def test_what_has_no_probability(more: str, message: str, algebra: str) -> None:
    model = hb.Model(hb.parse(f"{DECLARED}p(x, y) :- e(x, y)\n{more}"))
    with pytest.raises(UnsupportedError, match=message):
        model.query("p(x, y)", algebra=algebra)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ('e("a", "b") @ 0.5\np(x, y) :- f(x, y), not e(x, y)', "'not' stands before e, which is uncertain"),
        ("q(x) :- u(x) @ 0.5\np(x, y) :- f(x, y), not q(x)", "'not' stands before q, which is uncertain"),
        (
            'e("a", "b") @ 0.5\nq(x) :- e(x, _)\nr :- q(_)\np(x, y) :- f(x, y), not r',
            "'not' stands before r, which is uncertain",
        ),
    ],
)
def test_independent_takes_no_uncertain_absence(more: str, message: str) -> None:
    """Only what rests on it is refused."""
    model = hb.Model(
        hb.parse(
            f'{DECLARED}p(x, y) :- e(x, y)\n{more}\nlone(x) :- u(x)\nu("c")'.replace(
                "predicate r\n", "predicate r\npredicate lone(n)\n"
            )
        )
    )
    with pytest.raises(UnsupportedError, match=f"{message}\n.*\n.*\n  --algebra probability takes it"):
        model.query("p(x, y)", algebra="independent")
    assert told(model.query("lone(x)", algebra="independent")) == {("c",): 1.0}


COMPUTING = """
type thing = {"a", "b", "c"}
type num = number
predicate v(thing, num): observed
predicate u(thing): observed
predicate p(thing)
predicate often(thing)
v("a", 1)
v("b", 2)
v("c", 3)
u("a") @ 0.5
u("c") @ 0.25
"""


@pytest.mark.parametrize("test", ['x <= "c"', "n + 1 < 5", "max(n, 2) >= n", "min(k: v(_, k)) = 1"])
@pytest.mark.parametrize(
    ("absent", "expected"),
    [("u(y)", {"a": 0.375, "b": 0.375, "c": 0.375}), ("u(x)", {"a": 0.5, "b": 1, "c": 0.75})],
)
def test_an_absence_beside_what_is_computed(test: str, absent: str, expected: dict[str, float]) -> None:
    """The tests hold of all that v has: only worlds in which u does not hold count."""
    model = hb.Model(hb.parse(f"{COMPUTING}p(x) :- v(x, n), not {absent}, {test}"))
    answer = model.query("p(x)", algebra="probability")
    assert told(answer) == pytest.approx({(x,): p for x, p in expected.items()})


@pytest.mark.parametrize("algebra", ["probability", "independent"])
@pytest.mark.parametrize("test", ["count(y: u(y)) >= 2", "n + 1 = sum(k, y: v(y, k), often(y))"])
def test_aggregates_of_what_is_uncertain_are_refused(test: str, algebra: str) -> None:
    """Only what rests on them is; other algebras take all that has a proof."""
    rules = f"often(x) :- u(x)\np(x) :- v(x, n), {test}"
    model = hb.Model(hb.parse(COMPUTING + rules))
    with pytest.raises(UnsupportedError, match=r"is over (u|often), which is uncertain(.|\n)*choices"):
        model.query("p(x)", algebra=algebra)
    assert told(model.query("often(x)", algebra=algebra)) == {("a",): 0.5, ("c",): 0.25}
    assert told(model.query("p(x)", algebra="boolean"))["c",] == 1


def test_as_many_steps_as_are_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    model = hb.Model(hb.parse(text_of(RULES["recursion"], WORLDS[1])))
    monkeypatch.setattr("herbrand.engines.proof.derivations.MOST_INSTANCES", 3)
    with pytest.raises(
        BudgetError, match="more than 3 steps of proofs to look at one by one\n  ask for fewer"
    ):
        model.query("p(x, y)", algebra="probability")


def _mutual(people: int, seed: int) -> str:
    """Smokers of whom each newcomer has one or two friends among those before; friendship goes both ways."""
    rng = random.Random(seed)
    pairs = {(i, other) for i in range(1, people) for other in rng.choices(range(i), k=2)}
    lines = [f'friend("p{a}", "p{b}") @ 0.{rng.randint(1, 9)}' for a, b in sorted(pairs)]
    lines += [f'friend("p{b}", "p{a}") @ 0.{rng.randint(1, 9)}' for a, b in sorted(pairs)]
    lines += [f'stress("p{i}") @ 0.{rng.randint(1, 9)}' for i in range(people)]
    return "\n".join([*lines, "smokes(x) :- stress(x)", "smokes(x) :- friend(x, y), smokes(y) @ 0.7"])


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("depth", range(6))
def test_calls_need_no_count_where_no_proof_has_too_many(
    depth: int, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same numbers, as truncated, whether atoms are told apart by the calls left or not."""
    model = hb.Model(hb.parse(_mutual(4, seed)))
    found = model.query("smokes(x)", algebra="probability", depth=depth)
    monkeypatch.setattr(probability, "_without_depth", lambda *_: None)
    counted = hb.Model(model.theory).query("smokes(x)", algebra="probability", depth=depth)
    assert {row.bindings["x"]: row.weight for row in found.rows()} == pytest.approx(
        {row.bindings["x"]: row.weight for row in counted.rows()}, abs=1e-12
    )
    assert (found.truncated, found.guarantee) == (counted.truncated, counted.guarantee)


def test_people_enough_for_the_depth_are_asked_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 4 people the longest chain has 4 atoms of smokers: a depth of 4 is enough, and one of 3 is not."""
    taken: list[bool] = []
    whole = probability._without_depth

    def noted(*given: Any) -> Any:
        found = whole(*given)
        taken.append(found is not None)
        return found

    monkeypatch.setattr(probability, "_without_depth", noted)
    line = "".join(f'friend("p{i}", "p{i + 1}") @ 0.5\nfriend("p{i + 1}", "p{i}") @ 0.5\n' for i in range(3))
    text = f'{line}stress("p3") @ 0.5\nsmokes(x) :- stress(x)\nsmokes(x) :- friend(x, y), smokes(y)'
    for depth in (2, 3, 4):
        answer = hb.Model(hb.parse(text)).query('smokes("p0")', algebra="probability", depth=depth)
        assert [row.weight for row in answer.rows()] == ([] if depth < 3 else [pytest.approx(0.5**4)])
    assert taken == [False, True, True]
