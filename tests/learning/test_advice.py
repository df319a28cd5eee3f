"""Advice beside errors of learning leads on: what it says to do is accepted, and helps."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import herbrand as hb
from herbrand.errors import HerbrandError, Mistake

RULES = 'predicate parent(p, p): {}\npredicate old(p, p)\nparent("a", "b")\nold(x, y) :- parent(x, y)'
SMOKERS = 'predicate smokes(p)\npredicate cancer(p)\nsmokes("a")\ncancer("a")\nsmokes("b")\n'


def told(text: str, *, model: Mapping[str, Any] = {}, **options: Any) -> Mistake:
    with pytest.raises(HerbrandError) as error:
        hb.Model(hb.parse(text), **model).learn(**options)
    (mistake,) = error.value.mistakes
    return mistake


def test_weights_of_facts_are_learned_by_the_method_that_is_named() -> None:
    text = RULES.format("learned") + '\nold("a", "b")'
    mistake = told(text, method="pseudo-likelihood")
    assert mistake.message == "no statement has a weight to be learned"
    assert mistake.hint == "the weights of the facts of parent are learned by --method proof"
    for method in ("proof", "auto"):
        assert hb.Model(hb.parse(text)).learn(method, iterations=2).weights


def test_options_that_only_one_method_uses_are_named_with_it() -> None:
    text = RULES.format("observed") + '\nold("a", "c")\nold(x, y) :- parent(y, x) @ ?'
    mistake = told(text)
    assert mistake.message == "no proof leads to the right answer within depth 10"
    assert mistake.hint == "allow more by --method proof --depth, or look at the rules with: herbrand query"
    below = 'predicate e(p)\npredicate q(p)\nq(x) :- e(x) @ ?\ne("a") @ -1\nq("a")'
    mistake = told(below)
    assert mistake.hint.endswith("take --method proof --loss softmax")
    assert hb.Model(hb.parse(below)).learn("proof", loss="softmax", iterations=2).weights


def test_what_distillation_needs_is_learned_beside_latent_predicates() -> None:
    text = SMOKERS + "?: smokes(x) => cancer(x)"
    mistake = told(text, method="distillation", latent="cancer")
    assert mistake.hint == "learn it first by --method likelihood or layers"
    for method in ("likelihood", "layers"):
        assert hb.Model(hb.parse(text)).learn(method, latent="cancer").weights


def test_values_given_by_several_statements_are_shown_as_one_statement() -> None:
    begin = 'predicate k(p): observed\npredicate v(p) in {"u", "w"}\nk("x")\nv("x") = "u"\n'
    mistake = told(begin + '? :: v(x) = "u" :- k(x)\n? :: v(x) = "w" :- k(x)')
    advised = mistake.hint.removeprefix("give the values in one statement: ")
    assert advised == '? :: v(x) = "u"; ? :: v(x) = "w"'
    assert hb.Model(hb.parse(f"{begin}{advised} :- k(x)")).learn().weights


def test_an_unlisted_atom_that_counts_as_false_is_pointed_out() -> None:
    text = SMOKERS + "?: smokes(x) => cancer(x)\nhard: cancer(x)"
    mistake = told(text)
    assert mistake.message == 'the fact not cancer("b") contradicts this hard statement'
    assert (
        mistake.hint == "an unlisted atom counts as false in learning; name what is not known: --latent PRED"
    )
    assert hb.Model(hb.parse(text)).learn(latent="cancer").weights


def test_what_is_latent_is_learned_through_in_memory(tmp_path: Path) -> None:
    text = SMOKERS + "?: smokes(x) => cancer(x)"
    mistake = told(text, model={"on": f"duckdb:{tmp_path / 'w.duckdb'}"}, latent="cancer")
    assert mistake.hint == (
        "leave out --on: --method likelihood and layers learn through latent predicates in memory; "
        "or list their facts"
    )


def test_weights_beside_probabilities_that_are_given() -> None:
    mistake = told(SMOKERS + "?: smokes(x)\n0.3 :: ill(x) :- smokes(x)\npredicate ill(p)")
    assert (
        mistake.hint == "weights of formulas are not learned beside choices: leave these or the formulas out"
    )


def test_a_file_of_alchemy_is_told_of_its_own_form(tmp_path: Path) -> None:
    """``?`` is no weight there; a formula without one is learned."""
    path = tmp_path / "smokers.mln"
    path.write_text("Smokes(person)\n1.5 Smokes(x)\n")
    with pytest.raises(HerbrandError) as error:
        hb.Model(path, {"Smokes": ["a"]}).learn()
    hint = error.value.mistakes[0].hint
    assert hint == "leave the weight of a formula out, or learn given ones by --relearn"
    path.write_text("Smokes(person)\nSmokes(x)\n")
    assert hb.Model(path, {"Smokes": ["a"]}).learn().weights
