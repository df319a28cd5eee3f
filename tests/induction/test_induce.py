"""Rules from folders of worlds, by Python: what is told of them, on small worlds, large ones and samples."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import herbrand as hb
from herbrand.errors import HerbrandError, UnsupportedError
from herbrand.induction import induce as induce_module
from herbrand.induction.checkpoint import load_machine
from herbrand.induction.induce import induce

EDGES = {
    "chain": "a,b\nb,c\nc,d\n",
    "ring": "a,b\nb,c\nc,a\n",
    "fork": "a,b\na,c\nb,d\n",
    "pair": "a,b\nb,a\n",
    "cross": "a,c\nb,c\nc,d\nc,e\n",
    "long": "a,b\nb,c\nc,d\nd,e\n",
}


def two_steps(edges: str) -> str:
    pairs = [tuple(line.split(",")) for line in edges.split()]
    found = {(x, w) for x, y in pairs for z, w in pairs if y == z}
    return "".join(f"{x},{w}\n" for x, w in sorted(found))


@pytest.fixture
def worlds(tmp_path: Path) -> Path:
    """Six small graphs, and who is two steps from whom."""
    for name, edges in EDGES.items():
        (tmp_path / "worlds" / name).mkdir(parents=True)
        (tmp_path / "worlds" / name / "edge.csv").write_text(edges)
        (tmp_path / "worlds" / name / "two.csv").write_text(two_steps(edges))
    return tmp_path / "worlds"


RULE = "two(x, y) :- edge(z, y), edge(x, z)"


def test_one_world_in_five_is_kept_back(worlds: Path) -> None:
    found = induce(target="two", worlds=worlds, budget=0.1)
    assert found.text.strip() == RULE and found.perfect
    assert (found.worlds, found.held_out, found.errors, found.held_out_errors) == (5, 1, 0, 0)
    assert "1 rule, 0 errors in 5 worlds; 0 errors in 1 world kept back" in found.title
    told = found.to_dict()["metrics"]
    assert (told["rules"], told["errors"], told["held_out_worlds"]) == (1, 0, 1)
    assert found.machine is None and told["machine_accuracy"] is None, "the search explains all"
    (report,) = found.reports
    assert (report.rule, report.wrong, report.coverage, report.confidence) == (RULE, 0, 1.0, 1.0)
    assert report.support > 0 and report.held_out_wrong == 0
    assert told["rule_reports"][0]["support"] == report.support


def test_large_worlds_are_searched_without_a_machine(worlds: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(induce_module, "LARGEST", 2)
    found = induce(target="two", worlds=worlds, budget=0.1, engine="nlm")
    assert found.text.strip() == RULE and found.machine is None and found.examples == 0
    assert found.machine_accuracy is None
    with pytest.raises(UnsupportedError, match="no machine was trained, so there is none to save"):
        found.save("nowhere")


def test_the_machine_is_kept_on_disk(worlds: Path, tmp_path: Path) -> None:
    found = induce(target="two", worlds=worlds, budget=0.05, engine="nlm")
    assert found.machine_accuracy is not None and 0 <= found.machine_accuracy <= 1
    found.save(tmp_path / "m.safetensors")
    machine, about = load_machine(tmp_path / "m.safetensors")
    assert about["examples"] == found.examples
    predicates = {2: torch.rand(1, 4, 4, 1)}
    assert found.machine is not None
    assert torch.equal(machine(predicates), found.machine(predicates))


def test_progress_is_told_and_never_falls(worlds: Path) -> None:
    told: list[tuple[str, float]] = []
    induce(
        target="two",
        worlds=worlds,
        budget=0.05,
        engine="nlm",
        watch=lambda what, share: told.append((what, share)),
    )
    assert [what for what, _ in told[:6]] == [f"reading {name}" for name in sorted(EDGES)]
    assert told[-1] == ("searching for rules", 0.5)
    assert any(what.startswith("accuracy ") for what, _ in told)


def test_a_theory_gives_more_to_learn_from_and_stays_around_the_rules(worlds: Path) -> None:
    theory = hb.parse(
        "predicate edge(node, node): observed\npredicate two(node, node)\n"
        "predicate back(node, node)\nback(x, y) :- edge(y, x)\n"
    )
    found = induce(theory, target="two", worlds=worlds, budget=0.02)
    lines = found.text.strip().splitlines()
    assert lines[0] == "predicate edge(node, node): observed" and found.perfect
    assert lines[-1].startswith("two(x, y) :- ") and "back(x, y) :- edge(y, x)" in lines
    answers = hb.Model(found.theory, {"edge": [("a", "b"), ("b", "c")]}).query('two("a", y)')
    assert [row.bindings for row in answers.rows()] == [{"y": "c"}]


def test_facts_of_the_theory_are_not_repeated_in_the_rules(worlds: Path) -> None:
    found = induce(hb.parse('coloured("a")\n'), target="two", worlds=worlds, budget=0.02)
    assert found.text.strip() == RULE


def test_few_worlds_are_all_learned_from(tmp_path: Path) -> None:
    for name in ("p", "q"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "edge.csv").write_text("a,b\nb,c\n")
        (tmp_path / name / "starts.csv").write_text("a\nb\n")
    found = induce(target="starts", worlds=tmp_path, budget=0.02)
    assert found.text.strip() == "starts(x) :- edge(x, y)"
    assert (found.worlds, found.held_out, found.held_out_errors) == (2, 0, None) and found.perfect


def test_a_target_of_whole_worlds(tmp_path: Path) -> None:
    """Whether a world has a loop: a target without arguments."""
    for number, edges in enumerate(["a,b\nb,b\n", "a,b\nb,c\n", "c,c\n", "a,c\n"]):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / "edge.csv").write_text(edges)
        if any(line.split(",")[0] == line.split(",")[1] for line in edges.split()):
            (tmp_path / str(number) / "looped.jsonl").write_text("{}\n")
    theory = hb.parse("predicate edge(n, n): observed\npredicate looped\n")
    found = induce(theory, target="looped", worlds=tmp_path, budget=0.02)
    assert found.text.strip().splitlines()[-1] == "looped :- edge(x, x)" and found.errors == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"engine": "foil"}, "there is no engine 'foil' for induce"),
        ({"budget": 0}, "--budget is a number above 0, not 0"),
        ({"budget": -1.5}, "--budget is a number above 0, not -1.5"),
        ({"noise": 1}, "--noise is a number from 0 up to, not including, 1, not 1"),
        ({"budget": float("nan")}, "--budget is a number above 0, not nan"),
        ({"target": "three"}, "no world has a table of the target 'three'"),
    ],
)
def test_wrong_options_are_told(worlds: Path, options: dict, message: str) -> None:
    with pytest.raises(HerbrandError) as told:
        induce(**{"target": "two", "worlds": worlds, **options})
    assert message in str(told.value)


def test_a_target_that_nothing_tells(tmp_path: Path) -> None:
    """Two objects of which all the same is said."""
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "p.csv").write_text("a\nb\n")
    (tmp_path / "w" / "t.csv").write_text("a\n")
    with pytest.raises(HerbrandError, match="no rule for 't' was found"):
        induce(target="t", worlds=tmp_path, budget=0.01)
