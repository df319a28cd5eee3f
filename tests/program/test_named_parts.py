"""Formulas of many cases, whose parts get atoms of their own, beside plain loops over all worlds."""

from __future__ import annotations

import math
import random
from functools import partial

import pytest

import herbrand as hb
from herbrand.budget import UNLIMITED
from herbrand.engines.engine import Cost, Refusal
from herbrand.errors import ContradictionError, UnsupportedError
from herbrand.factors.ground_graph import ground_graph
from herbrand.language.formulas import Leaf, walk
from herbrand.language.parse import parse_formula
from herbrand.language.show import show_formula
from herbrand.program import lower
from herbrand.program.ground import ground
from herbrand.program.named_parts import Naming, conjuncts, in_parts
from herbrand.program.normal_form import case_counts, plain
from herbrand.reports.lint import lint
from herbrand.reports.sizes import size_report
from herbrand.serving.tables import tables_of
from tests.laws import long
from tests.oracles.worlds import Universe, exact_answers

LEAVES = [
    *("b(x)", "q", "x = y", 'b("k0")', 'v = "u"', 'v in {"u", "w"}', "c(x, y)", "c(x, x)"),
    *("exists z: c(x, z) and a(z) xor b(z)", "forall z: c(z, y) => a(z) and (q or z != x)"),
]
DECLARED = """type t = {"k0", "k1"}
predicate a(t)
predicate b(t)
predicate c(t, t): observed
predicate q
predicate v in {"u", "w", "z"}
c("k0", "k1")
"""
PREDICATES = {
    "a": (("t",), None),
    "b": (("t",), None),
    "c": (("t", "t"), None),
    "q": ((), None),
    "v": ((), ("u", "w", "z")),
}
UNIVERSE = Universe(
    {"t": ("k0", "k1"), "v value": ("u", "w", "z")},
    PREDICATES,
    {("c", ("k0", "k1")): True},
    closed=frozenset({"c"}),
)


def formula(draws: random.Random, leaves: list[str]) -> str:
    """All leaves once, joined in a random tree."""
    if len(leaves) == 1:
        return ("not " if draws.random() < 0.3 else "") + f"({leaves[0]})"
    at = draws.randrange(1, len(leaves))
    joint = draws.choice(["and", "or", "xor", "=>", "<=>"])
    return f"({formula(draws, leaves[:at])} {joint} {formula(draws, leaves[at:])})"


