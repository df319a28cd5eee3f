"""Bindings found by joins against loops over all constants; limits are kept before anything is made."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.budget import UNLIMITED, Budget
from herbrand.errors import BudgetError
from herbrand.program.bindings import Bindings, Limit, enumerate_bindings
from herbrand.program.evidence import LATENT, Evidence
from herbrand.program.program import FALSE, TRUE, Argument, Conjunction, Literal, different
from tests.laws import tries

laws = settings(
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    max_examples=tries(30),
    suppress_health_check=[HealthCheck.too_slow],
)
SIZE = 3
HEAD = """\
type t = {"c0", "c1", "c2"}
predicate e(t, t): observed
predicate f(t, t)
predicate g(t)
predicate a(t) in {"u", "v", "w"}
"""
ROWS = list(itertools.product(range(SIZE), repeat=2))
pairs = st.sets(st.sampled_from(ROWS), max_size=6)
arguments = st.one_of(st.sampled_from("xyz"), st.integers(0, SIZE - 1))


@st.composite
def evidences(draw: st.DrawFn) -> Evidence:
    lines = [f'e("c{i}", "c{j}")' for i, j in sorted(draw(pairs))]
    for i, j in sorted(draw(pairs)):
        lines.append(f'{draw(st.sampled_from(["", "not "]))}f("c{i}", "c{j}")')
    some = st.sets(st.integers(0, SIZE - 1)).map(sorted)
    lines += [f'{draw(st.sampled_from(["", "not "]))}g("c{i}")' for i in draw(some)]
    lines += [f'a("c{i}") = "{draw(st.sampled_from("uvw"))}"' for i in draw(some)]
    return Evidence(hb.Model(hb.parse(HEAD + "\n".join(lines))).program)


@st.composite
def conjunctions(draw: st.DrawFn) -> Conjunction:
    literals = []
    for name in draw(st.lists(st.sampled_from(["e", "f", "g", "a"]), max_size=3)):
        arity = 2 if name in "ef" else 1
        allowed = (
            tuple(sorted(draw(st.sets(st.integers(0, 2), min_size=1, max_size=2))))
            if name == "a"
            else draw(st.sampled_from([TRUE, FALSE]))
        )
        literals.append(Literal(name, tuple(draw(arguments) for _ in range(arity)), allowed))
    named = {a for x in literals for a in x.arguments if isinstance(a, str)}
    names = sorted(named | draw(st.sets(st.sampled_from("xyz"))))
    terms = st.one_of(st.sampled_from(names), st.integers(0, SIZE - 1)) if names else st.integers(0, 2)
    drawn = draw(st.lists(st.tuples(terms, terms), max_size=2))
    distinct = frozenset(different(a, b) for a, b in drawn if isinstance(a, str) and a != b)
    return Conjunction(tuple((name, "t") for name in names), tuple(literals), distinct)


def by_loops(conjunction: Conjunction, evidence: Evidence) -> set[tuple[int, ...]]:
    """Assignments under which nothing known makes a literal false."""
    names = [name for name, _ in conjunction.variables]
    found = set()
    for row in itertools.product(range(SIZE), repeat=len(names)):
        binding = dict(zip(names, row, strict=True))

        def index(argument: Argument, binding: dict[str, int] = binding) -> int:
            return binding[argument] if isinstance(argument, str) else argument

        def possible(literal: Literal) -> bool:
            sizes, code = evidence.sizes(literal.predicate), 0
            for argument, size in zip(literal.arguments, sizes, strict=True):
                code = code * size + index(argument)
            value = int(evidence.known(literal.predicate).lookup(np.array([code]))[0])
            return value == LATENT or value in literal.allowed

        differ = all(index(a) != index(b) for a, b in conjunction.distinct)
        if differ and all(map(possible, conjunction.literals)):
            found.add(row)
    return found


@laws
@given(evidences(), conjunctions())
def test_every_assignment_that_is_possible_once(evidence: Evidence, conjunction: Conjunction) -> None:
    rows = enumerate_bindings(conjunction, Bindings.nothing(), evidence, Limit(UNLIMITED))
    names = [name for name, _ in conjunction.variables]
    columns = [rows.columns[name].tolist() for name in names]
    found = list(zip(*columns, strict=True)) if names else [()] * len(rows)
    assert len(set(found)) == len(found)
    assert set(found) == by_loops(conjunction, evidence)
    assert (rows.origin == 0).all()


@laws
@given(evidences(), conjunctions(), st.lists(st.integers(0, 2), min_size=1, max_size=4))
def test_each_row_begun_with_is_gone_on_from(
    evidence: Evidence, conjunction: Conjunction, begun: list[int]
) -> None:
    """Starting from bound rows gives, row by row, what binding that variable by hand gives."""
    if not conjunction.variables:
        return
    name = conjunction.variables[0][0]
    start = Bindings({name: np.array(begun)}, np.arange(len(begun)))
    rows = enumerate_bindings(conjunction, start, evidence, Limit(UNLIMITED))
    everywhere = by_loops(conjunction, evidence)
    for place, constant in enumerate(begun):
        own = rows.origin == place
        assert int(own.sum()) == sum(row[0] == constant for row in everywhere)
        assert (rows.columns[name][own] == constant).all()


def test_nothing_is_one_row_that_binds_nothing() -> None:
    assert len(Bindings.nothing()) == 1 and len(Bindings.nothing(0)) == 0
    assert Bindings.nothing(2).codes((), ()).tolist() == [0, 0]
    assert Bindings.nothing(2).column(7).tolist() == [7, 7]
    assert Bindings.nothing().binds((1, 2)) and not Bindings.nothing().binds(("x",))


def test_limits_are_kept_before_rows_are_made() -> None:
    text = "type t = 1..100000\npredicate p(t)\npredicate q(t, t)\n1.0: q(x, y) and p(z)"
    program = hb.Model(hb.parse(text)).program
    everything = Conjunction((("x", "t"), ("y", "t"), ("z", "t")))
    with pytest.raises(BudgetError) as caught:
        enumerate_bindings(everything, Bindings.nothing(), Evidence(program), Limit(Budget(10**6)))
    assert str(caught.value) == (
        "grounding needs 100,000 rows, about 4.6 MB, and 976.6 kB are allowed\n"
        "  allow more by --memory, or use an engine that does not ground"
    )
    with pytest.raises(BudgetError) as caught:
        enumerate_bindings(
            everything, Bindings.nothing(), Evidence(program), Limit(Budget(10**15), rows=10**9)
        )
    assert str(caught.value) == (
        "grounding needs 10,000,000,000 rows, and at most 1,000,000,000 are taken by this engine\n"
        "  use an engine that does not ground"
    )
