"""Structures of hard statements at sizes where undamped messages used to underflow, and what proves what.

Beside what symmetry says of their atoms; belief propagation is an approximation on all of them, but no
contradiction.
"""

from __future__ import annotations

import math
import random

import pytest

import herbrand as hb
from herbrand.budget import Budget
from herbrand.engines import contradiction
from herbrand.engines.belief import engine as module
from herbrand.engines.belief.engine import BeliefPropagation
from herbrand.engines.contradiction import contradiction as claimed
from herbrand.engines.engine import first_state
from herbrand.errors import ContradictionError, UnsupportedError
from herbrand.program.ground import ground
from herbrand.program.question import Question

ONE_EACH = "hard: exists y: f(x, y)\nhard: f(x, y) and f(x, z) => y = z\nhard: f(x, z) and f(y, z) => x = y\n"


def named(name: str, count: int) -> str:
    return f"type {name} = {{{', '.join(chr(34) + name + str(i) + chr(34) for i in range(count))}}}\n"


def exactly_one(count: int) -> str:
    return named("a", count) + "predicate p(a)\nhard: exists y: p(y)\nhard: p(x) and p(z) => x = z\n"


def in_propositions(count: int) -> str:
    pairs = "".join(f"hard: not (p{i} and p{j})\n" for i in range(count) for j in range(i))
    return f"hard: {' or '.join(f'p{i}' for i in range(count))}\n{pairs}"


def matching(count: int) -> str:
    dice = random.Random(count)
    scores = "".join(
        f'{dice.gauss(0, 1):.2f}: f("a{i}", "b{j}")\n' for i in range(count) for j in range(count)
    )
    return named("a", count) + named("b", count) + "predicate f(a, b)\n" + ONE_EACH + scores


def derangement(count: int) -> str:
    return named("a", count) + "predicate f(a, a)\nhard: not f(x, x)\n" + ONE_EACH


def two_regular(count: int) -> str:
    return named("a", count) + (
        "predicate f(a, a)\nhard: not f(x, x)\nhard: f(x, y) <=> f(y, x)\n"
        "hard: exists y, z: y != z and f(x, y) and f(x, z)\n"
        "hard: f(x, y) and f(x, z) and f(x, w) => y = z or y = w or z = w\n"
    )


AT_REST = [
    (exactly_one(4), 1 / 4),
    (exactly_one(30), 1 / 30),
    (in_propositions(4), 1 / 4),
    (in_propositions(9), 1 / 9),
    (derangement(8), 1 / 7),
    (derangement(20), 1 / 19),
    (two_regular(7), 2 / 6),
    (two_regular(10), 2 / 9),
]


@pytest.mark.parametrize(("text", "truth"), AT_REST)
def test_symmetric_structures_come_to_rest(text: str, truth: float) -> None:
    """Every atom that can hold has the probability that symmetry gives it, within what loops cost here."""
    answer = hb.Model(hb.parse(text)).infer(engine="bp")
    assert answer.status.converged and answer.guarantee == "approximation"
    held = [row.probability for row in answer.rows() if row.probability > 0]
    assert held == pytest.approx([truth] * len(held), abs=0.08)
    assert answer.log_partition is not None and 0 < answer.log_partition < len(held)


@pytest.mark.parametrize("schedule", [None, "parallel", "sequential"])
@pytest.mark.parametrize("text", [exactly_one(4), in_propositions(4), derangement(8)])
def test_no_schedule_finds_a_contradiction_where_there_is_none(text: str, schedule: str | None) -> None:
    options = {} if schedule is None else {"schedule": schedule}
    answer = hb.Model(hb.parse(text)).infer(engine="bp", iterations=3000, **options)  # type: ignore[arg-type]
    assert answer.status.converged


def test_a_matching_with_scores() -> None:
    answer = hb.Model(hb.parse(matching(9))).infer(engine="bp")
    assert answer.status.converged
    rows: dict[object, float] = {}
    for row in answer.rows():
        rows[row.arguments[0]] = rows.get(row.arguments[0], 0.0) + row.probability
    assert list(rows.values()) == pytest.approx([1.0] * 9, abs=0.4)


@pytest.mark.parametrize("damping", [None, 0.0])
def test_undamped_rounds_that_run_away_say_so(damping: float | None) -> None:
    """The user's own damping and schedule are kept, and never end in a contradiction."""
    engine = {"schedule": "parallel"} if damping is None else {"damping": 0.0, "schedule": "parallel"}
    answer = hb.Model(hb.parse(exactly_one(4))).infer(engine="bp", iterations=300, **engine)  # type: ignore[arg-type]
    assert answer.status.converged == (damping is None)
    assert all(0 <= row.probability <= 1 for row in answer.rows())


def test_what_no_schedule_calms_is_not_converged() -> None:
    """Each of two atoms hears its own opinion back through the other, for ever."""
    text = named("a", 5) + (
        "predicate f(a, a)\nhard: not f(x, x)\nhard: x != y => (f(x, y) xor f(y, x))\n"
        'hard: f(x, y) and f(y, z) => f(x, z)\n0.5: f("a0", "a1")'
    )
    answer = hb.Model(hb.parse(text)).infer(engine="bp")
    assert not answer.status.converged and "try another --engine" in answer.status.advice


def test_each_gentler_run_begins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "GENTLER", (0.5,))
    engine = BeliefPropagation()
    state = first_state(engine, hb.Model(hb.parse(exactly_one(4))).program, Question())
    seen = {(state.pace.restarts, state.pace.damping)}
    while state.pace.moved > 1e-9:
        state = engine.step(state)
        seen.add((state.pace.restarts, state.pace.damping))
    assert {(0, 0.0), (1, 0.5)} <= seen and max(seen)[0] == 1


def test_satisfiable_statements_are_never_named() -> None:
    """Whatever asks for a smallest contradiction proves first that there is one."""
    program = hb.Model(hb.parse(exactly_one(4))).program
    grounded = ground(program, Budget(1 << 30))
    assert contradiction.contradicting(grounded, lambda graph, atoms: True) is None
    assert contradiction.smallest_contradiction(grounded, lambda graph, atoms: True) is None
    error = claimed(program, Budget(1 << 30), "regions")
    assert isinstance(error, UnsupportedError) and not isinstance(error, ContradictionError)
    assert "could not be" in str(error) or "proved" in str(error)


def test_pigeons_are_refuted_by_elimination_only() -> None:
    """Four in three holes: propagation excludes nothing, and messages claim nothing."""
    text = named("a", 4) + named("b", 3) + "predicate f(a, b)\n" + ONE_EACH
    model = hb.Model(hb.parse(text))
    with pytest.raises(ContradictionError, match="statements together"):
        model.infer(engine="exact")
    answer = model.infer(engine="bp", iterations=200)
    assert answer.guarantee == "approximation" and all(0 <= r.probability <= 1 for r in answer.rows())
    assert answer.log_partition is not None and not math.isnan(answer.log_partition)
