"""Bounds of circuits that are not compiled yet: they hold, they narrow, and they end at the exact number."""

from __future__ import annotations

import math
import random
import time

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.answers.guarantee import Guarantee, PartitionGuarantee
from herbrand.budget import UNLIMITED
from herbrand.engines.circuit import apart, bounds, engine
from herbrand.engines.circuit.apart import Apart
from herbrand.engines.circuit.bounds import Cases
from herbrand.engines.circuit.choices import ChoiceConstraints
from herbrand.engines.circuit.constraints import negated
from herbrand.language.dialects import read_theory_text
from tests.laws import tries


@st.composite
def networks(draw: st.DrawFn) -> tuple[ChoiceConstraints, list[int]]:
    """Choices, gates over them, and of some also weights that do not add up to 1, and evidence."""
    made = ChoiceConstraints()
    chances = draw(st.lists(st.sampled_from((0.1, 0.3, 0.5, 0.9)), min_size=3, max_size=7))
    literals = [made.choice([chance]).outcomes[0] for chance in chances]
    signed = st.tuples(st.sampled_from(range(20)), st.booleans())
    for _ in range(draw(st.integers(1, 8))):
        inputs = draw(st.lists(signed, min_size=2, max_size=3))
        chosen = [
            negated(x) if flipped else x for i, flipped in inputs for x in [literals[i % len(literals)]]
        ]
        weighted = [(place + 1, literal) for place, literal in enumerate(chosen)]
        least = draw(st.integers(1, 6))
        kinds = made.net.either, made.net.every, lambda _, w=weighted, n=least: made.net.at_least(w, n)
        literals.append(draw(st.sampled_from(kinds))(chosen))
    if draw(st.booleans()):
        made.weigh(literals[draw(st.integers(0, len(literals) - 1))], draw(st.sampled_from((-1.0, 0.7))))
    if draw(st.booleans()):
        one, other = (literals[draw(st.integers(0, len(literals) - 1))] for _ in range(2))
        made.stipulate(made.net.either([one, other]), "one or other")
    return made, [literal for literal in literals if literal >= 0]


@settings(max_examples=tries(50, 20), deadline=None)
@given(st.data())
def test_without_constraints_nothing_is_searched(data: st.DataObject) -> None:
    """Choices, gates over some of them, and weights that add up to something else: as a circuit has it."""
    made = ChoiceConstraints()
    chances = data.draw(st.lists(st.sampled_from((0.1, 0.5, 0.9)), min_size=1, max_size=6))
    literals = [made.choice([chance]).outcomes[0] for chance in chances]
    gates = [made.net.every(literals[:size]) for size in data.draw(st.sets(st.integers(2, 6)))]
    for literal in data.draw(st.sets(st.sampled_from(literals))):
        made.weigh(literal, 0.7)
    asked = data.draw(st.sets(st.sampled_from([*literals, negated(literals[0]), *gates])))
    left = bounds.Unfinished.of(made.task(sorted(asked)), UNLIMITED)
    circuit = left.advanced(10**6)
    assert circuit is not None
    total, shares = circuit.counted(left.task.log_weights)
    told = [x for variable in left.task.written for x in (2 * variable, 2 * variable + 1)]
    if not left.task.net.restrictions:
        found = left.task.by_products()
        assert found is not None
        assert found[0] == pytest.approx(total, abs=1e-14)
        assert found[1][told].tolist() == shares[told].tolist()


