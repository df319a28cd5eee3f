"""Reading asks the clock of the call: within one long statement, between statements, and between rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import herbrand as hb
from herbrand.budget import UNLIMITED, Budget
from herbrand.engines.elimination import least_width
from herbrand.errors import OutOfTimeError
from herbrand.factors.ground_graph import ground_graph
from herbrand.language.parse import read_theory
from herbrand.program.ground import ground


class Clock:
    """A clock that goes on by a second each time it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self) -> float:
        self.asked += 1
        return float(self.asked)


def test_one_long_statement_ends_in_time() -> None:
    text = "1: " + " and ".join(f"a{number}" for number in range(1000))
    with pytest.raises(OutOfTimeError):
        read_theory(text, budget=Budget(seconds=20.0, clock=Clock()))
    assert read_theory(text, budget=Budget(seconds=1e6, clock=Clock())).theory.formulas


def test_many_statements_end_in_time() -> None:
    text = "\n".join(f"1: a{number}" for number in range(100))
    with pytest.raises(OutOfTimeError):
        read_theory(text, budget=Budget(seconds=20.0, clock=Clock()))


def test_tables_of_facts_end_in_time(tmp_path: Path) -> None:
    for number in range(30):
        (tmp_path / f"t{number}.csv").write_text("a\nx\n")
    model = hb.Model(hb.parse("1: t0(x) => q(x)"), tmp_path)
    with pytest.raises(OutOfTimeError):
        model.infer(within=Budget(seconds=5.0, clock=Clock()))
    assert model.infer()['q("x")'] > 0.5


def test_networks_and_their_widths_end_in_time() -> None:
    budget = Budget(seconds=5.0, clock=Clock())
    with pytest.raises(OutOfTimeError):
        least_width(np.array([(i, i + 1) for i in range(100)]), budget=budget)
    statements = "\n".join(f"1.0: p({number})" for number in range(10))
    found = ground(hb.Model(hb.parse(f"type t = 0..9\npredicate p(t)\n{statements}")).program, UNLIMITED)
    with pytest.raises(OutOfTimeError):
        ground_graph(found, Budget(seconds=5.0, clock=Clock()))
