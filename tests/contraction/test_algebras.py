"""Every algebra is a commutative semiring, and its bulk operations are its plus and times, repeated."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from herbrand.arrays import type_name
from herbrand.contraction import Contraction, Dense, contract
from herbrand.contraction.algebra import MANY, Algebra, algebra_named, register
from herbrand.contraction.algebras import ADDED
from herbrand.contraction.algebras.real import Real
from herbrand.errors import UnsupportedError
from herbrand.options.algebras import QUERY_ALGEBRAS
from herbrand.relations.expression import column
from herbrand.relations.memory import Memory
from tests.contraction.problems import ALGEBRAS, DTYPES, VALUES, agree
from tests.laws import tries
from tests.oracles.contraction import OPERATIONS

FEW = settings(max_examples=tries(25), deadline=None)
NUMBERS = {
    "real": st.floats(-1e3, 1e3),
    "log": st.one_of(st.just(-math.inf), st.floats(-1e3, 1e3)),
    "maximum": st.one_of(st.just(-math.inf), st.floats(-1e3, 1e3)),
    "max_product": st.floats(0, 1e3),
    "boolean": st.booleans(),
    "counting": st.integers(-(10**4), 10**4),
}
each_algebra = pytest.mark.parametrize("name", ALGEBRAS)


def tensor(name: str, values: object) -> Tensor:
    return torch.tensor(values, dtype=DTYPES.get(name, torch.float64))


def tables(name: str, shape: Sequence[int]) -> st.SearchStrategy[Tensor]:
    count = math.prod(shape)
    return st.lists(st.sampled_from(VALUES[name]), min_size=count, max_size=count).map(
        lambda values: tensor(name, values).reshape(tuple(shape))
    )


def folded(name: str, rows: Iterator[Tensor], what: str) -> Tensor:
    """Rows put together one after the other, by the oracle's plus or times, entry by entry."""
    operation = getattr(OPERATIONS[name], what)
    listed = [row.flatten().tolist() for row in rows]
    return tensor(name, [reduce(operation, entries) for entries in zip(*listed, strict=True)])


class TestSemiring:
    @each_algebra
    @FEW
    @given(data=st.data())
    def test_laws(self, name: str, data: st.DataObject) -> None:
        algebra = algebra_named(name)
        a, b, c = (tensor(name, data.draw(NUMBERS[name])) for _ in range(3))
        plus, times = algebra.plus, algebra.times
        agree(plus(a, b), plus(b, a))
        agree(times(a, b), times(b, a))
        agree(plus(plus(a, b), c), plus(a, plus(b, c)))
        agree(times(times(a, b), c), times(a, times(b, c)))
        agree(times(a, plus(b, c)), plus(times(a, b), times(a, c)))

    @each_algebra
    @FEW
    @given(data=st.data())
    def test_zero_and_one(self, name: str, data: st.DataObject) -> None:
        algebra = algebra_named(name)
        a = tensor(name, data.draw(NUMBERS[name]))
        zero, one = (algebra.full((), value, a) for value in (algebra.zero, algebra.one))
        agree(algebra.plus(a, zero), a)
        agree(algebra.times(a, one), a)
        agree(algebra.times(a, zero), zero)

    @each_algebra
    @FEW
    @given(data=st.data())
    def test_what_it_says_of_itself(self, name: str, data: st.DataObject) -> None:
        algebra = algebra_named(name)
        a, b = (tensor(name, data.draw(NUMBERS[name])) for _ in range(2))
        assert algebra.name == name
        if algebra.idempotent:
            agree(algebra.plus(a, a), a)
        if algebra.has_subtraction:
            agree(algebra.plus(a, b) - b, a, tolerance=1e-6)
        if algebra.linear:
            agree(algebra.through_numbers(torch.mul, a, b), algebra.times(a, b))
            agree(algebra.through_numbers(torch.add, a, b), algebra.plus(a, b))
        else:
            with pytest.raises(NotImplementedError):
                algebra.through_numbers(torch.mul, a, b)

    @each_algebra
    def test_it_is_the_oracles(self, name: str) -> None:
        algebra, meaning = algebra_named(name), OPERATIONS[name]
        assert (algebra.zero, algebra.one) == (meaning.zero, meaning.one)
        for a, b in product(VALUES[name], repeat=2):
            agree(algebra.plus(tensor(name, a), tensor(name, b)), tensor(name, meaning.add(a, b)))
            agree(algebra.times(tensor(name, a), tensor(name, b)), tensor(name, meaning.multiply(a, b)))

    @each_algebra
    def test_plus_and_times_broadcast(self, name: str) -> None:
        algebra = algebra_named(name)
        column, row = tensor(name, [[VALUES[name][0]], [VALUES[name][1]]]), tensor(name, VALUES[name][:2])
        for operation in (algebra.plus, algebra.times):
            found = operation(column, row)
            assert found.shape == (2, 2)
            agree(found[1, 0], operation(column[1, 0], row[0]))


