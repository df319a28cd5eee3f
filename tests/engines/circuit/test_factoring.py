"""Constraints with shared parts taken out sum to the same, and nested proofs leave nothing to decide."""

from __future__ import annotations

import random

import numpy as np
import pytest

import herbrand as hb
from herbrand.engines.circuit.choices import ChoiceConstraints
from herbrand.engines.circuit.constraints import Constraints, negated
from herbrand.engines.circuit.factoring import conjunctions, factored
from tests.engines.circuit.test_reduction import agree_when_reduced
from tests.laws import tries


@pytest.mark.parametrize("seed", range(tries(600)))
def test_totals_and_shares_stay(seed: int) -> None:
    dice = random.Random(seed)
    net = Constraints()
    normal = {net.variable() for _ in range(dice.randint(4, 9))}
    literals = [2 * variable + side for variable in normal for side in (0, 1)]
    gates = [alternatives(net, literals, dice) for _ in range(dice.randint(1, 3))]
    gates = [gate for gate in gates if gate >= 0]
    if gates and dice.random() < 0.5:
        gates.append(net.every([dice.choice(gates) ^ dice.randint(0, 1), dice.choice(literals)]))
    if dice.random() < 0.4:
        net.require(dice.sample([*literals, *gates], 2))
    told = [literal for literal in [*gates, *literals] if literal >= 0]
    kept = {literal >> 1 for literal in dice.sample(told, min(2, len(told)))} | {max(told) >> 1}
    weights = np.zeros((len(net), 2))
    for variable in normal:
        chance = dice.choice([dice.random(), 1e-9])
        weights[variable] = np.log1p(-chance), np.log(chance)

    agree_when_reduced(net, factored(net, kept), weights, normal, kept)


@pytest.mark.parametrize("seed", range(tries(600)))
def test_totals_of_nested_alternatives_stay(seed: int) -> None:
    dice = random.Random(seed)
    net = Constraints()
    normal = {net.variable() for _ in range(dice.randint(4, 8))}
    some = net.either(nested(net, [2 * variable for variable in normal], dice, dice.randint(1, 4)))
    weights = np.zeros((len(net), 2))
    for variable in normal:
        chance = dice.random()
        weights[variable] = np.log1p(-chance), np.log(chance)
    kept = {some >> 1} if some >= 0 else set[int]()
    agree_when_reduced(net, factored(net, kept), weights, normal, kept)


def nested(net: Constraints, literals: list[int], dice: random.Random, depth: int) -> list[int]:
    """Alternatives over literals of which most stand in one place alone; most share one, and each has others
    within it: one gate of them, or none of them."""
    own = dice.sample(literals, len(literals))
    if len(own) < 2 or depth == 0:
        return own
    shared, *own = own
    count = dice.randint(1, 3)
    parts = [own[start::count] for start in range(count)]
    found = []
    for part in parts + [own[:2]] * (dice.random() < 0.3):
        below = nested(net, part, dice, depth - 1)
        one = dice.random() < 0.5
        within = [net.either(below)] if one else [negated(literal) for literal in below]
        found.append(net.every([*within, *part[: dice.random() < 0.2], *[shared][: dice.random() < 0.7]]))
    return found


def alternatives(net: Constraints, literals: list[int], dice: random.Random) -> int:
    """The literal of alternatives of which some share a literal, or several."""
    found = []
    for _ in range(dice.randint(1, 3)):
        shared = dice.sample(literals, dice.randint(1, 2))
        more = [dice.sample(literals, dice.randint(0, 2)) for _ in range(dice.randint(1, 4))]
        if dice.random() < 0.5:  # a conjunction beside a gate that says the same
            pair = dice.sample(literals, 2)
            more += [pair, [net.every(pair)]]
        found += [net.every([*shared, *own]) for own in more]
    return net.either([*found, *dice.sample(literals, dice.randint(0, 1))])


def test_each_gate_comes_after_its_inputs() -> None:
    for seed in range(tries(200)):
        dice = random.Random(seed)
        net = Constraints()
        made = {net.variable() for _ in range(8)}
        some = alternatives(net, [2 * variable for variable in made], dice)
        for gate, inputs in conjunctions(factored(net, {some >> 1})).items():
            assert all(literal >> 1 in made for literal in inputs)
            made.add(gate)


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ("p :- x, y\nsome :- a, p\nsome :- a, x, y", 0.5 * 0.6 * 0.4),
        ("p :- not x, not y\nsome :- a, p\nsome :- a, not x, not y", 0.5 * 0.4 * 0.6),
        ("p :- x\np :- y\nsome :- a, not p\nsome :- a, not x, not y", 0.5 * 0.4 * 0.6),
        (
            "p :- x, y\nq :- x, z\nsome :- a, not p, not q\nsome :- a, w",
            0.5 * (1 - 0.7 * 0.6 * (1 - 0.6 * 0.2)),
        ),
    ],
)
def test_alternatives_of_few_choices(rules: str, expected: float) -> None:
    """Some say the same and count once; of some, nothing but a gate of what they share is left."""
    theory = hb.parse(f"0.5 :: a\n0.6 :: x\n0.4 :: y\n0.8 :: z\n0.3 :: w\n{rules}")
    assert hb.Model(theory).infer("some")["some"] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("rules", "goal", "expected"),
    [
        ("some :- a(x), b(x, y)", "some", 1 - (1 - 0.3 * (1 - 0.6**2)) ** 3),
        ("found(x) :- a(x), b(x, y)\nsome :- found(x)", "some", 1 - (1 - 0.3 * (1 - 0.6**2)) ** 3),
        ("some :- a(x), b(x, y), c(x, y, z)", "some", 1 - (1 - 0.3 * (1 - (1 - 0.4 * 0.75) ** 2)) ** 3),
    ],
)
def test_nested_proofs_leave_nothing_to_decide(
    rules: str, goal: str, expected: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled_nets: list[Constraints] = []
    task = ChoiceConstraints.task

    def noted(self: object, literals: object) -> object:
        found = task(self, literals)  # type: ignore[arg-type]
        compiled_nets.append(found.net)
        return found

    monkeypatch.setattr(ChoiceConstraints, "task", noted)
    facts = {
        "n": [(x,) for x in range(3)],
        "m": [(x, y) for x in range(3) for y in range(2)],
        "o": [(x, y, z) for x in range(3) for y in range(2) for z in range(2)],
    }
    choices = "0.3 :: a(x) :- n(x)\n0.4 :: b(x, y) :- m(x, y)\n0.5 :: c(x, y, z) :- o(x, y, z)"
    found = hb.Model(hb.parse(f"{choices}\n{rules}"), facts).infer(goal)
    assert found[goal] == pytest.approx(expected, abs=1e-12)
    assert [one.restrictions for one in compiled_nets] == [[]]