@settings(max_examples=tries(300, 75), deadline=None)
@given(st.data())
def test_independent_gates_are_products(data: st.DataObject) -> None:
    """Gates over earlier literals, some of them required: as a circuit has it, where products are given."""
    made = ChoiceConstraints()
    drawn = data.draw(st.lists(st.sampled_from((0.1, 0.5, 0.9)), min_size=2, max_size=6))
    literals = [made.choice([chance]).outcomes[0] for chance in drawn]
    for literal in data.draw(st.sets(st.sampled_from(literals), max_size=2)):
        made.weigh(literal, 0.7)
    for _ in range(data.draw(st.integers(0, 4))):
        inputs = data.draw(st.lists(st.sampled_from(literals), min_size=2, max_size=3, unique=True))
        signs = data.draw(st.lists(st.integers(0, 1), min_size=3, max_size=3))
        literals.append(made.net.every([one ^ sign for one, sign in zip(inputs, signs, strict=False)]))
    literals = [literal for literal in literals if literal >= 0]
    for literal in data.draw(st.sets(st.sampled_from(literals), max_size=2)):
        made.net.require([literal])
    asked = data.draw(st.sets(st.sampled_from(literals), min_size=1))
    left = bounds.Unfinished.of(made.task(sorted(asked)), UNLIMITED)
    found = left.task.by_products()
    event(f"products: {found is not None}, gates: {len(left.task.net.restrictions) > 2}")
    circuit = left.advanced(10**6)
    assert circuit is not None
    total, shares = circuit.counted(left.task.log_weights)
    if found is None:
        return
    assert found[0] == pytest.approx(total, abs=1e-12)
    if total > -math.inf:
        told = [x for variable in left.task.written for x in (2 * variable, 2 * variable + 1)]
        assert found[1][told] == pytest.approx(shares[told], abs=1e-12)


@settings(max_examples=tries(150, 40), deadline=None)
@given(networks())
def test_bounds_hold_and_narrow(network: tuple[ChoiceConstraints, list[int]]) -> None:
    made, asked = network
    circuit, weights = made.circuit(asked, UNLIMITED)
    values = circuit.values(weights)
    total = float(values[circuit.root])
    if total == -math.inf or not asked:
        return
    exact = circuit.shares(weights, values)
    places = np.array([x for literal in asked for x in (literal, negated(literal))])
    cases = Cases(made.task(asked), UNLIMITED)
    cases.least_work = 1  # so that every case is divided as long as anything is left to decide
    before, known = (np.zeros(len(places)), np.ones(len(places))), -math.inf
    while True:
        lower, upper = (each[places] for each in cases.bounds())
        assert (lower <= exact[places] + 1e-9).all() and (exact[places] <= upper + 1e-9).all()
        assert (before[0] <= lower + 1e-9).all() and (upper <= before[1] + 1e-9).all()
        assert known - 1e-9 <= cases.log_total <= total + 1e-9
        if cases.done:
            break
        before, known = (lower, upper), cases.log_total
        cases.narrow(0.0, 1)
    assert lower == pytest.approx(exact[places], abs=1e-9) and upper == pytest.approx(exact[places], abs=1e-9)
    assert cases.log_total == pytest.approx(total, abs=1e-9)


@settings(max_examples=tries(100, 30), deadline=None)
@given(st.lists(st.floats(0.01, 0.99), min_size=3, max_size=8), st.randoms(use_true_random=False))
def test_bounds_are_outward_to_the_last_bit(chances: list[float], random: random.Random) -> None:
    """Without evidence log Z is 0, and each choice has the probability that it was given."""
    made = ChoiceConstraints()
    literals = [made.choice([chance]).outcomes[0] for chance in chances]
    gates = list(literals)
    for _ in range(4):
        gates.append(made.net.either(made.net.every(random.sample(gates, 2)) for _ in range(2)))
    cases = Cases(made.task([*literals, *(gate for gate in gates if gate >= 0)]), UNLIMITED)
    cases.least_work = 1
    while not cases.done:
        assert cases.log_total <= 0
        lower, upper = (each[literals] for each in cases.bounds())
        assert (lower <= chances).all() and (chances <= upper).all()
        cases.narrow(0.0, 1)


def test_worlds_far_lighter_than_their_upper_bound_count() -> None:
    """Each of 200 pairs of rare choices has one that holds: together about e^-782, below the least float."""
    made = ChoiceConstraints()
    pairs = [[made.choice([0.01]).outcomes[0] for _ in range(2)] for _ in range(200)]
    for number, pair in enumerate(pairs):
        made.stipulate(made.net.either(pair), f"pair {number}")
    asked = pairs[0]
    cases = Cases(made.task(asked), UNLIMITED)
    cases.least_work = 1
    for _ in range(30):  # all are divided
        cases.narrow(0.0, 1)
        lower, upper = (each[asked] for each in cases.bounds())
        assert (lower <= 0.01 / 0.0199 + 1e-9).all() and (upper >= 0.01 / 0.0199 - 1e-9).all()
    cases.least_work = 10**7
    cases.narrow(math.inf)
    lower, upper = (each[asked] for each in cases.bounds())
    assert cases.log_total == pytest.approx(200 * math.log(0.0199), rel=1e-9)
    assert lower == pytest.approx(0.01 / 0.0199) and upper == pytest.approx(0.01 / 0.0199)


