"""Shattered parts hold exactly where the whole did, each once, and no two of their literals are one atom."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from herbrand.errors import UnsupportedError
from herbrand.program import shatter
from herbrand.program.program import (
    Argument,
    Block,
    Conjunction,
    Literal,
    Template,
    different,
    literals_of,
    substituted,
)
from herbrand.program.shatter import shattered, split
from tests.laws import tries

SIZE = 3
COUNTS = {"p": 2, "f": 2, "v": 3}
"""A latent predicate's values; ``e`` is known."""
ARITY = {"p": 1, "f": 2, "v": 1, "e": 2}
OUTER, INNER = ("x", "y"), ("z", "w")


def literals(names: tuple[str, ...]) -> st.SearchStrategy[Literal]:
    terms = st.one_of(st.sampled_from(names), st.integers(0, SIZE - 1))
    return st.sampled_from(sorted(ARITY)).flatmap(
        lambda name: st.builds(
            Literal,
            st.just(name),
            st.tuples(*[terms] * ARITY[name]),
            st.sets(st.integers(0, COUNTS.get(name, 2) - 1), min_size=1, max_size=2).map(sorted).map(tuple),
        )
    )


def pairs(names: tuple[str, ...]) -> st.SearchStrategy[frozenset[tuple[Argument, Argument]]]:
    terms = st.one_of(st.sampled_from(names), st.integers(0, SIZE - 1))
    drawn = st.tuples(st.sampled_from(names), terms).filter(lambda pair: pair[0] != pair[1])
    return st.frozensets(drawn.map(lambda pair: different(*pair)), max_size=1)


@st.composite
def conjunctions(draw: st.DrawFn) -> Conjunction:
    own = tuple((name, "t") for name in OUTER)
    blocks = []
    for some in draw(st.lists(st.booleans(), max_size=1)):
        piece = Conjunction(
            tuple((name, "t") for name in INNER[: draw(st.integers(1, 2))]),
            tuple(draw(st.lists(literals((*OUTER, "z")), min_size=1, max_size=2))),
            draw(pairs(("z", "x"))),
        )
        blocks.append(Block((piece,), some))
    return Conjunction(
        own, tuple(draw(st.lists(literals(OUTER), max_size=3))), draw(pairs(OUTER)), tuple(blocks)
    )


World = Mapping[tuple[str, tuple[int, ...]], int]


def holds(found: Conjunction, world: World, binding: Mapping[str, int]) -> bool:
    def index(argument: Argument) -> int:
        return binding[argument] if isinstance(argument, str) else argument

    return (
        all(index(a) != index(b) for a, b in found.distinct)
        and all(index(a) == index(b) for a, b in found.equal)
        and all(world[x.predicate, tuple(map(index, x.arguments))] in x.allowed for x in found.literals)
        and all(
            block.some == any(holds(p, world, inner) for p in block.pieces for inner in bindings(p, binding))
            for block in found.blocks
        )
    )


def bindings(found: Conjunction, outer: Mapping[str, int]) -> Iterator[dict[str, int]]:
    names = [name for name, _ in found.variables]
    for row in itertools.product(range(SIZE), repeat=len(names)):
        yield {**outer, **dict(zip(names, row, strict=True))}


def count(found: Conjunction, world: World) -> int:
    return sum(holds(found, world, binding) for binding in bindings(found, {}))


@settings(phases=[Phase.explicit, Phase.reuse, Phase.generate], max_examples=tries(80))
@given(conjunctions(), st.randoms(use_true_random=False))
def test_parts_hold_as_often_as_the_whole(whole: Conjunction, chance) -> None:
    parts = shattered(whole, COUNTS.get)
    for _ in range(4):
        world = {
            (name, row): chance.randrange(COUNTS.get(name, 2))
            for name, arity in ARITY.items()
            for row in itertools.product(range(SIZE), repeat=arity)
        }
        assert sum(count(part, world) for part in parts) == count(whole, world)
    for part in parts:
        assert not part.equal
        _assert_apart(part, part.distinct)


def _assert_apart(part: Conjunction, distinct: frozenset) -> None:
    latent = [x for x in part.literals if x.predicate in COUNTS]
    for one, other in itertools.combinations(latent, 2):
        if one.predicate != other.predicate:
            continue
        differing = [different(a, b) for a, b in zip(one.arguments, other.arguments, strict=True) if a != b]
        assert any(p in distinct or all(isinstance(a, int) for a in p) for p in differing), part
    for block in part.blocks:
        for piece in block.pieces:
            _assert_apart(piece, distinct | piece.distinct)


