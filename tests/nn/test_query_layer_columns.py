"""Columns of constants and batches that a query layer is given, as lists, arrays and series hold them."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch

import herbrand as hb
from tests.laws import tries

TEXT = """\
type n = {"a", "b"}
predicate e(n, n): observed
predicate f(n): observed
predicate p(n, n)
p(x, y) :- e(x, y), f(y)
p(x, y) :- e(y, x) @ ?
"""
SCORES = {"e": torch.tensor([[0.5, 0.2], [0.3, 0.9]]), "f": torch.tensor([0.4, 0.7])}
ALGEBRAS = ["count", "max", "probability", "top-k"]


def layer(algebra: str = "count", **options: Any) -> hb.nn.QueryLayer:
    model = hb.Model(hb.parse(TEXT))
    return hb.nn.QueryLayer(model, "p(x, y)", neural=["e", "f"], algebra=algebra, **options)


@pytest.mark.parametrize(
    "column",
    [
        ["b"],
        ("b",),
        np.array(["b"]),
        pd.Series(["a", "b"]).iloc[1:],
        pd.Series(["b"], dtype="category"),
        pl.Series(["b"]),
        {"b"},
        iter("b"),
    ],
    ids=["list", "tuple", "array", "row of a series", "categories", "polars", "set", "iterator"],
)
def test_a_column_of_any_kind(column: Any) -> None:
    one = layer()
    assert torch.equal(one(column, SCORES), one(["a", "b"], SCORES)[1:])


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ({"x": "ab"}, "the constants of 'x' are 'ab'\n  expected a list of them"),
        ({"x": 3}, "the constants of 'x' are 3\n  expected a list of them"),
        ([None], "None is no constant of 'x'\n  a constant is text or a number"),
        (["a", ("b",)], "('b',) is no constant of 'x'\n  a constant is text or a number"),
        ([True], "True is no constant of 'x'\n  a constant is text or a number"),
        ([0], "0 is no constant of type n"),
    ],
    ids=repr,
)
def test_a_column_of_what_is_no_constant(column: Any, expected: str) -> None:
    with pytest.raises(hb.HerbrandError) as refused:
        layer()(column, SCORES)
    assert str(refused.value) == expected


@pytest.mark.parametrize("algebra", ALGEBRAS)
def test_no_scenes_and_no_questions(algebra: str) -> None:
    """Empty batches have answers, and slopes, of the same shape."""
    asked = layer(algebra)
    for rows, batched in ((["a"], ("e",)), (["a"], ("e", "f")), ([], ("e", "f")), ([], ())):
        scores = {
            name: (table[None][:0] if name in batched else table).clone().requires_grad_()
            for name, table in SCORES.items()
        }
        found = asked(rows, scores)
        assert found.shape == (0, 2)
        found.sum().backward()
        assert all(table.grad is None or not table.grad.any() for table in scores.values())
    assert asked([], {name: table[None] for name, table in SCORES.items()}).shape == (0, 2)


@pytest.mark.parametrize("algebra", ALGEBRAS)
def test_a_layer_in_half_precision(algebra: str) -> None:
    whole, half = layer(algebra)(["a", "b"], SCORES), layer(algebra).half()(["a", "b"], SCORES)
    assert half.dtype == torch.float32
    torch.testing.assert_close(half, whole, atol=2e-3, rtol=2e-3)


@pytest.mark.usefixtures("eager_threads")
@pytest.mark.parametrize("algebra", ALGEBRAS)
def test_threads_that_share_a_layer(algebra: str) -> None:
    """Proofs of new questions are searched for in each; copies and other goals share what is found."""
    text = TEXT.replace('"b"}', '"b", "c"}') + "p(x, z) :- e(x, y), p(y, z)\n"
    made = torch.Generator().manual_seed(0)
    scores = {"e": torch.rand(3, 3, generator=made), "f": torch.rand(3, generator=made)}
    questions = [["a"], ["b"], ["c"], ["a", "b"], ["c", "b"]]

    def fresh() -> hb.nn.QueryLayer:
        model = hb.Model(hb.parse(text))
        return hb.nn.QueryLayer(model, "p(x, y)", neural=["e", "f"], algebra=algebra, depth=3)

    expected = [fresh()(asked, scores) for asked in questions]
    for _ in range(tries(8, 3)):
        shared, together = fresh(), Barrier(len(questions))
        layers = [shared, copy.deepcopy(shared), shared.with_goal("p(x, y)"), shared, pickled(shared)]

        def answer(number: int, layers: Any = layers, together: Barrier = together) -> torch.Tensor:
            together.wait()
            return layers[number](questions[number], scores)

        with ThreadPoolExecutor(len(questions)) as threads:
            for found, wanted in zip(threads.map(answer, range(len(questions))), expected, strict=True):
                assert torch.equal(found, wanted)


def pickled(one: Any) -> Any:
    return pickle.loads(pickle.dumps(one))


def test_whole_numbers_of_numpy() -> None:
    assert layer("top-k", k=np.int64(2), depth=np.int32(3)).k == 2
    for wrong in (True, 1.5, "2"):
        with pytest.raises(hb.HerbrandError):
            layer("top-k", k=wrong)
        with pytest.raises(hb.HerbrandError):
            layer(depth=wrong)


def test_one_name_stands_alone() -> None:
    text = TEXT.replace("x", "from_here").replace("e(", "edge(")
    one = hb.nn.QueryLayer(hb.Model(hb.parse(text)), "p(from_here, y)", given="from_here", neural="edge")
    assert one.given == ("from_here",) and [*one.shapes] == ["edge"]
