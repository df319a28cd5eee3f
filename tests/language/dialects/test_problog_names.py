"""Questions to a .pl file name its predicates as the file does, and answers list those of the file alone."""

from __future__ import annotations

from pathlib import Path

import pytest

import herbrand as hb
from herbrand.errors import LanguageError

PROGRAM = """
0.3::a.
0.4::b(x).
0.2::b(y).
0.5::p(x).
0.6::p(x, y) :- p(x).
c(X) :- b(X), \\+ (a ; p(X)).
"""
HELD = {"a": 0.3, 'b("x")': 0.4, 'b("y")': 0.2, 'p("x")': 0.5, 'p("x", "y")': 0.3, 'c("x")': 0.4 * 0.7 * 0.5}
"""What may hold of the file's own predicates, by hand; c(y) too, as p(y) never holds."""
HELD['c("y")'] = 0.2 * 0.7


@pytest.fixture
def model(tmp_path: Path) -> hb.Model:
    (tmp_path / "program.pl").write_text(PROGRAM)
    return hb.Model(hb.read(tmp_path / "program.pl"))


def test_worlds_and_marginals_have_the_predicates_of_the_file(model: hb.Model) -> None:
    drawn = model.sample(400, seed=3)
    assert {atom for world in drawn.rows() for atom in world.true} == HELD.keys()
    for atom, probability in HELD.items():
        assert drawn.share(atom) == pytest.approx(probability, abs=0.1)
    listed = {row["predicate"] for row in model.infer().to_dict()["marginals"]}
    assert listed == {"a", "b", "c", "p", "p/2"}


def test_a_made_predicate_is_answered_where_it_is_named(model: hb.Model) -> None:
    """Its text stands in what ``convert`` writes."""
    assert model.infer('`part 1`("x")')['`part 1`("x")'] == pytest.approx(0.3 + 0.7 * 0.5)


@pytest.mark.parametrize("atom", ['p("x")', 'p("x", "y")', '`p/2`("x", "y")'])
def test_the_number_of_arguments_tells_predicates_of_one_name_apart(atom: str, model: hb.Model) -> None:
    expected = 0.5 if atom == 'p("x")' else 0.3
    (row,) = model.infer(atom).to_dict()["marginals"]
    assert row["probability"] == pytest.approx(expected)
    assert model.explain(atom).to_dict()["value"] == pytest.approx(expected)
    (answer,) = model.query(atom).to_dict()["answers"]
    assert answer["weight"] == pytest.approx(expected)


def test_formulas_and_evidence_name_them_so_too(model: hb.Model) -> None:
    (row,) = model.infer('p("x", "y") and not p("y")').to_dict()["marginals"][-1:]
    assert row["probability"] == pytest.approx(0.3)
    given = model.infer("a", given=['p("x", "y")']).to_dict()["marginals"]
    assert [row["probability"] for row in given] == [pytest.approx(0.3)]
    assert model.infer('p("x")', given=['p("x", "y")'])['p("x")'] == pytest.approx(1)
    assert model.infer('p("x")', given=['not p("x", "y")'])['p("x")'] == pytest.approx(0.2 / 0.7)


def test_a_number_of_arguments_that_none_has_is_refused(model: hb.Model) -> None:
    with pytest.raises(LanguageError, match="p takes 1 argument, not 3"):
        model.infer('p("x", "y", "z")')
