"""Marginals of choices without a circuit, against the sum over all worlds and against the circuit."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Iterable

import pytest

import herbrand as hb
from herbrand.budget import UNLIMITED
from herbrand.engines.circuit import engine as module
from herbrand.engines.circuit import whole_tables
from herbrand.engines.circuit.whole_tables import in_whole_tables
from herbrand.errors import BudgetError, OutOfTimeError
from herbrand.language.parse import parse_formula
from tests.engines.circuit.test_sum_over_worlds import world_count
from tests.laws import long
from tests.oracles.choices import worlds_of

MOST_WORLDS = 5_000
OBSERVED = """type n = {1, 2}
type chance
predicate near(n, n) : observed
predicate odd(n) : observed
predicate worth(n, chance) : observed
"""
ARITY = {"near": 2, "odd": 1, "a": 1, "b": 2, "c": 2, "e": 0, "p": 1, "q": 2, "r": 0}
ARGUMENTS = ("", "(n)", "(n, n)")
DECLARED = {name: f"predicate {name}{ARGUMENTS[ARITY[name]]}\n" for name in "abcepqr"}
CHOICES = (
    "{w} :: a(x)",
    "{w} :: a(x) :- odd(x)",
    "w :: a(x) :- worth(x, w)",
    "w :: a(2) :- worth(x, w), near(x, y)",
    "{w} :: b(x, y) :- near(x, y)",
    "{w} :: b(x, y) :- near(x, y), not odd(y)",
    "{w} :: b(x, 1) :- near(x, y), x <= y",
    "w :: b(x, y) :- near(y, x), worth(y, w), w < 0.7",
    "{w} :: c(x, y) :- near(x, y), x != y",
    "{w} :: c(x, y) :- near(x, z), near(z, y)",
    "{w} :: c(x, x) :- odd(x)",
    "{w} :: c(x, y) :- a(x), near(x, y)",
    "{w} :: b(x, y) :- near(x, y), e",
    "0.3 :: b(x, y); 0.6 :: a(x) :- near(x, y)",
    "0.3 :: a(x); 0.4 :: b(x, x) :- odd(x)",
    "{w} :: c(x, y) :- near(x, y), a(y), x != y",
    "{w} :: e",
    "{w} :: e :- odd(_)",
)


def program(seed: int) -> tuple[str, list[str]]:
    """A theory of choices and rules, and atoms to ask for."""
    draw = random.Random(seed)

    def atom(*names: str) -> str:
        name = draw.choice(names)
        terms = [draw.choice("xxyyz12") for _ in range(ARITY[name])]
        return f"{name}({', '.join(terms)})" if terms else name

    def rule(head: str, *names: str) -> str:
        body = [atom(*names) for _ in range(draw.randint(1, 3))]
        known = sorted({letter for part in body for letter in part if letter in "xyz"})
        if known and draw.random() < 0.2:
            body.append(f"not odd({draw.choice(known)})")
        if len(known) > 1 and draw.random() < 0.2:
            body.append(f"{known[0]} {draw.choice(['!=', '<'])} {known[1]}")
        row = [draw.choice([*known, "1"]) for _ in range(ARITY[head])]
        return f"{head}({', '.join(row)}) :- {', '.join(body)}" if row else f"{head} :- {', '.join(body)}"

    facts = [f"near({x}, {y})" for x in (1, 2) for y in (1, 2) if draw.random() < 0.7]
    facts += [f"odd({x})" for x in (1, 2) if draw.random() < 0.7]
    facts += [f"worth({x}, {draw.choice([0, 0.25, 0.5, 1])})" for x in (1, 2) for _ in range(2)]
    drawn = [one.format(w=draw.choice([0.3, 0.5, 1])) for one in draw.sample(CHOICES, draw.randint(1, 3))]
    made = draw.sample("pqr", draw.randint(1, 3))
    known = sorted({letter for one in drawn for letter in re.findall(r"\b[abce]\b", one)})
    rules = [rule(name, *known, *known, "near", "odd", *made[:place]) for place, name in enumerate(made)]
    rules += [rule(made[0], *known, "near")] * (draw.random() < 0.3)
    asked = [atom(*made, *known) for _ in range(draw.randint(1, 3))]
    return theory_of({*made, *known}, *facts, *drawn, *rules), list(dict.fromkeys(asked))


def theory_of(names: Iterable[str], *statements: str) -> str:
    """With the declarations of these predicates."""
    return OBSERVED + "".join(DECLARED[name] for name in sorted(names)) + "\n".join(dict.fromkeys(statements))


@pytest.fixture
def used(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Small questions in whole tables as well; whether each was."""
    told: list[bool] = []

    def noted(*arguments: object) -> object:
        found = in_whole_tables(*arguments)  # type: ignore[arg-type]
        told.append(found is not None)
        return found

    monkeypatch.setattr(whole_tables, "LEAST_ROWS", 0)
    monkeypatch.setattr(module, "in_whole_tables", noted)
    return told