class TestBulk:
    @each_algebra
    @pytest.mark.parametrize("dims", [(0,), (1,), (2,), (0, 2), (2, 0), (0, 1, 2)])
    @FEW
    @given(data=st.data())
    def test_a_sum_is_plus_repeated(self, name: str, dims: tuple[int, ...], data: st.DataObject) -> None:
        table = data.draw(tables(name, (2, 3, 2)))
        kept = [dim for dim in range(3) if dim not in dims]
        rows = table.permute(*dims, *kept).reshape(-1, math.prod(table.shape[dim] for dim in kept))
        found = algebra_named(name).sum(table, dims)
        assert found.shape == tuple(table.shape[dim] for dim in kept)
        agree(found.flatten(), folded(name, iter(rows), "add"))

    @each_algebra
    @FEW
    @given(data=st.data())
    def test_a_product_of_rows_is_times_repeated(self, name: str, data: st.DataObject) -> None:
        table = data.draw(tables(name, (data.draw(st.integers(1, 5)), 3)))
        agree(algebra_named(name).product_of_rows(table), folded(name, iter(table), "multiply"))

    @each_algebra
    @pytest.mark.parametrize("count", [1, 2, MANY, MANY + 1, MANY + 4])
    def test_a_product_of_tables_of_one_shape(self, name: str, count: int) -> None:
        """More than a few are stacked; either way they multiply."""
        generator = torch.Generator().manual_seed(count)
        places = torch.randint(len(VALUES[name]), (count, 4), generator=generator)
        rows = tensor(name, VALUES[name])[places]
        agree(algebra_named(name).product(list(rows)), folded(name, iter(rows), "multiply"))

    @each_algebra
    def test_a_product_of_tables_of_several_shapes(self, name: str) -> None:
        algebra, values = algebra_named(name), tensor(name, VALUES[name][:2])
        found = algebra.product([values.view(2, 1, 1), values.view(1, 2, 1), values.view(1, 1, 2), values])
        for i, j, k in product(range(2), repeat=3):
            agree(found[i, j, k], reduce(algebra.times, [values[i], values[j], values[k], values[k]]))

    @each_algebra
    @FEW
    @given(data=st.data())
    def test_segments(self, name: str, data: st.DataObject) -> None:
        """Unordered segments, some of them empty, over rows of several columns."""
        rows = data.draw(st.integers(0, 6))
        table = data.draw(tables(name, (rows, 2)))
        segments = data.draw(st.lists(st.integers(0, 3), min_size=rows, max_size=rows))
        found = algebra_named(name).segment_sum(table, torch.tensor(segments, dtype=torch.int64), 4)
        zero = torch.full((1, 2), OPERATIONS[name].zero, dtype=table.dtype)
        for segment in range(4):
            own = [table[row : row + 1] for row in range(rows) if segments[row] == segment]
            agree(found[segment], folded(name, iter(torch.cat([zero, *own])), "add"))

    @each_algebra
    @pytest.mark.parametrize("times", [1, 2, 5])
    def test_repeats(self, name: str, times: int) -> None:
        values = tensor(name, VALUES[name])
        agree(algebra_named(name).repeat(values, times), folded(name, iter([values] * times), "add"))

    @each_algebra
    @pytest.mark.parametrize("leading", [0, 1, 2])
    @FEW
    @given(data=st.data())
    def test_eliminate_is_multiply_then_sum(self, name: str, leading: int, data: st.DataObject) -> None:
        """Operands come in any contiguous shape and are viewed in one that broadcasts."""
        algebra = algebra_named(name)
        shapes = [(2, 3, 2), (2, 1, 2), (1, 3, 1)][: data.draw(st.integers(1, 3))][::-1]
        flat = [data.draw(tables(name, (math.prod(shape),))) for shape in shapes]
        joint = reduce(algebra.times, [one.view(shape) for one, shape in zip(flat, shapes, strict=True)])
        expected = algebra.sum(joint, tuple(range(leading))) if leading else joint
        agree(algebra.eliminate(flat, shapes, leading), expected)

    @each_algebra
    def test_constants_are_made_like_another_tensor(self, name: str) -> None:
        algebra = algebra_named(name)
        assert algebra.full((2, 0), algebra.zero).shape == (2, 0)
        assert type_name(algebra.full((), algebra.one).dtype) == algebra.dtypes[0]
        narrow = torch.ones(1, dtype=getattr(torch, algebra.dtypes[-1]))
        assert type_name(algebra.full((3,), algebra.one, narrow).dtype) == algebra.dtypes[-1]


