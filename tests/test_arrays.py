"""Arrays of NumPy beside torch: the same values, and derivatives that are differences of values."""

from __future__ import annotations

import math
import os
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from herbrand import arrays
from herbrand.arrays import Array
from herbrand.contraction.algebra import algebra_named
from tests.laws import tries

quick = settings(deadline=None, max_examples=tries(60))

MASK = np.array([[True, False, False], [False, False, True]])
PLACES = np.array([1, 0, 1, 1])

OPERATIONS: dict[str, Callable[[Array, Array], Array]] = {
    "add": lambda x, y: x + y,
    "add a row": lambda x, y: x + y[0],
    "subtract": lambda x, y: 2.0 - x - y,
    "multiply": lambda x, y: x * y * 3.0,
    "multiply a column": lambda x, y: x * y[:, :1],
    "divide": lambda x, y: x / (y * y + 1.0),
    "negate": lambda x, _: -x,
    "power of e": lambda x, _: x.exp(),
    "logarithm": lambda x, _: (x * x + 1.0).log(),
    "absolute": lambda x, _: x.abs(),
    "at least": lambda x, _: x.clamp_min(0.25),
    "masked": lambda x, _: x.masked_fill(MASK, 7.0),
    "chosen": lambda x, y: arrays.where(MASK, x, y),
    "larger": lambda x, y: arrays.maximum(x, y),
    "matrix product": lambda x, y: x @ y.T,
    "vector times matrix": lambda x, y: x[0] @ y.T,
    "matrix times vector": lambda x, y: x @ y[1],
    "einsum": lambda x, y: arrays.einsum("ab,cb->ca", x, y),
    "sum": lambda x, y: x.sum() * y.sum(0) + x.sum((0, 1)),
    "sum that keeps": lambda x, y: x.sum(1, keepdim=True) * y,
    "product": lambda x, y: (x * y).prod(0),
    "maximum": lambda x, _: x.max() * x,
    "log of sums": lambda x, _: arrays.logsumexp(x, (0,)),
    "log of all sums": lambda x, _: arrays.logsumexp(x, (0, 1)),
    "shapes": lambda x, y: x.reshape(3, 2).permute(1, 0).movedim(0, 1).flatten() * y.view(-1),
    "expanded": lambda x, y: x.unsqueeze(0).expand(4, -1, -1) * y,
    "diagonal": lambda x, y: (x.T @ y).diagonal(0, 1),
    "rows": lambda x, _: x.index_select(0, PLACES),
    "one entry": lambda x, y: x[1, 2] * y[0],
    "by a mask": lambda x, _: x[MASK],
    "gathered": lambda x, _: x.gather(0, Array(np.array([[1, 0, 1]]))).squeeze(0),
    "halves": lambda x, y: x.split([1, 2], 1)[1] * y.narrow(1, 0, 2),
    "stacked": lambda x, y: arrays.stack([x, y, x], 1),
    "joined": lambda x, y: arrays.cat([x, y[:1]], 0),
    "added at places": lambda x, y: x.index_add(0, PLACES[:2], y),
    "replaced": lambda x, y: x.with_at((0, np.array([2, 0])), y[1, :2]),
    "of another type": lambda x, _: x.to(np.float64),
}


def numbers(seed: int) -> np.ndarray:
    """Values apart from each other and from 0, where an operation has a corner."""
    dice = np.random.default_rng(seed)
    return dice.permutation(np.linspace(-2, 2, 6)).reshape(2, 3) + dice.uniform(-0.1, 0.1, (2, 3))


@pytest.mark.parametrize("name", OPERATIONS)
@quick
@given(seed=st.integers(0, 2**31))
def test_derivatives_are_differences(name: str, seed: int) -> None:
    first, second = numbers(seed), numbers(seed + 1)
    x, y = Array(first).watch(), Array(second).watch()
    made = OPERATIONS[name](x, y)
    gains = np.random.default_rng(seed).normal(size=made.shape)

    def total(one: np.ndarray, other: np.ndarray) -> float:
        return float((OPERATIONS[name](Array(one), Array(other)).numpy() * gains).sum())

    for place, slope in enumerate(arrays.gradients((made * gains).sum(), [x, y])):
        for entry in np.ndindex(2, 3):
            step = np.zeros((2, 3))
            step[entry] = 1e-6
            ends = [
                total(first + sign * step, second) if place == 0 else total(first, second + sign * step)
                for sign in (1, -1)
            ]
            expected = (ends[0] - ends[1]) / 2e-6
            found = 0.0 if slope is None else slope[entry]
            assert found == pytest.approx(expected, rel=1e-5, abs=1e-6)


