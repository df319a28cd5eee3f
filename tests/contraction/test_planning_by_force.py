"""Plans beside all trees of pairs, tried one after another: none is cheaper by the same prices."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, combinations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from herbrand.contraction import Contraction, Plan, Statistics, plan, planner, sparse_plan
from herbrand.contraction.expression import Axes
from herbrand.contraction.order import contraction_order
from herbrand.contraction.steps import Step
from tests.laws import tries

MANY = settings(max_examples=tries(60), deadline=None)
NAMES = "abcde"
Tree = tuple["Tree", "Tree"] | int
"""Which operands meet; a number is an operand."""


@st.composite
def contractions(draw: st.DrawFn, most: int, sizes: Sequence[int], least: int = 2) -> Contraction:
    """Over named axes, without repeats, pairs or axes of one place."""
    axes = NAMES[: draw(st.integers(2, len(NAMES)))]
    operand = st.lists(st.sampled_from(axes), min_size=1, max_size=3, unique=True).map(tuple)
    operands = draw(st.lists(operand, min_size=least, max_size=most))
    named = list(dict.fromkeys(chain.from_iterable(operands)))
    output = tuple(draw(st.lists(st.sampled_from(named), unique=True, max_size=2)))
    return Contraction(tuple(operands), output, {axis: draw(st.sampled_from(sizes)) for axis in named})


def trees(operands: frozenset[int]) -> Iterator[Tree]:
    """All ways to multiply two at a time."""
    if len(operands) == 1:
        yield next(iter(operands))
        return
    first, *others = sorted(operands)
    for count in range(len(others)):
        for chosen in combinations(others, count):
            left = frozenset((first, *chosen))
            for one in trees(left):
                for other in trees(operands - left):
                    yield one, other


def leaves(tree: Tree) -> frozenset[int]:
    return frozenset((tree,)) if isinstance(tree, int) else leaves(tree[0]) | leaves(tree[1])


@dataclass(frozen=True)
class Prices:
    """What dense tables cost: every entry of a joint table."""

    asked: Contraction

    def entries(self, axes: frozenset[str]) -> int:
        return math.prod(self.asked.sizes[axis] for axis in axes)

    def kept(self, inside: frozenset[int]) -> frozenset[str]:
        """The axes of a product of these operands that something else needs."""
        operands = self.asked.operands
        outside = chain.from_iterable(axes for i, axes in enumerate(operands) if i not in inside)
        own = frozenset(chain.from_iterable(operands[i] for i in inside))
        return own & frozenset((*outside, *self.asked.output))

    def of(self, tree: Tree) -> int:
        if isinstance(tree, int):
            own = frozenset(self.asked.operands[tree])
            return self.entries(own) if self.kept(frozenset((tree,))) < own else 0
        left, right = map(leaves, tree)
        joint = self.kept(left) | self.kept(right)
        return self.of(tree[0]) + self.of(tree[1]) + self.entries(joint)


def visited(found: Plan) -> int:
    return sum(step.joint for route in found.routes for step in route.steps)


@MANY
@given(contractions(4, (2, 3, 7, 30)))
def test_of_few_operands_no_tree_is_cheaper(asked: Contraction) -> None:
    """Every axis that one operand alone has is summed out at once; nothing is saved by waiting."""
    prices = Prices(asked)
    best = min(map(prices.of, trees(frozenset(range(len(asked.operands))))))
    assert visited(plan(asked, executor="dense")) == best


@settings(max_examples=tries(25), deadline=None)
@given(contractions(5, (2, 3, 7, 30), least=5))
def test_of_five_no_tree_is_cheaper(asked: Contraction) -> None:
    """Those among them in which operands meet that share no axis, or none but the output's."""
    prices = Prices(asked)
    best = min(map(prices.of, trees(frozenset(range(5)))))
    assert visited(plan(asked, executor="dense")) == best


