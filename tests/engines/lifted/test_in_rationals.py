"""Larger two-variable models against counting in exact rationals."""

from __future__ import annotations

import pytest

import herbrand as hb
from tests.oracles.lifted_counting import log_partition
from tests.oracles.worlds import Universe

UNARY = {"p": (("t",), None)}
ONE_LINK = {**UNARY, "f": (("t", "t"), None)}

THEORIES = {
    "smokers": (ONE_LINK, 10, "1.5: p(x) and f(x, y) => p(y)\n-1.0: p(x)\n-0.8: f(x, y)"),
    "strong": (ONE_LINK, 10, "4.0: p(x) and f(x, y) => p(y)\n-2.0: f(x, y) where x != y"),
    "both ways": (ONE_LINK, 8, "0.7: f(x, y) <=> f(y, x)\n1.1: p(x) xor f(y, x)\nhard: f(x, x) => p(x)"),
    "hard": (
        ONE_LINK,
        10,
        "hard: f(x, y) => f(y, x)\nhard: p(x) and p(y) => f(x, y) where x != y\n-0.3: f(x, y)",
    ),
    "counts": (UNARY, 25, "0.02: p(x) or p(y)\n-0.05: p(x) and p(y) where x != y\n0.3: p(x)"),
}


@pytest.mark.parametrize("name", THEORIES)
def test_log_partition(name: str) -> None:
    predicates, count, formulas = THEORIES[name]
    constants = ", ".join(f'"c{i}"' for i in range(count))
    declared = [f"predicate {p}({', '.join(types)})" for p, (types, _) in predicates.items()]
    theory = hb.parse("\n".join([f"type t = {{{constants}}}", *declared, formulas]))
    expected = log_partition(Universe({"t": ("a", "b")}, predicates), theory.formulas, count)
    answer = hb.Model(theory).infer(engine="lifted")
    assert not answer.status.advice
    assert answer.log_partition == pytest.approx(expected, rel=1e-13)