@pytest.fixture
def divided(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of few cases, so that small formulas have several."""
    monkeypatch.setattr(lower, "most_cases", lambda formula: 4)
    monkeypatch.setattr(lower, "in_parts", partial(in_parts, most=6))


@pytest.mark.usefixtures("divided")
@pytest.mark.parametrize("seed", long(range(120), 6))
def test_answers_are_sums_over_worlds(seed: int) -> None:
    draws = random.Random(seed)
    leaves = [["a(x)", "a(y)", *draws.sample(LEAVES, draws.randint(2, 6))] for _ in range(2)]
    texts = [formula(draws, draws.sample(own, len(own))) for own in leaves]
    theory = hb.parse(f'{DECLARED}0.8: {texts[0]}\nhard: {texts[1]}\n-0.3: a(x)\n0.5: v = "u"')
    log_z, expected, _ = exact_answers(UNIVERSE, theory.formulas)
    for engine in ("exact", "circuit", "lifted", "auto"):
        model = hb.Model(theory)
        if log_z == -math.inf:
            with pytest.raises(ContradictionError):
                model.infer(engine=engine)
            continue
        found = model.infer(engine=engine)
        assert found.log_partition == pytest.approx(log_z, abs=1e-8)
        told = {row.text: row.probability for row in found.rows()}
        assert not any("part" in text for text in told)
        for (predicate, arguments), value in expected:
            text = f'{predicate}("{arguments[0]}")' if arguments else predicate
            if value is True and text in told:
                share = expected[(predicate, arguments), value]
                assert told[text] == pytest.approx(share, abs=1e-9)


@pytest.mark.parametrize("seed", long(range(40), 15))
def test_few_cases_are_left_and_each_leaf_stays(seed: int) -> None:
    draws = random.Random(seed)
    leaves = [f"p{number}" for number in range(draws.randint(2, 40))]
    whole = parse_formula(formula(draws, leaves))
    rest, parts = in_parts(whole, Naming(), most=10)
    for one in (rest, *(part.formula for part in parts)):
        assert sum(case_counts(one)) <= 10
    named = {part.atom for part in parts}
    left = [x for one in (rest, *(p.formula for p in parts)) for x in walk(one) if isinstance(x, Leaf)]
    assert sorted(map(show_formula, (x for x in left if x not in named))) == sorted(leaves)
    assert named == {x for x in left if x in named}


def disjunction(count: int) -> str:
    return " or ".join(f"(a{number} and b{number})" for number in range(count))


def test_a_long_disjunction_has_the_exact_answer() -> None:
    """Twenty pairs fall into a million cases; eleven took a minute."""
    found = hb.Model(hb.parse(f"1: {disjunction(20)}")).infer()
    false = 0.75**20
    z = math.e * (1 - false) + false
    assert found.guarantee == "exact"
    assert found.log_partition == pytest.approx(math.log(z) + 40 * math.log(2))
    assert found["a3"] == pytest.approx((math.e * (1 - false * 2 / 3) + false * 2 / 3) / z / 2)


def test_a_long_parity_that_always_holds() -> None:
    odd = " xor ".join(f"a{number}" for number in range(60))
    found = hb.Model(hb.parse(f"hard: {odd}\n1: a0")).infer()
    assert found.log_partition == pytest.approx(59 * math.log(2) + math.log((1 + math.e) / 2))
    assert found["a0"] == pytest.approx(math.e / (1 + math.e))


def test_parts_are_in_no_answer() -> None:
    model = hb.Model(hb.parse(f"1: {disjunction(9)}\n0.5: a0"))
    names = {f"{letter}{number}" for letter in "ab" for number in range(9)}
    assert {atom for world in model.sample(5).worlds for atom in world.atoms} <= names
    assert {row.text for row in model.infer(map=True).rows()} == names
    explained = model.explain("a1")
    assert {reason.statement for reason in explained.reasons} <= {f"1.0: {disjunction(9)}", "0.5: a0"} | {
        f"1.0: {show_formula(parse_formula(disjunction(9)))}",
        "(before any statement)",
    }


def test_evidence_checks_and_tables_take_long_formulas_too() -> None:
    """Evidence lowers the theory to see which predicates are open, and was refused for the formula."""
    model = hb.Model(hb.parse(f"1: {disjunction(20)}"))
    (row,) = model.infer("a2", given=["not a0", "a1", "b1"]).rows()
    assert row.probability == pytest.approx(0.5)  # the formula holds in all of these worlds
    found = model.infer(given=["not a0", "a1"])
    false = 0.75**18 / 2
    assert found.log_partition == pytest.approx(math.log(math.e * (1 - false) + false) + 38 * math.log(2))
    assert not lint(model)
    assert {table["predicate"] for table in tables_of(model)} == model.signature.predicates.keys()


@pytest.mark.usefixtures("divided")
def test_what_mean_field_and_learning_see_is_not_divided() -> None:
    theory = hb.parse(f"1: {disjunction(3)}")
    model = hb.Model(theory)
    assert model.infer(engine="mean-field").engine == "mean-field"
    known = model._knowledge
    assert known.program().signature.predicates.keys() == known.signature.predicates.keys()
    assert model.measured_program(UNLIMITED).signature.predicates.keys() > known.signature.predicates.keys()
    long_theory = hb.parse(f"?: {disjunction(20)}\na0\nb0")
    with pytest.raises(UnsupportedError, match="falls into more than 20,000 cases"):
        hb.Model(long_theory).learn(method="pseudo-likelihood")


def test_shared_atoms_keep_a_formula_whole() -> None:
    """At least two of twenty: parts over the same atoms would be no narrower."""
    pairs = " or ".join(f"(a{i} and a{j})" for i in range(20) for j in range(i))
    program = hb.Model(hb.parse(f"1: {pairs}")).measured_program(UNLIMITED)
    assert len(program.signature.predicates) == 20


@pytest.mark.parametrize("seed", long(range(60), 20))
def test_a_formula_holds_where_all_its_conjuncts_do(seed: int) -> None:
    draws = random.Random(seed)
    names = [f"p{number}" for number in range(4)]
    whole = parse_formula(formula(draws, [draws.choice(names) for _ in range(draws.randint(1, 9))]))
    universe = Universe({}, dict.fromkeys(names, ((), None)))
    holds = universe.meaning(whole, {})
    for truth in (True, False):
        each = [universe.meaning(one, {}) for one in conjuncts(plain(whole), truth)]
        for world in universe.worlds():
            assert all(one(world) for one in each) == (holds(world) == truth)


def test_clauses_in_one_hard_statement_are_forbidden_one_by_one() -> None:
    """Forty clauses over twenty atoms took half a minute, and more had no exact answer."""
    draws = random.Random(1)
    clauses = [
        " or ".join(
            ("not " if draws.random() < 0.5 else "") + f"a{atom}" for atom in draws.sample(range(20), 3)
        )
        for _ in range(40)
    ]
    apart = hb.Model(hb.parse("\n".join(f"hard: {one}" for one in clauses))).infer()
    one = hb.Model(hb.parse("hard: " + " and ".join(f"({one})" for one in clauses))).infer()
    assert one.log_partition == pytest.approx(apart.log_partition)
    assert {row.text: row.probability for row in one.rows()} == pytest.approx(
        {row.text: row.probability for row in apart.rows()}
    )


PEOPLE = {"t": [(f"k{number}",) for number in range(40)]}
PAIRS = {"f": [("k0", "k1"), ("k1", "k2"), ("k2", "k9")], "g": [("k1", "k4"), ("k9", "k7")]}


def made_arities(text: str) -> set[int]:
    program = hb.Model(hb.parse(text), PEOPLE | PAIRS).measured_program(UNLIMITED)
    return {one.arity for one in program.signature.predicates.values() if one.name.startswith("`")}


def test_parts_are_of_the_same_variables() -> None:
    """Parts over x and z had an atom for each of their pairs, though facts leave a few of these."""
    xs, zs = (" xor ".join(f"{one}{i}({one})" for i in range(9)) for one in "xz")
    assert made_arities(f"1: {xs} xor {zs}") == {1}
    assert made_arities(f"1: f(x, y) and g(y, z) and ({xs} xor {zs})") == {1}


def test_facts_that_leave_few_groundings_keep_a_formula_whole() -> None:
    pairs = " or ".join(f"(a{i}(x) and b{i}(y))" for i in range(8))
    assert made_arities(f"1: {pairs}") == {2}
    assert made_arities(f"1: f(x, y) and ({pairs})") == set()
    assert made_arities(f"hard: f(x, y) => ({pairs})") == set()
    many = " or ".join(f"(a{i}(x) and b{i}(y))" for i in range(16))
    assert made_arities(f"1: f(x, y) and ({many})") == {2}, "it would have too many cases"


@pytest.mark.parametrize("count", [11, 12])
def test_gibbs_draws_as_many_tied_atoms_with_parts_as_without(count: int) -> None:
    odd = " xor ".join(f"a{number}" for number in range(count))
    found = hb.Model(hb.parse(f"hard: {odd}\n1: a0")).infer(engine="gibbs", samples=1000)
    assert found["a0"] == pytest.approx(math.e / (1 + math.e), abs=0.05)


def test_gibbs_counts_no_parts_among_tied_atoms() -> None:
    odd = " xor ".join(f"a{number}" for number in range(14))
    with pytest.raises(UnsupportedError, match="ties 14 atoms together"):
        hb.Model(hb.parse(f"hard: {odd}")).infer(engine="gibbs")


@pytest.mark.parametrize("engine", ["regions", "lifted"])
def test_reasons_name_no_parts(engine: str) -> None:
    found = hb.Model(hb.parse(f"1: {disjunction(20)}")).infer("a1", engine=engine)
    assert "`" not in found.status.advice
    assert " and 36 more hang together about one constant" in found.status.advice


def test_check_measures_mean_field_with_formulas_whole() -> None:
    """It was refused for hard statements that no text had, and ran all the same."""
    report = size_report(hb.Model(hb.parse(f"1: {disjunction(9)}")))
    assert isinstance(report.engines["mean-field"], Cost)
    assert report.to_dict()["auto"] == "exact"
    refused = size_report(hb.Model(hb.parse(f"1: {disjunction(20)}"))).engines["mean-field"]
    assert isinstance(refused, Refusal)
    assert refused.why == "the formula falls into more than 20,000 cases"


def test_layers_take_formulas_whole() -> None:
    """A layer was refused for hard statements that no text had."""
    model = hb.Model(hb.parse(f"1: {disjunction(6)} xor c0 xor c1"))
    assert model.program.signature.predicates.keys() == model.signature.predicates.keys()
    assert isinstance(hb.nn.LogicLayer(model), hb.nn.LogicLayer)


@pytest.mark.parametrize("count", long([4, 12, 14], 2))
def test_conjunctions_that_share_their_atoms_are_one_table(count: int) -> None:
    """Twelve atoms have 2,048 conjunctions: helpers for each took 13 s."""
    odd = " xor ".join(f"a{number}" for number in range(count))
    grounded = ground(hb.Model(hb.parse(f"1: {odd}")).program)
    graph = ground_graph(grounded, by_formula=False).graph
    assert (graph.factor_count, graph.axis_count) == (1, count)


def test_few_conjunctions_stay_chains_of_helpers() -> None:
    """A table of fourteen atoms has 16,384 entries, and two conjunctions are 28 links."""
    each = " and ".join(f"a{number}" for number in range(14))
    none = " and ".join(f"not a{number}" for number in range(14))
    grounded = ground(hb.Model(hb.parse(f"1: {each}\n0.5: {none}")).program)
    assert ground_graph(grounded, by_formula=False).graph.axis_count > 14
