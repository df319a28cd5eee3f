"""Intervals in every form in which a user takes them."""

from __future__ import annotations

import numpy as np
import pytest

from herbrand.answers.bounds import Bounds
from herbrand.answers.guarantee import Guarantee, Status


@pytest.fixture
def answer() -> Bounds:
    return Bounds(
        "exact",
        Guarantee.BOUND,
        Status(False, 7, 0.5, "raise --time-limit"),
        ("a", "b | <c>"),
        np.array([0.2, 0.6]),
        np.array([0.3, 0.7]),
        np.array([True, False]),
        np.array([0.01, np.nan]),
    )


def test_one_row(answer: Bounds) -> None:
    assert answer["a"].gap == 0.01 and answer["P(b | <c>)"].upper == 0.7
    assert answer["P(b | <c>)"].gap is None
    with pytest.raises(KeyError, match="not among the answers"):
        answer["c"]


def test_as_a_dict(answer: Bounds) -> None:
    told = answer.to_dict()
    assert (told["converged"], told["iterations"], told["guarantee"]) == (False, 7, "bound")
    row = {"query": "b | <c>", "lower": 0.6, "upper": 0.7, "certified": False, "gap": None}
    assert told["bounds"][1] == row


def test_as_frames(answer: Bounds) -> None:
    assert answer.to_pandas()["lower"].tolist() == [0.2, 0.6]
    assert answer.to_polars()["certified"].to_list() == [True, False]
    assert answer.to_arrow().column_names == ["query", "predicate", "lower", "upper", "certified", "gap"]


def test_as_text_and_page(answer: Bounds) -> None:
    assert repr(answer) == (
        "exact bounds (bound), not converged: raise --time-limit\n"
        "query     lower   upper  remark\n"
        "a        0.2000  0.3000  within 1.0e-02\n"
        "b | <c>  0.6000  0.7000  not certified"
    )
    page = answer._repr_html_()
    assert "b | &lt;c&gt;" in page and "margin-left:20.0px;width:10.0px" in page


def test_many_rows_are_cut() -> None:
    column = np.zeros(50)
    many = Bounds(
        "exact",
        Guarantee.EXACT,
        Status(True, 1),
        [f"x{i}" for i in range(50)],
        column,
        column + 1,
        column == 0,
    )
    assert repr(many).endswith("... 30 more rows") and len(many) == 50
