"""Each kind of recursion over each shape of world, in each algebra and mode, beside all proofs by loops."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest

import herbrand as hb
from herbrand.engines.proof.request import Request
from herbrand.language import syntax as s
from tests.engines.proof.explained import explained
from tests.engines.proof.kinds_of_rules import CASES, KINDS, NODES, SHAPES, Case, quoted
from tests.engines.proof.roads import CHOICES, taken
from tests.engines.proof.test_against_proofs import told
from tests.engines.proof.test_single_proofs import proof_of
from tests.oracles.proofs import Weights, goal_answers

USUAL = ("begins with the call", "calls of three", "through another type", "absent of a recursion")
"""The others take longer than an ordinary run allows."""
by_kind = pytest.mark.parametrize(
    "kind", [kind if kind in USUAL else pytest.param(kind, marks=pytest.mark.slow) for kind in KINDS]
)


def of_kind(kind: str) -> list[Case]:
    return [case for case in CASES if case.kind == kind]


def goals_of(case: Case) -> list[s.Atom]:
    """Each place a constant, a variable, the same one again, or ``_``: a handful of combinations."""
    (kinds,) = [kinds for name, kinds in case.heads if name == "p"]
    if not kinds:
        return [s.Atom("p", ())]
    a, b = s.Constant("a"), s.Constant("b")
    x, any_ = s.Variable("x"), s.Variable("_")
    own = [s.Variable(f"v{place}") for place in range(len(kinds))]
    rows: list[tuple[s.Term, ...]] = [tuple(own)]
    for place in range(len(kinds)):
        one = s.Constant("s") if kinds[place] == "k" else a
        rows.append((*own[:place], one, *own[place + 1 :]))
        rows.append((*own[:place], any_, *own[place + 1 :]))
    if kinds[:2] == ["n", "n"]:
        rows += [(a, b, *own[2:]), (b, any_, *own[2:]), (x, x, *own[2:])]
    return [s.Atom("p", row) for row in rows]


def shown(goal: s.Atom) -> str:
    terms = (quoted(t.value) if isinstance(t, s.Constant) else t.name for t in goal.arguments)
    return f"p({', '.join(terms)})" if goal.arguments else "p"


def plus(one: float, other: float) -> float:
    return one + other


@by_kind
def test_sums_of_proofs_in_every_mode(kind: str) -> None:
    for case in of_kind(kind):
        model, goals = hb.Model(case.theory), goals_of(case)
        for depth in (0, 3):
            weights = case.answers(depth)
            answers = model.query(list(map(shown, goals)), depth=depth)
            for goal, answer in zip(goals, answers, strict=True):
                wanted = goal_answers(goal, weights, plus)
                assert told(answer) == pytest.approx(wanted, rel=1e-9), (case.shape, shown(goal), depth)


@by_kind
def test_the_heaviest_proof_and_truth_in_every_mode(kind: str) -> None:
    for case in of_kind(kind):
        if case.shape in ("nothing", "only the other"):
            continue
        model, goals = hb.Model(case.theory), goals_of(case)[:6]
        best, some = case.answers(2, best=True), case.answers(2)
        for algebra, weights in (("max", best), ("boolean", dict.fromkeys(some, 1.0))):
            answers = model.query(list(map(shown, goals)), depth=2, algebra=algebra)
            for goal, answer in zip(goals, answers, strict=True):
                wanted = goal_answers(goal, weights, max)
                assert told(answer) == pytest.approx(wanted), (case.shape, shown(goal), algebra)


@by_kind
def test_the_fixpoint_of_truth_is_the_least_model(kind: str) -> None:
    for case in of_kind(kind):
        model = hb.Model(case.theory)
        for goal in goals_of(case)[:5]:
            answer = model.query(shown(goal), algebra="boolean", depth="fixpoint")
            wanted = goal_answers(goal, dict.fromkeys(case.truths["p"], 1.0), max)
            assert told(answer) == wanted and answer.status.converged, (case.shape, shown(goal))


@by_kind
def test_truncated_where_a_deeper_call_has_one_more_proof(kind: str) -> None:
    """Weights here are positive, so that one proof more is more."""
    for case in of_kind(kind):
        model = hb.Model(case.theory)
        deep = case.answers(7)
        for depth in (0, 1, 3):
            missing = case.answers(depth) != pytest.approx(deep, rel=1e-12)
            every = ", ".join(f"v{place}" for place in range(len(dict(case.heads)["p"])))
            answer = model.query(f"p({every})" if every else "p", depth=depth)
            assert answer.truncated == missing, (case.shape, depth)


@by_kind
def test_values_for_variables_answer_as_constants_do(kind: str) -> None:
    """In one pass over every node, asked in any order and twice."""
    names = [f"v{place}" for place in range(len(dict(of_kind(kind)[0].heads)["p"]))]
    if not names:
        return
    for case in of_kind(kind):
        model, goal = hb.Model(case.theory), f"p({', '.join(names)})"
        weights = case.answers(2)
        for asked in (["b"], [*reversed(NODES), "a"]):
            answer = model.query(goal, bindings={"v0": asked}, depth=2)
            wanted = sorted((*row, weights[row]) for row in weights for one in asked if one == row[0])
            found = sorted((*row.bindings.values(), row.weight) for row in answer.rows())
            assert [row[:-1] for row in found] == [row[:-1] for row in wanted], (case.shape, asked)
            assert [row[-1] for row in found] == pytest.approx([row[-1] for row in wanted])


@by_kind
def test_listed_proofs_add_up_to_the_weight(kind: str) -> None:
    for case in of_kind(kind):
        proof, weights = proof_of(hb.Model(case.theory)), case.answers(2)
        for row in list(itertools.islice(sorted(weights), 2)):
            goal = shown(s.Atom("p", tuple(map(s.Constant, row))))
            why = explained(proof, goal, Request(depth=2, top=3000))
            assert why.value == pytest.approx(weights[row])
            if len(why.reasons) < 3000:
                total = sum(reason.contribution for reason in why.reasons)
                assert total == pytest.approx(weights[row]) and abs(why.remainder) <= 1e-9 * weights[row]


ROADS: Sequence[dict[str, object]] = [
    {"table.LARGEST_GRID": 0},
    {"table.SMALL_GRID": 0, "table.DENSE_SHARE": 2.0},
    {"unrolled.MOST_DIRECT": 0, "recursion_loop.MOST_RELATIONS": 0},
    {"unrolled.MOST_DIRECT": 100, "table.MOST_WAITING": 0},
    {"recursion_loop.BLOCK": 2, "recursion_loop.DENSE_SHARE": 0.0},
    {"unrolled.GRID_CACHE": 1, "unrolled.FEWEST_ROWS": 1, "recursion_loop.CHUNK": 1, "join_sum.CHUNK": 1},
    {"short": True},
]  # fmt: skip


@pytest.mark.parametrize("road", ROADS, ids=lambda road: " ".join(road))
def test_other_roads_lead_to_the_same_answers(road: dict[str, object]) -> None:
    usual = {name: values[0] for name, values in CHOICES.items()}
    for case in CASES:
        if case.shape != "loops":
            continue
        goals = goals_of(case)[:3]
        weights: Weights = case.answers(2)
        with taken({**usual, "order": None, **road}):
            answers = hb.Model(case.theory).query(list(map(shown, goals)), depth=2)
        for goal, answer in zip(goals, answers, strict=True):
            assert told(answer) == pytest.approx(goal_answers(goal, weights, plus)), (case, shown(goal))


def test_every_kind_has_proofs_somewhere() -> None:
    """So that nothing above compares nothing with nothing."""
    for kind in KINDS:
        found = {shape: bool(Case(kind, shape).answers(2)) for shape in SHAPES}
        assert any(found.values()) == (kind != "nothing but itself"), found
        assert not found["nothing"]
