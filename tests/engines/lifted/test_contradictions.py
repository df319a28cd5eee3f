"""A contradiction is proved before it is raised: by hard statements alone, counted without rounding."""

from __future__ import annotations

import math

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.budget import Budget
from herbrand.engines import contradiction
from herbrand.engines.lifted import engine as module
from herbrand.engines.lifted.problem import Problem, Solution, problem_of, unweighted
from herbrand.engines.lifted.terms import NotLiftableError
from herbrand.errors import BudgetError, ContradictionError, UnsupportedError
from herbrand.program.evidence import Evidence
from tests.laws import tries
from tests.oracles.worlds import GroundAtom, Universe, exact_answers

generated = settings(
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    max_examples=tries(40),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
PREDICATES = {"p": (("t",), None), "q": (("t",), None), "f": (("t", "t"), None), "rain": ((), None)}
LINES = [
    "exists x: p(x)",
    "p(x) and p(y) => x = y",
    "p(x) => q(x)",
    "not q(x)",
    "p(x) xor q(y)",
    "p(x) <=> rain",
    "p(x) and q(y) => x = y",
    "forall x: p(x)",
    "exists x: p(x) and not q(x)",
    "not rain",
    "p(x) => f(x, x)",
    "f(x, y) <=> not f(y, x)",
    "f(x, y) => f(y, x)",
    "f(x, y) and p(x) => p(y)",
    "x != y => f(x, y)",
    "p(x) or p(y) where x != y",
    "not (p(x) and p(y)) where x != y",
    "exists y: f(x, y)",
    "f(x, y) xor rain",
    'p("t0")',
    'not q("t1")',
    "(p(x) xor p(y)) where x != y",
    "p(x) or q(y) or rain",
    "f(x, y) => p(x) xor p(y)",
]
FACTS = ['p("t0")', 'not p("t1")', 'q("t0") ~ 0.1', 'f("t0", "t1")', 'not f("t0", "t0")', "rain"]


@st.composite
def hard_theories(draw: st.DrawFn) -> tuple[str, Universe]:
    """Hard statements that often contradict each other, under weights, facts and opinions."""
    linked = draw(st.booleans())
    count = 2 if linked else draw(st.integers(2, 4))
    constants = [f"t{i}" for i in range(count)]
    of_these = [line for line in LINES if linked or "f(" not in line]
    lines = [f"hard: {line}" for line in draw(st.lists(st.sampled_from(of_these), min_size=1, max_size=4))]
    facts = [fact for fact in FACTS if linked or "f(" not in fact]
    said = draw(st.lists(st.sampled_from(facts), max_size=2, unique=True))
    known: dict[GroundAtom, object] = {
        (atom.partition("(")[0], tuple(c for c in constants if f'"{c}"' in atom)): not fact.startswith("not")
        for fact in said
        if "~" not in fact
        for atom in [fact.removeprefix("not ")]
    }
    if 'not f("t0", "t0")' in said:
        known.pop(("f", ("t0",)), None)
        known[("f", ("t0", "t0"))] = False
    weight = draw(st.sampled_from([-1e9, -800.0, 0.5, 1e9]))
    listed = ", ".join(f'"{c}"' for c in constants)
    used = {name: kind for name, kind in PREDICATES.items() if linked or name != "f"}
    declared = [f"type t = {{{listed}}}"]
    declared += [
        f"predicate {name}({', '.join(types)})".replace("()", "") for name, (types, _) in used.items()
    ]
    text = "\n".join([*declared, *said, *lines, f"{weight!r}: p(x) and q(x)"])
    return text, Universe({"t": constants}, used, known)


def check_proof(case: tuple[str, Universe]) -> None:
    """Counting of hard statements alone gives 0 where there is a world, and else minus infinity, exactly."""
    theory = hb.parse(case[0])
    satisfiable = exact_answers(case[1], theory.formulas)[0] > -math.inf
    program = hb.Model(theory).program
    try:
        total = unweighted(problem_of(program, Evidence(program))).total
    except NotLiftableError:
        return
    assert total == (0.0 if satisfiable else -math.inf), case[0]


@generated
@given(hard_theories())
def test_hard_statements_alone_are_counted_without_rounding(case: tuple[str, Universe]) -> None:
    check_proof(case)


@pytest.mark.slow
@settings(generated, max_examples=1500)
@given(hard_theories())
def test_hard_statements_alone_are_counted_without_rounding_at_length(case: tuple[str, Universe]) -> None:
    check_proof(case)


def text_of(count: int, lines: str) -> str:
    constants = ", ".join(f'"c{i}"' for i in range(count))
    declared = "predicate p(t)\npredicate q(t)\npredicate f(t, t)\npredicate rain\n"
    return f"type t = {{{constants}}}\n{declared}{lines}\n"


CONTRADICTIONS = {
    "two colours for three": "hard: p(x) xor p(y) where x != y",
    "nobody and somebody": "hard: exists x: p(x)\nhard: not p(x)",
    "one at most, two at least": "hard: p(x) and p(y) => x = y\nhard: exists x: p(x) and q(x)\n"
    "hard: exists x: p(x) and not q(x)",
    "one way and both ways": "hard: x != y => (f(x, y) xor f(y, x))\nhard: f(x, y) <=> f(y, x)",
    "under weights": "hard: p(x) xor rain\nhard: p(x) <=> rain\n-1e9: p(x)\n1e9: q(x) and rain",
}


@pytest.mark.parametrize("lines", CONTRADICTIONS.values(), ids=list(CONTRADICTIONS))
@pytest.mark.parametrize("count", [3, 150])
def test_contradictions_of_any_size_are_proved(
    count: int, lines: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Above what ground elimination takes every hard statement is named."""
    monkeypatch.setattr(contradiction, "MOST_ROWS", 1_000)
    with pytest.raises(ContradictionError) as refused:
        hb.Model(hb.parse(text_of(count, lines))).infer(["p", "rain"], engine="lifted")
    hard = [line for line in lines.splitlines() if line.startswith("hard")]
    assert all(line in str(refused.value) for line in hard) or count == 3


SATISFIABLE = {
    "one": ("hard: exists x: p(x)\nhard: p(x) and p(y) => x = y", lambda n: math.log(n)),
    "all or none": ("hard: p(x) <=> p(y)", lambda n: math.log(2)),
    "heavy": ("hard: p(x)\n-1e6: p(x)", lambda n: -1e6 * n),
    "heavy links": ("hard: p(x)\n-1e4: p(x) and p(y)", lambda n: -1e4 * n * n),
}


@pytest.mark.parametrize(("lines", "log_z"), SATISFIABLE.values(), ids=list(SATISFIABLE))
@pytest.mark.parametrize("count", [3, 200])
def test_weights_that_no_double_holds_exclude_nothing(count: int, lines: str, log_z: object) -> None:
    answer = hb.Model(hb.parse(text_of(count, lines))).infer("p", engine="lifted")
    free = (count + count * count + 1) * math.log(2)
    assert answer.log_partition == pytest.approx(log_z(count) + free, rel=1e-12)  # type: ignore[operator]


def lost(problem: Problem, budget: Budget) -> Solution:
    """As if rounding had lost every world."""
    return Solution(problem, -math.inf, ())


@pytest.mark.parametrize("count", [3, 150])
def test_a_total_of_minus_infinity_proves_nothing_by_itself(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "solved", lost)
    theory = hb.parse(text_of(count, "hard: p(x) => q(x)\n0.4: f(x, y) and p(x)"))
    with pytest.raises(UnsupportedError, match="some worlds satisfy the hard statements"):
        hb.Model(theory).infer("p", engine="lifted")


@pytest.mark.parametrize("satisfiable", [True, False])
def test_where_nothing_can_prove_it_nothing_is_claimed(
    satisfiable: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_large(problem: Problem) -> Problem:
        raise NotLiftableError("too large")

    def too_many(*arguments: object) -> None:
        raise BudgetError("too large")

    monkeypatch.setattr(module, "solved", lost)
    monkeypatch.setattr(module, "unweighted", too_large)
    monkeypatch.setattr(contradiction, "ground", too_many)
    theory = hb.parse(text_of(3, f"hard: p(x)\n{'1' if satisfiable else 'hard'}: not p(x)"))
    with pytest.raises(UnsupportedError, match="which could not be proved"):
        hb.Model(theory).infer("p", engine="lifted")