def conjunction(*found: Literal, distinct: frozenset = frozenset()) -> Conjunction:
    names = sorted({a for x in found for a in x.arguments if isinstance(a, str)})
    return Conjunction(tuple((name, "t") for name in names), found, distinct)


P = {v: Literal("p", ("x",), (v,)) for v in (0, 1)}
THERE = {name: Literal(name, ("x", "y"), (1,)) for name in ("e", "f")}
BACK = {name: Literal(name, ("y", "x"), (1,)) for name in ("e", "f")}
SHATTERED = [
    (conjunction(), ["{}"]),
    (conjunction(P[0], P[0]), ["{x: t}  not p(x)"]),
    (conjunction(P[0], P[1]), []),
    (conjunction(Literal("p", ("x",), (0, 1))), ["{x: t}"]),
    (conjunction(Literal("v", ("x",), (0, 2)), Literal("v", ("x",), (1, 2))), ["{x: t}  v(x) in {2}"]),
    (
        conjunction(P[1], Literal("p", (2,), (1,))),
        ["{}  p(#2)", "{x: t}  [x != #2]  p(x) and p(#2)"],
    ),
    (
        conjunction(P[1], Literal("p", (2,), (0,))),
        ["{x: t}  [x != #2]  p(x) and not p(#2)"],
    ),
    (conjunction(THERE["e"], BACK["e"]), ["{x: t, y: t}  e(x, y) and e(y, x)"]),
    (conjunction(THERE["f"], BACK["f"]), ["{x: t}  f(x, x)", "{x: t, y: t}  [x != y]  f(x, y) and f(y, x)"]),
    (
        conjunction(THERE["f"], BACK["f"], distinct=frozenset({("x", "y")})),
        ["{x: t, y: t}  [x != y]  f(x, y) and f(y, x)"],
    ),
    (conjunction(Literal("f", (0, 1), (1,)), Literal("f", (1, 0), (1,))), ["{}  f(#0, #1) and f(#1, #0)"]),
]


@pytest.mark.parametrize(("whole", "parts"), SHATTERED)
def test_small_ones(whole: Conjunction, parts: list[str]) -> None:
    assert list(map(str, shattered(whole, COUNTS.get))) == parts


def test_too_many_ways_to_be_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = conjunction(*(Literal("p", (name,), (0,)) for name in ("w", "x", "y", "z")))
    assert len(shattered(whole, COUNTS.get)) == 15
    monkeypatch.setattr(shatter, "MOST_PARTS", 14)
    with pytest.raises(UnsupportedError, match="equal or different in more than 14 ways"):
        shattered(whole, COUNTS.get)


def test_split_and_substituted() -> None:
    whole = conjunction(Literal("f", ("x", "y"), (1,)), distinct=frozenset({("x", 2)}))
    equal, differ = split(whole, ("x", "y"))
    assert str(equal) == "{x: t}  [x != #2]  f(x, x)" and ("x", "y") in differ.distinct
    assert [str(part) for part in split(whole, ("x", 2))] == ["{x: t, y: t}  [x != #2]  f(x, y)"]
    assert substituted(whole, "x", 2) is None
    assert str(substituted(whole, "y", 0)) == "{x: t}  [x != #2]  f(x, #0)"


def test_the_order_of_a_pair() -> None:
    assert different("y", "x") == ("x", "y") == different("x", "y")
    assert different(3, "x") == ("x", 3) and different(5, 2) == (2, 5)


def test_templates_are_shown_with_what_they_are_worth() -> None:
    block = Block((Conjunction((("z", "t"),), (P[1],)), Conjunction()), False)
    whole = Conjunction((("x", "t"),), (Literal("v", ("x",), (0, 2)),), frozenset({("x", 1)}), (block,))
    assert str(Template(whole, 3)) == "+w3  {x: t}  [x != #1]  v(x) in {0, 2} and none[{z: t}  p(x) | {}]"
    assert str(Template(Conjunction(), None)) == "forbidden  {}"
    assert [x.predicate for x in literals_of(whole)] == ["v", "p"]
