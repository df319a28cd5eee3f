"""Facts that leave a hard statement no world: every engine of ``infer`` says so."""

from __future__ import annotations

import pytest

import herbrand as hb
from herbrand.engines.registry import INFERENCE
from herbrand.errors import ContradictionError

THEORY = """\
type t = {"c1", "c2"}
predicate q(t)
predicate rain
predicate f(t, t)
f("c2", "c2")
q("c1") ~ 0.05
hard: not ((q(x) xor true) or (false <=> rain) or (f(x, x) <=> true))
"""


ONE_ATOM = """\
type t = {"c1", "c2"}
predicate p(t)
predicate rain
p("c1") ~ 0.67
hard: (p(x) or not p(x)) and rain and x != "c1"
"""


@pytest.mark.parametrize("theory", [THEORY, ONE_ATOM])
@pytest.mark.parametrize("engine", INFERENCE)
def test_no_world_is_left(engine: str, theory: str) -> None:
    with pytest.raises(ContradictionError, match="no world satisfies this"):
        hb.Model(hb.parse(theory)).infer(engine=engine)


@pytest.mark.parametrize("engine", INFERENCE)
def test_without_the_fact_there_are_worlds(engine: str) -> None:
    theory = hb.parse(THEORY.replace('f("c2", "c2")\n', "").replace("hard:", "3.0:"))
    assert 0 < hb.Model(theory).infer(engine=engine)["q"]["c1"] < 0.5
