"""Counting over many constants beside formulas that a pencil gives, and what it says beside numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

import herbrand as hb
from herbrand.answers.explanation import Explanation
from herbrand.engines.engine import Cost
from herbrand.engines.lifted import problem
from herbrand.engines.lifted.engine import lifted
from tests.engines.estimates import cost_of, refusal_of, told_by
from tests.oracles.attribution import SOFT, attributions
from tests.oracles.worlds import GroundAtom, Universe, exact_answers

T = "type t = {{{}}}\npredicate p(t)\npredicate q(t)\npredicate f(t, t)\npredicate rain\n"


def model(count: int, stated: str) -> hb.Model:
    return hb.Model(hb.parse(T.format(", ".join(f'"c{i}"' for i in range(count))) + stated))


def log_sum(terms: Sequence[float]) -> float:
    return float(np.logaddexp.reduce(np.array(terms, float)))


def log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


FREE = math.log(2)


@pytest.mark.parametrize("n", [1, 2, 50, 700])
@pytest.mark.parametrize("weight", [-3.0, -1e-300, 0.02, 900.0])
def test_each_by_itself(n: int, weight: float) -> None:
    answer = model(n, f"{weight}: p(x)").infer(["p", "rain"], engine="lifted")
    free = (n + n * n + 1) * FREE
    assert answer.log_partition == pytest.approx(free + n * np.logaddexp(0, weight), rel=1e-13)
    assert answer['p("c0")'] == pytest.approx(float(np.exp(weight - np.logaddexp(0, weight))), rel=1e-12)
    assert answer["rain"] == 0.5


@pytest.mark.parametrize("n", [1, 3, 40, 300])
def test_counts_of_pairs(n: int) -> None:
    """w for every two who both smoke: the number of them squared, or less themselves."""
    both = model(n, "0.01: p(x) and p(y)\n-0.3: p(x)").infer("p", engine="lifted")
    apart = model(n, "0.01: p(x) and p(y) where x != y\n-0.3: p(x)").infer("p", engine="lifted")
    free = (n + n * n + 1) * FREE
    for answer, pairs in ((both, lambda k: k * k), (apart, lambda k: k * (k - 1))):
        terms = [log_choose(n, k) + 0.01 * pairs(k) - 0.3 * k for k in range(n + 1)]
        assert answer.log_partition == pytest.approx(free + log_sum(terms), rel=1e-12)
        mean = sum(k * math.exp(t - log_sum(terms)) for k, t in enumerate(terms))
        assert answer['p("c0")'] == pytest.approx(mean / n, rel=1e-9)


@pytest.mark.parametrize("n", [1, 2, 30, 200])
def test_links_of_those_who_smoke(n: int) -> None:
    """Given who smokes, each link is by itself: pairs of smokers have another weight."""
    answer = model(n, "0.7: p(x) and p(y) and f(x, y)").infer(['p("c0")', 'f("c0", "c0")'], engine="lifted")
    both = float(np.logaddexp(0, 0.7))
    terms = [log_choose(n, k) + k * k * both + (n * n - k * k) * FREE for k in range(n + 1)]
    total = log_sum(terms)
    assert answer.log_partition == pytest.approx((n + 1) * FREE + total, rel=1e-12)
    mean = sum(k * math.exp(t - total) for k, t in enumerate(terms)) / n
    assert answer['p("c0")'] == pytest.approx(mean, rel=1e-9)
    linked = mean / (1 + math.exp(-0.7)) + (1 - mean) / 2
    assert answer['f("c0", "c0")'] == pytest.approx(linked, rel=1e-9)


@pytest.mark.parametrize("n", [1, 2, 100])
def test_somebody_must(n: int) -> None:
    answer = model(n, "hard: exists x: p(x) and q(x)").infer("p", engine="lifted")
    none, every = n * math.log(3), n * math.log(4)
    assert answer.log_partition == pytest.approx(
        (n * n + 1) * FREE + every + math.log1p(-math.exp(none - every))
    )
    expected = (2 * 4 ** (n - 1) - 3 ** (n - 1)) / (4**n - 3**n)
    assert answer['p("c0")'] == pytest.approx(expected)


@pytest.mark.parametrize("n", [2, 60])
def test_weather_for_all(n: int) -> None:
    """A proposition beside pairs: both of its values are tried, and weighed."""
    answer = model(n, "0.02: rain and f(x, y)\n-0.5: rain\n0.3: rain and p(x)").infer(
        ["rain", 'f("c0", "c1")', 'p("c0")'], engine="lifted"
    )
    dry = (n * n + n) * FREE
    wet = -0.5 + n * n * float(np.logaddexp(0, 0.02)) + n * float(np.logaddexp(0, 0.3))
    total = log_sum([dry, wet])
    assert answer.log_partition == pytest.approx(total + n * FREE, rel=1e-12)
    rain = math.exp(wet - total)
    assert answer["rain"] == pytest.approx(rain)
    assert answer['f("c0", "c1")'] == pytest.approx(rain / (1 + math.exp(-0.02)) + (1 - rain) / 2)
    assert answer['p("c0")'] == pytest.approx(rain / (1 + math.exp(-0.3)) + (1 - rain) / 2)


def test_the_likeliest_world_of_many() -> None:
    """As many smoke as weigh the most, whoever they are."""
    n = 120
    answer = model(n, "0.05: p(x) and p(y)\n-5: p(x)\n-0.1: q(x)\n0.2: rain").infer(
        ["p", "q", "rain"], engine="lifted", map=True
    )
    best = max(0.05 * k * k - 5 * k for k in range(n + 1))
    assert answer.log_weight == pytest.approx(best + 0.2)
    smoking = sum(row.probability for row in answer.rows() if row.predicate == "p")
    assert 0.05 * smoking**2 - 5 * smoking == pytest.approx(best) and answer["rain"] == 1.0
    assert all(row.probability == 0.0 for row in answer.rows() if row.predicate == "q")


SMALL = T.format('"c0", "c1"')
PREDICATES = {"p": (("t",), None), "q": (("t",), None), "f": (("t", "t"), None), "rain": ((), None)}


@pytest.mark.parametrize(
    ("stated", "known", "soft"),
    [
        ("0.7: p(x) and f(x, y) => p(y)\n-0.4: p(x)", {}, []),
        (
            "0.7: p(x) and f(x, y) => p(y)\n0.3: p(x) or q(y)\n0.5: rain => p(x)",
            {("f", ("c0", "c1")): True},
            [],
        ),
        ("0.9: p(x) <=> q(y)\nhard: q(x) or p(x)", {}, [(("p", ("c0",)), 0.8)]),
        ("0.9: exists x: p(x) and q(x)\n-0.3: p(x) and rain", {("q", ("c0",)): False}, [(("rain", ()), 0.3)]),
    ],
)
def test_explanations_share_out_what_walking_through_worlds_shares_out(
    stated: str, known: dict[GroundAtom, object], soft: list[tuple[GroundAtom, float]]
) -> None:
    def text(atom: GroundAtom) -> str:
        return atom[0] + (f"({', '.join(f'{chr(34)}{a}{chr(34)}' for a in atom[1])})" if atom[1] else "")

    facts = [text(atom) if value else f"not {text(atom)}" for atom, value in known.items()]
    facts += [f"{text(atom)} ~ {p}" for atom, p in soft]
    opinions = [(atom, True, math.log(p) - math.log(1 - p)) for atom, p in soft]
    universe = Universe({"t": ("c0", "c1")}, PREDICATES, known, frozenset(), opinions)
    theory = hb.parse("\n".join([SMALL, *facts, stated]))
    for atom in [("f", ("c1", "c0")) if "rain =>" in stated else ("p", ("c0",))]:
        base, value, expected = attributions(universe, theory.formulas, atom, True)
        why = hb.Model(theory).explain(text(atom), engine="lifted")
        assert isinstance(why, Explanation)
        assert (why.base, why.value) == pytest.approx((base, value), abs=1e-8)
        found = {reason.statement: reason.contribution for reason in why.reasons}
        for statement, worth in expected.items():
            told = "soft evidence" if statement == SOFT else statement
            assert found.get(told, 0.0) == pytest.approx(worth, abs=1e-7), statement


def test_a_formula_is_asked_of_worlds_with_it() -> None:
    stated = "0.7: p(x) and f(x, y) => p(y)\n0.3: rain => p(x)"
    theory = hb.parse(SMALL + stated)
    universe = Universe({"t": ("c0", "c1")}, PREDICATES)
    asked = ["p(x) and not q(x)", "exists x: f(x, x) and p(x)", 'rain or p("c1")', "forall x: p(x) => q(x)"]
    answer = hb.Model(theory).infer(asked, engine="lifted")
    closed = [
        'p("c0") and not q("c0")',
        'p("c1") and not q("c1")',
        "exists x: f(x, x) and p(x)",
        'rain or p("c1")',
        "forall x: p(x) => q(x)",
    ]
    parsed = [hb.parse(f"1: {text}").formulas[0].formula for text in closed]
    _, _, expected = exact_answers(universe, theory.formulas, parsed)
    assert [row.atom for row in answer.rows()] == closed
    assert [row.probability for row in answer.rows()] == pytest.approx(expected, abs=1e-10)


# What it says beside numbers


def test_what_it_would_cost_and_why_not() -> None:
    one, other = (cost_of(lifted(), model(n, "0.1: p(x) and p(y)").program) for n in (50, 100))
    assert one.handed == "" and (one.operations or 0) < (other.operations or 0)
    cyclic = model(3, "0.1: f(x, y) and f(y, z) and f(z, x)").program
    assert cost_of(lifted(), cyclic).handed.startswith(
        "answered by ground elimination, since a formula links more than two variables"
    )
    contradicted = told_by(lifted(), model(2, 'hard: p("c0")\nnot p("c0")').program)
    assert isinstance(contradicted, Cost), "the run says which statements contradict each other"


def test_a_formula_that_cannot_be_counted_is_asked_of_the_ground() -> None:
    """The theory can be counted, the question not: who answers is said."""
    found = model(3, "0.4: p(x) or q(x)\n0.1: f(x, y)").infer(
        "exists x, y, z: f(x, y) and f(y, z) and p(z)", engine="lifted"
    )
    assert found.status.advice == (
        "answered by ground elimination, since a quantifier speaks of atoms of two arguments"
    )
    exact = model(3, "0.4: p(x) or q(x)\n0.1: f(x, y)").infer(
        "exists x, y, z: f(x, y) and f(y, z) and p(z)", engine="exact"
    )
    assert next(found.rows()).probability == pytest.approx(next(exact.rows()).probability)


def test_operations_beyond_the_limit_are_told_with_both_numbers() -> None:
    program = model(8, "0.1: p(x) and f(x, y) => p(y)\n0.1: q(x) and f(x, y) => q(y)").program
    told = refusal_of(lifted(most_operations=1e3), program)
    assert "counting would take about" in told and "at most 1e+03 are allowed" in told


def test_branches_without_worlds_weigh_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rain is impossible: one of two summations is left; with one branch allowed, none is tried."""
    stated = '0.3: rain and f(x, y)\nhard: rain => p(x)\nnot p("c0")\n0.1: rain'
    answer = model(3, stated).infer(["rain"], engine="lifted")
    assert answer["rain"] == 0.0
    monkeypatch.setattr(problem, "MOST_BRANCHES", 1)
    told = model(3, stated).infer(["rain"], engine="lifted").status.advice
    assert "pairs depend on 1 propositions, whose values would all be tried" in told


