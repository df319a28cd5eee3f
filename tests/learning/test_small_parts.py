"""Where literals hold, which number is which column, when to stop, and opinions as soft evidence."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.answers.marginals import AtomTable
from herbrand.engines.mean_field.relations import KnownRelations
from herbrand.language.theory import Theory
from herbrand.learning.flips import held
from herbrand.learning.opinions import soft_facts
from herbrand.learning.parameters import Parameters, weight_constants
from herbrand.learning.steps import EarlyStopping
from herbrand.program.evidence import Evidence
from herbrand.program.program import Literal
from tests.laws import tries

shares = st.floats(0.01, 0.99)


class TestOpinions:
    """Soft evidence that adds exactly the logits it was made of: alone, it gives the probabilities back."""

    @given(st.lists(shares, min_size=1, max_size=4))
    @settings(max_examples=tries(20), deadline=None)
    def test_of_truth(self, chances: list[float]) -> None:
        names = tuple(f"c{number}" for number in range(len(chances)))
        table = AtomTable("p", (names,), np.array([[1 - p, p] for p in chances]))
        theory = Theory((*hb.parse("predicate p(t)").statements, *soft_facts(table)))
        found = hb.Model(theory).infer(engine="exact")["p"]
        assert [found[name] for name in names] == pytest.approx(chances)

    @given(st.lists(st.lists(shares, min_size=3, max_size=3), min_size=1, max_size=3))
    @settings(max_examples=tries(20), deadline=None)
    def test_of_many_values(self, drawn: list[list[float]]) -> None:
        names, values = tuple(f"c{number}" for number in range(len(drawn))), ("x", "y", "z")
        told = np.array(drawn) / np.sum(drawn, axis=1, keepdims=True)
        table = AtomTable("m", (names,), told, values)
        theory = Theory((*hb.parse('predicate m(t) in {"x", "y", "z"}').statements, *soft_facts(table)))
        found = hb.Model(theory).infer(engine="exact")["m"]
        for name, row in zip(names, told, strict=True):
            assert found[name] == pytest.approx(dict(zip(values, row, strict=True)))

    def test_no_opinion_becomes_a_certainty(self) -> None:
        table = AtomTable("p", (("a", "b"),), np.array([[0.0, 1.0], [1.0, 0.0]]))
        (rows,) = soft_facts(table)
        assert 0 < rows.numbers[1] < 1e-12 and 1 - 1e-12 < rows.numbers[0] < 1
        assert hb.parse(hb.show(Theory((rows,)))).facts[0].numbers == rows.numbers


THEORY = """
predicate f(t, t): observed
predicate p(t)
predicate m(t) in {"x", "y", "z"}
type t = {"a", "b", "c"}
f("a", "b")
f("b", "b")
p("a")
not p("b")
m("a") = "y"
m("c") = "z"
"""
KNOWN = {("p", 0): 1, ("p", 1): 0, ("m", 0): 1, ("m", 2): 2}


def holds(literal: Literal, row: tuple[int, ...]) -> bool:
    """Of an atom of which nothing is known no literal holds; what is observed and not listed is false."""
    if literal.predicate == "f":
        return int(row in {(0, 1), (1, 1)}) in literal.allowed
    return KNOWN.get((literal.predicate, *row)) in literal.allowed


@pytest.mark.parametrize("arguments", [("x", "y"), ("x", 1), (0, "y"), (1, 1), (2, 2), ("x", "x")], ids=str)
@pytest.mark.parametrize("allowed", [(0,), (1,)], ids=["false", "true"])
def test_relations_of_two_arguments(arguments: tuple, allowed: tuple[int, ...]) -> None:
    check(Literal("f", arguments, allowed))


@pytest.mark.parametrize(
    ("predicate", "allowed"), [("p", (0,)), ("p", (1,)), ("m", (0,)), ("m", (1, 2)), ("m", (0, 1, 2))]
)
@pytest.mark.parametrize("argument", ["x", 0, 1, 2])
def test_relations_of_one_argument(predicate: str, argument: int | str, allowed: tuple[int, ...]) -> None:
    check(Literal(predicate, (argument,), allowed))


def check(literal: Literal) -> None:
    known = KnownRelations(Evidence(hb.Model(hb.parse(THEORY)).program), 10**9)
    axes, relation = held(literal, known)
    assert axes == tuple(dict.fromkeys(a for a in literal.arguments if isinstance(a, str)))
    found = np.array(relation.to_dense().tolist())
    for places in itertools.product(range(3), repeat=len(axes)):
        named = dict(zip(axes, places, strict=True))
        row = tuple(named[a] if isinstance(a, str) else a for a in literal.arguments)
        assert found[places] == holds(literal, row), row
    renamed = tuple(f"{a}2" if isinstance(a, str) else a for a in literal.arguments)
    other = Literal(literal.predicate, renamed, literal.allowed)
    assert held(other, known)[1] is relation, "names of variables do not matter"


def test_columns_are_numbered_as_they_are_met() -> None:
    theory = hb.parse('?: p(x)\n0.5: q(x)\n?[x]: q(x)\n?[x, y]: r(x, y)\nr("a", "b")\np("b")\nq("a")\nq("b")')
    program = hb.Model(theory).program
    parameters = Parameters.of(program)
    assert parameters.keys == ((0, ()),)
    rows = np.array([1, 0, 1])
    columns = parameters.columns(2, rows, program)
    assert columns[0] == columns[2] != columns[1] and set(columns.tolist()) == {1, 2}
    names = [constants for (constants,) in weight_constants(2, rows, program)]
    assert [parameters.keys[column] for column in columns] == [(2, (name,)) for name in names]
    assert parameters.column(2, (names[0],)) == columns[0] and len(parameters) == 3


class TestStopping:
    def test_after_so_many_values_that_are_no_better(self) -> None:
        state, over = EarlyStopping(patience=2), []
        for value in (3.0, 2.0, 2.0, 2.5, 1.0, 1.5, 1.0):
            state = state.after(value)
            over.append(state.over)
        assert over == [False, False, False, True, False, False, True]
        assert (state.best, state.waited) == (1.0, 2)

    def test_values_are_smoothed(self) -> None:
        """(3, then 0.5 · 3 + 0.5 · 1 = 2, then 0.5 · 2 + 0.5 · 2 = 2)"""
        state = EarlyStopping(patience=1, smoothing=0.5)
        means = []
        for value in (3.0, 1.0, 2.0):
            state = state.after(value)
            means.append(state.mean)
        assert means == [3.0, 2.0, 2.0] and state.over

    def test_without_patience_never(self) -> None:
        state = EarlyStopping()
        for value in (1.0, 2.0, math.inf):
            state = state.after(value)
        assert not state.over and state.best == 1.0