class TestLimits:
    """Weights at the end of what floats hold."""

    @pytest.mark.parametrize("shift", [-1e300, -745.0, 0.0, 709.0, 1e300])
    def test_log_sums_do_not_overflow(self, shift: float) -> None:
        log = algebra_named("log")
        three = torch.full((3,), shift, dtype=torch.float64)
        expected = torch.tensor(shift + math.log(3), dtype=torch.float64)
        agree(log.sum(three, (0,)), expected)
        agree(log.segment_sum(three, torch.zeros(3, dtype=torch.int64), 1)[0], expected)
        agree(log.eliminate([three], [(3,)], 1), expected)

    def test_a_heavy_log_weight_is_not_disturbed_by_an_impossible_one(self) -> None:
        values = torch.tensor([-math.inf, 1e308, -1e308], dtype=torch.float64)
        for name in ("log", "maximum"):
            assert algebra_named(name).sum(values, (0,)).item() == 1e308

    @pytest.mark.parametrize("count", [2, 3, 4, 5, 40])
    def test_log_sums_of_few_and_many_terms(self, count: int) -> None:
        """Up to four are added pair by pair."""
        values = torch.linspace(-3, 3, count, dtype=torch.float64)
        expected = math.log(sum(map(math.exp, values.tolist())))
        assert algebra_named("log").sum(values, (0,)).item() == pytest.approx(expected, rel=1e-13)

    def test_truth_values_are_not_lost_in_large_sums(self) -> None:
        """A float32 sum of 2²⁵ ones stops growing, but never falls to zero."""
        boolean = algebra_named("boolean")
        row = torch.ones(2**12, dtype=torch.bool)
        assert boolean.eliminate([row, row], [(2**12, 1), (1, 2**12)], 2).item() is True
        assert boolean.eliminate([row, ~row], [(2**12,), (2**12,)], 1).item() is False

    @pytest.mark.parametrize("count", [2**53 - 1, 2**53 + 1, 2**62 + 3, 2**63 - 10**10])
    def test_counts_are_exact_beyond_the_floats(self, count: int) -> None:
        counting, one = algebra_named("counting"), torch.tensor(1)
        assert counting.times(torch.tensor(count), one).item() == count
        assert counting.times(torch.tensor(-count), one).item() == -count
        assert counting.plus(torch.tensor(count - 1), one).item() == count

    @pytest.mark.parametrize(("left", "right"), [(2**62, 2**62), (-(2**62), 2**62), (2**63 - 1, 1)])
    def test_counts_that_could_overflow_are_refused(self, left: int, right: int) -> None:
        """Even where signs would cancel: a partial sum might not fit."""
        with pytest.raises(UnsupportedError, match=r"a count of about 9\.2e\+18 does not fit in 64 bits"):
            algebra_named("counting").plus(torch.tensor(left), torch.tensor(right))

    def test_an_empty_count_is_no_count(self) -> None:
        nothing = torch.zeros((0, 3), dtype=torch.int64)
        assert algebra_named("counting").times(nothing, nothing).shape == (0, 3)


