"""Reference cases with exact answers, read through the ``.mln`` reader, by Python and by the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import herbrand as hb
from herbrand.errors import BudgetError
from tests.conftest import ROOT, Outcome

FOLDER = ROOT.parent / "shared" / "cases" / "lifted"
TOLERANCE = 1e-8
MOST_ATOMS = 26
"""Larger ones take longer than the rest of the tests together, and are run by `make check-all`."""


def cases() -> list[object]:
    """Every case beside the checkout, the large ones marked slow."""
    found = []
    for path in sorted(FOLDER.glob("*.json")):
        large = json.loads(path.read_text())["n_query_atoms"] > MOST_ATOMS
        found.append(pytest.param(path, id=path.stem, marks=[pytest.mark.slow] if large else []))
    return found or [pytest.param(None, id="none")]


def written(case: dict[str, object], folder: Path) -> tuple[str, list[str]]:
    """The theory's file and the facts' files; evidence stands in a ``.db``."""
    theory = folder / "case.mln"
    theory.write_text(str(case["mln"]))
    if not case["evidence"]:
        return str(theory), []
    facts = folder / "case.db"
    facts.write_text("".join(f"{literal}\n" for literal in case["evidence"]))  # type: ignore[union-attr]
    return str(theory), [str(facts)]


def given(case: dict[str, object]) -> list[str]:
    """Evidence as literals of the language."""
    found = []
    for literal in case["evidence"]:  # type: ignore[union-attr]
        name, arguments = literal.lstrip("!").rstrip(")").split("(")
        quoted = ", ".join(f'"{a.strip()}"' for a in arguments.split(","))
        found.append(f"{'not ' if literal.startswith('!') else ''}{name}({quoted})")
    return found


def assert_matches(case: dict[str, object], told: dict[str, object]) -> None:
    assert told["log_partition"] == pytest.approx(case["logZ"], abs=TOLERANCE)
    got = {f"{r['predicate']}({','.join(r['arguments'])})": r["probability"] for r in told["marginals"]}  # type: ignore[union-attr]
    assert {atom: got[atom] for atom in case["marginals"]} == pytest.approx(case["marginals"], abs=TOLERANCE)  # type: ignore[union-attr]


@pytest.mark.parametrize("path", cases())
def test_case(path: Path | None, tmp_path: Path) -> None:
    if path is None:
        pytest.skip("no reference cases beside the checkout")
    case = json.loads(path.read_text())
    theory, facts = written(case, tmp_path)
    predicates = list(case["predicates"])
    try:
        answer = hb.Model(hb.read(theory), facts or None, open=predicates).infer(engine="exact")
    except BudgetError as refusal:
        if case["n_query_atoms"] <= MOST_ATOMS:
            raise
        pytest.skip(f"too large for ground elimination: {refusal}")
    assert_matches(case, answer.to_dict())
    assert_matches(case, hb.Model(hb.read(theory)).infer(given=given(case), engine="exact").to_dict())


@pytest.mark.parametrize("name", ["fs_classic_d3", "fs_ev_unary_d4", "trans_sym_d4"])
def test_by_the_command_line(
    name: str, reference_cases: Path, tmp_path: Path, herbrand: Callable[..., Outcome]
) -> None:
    case = json.loads((reference_cases / "lifted" / f"{name}.json").read_text())
    theory, facts = written(case, tmp_path)
    options = [part for path in facts for part in ("--facts", path)]
    options += [part for predicate in case["predicates"] for part in ("--open", predicate)]
    outcome = herbrand("infer", theory, *options, "--engine", "exact", "--format", "json")
    assert outcome.status == 0, outcome.err
    assert_matches(case, json.loads(outcome.out))
