"""Linear recursion in one loop: its form, and its answers beside the oracle's, however the loop is cut up."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand import loops
from herbrand.engines.proof import recursion_kernels
from herbrand.engines.proof.recursion import LinearRecursion
from herbrand.errors import BudgetError, UnsupportedError
from herbrand.language import syntax as s
from herbrand.language.parse import parse_formula
from tests.engines.proof.programs import COLUMNS, EXAMPLES, Program, one_of, rows
from tests.engines.proof.roads import CHOICES, roads, taken
from tests.engines.proof.test_against_proofs import plus, told
from tests.engines.proof.test_single_proofs import proof_of
from tests.oracles.proofs import Row, Weights, goal_answers

BY_CALLS = {"recursion_loop.MOST_RELATIONS": 0}

quick = settings(
    max_examples=2 * EXAMPLES,
    deadline=None,
    phases=[Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

CHAINS = (
    "e({0}, {1})",
    "e({1}, {0})",
    "e({0}, w), e(w, {1})",
    "f({0}, r), f({1}, r)",
    "u({0}), e({0}, {1})",
    "e({0}, {1}), u({1})",
)
"""Bodies that lead from one variable to another of its type."""
ENDS = "p(x, y) :- {chain_xz}, p(z, y)"
BEGINS = "p(x, y) :- p(x, z), {chain_zy}"
BASE = "p(x, y) :- {chain_xy}"
USES = (
    "q(r, y) :- f(x, r), p(x, y)",
    "k(x, r, y) :- p(x, z), f(z, r), p(z, y)",
    "k(x, r, y) :- f(x, r), p(x, y), not p(y, x)",
    "q(r, y) :- p(x, y), f(x, r)",
)
GOALS = (
    "p(1, y)", "p(1, y)", "p(x, 2)", "p(x, 2)", "p(x, y)", "p(3, 1)", "p(x, x)", 'q("a", y)', "q(r, 1)",
    "k(x, r, y)", "k(1, r, y)",
)  # fmt: skip


@st.composite
def recursions(draw: st.DrawFn, weights: tuple[float, ...]) -> Program:
    """A predicate that calls itself at the ends, or at the beginnings, of clauses; and others that ask it."""
    form = draw(one_of((ENDS, BEGINS)))
    clauses = [BASE, form, *draw(few_of((BASE, form)))]
    chain = one_of(CHAINS)
    lower = [
        clause.format(
            chain_xy=draw(chain).format("x", "y"),
            chain_xz=draw(chain).format("x", "z"),
            chain_zy=draw(chain).format("z", "y"),
        )
        for clause in clauses
    ]
    upper = draw(few_of(USES))
    facts: dict[str, dict[Row, float]] = {}
    for name in COLUMNS:
        chosen = draw(rows(name, 7)) if name in "efu" else set()
        facts[name] = {row: draw(one_of(weights)) for row in sorted(chosen)}  # type: ignore[type-var]
    ruled = [_rule(text, draw(one_of((None, *weights)))) for text in lower]
    return Program(ruled, [_rule(text, None) for text in upper], facts)


@cache
def few_of(texts: tuple[str, ...]) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(texts), max_size=2)


@cache
def _rule(text: str, weight: float | None) -> s.Rule:
    (rule,) = hb.parse(text if weight is None else f"{text} @ {weight}").rules
    return rule


def expected(program: Program, goal: str, depth: int, best: bool = False) -> Weights:
    atom = goal_atom(goal)
    add = max if best else plus
    return goal_answers(atom, program.proofs(add=add).answers(atom.predicate, depth + 1), add)


def goal_atom(goal: str) -> s.Atom:
    atom = parse_formula(goal, "<goal>", frozenset())
    assert isinstance(atom, s.Atom)
    return atom


@quick
@given(recursions((0.5, 2.0, 3.0)), st.sampled_from(GOALS), st.integers(0, 5), roads)
def test_weighted_counts(program: Program, goal: str, depth: int, road: Mapping[str, object]) -> None:
    with taken(road):
        answer = program.model().query(goal, depth=depth)
    assert told(answer) == pytest.approx(expected(program, goal, depth), rel=1e-9)


@quick
@given(recursions((-1.0, 1.0, 2.0)), st.sampled_from(GOALS), st.integers(0, 5), roads)
def test_counts_that_cancel(program: Program, goal: str, depth: int, road: Mapping[str, object]) -> None:
    """What adds up to 0 is no answer, and whole numbers are added without an error."""
    with taken(road):
        answer = program.model().query(goal, depth=depth)
    assert told(answer) == {row: weight for row, weight in expected(program, goal, depth).items() if weight}


@quick
@given(recursions((0.5, 2.0, 3.0)), st.sampled_from(GOALS), st.integers(0, 5), roads)
def test_best_proofs(program: Program, goal: str, depth: int, road: Mapping[str, object]) -> None:
    with taken(road):
        answer = program.model().query(goal, depth=depth, algebra="max")
    assert told(answer) == pytest.approx(expected(program, goal, depth, best=True), rel=1e-9)


@quick
@given(recursions((0.5, 1.0, 2.0)), st.sampled_from(GOALS), st.integers(0, 4), roads)
def test_the_best_proof_is_cut_off_where_a_better_one_is_deeper(
    program: Program, goal: str, depth: int, road: Mapping[str, object]
) -> None:
    """Deeper proofs that are no better change nothing, as more proofs of what is true change nothing."""
    with taken(road):
        answer = program.model().query(goal, depth=depth, algebra="max")
    shallow, deep = (expected(program, goal, calls, best=True) for calls in (depth, 25))
    assert answer.truncated == (shallow != deep)


@quick
@given(recursions((1.0,)), st.sampled_from(GOALS), st.integers(0, 4), roads)
def test_truncated_tells_whether_a_proof_is_missing(
    program: Program, goal: str, depth: int, road: Mapping[str, object]
) -> None:
    """One proof more is more, whatever it is a proof of."""
    with taken(road):
        answer = program.model().query(goal, depth=depth)
    assert answer.truncated == (expected(program, goal, depth) != expected(program, goal, 25))


@quick
@given(recursions((0.5, 2.0)), st.integers(0, 5), roads)
def test_a_batch_answers_as_its_questions_do(
    program: Program, depth: int, road: Mapping[str, object]
) -> None:
    model = program.model()
    bound = {"x": [2, 1, 3, 2]}
    with taken(road):
        together = list(model.query("p(x, y)", bindings=bound, depth=depth).rows())
    for x in (1, 2, 3):
        alone = told(model.query(f"p({x}, y)", depth=depth))
        rows = sorted((row.bindings["y"], row.weight) for row in together if row.bindings["x"] == x)
        wanted = sorted(bound["x"].count(x) * [(y, weight) for (y,), weight in alone.items()])
        assert [y for y, _ in rows] == [y for y, _ in wanted]
        assert [weight for _, weight in rows] == pytest.approx([weight for _, weight in wanted], rel=1e-9)


PATHS = """\
type node = number
predicate edge(node, node): observed
predicate path(node, node)
path(x, y) :- edge(x, y) @ 0.5
path(x, y) :- edge(x, z), path(z, y) @ 0.5
"""


def links(size: int, count: int, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    pairs = np.unique(rng.integers(0, size, (count, 2)), axis=0)
    return pa.table({"a": pairs[:, 0], "b": pairs[:, 1], "weight": rng.uniform(0.1, 1, len(pairs))})


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("count", [150, 3000])
def test_many_questions_beside_powers_of_a_matrix(count: int, place: int) -> None:
    """Hundreds of questions, in blocks and alone, of nearly empty and of full frontiers."""
    table, size, depth = links(200, count), 200, 6
    model = hb.Model(hb.parse(PATHS), {"edge": table})
    edges = np.zeros((size, size))
    edges[table["a"].to_numpy(), table["b"].to_numpy()] = table["weight"].to_numpy()
    power = [np.linalg.matrix_power(edges, k) * 0.5**k for k in range(1, depth + 2)]
    wanted = np.sum(power, axis=0)
    known = sorted({int(x) for name in "ab" for x in table[name].to_numpy()})
    goal, mode = "path(x, y)", "xy"[place]
    found = np.zeros((size, size))
    for row in model.query(goal, bindings={mode: known}, depth=depth).rows():
        found[row.bindings["x"], row.bindings["y"]] = row.weight
    np.testing.assert_allclose(found, wanted, rtol=1e-9)


def test_the_form_of_plans() -> None:
    """What runs as one loop, and what does not."""
    rules = """\
