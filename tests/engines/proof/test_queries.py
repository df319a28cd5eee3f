"""Goals of every kind, what the plan of each looks like, and what is said of wrong ones."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

import herbrand as hb
from herbrand.answers.bindings import Bindings
from herbrand.answers.guarantee import Guarantee
from herbrand.engines.loop import run
from herbrand.engines.proof.differentiable import scores
from herbrand.engines.proof.engine import ByProofs, Goals
from herbrand.engines.proof.query import Proof
from herbrand.engines.proof.request import Request
from herbrand.errors import BudgetError, HerbrandError, LanguageError, UnsupportedError
from herbrand.language import syntax as s
from herbrand.language.theory import Theory
from tests.engines.proof.test_against_proofs import told
from tests.engines.proof.test_single_proofs import proof_of
from tests.oracles.proofs import Proofs

FAMILY = """\
predicate parent(person, person): observed
predicate brother(person, person): observed
predicate born(person, year): observed
predicate lives(person) in {"here", "there"}
type year = number
predicate uncle(person, person)
predicate elder(person, person)
predicate local(person)
uncle(x, y) :- parent(x, z), brother(z, y)
elder(x, y) :- born(x, a), born(y, b), a < b
local(x) :- lives(x) = "here"
parent("liam", "mary")
parent("nora", "mary")
brother("mary", "bob")
brother("mary", "tom")
born("liam", 2010)
born("nora", 2012)
born("bob", 1970)
lives("liam") = "here"
lives("nora") = "there"
"""


@pytest.fixture
def family() -> hb.Model:
    return hb.Model(hb.parse(FAMILY))


@pytest.mark.parametrize(
    ("goal", "expected"),
    [
        ('uncle("liam", y)', {("bob",): 1, ("tom",): 1}),
        ('uncle("liam", _)', {(): 2}),
        ('uncle("liam", "bob")', {(): 1}),
        ('uncle("bob", y)', {}),
        ('uncle(x, "bob")', {("liam",): 1, ("nora",): 1}),
        ("uncle(x, x)", {}),
        ('parent(x, "mary")', {("liam",): 1, ("nora",): 1}),
        ("elder(x, y)", {("bob", "liam"): 1, ("bob", "nora"): 1, ("liam", "nora"): 1}),
        ("local(x)", {("liam",): 1}),
        ('lives(x) = "there"', {("nora",): 1}),
        ('lives("nora") = v', {("there",): 1}),
        ('lives(x) in {"here", "there"}', {("liam",): 1, ("nora",): 1}),
        ('uncle(x, y) and not local(x)', {("nora", "bob"): 1, ("nora", "tom"): 1}),
        ('born(x, a) and a < 2011 and x != "bob"', {("liam", 2010): 1}),
        ("born(x, a) and 2011.5 <= a", {("nora", 2012): 1}),
        ('born(x, a) and x = "bob"', {("bob", 1970): 1}),
        ('born(x, a) and a = 1999', {}),
        ('born(x, a) and not a < 2011', {("nora", 2012): 1}),
        ('parent(x, y) and 1 < 0', {}),
    ],
)  # fmt: skip
def test_goals(family: hb.Model, goal: str, expected: dict[tuple[object, ...], float]) -> None:
    assert told(family.query(goal)) == expected


@pytest.mark.parametrize(
    ("goal", "message"),
    [
        ('uncel("liam", y)', "there is no predicate 'uncel'\n.*\n.*\n  did you mean 'uncle'"),
        ('uncle("liam")', "uncle takes 2 arguments, not 1"),
        ('uncle("lima", y)', '"lima" is no constant of type person\n.*\n.*\n  did you mean \'liam\''),
        ("born(3, y)", "3 is no constant of type person"),
        ("lives(x)", "lives is many-valued"),
        ('local(x) = "here"', "local is true or false"),
        ("uncle(x, y) or local(x)", "a query is an atom, or atoms"),
        ("not local(x) and x != y", "no atom of the goal binds [xy]\n(.|\n)*  put [xy] into an atom of it"),
        ("uncle(x, z) and x != y", "no atom of the goal binds y\n(.|\n)*  put y into an atom of it, or give"),
        ("born(x, a) and x < 3", "< compares numbers, and person holds text"),
        ("person", "'person' is a type, not a predicate"),
    ],
)  # fmt: skip
def test_wrong_goals(family: hb.Model, goal: str, message: str) -> None:
    with pytest.raises(LanguageError, match=message):
        family.query(goal)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"algebra": "counts"}, "there is no algebra 'counts'\n  did you mean 'count'"),
        ({"depth": -1}, "'-1' is no depth"),
        ({"depth": "deep"}, "'deep' is no depth"),
        ({"normalize": "max"}, "there is no normalize 'max'"),
        ({"dept": 3}, "query has no option 'dept'\n  did you mean 'depth'"),
        ({"exact": True, "algebra": "max"}, "exact integers are for the count algebra"),
        ({"exact": True, "depth": "fixpoint"}, "exact count takes a depth"),
        ({"engine": "prolog"}, "there is no engine 'prolog' for query"),
        ({"bindings": {"z": ["liam"]}}, "the query has no variable 'z'"),
        ({"bindings": {"x": ["liam", "lima"]}}, '"lima" is no constant of type person'),
    ],
)  # fmt: skip
def test_wrong_options(family: hb.Model, options: dict[str, object], message: str) -> None:
    with pytest.raises(HerbrandError, match=message):
        family.query("uncle(x, y)", **options)  # type: ignore[arg-type]


def test_bindings_are_answered_in_one_pass(family: hb.Model) -> None:
    answer = family.query("uncle(x, y)", bindings={"x": ["nora", "liam", "bob"]})
    assert answer.variables == ("x", "y")
    assert told(answer) == {(x, y): 1 for x in ("liam", "nora") for y in ("bob", "tom")}


def test_a_list_of_goals_gives_a_tuple(family: hb.Model) -> None:
    first, second, third = family.query(['uncle("liam", y)', "local(x)", 'uncle("bob", y)'])
    assert (len(first), len(second), len(third)) == (2, 1, 0)


def test_given_facts_count_for_one_call(family: hb.Model) -> None:
    assert len(family.query('uncle("bob", y)', given=['parent("bob", "mary")'])) == 2
    assert not len(family.query('uncle("bob", y)'))


def test_statements_of_other_kinds_are_refused() -> None:
    mixed = hb.parse('1.5: p(x) => q(x)\nr(x) :- s(x)\ns("a")')
    with pytest.raises(UnsupportedError, match="query cannot use this statement"):
        hb.Model(mixed).query("r(x)")
    assert len(hb.Model(mixed, ignore="weights").query("r(x)")) == 1


def test_a_variable_that_no_atom_binds_ranges_over_its_type() -> None:
    text = (
        'type t = {"a", "b", "c"}\npredicate e(t): observed\npredicate p(t)\npredicate q(t, t)\npredicate r\n'
    )
    model = hb.Model(hb.parse(f'{text}e("a")\np(x) :- not e(x)\nq(x, y) :- e(x)\nr :- not p(x), x != y'))
    assert told(model.query("p(x)")) == {("b",): 1, ("c",): 1}
    assert told(model.query("q(x, y)")) == {("a", "a"): 1, ("a", "b"): 1, ("a", "c"): 1}
    assert told(model.query('q(x, "b")')) == {("a",): 1}
    assert told(model.query("r")) == {(): 2}
    assert told(model.query("p(x)", algebra="probability")) == {("b",): 1, ("c",): 1}
    assert model.explain("r").reasons[0].grounding == {"x": "a", "y": "b"}
    with pytest.raises(LanguageError, match="no atom of the goal binds y"):
        model.query('e(x) and not q(x, y) and y != "a"')


@pytest.mark.parametrize("equation", ["z = z", "z = y", "y = z, z = y", "y = z, not f(y)"])
@pytest.mark.parametrize("of_choices", [False, True])
def test_a_variable_of_an_equation_is_not_of_an_absent_atom_alone(equation: str, of_choices: bool) -> None:
    """Some constant has no `e`; where nothing else has the variable, no constant has one."""
    facts = "0.5 :: e(x)\nf(x) :- e(x)" if of_choices else 'e("a")\nf("a")'
    declared = "".join(f"predicate {name}\n" for name in ("e(t)", "f(t)", "r", "s"))
    text = f'type t = {{"a", "b", "c"}}\n{declared}{facts}\nr :- not e(z), {equation}\ns :- not e(z)'
    model = hb.Model(hb.parse(text), closed=() if of_choices else ("e", "f"))
    some, none = (7 / 8, 1 / 8) if of_choices else (1, 0)
    found = model.infer(["r", "s"])
    assert (found["r"], found["s"]) == pytest.approx((some, none))
    assert told(model.query("r", algebra="probability")) == {(): pytest.approx(some)}


def test_a_predicate_that_rests_on_its_own_negation_is_told() -> None:
    model = hb.Model(hb.parse('p(x) :- e(x), not q(x)\nq(x) :- e(x), p(x)\ne("a")'))
    with pytest.raises(LanguageError, match="<text>:1:15: p depends on its own negation"):
        model.query("p(x)")


def test_constants_of_other_inferred_types_are_known() -> None:
    model = hb.Model(hb.parse('p(x, w) :- w = "here", e(z)\ne("a")\nf("b")'))
    assert told(model.query('p("b", w)')) == {("here",): 1}
    with pytest.raises(LanguageError, match='"c" is no constant'):
        model.query('p("c", w)')


PATHS = "path(x, y) :- edge(x, y)\npath(x, y) :- edge(x, z), path(z, y)"


def test_counts_beyond_floats_ask_for_integers() -> None:
    nodes = [("a", "a"), ("a", "b"), ("b", "a"), ("b", "b")]
    model = hb.Model(hb.parse(f"{PATHS}"), {"edge": nodes})
    with pytest.raises(UnsupportedError, match="a weight is larger than any float"):
        model.query('path("a", y)', depth=1100)
    (weight,) = [row.weight for row in model.query('path("a", "b")', depth=1100, exact=True).rows()]
    assert weight == 2**1101 - 1


DOUBLING = 'p(x, y) :- e(x, y)\np(x, y) :- p(x, z), p(z, y)\ne("a", "b") @ 2\ne("b", "a") @ 2'


def test_exact_counts_beyond_floats_are_shared_out() -> None:
    model = hb.Model(hb.parse(DOUBLING))
    whole = told(model.query('p("a", y)', depth=11, exact=True))
    assert whole["a",] > 10**400 and whole["a",] - whole["b",] == 2
    shares = told(model.query('p("a", y)', depth=11, exact=True, normalize="sum"))
    assert shares == pytest.approx({("a",): 0.5, ("b",): 0.5})
    softmax = told(model.query('p("a", y)', depth=11, exact=True, normalize="softmax"))
    assert softmax["a",] == pytest.approx(1 / (1 + math.exp(-2)))
    assert str(whole["a",]) in repr(model.query('p("a", y)', depth=11, exact=True))


def test_exact_counts_end_where_they_cannot_be_written() -> None:
    """Each call doubles the number of digits."""
    with pytest.raises(BudgetError, match=r"a count has more than 4,200 digits"):
        hb.Model(hb.parse(DOUBLING)).query('p("a", y)', depth=60, exact=True)


@pytest.mark.parametrize("algebra", ["count", "max"])
def test_a_sum_beyond_floats_has_not_converged(algebra: str) -> None:
    answer = hb.Model(hb.parse(DOUBLING)).query('p("a", y)', depth="fixpoint", algebra=algebra)
    assert not answer.status.converged and answer.guarantee is Guarantee.APPROXIMATION
    assert answer.status.advice


def test_a_doubling_rule_costs_no_more_than_its_depth() -> None:
    """Copied call by call, this would be 2^40 calls."""
    model = hb.Model(
        hb.parse("p(x, y) :- e(x, y)\np(x, y) :- p(x, z), p(z, y)"), {"e": [("a", "b"), ("b", "c")]}
    )
    answer = model.query('p("a", y)', depth=40)
    assert told(answer) == {("b",): 1, ("c",): 1}


def test_a_rule_that_only_renames_is_asked_by_input() -> None:
    rules = "a(x, y) :- b(x, y)\nb(x, y) :- e(x, y)\np(x, y) :- a(x, z), a(z, u), a(u, v), a(v, y), e(y, x)"
    model = hb.Model(hb.parse(rules), {"e": [("k", "l"), ("l", "m"), ("m", "k"), ("l", "k")]})
    plain = hb.parse("p(x, y) :- e(x, z), e(z, u), e(u, v), e(v, y), e(y, x)")
    expected = hb.Model(plain, {"e": [("k", "l"), ("l", "m"), ("m", "k"), ("l", "k")]}).query("p(x, y)")
    assert told(model.query("p(x, y)")) == told(expected)
    chained = hb.parse(
        "s(x) :- t(x)\ns(x) :- f(x, y), i(y, x), s(y)\ni(x, y) :- n(x), n(y), x != y\nt(x) :- n(x)"
    )
    people = {"f": [("k", "l"), ("m", "l"), ("l", "k")], "n": [("k",), ("l",), ("m",)]}
    counted = Proofs(
        chained.rules, {name: dict.fromkeys(rows, 1) for name, rows in people.items()}, "klm", {}
    )
    assert told(hb.Model(chained, people).query("s(x)", depth=4)) == counted.answers("s", 5)


def test_deep_recursion_in_the_middle_of_a_clause() -> None:
    chain = [(f"n{i:04}", f"n{i + 1:04}") for i in range(900)]
    model = hb.Model(
        hb.parse("path(x, y) :- edge(x, y)\npath(x, y) :- path(x, z), edge(z, y)"), {"edge": chain}
    )
    answer = model.query('path("n0000", y)', depth=600)
    assert len(answer) == 601 and answer.truncated


def test_a_diverging_sum_says_so() -> None:
    model = hb.Model(hb.parse(PATHS), {"edge": [("a", "b"), ("b", "a")]})
    answer = model.query('path("a", y)', depth="fixpoint")
    assert not answer.status.converged and answer.guarantee is Guarantee.APPROXIMATION
    assert model.query('path("a", y)', depth="fixpoint", algebra="boolean").status.converged


def test_a_best_proof_that_cycles_upwards_says_so() -> None:
    model = hb.Model(hb.parse(f'{PATHS}\nedge("a","b") @ 2\nedge("b","a") @ 3'))
    assert not model.query('path("a", y)', depth="fixpoint", algebra="max").status.converged


def test_memory_is_refused_before_it_is_taken() -> None:
    rows = [(f"a{i}", f"b{j}") for i in range(40) for j in range(40)]
    model = hb.Model(hb.parse("far(x, y, u, v) :- e(x, y), e(u, v)"), {"e": rows})
    with pytest.raises(BudgetError, match="rows on the way to the answer need about"):
        model.query("far(x, y, u, v)", memory="10MB")


def test_time_is_kept() -> None:
    model = hb.Model(hb.parse(PATHS), {"edge": [("a", "b"), ("b", "a")]})
    with pytest.raises(BudgetError, match=r"not done after 0\.0 s"):
        model.query('path("a", y)', depth=100, time_limit=0)


def test_plans_are_told() -> None:
    theory = hb.parse(
        "tree(x, z) :- q(x, y), r(y, z), s(z, w), t(w, u)\nloop(x, y) :- q(x, w), r(x, y), s(w, y)"
    )
    facts = {name: [("a", "b"), ("b", "c"), ("c", "a")] for name in "qrst"}
    plans = proof_of(hb.Model(theory, facts)).plans
    assert str(plans.plan("tree", (0,))) == (
        "tree(bound, free)\n  tree(x, z) :- q(x, y), r(y, z), tree`0`0`0(z)\n    join q(x, y) by x, keep y\n"
        "    join r(y, z) by y, keep z\n    ask tree`0`0`0(z) by z, keep z"
    )
    assert "join s(w, y) by w, keep x, y\n    join r(x, y) by x, y, keep x, y" in str(plans.plan("loop", ()))


@pytest.mark.parametrize("many", [1, 7, 40])
def test_grids_and_tables_agree(many: int) -> None:
    """A small world is walked densely, the same one among many constants sparsely."""
    rng = np.random.default_rng(many)
    links = [
        (f"n{a}", f"n{b}", w) for (a, b), w in zip(rng.integers(0, 12, (40, 2)), rng.random(40), strict=True)
    ]
    links = list({(a, b): (a, b, w) for a, b, w in links}.values())
    text = f"{PATHS}\nnear(x, y) :- path(x, y), path(y, _)"
    lonely = [(f"far{i}", f"far{i}") for i in range(20_000)]
    theory = hb.parse(text) + _weighted("edge", links)
    goals = [f'near("{a}", y)' for a, _, _ in links[:many]]
    small = hb.Model(theory).query(goals, depth=6)
    large = hb.Model(theory, {"edge": lonely}).query(goals, depth=6)
    for one, other in zip(small, large, strict=True):
        assert told(one) == pytest.approx(told(other))
    for algebra in ("boolean", "max"):
        one = hb.Model(theory).query(goals[0], depth=6, algebra=algebra)
        other = hb.Model(theory, {"edge": lonely}).query(goals[0], depth=6, algebra=algebra)
        assert told(one) == pytest.approx(told(other))


def _weighted(name: str, rows: list[tuple[str, str, float]]) -> Theory:
    columns = tuple(zip(*[row[:2] for row in rows], strict=True))
    return Theory((s.FactRows(name, columns, len(rows), "weighted", tuple(row[2] for row in rows)),))


def test_gradients_of_facts_and_rules() -> None:
    """Torch's gradient against differences, through recursion, a side branch and a rule's weight."""
    theory = hb.parse(
        f"{PATHS}\nfar(x, y) :- path(x, z), path(z, y), mark(y), linked(y, _) @ 0.5\n"
        'mark("c") @ 2\nmark("d") @ 3\nlinked("c", "a")\nlinked("d", "a")\n'
        'edge("a","b") @ 0.5\nedge("b","c") @ 1.5\nedge("c","d") @ 0.7\nedge("a","c") @ 0.9'
    )
    proof = proof_of(hb.Model(theory))
    goal = proof.read('far("a", y)')
    weights = torch.tensor(proof.program.relation("edge").weights, requires_grad=True)
    rules = torch.tensor([0.5], dtype=torch.float64, requires_grad=True)

    def total(edges: torch.Tensor, of_rules: torch.Tensor) -> torch.Tensor:
        return scores(proof, goal.shape, [goal.inputs], {"edge": edges}, of_rules, depth=4).values.sum()

    assert torch.autograd.gradcheck(total, (weights, rules))
    assert total(weights, rules).item() == pytest.approx(answered(proof, 'far("a", y)', depth=4).weight)


def test_answers_are_columns_until_somebody_looks(family: hb.Model) -> None:
    answer = family.query("uncle(x, y)", top=3)
    assert answer.to_arrow().column_names == ["x", "y", "weight"]
    assert list(answer.to_pandas()["y"]) == [row.bindings["y"] for row in answer.rows()]
    assert answer.to_polars().shape == (3, 3)
    assert ">x</th>" in answer._repr_html_()
    assert repr(family.query('uncle("bob", y)')) == "proof answers (exact)\nno answer"
    assert family.query("uncle(x, y)", normalize="sum").weight == pytest.approx(1.0)
    softmax = family.query("uncle(x, y)", normalize="softmax")
    assert softmax.weight + softmax.null == pytest.approx(1.0)


def test_a_proof_is_made_from_rules_and_facts(family: hb.Model) -> None:
    proof = Proof.of(family.theory.rules, family.signature, family.stated_program.facts)
    assert answered(proof, 'uncle("liam", y)')["tom"] == 1.0


def answered(rules: Proof, goal: str, **options: Any) -> Bindings:
    return run(ByProofs(Request(**options)), rules, Goals(goal))
