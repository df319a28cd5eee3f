"""x ≠ y: how many terms it takes, and that cancellation does no harm."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest
import torch

from herbrand.contraction import Contraction, Dense, Sparse, contract, plan, run
from herbrand.contraction.expression import Term, expand
from herbrand.contraction.planner import forget
from tests.work import lines


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


class TestWhereAPairIsSettled:
    SIZES = dict.fromkeys("abc", 4)

    def settled(self, text: str, pair: str, unmaskable: frozenset[int] = frozenset()) -> list[Term]:
        asked = Contraction.parse(text, self.SIZES, distinct=[(pair[0], pair[1])])
        return list(expand(asked, has_subtraction=True, unmaskable=unmaskable))

    def test_in_the_smallest_operand_that_has_both(self) -> None:
        (term,) = self.settled("a b c, b a, a c -> c", "ab")
        assert term.hollow == ((1, 1, 0),)
        assert dict(term.diagonals) == {1: [(1, 0)]}

    def test_in_the_first_of_equal_ones(self) -> None:
        (term,) = self.settled("b c, a b, a b -> c", "ab")
        assert term.hollow == ((1, 0, 1),)

    def test_not_in_an_operand_with_a_background(self) -> None:
        (term,) = self.settled("a b, a b c -> c", "ab", frozenset({0}))
        assert term.hollow == ((1, 0, 1),)
        (term,) = self.settled("a b, b c -> a b", "ab", frozenset({0}))
        assert (term.hollow, term.apart) == ((), (("a", "b"),))

    def test_in_the_result_where_no_operand_has_both(self) -> None:
        (term,) = self.settled("a c, c b -> b a", "ab")
        assert (term.hollow, term.apart, term.unequal) == ((), (("a", "b"),), ())

    def test_by_subtraction_where_neither_does(self) -> None:
        free, equal = self.settled("a c, c b -> c", "ab")
        assert (free.sign, equal.sign) == (1, -1)
        assert equal.contraction.operands == (("a", "c"), ("c", "a"))
        assert set(equal.contraction.sizes) == {"a", "c"}

    def test_an_output_axis_survives_the_merging(self) -> None:
        _, equal = self.settled("a c, c b -> b", "ab")
        assert equal.contraction.output == ("b",) and "a" not in equal.contraction.sizes

    def test_each_operand_knows_its_own_diagonals(self) -> None:
        asked = Contraction.parse(
            "a b c, b c ->", self.SIZES, distinct=[("a", "b"), ("a", "c"), ("b", "c")], algebra="log"
        )
        (term,) = expand(asked, has_subtraction=False)
        assert dict(term.diagonals) == {0: [(0, 1), (0, 2)], 1: [(0, 1)]}


def chain_apart(length: int, algebra: str) -> Contraction:
    axes = [f"x{place}" for place in range(length + 1)]
    links = tuple(pairwise(axes))
    return Contraction(links, (), dict.fromkeys(axes, 3), frozenset(links), algebra)


def test_hundreds_of_pairs_cost_what_they_are() -> None:
    """Neighbours in a chain differ: each pair looks at its own operand, each operand at its own pairs."""

    def work(length: int) -> None:
        tables = [Dense(torch.full((3, 3), 0.5, dtype=torch.float64))] * length
        run(plan(chain_apart(length, "log")), tables)

    forget()
    work(10)
    small, large = lines(work, 50), lines(work, 500)
    assert large < 15 * small


@pytest.mark.parametrize("length", [1, 2, 7])
def test_a_chain_of_neighbours_that_differ(length: int) -> None:
    """3 × 2ⁿ colourings of a chain with three colours."""
    ones = Dense(torch.ones(3, 3, dtype=torch.int64))
    found = contract(chain_apart(length, "counting"), [ones] * length).to_dense()
    assert found.item() == 3 * 2**length
