"""Runs of belief propagation as users see them: settling, going on, roads, empty types, budgets, refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest

import herbrand as hb
from herbrand.answers.guarantee import Guarantee, PartitionGuarantee, Status
from herbrand.budget import UNLIMITED, Budget
from herbrand.engines.belief import engine as module
from herbrand.engines.belief.engine import BeliefPropagation, BeliefState
from herbrand.engines.belief.pace import PATIENCE
from herbrand.engines.engine import Cost, Prepared, Settings, first_state
from herbrand.errors import BudgetError, ContradictionError, HerbrandError
from herbrand.factors import compiled as roads
from herbrand.factors.class_graph import class_graph, patterns
from herbrand.factors.compiled import compiled
from herbrand.factors.interchangeable import interchangeable
from herbrand.program.evidence import Evidence
from herbrand.program.program import Program
from herbrand.program.question import AtomPattern, Question
from tests.engines.belief.energies import latent_atoms
from tests.engines.estimates import refusal_of
from tests.engines.unseen import theory

LOOPY = """\
type t = {"a", "b", "c", "d"}
predicate p(t)
predicate f(t, t)
0.8: p(x) and f(x, y) => p(y)
-0.3: f(x, y)
0.5: p(x)
p("b") ~ 0.7
f("a", "c")
"""


def program_of(text: str) -> Program:
    return hb.Model(hb.parse(text)).program


NOBODY = "type t\npredicate p(t)\npredicate r\n0.1: r\nhard: exists x: p(x)"


def probabilities(answer: hb.Marginals) -> list[float]:
    return [row.probability for row in answer.rows()]


def stepped(engine: BeliefPropagation, state: BeliefState, steps: int) -> BeliefState:
    for _ in range(steps):
        state = engine.step(state)
    return state


@pytest.mark.parametrize("schedule", ["parallel", "sequential"])
def test_a_run_is_its_steps_and_goes_on_from_any_of_them(schedule: str) -> None:
    engine = BeliefPropagation(schedule=schedule, damping=0.2)
    first = first_state(engine, program_of(LOOPY), Question())
    kept = stepped(engine, first, 4)
    before = kept.messages.copy()
    one, other = stepped(engine, kept, 5), stepped(engine, first, 9)
    assert (one.messages == other.messages).all() and one.pace.moved == other.pace.moved
    assert (kept.messages == before).all() and not first.messages.any()
    read = engine.read(one, Status(False, 9))
    at_once = hb.Model(hb.parse(LOOPY)).infer(
        engine="bp", schedule=schedule, damping=0.2, iterations=9, tolerance=1e-300
    )
    assert probabilities(read) == probabilities(at_once)


def test_what_a_round_moved_is_what_is_left_to_do() -> None:
    engine = BeliefPropagation()
    state = first_state(engine, program_of(LOOPY), Question())
    assert engine.residual(state) == math.inf
    left = []
    for _ in range(40):
        state = engine.step(state)
        left.append(engine.residual(state))
    assert left[-1] < 1e-6 < left[0]
    answer = hb.Model(hb.parse(LOOPY)).infer(engine="bp", tolerance=1e-6)
    assert answer.status.converged and answer.status.trace[-1] <= 1e-6
    assert list(answer.status.trace) == pytest.approx(left[: len(answer.status.trace)])


def test_damping_that_is_given_stays() -> None:
    """And is raised by itself only where it is not, and where rounds do not help."""
    given = stepped(
        BeliefPropagation(damping=0.3),
        first_state(BeliefPropagation(damping=0.3), program_of(LOOPY), Question()),
        25,
    )
    assert given.pace.damping == 0.3
    text = "type t = {" + ", ".join(f'"c{i}"' for i in range(40)) + "}\npredicate p(t)\n"
    swinging = program_of(text + "-0.5: p(x) and p(y) where x != y\n3: p(x)")
    engine = BeliefPropagation()
    state = stepped(engine, first_state(engine, swinging, Question()), PATIENCE.rounds)
    assert state.pace.damping == 0.0 and state.pace.mark == state.pace.moved, (
        "the first ten rounds are only looked at"
    )
    state = stepped(engine, state, PATIENCE.rounds)
    assert state.pace.damping == 0.5 and state.pace.since == 0
    assert stepped(engine, state, 3).pace.since == 3


def test_a_forest_takes_one_step_whatever_the_schedule() -> None:
    text = 'type t = {"a", "b"}\npredicate p(t)\npredicate q(t)\n0.7: p(x) <=> q(x)\n0.4: p(x)'
    for schedule in ("parallel", "sequential"):
        answer = hb.Model(hb.parse(text)).infer(engine="bp", schedule=schedule, damping=0.9)
        assert (answer.guarantee, answer.log_partition_guarantee) == (
            Guarantee.EXACT,
            PartitionGuarantee.EXACT,
        )
        assert answer.status.iterations == 1
    loopy = hb.Model(hb.parse(LOOPY)).infer(engine="bp")
    assert loopy.guarantee is Guarantee.APPROXIMATION
    assert loopy.log_partition_guarantee is PartitionGuarantee.APPROXIMATION


@pytest.mark.parametrize("lift", [True, False])
@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        ("0.5: p(x)", 0.0),
        ("0.5: p(x) or q(w)", 0.0),
        ("0.5: exists x: p(x)", 0.0),
        ("0.5: forall x: p(x)", 0.5),
        ("0.5: q(w) or exists x: p(x)", 2 * math.log1p(math.exp(0.5)) - 2 * math.log(2)),
        ("hard: forall x: p(x)", 0.0),
        ("-1: q(w)", 2 * math.log1p(math.exp(-1.0)) - 2 * math.log(2)),
    ],
)
def test_types_without_constants(stated: str, expected: float, lift: bool) -> None:
    """Nothing is said of nobody; that all of them do is true, that some does is false."""
    text = f'type t\ntype u = {{"a", "b"}}\npredicate p(t)\npredicate q(u)\n{stated}'
    engine = BeliefPropagation(lift=lift)
    state = engine.step(first_state(engine, program_of(text), Question()))
    answer = engine.read(state, Status(True, 1))
    assert answer.log_partition == pytest.approx(2 * math.log(2) + expected)
    assert len(answer) == 2


def test_somebody_of_nobody_is_a_contradiction() -> None:
    for engine in ("bp", "exact"):
        with pytest.raises(ContradictionError):
            hb.Model(hb.parse(NOBODY)).infer(engine=engine)


@pytest.mark.parametrize("weight", [-900.0, -1e-300, 0.0, 1e-300, 0.3, 700.0, 1e3])
def test_weights_of_any_size_on_a_forest(weight: float) -> None:
    """Summed in logarithms: nothing overflows, and nothing small is lost beside what is large."""
    text = f"{weight!r}: p => q\n0.5: p\n-0.25: q"
    answer = hb.Model(hb.parse(text)).infer(engine="bp")
    terms = {(p, q): weight * (not p or q) + 0.5 * p - 0.25 * q for p in (False, True) for q in (False, True)}
    total = float(np.logaddexp.reduce(list(terms.values())))
    assert answer.log_partition == pytest.approx(total, rel=1e-14, abs=1e-14)
    for place, name in enumerate("pq"):
        logs = [term for values, term in terms.items() if values[place]]
        assert answer[name] == pytest.approx(math.exp(float(np.logaddexp.reduce(logs)) - total), rel=1e-12)


def test_facts_told_twice_count_once_and_opinions_add_up() -> None:
    once = hb.Model(hb.parse('predicate p(t)\n0.5: p(x) => p(y)\np("a")\np("b") ~ 0.7')).infer(engine="bp")
    twice = hb.Model(hb.parse('predicate p(t)\n0.5: p(x) => p(y)\np("a")\np("a")\np("b") ~ 0.7')).infer(
        engine="bp"
    )
    assert probabilities(once) == probabilities(twice)
    assert once.log_partition == twice.log_partition


# The roads to a graph


def test_classes_where_constants_are_alike_and_the_ground_where_they_are_not() -> None:
    names = [f"c{i}" for i in range(60)]
    text = "type t = {" + ", ".join(f'"{name}"' for name in names) + "}\npredicate p(t)\npredicate f(t, t)\n"
    text += "0.8: p(x) and f(x, y) => p(y)\n"
    alike, different = (
        program_of(text),
        program_of(text + "".join(f'p("{name}") ~ 0.{i + 11}\n' for i, name in enumerate(names))),
    )
    assert compiled(alike, UNLIMITED).built.ground is None, "made of classes"
    assert compiled(different, UNLIMITED).built.ground is not None
    assert compiled(alike, UNLIMITED, lift=False).built.ground is not None


@pytest.mark.parametrize("road", ["by classes", "collapsed", "ground"])
def test_every_road_gives_the_same_beliefs(road: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cost = {"by classes": 0.0, "collapsed": math.inf, "ground": 1e9}[road]
    monkeypatch.setattr(roads, "COST_OF_A_PATTERN", cost)
    for seed in (900, 902, 903, 906, 908, 911):
        text, _ = theory(seed)
        try:
            expected = stepped(
                BeliefPropagation(lift=False),
                first_state(BeliefPropagation(lift=False), program_of(text), Question()),
                3,
            )
        except HerbrandError:
            continue
        engine = BeliefPropagation(lift=road != "ground")
        found = stepped(engine, first_state(engine, program_of(text), Question()), 3)
        one, other = (engine.read(state, Status(False, 3)) for state in (found, expected))
        assert probabilities(one) == pytest.approx(probabilities(other), abs=1e-9)
        assert one.log_partition == pytest.approx(other.log_partition, abs=1e-8)


def test_the_axis_of_each_atom_is_that_of_its_class() -> None:
    """Atoms that exchanging alike constants makes of one another, and no others, have one axis."""
    text = LOOPY.replace("predicate f(t, t)", 'predicate f(t, t)\npredicate g(t, u, t)\ntype u = {"v", "w"}')
    program = program_of(text)
    evidence, classes = Evidence(program), interchangeable(program)
    graph = class_graph(program, evidence, classes)
    kinds: dict[object, set[int]] = {}
    for name, code, (_, arguments) in latent_atoms(evidence):
        axis = int(graph.atoms.numbers(name, np.array([code]))[0])
        types = program.signature.predicates[name].types
        numbers = [
            program.domain(t).values.to_pylist().index(a) for t, a in zip(types, arguments, strict=True)
        ]
        told = [(t, int(classes[t].of[n])) for t, n in zip(types, numbers, strict=True)]
        first = [
            min(i for i in range(len(types)) if (types[i], numbers[i]) == (types[j], numbers[j]))
            for j in range(len(types))
        ]
        kinds.setdefault((name, tuple(told), tuple(first)), set()).add(axis)
    assert all(len(axes) == 1 for axes in kinds.values())
    every = [axis for axes in kinds.values() for axis in axes]
    assert len(set(every)) == len(every)
    assert patterns(program, classes) >= len(every)


# What is refused


def test_all_atoms_are_not_answered_beyond_the_budget_and_some_are() -> None:
    constants = ", ".join(f'"c{i}"' for i in range(500))
    text = f"type t = {{{constants}}}\npredicate p(t)\npredicate f(t, t)\n0.001: p(x) and f(x, y) => p(y)"
    model = hb.Model(hb.parse(text))
    with pytest.raises(BudgetError) as told:
        model.infer(engine="bp", memory="8MB")
    assert "the probabilities of all 250,500 latent atoms need about" in str(told.value)
    assert "ask for some of them by --query, or allow more by --memory" in str(told.value)
    assert len(model.infer("p", engine="bp", memory="8MB")) == 500


def test_groundings_beyond_the_budget_are_refused() -> None:
    """Where constants differ, and so the ground is the only road."""
    opinions = "".join(f'p("c{i}") ~ {0.3 + i / 200}\n' for i in range(80))
    text = (
        "predicate p(t)\npredicate f(t, t)\n"
        + opinions
        + "0.4: p(x) and f(x, y) => p(y)\n0.3: f(x, y) or f(y, x)"
    )
    engine = BeliefPropagation(budget=Budget(1_000_000))
    assert refusal_of(engine, program_of(text), Question((AtomPattern("p", ("x",)),)))
    with pytest.raises(BudgetError):
        first_state(engine, program_of(text), Question((AtomPattern("p", ("x",)),)))


def test_settings_of_the_command_line() -> None:
    assert BeliefPropagation.with_settings(Settings()) == BeliefPropagation()
    made = BeliefPropagation.with_settings(
        Settings(schedule="sequential", damping=0.25, budget=Budget(10**7))
    )
    assert (made.schedule, made.damping, made.budget.memory) == ("sequential", 0.25, 10**7)


def test_what_a_run_would_cost() -> None:
    """Rounds over the graph's tables and messages; what cannot be answered says why."""
    engine = BeliefPropagation()
    prepared = engine.prepare(program_of(LOOPY), Question(), engine.budget)
    assert isinstance(prepared, Prepared)
    found, state = prepared.cost(), prepared.begin()
    assert isinstance(found, Cost)
    assert found.operations == state.compiled.graph.operations * module.ROUNDS_EXPECTED
    assert found.bytes == state.compiled.graph.bytes
    assert found.detail == f"{state.compiled.class_count} classes of 19 latent atoms"
    told = refusal_of(engine, program_of(LOOPY), Question(most_probable=True))
    assert told == "bp gives marginals, no most probable world"


@pytest.mark.parametrize(
    "said",
    [
        'hard: p("a")\nhard: not p("a")',
        'predicate c(t) in {"x", "y"}\nnot c("a") = "x"\nhard: c("a") = "x"\nhard: p("a")',
        'hard: p(x) <=> p(y)\nhard: p("a")\nnot p("b")',
    ],
)
def test_contradictions_before_and_after_messages(said: str) -> None:
    """Those of one atom are seen before any message is sent; the error names what contradicts."""
    text = 'type t = {"a", "b"}\npredicate p(t)\n0.3: p(x)\n' + said
    for engine in ("bp", "exact"):
        with pytest.raises(ContradictionError) as told:
            hb.Model(hb.parse(text)).infer(engine=engine)
        assert "hard: " in str(told.value)
