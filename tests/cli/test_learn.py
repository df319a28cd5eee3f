"""``herbrand learn``: what it prints and writes, and what it says of wrong input."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import herbrand as hb
from tests.conftest import Outcome

Herbrand = Callable[..., Outcome]

THEORY = """\
predicate smokes(person)
predicate friends(person, person): observed
predicate cancer(person)
?: smokes(x) and friends(x, y) => smokes(y)
[risk] ?: smokes(x) => cancer(x)
?[x]: cancer(x)
hard: not friends(x, x)
smokes("anna")
smokes("bob")
friends("anna", "bob")
friends("bob", "anna")
friends("carl", "dora")
cancer("anna")
"""


@pytest.fixture
def theory(tmp_path: Path) -> Path:
    path = tmp_path / "t.hb"
    path.write_text(THEORY)
    return path


def test_the_theory_is_the_result(herbrand: Herbrand, theory: Path, tmp_path: Path) -> None:
    printed = herbrand("learn", theory)
    assert printed.status == 0 and printed.err.startswith("likelihood (exact, exact): ")
    learned = tmp_path / "learned.hb"
    written = herbrand("learn", theory, "-o", learned)
    assert written.status == 0 and learned.read_text() == printed.out
    assert "?" not in printed.out and printed.out.count(": cancer(") == 4
    assert hb.read(learned).facts == hb.read(theory).facts
    assert herbrand("infer", learned, "--given", 'smokes("carl")').status == 0
    assert "[risk] ?: smokes(x) => cancer(x)" in written.out


def test_json_has_the_keys_of_the_contract(herbrand: Herbrand, theory: Path) -> None:
    told = json.loads(herbrand("learn", theory, "--format", "json").out)
    assert told["seconds"] >= 0 and told["iterations"] > 0 and told["converged"]
    assert told["metrics"]["atoms"] == 8
    assert told["metrics"]["log_likelihood"] > told["metrics"]["log_likelihood_at_zero"]
    first = told["weights"][0]
    assert first["statement"] == "?: smokes(x) and friends(x, y) => smokes(y)"
    assert first["standard_error"] > 0 and first["effect"] > 0
    assert hb.parse(told["theory"]).formulas


@pytest.mark.parametrize("method", ["pseudo-likelihood", "layers"])
def test_options_are_keyword_arguments(herbrand: Herbrand, theory: Path, method: str) -> None:
    outcome = herbrand(
        "learn", theory, "--method", method, "--target", "cancer", "--l2", "0.3", "--iterations", "40"
    )
    model = hb.Model(hb.read(theory))
    assert outcome.out == model.learn(method=method, target="cancer", l2=0.3, iterations=40).text


def test_a_folder_of_worlds(herbrand: Herbrand, tmp_path: Path) -> None:
    path = tmp_path / "t.hb"
    path.write_text("predicate p(t)\npredicate q(t): observed\n?: q(x) => p(x)\n")
    for name, rows in (("one", "a\nb\n"), ("two", "c\n")):
        folder = tmp_path / "worlds" / name
        folder.mkdir(parents=True)
        (folder / "q.csv").write_text(rows)
        (folder / "p.csv").write_text(rows[:2])
    outcome = herbrand("learn", path, "--worlds", tmp_path / "worlds", "--format", "json")
    assert json.loads(outcome.out)["metrics"]["atoms"] == 3
    assert herbrand("learn", path, "--worlds", tmp_path / "none").status == 1
    (tmp_path / "empty").mkdir()
    assert "holds no world" in herbrand("learn", path, "--worlds", tmp_path / "empty").err


def test_what_did_not_converge_is_written_and_told(herbrand: Herbrand, theory: Path) -> None:
    outcome = herbrand("learn", theory, "--l2", "0")
    assert (
        outcome.status == 3 and "grows without end" in outcome.err and "smokes(x) => cancer(x)" in outcome.out
    )
    assert herbrand("learn", theory, "--iterations", "1").status == 3


def test_distillation_gives_opinions(herbrand: Herbrand, tmp_path: Path) -> None:
    path = tmp_path / "t.hb"
    path.write_text('predicate p(t): observed\npredicate q(t)\n2.0: p(x) => q(x)\np("a")\np("b")\n')
    state = tmp_path / "state.safetensors"
    arguments = (
        "--method",
        "distillation",
        "--latent",
        "q",
        "--size",
        "4",
        "--iterations",
        "5",
        "--save",
        state,
    )
    outcome = herbrand("learn", path, *arguments)
    assert outcome.status == 0, outcome.err
    assert outcome.out.count(" ~ ") == 2 and state.exists()


@pytest.mark.parametrize(
    ("text", "arguments", "message"),
    [
        ("1.0: p(x)\np(1)", (), "no statement has a weight to be learned"),
        ("1.0: p(x)\np(1)", ("--target", "p"), "no statement has a weight to be learned"),
        ("?: p(x)\np(1)", ("--method", "layer"), "did you mean 'layers'"),
        ("?: p(x)\np(1)", ("--target", "q"), "--target: there is no predicate 'q'"),
        ("?: p(x)\np(1)", ("--latent", "p"), "nothing is there to predict"),
        ("?: p(x)\np(1)", ("--target", "p", "--latent", "q"), "--latent: there is no predicate 'q'"),
        ("predicate p(t)\n?: p(x)", (), "type t has no constants"),
        (
            "predicate p(t)\ntype t = 1..3\n?: p(x)",
            ("--target", "p", "--latent", "p"),
            "no atom of it is known",
        ),
        (
            "?: p(x) and h(x)\np(1)\nh(1)",
            ("--target", "p", "--latent", "h", "--method", "pseudo-likelihood"),
            "needs to know every atom, and h",
        ),
        ("?: p(x)\np(1)\np(2) ~ 0.3", ("--method", "pseudo-likelihood"), "is soft evidence"),
        (
            "?: p(x) => q(x)\nhard: p(x) => q(x)\np(1)\nq(2)",
            (),
            "the facts p(1), not q(1) contradict this hard statement",
        ),
        ('?: p(x) = v\npredicate p(t) in {"a", "b"}\ntype t = 1..2\np(1) = "a"', (), "has no value"),
        ("?: p(x)\np(1)\nP(p(x)) >= 0.5", (), "learn cannot use this statement"),
        ("?: p(x)\np(1)", ("--memory", "ten"), "not an amount of memory"),
    ],
)
def test_wrong_input(herbrand: Herbrand, tmp_path: Path, text: str, arguments: tuple, message: str) -> None:
    path = tmp_path / "t.hb"
    path.write_text(text + "\n")
    outcome = herbrand("learn", path, *arguments)
    assert outcome.status == 1 and message in outcome.err, outcome.err
    assert not outcome.out and "Traceback" not in outcome.err


def test_tables_larger_than_the_budget_are_refused(herbrand: Herbrand, tmp_path: Path) -> None:
    path = tmp_path / "t.hb"
    path.write_text("type t = 1..3000\npredicate f(t, t)\n?: not f(x, y)\nf(1, 2)\n")
    outcome = herbrand("learn", path, "--method", "pseudo-likelihood", "--memory", "1MB")
    assert outcome.status == 1 and ("allowed" in outcome.err or "may use" in outcome.err)
