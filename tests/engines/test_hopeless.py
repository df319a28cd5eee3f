"""Programs that no machine could eliminate are refused without work that is done link by link."""

from __future__ import annotations

import numpy as np
import pytest

import herbrand as hb
from herbrand.engines.engine import first_state
from herbrand.engines.exact import Exact
from herbrand.errors import BudgetError
from herbrand.program.question import Question
from tests.work import calls


def test_what_no_machine_could_eliminate_is_seen_at_once() -> None:
    """Twice as many links cost no more calls: nothing is done link by link."""
    theory = hb.parse("predicate f(p, p): observed\npredicate s(p)\n1.0: s(x) and f(x, y) => s(y)")
    random = np.random.default_rng(3)

    def refused(each: int) -> int:
        pairs = random.integers(1_000, size=(1_000 * each, 2)).tolist()
        model = hb.Model(theory, {"f": sorted({(f"p{i}", f"p{j}") for i, j in pairs})})
        program = model.program

        def start() -> None:
            with pytest.raises(BudgetError, match="too densely linked"):
                first_state(Exact(), program, Question())

        return calls(start)

    refused(10)
    assert refused(40) < 1.3 * refused(20)
