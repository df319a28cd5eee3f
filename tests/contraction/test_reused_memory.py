"""Tables that are lent are written over by a backward pass, and the numbers are those of a pass without."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck

from herbrand.contraction import Contraction, Dense, contract
from herbrand.contraction.reused_memory import is_lent, spare, times_table

VECTOR = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)
TABLE = torch.arange(6, dtype=torch.float64).reshape(3, 2)


def gradients(lent: list[Tensor]) -> tuple[Tensor, Tensor]:
    """Of (v T)² summed, by v and by T, found by way of the contraction."""
    vector, table = VECTOR.clone().requires_grad_(), TABLE.clone().requires_grad_()
    asked = Contraction.parse("a, a b -> b", {"a": 3, "b": 2})
    with spare(lent):
        found = contract(asked, [Dense(vector), Dense(table)]).to_dense()
        return torch.autograd.grad((found**2).sum(), (vector, table))  # type: ignore[return-value]


@pytest.mark.parametrize(
    "lent",
    [
        [],
        [torch.ones(3, 2, dtype=torch.float64)],
        [torch.ones(6, dtype=torch.float64)],
        [torch.ones(2, 2, dtype=torch.float64), torch.ones(2, 3, dtype=torch.float64)],
        [torch.ones(3, 2)],
        [torch.ones(2, 3, dtype=torch.float64).T],
    ],
    ids=["none", "same shape", "same size", "one that fits", "float32", "not contiguous"],
)
def test_gradients_are_the_same_whatever_is_lent(lent: list[Tensor]) -> None:
    product = VECTOR @ TABLE
    for_vector, for_table = gradients(lent)
    torch.testing.assert_close(for_vector, 2 * TABLE @ product)
    torch.testing.assert_close(for_table, 2 * torch.outer(VECTOR, product))


def test_a_table_that_fits_is_written_over_and_others_are_left_alone() -> None:
    small, fits, other = (torch.full((size,), 7.0, dtype=torch.float64) for size in (5, 6, 6))
    _, for_table = gradients([small, fits, other])
    assert for_table.data_ptr() == fits.data_ptr()
    assert small.eq(7).all() and other.eq(7).all()


def test_each_table_is_taken_once() -> None:
    lent = torch.zeros(6, dtype=torch.float64)
    with spare([lent]):
        tables = [TABLE.clone().requires_grad_() for _ in range(2)]
        total = sum(times_table(VECTOR, table).sum() for table in tables)
        assert isinstance(total, Tensor)
        first, second = torch.autograd.grad(total, tables)
    assert (first.data_ptr() == lent.data_ptr()) != (second.data_ptr() == lent.data_ptr())
    torch.testing.assert_close(first, second)


def test_only_the_innermost_context_lends() -> None:
    assert not is_lent()
    with spare([torch.zeros(1)]):
        assert is_lent()
        with spare([]):
            assert not is_lent()
        assert is_lent()
    assert not is_lent()


def test_a_context_that_fails_lends_no_longer() -> None:
    with pytest.raises(RuntimeError), spare([torch.zeros(1)]):
        raise RuntimeError
    assert not is_lent()


def test_it_is_the_product_of_a_vector_and_a_table() -> None:
    with spare([]):
        torch.testing.assert_close(times_table(VECTOR, TABLE), VECTOR @ TABLE)
        starts = (VECTOR.clone().requires_grad_(), TABLE.clone().requires_grad_())
        assert gradcheck(times_table, starts)
        assert gradcheck(lambda vector: times_table(vector, TABLE), starts[:1])