class TestOfOnesOwn:
    def test_a_registered_algebra_is_found_by_its_name(self) -> None:
        class Shifted(Real):
            name = "shifted"

            def times(self, left: Tensor, right: Tensor) -> Tensor:
                return left * right

        one = Shifted()
        register(one)
        try:
            assert algebra_named("shifted") is one
            asked = Contraction.parse("a b, b -> a", {"a": 2, "b": 2}, algebra="shifted")
            found = contract(asked, [Dense(torch.eye(2)), Dense(torch.ones(2))])
            assert found.to_dense().tolist() == [1.0, 1.0]
        finally:
            del ADDED["shifted"], QUERY_ALGEBRAS["shifted"]
        with pytest.raises(ValueError, match="there is no algebra 'shifted'"):
            Contraction.parse("a ->", {"a": 2}, algebra="shifted")

    def test_a_name_that_is_taken_is_refused(self) -> None:
        with pytest.raises(ValueError, match="there is an algebra 'real' already"):
            register(Real())

    @pytest.mark.parametrize("name", ["", "a b", "..real", "os.path", "real ", "Real"])
    def test_what_names_no_algebra_is_no_module_either(self, name: str) -> None:
        with pytest.raises(ValueError, match="there is no algebra"):
            Contraction.parse("a ->", {"a": 2}, algebra=name)

    def test_an_algebra_that_cannot_repeat_says_so(self) -> None:
        class Bare(Real):
            repeat = Algebra.repeat

        with pytest.raises(NotImplementedError):
            Bare().repeat(torch.ones(1), 2)


class TestOverRelations:
    """The algebra's two forms are one: over arrays as above, and over rows of relations."""

    @each_algebra
    def test_plus_and_times_are_those_of_arrays(self, name: str) -> None:
        algebra, values = algebra_named(name), VALUES[name]
        pairs = list(product(values, repeat=2))
        rows = Memory.of(
            a=np.array([algebra.value(a) for a, _ in pairs]), b=np.array([algebra.value(b) for _, b in pairs])
        )
        found = rows.select(v=algebra.times(column("a"), column("b"))).arrays()["v"]
        agree(tensor(name, found.tolist()), folded(name, iter(tensor(name, pairs).T), "multiply"))
        total = rows.group(["a"], v=algebra.fold(column("b"))).arrays()
        assert len(total["a"]) == len(set(values))
        for value in total["v"].tolist():
            agree(tensor(name, value), algebra.sum(tensor(name, values), (0,)))

    @each_algebra
    @pytest.mark.parametrize("times", [1, 2, 5])
    def test_repeats(self, name: str, times: int) -> None:
        algebra, values = algebra_named(name), VALUES[name]
        rows = Memory.of(v=np.array([algebra.value(value) for value in values]))
        found = rows.select(v=algebra.repeated(column("v"), times)).arrays()["v"]
        agree(tensor(name, found.tolist()), folded(name, iter([tensor(name, values)] * times), "add"))

    def test_an_algebra_without_a_fold_is_refused(self) -> None:
        class Bare(Real):
            name = "bare"
            folds = None

        with pytest.raises(UnsupportedError, match="the algebra bare is not written over relations"):
            Bare().fold(column("v"))

    def test_an_algebra_of_rows_alone_is_refused_over_tensors(self) -> None:
        independent, half = algebra_named("independent"), torch.full((2,), 0.5)
        assert independent.times(half, half).tolist() == [0.25, 0.25]
        segments = torch.zeros(2, dtype=torch.int64)
        for operation in (
            lambda: independent.plus(half, half),
            lambda: independent.sum(half, (0,)),
            lambda: independent.segment_sum(half, segments, 1),
        ):
            with pytest.raises(UnsupportedError, match="the algebra independent is not written over tensors"):
                operation()
