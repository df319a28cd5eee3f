"""Probabilities under evidence, with ``not``, many-valued atoms and cycles, beside those of all worlds."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings

from herbrand.answers.guarantee import Guarantee
from herbrand.errors import ContradictionError
from tests.engines.proof.test_against_proofs import told
from tests.engines.proof.uncertain_programs import MOST_WORLDS, Uncertain, count_worlds, uncertain
from tests.laws import tries

QUICK = settings(
    max_examples=tries(200, 16),
    deadline=None,
    phases=[Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
LONG = settings(QUICK, max_examples=tries(1000))


def check_program(program: Uncertain) -> None:
    assume(count_worlds(program) <= MOST_WORLDS)
    chance, expected = program.expected()
    model, texts, known = program.model(), program.goal_texts(), program.given_texts()
    if not chance:
        with pytest.raises(ContradictionError, match="the evidence has probability 0"):
            model.query(texts, given=known, algebra="probability", depth="fixpoint")
        return
    for answer, wanted in zip(
        model.query(texts, given=known, algebra="probability", depth=1), expected, strict=True
    ):
        exact = answer.guarantee is Guarantee.EXACT
        for row in wanted if exact else told(answer):
            assert told(answer).get(row, 0.0) <= wanted[row] + 1e-9
            assert not exact or told(answer).get(row, 0.0) == pytest.approx(wanted[row])
    for depth in ("fixpoint", 25):
        answers = model.query(texts, given=known, algebra="probability", depth=depth)
        for answer, wanted in zip(answers, expected, strict=True):
            assert told(answer) == pytest.approx({row: p for row, p in wanted.items() if p})
            assert answer.guarantee is Guarantee.EXACT or depth == 25


@QUICK
@given(uncertain())
def test_conditionals_are_those_of_all_worlds(program: Uncertain) -> None:
    check_program(program)


@pytest.mark.slow
@LONG
@given(uncertain())
def test_more_conditionals_are_those_of_all_worlds(program: Uncertain) -> None:
    check_program(program)
