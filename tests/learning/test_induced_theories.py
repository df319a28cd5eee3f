"""What ``induce --weights`` writes goes on to ``learn --worlds``, by the command line and from Python."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

import herbrand as hb
from tests.conftest import Outcome

Run = Callable[..., Outcome]

EDGES = {
    "chain": ["ab", "bc", "cd"],
    "ring": ["ab", "bc", "ca"],
    "fork": ["ab", "ac", "bd"],
    "pair": ["ab", "ba"],
    "cross": ["ac", "bc", "cd", "ce"],
    "long": ["ab", "bc", "cd", "de"],
}
RULE = "two(x, y) :- edge(z, y), edge(x, z)"
INDUCED: dict[str, str] = {}
"""By the form of their weights."""


def two_steps(edges: list[str]) -> list[str]:
    return sorted({x + w for x, y in edges for z, w in edges if y == z})


def written(pairs: list[str]) -> str:
    return "".join(f"{x},{y}\n" for x, y in pairs)


@pytest.fixture
def worlds(tmp_path: Path) -> Path:
    """Small graphs, and who is two steps from whom, which is left out in one; in one alone a node is red."""
    folder = tmp_path / "worlds"
    for name, edges in EDGES.items():
        (folder / name).mkdir(parents=True)
        (folder / name / "edge.csv").write_text(written(edges))
        (folder / name / "two.csv").write_text("" if name == "fork" else written(two_steps(edges)))
        (folder / name / "red.csv").write_text("a\n" if name == "ring" else "")
    return folder


def induced(herbrand: Run, worlds: Path, form: str) -> Path:
    """The rules in a file, with comments of the user's own; induced once for all tests."""
    path = worlds.parent / "rules.hb"
    if form not in INDUCED:
        INDUCED[form] = _induced(herbrand, worlds, form, path)
    path.write_text("# found by induce\n\n" + INDUCED[form].replace("\n", "  # the only one\n"))
    return path


def _induced(herbrand: Run, worlds: Path, form: str, path: Path) -> str:
    outcome = herbrand(
        "induce", "--target", "two", "--worlds", worlds, "--budget", "0.05", "--weights", form, "-o", path
    )
    assert outcome.status == 3 and "1 error" in outcome.err, outcome.err
    return path.read_text()


def test_probabilities_are_learned_from_the_worlds_they_were_induced_from(
    worlds: Path, herbrand: Run
) -> None:
    """Each pair has one path of two steps: the likeliest probability is the share of paths whose ends are
    listed."""
    rules = induced(herbrand, worlds, "probabilities")
    paths = sum(len(two_steps(edges)) for edges in EDGES.values())
    listed = paths - len(two_steps(EDGES["fork"]))
    outcome = herbrand("learn", rules, "--worlds", worlds, "--relearn", "--closed", "two")
    assert outcome.status == 0, outcome.err
    weight, _, rule = outcome.out.strip().partition(" :: ")
    assert rule == RULE and float(weight) == pytest.approx(listed / paths, abs=1e-6)
    assert 0 < listed < paths


def test_what_is_not_listed_is_unknown_where_the_target_is_not_closed(worlds: Path, herbrand: Run) -> None:
    rules = induced(herbrand, worlds, "probabilities")
    outcome = herbrand("learn", rules, "--worlds", worlds, "--relearn")
    assert outcome.status == 0 and outcome.out == f"1.0 :: {RULE}\n"


def test_weights_of_proofs_are_learned_from_several_worlds(worlds: Path, herbrand: Run) -> None:
    """A second rule is right of no pair: its weight falls, and that of the first rises from where it was."""
    rules = induced(herbrand, worlds, "proofs")
    rules.write_text(rules.read_text() + "two(x, y) :- edge(x, y) @ 0.9\n")
    outcome = herbrand("learn", rules, "--worlds", worlds, "--relearn")
    assert outcome.status == 0, outcome.err
    assert "only rules have weights to be learned" in outcome.err
    right, wrong = hb.parse(outcome.out).rules
    assert isinstance(right.weight, float) and isinstance(wrong.weight, float)
    assert right.weight > 1.5 and wrong.weight < 0.5


def test_one_world_alone_is_a_folder_of_tables(worlds: Path, herbrand: Run) -> None:
    (worlds / "chain" / "red.csv").unlink()
    rules = induced(herbrand, worlds, "probabilities")
    outcome = herbrand("learn", rules, "--worlds", worlds / "chain", "--relearn", "--closed", "two")
    assert outcome.status == 0 and outcome.out == f"1.0 :: {RULE}\n", outcome.err


def test_a_theory_goes_on_in_python_as_it_is(worlds: Path) -> None:
    found = hb.induce(target="two", worlds=worlds, budget=0.05, weights="probabilities")
    learned = hb.Model(found.theory, closed="two").learn(worlds=worlds, relearn=True)
    (weight,) = learned.weights
    assert weight.weight == pytest.approx(14 / 15, abs=1e-6)


@pytest.mark.parametrize(("form", "hint"), [("probabilities", "by --relearn"), ("proofs", "by --relearn")])
def test_given_weights_alone_are_nothing_to_learn(form: str, hint: str, worlds: Path, herbrand: Run) -> None:
    outcome = herbrand("learn", induced(herbrand, worlds, form), "--worlds", worlds)
    assert outcome.status == 1 and hint in outcome.err


def test_proofs_of_several_worlds_are_those_of_all_in_one(tmp_path: Path) -> None:
    """Worlds under names of their own, put into one, have the same questions and proofs."""
    theory = hb.parse("likes(x, y) :- knows(x, y) @ ?\nlikes(x, y) :- works(x, y) @ ?\n")
    apart = [
        {"knows": [("a", "b"), ("d", "b")], "works": [("a", "c"), ("d", "e")], "likes": [("a", "b")]},
        {"knows": [("f", "g")], "works": [("f", "h"), ("i", "k")], "likes": [("f", "h"), ("i", "k")]},
    ]
    whole = {name: [row for world in apart for row in world[name]] for name in apart[0]}
    one = hb.Model(theory, whole).learn("proof", iterations=30)
    several = hb.Model(theory).learn("proof", worlds=apart, iterations=30)
    assert [w.weight for w in several.weights] == pytest.approx([w.weight for w in one.weights], rel=1e-9)
    assert several.metrics["questions"] == one.metrics["questions"] == 3


def test_closed_targets_agree_with_false_tuples_that_are_listed() -> None:
    """Two ways to the same atoms, whose probabilities no count gives: closing is as to list what is false."""
    theory = hb.parse("? :: t(x) :- a(x)\n? :: t(x) :- b(x)\n")
    world = {"a": ["1", "2", "3", "4"], "b": ["3", "4", "5", "6", "7"], "t": ["1", "3", "5"]}
    known = [(x, x in world["t"]) for x in sorted({*world["a"], *world["b"]})]
    told = {**world, "t": pd.DataFrame(known, columns=["x", "truth"])}
    listed = hb.Model(theory).learn(worlds=[told])
    closed = hb.Model(theory, closed="t").learn(worlds=[world])
    assert [w.weight for w in closed.weights] == pytest.approx([w.weight for w in listed.weights], abs=1e-6)
    assert 0.2 < closed.weights[0].weight < 0.6