predicate edge(n, n): observed
predicate ok(n): observed
predicate path(n, n)
predicate free(n, n)
predicate twice(n, n)
predicate other(n, n)
type n = number
path(x, y) :- edge(x, y)
path(x, y) :- edge(x, z), path(z, y) @ 0.5
free(x, y) :- edge(x, w), ok(w), edge(w, y)
free(x, y) :- edge(x, w), ok(w), free(w, y)
twice(x, y) :- edge(x, y)
twice(x, y) :- twice(x, z), twice(z, y)
other(x, y) :- edge(x, y), x != y
other(x, y) :- edge(x, z), other(z, y)
"""
    proof = proof_of(hb.Model(hb.parse(rules), {"edge": [(1, 2), (2, 3)], "ok": [2]}))

    def form(predicate: str, place: int) -> str:
        return str(LinearRecursion.of(proof.plans.plan(predicate, (place,))))

    assert form("path", 0) == "each call: 0 -edge-> 1; answers: 1; next: 1"
    assert form("path", 1) == "first: 0 -edge-> 1; next: 1\neach call: 0 -edge-> 1; answers: 0; next: 1"
    assert form("free", 0) == "each call: 0 -edge-> 1; 1 -ok-> 2; 2 -edge-> 3; answers: 3; next: 2"
    assert form("twice", 0) == form("other", 0) == form("edge", 0) == "None"


def test_limits_are_felt_in_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    model = hb.Model(hb.parse(PATHS), {"edge": links(200, 3000)})
    every = {"x": list(range(200))}
    with pytest.raises(BudgetError, match="rows on the way to the answer"):
        model.query("path(x, y)", bindings=every, memory="4 kB")
    monkeypatch.setattr("herbrand.loops.AT_ONCE_COMPILED", 10_000)
    with pytest.raises(BudgetError, match=r"not done after \d+\.\d s"):
        model.query("path(x, y)", bindings=every, depth=10**6, time_limit=0.05)


def test_a_weight_beyond_floats_is_told() -> None:
    model = hb.Model(hb.parse(PATHS.replace("0.5", "1000000")), {"edge": [(1, 1)]})
    with pytest.raises(UnsupportedError, match="larger than any float"):
        model.query("path(1, y)", depth=60)


def test_a_frontier_of_which_a_filter_leaves_nothing_is_not_cut() -> None:
    """At a depth where calls run one by one, since the predicate is asked in two places."""
    rules = (
        "p(x, y) :- e(x, y)\np(x, y) :- e(x, z), u(z), p(z, y)\np(x, y) :- e(x, z), e(z, w), u(w), p(w, y)"
    )
    model = hb.Model(hb.parse(f'{rules}\ne("a", "a")\nu("b")\ne("b", "c")'))
    with taken({**{name: values[0] for name, values in CHOICES.items()}, "order": None, **BY_CALLS}):
        answer = model.query('p("a", y)', depth=0)
    assert told(answer) == {("a",): 1} and not answer.truncated


def test_many_short_questions_count_for_the_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each question of a batch may end within one call of the loop, and still its steps are counted."""
    monkeypatch.setattr(loops, "OPERATIONS", type(loops.OPERATIONS)(float))
    edges = [(place, place + 1) for place in range(40)]
    model = hb.Model(hb.parse(PATHS), {"edge": edges})
    bindings = {"x": list(range(40))}
    model.query("path(x, y)", bindings=bindings, depth=5)
    assert loops.OPERATIONS[recursion_kernels.run] >= 5 * 30