@pytest.mark.parametrize("start", long(range(0, 2000, 100), 1))
def test_as_the_sum_over_worlds(start: int, used: list[bool]) -> None:
    for seed in range(start, start + 100):
        text, asked = program(seed)
        theory = hb.parse(text)
        worlds = worlds_of(theory)
        if world_count(worlds) > MOST_WORLDS:
            continue
        rows = list(hb.Model(theory).infer(asked).rows())
        expected = worlds.probabilities([parse_formula(row.atom) for row in rows])
        for row, probability in zip(rows, expected, strict=True):
            assert math.isclose(row.probability, probability, rel_tol=1e-9, abs_tol=1e-15), (text, row.atom)
    assert used.count(True) >= 10, "the generator makes independent events"
    assert used.count(False) >= 5, "and dependent ones"


WHOLE = {
    "a choice": ("0.3 :: b(x, y) :- near(x, y)", "b(1, 2)"),
    "a choice for each constant": ("0.3 :: a(x)", "a(x)"),
    "chances that facts name": ("w :: a(x) :- worth(x, w)", "a(x)"),
    "some thing in some box": ("0.5 :: a(x)\n0.3 :: b(x, y) :- near(x, y)\nr :- a(x), b(x, y)", "r"),
    "a choice after another": ("0.5 :: a(x)\n0.3 :: c(x, y) :- a(x), near(x, y)", "c(1, 2)"),
    "one of two heads": ("0.4 :: a(x); 0.6 :: p(x) :- odd(x)\nr :- a(x)", "r"),
    "what drawn atoms share": ("0.5 :: a(x)\n0.3 :: b(x, y) :- near(x, y), a(x)\nr :- b(x, y)", "r"),
    "what derived atoms share": (
        "0.5 :: a(x)\n0.3 :: b(x, y) :- near(x, y)\nq(x, y) :- b(x, y), a(x), x <= y\nr :- q(x, y)",
        "r",
    ),
    "what is shared below what is": (
        "0.5 :: e\n0.4 :: a(x) :- odd(x), e\n0.3 :: b(x, y) :- near(x, y), a(x)\nr :- b(x, y)",
        "r",
    ),
    "constants in what is shared": ("0.5 :: a(x)\n0.3 :: b(x, y) :- near(x, y), a(1)\nr :- b(x, 2)", "r"),
    "a rule for each of two": ("0.5 :: a(x)\n0.2 :: e\nr :- a(x)\nr :- e", "r"),
}
CIRCUIT = {
    "one choice under two": ("0.5 :: a(x)\nq(x, y) :- a(x), a(y)", "q(1, 2)"),
    "a path": ("0.5 :: b(x, y) :- near(x, y)\nq(x, y) :- b(x, y)\nq(x, z) :- q(x, y), b(y, z)", "q(1, 2)"),
    "two heads of one choice": ("0.4 :: a(x); 0.6 :: p(x) :- odd(x)\nr :- a(x)\nr :- p(x)", "r"),
    "a head for each of another's": ("0.4 :: a(x); 0.6 :: p(y)", "a(1)"),
    "heads of one predicate": ("0.4 :: a(1); 0.6 :: a(2)", "a(1)"),
    "evidence": ("0.5 :: a(x)\nr :- a(x)\nr", "a(1)"),
    "a formula": ("0.5 :: a(x)\nr :- a(x)\n1: r", "a(1)"),
    "what is not known": ("0.5 :: a(x) :- e", "a(1)"),
    "what is absent": ("0.5 :: a(x)\nr :- odd(x), not a(x)", "r"),
}
FACTS = "near(1, 1)\nnear(1, 2)\nnear(2, 2)\nodd(1)\nworth(1, 0.25)\nworth(1, 0.5)\nworth(2, 1)\n"


