"""Bounds on DuckDB, feature by feature of the language, beside messages in memory and all worlds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import herbrand as hb
from herbrand.answers.bounds import Bounds
from herbrand.errors import HerbrandError, UnsupportedError
from herbrand.language.parse import parse_probability
from herbrand.scale.bounds import parts, sentences, solving
from tests.engines.credal.test_first_order import CASES, within
from tests.scale.test_bounds import Here

OPEN_FACTS = {"facts of open predicates"}
SERVED = [name for name in CASES if name not in OPEN_FACTS]
SOME = [
    name if place % 6 == 0 else pytest.param(name, marks=pytest.mark.slow)
    for place, name in enumerate(SERVED)
]


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """In this process, a few rows at a time, parts of a few sentences."""
    monkeypatch.setattr(solving, "Workers", Here)
    monkeypatch.setattr(sentences, "BATCH", 3)
    monkeypatch.setattr(parts, "SENTENCES_A_PART", 4)
    monkeypatch.setattr(parts, "PARTS_A_SHELF", 2)


def on_duckdb(folder: Path, theory: hb.Theory, *queries: str, facts: Any = None, **options: Any) -> Bounds:
    return hb.Model(theory, facts, on=f"duckdb:{folder}/w.duckdb").bound(list(queries), **options)


def same(found: Bounds, expected: Bounds) -> None:
    assert found.queries == expected.queries
    np.testing.assert_allclose(found.lower, expected.lower, atol=2e-6)
    np.testing.assert_allclose(found.upper, expected.upper, atol=2e-6)


@pytest.mark.parametrize("name", SOME)
def test_intervals_are_those_of_memory_and_hold_the_truth(name: str, tmp_path: Path) -> None:
    """Beside all worlds, too; small parts tell each other what large ones know at once."""
    theory, worlds, _ = within(name)
    free = on_duckdb(tmp_path, theory, independence="none")
    same(free, hb.Model(theory).bound(engine="ariel", independence="none"))
    for row in list(free.rows())[:3]:
        truth = worlds.interval(parse_probability(row.query)[0])
        assert truth is not None and row.certified
        assert row.lower <= truth[0] + 1e-6 and truth[1] <= row.upper + 1e-6


@pytest.mark.parametrize("name", SERVED[1::20])
def test_the_markov_condition_counts_as_in_memory(name: str, tmp_path: Path) -> None:
    theory, _, _ = within(name)
    same(on_duckdb(tmp_path, theory), hb.Model(theory).bound(engine="ariel"))


@pytest.mark.parametrize("name", sorted(OPEN_FACTS))
def test_facts_of_open_predicates_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError) as raised:
        on_duckdb(tmp_path, within(name)[0])
    told = str(raised.value)
    assert "on a database bound takes no facts of open predicates, and s has 1" in told
    assert "declare s as observed, leave its facts out, or leave out --on" in told


LINKED = """
predicate f(p, p): observed
predicate s(p)
P(s(x) | s(y) and f(x, y)) in [0.6, 0.8]
P(s(x)) in [0.1, 0.9]
"""
FACTS = {"f": [("a", "b"), ("b", "c"), ("d", "c"), ("c", "e"), ("e", "a")]}


def test_what_is_asked_for_is_a_selection_of_everything(tmp_path: Path) -> None:
    """One atom, the same one twice, all of a predicate; each row is that of the whole answer."""
    theory = hb.parse(LINKED + 'P(s("a")) >= 0.5')
    whole = on_duckdb(tmp_path, theory, facts=FACTS)
    ends = {row.query: (row.lower, row.upper) for row in whole.rows()}
    for queries in (['s("e")', 's("a")', 's("e")'], ["P(s(x))"]):
        found = on_duckdb(tmp_path, theory, *queries, facts=FACTS)
        assert [(row.lower, row.upper) for row in found.rows()] == [ends[row.query] for row in found.rows()]
        assert len(found.queries) == (5 if queries[0] in ("s", "P(s(x))") else len(queries))


def test_an_atom_of_which_nothing_is_said_is_free(tmp_path: Path) -> None:
    theory = hb.parse(LINKED + "predicate lone\npredicate t(p)")
    found = on_duckdb(tmp_path, theory, "lone", 't("d")', 's("d")', facts=FACTS)
    assert found.lower.tolist()[:2] == [0.0, 0.0] and found.upper.tolist()[:2] == [1.0, 1.0]
    assert found.upper[2] < 1
    silent = on_duckdb(
        tmp_path, hb.parse("predicate s(p)\npredicate f(p, p): observed\nP(true) <= 1"), facts=FACTS
    )
    assert silent.lower.tolist() == [0.0] * 5 and silent.upper.tolist() == [1.0] * 5
    assert silent.status.converged


def test_equal_rows_are_one_fact_and_their_order_is_no_matter(tmp_path: Path) -> None:
    theory = hb.parse(LINKED + 'P(s("a")) >= 0.5')
    expected = on_duckdb(tmp_path, theory, facts=FACTS)
    rng = np.random.default_rng(1)
    doubled = FACTS["f"] * 2
    shuffled = {"f": [doubled[i] for i in rng.permutation(len(doubled))]}
    (tmp_path / "again").mkdir()
    found = on_duckdb(tmp_path / "again", theory, facts=shuffled)
    same(found, expected)


def test_the_order_of_statements_is_no_matter(tmp_path: Path) -> None:
    lines = (LINKED + 'P(s("a")) >= 0.5\nP(s(x) or s(y)) <= 0.95').splitlines()
    expected = on_duckdb(tmp_path, hb.parse("\n".join(lines)), facts=FACTS)
    for number, order in enumerate((lines[3:] + lines[:3],)):
        folder = tmp_path / str(number)
        folder.mkdir()
        same(on_duckdb(folder, hb.parse("\n".join(order)), facts=FACTS), expected)


def test_parts_of_any_size_come_to_the_same_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    theory = hb.parse(LINKED + 'P(s("a")) >= 0.5')
    expected = hb.Model(theory, FACTS).bound(engine="ariel")
    for size, shelf in ((2, 3), (1000, 16)):
        monkeypatch.setattr(parts, "SENTENCES_A_PART", size)
        monkeypatch.setattr(parts, "PARTS_A_SHELF", shelf)
        folder = tmp_path / str(size)
        folder.mkdir()
        found = on_duckdb(folder, theory, facts=FACTS)
        same(found, expected)
        assert ("synchronous" in (found.status.where or "")) == (size < 1000)


def test_sweeps_narrow_and_never_widen(tmp_path: Path) -> None:
    theory = hb.parse(LINKED + 'P(s("a")) >= 0.8\nP(s("e")) <= 0.7')
    before = None
    for sweeps in (1, 50):
        found = on_duckdb(tmp_path, theory, facts=FACTS, iterations=sweeps)
        if before is not None:
            assert (found.lower >= before.lower - 1e-12).all() and (found.upper <= before.upper + 1e-12).all()
        before = found
    assert before is not None and before.status.converged and before.guarantee == "bound"
    again = on_duckdb(tmp_path, theory, facts=FACTS, iterations=50)
    assert again.lower.tolist() == before.lower.tolist() and again.upper.tolist() == before.upper.tolist()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("P(s(x)) <= 0.5\nP(s(x)) >= 0.6", 'nothing is left for P(s("a"))'),
        ('P(s("a") or s("b")) <= 0.2\nP(s("b")) >= 0.4', "this cannot hold with the other bounds on"),
        (
            "P(f(x, y) and s(x)) <= 0.5\nP(f(x, y)) >= 0.4",
            "the observed facts determine the formula of this bound",
        ),
        ("P(s(x) | nobody(x)) <= 0.4", "predicate 'nobody' is not declared"),
        ("P(s(x, y)) <= 0.4", "s takes 1 argument, not 2"),
    ],
)
def test_mistakes_are_told_as_in_memory(text: str, told: str, tmp_path: Path) -> None:
    theory = f"predicate f(p, p): observed\npredicate s(p)\n{text}"
    with pytest.raises(HerbrandError) as raised:
        on_duckdb(tmp_path, hb.parse(theory), facts=FACTS)
    assert told in str(raised.value)
    with pytest.raises(HerbrandError):
        hb.Model(hb.parse(theory), FACTS).bound(engine="ariel")


@pytest.mark.slow
def test_atoms_with_numbers_near_the_end_of_64_bits(tmp_path: Path) -> None:
    """Three arguments over two million constants: pairs of such atoms are told apart all the same."""
    large = "type t = 1..2000000\npredicate r(t, t, t)\n"
    names = {
        "a": "r(1, 2, 3)",
        "b": "r(2000000, 1999999, 7)",
        "c": "r(1999999, 5, 2000000)",
        "d": "r(8, 8, 8)",
    }
    said = "P(a or b) <= 0.5\nP(c or d) >= 0.4\nP(a or c) <= 0.7\nP(b or d) in [0.2, 0.6]\n"
    said += "P(a) >= 0.1\nP(c | b) >= 0.3\n"
    small = hb.Model(hb.parse(said)).bound(list(names), engine="ariel", independence="none")
    for short, atom in names.items():
        said = said.replace(f"{short} ", f"{atom} ").replace(f"{short})", f"{atom})")
    found = on_duckdb(tmp_path, hb.parse(large + said), *names.values(), independence="none")
    np.testing.assert_allclose(found.lower, small.lower, atol=2e-6)
    np.testing.assert_allclose(found.upper, small.upper, atol=2e-6)
