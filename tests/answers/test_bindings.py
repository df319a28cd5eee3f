"""Answers of queries: looked up, normalised, cut, and told as JSON, frames and text."""

from __future__ import annotations

import json
import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from herbrand.answers.bindings import NULL_SCORE, Bindings, shown_weight
from herbrand.answers.guarantee import Guarantee, Status
from herbrand.errors import UnsupportedError
from herbrand.language.syntax import Value
from tests.laws import tries

laws = settings(phases=[Phase.explicit, Phase.reuse, Phase.generate], max_examples=tries(60))
kinds = [st.integers(-3, 3), st.sampled_from(["1", "bob", "é", "東京", ""])]
"""A type holds numbers or texts, not both."""
BIG = 10**400


def answer(weights: list, *columns: tuple[Value, ...], whole: bool = False, **more) -> Bindings:
    names = tuple("xyz"[: len(columns)])
    held = np.array(weights, object if whole else np.float64)
    return Bindings("proof", Guarantee.EXACT, Status(True, 1), names, columns, held, **more)


@st.composite
def drawn(draw: st.DrawFn) -> Bindings:
    types = draw(st.lists(st.sampled_from(kinds), max_size=2))
    arity = len(types)
    rows = draw(st.lists(st.tuples(*types), unique_by=repr, max_size=6 if arity else 1))
    whole = draw(st.booleans())
    weight = st.integers(1, BIG) if whole else st.floats(1e-6, 1e6)
    weights = sorted(draw(st.lists(weight, min_size=len(rows), max_size=len(rows))), reverse=True)
    columns = tuple(tuple(row[i] for row in rows) for i in range(arity))
    return answer(weights, *columns, whole=whole)


@laws
@given(drawn())
def test_every_form_tells_the_same_answers(found: Bindings) -> None:
    rows = list(found.rows())
    assert len(found) == len(rows) == found.to_arrow().num_rows == found.to_polars().height
    told = json.loads(json.dumps(found.to_dict(), ensure_ascii=False))["answers"]
    assert [(row["bindings"], row["weight"]) for row in told] == [(row.bindings, row.weight) for row in rows]
    for row in rows:
        assert found[tuple(row.bindings.values())] == row.weight
    assert found.weight == (
        sum(r.weight for r in rows)
        if rows and isinstance(rows[0].weight, int)
        else pytest.approx(math.fsum(r.weight for r in rows))
    )
    cells = list(found.cells())
    assert all(len(row) == len(found.heads) for row in cells)
    assert repr(found).endswith("no answer") == (not rows)


@laws
@given(drawn(), st.integers(0, 7))
def test_top_is_a_prefix(found: Bindings, count: int) -> None:
    top = found.top(count)
    assert list(top.rows()) == list(found.rows())[:count]
    assert found.top(None) is found and found.top(len(found)) is found


@laws
@given(drawn())
def test_shares_add_up_to_one_and_keep_the_order(found: Bindings) -> None:
    if len(found):
        shares = found.normalized("sum").weights
        assert shares.dtype == np.float64 and shares.sum() == pytest.approx(1.0)
        assert (np.diff(shares) <= 1e-15).all()
        weights = [row.weight for row in found.rows()]
        total = sum(weights) if isinstance(weights[0], int) else math.fsum(weights)
        assert shares.tolist() == pytest.approx([weight / total for weight in weights])
    soft = found.normalized("softmax")
    assert soft.null is not None and soft.weights.sum() + soft.null == pytest.approx(1.0)
    assert found.normalized("none") is found


def test_softmax_is_that_of_the_field() -> None:
    soft = answer([2.0, 0.5], ("a", "b")).normalized("softmax")
    total = math.exp(2) + math.exp(0.5) + math.exp(NULL_SCORE)
    assert soft["a"] == pytest.approx(math.exp(2) / total) and soft.null == pytest.approx(
        math.exp(-10) / total
    )
    assert soft.to_dict()["null"] == soft.null
    alone = answer([], ()).normalized("softmax")
    assert alone.null == 1.0 and len(alone) == 0


