"""Terms beside worlds: counts of elements and pairs give each world the weight of its groundings."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Mapping

import pytest

import herbrand as hb
from herbrand.engines.lifted.terms import (
    PROPOSITIONS,
    CountTerm,
    Literals,
    NotLiftableError,
    Number,
    Own,
    PairTerm,
    Slot,
    Some,
    Terms,
    terms_of,
)
from herbrand.errors import HerbrandError
from herbrand.program.program import Program
from tests.engines.unseen import theory
from tests.oracles.worlds import GroundAtom, Universe

World = Mapping[GroundAtom, object]


class Counting:
    """Terms evaluated in one world, element by element."""

    def __init__(self, program: Program, world: World) -> None:
        self.program, self.world = program, world

    def elements(self, type_name: str) -> list[int]:
        return [0] if type_name == PROPOSITIONS else list(range(len(self.program.domain(type_name))))

    def value(self, predicate: str, arguments: tuple[int, ...]) -> int:
        types = self.program.signature.predicates[predicate].types
        names = tuple(self.program.domain(t).value(a) for t, a in zip(types, arguments, strict=True))
        found = self.world[predicate, names]
        value_type = self.program.signature.predicates[predicate].value_type
        if value_type is None:
            return int(bool(found))
        return self.program.domain(value_type).values.to_pylist().index(found)

    def own(self, own: Own, element: int) -> int:
        width = len(self.program.signature.predicates[own.predicate].types)
        return self.value(own.predicate, (element,) * width)

    def hold(self, literals: Literals, element: int) -> bool:
        return all(self.own(own, element) in allowed for own, allowed in literals)

    def inside(self, slot: Slot) -> list[int]:
        chosen = self.elements(slot.type) if slot.constant is None else [slot.constant]
        return [e for e in chosen if e not in slot.excluded and self.hold(slot.literals, e)]

    def number(self, number: Number) -> int:
        return sum(times * math.prod(len(self.inside(s)) for s in slots) for times, slots in number)

    def condition(self, some: Some) -> int:
        return int(any(all(self.number(n) > 0 for n in piece) for piece in some.pieces) == some.some)

    def count(self, term: CountTerm) -> int:
        return math.prod(map(self.number, term.numbers)) * math.prod(map(self.condition, term.conditions))

    def pairs(self, term: PairTerm) -> int:
        found = 0
        for left, right in itertools.product(self.inside(term.left), self.inside(term.right)):
            if term.left.type == term.right.type and left == right:
                continue
            found += all(
                self.value(name, (left, right) if straight else (right, left)) in allowed
                for name, straight, allowed in term.atoms
            )
        return found * term.times * self.hold(term.given, 0)

    def log_weight(self, terms: Terms) -> float:
        total = []
        for term in (*terms.counts, *terms.pairs):
            times = self.count(term) if isinstance(term, CountTerm) else self.pairs(term)
            if term.weight is None:
                assert times >= 0
                if times:
                    return -math.inf
            else:
                total.append(term.sign * self.program.weights[term.weight].value * times)
        return math.fsum(total)


def assert_weighs_worlds(text: str, universe: Universe, dice: random.Random) -> bool:
    """Whether counting can take it."""
    parsed = hb.parse(text)
    try:
        program = hb.Model(parsed).program
        terms = terms_of(program, program.templates)
    except (NotLiftableError, HerbrandError):
        return False
    silent = Universe(universe.domains, universe.predicates)
    for _ in range(8):
        world = {atom: dice.choice(universe.choices(atom)) for atom in universe.atoms()}
        expected = silent.log_weight(world, parsed.formulas)
        assert Counting(program, world).log_weight(terms) == pytest.approx(expected, abs=1e-9), text
    return True


def test_terms_give_worlds_the_weight_that_they_have() -> None:
    dice = random.Random(0)
    taken = sum(assert_weighs_worlds(*theory(seed, liftable=True), dice) for seed in range(40))
    assert taken > 20
    taken = sum(assert_weighs_worlds(*theory(seed), dice) for seed in range(25))
    assert taken > 5


@pytest.mark.slow
def test_terms_give_worlds_the_weight_that_they_have_at_length() -> None:
    dice = random.Random(1)
    assert sum(assert_weighs_worlds(*theory(seed, seed % 3 > 0), dice) for seed in range(2000, 2600)) > 250


DECLARED = """\
type t = {"a", "b", "c"}
type u = {"d", "e"}
predicate p(t)
predicate q(t)
predicate r(u)
predicate f(t, t)
predicate h(u, t)
predicate color(t) in {"x", "y", "z"}
predicate rain
"""
PREDICATES = {
    "p": (("t",), None),
    "q": (("t",), None),
    "r": (("u",), None),
    "f": (("t", "t"), None),
    "h": (("u", "t"), None),
    "color": (("t",), ("x", "y", "z")),
    "rain": ((), None),
}
UNIVERSE = Universe({"t": "abc", "u": "de", "color value": "xyz"}, PREDICATES)


@pytest.mark.parametrize(
    "sentence",
    [
        "0.7: p(x) and p(y)",
        "0.7: p(x) and p(y) where x != y",
        "-0.4: p(x) or q(y) where x != y",
        "0.3: p(x) and p(y) and p(z) where x != y and y != z",
        "0.3: p(x) and q(y) and p(z) where x != y and y != z and x != z",
        '0.3: p(x) and q(y) where x != y and x != "b"',
        '0.3: f(x, "b") and p(x)',
        '0.3: f("c", "b") or f("b", "c")',
        "0.6: f(x, y) <=> f(y, x)",
        "0.6: f(x, x) and p(x)",
        "0.6: f(x, y) and rain",
        "0.6: h(w, x) and p(x) => r(w)",
        "0.6: p(x) and rain => q(x)",
        '0.9: color(x) = "x" and color(y) in {"x", "y"} where x != y',
        '0.9: color(x) = "x" => f(x, y)',
        "0.2: exists x: p(x) and q(x)",
        "0.2: p(x) and exists y: q(y) and p(y)",
        "0.2: (exists x: p(x)) <=> (forall y: q(y))",
        "0.2: exists x, y: p(x) and q(y) and x != y",
        "hard: p(x) => exists w: r(w)",
        "hard: f(x, y) => p(x) or p(y)",
        "0.5: p(x) and q(y) where x = y",
        "0.5: rain",
        "0.5: true or p(x)",
    ],
)
def test_each_kind_of_sentence(sentence: str) -> None:
    """Formulas over independent, different and linked variables; constants; propositions; quantifiers."""
    assert assert_weighs_worlds(DECLARED + sentence, UNIVERSE, random.Random(2)), "counting takes it"


def _terms(sentence: str) -> Terms:
    program = hb.Model(hb.parse(DECLARED + sentence)).program
    return terms_of(program, program.templates)


def test_a_variable_that_a_formula_only_ranges_over_is_a_number() -> None:
    """Of a linked pair and a variable of which nothing is said: twice, or three times, the weight."""
    (term,) = _terms("0.5: f(x, y) and (r(w) or not r(w)) where x != y").pairs
    assert term.times == 2 and len(term.atoms) == 1
    pairs = _terms('0.5: f(x, y) and (q(z) or not q(z)) where x != y and z != "b"').pairs
    assert {term.times for term in pairs} == {2}


def test_different_variables_are_all_choices_without_the_equal_ones() -> None:
    (term,) = _terms("0.5: p(x) and q(y) where x != y").counts
    (number,) = term.numbers
    assert sorted(times for times, _ in number) == [-1, 1]
    ((_, product),) = [part for part in number if part[0] == -1]
    (slot,) = product
    assert {own.predicate for own, _ in slot.literals} == {"p", "q"}
    assert term.single is None


def test_terms_about_one_element_are_known_as_such() -> None:
    (term,) = _terms('0.5: p(x) and color(x) = "y" where x != "a"').counts
    assert term.single == Slot("t", ((Own("p"), (1,)), (Own("color"), (1,))), None, frozenset({0}))
    assert term.single is not None and term.single.named == {0}
    (named,) = (term for term in _terms('0.5: p("b")').counts if any(slot.literals for slot in term.slots))
    assert named.single is not None and named.single.named == {1}
    for several in ("0.5: p(x) and q(y)", "0.5: p(x) and rain", "0.5: rain and exists x: p(x)"):
        assert all(term.single is None for term in _terms(several).counts), several


def test_slots_that_only_quantifiers_speak_of() -> None:
    (term,) = _terms("0.5: rain and exists x: p(x) and q(x)").counts
    (slot,) = term.quantified
    assert {own.predicate for own, _ in slot.literals} == {"p", "q"}
    assert len(list(term.slots)) == 2


def test_a_weight_of_nothing_is_no_term() -> None:
    assert _terms("0: f(x, y) and f(y, z) and f(z, x)\n0.0: p(x)") == Terms((), ())


@pytest.mark.parametrize(
    ("sentence", "reason"),
    [
        (
            "0.1: f(x, y) and f(y, z)",
            "a formula links more than two variables through atoms of two arguments",
        ),
        (
            "0.1: f(x, y) and f(z, w)",
            "a formula links more than two variables through atoms of two arguments",
        ),
        ("0.1: f(x, y) and q(z)", "a formula speaks of a linked pair and of another variable at once"),
        ("0.1: f(x, y) and exists z: p(z)", "a quantifier stands beside an atom of two arguments"),
        ("0.1: exists y: f(x, y)", "a quantifier ties its variable to others"),
        ("0.1: exists x, y: f(x, y)", "a quantifier speaks of atoms of two arguments"),
        ("0.1: p(x) and exists y: q(y) and y != x", "a quantifier compares its variable with one outside"),
        ("0.1: exists x: p(x) and forall y: q(y)", "a quantifier ties its variable to others"),
        ("0.1: s(x, y, z)\npredicate s(t, t, t)", "s has 3 arguments"),
    ],
)
def test_why_counting_does_not_take_a_formula(sentence: str, reason: str) -> None:
    """As users read it behind "answered by ground elimination, since"."""
    with pytest.raises(NotLiftableError) as told:
        _terms(sentence)
    assert str(told.value) == reason
