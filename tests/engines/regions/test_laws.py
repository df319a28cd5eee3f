"""Regions on random theories of the whole language, and what cannot change their answers."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.answers.guarantee import Guarantee, PartitionGuarantee
from herbrand.answers.marginals import Marginals
from herbrand.budget import UNLIMITED, Budget
from herbrand.engines.engine import first_state
from herbrand.engines.fallback import SecondState
from herbrand.engines.lifted.problem import problem_of
from herbrand.engines.regions.engine import STRUCTURES, Regions, with_messages
from herbrand.engines.regions.parts import Construction, TooLargeError, size_of
from herbrand.errors import BudgetError, ContradictionError, HerbrandError, UnsupportedError
from herbrand.program.evidence import Evidence
from herbrand.program.question import AtomPattern, Question
from tests.engines.estimates import cost_of
from tests.engines.mean_field.hard_theories import theories
from tests.engines.regions.test_engine import largest_difference, loop
from tests.laws import tries
from tests.oracles.mean_field import world_count
from tests.oracles.worlds import Universe, exact_answers

generated = settings(
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    max_examples=tries(12),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
COSTS = [None, 4.0, 8.0, 20.0, 60.0]


@generated
@given(theories(), st.sampled_from(sorted(STRUCTURES)), st.sampled_from(COSTS), st.booleans())
def test_against_all_worlds(
    drawn: tuple[str, Universe], structure: str, cost: float | None, at_once: bool
) -> None:
    """Quantifiers, many values, hard statements, facts: exact where that is said, chances everywhere."""
    text, universe = drawn
    assume(world_count(universe) <= 300)
    theory = hb.parse(text)
    log_z, marginals, _ = exact_answers(universe, theory.formulas)
    options = {"structure": structure, "cost": cost, "schedule": "parallel" if at_once else None}
    try:
        answer = hb.Model(theory).infer(engine="regions", iterations=400, **options)  # type: ignore[arg-type]
    except ContradictionError:
        assert log_z == -math.inf
        return
    exact = answer.guarantee is Guarantee.EXACT
    assert (answer.log_partition_guarantee is PartitionGuarantee.EXACT) == exact
    assert answer.log_partition is not None
    assert not exact or answer.log_partition == pytest.approx(log_z, abs=1e-7)
    for row in answer.rows():
        right = marginals.get(((row.predicate, row.arguments), True if row.value is None else row.value), 0.0)
        assert -1e-9 <= row.probability <= 1 + 1e-9
        assert not exact or row.probability == pytest.approx(right, abs=1e-7), row


LINES = [
    "type a = {0, 1, 2}",
    "type b = {0, 1, 2}",
    "type c = {0, 1}",
    "predicate r(a)",
    "predicate s(b)",
    "predicate t(c)",
]
RULES = ["0.8: r(x) or s(y)", "-0.9: s(y) or t(z)", "0.5: r(x) or t(z)", "0.2: r(x)", "r(0)", "s(1) ~ 0.7"]


def answer(lines: list[str], **options: object) -> Marginals:
    model = hb.Model(hb.parse("\n".join(lines) + "\n"))
    return model.infer(engine="regions", tolerance=1e-10, iterations=2000, **options)  # type: ignore[arg-type]


def by_atom(found: Marginals) -> dict[str, float]:
    return {row.atom: row.probability for row in found.rows()}


def assert_same(one: Marginals, other: Marginals, shift: float = 0.0) -> None:
    assert by_atom(other) == pytest.approx(by_atom(one), abs=1e-7)
    assert one.log_partition is not None
    assert other.log_partition == pytest.approx(one.log_partition + shift, abs=1e-7)


@pytest.mark.parametrize("cost", [None, 12.0])
class TestLaws:
    def test_the_order_of_lines(self, cost: float | None) -> None:
        first = answer(LINES + RULES, cost=cost)
        assert first.status.converged
        assert (first.guarantee is Guarantee.EXACT) == (cost is None)
        assert_same(first, answer(LINES + random.Random(1).sample(RULES, len(RULES)), cost=cost))
        assert_same(first, answer(random.Random(2).sample(LINES + RULES, 12), cost=cost))

    def test_the_order_of_constants(self, cost: float | None) -> None:
        turned = [line.replace("{0, 1, 2}", "{2, 0, 1}") for line in LINES]
        assert_same(answer(LINES + RULES, cost=cost), answer(turned + RULES, cost=cost))

    def test_weights_in_parts(self, cost: float | None) -> None:
        parts = ["0.5: r(x) or s(y)", "0.3: r(x) or s(y)", "-1.2: s(y) or t(z)", "0.3: s(y) or t(z)"]
        assert_same(answer(LINES + RULES, cost=cost), answer(LINES + parts + RULES[2:], cost=cost))

    def test_a_formula_said_otherwise(self, cost: float | None) -> None:
        other = ["-0.8: not r(x) and not s(y)", *RULES[1:]]
        assert_same(answer(LINES + RULES, cost=cost), answer(LINES + other, cost=cost), shift=-0.8 * 9)

    def test_constants_alike_have_one_probability(self, cost: float | None) -> None:
        found = by_atom(answer(LINES + RULES, cost=cost))
        assert found["r(1)"] == found["r(2)"] and found["s(0)"] == found["s(2)"]
        assert found["t(0)"] == found["t(1)"]

    def test_memory_changes_no_answer(self, cost: float | None) -> None:
        first = answer(LINES + RULES, cost=cost)
        assert_same(first, answer(LINES + RULES, cost=cost, memory="50MB"))

    def test_a_part_that_is_linked_to_nothing(self, cost: float | None) -> None:
        alone = ["type z = {0, 1, 2, 3}", "predicate g(z)", "0.6: g(x) or g(y)"]
        first, more = answer(LINES + RULES, cost=cost), answer(alone, cost=cost)
        both = answer(LINES + RULES + alone, cost=cost)
        assert by_atom(both) == pytest.approx({**by_atom(first), **by_atom(more)}, abs=1e-7)
        assert first.log_partition is not None and more.log_partition is not None
        assert both.log_partition == pytest.approx(first.log_partition + more.log_partition, abs=1e-6)


def test_a_larger_cost_makes_no_more_regions_and_no_smaller_ones() -> None:
    program = loop(3).program
    told = []
    for cost in (16.0, 64.0, 1000.0):
        made = Construction(UNLIMITED, cost, True, True, False)
        _, (part,) = made.parted(problem_of(program, Evidence(program)))
        told.append((len(part.propagation.graph.regions), size_of(part).entries))
    counts, entries = zip(*told, strict=True)
    assert list(counts) == sorted(counts, reverse=True) and list(entries) == sorted(entries)
    assert counts[-1] == 1 and entries[-1] == 64


def test_what_is_too_much_is_told_and_left_to_messages() -> None:
    """By cost, merged or not, and by memory."""
    program = loop(3).program
    too_large = "a formula's table over counts would have 4 entries, and 3 are allowed (--cost)"
    for engine, told in (
        (Regions(cost=3.0), too_large),
        (Regions(cost=3.0, merge=False), too_large),
        (Regions(budget=Budget(100_000)), ""),
    ):
        found = first_state(with_messages(engine), program, Question())
        assert (found.why if isinstance(found, SecondState) else "") == told
        handed = f"messages are those of bp, since {told}" if told else ""
        assert cost_of(with_messages(engine), program).handed == handed
    with pytest.raises(TooLargeError, match=r"counting needs .* and may use 10 B"):
        Construction(Budget(10), None, True, True, False).parted(problem_of(program, Evidence(program)))


def test_an_answer_too_long_for_memory_is_refused() -> None:
    text = "type a = 1..2000\npredicate r(a)\npredicate s(a)\n0.00001: r(x)\n0.2: s(x)\n"
    program = hb.Model(hb.parse(text)).program
    engine = Regions(budget=Budget(200_000))
    with pytest.raises(BudgetError) as error:
        first_state(engine, program, Question())
    (mistake,) = error.value.mistakes
    assert mistake.message == "the answer would list 4,000 atoms: about 293.0 kB, and 195.3 kB are allowed"
    assert mistake.hint == "ask for the predicates or atoms that matter by --query"
    assert first_state(engine, program, Question((AtomPattern("r", (3,)),))).parts


WRONG: list[tuple[dict, type[HerbrandError], str]] = [
    (
        {"schedule": "serial"},
        UnsupportedError,
        "there is no schedule 'serial'\n  did you mean 'sequential'?",
    ),
    ({"damping": -0.1}, UnsupportedError, "--damping is a number from 0 up to, not including, 1, not -0.1"),
    ({"damping": 1.5}, UnsupportedError, "--damping is a number from 0 up to, not including, 1, not 1.5"),
    ({"structure": "merge"}, UnsupportedError, "there is no structure 'merge'\n  did you mean 'merged'?"),
    (
        {"structure": "x"},
        UnsupportedError,
        "there is no structure 'x'\n  one of merged, counts, elements, partial, ground",
    ),
    (
        {"clip": 1.0},
        UnsupportedError,
        "regions does not use --clip, which is another model than the theory",
    ),
]


@pytest.mark.parametrize(("options", "error", "told"), WRONG)
def test_wrong_options_to_the_letter(options: dict, error: type[HerbrandError], told: str) -> None:
    with pytest.raises(error) as caught:
        loop(2).infer(engine="regions", **options)
    assert str(caught.value).startswith(told)


@pytest.mark.parametrize("size", [0, 1])
def test_kinds_of_nobody_and_of_one(size: int) -> None:
    declared = "type a\n" if not size else "type a = {0}\n"
    text = declared + "type b = {0, 1}\npredicate r(a)\npredicate s(b)\n0.8: r(x) or s(y)\n0.3: s(y)\n"
    found = hb.Model(hb.parse(text)).infer(engine="regions")
    exact = hb.Model(hb.parse(text)).infer(engine="exact")
    assert found.guarantee is Guarantee.EXACT
    assert largest_difference(found, exact) < 1e-12
    assert found.log_partition == pytest.approx(exact.log_partition, abs=1e-12)


@pytest.mark.parametrize("weight", ["0", "1e-300", "1e3", "-1e3", "1e6"])
def test_weights_of_every_size(weight: str) -> None:
    text = "\n".join(LINES) + f"\n{weight}: r(x) or s(y)\n-0.9: s(y) or t(z)\n0.5: r(x) or t(z)\n"
    exact = hb.Model(hb.parse(text)).infer(engine="exact")
    whole = hb.Model(hb.parse(text)).infer(engine="regions")
    assert largest_difference(whole, exact) < 1e-6
    assert whole.log_partition == pytest.approx(exact.log_partition, rel=1e-9)
    parts = hb.Model(hb.parse(text)).infer(engine="regions", cost=12.0)
    assert all(0 <= row.probability <= 1 for row in parts.rows())
    assert parts.log_partition is not None and math.isfinite(parts.log_partition)


def test_parts_of_which_one_is_impossible() -> None:
    """Where it rains nothing is possible, as messages find; where it does not, all the rest goes on."""
    more = (
        "predicate rain\npredicate g(a, a)\n0.4: rain and g(x, y)\n0.3: rain\n"
        'hard: rain and r(x) => s(y)\nhard: rain and s(y) => t(z)\nr("a0")\nnot t("c0")\n'
    )
    model = loop(2, more)
    exact = model.infer(engine="exact")
    for options in ({}, {"cost": 9}, {"cost": 9, "structure": "counts"}):
        found = model.infer(engine="regions", **options)  # type: ignore[arg-type]
        assert found["rain"] == pytest.approx(exact["rain"], abs=1e-9) == 0.0
        if found.guarantee is Guarantee.EXACT:
            assert largest_difference(found, exact) < 1e-9
