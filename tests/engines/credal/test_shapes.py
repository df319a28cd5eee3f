"""Shapes of ground formulas beside the formulas they come from, case by case."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.engines.credal.lowering import Lowering
from herbrand.engines.credal.network import Atoms, formula_of
from herbrand.engines.credal.sentence_groups import Gathered
from herbrand.engines.credal.shape import (
    FALSE,
    TRUE,
    GroundFormula,
    Shape,
    canonical,
    columns_of,
    constant,
    literals_of,
    negation,
    renamed,
    settled,
    shape_of,
    truth_table,
)
from herbrand.language import syntax as s
from herbrand.program.bindings import Bindings
from tests.laws import tries
from tests.oracles.credal import holds

NAMES = ("a", "b", "c", "d")
DECLARED = "predicate a\npredicate b\npredicate c\npredicate d\npredicate elsewhere: observed"
LOWERING = Lowering.over(hb.Model(hb.parse(DECLARED)).program)
ATOMS = Atoms.of(dict.fromkeys(NAMES, ()))
quick = settings(deadline=None, max_examples=tries(60))


def joined(parts: st.SearchStrategy[s.Formula]) -> st.SearchStrategy[s.Formula]:
    several = st.lists(parts, min_size=2, max_size=3).map(tuple)
    return st.one_of(
        parts.map(s.Not),
        several.map(s.And),
        several.map(s.Or),
        several.map(s.Xor),
        st.builds(s.Implies, parts, parts),
        st.builds(s.Iff, parts, parts),
    )


formulas = st.recursive(
    st.one_of(*[st.sampled_from(NAMES).map(s.Atom)] * 3, st.booleans().map(s.Truth)), joined, max_leaves=7
)


def cases() -> Iterator[dict[str, bool]]:
    for values in itertools.product((False, True), repeat=len(NAMES)):
        yield dict(zip(NAMES, values, strict=True))


def shape(formula: s.Formula) -> Shape:
    """With the places of NAMES as columns."""

    def column(leaf: s.Formula) -> Shape:
        return constant(leaf.value) if isinstance(leaf, s.Truth) else NAMES.index(leaf.predicate)  # type: ignore[union-attr]

    return shape_of(formula, column)


def table(found: Shape) -> list[bool]:
    return truth_table(found, len(NAMES)).tolist()


@quick
@given(formulas)
def test_a_shape_holds_where_its_formula_does(formula: s.Formula) -> None:
    assert table(shape(formula)) == [holds(formula, case) for case in cases()]


@quick
@given(formulas)
def test_truth_values_stand_alone(formula: s.Formula) -> None:
    """What follows is built upon it: a constant inside a connective would be told to solvers as an atom."""
    found = shape(formula)
    assert found in (TRUE, FALSE) or not any(part in (TRUE, FALSE) for part in parts_of(found))


def parts_of(found: Shape) -> Iterator[Shape]:
    yield found
    if isinstance(found, tuple):
        for part in found[1:]:
            yield from parts_of(part)


@quick
@given(formulas)
def test_negation_is_its_own_inverse(formula: s.Formula) -> None:
    found = shape(formula)
    assert table(negation(found)) == [not value for value in table(found)]
    assert negation(negation(found)) == found


@quick
@given(formulas, st.dictionaries(st.integers(0, 3), st.booleans()))
def test_what_is_known_settles_columns(formula: s.Formula, known: dict[int, bool]) -> None:
    left = settled(shape(formula), known)
    assert known.keys().isdisjoint(columns_of(left))
    fixed = [{**case, **{NAMES[c]: truth for c, truth in known.items()}} for case in cases()]
    assert table(left) == [holds(formula, case) for case in fixed]


@quick
@given(formulas, st.permutations(range(20, 24)))
def test_the_canonical_shape_forgets_names_only(formula: s.Formula, numbers: list[int]) -> None:
    """Equal formulas over other atoms are one shape; the atoms give the first back."""
    found = shape(formula)
    one, other = GroundFormula.of(found), GroundFormula.of(renamed(found, numbers))
    assert one.shape == other.shape
    assert tuple(numbers[column] for column in one.atoms) == other.atoms
    assert one.over_atoms() == found
    assert sorted(set(columns_of(one.shape))) == list(range(len(one.atoms)))
    assert canonical(one.shape) == (one.shape, tuple(range(len(one.atoms))))


@quick
@given(formulas)
def test_a_shape_is_said_in_the_language_again(formula: s.Formula) -> None:
    """As messages show it: another text perhaps, the same meaning."""
    said = formula_of(GroundFormula.of(shape(formula)), ATOMS)
    assert [holds(said, case) for case in cases()] == [holds(formula, case) for case in cases()]


@quick
@given(formulas)
def test_literals_are_those_of_a_conjunction(formula: s.Formula) -> None:
    found = shape(formula)
    literals = literals_of(found)
    if literals is None:
        return
    told = [all(case[NAMES[c]] == truth for c, truth in literals.items()) for case in cases()]
    assert table(found) == told


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (2, {2: True}),
        (("not", 0), {0: False}),
        (("and", 0, ("not", 3), 1), {0: True, 3: False, 1: True}),
        (("and", 0, 0), {0: True}),
        (TRUE, {}),
        (FALSE, None),
        (("and", 0, ("not", 0)), None),
        (("or", 0, 1), None),
        (("not", ("iff", 0, 1)), None),
        (("and", 0, ("or", 1, 2)), None),
    ],
)
def test_what_is_a_conjunction_of_literals(found: Shape, expected: dict[int, bool] | None) -> None:
    assert literals_of(found) == expected


@quick
@given(formulas, st.one_of(st.none(), formulas))
def test_the_fast_way_makes_the_same_sentences(event: s.Formula, condition: s.Formula | None) -> None:
    """Files of a million plain bounds take it; anything that it does not know is left to the other way."""
    bound = s.Bound(event, condition, 0.0, 0.7)
    fast, slow = Gathered(), Gathered()
    if not LOWERING._add_plain(0, bound, fast):
        assert any(isinstance(part, s.Truth) for formula in s.formulas_in(bound) for part in s.walk(formula))
        return
    LOWERING.add_bindings(0, bound, Bindings.nothing(), {}, slow)
    assert len(slow.links()) == 0
    for one, other in zip(fast.groups(), slow.groups(), strict=True):
        assert (one.event, one.given) == (other.event, other.given)
        assert one.atoms.tolist() == other.atoms.tolist()
        assert one.binding.tolist() == other.binding.tolist()


def test_an_atom_that_is_not_open_is_not_plain() -> None:
    assert not LOWERING._add_plain(0, s.Bound(s.Atom("elsewhere"), None, 0.0, 0.7), Gathered())
