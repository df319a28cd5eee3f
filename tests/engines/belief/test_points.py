"""Points that stand for classes of constants beside all constants; rows and tables beside loops over them."""

from __future__ import annotations

import itertools
import math
import random
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.factors.graph import FORBIDDEN
from herbrand.factors.interchangeable import interchangeable
from herbrand.factors.pieces import ABSENT, FEW, Piece, shapes, table_of, together, unique_rows
from herbrand.factors.points import (
    Kind,
    Point,
    PointAtom,
    assignments,
    canonical,
    choices,
    ordered,
)
from herbrand.factors.refinement import mixed, number_bits
from tests.laws import tries

quick = settings(deadline=None, max_examples=tries(60))
SIZES: dict[Kind, int] = {("t", 0): 3, ("t", 1): 1, ("u", 0): 2}
POINTS: list[Point] = [(*kind, number) for kind, size in SIZES.items() for number in range(size)]
points = st.sampled_from(POINTS)
atoms = st.tuples(st.sampled_from("pf"), st.lists(points, min_size=1, max_size=3).map(tuple))
Constant = tuple[str, int, int]


def groundings(named: list[Point], taken: dict[Point, Constant]) -> list[dict[Point, Constant]]:
    """Every way to put different constants of its class for each point."""
    left = [point for point in dict.fromkeys(named) if point not in taken]
    found = []
    for chosen in itertools.product(*([(*p[:2], n) for n in range(SIZES[p[:2]])] for p in left)):
        ways = {**taken, **dict(zip(left, chosen, strict=True))}
        if len(set(ways.values())) == len(ways):
            found.append(ways)
    return found


@quick
@given(st.lists(points, max_size=4), st.sets(points, max_size=2))
def test_choices_are_counted(named: list[Point], taken: set[Point]) -> None:
    """With points chosen before at some constants: whichever, the number is the same."""
    first = {point: point for point in taken}
    assert choices(named, SIZES, taken) == len(groundings(named, first))


@quick
@given(atoms, atoms)
def test_atoms_with_one_canonical_form_stand_for_the_same_ground_atoms(
    one: PointAtom, other: PointAtom
) -> None:
    def ground(atom: PointAtom) -> set[tuple[str, tuple[Constant, ...]]]:
        return {(atom[0], tuple(way[p] for p in atom[1])) for way in groundings(list(atom[1]), {})}

    assert (canonical(one) == canonical(other)) == (ground(one) == ground(other))
    assert canonical(canonical(one)) == canonical(one)
    assert ground(canonical(one)) == ground(one)


@quick
@given(st.lists(atoms, min_size=1, max_size=3, unique=True), st.randoms())
def test_the_smallest_form_forgets_which_constants_they_were(
    several: list[PointAtom], dice: random.Random
) -> None:
    """Exchanging points of a class, and the order of atoms, give the same form."""
    form = ordered(several)
    renaming = {}
    for kind, size in SIZES.items():
        numbers = list(range(size))
        dice.shuffle(numbers)
        renaming |= {(*kind, n): (*kind, numbers[n]) for n in range(size)}
    other = [(name, tuple(renaming[p] for p in its)) for name, its in several]
    dice.shuffle(other)
    assert ordered(other).atoms == form.atoms
    for order in form.orders:
        assert sorted(order) == list(range(len(several)))
    # Each order is a way to see the given atoms as the form, by exchanging points alone.
    for order in form.orders:
        seen: dict[Point, Point] = {}
        for place, atom in enumerate(order):
            assert several[atom][0] == form.atoms[place][0]
            for here, there in zip(several[atom][1], form.atoms[place][1], strict=True):
                assert here[:2] == there[:2] and seen.setdefault(here, there) == there
        assert len(set(seen.values())) == len(seen)


@quick
@given(st.lists(atoms, min_size=1, max_size=3, unique=True), st.sets(points, max_size=1))
def test_fixed_points_stay(several: list[PointAtom], fixed: set[Point]) -> None:
    form = ordered(several, frozenset(fixed))
    for point in fixed & {p for _, its in several for p in its}:
        assert any(point in its for _, its in form.atoms)


@quick
@given(st.lists(st.sampled_from("tu"), max_size=3), st.sets(points, max_size=2))
def test_every_choice_of_constants_has_one_pattern(types: list[str], taken: set[Point]) -> None:
    """The patterns' numbers of choices add up to all ways to put constants for the variables."""
    before = {point for kind in SIZES for point in _first_points(kind, taken)}
    total = 0
    patterns = list(assignments(types, SIZES, before))
    assert len(set(patterns)) == len(patterns)
    for pattern in patterns:
        assert [point[0] for point in pattern] == types
        total += choices(pattern, SIZES, before)
    everything = {"t": 4, "u": 2}
    assert total == math.prod(everything[name] for name in types)


def _first_points(kind: Kind, taken: set[Point]) -> list[Point]:
    """As many points of the class as are taken, numbered from 0 as bindings number them."""
    return [(*kind, number) for number in range(sum(point[:2] == kind for point in taken))]


