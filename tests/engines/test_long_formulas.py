"""Queried formulas that fall into many cases: tables of their parts, beside the sum over all worlds."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.errors import UnsupportedError
from herbrand.factors.ground_graph import ground_graph
from herbrand.language.parse import parse_formula
from herbrand.language.show import show_formula
from herbrand.program.ground import ground
from herbrand.program.normal_form import case_count, cases
from tests.laws import tries
from tests.oracles.worlds import Universe

DOMAINS = {"n": (1, 2, 3), "area value": ("u", "v", "w")}
PREDICATES = {"a": (("n",), None), "b": (("n",), None), "area": (("n",), ("u", "v", "w"))}
THEORY = """
type n = 1..3
predicate a(n)
predicate b(n)
predicate area(n) in {"u", "v", "w"}
0.7: a(x) and b(y) => area(x) = "u"
-0.4: a(x) xor b(x)
area(2) = "v"
not b(3)
"""
KNOWN = {("area", (2,)): "v", ("b", (3,)): False}
LEAVES = [
    *(f"{name}({number})" for name in "ab" for number in (1, 2, 3)),
    *('area(1) = "u"', 'area(1) in {"u", "w"}', 'area(2) = "v"', 'area(3) = "w"'),
    *("exists x: a(x) and not b(x)", "2 = 2"),
]


def joined(leaves: list[str], connectives: list[str]) -> str:
    """Leaves in a row, each behind all before it."""
    text = leaves[0]
    for leaf, connective in zip(leaves[1:], connectives, strict=False):
        text = (
            f"({text}) {connective} not ({leaf})"
            if connective == "and"
            else f"({text}) {connective} ({leaf})"
        )
    return text


LONG = st.builds(
    joined,
    st.lists(st.sampled_from(LEAVES), min_size=4, max_size=10),
    st.lists(st.sampled_from(["xor", "<=>", "or", "and", "=>"]), min_size=10, max_size=10),
)


@settings(max_examples=tries(60))
@given(st.lists(LONG, min_size=1, max_size=4, unique=True), st.sampled_from(["exact", "lifted", "circuit"]))
def test_probabilities_are_sums_over_worlds(texts: list[str], engine: str) -> None:
    theory, universe = hb.parse(THEORY), Universe(DOMAINS, PREDICATES, KNOWN)
    log_weight = universe.weight_of_worlds(theory.formulas)
    weights = [(world, math.exp(log_weight(world))) for world in universe.worlds()]
    found = hb.Model(theory).infer(texts, engine=engine)
    by_text = {row.atom: row.probability for row in found.rows()}
    for formula in map(parse_formula, texts):
        holds = universe.meaning(formula, {})
        expected = sum(weight for world, weight in weights if holds(world)) / sum(w for _, w in weights)
        assert by_text[show_formula(formula)] == pytest.approx(expected, abs=1e-9)


@given(LONG)
def test_a_formula_has_at_most_as_many_cases_as_are_counted(text: str) -> None:
    formula = parse_formula(text)
    assert min(len(cases(formula, True)), len(cases(formula, False))) <= case_count(formula)


@pytest.mark.parametrize(
    ("count", "engine"), [(10, "exact"), (16, "exact"), (17, "circuit"), (40, "circuit")]
)
def test_auto_takes_parities_of_any_length(count: int, engine: str) -> None:
    """By tables up to sixteen atoms, and then by gates, though the theory draws no choice."""
    model = hb.Model(hb.parse("type n = 1..40\npredicate a(n)\n0.3: a(x)"))
    odd = " xor ".join(f"a({number})" for number in range(1, count + 1))
    found = model.infer(odd)
    share = 1 / (1 + math.exp(-0.3))
    assert found.engine == engine
    assert next(iter(found.rows())).probability == pytest.approx((1 - (1 - 2 * share) ** count) / 2)
    if engine == "circuit":
        with pytest.raises(UnsupportedError, match="--engine circuit takes"):
            model.infer(odd, engine="exact")


def test_many_cases_over_few_atoms_are_one_table() -> None:
    """Planning the order of all its cases took minutes, so that the best world was left to another search."""
    names = [f"a{number}" for number in range(12)]
    formula = joined([*names, *names[::-1]], ["xor", "<=>", "=>", "xor", "or", "xor", "and"] * 4)
    weights = [0.3 * number - 1.7 for number in range(12)]
    lines = [f"1.1: {formula}", *(f"{w}: {name}" for w, name in zip(weights, names, strict=True))]
    model = hb.Model(hb.parse("\n".join(lines)))
    assert len(model.program.templates) > 100
    graph = ground_graph(ground(model.program), by_formula=False).graph
    assert graph.factor_count == 1
    universe = Universe({}, dict.fromkeys(names, ((), None)), {})
    log_weight = universe.weight_of_worlds(model.theory.formulas)
    by_weight = [log_weight(world) for world in universe.worlds()]
    found = model.infer(log_partition=True, engine="exact")
    assert found.log_partition == pytest.approx(math.log(sum(map(math.exp, by_weight))))
    best = model.infer(map=True)
    assert best.engine == "exact" and best.log_weight == pytest.approx(max(by_weight))
