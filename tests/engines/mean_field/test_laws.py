"""What cannot change an answer of mean field does not; and what it refuses, to the letter."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable

import pytest
import torch

import herbrand as hb
from herbrand.answers.guarantee import Guarantee, PartitionGuarantee
from herbrand.answers.marginals import Marginals
from herbrand.budget import Budget
from herbrand.engines.engine import Settings, first_state
from herbrand.engines.mean_field.engine import MeanField
from herbrand.engines.mean_field.problem import prepared
from herbrand.errors import BudgetError, HerbrandError, UnsupportedError
from herbrand.program.question import Question
from tests.engines.estimates import cost_of, refusal_of

TYPES = 'type t = {"a", "b"}\n'
DECLARED = 'predicate s(t)\npredicate f(t, t)\npredicate m(t) in {"u", "v", "w"}\npredicate rain\n'
RULES = [
    "1.2: s(x) and f(x, y) => s(y)",
    "-0.7: f(x, y) and f(y, x)",
    '0.9: s(x) => m(x) = "u"',
    '-0.4: m(x) = "v" and m(y) = "w" where x != y',
    "0.6: rain => (exists y: f(x, y) and s(y))",
    "0.3: rain",
    "hard: rain <=> not f(x, x)",
]
FACTS = ['s("a")', 's("b") ~ 0.7', 'not f("a", "b")', 'm("a") = "w" ~ 0.5', 'not m("b") = "u"']
TEXT = TYPES + DECLARED + "\n".join([*RULES, *FACTS]) + "\n"
SCHEDULES = [{"schedule": "sequential"}, {"damping": 0.5}, {}]


def answer(text: str, **options: object) -> Marginals:
    return hb.Model(hb.parse(text)).infer(engine="mean-field", tolerance=1e-8, iterations=3000, **options)  # type: ignore[arg-type]


def by_atom(found: Marginals) -> dict[tuple[str, object], float]:
    return {(row.atom, row.value): row.probability for row in found.rows()}


def assert_same(
    one: Marginals, other: Marginals, spelt: Callable[[str], str] = str, shift: float = 0.0
) -> None:
    expected = {(spelt(atom), value): p for (atom, value), p in by_atom(one).items()}
    assert by_atom(other) == pytest.approx(expected, abs=1e-6)
    assert one.log_partition is not None
    assert other.log_partition == pytest.approx(one.log_partition + shift, abs=1e-6)


@pytest.mark.parametrize("options", SCHEDULES)
def test_the_order_of_statements_and_facts_is_nothing(options: dict) -> None:
    first = answer(TEXT, **options)
    assert first.status.converged
    lines = random.Random(7).sample([*RULES, *FACTS], len(RULES) + len(FACTS))
    assert_same(first, answer(TYPES + DECLARED + "\n".join(lines) + "\n", **options))


def test_the_order_and_the_names_of_constants_are_nothing() -> None:
    first = answer(TEXT)
    turned = TEXT.replace('{"a", "b"}', '{"b", "a"}')
    assert_same(first, answer(turned))
    names = {'"a"': '"Zoë\\\\"', '"b"': '"0"'}

    def spelt(text: str) -> str:
        for number, old in enumerate(names):
            text = text.replace(old, f"<{number}>")
        for number, new in enumerate(names.values()):
            text = text.replace(f"<{number}>", new)
        return text

    assert_same(first, answer(spelt(TEXT)), spelt)


@pytest.mark.parametrize("options", SCHEDULES)
def test_a_weight_may_be_said_in_parts(options: dict) -> None:
    first = answer(TEXT, **options)
    for parts in ([2.0, -0.8], [0.4, 0.0, 0.4, 0.4]):
        told = "\n".join(f"{w}: s(x) and f(x, y) => s(y)" for w in parts)
        assert_same(first, answer(TEXT.replace(RULES[0], told), **options))


def test_a_formula_may_be_said_otherwise() -> None:
    first = answer(TEXT)
    assert_same(first, answer(TEXT.replace("s(x) and f(x, y) => s(y)", "not s(x) or not f(x, y) or s(y)")))
    assert_same(first, answer(TEXT.replace("s(x) and f(x, y) => s(y)", "f(z, q) and s(z) => s(q)")))
    denied = TEXT.replace(RULES[1], "0.7: not (f(x, y) and f(y, x))")
    assert_same(first, answer(denied), shift=0.7 * 4)


def test_a_tautology_shifts_the_bound_alone() -> None:
    first = answer(TEXT)
    assert_same(first, answer(TEXT + "2: s(x) or not s(x)\n"), shift=4.0)
    assert_same(first, answer(TEXT + "5: f(x, y) and not f(x, y)\n"))


def test_soft_evidence_is_a_weight_of_its_log_odds() -> None:
    weight = math.log(0.7 / 0.3)
    assert_same(answer(TEXT), answer(TEXT.replace('s("b") ~ 0.7', f'{weight!r}: s("b")')))


def test_facts_twice_are_facts_once_and_given_is_a_fact() -> None:
    first = answer(TEXT)
    assert_same(first, answer(TEXT + 's("a")\nnot f("a", "b")\n'))
    model = hb.Model(hb.parse(TEXT.replace('s("a")\n', "", 1)))
    given = model.infer(engine="mean-field", given='s("a")', tolerance=1e-8, iterations=3000)
    found, expected = by_atom(given), by_atom(first)
    assert {key: found[key] for key in expected} == pytest.approx(expected, abs=1e-6)


def test_parts_that_share_nothing_do_not_meet() -> None:
    other = "type z = 1..2\npredicate g(z)\n0.8: g(x) and g(y) where x != y\n-0.2: g(x)\n"
    apart, alone, both = answer(TEXT), answer(other), answer(TEXT + other)
    assert by_atom(both) == pytest.approx({**by_atom(apart), **by_atom(alone)}, abs=1e-6)
    assert apart.log_partition is not None and alone.log_partition is not None
    assert both.log_partition == pytest.approx(apart.log_partition + alone.log_partition, abs=1e-6)


def test_what_is_symmetric_stays_symmetric() -> None:
    types = 'type t = {"a", "b", "c"}\npredicate s(t)\npredicate f(t, t)\n'
    found = by_atom(answer(types + "1.5: s(x) and f(x, y) => s(y)\n0.2: s(x)\n"))
    for one, other in itertools.permutations("abc", 2):
        assert found[f's("{one}")', None] == found['s("a")', None]
        chance = found[f'f("{one}", "{other}")', None]
        assert chance == pytest.approx(found['f("a", "b")', None], abs=1e-12)


def test_single_atoms_are_exact() -> None:
    """Where no statement speaks of two atoms the bound is log Z itself."""
    text = (
        TYPES
        + DECLARED
        + '0.7: s(x)\n-1.1: not f(x, y) where x != y\n0.4: m(x) in {"u", "w"}\n'
        + "\n".join(FACTS)
    )
    found, exact = answer(text), hb.Model(hb.parse(text)).infer(engine="exact")
    assert by_atom(found) == pytest.approx(by_atom(exact), abs=1e-9)
    assert found.log_partition == pytest.approx(exact.log_partition, abs=1e-9)
    assert found.guarantee is Guarantee.APPROXIMATION
    assert found.log_partition_guarantee is PartitionGuarantee.LOWER


@pytest.mark.parametrize("weight", ["0", "1e-300", "-1e-300", "1e3", "-1e3", "1e9", "-1e9"])
def test_weights_of_every_size(weight: str) -> None:
    """Finite answers, below log Z; so large a weight is as good as certain."""
    text = f"{TYPES}predicate s(t)\npredicate c(t)\n{weight}: s(x) => c(x)\n0.5: s(x)\n"
    found, exact = answer(text), hb.Model(hb.parse(text)).infer(engine="exact")
    assert found.log_partition is not None and exact.log_partition is not None
    assert math.isfinite(found.log_partition)
    assert found.log_partition <= exact.log_partition + 1e-6 * abs(exact.log_partition) + 1e-9
    assert all(0 <= p <= 1 for p in by_atom(found).values())
    if abs(float(weight)) < 1:
        assert found['s("a")'] == pytest.approx(1 / (1 + math.exp(-0.5)), abs=1e-9)
        assert found['c("b")'] == pytest.approx(0.5, abs=1e-9)


def test_an_interrupted_run_goes_on_as_if_it_had_not_been() -> None:
    engine, program = MeanField(damping=0.3), hb.Model(hb.parse(TEXT)).program
    whole = first_state(engine, program, Question())
    for _ in range(9):
        whole = engine.step(whole)
    again = first_state(engine, program, Question())
    for _ in range(4):
        again = engine.step(again)
    for _ in range(5):
        again = engine.step(again)
    for name, table in whole.best.marginals.items():
        assert torch.equal(table, again.best.marginals[name])
    assert engine.residual(whole) == engine.residual(again)


def test_starts_are_drawn_by_their_seed() -> None:
    program = hb.Model(hb.parse(TEXT)).program
    one, same, other = (
        first_state(MeanField(starts=3, seed=seed), program, Question()).runs for seed in (5, 5, 6)
    )
    for runs in zip(one, same, strict=True):
        assert all(torch.equal(runs[0].logits[n], runs[1].logits[n]) for n in runs[0].logits)
    assert all(torch.equal(one[0].logits[n], other[0].logits[n]) for n in one[0].logits), (
        "soft evidence alone"
    )
    assert any(not torch.equal(one[1].logits[n], other[1].logits[n]) for n in one[1].logits)
    assert all(torch.equal(one[2].logits[n], other[1].logits[n]) for n in one[2].logits), "seed by seed"


def test_more_starts_never_lower_the_bound() -> None:
    bounds = [answer(TEXT, starts=count, seed=3).log_partition for count in (1, 2, 4)]
    assert bounds == pytest.approx(sorted(bounds), abs=1e-9)  # type: ignore[type-var]


NO_CLIP = "--clip is a number above 0"
NO_DAMPING = "--damping is a number from 0 up to, not including, 1"
REFUSALS: dict[str, tuple[dict, str]] = {
    "a schedule that is none": (
        {"schedule": "serial"},
        "there is no schedule 'serial'\n  did you mean 'sequential'?",
    ),
    "a damping of one": ({"damping": 1.0}, f"{NO_DAMPING}, not 1.0"),
    "a clip of nothing": ({"clip": 0.0}, f"{NO_CLIP}, not 0.0"),
    "a clip below nothing": ({"clip": -1.0}, f"{NO_CLIP}, not -1.0"),
    "a clip and a bound": (
        {"clip": 1.0, "schedule": "sequential"},
        "the sequential schedule raises a bound on log Z, and clipped messages have none\n"
        "  leave out --clip, or take one parallel run",
    ),
    "a clip and starts": (
        {"clip": 1.0, "starts": 3},
        "starts compare a bound on log Z, and clipped messages have none\n"
        "  leave out --clip, or take one parallel run",
    ),
    "a clip and a world": (
        {"clip": 1.0, "map": True},
        "with clipped messages worlds have no weights to compare\n  leave out --clip",
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals_to_the_letter(name: str) -> None:
    options, told = REFUSALS[name]
    with pytest.raises(HerbrandError) as error:
        hb.Model(hb.parse(TEXT)).infer(engine="mean-field", **options)
    assert str(error.value) == told


def test_memory_is_refused_before_it_is_used() -> None:
    text = "type t = 1..120\npredicate f(t, t)\npredicate s(t)\n0.5: s(x) and f(x, y) => s(y)\n"
    model = hb.Model(hb.parse(text))
    with pytest.raises(BudgetError) as error:
        prepared(model.program, Budget(500 * 1024))
    mistake = error.value.mistakes[0]
    assert mistake.message == (
        "mean field keeps a number for 14,520 latent atoms, 14,400 of them of f: about 680.6 kB, and 500.0 "
        "kB are allowed"
    )
    assert mistake.hint.startswith("declare f as observed if what is not listed is false")
    small, large = (MeanField.with_settings(Settings(budget=Budget(n))) for n in (500 * 1024, 2**24))
    assert refusal_of(small, model.program) == mistake.message
    assert (cost_of(large, model.program).bytes or math.inf) < 2**24


def test_the_memory_allowed_changes_no_answer() -> None:
    assert_same(answer(TEXT), answer(TEXT, memory="10MB"))
    assert_same(answer(TEXT, schedule="sequential"), answer(TEXT, memory="10MB", schedule="sequential"))


@pytest.mark.parametrize("text", ['m("a")', "f", 's("a") or rain', 'exists x: m(x) = "u"'])
def test_what_is_asked_about_is_what_is_told(text: str) -> None:
    """The same marginals, whatever part of them is asked for."""
    model = hb.Model(hb.parse(TEXT))
    options = {"engine": "mean-field", "tolerance": 1e-8, "iterations": 3000}
    whole, some = model.infer(**options), model.infer(text, **options)  # type: ignore[arg-type]
    expected, found = by_atom(whole), by_atom(some)
    assert found and all(0 <= p <= 1 for p in found.values())
    for key in found.keys() & expected.keys():
        assert found[key] == expected[key]
    assert some.log_partition == whole.log_partition


def test_a_statement_without_open_atoms_is_a_constant() -> None:
    text = TYPES + 'predicate k(t): observed\npredicate s(t)\nk("a")\nk("b")\n2: k(x)\n0.5: s(x)\n'
    problem = prepared(hb.Model(hb.parse(text)).program)
    assert not problem.score.parts or len(problem.score.parts) == 1
    assert sum(problem.score.constants.values()) > 0
    found, exact = answer(text), hb.Model(hb.parse(text)).infer(engine="exact")
    assert found.log_partition == pytest.approx(exact.log_partition, abs=1e-9)


@pytest.mark.parametrize("asked", ["s", "f(x, y)", 'm("a")'])
def test_explanations_are_of_one_ground_atom(asked: str) -> None:
    with pytest.raises(HerbrandError, match=r"explanation is of one ground atom|name the value to explain"):
        hb.Model(hb.parse(TEXT)).explain(asked, engine="mean-field")


def test_settings_that_are_no_settings() -> None:
    for wrong, told in (({"starts": 0}, "not 0"), ({"damping": math.nan}, "not nan")):
        with pytest.raises(UnsupportedError, match=told):
            MeanField.with_settings(Settings(**wrong))  # type: ignore[arg-type]
