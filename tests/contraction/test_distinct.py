"""x ≠ y: how many terms it takes, and that cancellation does no harm."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import torch

from herbrand.contraction import Contraction, Dense, Sparse, contract, plan
from herbrand.contraction.distinct import expand


def all_distinct(text: str, axes: str, size: int = 5, algebra: str = "real") -> Contraction:
    return Contraction.parse(text, dict.fromkeys(axes, size), distinct=combinations(axes, 2), algebra=algebra)


@pytest.mark.parametrize(
    ("text", "axes", "terms"),
    [
        ("a, b, c ->", "abc", 5),  # Bell(3): nothing to hold on to
        ("a, b, c, d ->", "abcd", 15),
        ("a b, b c -> a c", "abc", 1),  # two diagonals set to zero, one in the result
        ("a b, b c ->", "abc", 2),
        ("a b, b c, a c ->", "abc", 1),
        ("a b c ->", "abc", 1),
    ],
)
def test_terms(text: str, axes: str, terms: int) -> None:
    assert len(expand(all_distinct(text, axes), has_subtraction=True)) == terms


def test_without_subtraction_there_is_one_term_with_masks() -> None:
    (term,) = expand(all_distinct("a, b, c ->", "abc", algebra="log"), has_subtraction=False)
    assert term.unequal == (("a", "b"), ("a", "c"), ("b", "c"))


def test_terms_that_cannot_be_vanish() -> None:
    """a = b would make b ≠ c and a ≠ c one pair."""
    signs = [term.sign for term in expand(all_distinct("a, b, c ->", "abc"), has_subtraction=True)]
    assert sorted(signs) == [-1, -1, -1, 1, 2]


@pytest.mark.parametrize("executor", ["dense", "sparse"])
def test_float32_does_not_cancel(executor: str) -> None:
    """One heavy entry: in float32 the light pairs would drown (relative error 1e-3 and more)."""
    weights = np.full(1000, 1e-5, dtype=np.float32)
    weights[0] = 1.0
    exact = weights.astype(np.float64)
    expected = exact.sum() ** 2 - (exact**2).sum()
    indices = np.arange(1000)[:, None]
    one = (
        Sparse.of(indices, torch.from_numpy(weights), (1000,))
        if executor == "sparse"
        else Dense(torch.from_numpy(weights))
    )
    found = contract(all_distinct("a, b ->", "ab", 1000), [one, one], executor=executor).to_dense()
    assert found.dtype == torch.float32
    assert found.item() == pytest.approx(expected, rel=1e-6)


def test_counting_is_exact() -> None:
    ones = Dense(torch.ones(50, dtype=torch.int64))
    found = contract(all_distinct("a, b, c, d ->", "abcd", 50, "counting"), [ones] * 4).to_dense()
    assert found.item() == 50 * 49 * 48 * 47


def test_unbound_axes() -> None:
    asked = Contraction.parse("a ->", {"a": 7, "b": 7}, distinct=[("a", "b")])
    assert contract(asked, [Dense(torch.ones(7))]).to_dense().item() == 42


def test_cost_of_a_chain() -> None:
    sizes = dict.fromkeys("abc", 300)
    free = plan(Contraction.parse("a b, b c -> a c", sizes))
    apart = plan(Contraction.parse("a b, b c -> a c", sizes, distinct=combinations("abc", 2)))
    assert apart.operations == free.operations
