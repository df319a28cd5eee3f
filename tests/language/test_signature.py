"""What a checked theory declares, printed and read again, is the same vocabulary: any types, any sizes."""

from __future__ import annotations

import pytest

import herbrand as hb
from herbrand.errors import LanguageError
from herbrand.language.check import check
from herbrand.language.theory import Theory, show

TYPES = {
    '{"a"}': '{"a"}',
    '{"b", "a"}': '{"b", "a"}',
    '{"", "quo\\"te", "東京"}': '{"", "quo\\"te", "東京"}',
    "1..1": "1..1",
    "{1}": "1..1",
    "-3..3": "-3..3",
    "{1, 2, 3}": "1..3",
    "{3, 2, 1}": "{3, 2, 1}",
    "{1, 3}": "{1, 3}",
    "{0, 2, 1, 3}": "{0, 2, 1, 3}",
    "{-1, 2.5, 30000000000}": "{-1, 2.5, 30000000000}",
    "{1, 999999999999999999}": "{1, 999999999999999999}",
    "{0.5, 1.5}": "{0.5, 1.5}",
    "{1.0, 2.0}": "1..2",
}


@pytest.mark.parametrize("values", TYPES)
def test_closed_types_are_printed_shortly_and_read_back(values: str) -> None:
    signature = check(hb.parse(f"type t = {values}\npredicate p(t)\n"))
    printed = show(Theory(signature.declarations()))
    assert printed == f"type t = {TYPES[values]}\npredicate p(t)\n"
    assert check(hb.parse(printed)) == signature


INFERRED = ["1.0: p(x)", '1.0: p("a", 1)', "1.0: a and b", 'p("x")\n1.0: p(x) => q(x, y)', "r(x) :- e(x, _)"]


@pytest.mark.parametrize("text", INFERRED)
def test_what_was_inferred_can_be_declared(text: str) -> None:
    """With the inferred declarations written out, the theory means the same vocabulary."""
    theory = hb.parse(text)
    signature = check(theory)
    declared = Theory((*signature.declarations(), *theory.statements))
    again = check(declared)
    assert {n: (t.values, t.kind) for n, t in again.types.items()} == {
        n: (t.values, t.kind) for n, t in signature.types.items()
    }
    assert {n: (p.types, p.value_type) for n, p in again.predicates.items()} == {
        n: (p.types, p.value_type) for n, p in signature.predicates.items()
    }


def test_what_only_computed_values_have_is_not_declared() -> None:
    """Its type has no name that a text can hold, and a declaration of it would not be read back."""
    signature = check(hb.parse('w("a", 2)\np :: k(x) :- w(x, v), p = 1 / v'))
    printed = show(Theory(signature.declarations()))
    assert printed == "type w_1\ntype w_2 = number\npredicate w(w_1, w_2)\npredicate k(w_1)\n"
    assert show(hb.parse(printed)) == printed


def test_types_are_called_after_positions_that_the_theory_names() -> None:
    """``p(x + 1)`` is an atom of a computed value, which stands before it in an atom that nobody wrote."""
    assert set(check(hb.parse("1: q(x) and p(x + 1)\nq(1)")).types) == {"q_1", "p_1"}


@pytest.mark.parametrize("values", ["{}", "3..1", '{"a", 1}', "{1, 1}", "1..99999999999", "{p}", "1.5..2.5"])
def test_types_that_cannot_be(values: str) -> None:
    with pytest.raises(LanguageError) as caught:
        check(hb.parse(f"type t = {values}\npredicate p(t)\n"))
    assert all(mistake.span is not None and mistake.message for mistake in caught.value.mistakes)