def test_atoms_of_three_arguments_beside_many_constants() -> None:
    """Nothing speaks of them but opinions: two thousand million atoms, three of them told apart."""
    constants = ", ".join(f'"c{i}"' for i in range(1290))
    text = f'type t = {{{constants}}}\npredicate b(t, t, t) in {{"x", "y", "z"}}\npredicate p(t)\n0.3: p(x)\n'
    text += 'b("c0", "c1", "c2") = "y" ~ 0.8\nnot b("c3", "c3", "c3") = "x"\nb("c4", "c4", "c4") = "z"'
    asked = ['b("c0", "c1", "c2")', 'b("c3", "c3", "c3")', 'b("c5", "c6", "c7")']
    for most in (False, True):
        answer = hb.Model(hb.parse(text)).infer(asked, engine="lifted", map=most)
        found = [row.probability for row in answer.rows()]
        if most:
            assert found[:6] == [0, 1, 0, 0, 1, 0] and sum(found[6:]) == 1.0
        else:
            assert found == pytest.approx([0.1, 0.8, 0.1, 0, 0.5, 0.5, *[1 / 3] * 3])
            others = 1290**3 - 3
            opinion = math.log(2 + math.exp(math.log(0.8) - math.log(0.1)))
            expected = others * math.log(3) + math.log(2) + opinion + 1290 * float(np.logaddexp(0, 0.3))
            assert answer.log_partition == pytest.approx(expected, rel=1e-13)