@quick
@given(
    st.lists(
        st.tuples(
            st.dictionaries(st.integers(0, 2), st.sets(st.integers(0, 2), min_size=1), max_size=3),
            st.sampled_from([0.5, -1.25, FORBIDDEN]),
        ),
        max_size=4,
    ),
    st.lists(st.integers(2, 3), min_size=3, max_size=3),
)
def test_a_table_is_what_its_pieces_are_worth(
    told: list[tuple[dict[int, set[int]], float]], sizes: list[int]
) -> None:
    pieces = []
    for its, worth in told:
        literals = ((slot, tuple(v for v in sorted(its[slot]) if v < sizes[slot])) for slot in its)
        pieces.append(Piece(tuple(literals), worth))
    table = table_of(pieces, sizes)
    for case in np.ndindex(*sizes):
        worth = [p.log_weight for p in pieces if all(case[slot] in allowed for slot, allowed in p.literals)]
        assert table[case] == pytest.approx(math.fsum(worth) if FORBIDDEN not in worth else FORBIDDEN)


def test_literals_of_one_slot_are_intersected() -> None:
    assert together([(0, (0, 1)), (1, (2,)), (0, (1, 2))]) == {0: (1,), 1: (2,)}
    assert together([(0, (0,)), (1, (2,)), (0, (1, 2))]) is None
    assert together([]) == {}


@quick
@given(st.lists(st.lists(st.integers(-1, 4), min_size=3, max_size=3), max_size=8), st.integers(0, 2**32 - 1))
def test_rows_of_one_shape_have_their_atoms_in_the_same_places(rows: list[list[int]], seed: int) -> None:
    table = np.array(rows, np.int64).reshape(-1, 3)
    alive = np.random.default_rng(seed).random((len(table), 2)) < 0.5
    seen = []
    for shape in shapes(table, alive):
        for row, scope in zip(shape.rows.tolist(), shape.scopes.tolist(), strict=True):
            assert scope == sorted(set(rows[row]) - {ABSENT})
            assert [ABSENT if slot == ABSENT else scope[slot] for slot in shape.slots] == rows[row]
            assert tuple(alive[row].tolist()) == shape.alive
            seen.append(row)
    assert sorted(seen) == list(range(len(rows)))
    kinds = {(s.slots, s.alive) for s in shapes(table, alive)}
    assert len(kinds) == len(list(shapes(table, alive))), "no two groups have one shape"


@quick
@given(
    st.one_of(
        st.lists(st.lists(numbers, min_size=3, max_size=3), min_size=least, max_size=least + 8)
        for numbers in (st.integers(-2, 2), st.integers(-2, 2**61))
        for least in (0, FEW)
    ),
    st.sampled_from([np.int64, np.int16]),
)
def test_equal_rows_are_found(rows: list[list[int]], kind: type) -> None:
    """Numbers that fit into one key and numbers that do not."""
    table = np.array(rows, np.int64).reshape(-1, 3).astype(kind)
    first, group = unique_rows(table)
    as_tuples = list(map(tuple, table.tolist()))
    assert len(first) == len(set(as_tuples)) == len({as_tuples[i] for i in first.tolist()})
    for row, number in zip(as_tuples, group.tolist(), strict=True):
        assert as_tuples[int(first[number])] == row


def test_hashes_tell_apart_what_differs() -> None:
    numbers = np.array([0.0, -0.0, 1.0, 1.0 + 1e-15, 1.0 + 1e-6, -1.0, 2.0, math.inf, -math.inf, 1e-300])
    bits = number_bits(numbers).tolist()
    alike = defaultdict(list)
    for place, code in enumerate(bits):
        alike[code].append(place)
    assert [0, 1] in alike.values() and [2, 3] in alike.values(), "but for the last digits"
    assert len(alike) >= 7
    codes = mixed(np.zeros(10_000, np.uint64), np.arange(10_000))
    assert len(np.unique(codes)) == 10_000
    assert (mixed(codes, 3) != mixed(codes, 4)).all()


@settings(quick, max_examples=tries(12))
@given(
    st.lists(st.sampled_from("abcd"), max_size=3, unique=True),
    st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from("abcd")), max_size=4, unique=True),
    st.sampled_from(["", 'p("a")', 'f("b", x)']),
)
def test_interchangeable_constants_may_be_swapped(
    unary: list[str], pairs: list[tuple[str, str]], named: str
) -> None:
    """Swapping two of a class changes no fact and no statement; those that statements name are alone."""
    facts = [f'p("{x}")' for x in unary] + [f'f("{x}", "{y}")' for x, y in pairs]
    text = 'type t = {"a", "b", "c", "d"}\npredicate p(t)\npredicate f(t, t)\n' + "\n".join(facts)
    text += f"\n1: p(x) and f(x, y) => p(y)\n0.5: {named or 'p(x)'}"
    program = hb.Model(hb.parse(text)).program
    of = dict(zip("abcd", interchangeable(program)["t"].of.tolist(), strict=True))
    stated = {("p", x) for x in unary} | {("f", *pair) for pair in pairs}
    for one, other in itertools.combinations("abcd", 2):
        if of[one] == of[other]:
            swap = {one: other, other: one}
            swapped = {(fact[0], *(swap.get(x, x) for x in fact[1:])) for fact in stated}
            assert swapped == stated
            assert f'"{one}"' not in named and f'"{other}"' not in named