@pytest.mark.parametrize(
    ("weights", "whole", "shares"),
    [
        ([BIG, BIG], True, [0.5, 0.5]),
        ([3 * BIG, BIG], True, [0.75, 0.25]),
        ([2**70, 2**70], True, [0.5, 0.5]),
        ([1e308, 1e307], False, [10 / 11, 1 / 11]),
        ([5e-324], False, [1.0]),
        ([1.0, 0.0], False, [1.0, 0.0]),
    ],
)
def test_numbers_at_the_edge_of_floats(weights: list, whole: bool, shares: list[float]) -> None:
    found = answer(weights, tuple(range(len(weights))), whole=whole)
    assert found.normalized("sum").weights.tolist() == pytest.approx(shares)


def test_what_cannot_be_shared_out() -> None:
    with pytest.raises(UnsupportedError, match="the weights add up to 0"):
        answer([0.0, 0.0], ("a", "b")).normalized("sum")
    assert len(answer([], ()).normalized("sum")) == 0
    with pytest.raises(UnsupportedError) as caught:
        answer([1.0], ("a",)).normalized("softmaks")
    assert str(caught.value) == "there is no normalization 'softmaks'\n  did you mean 'softmax'?"
    with pytest.raises(UnsupportedError, match="one of none, sum, softmax"):
        answer([1.0], ("a",)).normalized("")


def test_looking_up() -> None:
    found = answer([2.0, 1.0], ("bob", 1), ("x", "1"))
    assert (found["bob", "x"], found[1, "1"], found["1", "1"], found["bob", "1"]) == (2.0, 1.0, 0.0, 0.0)
    for wrong in ("bob", ("bob",), ("bob", "x", "y"), ()):
        with pytest.raises(KeyError, match="an answer has 2 constants, not"):
            found[wrong]
    assert answer([3.0])[()] == 3.0 and answer([])[()] == 0.0 and answer([3.0]).weight == 3.0


WEIGHTS = {
    0.0: "0.0000",
    0.001: "0.0010",
    0.0009: "9.0000e-04",
    -2.5: "-2.5000",
    1e12: "1.0000e+12",
    999999999999.0: "999999999999.0000",
    math.inf: "inf",
    math.nan: "nan",
    10**30: "1" + "0" * 30,
}


@pytest.mark.parametrize("weight", WEIGHTS)
def test_weights_as_they_are_shown(weight: float) -> None:
    assert shown_weight(weight) == WEIGHTS[weight]


def test_json_has_no_infinity() -> None:
    told = answer([math.inf, -math.inf], ("a", "b")).to_dict()["answers"]
    assert [row["weight"] for row in told] == ["inf", "-inf"]
    json.dumps(told, allow_nan=False)


@pytest.mark.parametrize(
    ("weights", "whole", "type_"),
    [
        ([1.5], False, pa.float64()),
        ([2**63 - 1, -(2**63)], True, pa.int64()),
        ([2**63, 1], True, pa.string()),
    ],
)
def test_frames_hold_any_count(weights: list, whole: bool, type_: pa.DataType) -> None:
    table = answer(weights, tuple(range(len(weights))), whole=whole).to_arrow()
    assert table.schema.field("weight").type == type_
    assert [str(w) for w in table["weight"].to_pylist()] == [str(w) for w in weights]


def test_a_variable_called_weight_keeps_its_column() -> None:
    found = Bindings(
        *("proof", Guarantee.EXACT, Status(True, 1), ("weight", "weight_"), (("a",), ("b",))),
        np.array([0.5]),
    )
    assert found.to_arrow().to_pydict() == {"weight": ["a"], "weight_": ["b"], "weight__": [0.5]}


def test_bars_only_where_they_mean_something() -> None:
    assert list(answer([4.0, 1.0], ("a", "b")).spans() or ()) == [(0.0, 1.0), (0.0, 0.25)]
    assert list(answer([4 * BIG, BIG], ("a", "b"), whole=True).spans() or ()) == [(0.0, 1.0), (0.0, 0.25)]
    for weights in ([math.inf, 1.0], [1.0, -1.0], [0.0], []):
        assert answer(weights, tuple(range(len(weights)))).spans() is None


def test_titles_tell_what_was_cut() -> None:
    assert repr(answer([], (), truncated=True)) == "proof answers (exact), cut by the depth\nno answer"
    stopped = Bindings(
        *("proof", Guarantee.BOUND, Status(False, 3, 0.0, "raise --depth"), ("x",), (("a",),)),
        np.array([1.0]),
    )
    assert repr(stopped).splitlines()[0] == "proof answers (bound), not converged: raise --depth"
