"""What may surprise is noted of a run on a database as of one in memory."""

from __future__ import annotations

from pathlib import Path

import pytest

import herbrand as hb

THEORY = """predicate friends(p, p): observed
predicate likes(p, p): observed
predicate smokes(p)
predicate idle(p)
1.5: smokes(x) and friends(x, y) => smokes(y)
0.3: likes(x, y) => smokes(x)
0.2: smokes("dora")
smokes("eva")
"""
GIVEN = ['smokes("ana")', 'smokes("anna")', 'smokes("dora")', 'smokes("eva")', 'smokes("bob")']


def facts(folder: Path) -> Path:
    path = folder / "facts"
    path.mkdir()
    (path / "friends.csv").write_text("from,to\nanna,bob\n")
    return path


@pytest.mark.parametrize("more", [(), ("smokes",)])
def test_the_notes_are_those_of_memory(tmp_path: Path, more: tuple[str, ...]) -> None:
    theory, tables = hb.parse(THEORY), facts(tmp_path)
    told: dict[bool, list[str]] = {}
    for stored in (False, True):
        notes = told.setdefault(stored, [])
        place = f"duckdb:{tmp_path / 'world.duckdb'}" if stored else None
        model = hb.Model(theory, tables, on=place, note=notes.append)
        model.infer(more, given=GIVEN, note=notes.append)
        told[stored] = [note for note in notes if not note.startswith("engine ")]
    assert sorted(told[True]) == sorted(told[False])
    assert [note for note in told[True] if "new constant" in note] == [
        "--given names a new constant of type p, \"ana\"; did you mean 'anna'?"
    ]


def test_evidence_on_a_misspelt_predicate(tmp_path: Path) -> None:
    """Those of the theory and of tables alone are known."""
    theory, tables = hb.parse("1.5: smokes(x) and friends(x, y) => smokes(y)"), facts(tmp_path)
    (tables / "likes.csv").write_text("from,to\nanna,bob\n")
    for place in (None, f"duckdb:{tmp_path / 'world.duckdb'}"):
        told: list[str] = []
        given = ['smoke("anna")', 'smokes("bob")', 'likes("anna", "bob")']
        hb.Model(theory, tables, on=place, note=told.append).infer(given=given, note=told.append)
        assert [note for note in told if "new predicate" in note] == [
            "--given names a new predicate, smoke; did you mean 'smokes'?"
        ]


def test_all_closed(tmp_path: Path) -> None:
    told: list[str] = []
    theory = hb.parse(
        'smokes("anna")\nfriends("anna", "bob")\n1.5: smokes(x) and friends(x, y) => smokes(y)\n'
    )
    hb.Model(theory, on=f"duckdb:{tmp_path / 'world.duckdb'}").infer(note=told.append)
    assert any("every predicate is closed" in note for note in told)


def test_all_settled(tmp_path: Path) -> None:
    told: list[str] = []
    theory = hb.parse('predicate smokes(p)\nsmokes("anna")\nnot smokes("bob")\n1.5: smokes(x)\n')
    hb.Model(theory, on=f"duckdb:{tmp_path / 'world.duckdb'}").infer(note=told.append)
    assert any("facts settle every atom" in note for note in told)


@pytest.mark.parametrize("call", ["bound", "query", "learn"])
def test_every_call_notes(tmp_path: Path, call: str) -> None:
    statement = {"bound": "P(smokes(x)) = 0.3", "query": "idle(x) :- friends(x, y)", "learn": "?: smokes(x)"}
    theory = hb.parse(
        f"predicate friends(p, p): observed\npredicate smokes(p)\npredicate idle(p)\n{statement[call]}"
    )
    model = hb.Model(theory, facts(tmp_path), on=f"duckdb:{tmp_path / 'world.duckdb'}")
    asked = {"query": ("idle(x)",)}.get(call, ())
    getattr(model, call)(*asked)
    assert any("the first row of friends.csv" in note for note in model.notes)
