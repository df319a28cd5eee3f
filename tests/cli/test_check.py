"""``herbrand check``: sizes before any work, and every mistake of several files in one go."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from tests.conftest import ROOT, Outcome

Herbrand = Callable[..., Outcome]
SMOKERS = ROOT / "examples" / "smokers"


def test_sizes(herbrand: Herbrand) -> None:
    told = json.loads(
        herbrand("check", SMOKERS / "smokers.hb", "--facts", SMOKERS / "facts", "--format", "json").out
    )
    assert told["constants"] == {"person": 6}
    assert {p["predicate"]: p["latent"] for p in told["predicates"]} == {
        "friends": 0, "smokes": 3, "cancer": 6,
    }  # fmt: skip
    assert [f["groundings"] for f in told["formulas"]] == [36, 36, 6, 6, 6]
    assert told["engines"][0]["engine"] == "exact" and told["engines"][0]["possible"] is True


def test_all_mistakes_of_all_files(herbrand: Herbrand, tmp_path: Path) -> None:
    (tmp_path / "a.hb").write_text("predicate p(t)\n1.0: p(x) -> p(y)\n")
    (tmp_path / "b.hb").write_text("1.0: r(x)\n2.0: p(x, y)\n")
    outcome = herbrand("check", tmp_path / "a.hb", tmp_path / "b.hb")
    assert outcome.status == 1
    places = [line.split(": ")[0] for line in outcome.err.splitlines() if line.startswith(str(tmp_path))]
    assert places == [f"{tmp_path}/a.hb:2:11", f"{tmp_path}/b.hb:1:6", f"{tmp_path}/b.hb:2:6"]


def test_a_theory_with_rules_and_bounds_can_be_checked(herbrand: Herbrand, tmp_path: Path) -> None:
    (tmp_path / "t.hb").write_text("1.0: a => b\nP(a) >= 0.5\nq(x) :- r(x, y)\n")
    assert herbrand("check", tmp_path / "t.hb").status == 0


def test_an_impossible_size_is_told_not_tried(herbrand: Herbrand, tmp_path: Path) -> None:
    (tmp_path / "t.hb").write_text(
        "type t = 1..2000\npredicate f(t, t)\n1.0: f(x, y) and f(y, z) => f(x, z)\n"
    )
    told = json.loads(herbrand("check", tmp_path / "t.hb", "--format", "json").out)
    assert told["formulas"] == [
        {"statement": "1.0: f(x, y) and f(y, z) => f(x, z)", "groundings": 8_000_000_000}
    ]
    assert told["engines"][0]["possible"] is False
    assert told["engines"][0]["reason"].startswith("grounding needs ")


def test_very_many_atoms_alike_share_a_row(herbrand: Herbrand, tmp_path: Path) -> None:
    """A table of a hundred thousand rows tells nobody anything; the JSON names each predicate."""
    lines = [f"P(x{i} | x{i + 1}) <= 0.4" for i in range(200)]
    (tmp_path / "many.hb").write_text("\n".join(["P(smokes(y)) <= 0.5", *lines]))
    shown = herbrand("check", tmp_path / "many.hb").out
    assert "predicates x0 to x200" in shown and "201 latent, open world, one each" in shown
    assert "predicate smokes" in shown and len(shown.splitlines()) < 20
    told = json.loads(herbrand("check", tmp_path / "many.hb", "--format", "json").out)
    assert len(told["predicates"]) == 202


def test_costs_are_of_what_is_asked_and_given(herbrand: Herbrand, tmp_path: Path) -> None:
    told = json.loads(
        herbrand(
            "check", SMOKERS / "smokers.hb", "--facts", SMOKERS / "facts", "--format", "json",
            "--query", "exists x: cancer(x)", "--given", 'cancer("helen")',
        ).out
    )  # fmt: skip
    reasons = {each["engine"]: each["reason"] for each in told["engines"]}
    assert reasons["bp"] == "bp gives the probabilities of atoms, not of formulas" and not reasons["exact"]
    assert {p["predicate"]: p["known"] for p in told["predicates"]}["cancer"] == 1
    outcome = herbrand("check", SMOKERS / "smokers.hb", "--query", "cancr")
    assert outcome.status == 1 and "did you mean 'cancer'?" in outcome.err


def test_lint_looks_at_no_question(herbrand: Herbrand) -> None:
    for option, value in (("--query", "cancer"), ("--given", 'cancer("helen")')):
        outcome = herbrand("check", SMOKERS / "smokers.hb", "--lint", option, value)
        assert (outcome.status, outcome.out) == (1, "")
        assert outcome.err.startswith(f"--lint does not use {option}")
