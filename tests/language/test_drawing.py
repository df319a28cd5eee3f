"""A drawn theory is a picture that parses, and says all that it should."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings

import herbrand as hb
from herbrand.language.drawing import STATEMENTS_SHOWN
from herbrand.language.theory import Theory
from tests.language.theories import theories
from tests.laws import tries

SVG = "{http://www.w3.org/2000/svg}"
THEORY = """\
1.1: smokes(x) and friends(x, y) => smokes(y)
hard: happy(x) => not smokes(x)
P(alarm | fire) in [0.2, 0.3]
near(x, y) :- friends(x, z), friends(z, y), x != y
"""


def parts(theory: Theory) -> ElementTree.Element:
    return ElementTree.fromstring(hb.draw(theory).svg)


def test_statements_predicates_and_lines() -> None:
    picture = parts(hb.parse(THEORY))
    texts = [text.text for text in picture.iter(f"{SVG}text")]
    assert "1.1: smokes(x) and friends(x, y) => smokes(y)" in texts
    assert {"smokes", "friends", "happy", "alarm", "fire", "near"} <= set(texts)
    assert len(list(picture.iter(f"{SVG}rect"))) == 4
    assert len(list(picture.iter(f"{SVG}ellipse"))) == 6
    assert len(list(picture.iter(f"{SVG}line"))) == 2 + 2 + 2 + 2


def test_many_valued_predicates_are_named() -> None:
    theory = hb.parse('predicate mood(person) in {"good", "bad"}\n1.0: mood(x) = "good"')
    assert [e.text for e in parts(theory).iter(f"{SVG}text")] == ['1.0: mood(x) = "good"', "mood"]


@pytest.mark.parametrize("text", ["", 'p("a")', "type t"])
def test_nothing_to_draw_is_an_empty_picture(text: str) -> None:
    assert not list(parts(hb.parse(text)).iter(f"{SVG}rect"))


def test_large_theories_are_cut() -> None:
    theory = hb.parse("".join(f"1.0: p{i} => q{'x' * 100}\n" for i in range(200)))
    picture = parts(theory)
    assert len(list(picture.iter(f"{SVG}rect"))) == STATEMENTS_SHOWN
    assert any("…" in (e.text or "") for e in picture.iter(f"{SVG}text"))


def test_a_model_draws_its_theory() -> None:
    root = Path(__file__).parents[2]
    model = hb.Model(hb.read(root / "examples/smokers/smokers.hb"), root / "examples/smokers/facts")
    assert model._repr_svg_() == hb.draw(model.theory).svg


@settings(max_examples=tries(40), deadline=None)
@given(theories)
def test_any_theory_is_drawn_as_a_picture_that_can_be_shown(theory: Theory) -> None:
    """Names and constants may hold any character; XML may not."""
    ElementTree.fromstring(hb.draw(theory).svg)


ODD = ["<&'\">", "]]>", "a b\U0001f600", "e\u0301!", "a\x01b", "\x7f-", "a\ufffeb."]


@pytest.mark.parametrize("name", ODD)
def test_names_of_any_character(name: str) -> None:
    """What XML cannot hold is shown as a replacement."""
    shown = name.replace("\x01", "\ufffd").replace("\ufffe", "\ufffd")
    texts = [e.text for e in parts(hb.parse(f"1.0: `{name}`(x)")).iter(f"{SVG}text")]
    assert texts == [f"1.0: `{shown}`(x)", shown]
