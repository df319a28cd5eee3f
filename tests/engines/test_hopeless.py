"""Programs that no machine could eliminate are refused without work that is done link by link."""

from __future__ import annotations

import numpy as np
import pytest

import herbrand as hb
from herbrand.budget import Budget
from herbrand.engines.engine import Settings, first_state
from herbrand.engines.exact import Exact
from herbrand.engines.fallback import HandedOver
from herbrand.engines.lifted import exchangeable_model, tabulated
from herbrand.engines.lifted.engine import Lifted
from herbrand.engines.lifted.problem import problem_of
from herbrand.engines.lifted.terms import NotLiftableError
from herbrand.engines.regions import parts
from herbrand.engines.regions.engine import Regions
from herbrand.errors import BudgetError
from herbrand.program.evidence import Evidence
from herbrand.program.program import Program
from herbrand.program.question import Question
from tests.work import calls


def test_what_no_machine_could_eliminate_is_seen_at_once() -> None:
    """Twice as many links cost no more calls: nothing is done link by link."""
    theory = hb.parse("predicate f(p, p): observed\npredicate s(p)\n1.0: s(x) and f(x, y) => s(y)")
    random = np.random.default_rng(3)

    def refused(each: int) -> int:
        pairs = random.integers(400, size=(400 * each, 2)).tolist()
        model = hb.Model(theory, {"f": sorted({(f"p{i}", f"p{j}") for i, j in pairs})})
        program = model.program

        def start() -> None:
            with pytest.raises(BudgetError, match="too densely linked"):
                first_state(Exact(), program, Question())

        return calls(start)

    refused(10)
    assert refused(40) < 1.3 * refused(20)


def named_apart(count: int, atom: str = 's("p{}")') -> Program:
    """So many formulas about two constants each, of a third as many."""
    random, text = np.random.default_rng(count), "predicate s(p)\npredicate f(p, p)\n"
    for left, right in random.integers(count // 3, size=(count, 2)).tolist():
        text += f'0.4: {atom.format(left, right)} => s("p{right}")\n'
    return hb.Model(hb.parse(text)).program


def test_formulas_that_tell_all_constants_apart_are_counted_one_by_one() -> None:
    """Twice as many take about twice the calls, not four times: ten thousand are seen to be hopeless too."""

    def posed(program: Program) -> int:
        return calls(lambda: problem_of(program, Evidence(program)))

    few, many = named_apart(200), named_apart(400)
    posed(named_apart(12))
    assert posed(many) < 2.4 * posed(few)


def test_regions_of_formulas_about_single_constants_are_made_one_by_one() -> None:
    engine = Regions(cost=64)
    few, many = (named_apart(count) for count in (80, 160))
    engine.prepare(named_apart(12), Question(), Budget())
    made = [calls(lambda program=p: engine.prepare(program, Question(), Budget())) for p in (few, many)]
    assert made[1] < 2.8 * made[0]


def test_what_tells_too_many_constants_apart_is_left_to_ground_engines(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program = named_apart(12)
    monkeypatch.setattr(parts, "MOST_VARIABLES", 3)
    regions = Regions.with_settings(Settings()).prepare(program, Question(), Budget())
    assert isinstance(regions, HandedOver) and regions.engine.name == "bp"
    pairs = named_apart(12, 'f("p{}", "p{}")')
    monkeypatch.setattr(tabulated, "MOST_LINKS", 3)
    lifted = Lifted.with_settings(Settings()).prepare(pairs, Question(), Budget())
    assert isinstance(lifted, HandedOver) and lifted.engine.name == "exact"
    with pytest.raises(NotLiftableError, match="formulas tell 4 constants apart"):
        Lifted().prepare(pairs, Question(), Budget())
    monkeypatch.setattr(exchangeable_model, "MOST_POOLS", 3)
    with pytest.raises(NotLiftableError, match="formulas tell 6 constants, or classes of them, apart"):
        Lifted().prepare(program, Question(), Budget())
