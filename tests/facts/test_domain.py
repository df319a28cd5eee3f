"""Constants and indices of one type."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import herbrand as hb
from herbrand.facts.domain import Domain

numbers = st.integers(-(2**53), 2**53) | st.floats(-1e9, 1e9)
texts = st.text(st.characters(codec="utf-8"), max_size=3)
some_constants = st.lists(texts, max_size=8) | st.lists(numbers, max_size=8)


@given(constants=some_constants, others=some_constants, declared=st.booleans())
def test_a_domain_is_a_sorted_list_and_its_inverse(constants, others, declared):
    domain = Domain.of("t", constants, declared=declared)
    expected = list(dict.fromkeys(constants)) if declared else sorted(set(constants))
    assert list(domain) == expected
    assert [domain.index_of(value) for value in expected] == list(range(len(expected)))
    assert domain.values_at(range(len(domain))) == [domain.value(i) for i in range(len(domain))] == expected
    places = {(isinstance(v, str), v): i for i, v in enumerate(expected)}
    wanted = [places.get((isinstance(v, str), v), -1) for v in others]
    assert domain.indices_of(others).tolist() == wanted
    assert domain.indices_of(others * 2000).tolist() == wanted * 2000


def test_numbers_and_texts_differ_and_whole_numbers_do_not():
    domain = Domain.of("node", [2, 1.0, 0.5])
    assert list(domain) == [0.5, 1, 2]
    assert [type(value) for value in domain] == [float, int, int]
    assert domain.index_of(1) == domain.index_of(1.0) == 1
    assert domain.index_of("1") is None
    assert Domain.of("node", ["1"]).index_of(1) is None


def test_large_whole_numbers_are_exact():
    domain = Domain.of("id", [2**62 + 1, 2**62, -(2**63)])
    assert list(domain) == [-(2**63), 2**62, 2**62 + 1]
    assert domain.index_of(2**62 + 1) == 2
    assert domain.index_of(2**70) is None


def test_equality_and_words():
    assert Domain.of("t", ["b", "a"]) == Domain.of("t", ["a", "b"]) != Domain.of("u", ["a", "b"])
    assert len({Domain.of("t", ["b", "a"]), Domain.of("t", ["a", "b"])}) == 1
    assert repr(Domain.of("t", ["a"])) == "Domain('t', 1 text)"
    assert repr(Domain.of("t", range(1000))) == "Domain('t', 1,000 numbers)"
    with pytest.raises(IndexError, match="t has 1 constants, none at 1"):
        Domain.of("t", ["a"]).value(1)


@pytest.mark.parametrize("number", ["1e20", "9223372036854775807", "-9223372036854775808", "1e300", "-2"])
def test_a_declared_number_of_any_size_is_found_and_written_so_that_it_reads_back(number: str) -> None:
    theory = hb.parse(f"type t = {{{number}}}\nlink({number})\n0.5 :: a(x) :- link(x)")
    (row,) = hb.Model(theory).infer().rows()
    assert hb.parse(f"type t = {{{number}}}\nlink({number})\n0.5 :: {row.atom}").choices
    assert float(row.arguments[0]) == float(number)