EDGES = [(i, j) for i in range(5) for j in range(5) if i != j]
DENSE = "".join(f"0.3::e({i}, {j}). " for i, j in EDGES)
DENSE += "p(X, Y) :- e(X, Y). p(X, Y) :- e(X, Z), p(Z, Y). evidence(p(1, 2)). query(p(0, 4))."
TWO_QUERIES = f"{DENSE} query(e(0, 4))."


CASES = 40


def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The circuit is never done, and each step divides or compiles few cases, on a busy machine too."""
    narrow, narrowed = bounds.Cases.narrow, Apart.narrowed
    monkeypatch.setattr(engine, "PATIENCE", 0.0)
    monkeypatch.setattr(bounds, "LEAST_WORK", 10)
    monkeypatch.setattr(bounds.Unfinished, "solved", lambda self, seconds: None)
    monkeypatch.setattr(bounds.Cases, "narrow", lambda self, seconds, least: narrow(self, 0.0, CASES))
    monkeypatch.setattr(Apart, "narrowed", lambda self, seconds: narrowed(self, 0.0))


@pytest.mark.parametrize("text", [DENSE, TWO_QUERIES])
def test_what_is_not_compiled_in_time_has_bounds(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = hb.Model(read_theory_text(text, "pl"))
    exact = model.infer()
    assert exact.guarantee == Guarantee.EXACT and exact.log_partition is not None
    _impatient(monkeypatch)
    widths, found = [], model.infer(iterations=1)
    for iterations in (2, 4, 7):
        found = model.infer(iterations=iterations)
        assert found.guarantee == Guarantee.BOUND and not found.status.converged
        assert found.log_partition_guarantee == (
            None if found.log_partition is None else PartitionGuarantee.LOWER
        )
        assert found.log_partition is None or found.log_partition <= exact.log_partition + 1e-15
        for row, truth in zip(found.rows(), exact.rows(), strict=True):
            lower, upper = row.bounds
            assert lower - 1e-15 <= truth.probability <= upper + 1e-15
            assert row.to_dict()["lower"] == lower and row.to_dict()["upper"] == upper
        widths.append(found.status.trace[-1])
    assert widths == sorted(widths, reverse=True) and widths[-1] < 1.0
    assert " to " in str(found)
    columns = found.to_arrow().to_pydict()
    assert columns["lower"] == [row.bounds[0] for row in found.rows()]
    assert columns["upper"] == [row.bounds[1] for row in found.rows()]
    assert "lower" not in exact.to_arrow().column_names and "lower" not in exact.to_dict()["marginals"][0]
    whole = model.infer()
    for row, truth in zip(whole.rows(), exact.rows(), strict=True):
        assert row.probability == pytest.approx(truth.probability, abs=1e-9)


@settings(max_examples=tries(60, 20), deadline=None)
@given(networks(), st.integers(1, 3))
def test_queries_alone_have_the_bounds_of_all(
    network: tuple[ChoiceConstraints, list[int]], most_kept: int
) -> None:
    """With turns that finish nothing but small cases, and few compilations kept."""
    made, asked = network
    circuit, weights = made.circuit(asked, UNLIMITED)
    values = circuit.values(weights)
    total = float(values[circuit.root])
    exact = circuit.shares(weights, values) if total > -math.inf else np.zeros(2 * len(made.net))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(bounds, "LEAST_WORK", 1)
        patched.setattr(apart, "MOST_KEPT", most_kept)
        patched.setattr(bounds.Unfinished, "solved", lambda self, seconds: None)
        one_by_one, found = Apart(made, sorted({x & ~1 for x in asked}), UNLIMITED), None
        while found is None or not found.done:
            found = one_by_one.narrowed(0.0)
            assert found.log_total <= total + 1e-9
            if total > -math.inf:
                assert (found.lower[asked] <= exact[asked] + 1e-9).all()
                assert (exact[asked] <= found.upper[asked] + 1e-9).all()
    assert found.log_total == pytest.approx(total, abs=1e-9)
    if total > -math.inf:
        assert found.lower[asked] == pytest.approx(exact[asked], abs=1e-9)


def graph(nodes: int, edges: int) -> str:
    rng = random.Random(1)
    pairs = rng.sample([(i, j) for i in range(nodes) for j in range(nodes) if i != j], edges)
    text = "".join(f"0.3::e({i}, {j}). " for i, j in pairs)
    return f"{text}p(X, Y) :- e(X, Y). p(X, Y) :- p(X, Z), e(Z, Y). query(p(0, {nodes - 1}))."


@pytest.mark.parametrize(
    ("given", "steps", "width"), [("", 10, 0.5), (" evidence(p(1, 2)). evidence(p(3, 0), false).", 25, 0.98)]
)
def test_cases_along_likely_paths_narrow_soon(
    given: str, steps: int, width: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the order of the search alone as many cases leave nearly everything possible."""
    _impatient(monkeypatch)
    found = hb.Model(read_theory_text(graph(20, 60) + given, "pl")).infer(iterations=steps)
    (row,) = found.rows()
    lower, upper = row.bounds
    assert 0 < lower < upper < min(lower + width, 1.0)


