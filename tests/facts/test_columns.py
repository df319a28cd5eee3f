"""Columns of constants, numbers written as text, and special columns, cell by cell."""

from __future__ import annotations

import decimal
import math
import re
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

from herbrand.facts.column import (
    ABSENT,
    Column,
    constants,
    dictionary_column,
    numbers_from_text,
    simplest_numbers,
)
from herbrand.facts.domain import Domain, array_of, one_number_type
from herbrand.facts.table_claims import numbers_of
from tests.laws import tries

PHASES = [Phase.reuse, Phase.generate]
texts = st.text(st.characters(codec="utf-8"), max_size=3)


def cells(column: Column) -> list[Any]:
    values = column.values.to_pylist()
    return [None if code == ABSENT else values[code] for code in column.codes.tolist()]


class TestDictionaryColumn:
    @settings(max_examples=tries(80), deadline=None, phases=PHASES)
    @given(st.lists(st.none() | texts, max_size=8), st.integers(1, 3))
    def test_each_constant_once_and_each_cell_as_it_was(self, drawn: list[str | None], chunks: int) -> None:
        """In however many pieces a column comes."""
        parts = [drawn[start::chunks] for start in range(chunks)]
        column = dictionary_column(pa.chunked_array([pa.array(part, pa.string()) for part in parts]))
        assert cells(column) == [cell for part in parts for cell in part]
        values = column.values.to_pylist()
        assert len(set(values)) == len(values) and set(values) == {c for c in drawn if c is not None}
        assert column.kind == "text" and column.codes.dtype == np.int32

    @pytest.mark.parametrize(
        ("array", "kind", "expected"),
        [
            (pa.array(["a", None], pa.large_string()), "text", ["a", None]),
            (pa.array(["a", "a"]).dictionary_encode(), "text", ["a", "a"]),
            (pa.array([3, None], pa.int8()), "number", [3, None]),
            (pa.array([3, 5], pa.uint16()), "number", [3, 5]),
            (pa.array([0.5, -1.0], pa.float32()), "number", [0.5, -1.0]),
            (pa.array([decimal.Decimal("1.25"), None]), "number", [1.25, None]),
            (pa.array([2**62]), "number", [2**62]),
            (pa.nulls(2), "text", [None, None]),
            (pa.array([], pa.string()), "text", []),
            (pa.chunked_array([], pa.int32()), "number", []),
        ],
        ids=lambda value: str(getattr(value, "type", value)),
    )
    def test_every_kind_of_arrow(self, array: Any, kind: str, expected: list[Any]) -> None:
        column = dictionary_column(array)
        assert cells(column) == expected and column.kind == kind

    @settings(max_examples=tries(200))
    @given(st.integers(1, 38).flatmap(lambda p: st.tuples(st.just(p), st.integers(0, p))), st.data())
    def test_decimals_are_the_numbers_that_they_write(
        self, kind: tuple[int, int], data: st.DataObject
    ) -> None:
        """Arrow's own cast of 67.21 is 67.21000000000001."""
        digits = data.draw(st.integers(0, min(kind[0], 18)))
        units = data.draw(st.lists(st.integers(-(10**digits) + 1, 10**digits - 1), max_size=5))
        written = [decimal.Decimal(unit).scaleb(-kind[1]) for unit in units]
        expected = [int(one) if kind[1] == 0 else float(one) for one in written]
        assert cells(dictionary_column(pa.array(written, pa.decimal128(*kind)))) == expected
        wide = pa.chunked_array([pa.array([*written, None], pa.decimal256(kind[0] + 38, kind[1]))])
        assert cells(dictionary_column(wide)) == [*expected, None]

    @pytest.mark.parametrize(
        "array",
        [pa.array([True]), pa.array([[1]]), pa.array([b"x"]), pa.array([{"a": 1}])],
        ids=lambda a: str(a.type),
    )
    def test_what_holds_no_constants(self, array: pa.Array) -> None:
        with pytest.raises(TypeError, match=str(array.type).split("<")[0]):
            constants(array)


WRITTEN = [
    "1", "-1", "007", " 12 ", "1.5", "-1.5e3", ".5", "5.", "1e-300", "1e400", "2E+2",
    "9223372036854775807", "9223372036854775808", "-9223372036854775808", "9007199254740993",
    "9007199254740992",
    "123456789012345678901234567890", "100000000000000000000", "+1", " +1.5", "+.5", "+9007199254740993",
]  # fmt: skip
NOT_WRITTEN = [
    "",
    "+",
    "+-1",
    "++1",
    "+ 1",
    "1_000",
    "0x10",
    "1,5",
    "nan",
    "inf",
    "-",
    ".",
    "e5",
    "1e",
    "1.5.2",
    "--1",
    "一",
    "1 2",
    "true",
]


