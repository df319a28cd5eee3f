"""Contractions at the edge: no operands, no entries, axes of one place, weights of every size."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from herbrand import contraction
from herbrand.contraction import Contraction, Dense, Relation, Sparse, Support, contract, statistics
from herbrand.contraction.algebra import algebra_named
from herbrand.contraction.blocks import blocks
from herbrand.contraction.expression import Sizes
from herbrand.contraction.relation import converted, has_background
from herbrand.contraction.torch_blocks import OneThread
from herbrand.errors import BudgetError
from tests.contraction.problems import ALGEBRAS, DTYPES, VALUES, ZEROS, Problem, agree
from tests.laws import tries
from tests.oracles.contraction import OPERATIONS

each_algebra = pytest.mark.parametrize("algebra", ALGEBRAS)
each_executor = pytest.mark.parametrize("executor", ["dense", "sparse"])


def dtype(algebra: str) -> torch.dtype:
    return DTYPES.get(algebra, torch.float64)


def dense(algebra: str, values: object) -> Dense:
    return Dense(torch.tensor(values, dtype=dtype(algebra)))


def sparse(
    algebra: str, rows: list[tuple[int, ...]], shape: tuple[int, ...], default: object = None
) -> Sparse:
    indices = np.array(rows, np.int64).reshape(len(rows), len(shape))
    values = torch.full((len(rows),), OPERATIONS[algebra].one, dtype=dtype(algebra))
    return Sparse.of(indices, values, shape, ZEROS[algebra] if default is None else default, algebra)


def checked(asked: Contraction, relations: list[Relation], executor: str) -> torch.Tensor:
    """The answer, which is that of nested loops."""
    found = contract(asked, relations, executor=executor).to_dense()
    agree(found, Problem(asked, tuple(relations)).truth())
    return found


@each_algebra
@each_executor
class TestNothing:
    def test_no_operands(self, algebra: str, executor: str) -> None:
        """An empty product is one, added up over all axes, broadcast over the output."""
        found = checked(Contraction.parse("-> a", {"a": 2, "b": 3}, algebra=algebra), [], executor)
        assert found.shape == (2,)

    def test_no_operands_and_no_axes(self, algebra: str, executor: str) -> None:
        found = checked(Contraction.parse("->", {}, algebra=algebra), [], executor)
        assert found.item() == OPERATIONS[algebra].one

    def test_scalars_multiply(self, algebra: str, executor: str) -> None:
        two = [dense(algebra, VALUES[algebra][1])] * 2
        checked(Contraction.parse(", ->", {}, algebra=algebra), list(two), executor)

    def test_an_axis_without_places(self, algebra: str, executor: str) -> None:
        asked = Contraction.parse("a b, b -> a", {"a": 2, "b": 0}, algebra=algebra)
        empty = [Dense(torch.zeros(shape, dtype=dtype(algebra))) for shape in ((2, 0), (0,))]
        assert checked(asked, list(empty), executor).tolist() == [ZEROS[algebra]] * 2

    def test_an_output_without_places(self, algebra: str, executor: str) -> None:
        asked = Contraction.parse("a b -> b a", {"a": 2, "b": 0}, algebra=algebra)
        assert checked(asked, [Dense(torch.zeros((2, 0), dtype=dtype(algebra)))], executor).shape == (0, 2)

    def test_a_relation_that_lists_nothing(self, algebra: str, executor: str) -> None:
        asked = Contraction.parse("a b, b c -> a c", dict.fromkeys("abc", 3), algebra=algebra)
        nothing, all_pairs = sparse(algebra, [], (3, 3)), sparse(algebra, [(0, 1), (2, 2)], (3, 3))
        for relations in ([nothing, all_pairs], [all_pairs, nothing], [nothing, nothing]):
            assert checked(asked, list(relations), executor).eq(ZEROS[algebra]).all()

    def test_nothing_listed_over_a_background(self, algebra: str, executor: str) -> None:
        one = OPERATIONS[algebra].one
        asked = Contraction.parse("a b, b -> a", {"a": 2, "b": 3}, algebra=algebra)
        checked(asked, [sparse(algebra, [], (2, 3), one), sparse(algebra, [(1,)], (3,))], executor)


@each_algebra
@each_executor
class TestAxesOfOnePlace:
    def test_they_come_and_go(self, algebra: str, executor: str) -> None:
        sizes = {"a": 2, "one": 1, "uno": 1}
        row = VALUES[algebra][:2]
        asked = Contraction.parse("one a, uno -> uno a one", sizes, algebra=algebra)
        relations: list[Relation] = [dense(algebra, [row]), dense(algebra, [row[1]])]
        assert checked(asked, relations, executor).shape == (1, 2, 1)

    def test_sparse_ones(self, algebra: str, executor: str) -> None:
        sizes = {"a": 3, "one": 1, "b": 2}
        asked = Contraction.parse("a one, one b one -> b one a", sizes, algebra=algebra)
        relations: list[Relation] = [
            sparse(algebra, [(0, 0), (2, 0)], (3, 1)),
            sparse(algebra, [(0, 1, 0)], (1, 2, 1)),
        ]
        assert checked(asked, relations, executor).shape == (2, 1, 3)

    def test_two_of_them_are_never_distinct(self, algebra: str, executor: str) -> None:
        """Wherever the pair stands: in an operand, in the output, or in neither."""
        sizes = {"p": 1, "q": 1, "a": 2}
        for text in ("p q, a -> a", "p a, q a -> p q", "p a, q a -> a"):
            asked = Contraction.parse(text, sizes, distinct=[("p", "q")], algebra=algebra)
            relations: list[Relation] = [
                Dense(torch.full(asked.shape(axes), OPERATIONS[algebra].one, dtype=dtype(algebra)))
                for axes in asked.operands
            ]
            assert checked(asked, relations, executor).eq(ZEROS[algebra]).all()


@each_executor
class TestPairsAndDiagonals:
    """x ≠ y where an axis also repeats: the diagonal that is taken is not the one that is left out."""

    SIZES = dict.fromkeys("abc", 3)

    @pytest.mark.parametrize(
        ("text", "apart"),
        [
            ("a a b ->", "ab"),
            ("a b a b -> a", "ab"),
            ("a a, b b -> a b", "ab"),
            ("a b, b a, a a ->", "ab"),
            ("a b c, c b a -> b", "ab ac bc"),
            ("a, b, c -> a", "ab bc"),
            ("a, b, c -> c b a", "ab ac bc"),
        ],
    )
    @pytest.mark.parametrize("algebra", ["real", "log", "boolean"])
    def test_against_loops(self, text: str, apart: str, algebra: str, executor: str) -> None:
        pairs = [(pair[0], pair[1]) for pair in apart.split()]
        asked = Contraction.parse(text, self.SIZES, distinct=pairs, algebra=algebra)
        generator = torch.Generator().manual_seed(7)
        relations: list[Relation] = []
        for axes in asked.operands:
            drawn = torch.randint(len(VALUES[algebra]), asked.shape(axes), generator=generator)
            relations.append(Dense(torch.tensor(VALUES[algebra], dtype=dtype(algebra))[drawn]))
        checked(asked, relations, executor)
        listed = [
            Sparse.of(
                np.argwhere(np.ones(relation.shape, bool)), relation.to_dense().flatten(), relation.shape
            )
            for relation in relations
        ]
        zeros = [one.with_values(one.values, ZEROS[algebra]) for one in listed]
        checked(asked, list(zeros), executor)


@each_executor
class TestWeights:
    def test_log_weights_far_apart_do_not_disturb_each_other(self, executor: str) -> None:
        asked = Contraction.parse("a b, b -> a", {"a": 3, "b": 2}, algebra="log")
        table = [[1e4, -1e4], [-math.inf, 0.0], [-math.inf, -math.inf]]
        found = contract(asked, [dense("log", table), dense("log", [-1e4, 1e4])], executor=executor)
        assert found.to_dense().tolist() == pytest.approx([math.log(2), 1e4, -math.inf])

    def test_large_counts_stay_whole(self, executor: str) -> None:
        asked = Contraction.parse("a, a ->", {"a": 2}, algebra="counting")
        rows = sparse("counting", [(0,), (1,)], (2,)).with_values(torch.tensor([2**31, 1]))
        assert contract(asked, [rows, rows], executor=executor).to_dense().item() == 2**62 + 1

    def test_a_product_with_zero_is_zero_whatever_else(self, executor: str) -> None:
        asked = Contraction.parse("a, a -> a", {"a": 2}, algebra="max_product")
        huge = dense("max_product", [1e308, 1e308])
        found = contract(asked, [huge, dense("max_product", [0.0, 0.5])], executor=executor)
        assert found.to_dense().tolist() == [0.0, 5e307]


class TestBlocks:
    @settings(max_examples=tries(50), deadline=None)
    @given(st.lists(st.integers(1, 6), min_size=1, max_size=4), st.data())
    def test_blocks_cover_the_kept_dimensions_once(self, shape: list[int], data: st.DataObject) -> None:
        leading = data.draw(st.integers(0, len(shape) - 1))
        entries = data.draw(st.integers(1, 40))
        covered = np.zeros(shape[leading:], dtype=int)
        for block in blocks(shape, leading, entries):
            covered[block] += 1
            piece = covered[block].size * math.prod(shape[:leading])
            assert piece <= max(entries, math.prod(shape[:leading]))
        assert (covered == 1).all()

    @pytest.mark.parametrize("name", ["log", "maximum"])
    @pytest.mark.parametrize("entries", [1, 7, 30])
    def test_threads_change_no_digit(self, name: str, entries: int, monkeypatch: pytest.MonkeyPatch) -> None:
        """Parts are put together in their order, whoever made them."""
        generator = torch.Generator().manual_seed(entries)
        left, right = (torch.randn(*s, generator=generator, dtype=torch.float64) for s in ((3, 5), (3, 7)))
        algebra = algebra_named(name)
        joint = (left.view(3, 5, 1) + right.view(3, 1, 7)).requires_grad_()
        expected = algebra.sum(joint, (0,))
        (shares,) = torch.autograd.grad(expected.sum(), joint)
        monkeypatch.setattr("herbrand.contraction.blocks.FEWEST_IN_PARALLEL", 2)
        monkeypatch.setattr("herbrand.contraction.blocks.BLOCK_ENTRIES", entries)

        def run(threads: int) -> list[torch.Tensor]:
            before = torch.get_num_threads()
            torch.set_num_threads(threads)
            try:
                leaves = [left.clone().requires_grad_(), right.clone().requires_grad_()]
                found = algebra.eliminate(leaves, [(3, 5, 1), (3, 1, 7)], 1)
                return [found.detach(), *torch.autograd.grad(found.sum(), leaves)]
            finally:
                torch.set_num_threads(before)

        alone, together = run(1), run(2)
        assert all(map(torch.equal, alone, together))
        for found, wanted in zip(alone, (expected.detach(), shares.sum(2), shares.sum(1)), strict=True):
            agree(found, wanted)

    def test_threads_are_given_back_after_an_error(self) -> None:
        before = torch.get_num_threads()
        with pytest.raises(RuntimeError), OneThread():
            assert torch.get_num_threads() == 1
            raise RuntimeError
        assert torch.get_num_threads() == before


class TestRelations:
    def test_what_planning_may_know(self) -> None:
        log = algebra_named("log")
        told = statistics(sparse("log", [(0,), (2,)], (3,)), log)
        assert (told.listed, told.background, told.itemsize) == (2, False, 8)
        told = statistics(converted(sparse("log", [(0,)], (3,), 0.0), "float32"), log)
        assert (told.listed, told.background, told.itemsize) == (1, True, 4)
        told = statistics(Dense(torch.ones(2)), log)
        assert (told.listed, told.background, told.itemsize) == (None, False, 4)

    def test_a_zero_that_wants_a_gradient_is_a_background(self) -> None:
        real, support = algebra_named("real"), Support(np.zeros((0, 1), np.int64), (2,))
        zero = torch.tensor(0.0, dtype=torch.float64)
        values = torch.zeros(0, dtype=torch.float64)
        assert not has_background(Sparse(support, values, zero), real)
        assert has_background(Sparse(support, values, zero.clone().requires_grad_()), real)
        assert Sparse(support, values, zero.clone().requires_grad_()).requires_grad

    def test_types_are_changed_with_their_background(self) -> None:
        relation = sparse("counting", [(1,)], (3,), 2)
        found = converted(relation, "float64")
        assert found.dtype == "float64"
        assert found.to_dense().tolist() == [2.0, 1.0, 2.0]
        assert converted(found, "float64") is found
        assert converted(converted(relation, "bool"), "int64").to_dense().tolist() == [1, 1, 1]
        learned = Sparse(relation.support, torch.ones(1), torch.tensor(0.5))
        assert converted(learned, "float64").to_dense().tolist() == [0.5, 1.0, 0.5]

    def test_values_can_be_replaced_and_the_support_stays(self) -> None:
        relation = sparse("real", [(0,), (1,)], (3,))
        again = relation.with_values(torch.tensor([5.0, 6.0]), 1.0)
        assert again.support is relation.support
        assert again.to_dense().tolist() == [5.0, 6.0, 1.0]
        assert again.with_values(torch.tensor([0.0, 0.0])).default == 1.0

    def test_a_table_without_axes(self) -> None:
        relation = Sparse.of([()], [2.5], ())
        assert relation.to_dense().item() == 2.5
        assert Sparse.of(np.zeros((0, 0)), [], (), 1.5).to_dense().item() == 1.5
        assert Sparse.of([(), ()], [2.0, 3.0], ()).to_dense().item() == 5.0


def test_a_plan_beyond_the_budget_is_refused_though_operands_are_small() -> None:
    one = Dense(torch.ones(2000))
    outer = Contraction.parse("a, b -> a b", {"a": 2000, "b": 2000})
    with pytest.raises(BudgetError, match=r"needs about 15\.3 MB and may use 9\.8 kB"):
        contract(outer, [one, one], memory=10_000)


class TestStatements:
    """What is asked, as a value: equal whatever the order of sizes and pairs, and a key of plans."""

    def test_sizes_are_a_mapping_without_order(self) -> None:
        one, other = Sizes({"a": 1, "b": 2}), Sizes([("b", 2), ("a", 1)])
        assert one == other and hash(one) == hash(other)
        assert one != Sizes({"a": 1}) and one != {"a": 1, "b": 2}
        assert dict(one) == {"a": 1, "b": 2} and len(one) == 2 and "c" not in one
        with pytest.raises(KeyError):
            one["c"]

    def test_equal_statements_are_one_key(self) -> None:
        one = Contraction.parse("a b, b -> a", {"a": 2, "b": 2}, distinct=[("b", "a")])
        other = Contraction([("a", "b"), ["b"]], ["a"], {"b": 2, "a": 2}, {("a", "b")})  # type: ignore[arg-type]
        assert one == other and hash(one) == hash(other) and len({one, other}) == 1
        assert one.summed == {"b"} and one.shape(("b", "a", "b")) == (2, 2, 2)

    @pytest.mark.parametrize(
        "other",
        [
            Contraction.parse("a b, b -> b", {"a": 2, "b": 2}),
            Contraction.parse("b, a b -> a", {"a": 2, "b": 2}),
            Contraction.parse("a b, b -> a", {"a": 2, "b": 3}),
            Contraction.parse("a b, b -> a", {"a": 2, "b": 2, "c": 1}),
            Contraction.parse("a b, b -> a", {"a": 2, "b": 2}, algebra="log"),
            Contraction.parse("a b, b -> a", {"a": 2, "b": 2}, distinct=[("a", "b")]),
        ],
    )
    def test_statements_that_differ_in_anything(self, other: Contraction) -> None:
        assert Contraction.parse("a b, b -> a", {"a": 2, "b": 2}) != other

    def test_a_name_that_the_room_does_not_have(self) -> None:
        with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
            contraction.nothing  # noqa: B018
        assert all(getattr(contraction, name) is not None for name in contraction.__all__)
