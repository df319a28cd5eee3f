"""Questions to a .pl file name its predicates as the file does, and answers list those of the file alone."""

from __future__ import annotations

from pathlib import Path

import pytest

import herbrand as hb
from herbrand.answers.explanation import Explanation
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


@pytest.mark.parametrize("choices", [True, False])
def test_explanations_have_the_names_of_the_file(tmp_path: Path, choices: bool) -> None:
    """A text of a constant that looks like such a name stays."""
    chance = "0.5::" if choices else ""
    (tmp_path / "program.pl").write_text(
        f"{chance}p('`p/2`'). {chance}p('`p/2`', b). q(X) :- p(X). q(X, Y) :- p(X), p(X, Y).\n"
    )
    model = hb.Model(hb.read(tmp_path / "program.pl"))
    why = model.explain('q("`p/2`", "b")', proofs=2) if choices else model.explain('q("`p/2`", "b")')
    assert isinstance(why, Explanation)
    told = why.to_dict()
    texts = {part["statement"] for reason in told["reasons"] for part in (reason, *reason.get("parts", ()))}
    if choices:
        assert texts == {'0.5 :: p("`p/2`")', '0.5 :: p("`p/2`", "b")'}
        assert told["provenance"] == '(p("`p/2`", "b") and p("`p/2`"))'
    else:
        assert texts == {"q(X, Y) :- p(X), p(X, Y)", 'p("`p/2`")', 'p("`p/2`", "b")'}
    assert told["subject"] == 'q("`p/2`", "b")'


@pytest.mark.parametrize("place", ["memory", "database"])
@pytest.mark.parametrize(
    ("goal", "answers"),
    [
        ('q("a", y)', [{"y": 2}, {"y": 3}]),
        ('q("a", y) and y > 2', [{"y": 3}]),
        ("q(x)", [{"x": "a"}, {"x": "c"}]),
    ],
)
def test_goals_of_rules_name_them_so_too(
    tmp_path: Path, goal: str, answers: list[dict[str, object]], place: str
) -> None:
    """Rules without choices are asked by proofs, which had known only the first of one name."""
    (tmp_path / "program.pl").write_text("p(a). p(c). p(a, 2). p(a, 3). q(X) :- p(X). q(X, Y) :- p(X, Y).\n")
    on = {} if place == "memory" else {"on": f"duckdb:{tmp_path}/w.duckdb"}
    found = hb.Model(hb.read(tmp_path / "program.pl"), **on).query(goal)  # type: ignore[arg-type]
    assert [row["bindings"] for row in found.to_dict()["answers"]] == answers


def test_a_number_of_arguments_that_none_has_is_refused(model: hb.Model) -> None:
    with pytest.raises(LanguageError, match="p takes 1 argument, not 3"):
        model.infer('p("x", "y", "z")')
