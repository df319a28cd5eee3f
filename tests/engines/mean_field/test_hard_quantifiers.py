"""Hard statements with quantifiers against all worlds that they leave: settled, heard, bounded, refused."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st
from torch import Tensor

import herbrand as hb
from herbrand.answers.marginals import Marginals
from herbrand.budget import Budget
from herbrand.engines.mean_field.colouring import colouring
from herbrand.engines.mean_field.engine import MeanField, bound
from herbrand.engines.mean_field.problem import Problem, prepared
from herbrand.engines.mean_field.run import in_parallel, in_turn
from herbrand.errors import ContradictionError, UnsupportedError
from tests.engines.estimates import cost_of, refusal_of
from tests.engines.mean_field.beliefs import beliefs
from tests.engines.mean_field.hard_theories import theories
from tests.engines.mean_field.test_schedules import random_run
from tests.laws import tries
from tests.oracles.mean_field import Beliefs, Settled, world_count
from tests.oracles.worlds import Universe

Drawn = tuple[str, Universe]
MOST_WORLDS = 400
random_theories = settings(
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    max_examples=tries(18),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)


@dataclass(frozen=True)
class Both:
    """A problem, and what all its worlds say."""

    problem: Problem
    slow: Settled

    @staticmethod
    def of(drawn: Drawn) -> Both | None:
        """Nothing where the engine refuses, as it may."""
        text, universe = drawn
        assume(world_count(universe) <= MOST_WORLDS)
        theory = hb.parse(text)
        slow = Settled(universe, theory.formulas)
        try:
            problem = prepared(hb.Model(theory).program)
        except ContradictionError:
            assert not slow.left
            return None
        except UnsupportedError as refusal:
            hard = [line for line in text.splitlines() if line.startswith("hard: ")]
            assert any(f"cannot keep this hard statement: {line}" in str(refusal) for line in hard)
            return None
        assert slow.left
        return Both(problem, slow)

    def told(self, marginals: Mapping[str, Tensor]) -> Beliefs:
        """The beliefs of leaders; those of all others must follow from them."""
        whole = Settled.__new__(Settled)
        whole.atoms = self.slow.every
        every = beliefs(self.problem, marginals, whole)
        own = {atom: {v: every[atom][v] for v in values} for atom, values in self.slow.atoms.items()}
        for atom, expected in self.slow.spread(own).items():
            assert every[atom] == pytest.approx(expected, abs=1e-12), atom
        return own


@random_theories
@given(theories(), st.integers(0, 10**6))
def test_what_is_kept_leaves_a_product_of_single_atoms(drawn: Drawn, seed: int) -> None:
    both = Both.of(drawn)
    if both is None:
        return
    assert both.slow.is_product
    both.told(random_run(both.problem, seed).marginals)


@random_theories
@given(theories(), st.integers(0, 10**6))
def test_steps_and_bounds_are_those_of_the_worlds_left(drawn: Drawn, seed: int) -> None:
    both = Both.of(drawn)
    if both is None:
        return
    run = random_run(both.problem, seed)
    believed = both.told(run.marginals)
    assert bound(both.problem, run) == pytest.approx(both.slow.bound(believed), abs=1e-9)
    expected = both.slow.updated(believed)
    found = both.told(in_parallel(both.problem, run, adaptive=False).marginals)
    for atom, chances in expected.items():
        assert found[atom] == pytest.approx(chances, abs=1e-9)


@random_theories
@given(theories(), st.integers(0, 10**6))
def test_the_bound_never_falls_class_by_class(drawn: Drawn, seed: int) -> None:
    both = Both.of(drawn)
    if both is None:
        return
    run = random_run(both.problem, seed)
    for one in colouring(both.problem, Budget(2**30)):
        after = in_turn(both.problem, run, [one])
        assert bound(both.problem, after) >= bound(both.problem, run) - 1e-9
        both.told(after.marginals)
        run = after
    assert bound(both.problem, run) <= both.slow.log_partition() + 1e-9


@random_theories
@given(theories())
def test_answers_are_fixed_points_and_worlds_are_possible(drawn: Drawn) -> None:
    both = Both.of(drawn)
    if both is None:
        return
    model = hb.Model(hb.parse(drawn[0]))
    found = model.infer(engine="mean-field", schedule="sequential", tolerance=1e-10, iterations=2000)
    assert found.log_partition is not None and found.log_partition <= both.slow.log_partition() + 1e-9
    chances = {
        (row.predicate, row.arguments, True if row.value is None else row.value): row.probability
        for row in found.rows()
    }
    believed = {
        atom: {
            v: chances[atom[0], atom[1], v] if v is not False else 1 - chances[atom[0], atom[1], True]
            for v in values
        }
        for atom, values in both.slow.atoms.items()
    }
    if found.status.converged:
        for atom, told in both.slow.updated(believed).items():
            assert believed[atom] == pytest.approx(told, abs=1e-6)
    world = {}
    likely = model.infer(engine="mean-field", map=True)
    for row in likely.rows():
        if row.value is None or row.probability == 1:
            world[row.predicate, row.arguments] = row.probability == 1 if row.value is None else row.value
    weights = {tuple(left.items()): weight for left, weight in both.slow.left}
    own = weights[tuple((atom, world[atom]) for atom in both.slow.every)]
    assert likely.log_weight == pytest.approx(own, abs=1e-6)


NAMES = 'type t = {"a", "b", "c"}\npredicate s(t)\npredicate c(t)\npredicate f(t, t)\npredicate rain\n'
KEPT = {
    "all of them": ("hard: forall x: s(x)", {'s("a")': 1, 's("c")': 1, 'c("a")': None}),
    "none of them": ("hard: not (exists x: s(x))", {'s("a")': 0, 's("b")': 0}),
    "the only one left": ('hard: exists x: s(x)\nnot s("a")\nnot s("c")', {'s("b")': 1}),
    "of those that a fact singles out": (
        'predicate k(t): observed\nk("b")\nhard: exists x: k(x) and s(x)\nhard: forall x: k(x) => c(x)',
        {'s("b")': 1, 's("a")': None, 'c("b")': 1, 'c("a")': None},
    ),
    "for each its only one": (
        'predicate k(t, t): observed\nk("a", "b")\nk("b", "c")\nk("c", "c")\n'
        "hard: exists y: k(x, y) and s(y)",
        {'s("b")': 1, 's("c")': 1, 's("a")': None},
    ),
    "none where one is known": ('hard: rain => not (exists x: s(x))\ns("b")', {"rain": 0, 's("a")': None}),
    "all where what asks for it is known": ("hard: rain => (forall x: s(x))\nrain", {'s("a")': 1}),
    "all of all": ("hard: forall x, y: f(x, y)", {'f("a", "b")': 1, 'f("c", "c")': 1}),
    "one with all, of which one is left": (
        "hard: exists x: forall y: f(x, y)\n" + 'not f("a", "c")\nnot f("c", "a")',
        {'f("b", "a")': 1, 'f("b", "c")': 1, 'f("a", "a")': None},
    ),
    "each with one, of which one is left": (
        "hard: forall x: exists y: f(x, y) and x != y\n"
        + "\n".join(f'not f("{x}", "{y}")' for x, y in ["ab", "bc", "ca"]),
        {'f("a", "c")': 1, 'f("b", "a")': 1, 'f("c", "b")': 1, 'f("a", "a")': None},
    ),
    "agreement under a quantifier": ("hard: forall x: s(x) <=> c(x)", {'s("a")': None}),
    "one among the differing": (
        'hard: exists x: s(x) and x != "a"\nnot s("b")',
        {'s("c")': 1, 's("a")': None},
    ),
    "a vacuous one": ("hard: exists x: s(x) or not s(x)", {'s("a")': None}),
    "one of a kind that there is": ('hard: forall x: x = "b" => s(x)', {'s("b")': 1, 's("a")': None}),
}


@pytest.mark.parametrize("name", KEPT)
def test_quantified_statements_that_settle_atoms(name: str) -> None:
    """Without weights what is not settled is even, and log Z counts the worlds left."""
    text, expected = KEPT[name]
    model = hb.Model(hb.parse(NAMES + text + "\n"))
    found, exact = model.infer(engine="mean-field"), model.infer(engine="exact")
    assert found.log_partition == pytest.approx(exact.log_partition, abs=1e-9)
    for row in exact.rows():
        assert found[row.atom] == pytest.approx(row.probability, abs=1e-9)
    for atom, chance in expected.items():
        assert found[atom] == pytest.approx(0.5 if chance is None else chance, abs=1e-9)


REFUSED = [
    "hard: exists x: s(x)",
    "hard: not (forall x: s(x))",
    "hard: rain <=> (exists x: s(x))",
    "hard: forall x: exists y: f(x, y)",
    "hard: exists x: forall y: f(x, y)",
    "hard: s(x) => (exists y: f(x, y) and c(y))",
    "hard: s(x) xor c(x) xor rain",
]


@pytest.mark.parametrize("statement", REFUSED)
def test_quantified_statements_that_are_no_product_are_refused_by_name(statement: str) -> None:
    model = hb.Model(hb.parse(NAMES + "0.3: rain\n" + statement))
    with pytest.raises(UnsupportedError) as refusal:
        model.infer(engine="mean-field")
    (mistake,) = refusal.value.mistakes
    assert mistake.message == f"mean field cannot keep this hard statement: {statement}"
    assert mistake.hint == (
        "it keeps those that settle single atoms or make atoms equal; give this one a large weight, or use "
        "another engine"
    )
    assert mistake.span is not None and mistake.span.line == 7


def test_a_wide_choice_is_refused_and_not_tried_out() -> None:
    """Nine people with two ways each to break it: 512 clauses."""
    names = ", ".join(f'"p{i}"' for i in range(9))
    text = f"type t = {{{names}}}\npredicate s(t)\npredicate c(t)\nhard: exists x: s(x) and c(x)\n"
    with pytest.raises(UnsupportedError, match="cannot keep this hard statement: hard: exists x"):
        hb.Model(hb.parse(text)).infer(engine="mean-field")
    settled = text + "\n".join(f'not s("p{i}")' for i in range(1, 9))
    found = hb.Model(hb.parse(settled)).infer(engine="mean-field")
    assert (found['s("p0")'], found['c("p0")'], found['c("p1")']) == (1.0, 1.0, 0.5)


CONTRADICTED = {
    "nobody is left": 'hard: exists x: s(x)\nnot s("a")\nnot s("b")\nnot s("c")',
    "all and not one": 'hard: forall x: s(x)\nhard: not s("b")',
    "none and one": 'hard: not (exists x: s(x))\nhard: s("b")',
    "a ring of opposites": 'hard: s("a") xor s("b")\nhard: s("b") xor s("c")\nhard: s("c") xor s("a")',
    "units against each other": 'hard: rain\nhard: rain => forall x: s(x)\nnot s("c")',
}


@pytest.mark.parametrize("name", CONTRADICTED)
def test_quantified_contradictions_name_a_statement(name: str) -> None:
    model = hb.Model(hb.parse(NAMES + "0.3: rain\n" + CONTRADICTED[name] + "\n"))
    with pytest.raises(ContradictionError) as error:
        model.infer(engine="mean-field")
    assert any(line in str(error.value) for line in CONTRADICTED[name].splitlines() if "hard" in line)
    with pytest.raises(ContradictionError):
        model.infer(engine="exact")


@pytest.mark.parametrize("count", [0, 1, 2, 4])
def test_over_no_one_and_over_few(count: int) -> None:
    """Of nobody ``forall`` holds, and ``exists`` does not."""
    declared = "type t\n" if not count else f"type t = {{{', '.join(map(str, range(count)))}}}\n"
    head = declared + "predicate s(t)\npredicate rain\n0.5: rain\n"

    def answer(more: str) -> Marginals:
        return hb.Model(hb.parse(head + more)).infer(engine="mean-field")

    assert answer("hard: rain <=> forall x: s(x)\nrain\n").log_partition == pytest.approx(0.5)
    assert answer("hard: rain <=> exists x: s(x)\nnot rain\n").log_partition == pytest.approx(0.0)
    if count == 0:
        assert answer("hard: rain <=> exists x: s(x)\n")["rain"] == 0.0
        assert answer("hard: rain <=> forall x: s(x)\n")["rain"] == 1.0
        with pytest.raises(ContradictionError):
            answer("hard: exists x: s(x)\n")
    if count == 1:
        found = answer("hard: rain <=> exists x: s(x)\n0.7: s(x)\n")
        assert found["rain"] == found["s(0)"] == pytest.approx(1 / (1 + math.exp(-1.2)))


def test_support_says_what_a_run_would_be_refused_for() -> None:
    refused = refusal_of(MeanField(), hb.Model(hb.parse(NAMES + REFUSED[0])).program)
    assert refused == f"mean field cannot keep this hard statement: {REFUSED[0]}"
    kept = cost_of(MeanField(), hb.Model(hb.parse(NAMES + "0.5: s(x)\nhard: forall x: c(x)")).program)
    assert kept.operations and kept.bytes