class TestNumbersFromText:
    def number(self, text: str) -> int | float | None:
        """What a text writes, by Python; a whole number that neither 64 bits nor a float keep is none."""
        plain = text.strip()
        if not re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", plain, re.ASCII):
            return None
        if re.fullmatch(r"[+-]?\d+", plain) and float(plain) != int(plain):
            return None
        return float(plain)

    @settings(max_examples=tries(120), deadline=None, phases=PHASES)
    @given(st.lists(st.sampled_from(WRITTEN + NOT_WRITTEN), min_size=1, max_size=5))
    def test_as_python_reads_them(self, drawn: list[str]) -> None:
        numbers, good = numbers_from_text(pa.array(drawn))
        if all(re.fullmatch(r"[+-]?\d+", text.strip()) and -(2**63) <= int(text) < 2**63 for text in drawn):
            assert numbers.to_pylist() == [int(text) for text in drawn] and good.all(), "exact, however large"
            return
        expected = [self.number(text) for text in drawn]
        assert good.tolist() == [number is not None for number in expected]
        assert [n for n in numbers.to_pylist() if n is not None] == [n for n in expected if n is not None]

    def test_no_cell_and_an_empty_one(self) -> None:
        numbers, good = numbers_from_text(pa.array([None, "2"], pa.string()))
        assert good.tolist() == [False, True] and numbers.to_pylist() == [None, 2.0]
        assert numbers_from_text(pa.array([], pa.string()))[1].tolist() == []


class TestSimplestNumbers:
    @settings(max_examples=tries(80), deadline=None, phases=PHASES)
    @given(
        st.lists(
            st.floats(allow_nan=False, allow_infinity=False) | st.integers(-9, 9).map(float),
            min_size=1,
            max_size=5,
        )
    )
    @example([-0.0])
    @example([2.0**53])
    @example([2.0**53, 0.5])
    @example([2.0**60])
    def test_whole_numbers_where_all_are_and_exactly(self, numbers: list[float]) -> None:
        found = simplest_numbers(pa.array(numbers))
        whole = all(n.is_integer() and abs(n) <= 2**53 for n in numbers)
        assert pa.types.is_int64(found.type) == whole
        assert found.to_pylist() == numbers
        assert not any(math.copysign(1, n) < 0 for n in found.to_pylist() if n == 0), "there is one zero"

    def test_what_is_not_finite_stays(self) -> None:
        assert math.isnan(simplest_numbers(pa.array([math.nan, 1.0])).to_pylist()[0])
        assert simplest_numbers(pa.array([math.inf])).to_pylist() == [math.inf]

    def test_integers_are_left_as_they_are(self) -> None:
        whole = pa.array([1, 2**62])
        assert simplest_numbers(whole) is whole


class TestDomainsOfNumbers:
    def test_one_type_for_all_parts(self) -> None:
        whole, broken = pa.array([1, 2]), pa.array([0.5])
        assert one_number_type([whole, whole]) == [whole, whole]
        assert [part.type for part in one_number_type([whole, broken])] == [pa.float64()] * 2
        with pytest.raises(pa.ArrowInvalid):
            one_number_type([pa.array([2**53 + 1]), broken])

    @pytest.mark.parametrize(
        ("values", "kind"),
        [
            ([], pa.large_string()),
            (["a"], pa.large_string()),
            ([1, 2], pa.int64()),
            ([1, 2.0], pa.int64()),
            ([1, 0.5], pa.float64()),
        ],
    )
    def test_python_constants(self, values: list[Any], kind: pa.DataType) -> None:
        found = array_of(values)
        assert found.type == kind and found.to_pylist() == values

    def test_whole_numbers_beyond_64_bits(self) -> None:
        with pytest.raises(OverflowError):
            array_of([2**63])

    def test_merged_parts_are_sorted_and_each_once(self) -> None:
        found = Domain.merged("n", [pa.array([3, 1]), pa.array([2.5, 1.0])])
        assert list(found) == [1, 2.5, 3] and found.indices_of(pa.array([3, 4])).tolist() == [2, ABSENT]
        assert list(Domain.merged("n", [])) == [] and Domain.merged("n", []).kind == "text"

    def test_floats_find_whole_numbers_and_the_other_way_round(self) -> None:
        whole, broken = Domain.of("n", [1, 2**53]), Domain.of("n", [0.5, 2.0])
        assert whole.indices_of(pa.array([1.0, 0.5, 2.0**53, 1e300, math.nan])).tolist() == [0, -1, 1, -1, -1]
        assert broken.indices_of(pa.array([2, 1, 2**62 + 1])).tolist() == [1, -1, -1]


class TestMarks:
    @pytest.mark.parametrize(
        ("cells", "numbers", "good"),
        [
            (pa.array([1, None], pa.int8()), [1.0, 0.0], [True, False]),
            (pa.array([0.5, None]), [0.5, 0.0], [True, False]),
            (pa.array([decimal.Decimal("0.25")]), [0.25], [True]),
            (pa.array([decimal.Decimal("67.21"), None]), [67.21, 0.0], [True, False]),
            (pa.array(["1", " .5 ", "x", None]), [1.0, 0.5, 0.0, 0.0], [True, True, False, False]),
            (pa.array(["3", "4"], pa.large_string()), [3.0, 4.0], [True, True]),
            (pa.array([True, False]), [0.0, 0.0], [False, False]),
            (pa.array([[1.0]]), [0.0], [False]),
        ],
        ids=lambda value: str(getattr(value, "type", "")),
    )
    def test_numbers_of_cells(self, cells: pa.Array, numbers: list[float], good: list[bool]) -> None:
        found, told = numbers_of(pa.chunked_array([cells]))
        assert (found.tolist(), told.tolist()) == (numbers, good)

    def test_numbers_are_taken_as_they_are(self) -> None:
        given_ = np.array([0.5, math.nan])
        found, told = numbers_of(given_)
        assert found is given_ and told.tolist() == [True, True]