@MANY
@given(contractions(5, (2, 3, 7, 30)))
def test_elimination_is_at_most_a_few_times_dearer_than_pairs(asked: Contraction) -> None:
    """What many operands get, beside what few get: all holders of an axis meet at once."""
    pairs = visited(plan(asked, executor="dense"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("herbrand.contraction.order.FEW_OPERANDS", 0)
        planner.forget()
        found = visited(plan(asked, executor="dense"))
        planner.forget()
    assert found <= 30 * pairs


@dataclass(frozen=True)
class Expected:
    """What sparse steps are expected to cost, if entries are spread evenly."""

    asked: Contraction
    listed: tuple[int | None, ...]

    @cached_property
    def whole(self) -> Prices:
        return Prices(self.asked)

    def size(self, axes: frozenset[str]) -> float:
        return float(self.whole.entries(axes))

    def table(self, inside: frozenset[int]) -> tuple[frozenset[str], float, bool]:
        """The axes of a product, how many entries it lists, and whether it is sparse."""
        kept = self.whole.kept(inside)
        if len(inside) == 1:
            (one,) = inside
            axes, count = frozenset(self.asked.operands[one]), self.listed[one]
            if kept == axes:
                return axes, self.size(axes) if count is None else float(count), count is not None
            return self.reduced(kept, self.size(axes) if count is None else float(count), count is not None)
        rows = self.rows([frozenset((one,)) for one in inside])
        return self.reduced(kept, rows, any(self.table(frozenset((one,)))[2] for one in inside))

    def reduced(self, kept: frozenset[str], rows: float, sparse: bool) -> tuple[frozenset[str], float, bool]:
        size = self.size(kept)
        stays = sparse and bool(kept) and size > max(4096, 4 * rows)
        return kept, min(size, rows) if stays else size, stays

    def rows(self, parts: Sequence[frozenset[int]]) -> float:
        """How many products of entries there are."""
        tables = [self.table(part) for part in parts]
        union = frozenset().union(*(axes for axes, _, _ in tables))
        return math.prod(n / max(1.0, self.size(axes)) for axes, n, _ in tables) * self.size(union)

    def pair(self, left: frozenset[int], right: frozenset[int]) -> float:
        (one, _, first), (other, _, second) = self.table(left), self.table(right)
        rows = self.rows([left, right])
        if not first and not second:
            return 0.05 * rows
        return rows * (4.0 if first and second and not (one <= other or other <= one) else 1.0)

    def masked(self, left: frozenset[int], right: frozenset[int], mask: frozenset[int]) -> float:
        """Of the product of two at the entries of a third; infinity where a third cannot close a cycle."""
        (one, _, first), (other, _, second) = self.table(left), self.table(right)
        third, listed, sparse = self.table(mask)
        kept = self.whole.kept(left | right | mask)
        possible = (
            first
            and second
            and sparse
            and not (one <= other or other <= one)
            and kept <= third
            and one ^ other <= third <= one | other
        )
        return 0.5 * self.rows([left, right]) + listed if possible else math.inf

    def best(self, inside: frozenset[int], known: dict[frozenset[int], float]) -> float:
        """The least cost of any way to multiply these operands."""
        if len(inside) == 1:
            return 0.0
        if inside not in known:
            ways = [
                self.best(left, known) + self.best(right, known) + self.pair(left, right)
                for left, right in halves(inside)
            ]
            for one in inside:
                mask = frozenset((one,))
                for left, right in halves(inside - mask):
                    own = self.masked(left, right, mask)
                    ways.append(own + self.best(left, known) + self.best(right, known))
            known[inside] = min(ways)
        return known[inside]

    def of(self, steps: Sequence[Step]) -> float:
        """What the steps of a plan cost by these prices."""
        slots = [frozenset((one,)) for one in range(len(self.asked.operands))]
        total = 0.0
        for step in steps:
            parts = [slots[slot] for slot in step.slots]
            if len(parts) == 2:
                total += self.pair(*parts)
            elif len(parts) == 3:
                assert step.kind == "masked"
                total += self.masked(*parts)
            slots.append(frozenset().union(*parts))
        return total


def halves(inside: frozenset[int]) -> Iterator[tuple[frozenset[int], frozenset[int]]]:
    members = sorted(inside)
    for count in range(1, len(members)):
        for chosen in combinations(members, count):
            if members[0] in chosen:
                yield frozenset(chosen), inside - frozenset(chosen)


@settings(max_examples=tries(40), deadline=None)
@given(
    contractions(5, (3, 50, 10**4, 10**5)),
    st.lists(st.sampled_from([None, 10, 1000, 10**5, 10**6]), min_size=5, max_size=5),
)
def test_no_tree_of_sparse_pairs_and_cycles_is_cheaper(asked: Contraction, drawn: list[int | None]) -> None:
    sizes = [math.prod(asked.shape(axes)) for axes in asked.operands]
    listed = tuple(
        None if count is None or size < 100 else min(count, size // 4)
        for count, size in zip(drawn, sizes, strict=False)
    )
    assume(any(one is not None for one in listed))
    expected = Expected(asked, listed)
    found = plan(asked, [Statistics(one) for one in listed], memory=2**60, executor="sparse")
    (route,) = found.routes
    everything = frozenset(range(len(asked.operands)))
    assert expected.of(route.steps) == pytest.approx(expected.best(everything, {}), rel=1e-9)


def test_prices_are_the_planners() -> None:
    """The twin above names them by number."""
    assert (sparse_plan.ROW_COST, sparse_plan.JOIN_COST) == (1.0, 4.0)
    assert (sparse_plan.WEDGE_COST, sparse_plan.DENSE_COST) == (0.5, 0.05)
    assert (sparse_plan.SMALL_TABLE, sparse_plan.DENSE_RESULT) == (4096, 4)


def spent(found: Plan) -> list[tuple[str, Axes]]:
    return [(step.kind, step.output) for route in found.routes for step in route.steps]


def test_a_triangle_is_masked_only_where_that_saves() -> None:
    sizes = dict.fromkeys("abc", 10**5)
    cycle = Contraction.parse("a b, b c, a c ->", sizes)
    dense_enough = [Statistics(10**6)] * 3
    assert spent(plan(cycle, dense_enough))[0][0] == "masked"
    asked = Contraction.parse("a b, b c, a c -> b", sizes)
    assert "b" in spent(plan(asked, dense_enough))[-1][1]


CHAINS: Mapping[str, tuple[str, dict[str, int], list[int | None]]] = {
    "the thin end first": ("a b, b c, c d -> a", {"a": 2, "b": 1000, "c": 1000, "d": 1000}, [None] * 3),
    "the fat middle last": ("a b, b c, c d -> a d", {"a": 3, "b": 500, "c": 500, "d": 3}, [None] * 3),
    "a star": ("a h, b h, c h, d h -> a b", {"a": 9, "b": 9, "c": 50, "d": 50, "h": 100}, [None] * 4),
    "two parts": ("a b, c d -> a c", {"a": 10, "b": 100, "c": 10, "d": 100}, [None] * 2),
}


@pytest.mark.parametrize("name", CHAINS)
def test_named_shapes(name: str) -> None:
    text, sizes, listed = CHAINS[name]
    asked = Contraction.parse(text, sizes)
    prices = Prices(asked)
    best = min(map(prices.of, trees(frozenset(range(len(asked.operands))))))
    assert visited(plan(asked, [Statistics(one) for one in listed])) == best


def test_where_it_costs_no_more_operands_meet_in_their_own_order() -> None:
    sizes = {"x": 50, "y": 50}
    first, second = contraction_order((("x",), ("x", "y"), ("y",)), (), sizes)
    assert set(first.slots) == {0, 1} and set(second.slots) == {2, 3}
