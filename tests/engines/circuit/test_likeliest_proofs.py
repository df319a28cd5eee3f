"""The likeliest proofs, against all minimal sets of outcomes, one by one."""

from __future__ import annotations

import itertools
import math
import random

import pytest

import herbrand as hb
from herbrand.errors import UnsupportedError
from tests.laws import tries

Rule = tuple[str, tuple[str, ...]]
Choices = list[list[tuple[float, str]]]


def least_model(true: set[str], rules: list[Rule]) -> set[str]:
    known = set(true)
    while True:
        new = {head for head, body in rules if known.issuperset(body)} - known
        if not new:
            return known
        known |= new


def minimal_proofs(choices: Choices, rules: list[Rule], atom: str) -> list[float]:
    """The probabilities of all sets of outcomes that are enough for an atom, and of which no part is."""
    enough: list[tuple[set[tuple[int, int]], float]] = []
    for outcomes in itertools.product(*(range(-1, len(heads)) for heads in choices)):
        taken = {(place, number) for place, number in enumerate(outcomes) if number >= 0}
        atoms = {choices[place][number][1] for place, number in taken}
        if atom in least_model(atoms, rules):
            enough.append((taken, math.prod(choices[place][number][0] for place, number in taken)))
    least = [(one, p) for one, p in enough if not any(other < one for other, _ in enough)]
    return sorted((p for _, p in least), reverse=True)


@pytest.mark.parametrize("seed", range(tries(300)))
def test_as_all_minimal_sets_of_outcomes(seed: int) -> None:
    dice = random.Random(seed)
    causes, derived = [f"c{i}" for i in range(6)], [f"d{i}" for i in range(5)]
    choices: Choices = []
    for _ in range(dice.randint(2, 6)):
        heads = dice.sample(causes, dice.randint(1, 2))
        choices.append([(dice.choice([0.1, 0.3, 0.45]), head) for head in heads])
    rules = [
        (dice.choice(derived), tuple(dice.sample([*causes, *derived, *derived], dice.randint(1, 3))))
        for _ in range(dice.randint(3, 9))
    ]
    for _ in range(len(rules)):  # what nothing derives would be open
        known = {head for heads in choices for _, head in heads} | {head for head, _ in rules}
        rules = [(head, body) for head, body in rules if known.issuperset(body)]
    text = ["; ".join(f"{p} :: {head}" for p, head in heads) for heads in choices]
    text += [f"{head} :- {', '.join(body)}" for head, body in rules]
    model = hb.Model(hb.parse("\n".join(text)))
    for atom in sorted({head for head, _ in rules}):
        expected = minimal_proofs(choices, rules, atom)
        found = model.explain(atom, proofs=3).proofs
        if found is None:  # no choice makes it true, so that it is known
            assert not expected
            continue
        assert [one.probability for one in found.listed] == pytest.approx(expected[:3])
        assert found.are_all == (len(expected) <= 3)


def test_a_proof_has_its_choices_and_conditions() -> None:
    theory = 'n("u")\nn("v")\n0.5 :: a(x) :- n(x)\n0.4 :: b\ngood(x) :- a(x), not b'
    found = hb.Model(hb.parse(theory)).explain('good("u")', proofs=5)
    assert found.proofs is not None
    (proof,) = found.proofs.listed
    assert str(proof) == 'a("u") and not b' and proof.probability == 0.5
    assert found.proofs.formula == '(a("u") and not b)' and found.proofs.are_all
    assert found.to_dict()["proofs"][0]["choices"] == [
        {"atom": 'a("u")', "statement": "0.5 :: a(x) :- n(x)", "grounding": {"x": "u"}, "probability": 0.5}
    ]
    assert 'proof 0.5000: a("u") and not b' in str(found)
    assert "proofs" not in hb.Model(hb.parse(theory)).explain('good("u")').to_dict()


@pytest.mark.parametrize(
    ("theory", "formula"),
    {
        "s\nq :- r\n0.5 :: r :- s, not s\n0.4 :: q": "q",  # r has no way to hold
        "s\nq :- p, not r\n0.5 :: r :- s, not s\n0.4 :: p": "p",
        "0.5 :: b\n0.4 :: d\nc :- b, d\nc :- d\nq :- not b, c": "(d and not b)",
        "0.4 :: d\nc :- o\nc :- d\nq :- not o, c": "(d and not o)",
    }.items(),
)
def test_no_proof_needs_what_no_world_allows(theory: str, formula: str) -> None:
    found = hb.Model(hb.parse(theory)).explain("q", proofs=5).proofs
    assert found is not None and found.formula == formula


def test_choices_of_probability_1_are_needless_too() -> None:
    longer = "q :- e1\ne1 :- e2\ne2 :- e3\ne3 :- c"
    found = hb.Model(hb.parse(f"0.5 :: c\n1.0 :: b :- c\nq :- b\n{longer}")).explain("q", proofs=5).proofs
    assert found is not None and found.formula == "c"


def test_many_proofs_are_cut_off() -> None:
    """Paths through a ladder: the likeliest come first, and the formula says that there are more."""
    steps = [(f"{side}{i}", f"{side}{i + 1}") for side in "ab" for i in range(12)]
    steps += [(f"a{i}", f"b{i}") for i in range(13)]
    theory = "0.9 :: e(x, y) :- s(x, y)\np(x, y) :- e(x, y)\np(x, y) :- e(x, z), p(z, y)"
    found = hb.Model(hb.parse(theory), {"s": steps}).explain('p("a0", "b12")', proofs=2)
    assert found.proofs is not None and found.proofs.formula.endswith(" or ...")
    assert [one.probability for one in found.proofs.listed] == pytest.approx([0.9**13] * 2)


def test_what_rests_on_no_choice_has_no_such_proofs() -> None:
    with pytest.raises(UnsupportedError, match="exact does not use --proofs"):
        hb.Model(hb.parse("1: rain")).explain("rain", proofs=1)


def test_counts_are_no_proofs() -> None:
    theory = hb.parse('n("u")\nn("v")\n0.5 :: a(x) :- n(x)\nmany :- count(x: a(x)) >= 2')
    with pytest.raises(UnsupportedError, match="proofs by counts of what is uncertain are not listed"):
        hb.Model(theory).explain("many", proofs=1)
