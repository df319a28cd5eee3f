"""Saved machines in worlds that they never saw: their conclusions are what the machine says of tensors."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import herbrand as hb
from herbrand.errors import FactsError, HerbrandError
from herbrand.induction.checkpoint import save_machine
from herbrand.induction.saved_machine import About, load, save
from herbrand.induction.target import TargetMachine


@pytest.fixture
def machine() -> TargetMachine:
    torch.manual_seed(3)
    return TargetMachine((0, 1, 1), 2, depth=2, breadth=2)


def kept(folder: Path, machine: TargetMachine, theory: str = "", target: str = "t") -> Path:
    about = About(target, hb.parse(theory), {1: ("red",), 2: ("edge",)}, 800, 0.9)
    save(folder / "m.hbm", machine, about)
    return folder / "m.hbm"


def expected(machine: TargetMachine, names: str, red: str, edges: list[str]) -> torch.Tensor:
    """Chances by the machine itself, of all pairs of the names."""
    ones, pairs = torch.zeros(1, len(names), 1), torch.zeros(1, len(names), len(names), 1)
    for name in red:
        ones[0, names.index(name), 0] = 1
    for x, y in edges:
        pairs[0, names.index(x), names.index(y), 0] = 1
    with torch.no_grad():
        return torch.sigmoid(machine({1: ones, 2: pairs})[0])


def test_conclusions_are_the_machine_s(tmp_path: Path, machine: TargetMachine) -> None:
    facts = {"edge": [("a", "b"), ("b", "c"), ("c", "d")], "red": [("b",), ("d",)]}
    answer = hb.conclude(kept(tmp_path, machine), facts)
    chances = expected(machine, "abcd", "bd", ["ab", "bc", "cd"])
    assert len(answer) == 16 and (answer.engine, answer.guarantee.value) == ("nlm", "approximation")
    for x in "abcd":
        for y in "abcd":
            assert answer["t"][x, y] == pytest.approx(float(chances["abcd".index(x), "abcd".index(y)]))
    assert chances.std() > 0.001, "a machine that says one thing of all would show nothing"


def test_the_theory_declares_and_derives(tmp_path: Path, machine: TargetMachine) -> None:
    theory = """\
predicate edge(node, node)
predicate link(node, node)
predicate red(node)
predicate owns(person, node)
predicate t(person, node)
red("c")
edge(x, y) :- link(x, y)
"""
    path = kept(tmp_path, machine, theory)
    answer = hb.conclude(path, {"link": [("a", "b"), ("b", "c")], "owns": [("p", "a")]})
    chances = expected(machine, "abcp", "c", ["ab", "bc"])
    assert {row.arguments for row in answer.rows()} == {("p", node) for node in "abc"}
    assert answer["t"]["p", "c"] == pytest.approx(float(chances[3, 2]))


def test_what_is_known_of_the_target_is_not_read(tmp_path: Path, machine: TargetMachine) -> None:
    path = kept(tmp_path, machine)
    facts = {"edge": [("a", "b")], "red": [("a",)]}
    told = hb.conclude(path, facts | {"t": [("a", "b")]})
    assert told["t"]["a", "b"] == hb.conclude(path, facts)["t"]["a", "b"]


def test_a_predicate_without_a_table_holds_of_nothing(tmp_path: Path, machine: TargetMachine) -> None:
    notes: list[str] = []
    facts = {"edge": [("a", "b")], "blue": [("a",)]}
    answer = hb.conclude(kept(tmp_path, machine), facts, note=notes.append)
    chances = expected(machine, "ab", "", ["ab"])
    assert answer["t"]["b", "a"] == pytest.approx(float(chances[1, 0]))
    assert notes == ["the machine does not read blue"]


def test_a_target_of_whole_worlds(tmp_path: Path) -> None:
    torch.manual_seed(1)
    machine = TargetMachine((0, 1, 1), 0, depth=2, breadth=2)
    answer = hb.conclude(kept(tmp_path, machine), {"red": [("a",)], "edge": [("a", "a")]})
    assert answer["t"] == pytest.approx(float(expected(machine, "a", "a", ["aa"])))


def test_a_file_tells_what_it_was_saved_with(tmp_path: Path, machine: TargetMachine) -> None:
    again, about = load(kept(tmp_path, machine, "predicate edge(node, node)"))
    assert (about.target, about.examples, about.accuracy) == ("t", 800, 0.9)
    assert about.vocabulary == {1: ("red",), 2: ("edge",)} and len(about.theory.predicates) == 1
    assert all(
        torch.equal(one, other) for one, other in zip(again.parameters(), machine.parameters(), strict=True)
    )


def test_facts_that_do_not_fit_are_refused(tmp_path: Path, machine: TargetMachine) -> None:
    path = kept(tmp_path, machine)
    with pytest.raises(FactsError, match="'edge' has 1 columns; the machine was trained on 2"):
        hb.conclude(path, {"edge": [("a",)]})
    with pytest.raises(FactsError, match="none are given"):
        hb.conclude(path)
    save_machine(tmp_path / "bare.hbm", machine, {})
    with pytest.raises(HerbrandError, match="does not say what its machine reads"):
        hb.conclude(tmp_path / "bare.hbm", {"edge": [("a", "b")]})
