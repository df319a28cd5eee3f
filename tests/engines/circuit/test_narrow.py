"""Sums by eliminating variable by variable, against the sum over all worlds and against chains by hand."""

from __future__ import annotations

import math
from itertools import count, pairwise

import numpy as np
import pytest
from hypothesis import given, settings

import herbrand as hb
from herbrand.budget import UNLIMITED, Budget
from herbrand.engines.circuit import bounds, narrow
from herbrand.engines.circuit.choices import ChoiceConstraints, Task
from herbrand.errors import ContradictionError, OutOfTimeError
from herbrand.language.dialects import read_theory_text
from tests.engines.circuit.test_bounds import networks
from tests.engines.circuit.test_sum_over_worlds import check
from tests.laws import long, tries


@pytest.fixture
def used(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """The search finds nothing where elimination may; whether it did."""
    found: list[bool] = []
    by_elimination, advanced = bounds.Unfinished._by_elimination, bounds.Unfinished.advanced

    def tried(self: bounds.Unfinished) -> bounds.Counted | None:
        made = by_elimination(self)
        found.append(made is not None)
        return made

    def searched(self: bounds.Unfinished, work: int) -> object:
        is_narrow = narrow.is_narrow(self.task.net, self._order.width)
        return None if is_narrow else advanced(self, 10_000_000)

    monkeypatch.setattr(bounds.Unfinished, "_by_products", None)
    monkeypatch.setattr(bounds, "ELIMINATED_AFTER", 0)
    monkeypatch.setattr(bounds.Unfinished, "advanced", searched)
    monkeypatch.setattr(bounds.Unfinished, "_by_elimination", tried)
    return found


@pytest.mark.parametrize("start", long([*range(0, 300, 50), *range(5000, 6000, 50)], 1))
def test_random_programs(start: int, used: list[bool]) -> None:
    programs = tries(50, 20)
    assert sum(check(seed) for seed in range(start, start + programs)) >= programs // 2
    assert sum(used) >= 3 * programs // 10


@given(networks())
@settings(max_examples=tries(30))
def test_the_sum_and_all_shares_are_those_of_the_circuit(drawn: tuple[ChoiceConstraints, list[int]]) -> None:
    made, asked = drawn
    task = made.task(asked)
    circuit, weights = made.circuit(asked, Budget())
    values = circuit.values(weights)
    found = narrow.eliminated(task, UNLIMITED)
    assert found is not None
    assert found[0] == pytest.approx(float(values[circuit.root]), abs=1e-12)
    if found[0] > -math.inf:
        told = [x for v in task.written for x in (2 * v, 2 * v + 1)]
        assert found[1][told] == pytest.approx(circuit.shares(weights, values)[told], abs=1e-12)


CHAIN = """0.5::s(0, a); 0.5::s(0, b).
0.7::s(T, a); 0.3::s(T, b) :- T > 0, U is T - 1, s(U, a).
0.4::s(T, a); 0.6::s(T, b) :- T > 0, U is T - 1, s(U, b).
0.9::o(T, x); 0.1::o(T, y) :- s(T, a).
0.2::o(T, x); 0.8::o(T, y) :- s(T, b).
"""


def test_a_hidden_chain_is_that_of_sums_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forwards and backwards along the chain; too many steps for a list of worlds."""
    monkeypatch.setattr(bounds, "DIAGRAMS_FROM", 1)
    monkeypatch.setattr(bounds.Unfinished, "_by_products", None)
    monkeypatch.setattr(bounds, "ELIMINATED_AFTER", 0)
    monkeypatch.setattr(bounds.Unfinished, "_by_diagrams", lambda self, until: pytest.fail("not narrow"))
    steps = 60
    seen = {step: "xy"[step % 2] for step in range(0, steps + 1, 3)}
    evidence = "".join(f"evidence(o({step}, {value})). " for step, value in seen.items())
    text = f"{CHAIN}{evidence}query(s(30, a)). query(s({steps}, a))."
    move, tells = np.array([[0.7, 0.3], [0.4, 0.6]]), {"x": np.array([0.9, 0.2]), "y": np.array([0.1, 0.8])}
    told = [tells[seen[step]] if step in seen else np.ones(2) for step in range(steps + 1)]
    before, after = [told[0] / 2], [np.ones(2)]
    for step in range(steps):
        before.append((before[-1] @ move) * told[step + 1])
        after.append(move @ (told[steps - step] * after[-1]))
    found = hb.Model(read_theory_text(text, "pl")).infer()
    for step in (30, steps):
        joint = before[step] * after[steps - step]
        assert found[f's({step}, "a")'] == pytest.approx(joint[0] / joint.sum(), abs=1e-12)
    assert found.log_partition == pytest.approx(math.log(before[-1].sum()), abs=1e-9)


def test_evidence_that_no_world_has_is_a_contradiction(used: list[bool]) -> None:
    text = "0.5 :: a\n0.5 :: b\nc :- a, b\nc\nnot a"
    with pytest.raises(ContradictionError, match="probability 0"):
        hb.Model(hb.parse(text)).infer("b")


def linked(choices: int) -> Task:
    """Constraints between each choice and the next."""
    made = ChoiceConstraints()
    drawn = [made.choice([0.5]).outcomes[0] for _ in range(choices)]
    for one, other in pairwise(drawn):
        made.stipulate(made.net.either([one, other]), "one of two")
    return made.task(drawn[:1])


def test_what_takes_more_than_there_is_is_left_to_others() -> None:
    task = linked(14)
    assert narrow.eliminated(task, UNLIMITED) is not None
    assert narrow.eliminated(task, Budget(1)) is None


def test_planning_that_takes_most_of_the_time_leaves_the_rest_to_bounds() -> None:
    ticks = count()
    budget = Budget(seconds=100, clock=lambda: float(next(ticks)))
    task = linked(400)
    assert narrow.eliminated(task, budget) is None and not budget.ended
    with pytest.raises(OutOfTimeError):
        narrow.eliminated(task, Budget(seconds=0))
