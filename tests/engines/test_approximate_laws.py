"""Laws of answers that are approximations: what is said another way gives the same numbers all the same.

A theory has one graph and one set of regions, however its statements are ordered, named or split.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.answers.guarantee import Guarantee
from herbrand.answers.marginals import Marginals
from herbrand.errors import HerbrandError
from herbrand.language import syntax as s
from herbrand.language.theory import Theory
from tests import changed_theories as changed
from tests.engines.belief.theories import grounded, symmetric
from tests.laws import tries

few = settings(
    phases=[Phase.reuse, Phase.generate],
    max_examples=tries(10),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
Rewording = Callable[[Theory], Theory]
PREDICATES = {"p": "z", "q": "y", "f": "h", "g": "e", "area": "place"}
CONSTANTS: dict[s.Value, s.Value] = {f"c{number}": f"k{9 - number}" for number in range(5)}
"""Names that sort the other way around."""


def by_other_names(told: Theory) -> Theory:
    return changed.renamed(told, PREDICATES, CONSTANTS)


def rewritten(change: changed.Change) -> Rewording:
    return lambda told: changed.rewritten(told, change)


REWORDINGS: dict[str, Rewording] = {
    "in another order": lambda told: changed.shuffled(told, 7),
    "by other names": by_other_names,
    "in halves": rewritten(changed.in_halves),
    "in unequal parts": rewritten(changed.in_unequal_parts),
    "doubly negated": rewritten(changed.doubly_negated),
    "beside a tautology": rewritten(changed.beside_a_tautology),
    "beside nothing": rewritten(changed.beside_nothing),
}


def answered(told: Theory, engine: str) -> Marginals | None:
    """The answer where one is given and has come to rest."""
    try:
        answer = hb.Model(told).infer(engine=engine, iterations=500, memory="1GB")
    except HerbrandError:
        return None
    return answer if answer.status.converged else None


def by_atom(answer: Marginals, renamed: bool = False) -> dict[object, float]:
    """As the first theory spells it, whichever the answer is of."""
    predicates = {new: old for old, new in PREDICATES.items()} if renamed else {}
    constants = {new: old for old, new in CONSTANTS.items()} if renamed else {}
    return {
        (
            predicates.get(str(row.predicate), row.predicate),
            tuple(constants.get(argument, argument) for argument in row.arguments),
            row.value,
        ): row.probability
        for row in answer.rows()
    }


def assert_unmoved(told: Theory, engine: str, name: str) -> None:
    before = answered(told, engine)
    assume(before is not None and before.guarantee is not Guarantee.EXACT)
    assert before is not None
    after = answered(REWORDINGS[name](told), engine)
    if after is None:
        return
    expected = by_atom(before)
    assert by_atom(after, name == "by other names") == pytest.approx(expected, abs=1e-5)


@few
@given(symmetric(), st.sampled_from(["bp", "regions"]), st.sampled_from(sorted(REWORDINGS)))
def test_other_words_change_no_approximation(told: Theory, engine: str, name: str) -> None:
    assert_unmoved(told, engine, name)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["bp", "regions"])
@pytest.mark.parametrize("name", REWORDINGS)
@settings(few, max_examples=150)
@given(st.one_of(symmetric(hard=True), grounded().map(lambda model: model[0])))
def test_at_length(name: str, engine: str, told: Theory) -> None:
    assert_unmoved(told, engine, name)
