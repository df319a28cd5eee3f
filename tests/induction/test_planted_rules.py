"""The planted rules of the benchmark of flipped labels derive what its worlds hold."""

import numpy as np
import pytest

import herbrand as hb
from benchmarks.induction_rules import NOISY, PLANTED, longest
from benchmarks.planted_worlds import WORLDS


@pytest.mark.parametrize("name", sorted({name for name, *_ in NOISY.values()}))
def test_planted_rules_derive_the_target(name):
    rng = np.random.default_rng(4)
    variables = "xy" if name == "uncle" else "x"
    held = 0
    for _ in range(5):
        world = WORLDS[name](rng, 14)
        facts = {predicate: sorted(rows) for predicate, rows in world.items() if predicate != "t" and rows}
        answers = hb.Model(hb.parse(PLANTED[name]), facts).query(f"t({', '.join(variables)})")
        rows = [answer["bindings"] for answer in answers.to_dict()["answers"]]
        found = {tuple(row[variable] for variable in variables) for row in rows}
        assert found == world["t"]
        held += len(found)
    assert held


def test_the_bar_is_the_longest_body():
    assert {name: longest(name) for name, *_ in NOISY.values()} == {"zendo": 5, "trains": 4, "uncle": 5}