@pytest.mark.parametrize("name", [*WHOLE, *CIRCUIT])
def test_what_takes_no_circuit(name: str, used: list[bool]) -> None:
    text, asked = (WHOLE | CIRCUIT)[name]
    theory = hb.parse(theory_of({*re.findall(r"\b[abcepqr]\b", text)}, FACTS, text))
    rows = list(hb.Model(theory).infer(asked).rows())
    assert used == [name in WHOLE]
    expected = worlds_of(theory).probabilities([parse_formula(row.atom) for row in rows])
    assert [row.probability for row in rows] == pytest.approx(expected, abs=1e-12)


def test_counts_take_a_circuit(used: list[bool]) -> None:
    theory = hb.parse(theory_of("ar", FACTS, "0.5 :: a(x)", "r :- count(x: a(x)) >= 1"))
    assert hb.Model(theory).infer("r")["r"] == pytest.approx(0.75)
    assert used == [False]


def test_all_atoms_and_the_log_partition(used: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    rules = "p(x) :- a(x), b(x, y)", "q(x, y) :- b(x, y)", "r :- e"
    text = theory_of("aberpq", FACTS, "0.3 :: a(x)", "0.4 :: b(x, y) :- near(x, y)", "0.1 :: e", *rules)
    whole = hb.Model(hb.parse(text)).infer()
    assert used == [True]
    monkeypatch.setattr(module, "in_whole_tables", lambda *_: None)
    drawn = hb.Model(hb.parse(text)).infer()
    assert [row.atom for row in whole.rows()] == [row.atom for row in drawn.rows()]
    assert [row.probability for row in whole.rows()] == pytest.approx(
        [row.probability for row in drawn.rows()]
    )
    assert whole.log_partition == pytest.approx(drawn.log_partition, abs=1e-12)
    assert (whole.guarantee, whole.engine) == (drawn.guarantee, drawn.engine) == ("exact", "circuit")


def test_free_atoms_count_in_the_log_partition(used: list[bool]) -> None:
    theory = hb.parse(theory_of("abe", FACTS, "0.3 :: a(x)"))
    assert hb.Model(theory).infer("a(1)").log_partition == pytest.approx(5 * math.log(2))
    assert used == [True]


def test_rare_events_keep_their_digits(used: list[bool]) -> None:
    text = theory_of("br", FACTS, "1e-20 :: b(x, y) :- near(x, y)", "r :- b(x, y)")
    assert hb.Model(hb.parse(text)).infer("r")["r"] == pytest.approx(3e-20, rel=1e-12)
    assert used == [True]


def test_an_explanation_is_by_the_circuit(used: list[bool]) -> None:
    model = hb.Model(hb.parse(theory_of("abr", FACTS, WHOLE["some thing in some box"][0])))
    found = model.explain("r", proofs=2)
    assert found.value == pytest.approx(model.infer("r")["r"])
    assert len(found.proofs.listed) == 2
    assert used == [True, True]


def test_of_many_atoms_those_that_may_hold(used: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_LISTED", 3)
    model = hb.Model(hb.parse(theory_of("b", FACTS, "0.4 :: b(x, y) :- near(x, y)")))
    assert [row.atom for row in model.infer("b").rows()] == ["b(1, 1)", "b(1, 2)", "b(2, 2)"]
    assert model.infer("b(2, 1)")["b(2, 1)"] == 0
    assert used == [True, True]


def test_a_small_question_takes_no_tables() -> None:
    model = hb.Model(hb.parse(theory_of("a", FACTS, "0.3 :: a(x)")))
    program, question = model.measured(UNLIMITED, ("a(1)",), ())
    assert in_whole_tables(program, question, UNLIMITED) is None


def test_joins_beyond_the_time_or_the_memory_are_left_to_the_circuit(used: list[bool]) -> None:
    text = "0.5 :: a(x) :- odd(x)\n0.5 :: b(x, x) :- odd(x)\nq(x, y) :- a(x), b(y, y)"
    many = [(number,) for number in range(4_000)]
    model = hb.Model(hb.parse(text), {"odd": many})
    with pytest.raises(OutOfTimeError):
        model.infer("q", time_limit=0.3)
    with pytest.raises(BudgetError) as refused:
        model.infer("q", memory="64MB")
    assert "what can run it" not in str(refused.value), "no other engine draws choices"
    assert not any(used), "the time may end before it is known"
    assert model.infer("a(3)", time_limit=60)["a(3)"] == 0.5
