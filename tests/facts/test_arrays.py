"""Arrow arrays made by their buffers are those that pyarrow makes itself."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from herbrand.facts.column import TEXT, filled, number_array, text_array

TEXTS = st.lists(st.text(st.characters(exclude_categories=["Cs"])))
NUMBERS = st.lists(st.integers(-(2**31), 2**31 - 1) | st.none(), max_size=40)


@given(TEXTS)
def test_texts(texts: list[str]) -> None:
    made = text_array(texts)
    made.validate(full=True)
    assert made.equals(pa.array(texts, TEXT))


@given(TEXTS)
def test_texts_of_numpy(texts: list[str]) -> None:
    assert text_array([np.str_(text) for text in texts]).to_pylist() == texts


@pytest.mark.parametrize("texts", [["\ud800"], ["a", "b\udfff", "c"]])
def test_half_a_character_is_refused_as_pyarrow_refuses_it(texts: list[str]) -> None:
    for make in (text_array, lambda given: pa.array(given, TEXT)):
        with pytest.raises(UnicodeEncodeError):
            make(texts)


@given(st.lists(st.integers(-(2**63), 2**63 - 1)), st.integers(1, 3))
def test_numbers(numbers: list[int], step: int) -> None:
    given = np.array(numbers, np.int64)[::step]
    made = number_array(given)
    made.validate(full=True)
    assert made.equals(pa.array(given))


@given(NUMBERS, st.integers(0, 12), st.integers(0, 40))
def test_filled_whatever_part_of_an_array_it_is(numbers: list[int | None], start: int, length: int) -> None:
    part = pa.array(numbers, pa.int32()).slice(min(start, len(numbers)), length)
    assert filled(part, -7).tolist() == [-7 if n is None else n for n in part.to_pylist()]


def test_filled_where_there_is_no_number_at_all() -> None:
    assert filled(pa.nulls(3, pa.int32()), -1).tolist() == [-1, -1, -1]
