"""The short ways of the checker say what the long ones say: bounds without variables, and nesting."""

from __future__ import annotations

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from herbrand.errors import LanguageError
from herbrand.language import formulas as formulas_module
from herbrand.language.check import check
from herbrand.language.formulas import And, Atom, Formula, Iff, Not, Truth, Xor, children, refuse_deep
from herbrand.language.parse import read_theory
from herbrand.language.uses import Uses
from tests.laws import tries

laws = settings(phases=[Phase.reuse, Phase.generate], deadline=None, max_examples=tries(120))
PARTS = [
    "a",
    "b",
    "not c",
    "(a or b)",
    "true",
    "p(x)",
    'p("u")',
    "p(3)",
    'm("u")',
    "m",
    'm = "u"',
    "x = y",
    "exists x: p(x)",
]
bounds = st.builds(
    lambda parts, sign, given: f"P({f' {sign} '.join(parts)}{given}) <= 0.5",
    st.lists(st.sampled_from(PARTS), min_size=1, max_size=3),
    st.sampled_from(["and", "or", "xor", "=>"]),
    st.sampled_from(["", "", " | b", " | a(x) and b", " | not a"]),
)
declarations = st.sampled_from(
    ["", "", "predicate a\npredicate b", 'predicate m in {"u", "v"}', "predicate a(t)", "1.0: p(x) => a"]
)


@laws
@given(declarations, st.lists(bounds, max_size=4))
def test_bounds_without_variables_are_checked_as_any_others(declared: str, lines: list[str]) -> None:
    reading = read_theory("\n".join([declared, *lines]), "t.hb")

    def told() -> object:
        try:
            found = check(reading.theory)
        except LanguageError as error:
            return str(error)
        return found, [p.span and p.span.place for p in found.predicates.values()]

    fast = told()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Uses, "_use_ground", lambda self, bound: False)
        assert fast == told()


formulas: st.SearchStrategy[Formula] = st.recursive(
    st.sampled_from([Atom("a"), Truth(True)]),
    lambda inner: st.one_of(
        inner.map(Not),
        st.builds(Iff, inner, inner),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: And(tuple(parts))),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: Xor(tuple(parts))),
    ),
    max_leaves=12,
)


def depth(formula: Formula) -> int:
    return max((1 + depth(part) for part in children(formula)), default=0)


@laws
@given(formulas, st.integers(1, 5))
def test_what_is_nested_too_deep_is_refused(formula: Formula, most: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(formulas_module, "DEEPEST_NESTING", most)
        if depth(formula) < most:
            refuse_deep(None, formula)
            return
        with pytest.raises(LanguageError, match=f"nested more than {most} levels"):
            refuse_deep(None, formula)
