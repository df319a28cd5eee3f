"""Relations check themselves, and duplicates are added up with the algebra's own plus."""

from __future__ import annotations

import gc
import math
import weakref

import numpy as np
import pytest
import torch

from herbrand.contraction import Contraction, Dense, Sparse, Support, contract
from herbrand.contraction.relation import positions
from herbrand.row_keys import unique_rows


@pytest.mark.parametrize(
    ("algebra", "values", "expected"),
    [
        ("real", [0.25, 0.5], 0.75),
        ("log", [0.0, 0.0], math.log(2)),
        ("maximum", [0.25, 0.5], 0.5),
        ("max_product", [0.25, 0.5], 0.5),
        ("boolean", [False, True], True),
        ("counting", [2, 3], 5),
    ],
)
def test_duplicates_are_added_up(algebra: str, values: list[float], expected: float) -> None:
    relation = Sparse.of([(1, 2), (0, 0), (1, 2)], [values[0], values[0], values[1]], (2, 3), algebra=algebra)
    assert relation.indices.tolist() == [[0, 0], [1, 2]]
    assert relation.values[1].item() == pytest.approx(expected)


def test_coalescing_is_differentiable() -> None:
    values = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    Sparse.of([(1,), (0,), (1,)], values, (2,)).values[1].backward()
    assert values.grad is not None
    assert values.grad.tolist() == [1.0, 0.0, 1.0]


@pytest.mark.parametrize(
    ("indices", "shape", "message"),
    [
        (np.array([[0, 3]]), (2, 3), "an index of axis 1 is outside 0 .. 2"),
        (np.array([[-1, 0]]), (2, 3), "an index of axis 0 is outside 0 .. 1"),
        (np.array([[1, 0], [0, 0]]), (2, 3), "indices must be sorted and unique"),
        (np.array([[0, 0], [0, 0]]), (2, 3), "indices must be sorted and unique"),
        (np.array([[0]]), (2, 3), "indices have 1 columns for a table of 2 axes"),
        (np.array([[0, 0]], dtype=np.int32), (2, 3), "indices must be an int64 array"),
    ],
)
def test_a_support_checks_itself(indices: np.ndarray, shape: tuple[int, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Support(indices, shape)


def test_a_sparse_relation_checks_itself() -> None:
    support = Support(np.array([[0], [2]]), (3,))
    with pytest.raises(ValueError, match="2 entries need as many values"):
        Sparse(support, torch.ones(3))
    with pytest.raises(ValueError, match="the default is one number"):
        Sparse(support, torch.ones(2), torch.ones(2))
    with pytest.raises(ValueError, match="1 rows need as many values"):
        Sparse.of([(0,)], [1.0, 2.0], (3,))


def test_keys_do_not_overflow() -> None:
    """10⁵ × 10⁵ overflows 32 bits, silently."""
    rows = np.array([[99_999, 99_999]])
    assert positions(rows, (10**5, 10**5)).tolist() == [10**10 - 1]
    with pytest.raises(OverflowError, match="more entries than 64 bits can number"):
        positions(rows, (2**32, 2**32))


def test_tables_too_wide_for_a_key_still_work() -> None:
    shape = (2**32, 2**32)
    rows = np.array([[2**31, 5], [7, 2**31], [2**31, 5]])
    unique, places = unique_rows(rows, shape)
    assert unique.tolist() == [[7, 2**31], [2**31, 5]]
    assert places.tolist() == [1, 0, 1]
    relation = Sparse.of(rows, [1.0, 2.0, 3.0], shape)
    other = Sparse.of([(5, 2**31)], [10.0], shape)
    wide = Contraction.parse("a b, b c -> a c", dict.fromkeys("abc", 2**32))
    result = contract(wide, [relation, other])
    assert isinstance(result, Sparse)
    assert result.indices.tolist() == [[2**31, 2**31]]
    assert result.values.tolist() == [40.0]


def test_what_is_worked_out_is_kept_with_all_partners() -> None:
    one, other = (Support(np.array([[0], [2]]), (3,)) for _ in range(2))
    made = []

    def make() -> int:
        made.append(1)
        return len(made)

    assert [one.once("key", make), one.once("key", make), one.once("key", make, other)] == [1, 1, 2]
    gone = weakref.ref(other)
    del other
    gc.collect()
    assert gone() is None


def test_shapes_and_types_are_checked() -> None:
    asked = Contraction.parse("a b, b -> a", {"a": 2, "b": 3})
    with pytest.raises(ValueError, match=r"operand 1 has shape \(4,\); its axes 'b' have sizes \(3,\)"):
        contract(asked, [Dense(torch.ones(2, 3)), Dense(torch.ones(4))])
    with pytest.raises(ValueError, match="2 operands, but 1 relations"):
        contract(asked, [Dense(torch.ones(2, 3))])
    with pytest.raises(ValueError, match="operand 1 is of int64; the real algebra takes float64 or float32"):
        contract(asked, [Dense(torch.ones(2, 3)), Dense(torch.ones(3, dtype=torch.int64))])


def test_mixed_precision_takes_the_wider() -> None:
    asked = Contraction.parse("a, a ->", {"a": 2})
    assert contract(asked, [Dense(torch.ones(2)), Dense(torch.ones(2).double())]).dtype == "float64"


class TestContraction:
    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (("a b -> a", {"a": 2}), "axis 'b' has no size"),
            (("a -> a a", {"a": 2}), "names an axis twice"),
            (("a ->", {"a": -1}), "negative size"),
            (("a b", {"a": 2}), "has no '->'"),
        ],
    )
    def test_checks(self, arguments: tuple[str, dict[str, int]], message: str) -> None:
        with pytest.raises(ValueError, match=message):
            Contraction.parse(*arguments)

    def test_checks_of_pairs_and_algebra(self) -> None:
        with pytest.raises(ValueError, match="differ in size: 2 and 3"):
            Contraction.parse("a b ->", {"a": 2, "b": 3}, distinct=[("a", "b")])
        with pytest.raises(ValueError, match="cannot be distinct from itself"):
            Contraction.parse("a ->", {"a": 2}, distinct=[("a", "a")])
        with pytest.raises(ValueError, match="of a distinct pair has no size"):
            Contraction.parse("a ->", {"a": 2}, distinct=[("a", "z")])
        with pytest.raises(ValueError, match="there is no algebra 'tropical'"):
            Contraction.parse("a ->", {"a": 2}, algebra="tropical")

    def test_reads_its_own_text(self) -> None:
        asked = Contraction.parse("a b, b, -> b", {"a": 2, "b": 2}, distinct=[("b", "a")], algebra="log")
        assert eval(repr(asked), {"Contraction": Contraction}) == asked
