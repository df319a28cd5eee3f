"""Diagrams against the sum over all worlds, and against the search from the top."""

from __future__ import annotations

import pytest

import herbrand as hb
from herbrand.budget import Budget
from herbrand.engines.circuit import bounds
from herbrand.engines.circuit.choices import ChoiceConstraints
from herbrand.engines.circuit.circuit import Circuit
from herbrand.engines.circuit.diagrams import counted, fits
from herbrand.language.dialects import read_theory_text
from tests.engines.circuit.test_sum_over_worlds import check
from tests.laws import long


@pytest.fixture
def used(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """The search finds nothing where diagrams may; whether they did."""
    found: list[bool] = []
    by_diagrams = bounds.Unfinished._by_diagrams

    def tried(self: bounds.Unfinished, nodes: int) -> bounds.Counted | None:
        made = by_diagrams(self, nodes)
        found.append(made is not None)
        return made

    def advanced(self: bounds.Unfinished, work: int) -> Circuit | None:
        return None if fits(self.task) else self.search.advanced(10_000_000)

    monkeypatch.setattr(bounds, "DIAGRAMS", ((0, 100_000),))
    monkeypatch.setattr(bounds.Unfinished, "advanced", advanced)
    monkeypatch.setattr(bounds.Unfinished, "_by_diagrams", tried)
    return found


@pytest.mark.parametrize("start", long([*range(0, 300, 50), *range(3000, 4000, 50)], 1))
def test_random_programs(start: int, used: list[bool]) -> None:
    assert sum(check(seed) for seed in range(start, start + 50)) >= 25 and sum(used) >= 15


def circles(count: int) -> str:
    """A graph in which nearly every edge is on circles."""
    edges = "".join(
        f"0.5::edge({i}, {(7 * i + 3) % count}). 0.4::edge({i}, {(3 * i + 1) % count}).\n"
        for i in range(count)
    )
    return f"{edges}path(X, Y) :- edge(X, Y).\npath(X, Y) :- path(X, Z), edge(Z, Y).\n"


@pytest.mark.parametrize("given", ["", "evidence(path(1, 0)).\nevidence(\\+edge(0, 1)).\n"])
def test_paths_among_circles_are_those_of_the_search(given: str, used: list[bool]) -> None:
    text = f"{circles(11)}{given}query(path(0, X)). query(edge(2, 6))."
    found = {row.atom: row.probability for row in hb.Model(read_theory_text(text, "pl")).infer().rows()}
    assert used == [True] and len(found) > 3
    with pytest.MonkeyPatch.context() as searching:
        searching.setattr(bounds, "DIAGRAMS", ())
        searching.setattr(bounds.Unfinished, "advanced", lambda self, work: self.search.advanced(10**9))
        expected = hb.Model(read_theory_text(text, "pl")).infer()
    assert found == pytest.approx({row.atom: row.probability for row in expected.rows()}, abs=1e-12)


def test_what_is_rare_keeps_its_digits(used: list[bool]) -> None:
    """Also behind `not`, where 1 less the rest would be 0."""
    rare = "".join(f"1.0e-9 :: a{i}\n" for i in range(4))
    text = f"{rare}0.999999999999 :: b\nall :- a0, a1, a2, a3\nleft :- all, not b\n"
    found = hb.Model(hb.parse(text)).infer(["all", "left"], engine="circuit")
    assert found["all"] == pytest.approx(1e-36, rel=1e-9)
    assert found["left"] == pytest.approx(1e-48, rel=1e-3)
    assert used == [True]


def test_what_is_too_large_is_left_to_others() -> None:
    made = ChoiceConstraints()
    drawn = [made.choice([0.5]).outcomes[0] for _ in range(12)]
    pairs = [made.net.every([drawn[i], drawn[i + 6]]) for i in range(6)]
    task = made.task([made.net.either([*pairs, made.net.every([drawn[0], drawn[7]])])])
    rank = range(len(task.net))
    assert counted(task, rank, 5, Budget()) is None
    assert counted(task, rank, 10_000, Budget()) is not None


def test_weights_of_formulas_are_left_to_others() -> None:
    made = ChoiceConstraints()
    literals = [made.choice([0.5]).outcomes[0] for _ in range(2)]
    both = made.net.every(literals)
    assert fits(made.task([both]))
    made.weigh(both, 1.0)
    assert not fits(made.task(literals))
