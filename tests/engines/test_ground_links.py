"""What is told of a ground network before its tables are made, against the tables."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings

import herbrand as hb
from herbrand.budget import UNLIMITED
from herbrand.engines.exact import Exact
from herbrand.engines.ground_network import Network, links, network_of
from herbrand.errors import BudgetError, ContradictionError
from herbrand.language.syntax import Theory
from herbrand.program.ground import Ground, ground
from herbrand.program.question import Question
from tests.laws import tries
from tests.oracles.worlds import Universe
from tests.program_generators import models
from tests.work import calls

NO_LIMIT = float("inf")


def grounded(theory: Theory, facts: object = None) -> Ground:
    return ground(hb.Model(theory, facts).program, UNLIMITED)  # type: ignore[arg-type]


def told(found: Ground) -> set[tuple[int, ...]]:
    return set(map(tuple, np.sort(links(found), axis=1).tolist()))


def held(network: Network) -> set[tuple[int, ...]]:
    return {pair for scope in network.tables for pair in combinations(scope, 2)}


@settings(
    phases=[Phase.reuse, Phase.generate], suppress_health_check=[HealthCheck.too_slow], max_examples=tries(60)
)
@given(models(hard=True))
def test_links_that_are_told_are_in_tables(model: tuple[Theory, Universe]) -> None:
    try:
        found = grounded(model[0])
    except ContradictionError:
        return
    assert told(found) <= held(network_of(found))


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("1.0: a(x) => b(x)", 3),
        ("1.0: a(x) and b(y)", 9),
        ("0.0: a(x) and b(y)", 0),
        ("1.0: a(x)", 0),
        ("hard: a(x) or b(y) or a(y)", 12),
    ],
)
def test_all_are_told_where_no_quantifier_stands(text: str, count: int) -> None:
    theory = hb.parse(f'type t = {{"1", "2", "3"}}\npredicate a(t)\npredicate b(t)\n{text}')
    found = grounded(theory)
    assert told(found) == held(network_of(found))
    assert len(told(found)) == count


def test_no_table_is_made_of_what_no_machine_could_eliminate() -> None:
    """Twice as many links cost no more calls: nothing is done link by link."""
    theory = hb.parse("predicate f(p, p): observed\npredicate s(p)\n1.0: s(x) and f(x, y) => s(y)")
    random = np.random.default_rng(3)

    def refused(each: int) -> int:
        pairs = random.integers(2_000, size=(2_000 * each, 2)).tolist()
        model = hb.Model(theory, {"f": sorted({(f"p{i}", f"p{j}") for i, j in pairs})})
        program = model.program

        def start() -> None:
            with pytest.raises(BudgetError, match="too densely linked"):
                Exact().start(program, Question())

        return calls(start)

    refused(10)
    assert refused(40) < 1.3 * refused(20)