def test_open_cases_count_where_nothing_is_excluded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of many atoms is known in cases in which the others are not."""
    _impatient(monkeypatch)
    text = graph(20, 60).replace("p(0, 19)", "p(0, X)")
    found = hb.Model(read_theory_text(text, "pl")).infer(iterations=10)
    assert found.log_partition is not None and -1e-9 < found.log_partition < 0  # 4e-16 had been above log Z
    widths = [upper - lower for lower, upper in (row.bounds for row in found.rows())]
    assert len(widths) == 19 and sum(widths) < 16  # no edge leads to one node


def test_who_interrupts_has_the_last_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    _impatient(monkeypatch)
    model, steps = hb.Model(read_theory_text(DENSE, "pl")), []

    def stopped(self: bounds.Unfinished, seconds: float) -> None:
        steps.append(seconds)
        if len(steps) == 4:
            raise KeyboardInterrupt

    monkeypatch.setattr(bounds.Unfinished, "solved", stopped)
    found = model.infer()
    assert found.guarantee == Guarantee.BOUND and found.status.advice == "stopped by hand"
    assert found.status.iterations == 3
    steps[:] = [0.0] * 3
    with pytest.raises(KeyboardInterrupt):
        model.infer()  # nothing is known yet


def test_the_timer_is_no_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command's timer interrupts a step that looks at no clock."""
    _impatient(monkeypatch)
    steps: list[float] = []

    def stopped(self: bounds.Unfinished, seconds: float) -> None:
        steps.append(seconds)
        if len(steps) == 3:
            while not self.budget.ended:
                time.sleep(0.01)
            raise KeyboardInterrupt

    monkeypatch.setattr(bounds.Unfinished, "solved", stopped)
    found = hb.Model(read_theory_text(DENSE, "pl")).infer(engine="circuit", time_limit=2)
    assert "by hand" not in found.status.advice and "allow more by --time-limit" in found.status.advice


def test_memory_that_ends_leaves_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search for the circuit asks for more than there is; small cases do not."""
    from herbrand.errors import BudgetError

    model = hb.Model(read_theory_text(TWO_QUERIES, "pl"))
    exact = model.infer()

    def refused(self: object, work: int) -> None:
        raise BudgetError("the circuit needs more")

    monkeypatch.setattr(bounds.Unfinished, "advanced", refused)
    found = model.infer()
    assert found.guarantee == Guarantee.EXACT and found.status.converged, "all cases were compiled"
    for row, truth in zip(found.rows(), exact.rows(), strict=True):
        assert row.probability == pytest.approx(truth.probability, abs=1e-9)
