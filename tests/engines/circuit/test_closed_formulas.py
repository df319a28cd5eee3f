"""Closed formulas as gates: connectives at any depth, beside the sum over all worlds and a closed form."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.language.parse import parse_formula
from herbrand.language.show import show_formula
from tests.laws import tries
from tests.oracles.choices import worlds_of

MIXED = """
type n = 1..2
predicate link(n, n): observed
predicate a(n)
predicate b(n)
predicate d(n)
predicate free(n)
predicate tone(n) in {"u", "v"}
predicate area(n) in {"u", "v", "w"}
link(1, 2)
0.3 :: a(x)
0.2 :: b(x); 0.5 :: a(x) :- link(x, y)
0.3 :: tone(x) = "u"; 0.5 :: tone(x) = "v" :- a(x)
d(x) :- a(x), not b(x)
d(x) :- link(x, y), d(y)
0.7: free(x) => d(x)
-0.4: area(x) = "u" xor free(x)
not b(2)
"""
LEAVES = [
    *(f"{name}({n})" for name in ("a", "b", "d", "free") for n in (1, 2)),
    *('tone(1) = "u"', 'tone(2) = "v"', 'tone(1) in {"u", "v"}', 'area(1) = "w"', 'area(2) in {"u", "w"}'),
    *("link(1, 2)", "link(2, 1)", "true", "false", "1 = 2"),
    *("exists x: d(x)", "forall x: exists y: a(x) xor free(y)"),
]


def connected(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    connectives = st.sampled_from(["and", "or", "xor", "=>", "<=>"])
    joined = st.builds(lambda one, by, other: f"({one}) {by} ({other})", parts, connectives, parts)
    return st.one_of(parts.map(lambda part: f"not ({part})"), joined)


FORMULAS = st.recursive(st.sampled_from(LEAVES), connected, max_leaves=8)


@settings(max_examples=tries(60))
@given(st.lists(FORMULAS, min_size=3, max_size=8, unique=True))
def test_formulas_are_sums_over_worlds(texts: list[str]) -> None:
    formulas = [*map(parse_formula, texts)]
    found = hb.Model(hb.parse(MIXED)).infer(texts, engine="circuit")
    by_text = {row.atom: row.probability for row in found.rows()}
    expected = worlds_of(hb.parse(MIXED)).probabilities(formulas)
    assert [by_text[show_formula(one)] for one in formulas] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("count", [2, 13, 60])
def test_parities_of_many_atoms(count: int) -> None:
    """An odd number of independent atoms holds with (1 - (1 - 2p)^n) / 2: by cases 60 atoms would be 2^59."""
    model = hb.Model(hb.parse("type n = 1..60\npredicate a(n)\n0.3 :: a(x)"))
    odd = " xor ".join(f"a({number})" for number in range(1, count + 1))
    (row,) = model.infer(odd).rows()
    assert row.probability == pytest.approx((1 - 0.4**count) / 2)