def test_only_what_leads_to_a_wanted_array_is_walked() -> None:
    """The derivative by one operand costs nothing for another that is watched."""
    x, y = Array(np.ones(2)).watch(), Array(np.ones(2)).watch()

    def never(_: np.ndarray) -> np.ndarray:
        raise AssertionError("nobody asked for this derivative")

    both = arrays.made(x.data * y.data, (x, lambda g: g * y.data), (y, never))
    assert arrays.gradients(both.sum(), [x])[0] is not None


def test_nothing_is_remembered_of_what_nobody_watches() -> None:
    plain = Array(np.ones(3)) * 2.0
    assert not plain.watched and not plain.parents
    x = Array(np.ones(3)).watch()
    with arrays.unrecorded():
        assert not (x * 2.0).watched
    assert arrays.gradients((x * 2.0).detach().sum(), [x]) == [None]


def test_the_derivatives_of_a_stack_are_cut_from_one_array() -> None:
    """Copied as a whole for each of its parts, a stack of thousands took a square of its work."""
    parts = [Array(np.ones((2, 3))).watch() for _ in range(3)]
    found = arrays.gradients((arrays.stack(parts, 1) * 2.0).sum(), parts)
    assert all(np.shares_memory(found[0].base, one) for one in found)
    assert [one.tolist() for one in found] == [[[2.0] * 3] * 2] * 3


def test_a_value_used_twice_is_counted_twice() -> None:
    x = Array(np.array([3.0])).watch()
    once = x * x
    (slope,) = arrays.gradients((once * once).sum(), [x])
    assert slope is not None and slope.tolist() == [4 * 27.0]


def test_the_impossible_has_no_derivative_and_no_nan() -> None:
    x = Array(np.full((2, 2), -math.inf)).watch()
    total = arrays.logsumexp(x, (0, 1))
    assert float(total) == -math.inf
    (slope,) = arrays.gradients(total, [x])
    assert slope is not None and not slope.any()
    assert arrays.logaddexp(x, x).tolist() == [[-math.inf] * 2] * 2


@pytest.mark.parametrize("name", ["log", "maximum", "max_product", "real", "boolean", "counting"])
def test_algebras_mean_the_same_on_both_libraries(name: str) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    algebra = algebra_named(name)
    values = np.abs(np.random.default_rng(0).normal(size=(2, 3, 4)) * 3).astype(algebra.dtypes[0])
    ours, theirs = Array(values), torch.from_numpy(values)
    segments = np.array([1, 0])
    for mine, other in [
        (algebra.sum(ours, (0, 2)), algebra.sum(theirs, (0, 2))),
        (algebra.plus(ours, ours), algebra.plus(theirs, theirs)),
        (algebra.times(ours, ours), algebra.times(theirs, theirs)),
        (algebra.product_of_rows(ours), algebra.product_of_rows(theirs)),
        (
            algebra.segment_sum(ours, Array(segments), 3),
            algebra.segment_sum(theirs, torch.from_numpy(segments), 3),
        ),
        (
            algebra.eliminate([ours, ours], [(2, 3, 4), (2, 3, 4)], 2),
            algebra.eliminate([theirs, theirs], [(2, 3, 4), (2, 3, 4)], 2),
        ),
    ]:
        np.testing.assert_allclose(mine.numpy(), other.numpy(), rtol=1e-12)


@pytest.mark.parametrize(
    ("value", "threads"), [("3", 3), ("4,2", 4), ("", None), ("many", None), ("0", None)]
)
def test_threads_are_those_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, value: str, threads: int | None
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", value)
    assert arrays.get_num_threads() == (threads or os.cpu_count())


def test_without_torch_a_tensor_is_refused_with_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    from herbrand.errors import UnsupportedError

    arrays.torch.cache_clear()
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    with pytest.raises(UnsupportedError, match="herbrand\\[torch\\]"):
        arrays.torch()
    monkeypatch.undo()
    arrays.torch.cache_clear()
