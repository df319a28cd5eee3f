"""Goals that link what nothing else links: inferred types become one, declared ones are told apart."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.engines.proof.request import Request
from herbrand.errors import LanguageError
from herbrand.language import syntax as s
from herbrand.language.show import show_formula
from tests.engines.proof.explained import explained
from tests.engines.proof.test_against_proofs import told
from tests.engines.proof.test_single_proofs import proof_of
from tests.laws import tries
from tests.oracles.proofs import Proofs, Weights

quick = settings(
    max_examples=tries(10),
    deadline=None,
    phases=[Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow],
)
NAMES = "abcd"
ARITIES = {"e": 2, "f": 2, "g": 1, "h": 1}
RULES = {"": (), "r(x) :- h(x)": ("r",), "r(x) :- e(x, y), not h(y)\nr(x) :- g(x) @ 3": ("r",)}


@st.composite
def linking_goals(draw: st.DrawFn, derived: Sequence[str]) -> list[s.Formula]:
    """Atoms that share variables, and comparisons of their variables."""
    terms = st.one_of(*[st.sampled_from("xyz").map(s.Variable)] * 4, st.just(s.Variable("_")))
    parts: list[s.Formula] = []
    for name in draw(st.lists(st.sampled_from([*ARITIES, *derived]), min_size=2, max_size=3)):
        arguments = tuple(draw(terms) for _ in range(ARITIES.get(name, 1)))
        parts.append(s.Atom(name, arguments))
    bound = sorted({t.name for p in parts for t in s.leaf_terms(p) if isinstance(t, s.Variable)} - {"_"})
    if len(bound) > 1 and draw(st.booleans()):
        one, other = (s.Variable(name) for name in bound[:2])
        parts.append(s.Comparison(draw(st.sampled_from(["=", "!="])), one, other))
    if bound and draw(st.booleans()):
        parts.append(s.Not(s.Atom("g", (s.Variable(bound[0]),))))
    return parts


def stated(facts: Mapping[str, Mapping[tuple[str, ...], float]]) -> str:
    lines = []
    for name, rows in facts.items():
        for row, weight in rows.items():
            lines.append(f"{show_formula(s.Atom(name, tuple(map(s.Constant, row))))} @ {weight}")
    return "\n".join(lines)


def expected(text: str, parts: Sequence[s.Formula], facts: Mapping[str, Weights]) -> Weights:
    """By a rule with the goal as its body, over every constant for every variable."""
    names = list(
        dict.fromkeys(
            term.name
            for part in parts
            if not isinstance(part, s.Not)
            for term in s.leaf_terms(part)
            if isinstance(term, s.Variable) and term.name != "_"
        )
    )
    head = s.Atom("goal", tuple(map(s.Variable, names)))
    rules = [*hb.parse(text).rules, s.Rule(head, tuple(parts))]  # type: ignore[arg-type]
    truths = {name: frozenset(rows) for name, rows in facts.items()}
    return Proofs(rules, facts, NAMES, truths).answers("goal", 4)


@quick
@given(st.data(), st.sampled_from(list(RULES)), st.sampled_from(["count", "max"]))
def test_goals_join_what_facts_have_in_common(data: st.DataObject, text: str, algebra: str) -> None:
    """Nothing is declared, so each column of facts that no rule links is of a type of its own."""
    facts: dict[str, Weights] = {}
    for name, arity in ARITIES.items():
        rows = st.tuples(*[st.sampled_from(NAMES)] * arity)
        facts[name] = {
            row: float(data.draw(st.integers(1, 3)))
            for row in sorted(data.draw(st.sets(rows, min_size=1, max_size=4)))
        }
    model = hb.Model(hb.parse(f"{text}\n{stated(facts)}"))
    goal = data.draw(linking_goals(RULES[text]))
    wanted = expected(text, goal, facts)
    answer = model.query(show_formula(s.And(tuple(goal))), algebra=algebra, depth=3)
    if algebra == "count" or "_" not in show_formula(s.And(tuple(goal))):
        best = algebra == "max" and "r(" in show_formula(s.And(tuple(goal)))
        assert told(answer).keys() == wanted.keys()
        if not best:
            assert told(answer) == pytest.approx(wanted)


FACTS = 'parent("liam", "mary")\nparent("mary", "ruth")\nage("mary", 40)\nage("noah", 3)\ntall("ruth")'
CASES: list[tuple[str, dict[tuple[object, ...], float]]] = [
    ("parent(x, y) and age(y, a)", {("liam", "mary", 40): 1}),
    ("parent(x, y) and age(x, a)", {("mary", "ruth", 40): 1}),
    ("parent(x, y) and parent(y, z) and tall(z)", {("liam", "mary", "ruth"): 1}),
    ("parent(x, x)", {}),
    ("parent(x, y) and x = y", {}),
    ("parent(x, y) and parent(u, v) and y = u", {("liam", "mary", "mary", "ruth"): 1}),
    ("parent(x, y) and parent(y, _)", {("liam", "mary"): 1}),
    ("parent(x, y) and not tall(y)", {("liam", "mary"): 1}),
    ("parent(x, y) and not age(y, _)", {("mary", "ruth"): 1}),
    ("age(x, a) and parent(_, x) and a > 30", {("mary", 40): 1}),
    ('parent("liam", y) and age(y, a)', {("mary", 40): 1}),
    ('parent("noah", y) and age(y, a)', {}),
    ('parent("liam", "mary") and age("mary", a) and tall("ruth")', {(40,): 1}),
]


def test_facts_of_many_tables_without_any_declaration() -> None:
    """Each goal on a model of its own, and all on one; those before leave no trace in those after."""
    together = hb.Model(hb.parse(FACTS))
    for goal, wanted in CASES:
        alone = hb.Model(hb.parse(FACTS))
        assert told(alone.query(goal)) == told(together.query(goal)) == wanted, goal
    answers = together.query([goal for goal, _ in CASES])
    assert list(map(told, answers)) == [wanted for _, wanted in CASES]


def test_every_order_of_linking_gives_the_same() -> None:
    parts = ["parent(x, y)", "age(y, a)", "tall(z)", "parent(y, z)"]
    for order in itertools.permutations(parts):
        answer = hb.Model(hb.parse(FACTS)).query(" and ".join(order))
        assert [row.bindings for row in answer.rows()] in (
            [],
            [{name: {"x": "liam", "y": "mary", "a": 40, "z": "ruth"}[name] for name in answer.variables}],
        )
        assert len(answer) == 1


def test_values_for_variables_of_linked_types() -> None:
    model = hb.Model(hb.parse(FACTS))
    bound = model.query("parent(x, y) and age(y, a)", bindings={"y": ["ruth", "mary"]})
    assert told(bound) == {("liam", "mary", 40): 1}


def test_links_of_a_goal_are_explained() -> None:
    why = explained(
        proof_of(hb.Model(hb.parse(FACTS))), 'parent("liam", "mary") and age("mary", 40)', Request()
    )
    assert why.value == 1.0
    (reason,) = why.reasons
    assert [part.statement for part in reason.parts] == ['parent("liam", "mary")', 'age("mary", 40)']


def test_soft_and_false_facts_move_with_their_types() -> None:
    text = 'e("b", "x") ~ 0.25\ne("c", "x")\nnot e("d", "x")\ng("a")\ng("b") @ 3\ng("d")'
    answer = hb.Model(hb.parse(text), open=["e"]).query("e(x, _) and g(x)")
    assert told(answer) == {("b",): 0.75}


DECLARED = """\
predicate parent(person, person): observed
predicate age(person, year): observed
predicate area(person) in {"ai", "db"}: observed
type year = number
parent("liam", "mary")
age("mary", 40)
area("mary") = "ai"
"""


@pytest.mark.parametrize(
    ("goal", "message"),
    [
        ("parent(x, y) and age(y, x)", "<query>:1:25: x stands for a person and for a year"),
        ("age(x, x)", "<query>:1:8: x stands for a person and for a year\n.*\n.*\n  as person: <query>:1:5"),
        ("age(x, a) and not parent(a, x)", "a stands for a year and for a person"),
        ("age(x, a) and x = a", "a stands for a person and for a year"),
        ("age(x, a) and age(y, b) and x < b", "b stands for a person and for a year"),
        ("area(x) = x", "x stands for a person and for a area value"),
        ("area(x) = v and parent(v, _)", "v stands for a area value and for a person"),
        ('area(x) in {"ai", "no"}', '<query>:1:19: "no" is no constant of type area value'),
        ("area(x) in {3}", "3 is no constant of type area value"),
        ('x = "liam"', "<query>:1:1: nothing says what x ranges over: it occurs in no atom"),
        ("parent(x, _) and y = z", "<query>:1:18: nothing says what y ranges over"),
        ("parent(x, _) and 3 = z", "<query>:1:22: nothing says what z ranges over"),
        ("x != x", "nothing says what x ranges over"),
    ],
)  # fmt: skip
def test_what_does_not_fit_declared_types_is_told(goal: str, message: str) -> None:
    with pytest.raises(LanguageError, match=message):
        hb.Model(hb.parse(DECLARED)).query(goal)


@pytest.mark.parametrize(
    ("goal", "message"),
    [
        ("parent(x, y) and age(_, y)", "y stands for a parent_2 and for a age_2"),
        ('parent(3, y)', "3 is no constant of type parent_1"),
        ('age(x, "mary")', '"mary" is no constant of type age_2'),
        ('parent("nobody", y)', '"nobody" is no constant of type parent_1'),
    ],
)  # fmt: skip
def test_text_and_numbers_are_never_one_type(goal: str, message: str) -> None:
    with pytest.raises(LanguageError, match=message):
        hb.Model(hb.parse(FACTS)).query(goal)


def test_a_type_without_constants_joins_any() -> None:
    model = hb.Model(hb.parse(f"{FACTS}\nshort(x) :- missing(x)"))
    assert told(model.query("age(_, a) and not missing(a)")) == {(3,): 1, (40,): 1}
    assert told(model.query("age(_, a) and short(a)")) == {}


def test_a_layer_and_a_database_say_what_they_cannot_link(tmp_path: object) -> None:
    model = hb.Model(hb.parse(FACTS))
    stored = hb.Model(hb.parse(f"{FACTS}\nk(x) :- tall(x)"), on=f"duckdb:{tmp_path}/w.duckdb")
    for goal, message in (
        ("parent(x, y) and age(y, a)", "y stands for a parent_2 and for a age_1"),
        ('parent("noah", y)', '"noah" is no constant of type parent_1'),
    ):
        with pytest.raises(LanguageError, match=message):
            hb.nn.QueryLayer(model, goal)
        with pytest.raises(LanguageError, match=message):
            stored.query(goal)
