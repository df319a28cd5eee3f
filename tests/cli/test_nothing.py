"""Theories of which there is nothing to say: every command answers them, and none breaks."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from herbrand.engines.registry import INFERENCE
from tests.conftest import Outcome

Herbrand = Callable[..., Outcome]

NOTHING = {
    "": 0.0,
    "# only a comment\n": 0.0,
    "predicate p(t)\n1.0: p(x)\n": 0.0,
    "predicate p(t)\npredicate q(t)\nhard: p(x) => q(x)\n": 0.0,
    "predicate p(t)\npredicate f(t, t)\n0.5: p(x) and f(x, y) => p(y)\n": 0.0,
    'predicate m(t) in {"a", "b"}\n1.0: m(x) = "a"\n': 0.0,
    "hard: true\n": 0.0,
    "1.5: true\n": 1.5,
    'predicate p(t): observed\np("a")\n2.0: p(x)\n': 2.0,
    'p(x) :- e(x)\ne("a")\n': 0.0,
}
"""Theories without a latent atom, and the log-weight of their one world."""


@pytest.fixture
def theory(tmp_path: Path) -> Callable[[str], str]:
    def write(text: str) -> str:
        (tmp_path / "theory.hb").write_text(text)
        return str(tmp_path / "theory.hb")

    return write


@pytest.mark.parametrize("text", NOTHING)
@pytest.mark.parametrize("engine", [*INFERENCE, "auto"])
def test_infer(herbrand: Herbrand, theory: Callable[[str], str], text: str, engine: str) -> None:
    outcome = herbrand("infer", theory(text), "--engine", engine, "--format", "json")
    assert outcome.status == 0, outcome.err
    told = json.loads(outcome.out)
    assert told["marginals"] == [] and told["converged"]
    assert told["log_partition"] in (None, pytest.approx(NOTHING[text]))
    assert (told["log_partition"] is None) == (engine == "gibbs")


@pytest.mark.parametrize("text", NOTHING)
@pytest.mark.parametrize("engine", ["mean-field", "bp"])
def test_infer_on_a_database(
    herbrand: Herbrand, theory: Callable[[str], str], tmp_path: Path, text: str, engine: str
) -> None:
    on = ("--on", f"duckdb:{tmp_path / 'w.duckdb'}")
    outcome = herbrand("infer", theory(text), "--engine", engine, "--format", "json", *on)
    assert outcome.status == 0, outcome.err
    told = json.loads(outcome.out)
    assert told["marginals"] == [] and told["log_partition"] == pytest.approx(NOTHING[text])


@pytest.mark.parametrize("text", NOTHING)
@pytest.mark.parametrize("command", ["check", "compare", "infer --map", "convert"])
def test_other_commands(herbrand: Herbrand, theory: Callable[[str], str], text: str, command: str) -> None:
    name, *options = command.split()
    outcome = herbrand(name, theory(text), *options)
    assert outcome.status == 0, outcome.err


@pytest.mark.parametrize("format", ["table", "json", "csv", "parquet"])
def test_no_rows_in_every_format(
    herbrand: Herbrand, theory: Callable[[str], str], tmp_path: Path, format: str
) -> None:
    for command in ("infer", "bound", "check", "compare"):
        file = tmp_path / f"{command}.out"
        outcome = herbrand(command, theory(""), "--format", format, "-o", file)
        assert outcome.status == 0 and file.exists() and not outcome.out, outcome.err


def test_what_all_engines_refuse_is_told_once(herbrand: Herbrand, theory: Callable[[str], str]) -> None:
    outcome = herbrand("compare", theory("P(a) in [0.2, 0.4]\n"))
    assert outcome.status == 1
    assert outcome.err.count("infer cannot use this statement") == 1
