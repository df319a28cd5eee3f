"""Weights of nothing, next to nothing, and so much that a world of the wrong kind is never seen."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import pytest

import herbrand as hb
from herbrand.answers.guarantee import Guarantee, PartitionGuarantee
from herbrand.engines.registry import INFERENCE
from herbrand.errors import LanguageError
from herbrand.language.syntax import Hard, WeightedFormula
from herbrand.language.theory import Theory
from tests.oracles.worlds import Universe, exact_answers

VOCABULARY = 'type t = {"a", "b"}\npredicate p(t)\npredicate q(t)\npredicate r\n'
UNIVERSE = Universe({"t": ["a", "b"]}, {"p": (("t",), None), "q": (("t",), None), "r": ((), None)})
OTHERS = "0.5: q(x)\n-0.7: p(x)\n0.3: r\n"
FORMULAS = [
    "p(x)",
    "p(x) => q(x)",
    "p(x) and r",
    "p(x) <=> q(x)",
    "exists x: p(x) and q(x)",
    "forall x: p(x) => q(x)",
    "p(x) xor q(y) where x != y",
    "true",
    "false",
]
WEIGHTS = [0.0, -0.0, 1e-300, 700.0, -700.0, 1e5, -1e5, 1e9, -1e9]
CASES = list(itertools.product(FORMULAS, WEIGHTS))


def theory(formula: str, weight: float) -> Theory:
    return hb.parse(f"{VOCABULARY}{weight!r}: {formula}\n{OTHERS}")


@pytest.mark.parametrize("engine", [name for name in INFERENCE if name != "gibbs"])
def test_answers_stay_those_of_the_worlds(engine: str) -> None:
    """Up to the rounding of sums that hold the weight: 1e-16 of it, a few times."""
    for formula, weight in CASES:
        stated = theory(formula, weight)
        log_z, marginals, _ = exact_answers(UNIVERSE, stated.formulas)
        answer = hb.Model(stated).infer(engine=engine)
        near = max(1e-9, 1e-14 * abs(weight)) * 10
        rows = list(answer.rows())
        assert all(-1e-12 <= row.probability <= 1 + 1e-12 for row in rows), (formula, weight)
        assert answer.log_partition is not None and math.isfinite(answer.log_partition)
        if answer.guarantee is Guarantee.EXACT:
            found = {((str(row.predicate), row.arguments), True): row.probability for row in rows}
            assert found == pytest.approx({key: marginals[key] for key in found}, abs=near), (formula, weight)
        if answer.log_partition_guarantee is PartitionGuarantee.EXACT:
            assert answer.log_partition == pytest.approx(log_z, abs=near), (formula, weight)
        if answer.log_partition_guarantee is PartitionGuarantee.LOWER:
            assert answer.log_partition <= log_z + near, (formula, weight)


@pytest.mark.parametrize("engine", ["exact", "lifted", "regions", "bp"])
@pytest.mark.parametrize("formula", ["p(x) => q(x)", "p(x) <=> q(x)", "forall x: p(x) => q(x)"])
def test_a_very_large_weight_is_nearly_a_hard_statement(engine: str, formula: str) -> None:
    soft = hb.Model(theory(formula, 1e5)).infer(engine=engine)
    stated = theory(formula, 1.0)
    hard = [replace(x, weight=Hard()) if x is stated.formulas[0] else x for x in stated.statements]
    sure = hb.Model(Theory(tuple(hard))).infer(engine="exact")
    expected = {row.atom: row.probability for row in sure.rows()}
    assert {row.atom: row.probability for row in soft.rows()} == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("weight", ["1e10", "-1e10", "1e308", "-1e308"])
def test_a_weight_that_would_hide_all_others_is_refused(weight: str) -> None:
    text = f"{VOCABULARY}{weight}: p(x)\n{OTHERS}"
    with pytest.raises(LanguageError) as refused:
        hb.Model(hb.parse(text)).infer()
    lines = str(refused.value).splitlines()
    assert lines[0] == (
        f"<text>:5:1: the weight {float(weight):g} is not between -1e+09 and 1e+09: "
        "beside it rounding hides what other statements say"
    )
    assert "'hard:' says what always holds" in lines[-1]


@pytest.mark.parametrize("weight", [math.nan, math.inf, -math.inf])
def test_so_is_one_that_no_text_can_say(weight: Any) -> None:
    stated = hb.parse(f"{VOCABULARY}1: p(x)")
    made = WeightedFormula(weight, stated.formulas[0].formula)
    with pytest.raises(LanguageError, match="is not between"):
        hb.Model(Theory((*stated.statements[:-1], made))).infer()
