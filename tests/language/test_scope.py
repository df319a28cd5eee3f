"""Variables under names of their own: nothing changes its meaning, against an evaluator by substitution."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import product

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from herbrand.language.check import check
from herbrand.language.parse import parse_formula, parse_theory
from herbrand.language.scope import Renaming, free_variables, variable_types, with_terms, written
from herbrand.language.show import show_formula
from herbrand.language.syntax import (
    Comparison,
    Constant,
    Exists,
    Forall,
    Formula,
    Variable,
    children,
    leaf_terms,
    walk,
)
from tests.language.theories import formulas
from tests.laws import tries
from tests.oracles.worlds import Universe, World, free_names
from tests.program_generators import DOMAINS, PREDICATES, anchored

SOME = settings(max_examples=tries(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
UNIVERSE = Universe(DOMAINS, PREDICATES)


def bound_names(formula: Formula) -> list[str]:
    return [
        variable.name
        for part in walk(formula)
        if isinstance(part, Exists | Forall)
        for variable in part.variables
    ]


def occurrences(formula: Formula) -> Iterator[str]:
    for part in walk(formula):
        yield from (term.name for term in leaf_terms(part) if isinstance(term, Variable))


class TestRenaming:
    @SOME
    @given(formulas)
    def test_every_quantifier_has_names_of_its_own(self, formula: Formula) -> None:
        renamed = Renaming().formula(formula)
        names = bound_names(renamed)
        assert len(set(names)) == len(names)
        assert all("`" in name for name in names)
        assert [written(name) for name in names] == bound_names(formula)

    @SOME
    @given(formulas)
    def test_free_names_stay_and_each_underscore_is_new(self, formula: Formula) -> None:
        renamed = Renaming().formula(formula)
        free = list(free_variables(renamed))
        named = [name for name in dict.fromkeys(free_names(formula)) if name != "_"]
        assert [name for name in free if "`" not in name] == named
        underscores = sum(name == "_" for name in occurrences(formula))
        made = Counter(name for name in occurrences(renamed) if written(name) == "_")
        assert len(made) == underscores and all(count == 1 for count in made.values())

    @SOME
    @given(formulas)
    def test_nothing_else_changes(self, formula: Formula) -> None:
        renamed = Renaming().formula(formula)
        assert [type(part) for part in walk(renamed)] == [type(part) for part in walk(formula)]
        assert list(map(written, occurrences(renamed))) == list(occurrences(formula))
        again = Renaming().formula(renamed)
        assert list(map(written, occurrences(again))) == list(occurrences(formula))

    @pytest.mark.parametrize(
        ("text", "free"),
        [
            ("p(x) and (exists x: q(x))", ["x"]),
            ("exists x: p(x) and (forall x: q(x, y)) and r(x)", ["y"]),
            ("(exists x: p(x)) or q(x)", ["x"]),
            ("exists x, y: r(x, y, z)", ["z"]),
            ("p(_) and q(_)", ["_`1", "_`2"]),
            ("exists _x: p(_x)", []),
            ("x = y and (exists y: y != z)", ["x", "y", "z"]),
            ('area(p) = v and area(q) in {"a"}', ["p", "v", "q"]),
            ('p("x") and true', []),
        ],
    )
    def test_what_is_free(self, text: str, free: list[str]) -> None:
        assert list(free_variables(Renaming().formula(parse_formula(text)))) == free

    def test_the_inner_quantifier_takes_the_name(self) -> None:
        renamed = Renaming().formula(parse_formula("exists x: p(x) and (forall x: q(x)) and r(x)"))
        outer, inner = bound_names(renamed)
        assert list(occurrences(renamed)) == [outer, inner, outer]

    def test_formulas_of_one_statement_share_no_made_name(self) -> None:
        renaming = Renaming()
        one, other = (renaming.formula(parse_formula("exists x: p(x, _)")) for _ in range(2))
        assert not set(occurrences(one)) & set(occurrences(other))

    @pytest.mark.parametrize("name", ["x", "名前", "a b", "x#1", "_"])
    def test_a_made_name_remembers_what_was_written(self, name: str) -> None:
        made = Renaming().formula(Exists((Variable(name),), Comparison("=", Variable("y"), Variable("y"))))
        (found,) = bound_names(made)
        assert written(found) == name != found

    def test_places_stay(self) -> None:
        formula = parse_formula('exists x: p(x, _) and m(x) = "a" or m(y) in {"a"} => x != y')
        renamed = Renaming().formula(formula)
        assert [part.span for part in walk(renamed)] == [part.span for part in walk(formula)]


WORLDS: list[World] = [
    {atom: choice(atom) for atom in UNIVERSE.atoms()}
    for choice in (
        lambda atom: UNIVERSE.choices(atom)[0],
        lambda atom: UNIVERSE.choices(atom)[-1],
        lambda atom: UNIVERSE.choices(atom)[len(atom[0] + "".join(map(str, atom[1]))) % 2],
    )
]


class TestMeaning:
    @SOME
    @given(anchored)
    def test_a_renamed_formula_holds_in_the_same_worlds(self, formula: Formula) -> None:
        renamed = Renaming().formula(formula)
        names = list(dict.fromkeys(free_names(formula)))
        types = UNIVERSE.variable_types(formula)
        for world in WORLDS:
            for values in product(*(DOMAINS[types[name]] for name in names)):
                binding = dict(zip(names, values, strict=True))
                assert UNIVERSE.holds(renamed, world, binding) == UNIVERSE.holds(formula, world, binding)

    @SOME
    @given(anchored)
    def test_constants_for_variables_are_a_binding(self, formula: Formula) -> None:
        """Quantified variables of the same name are others, and keep their place."""
        names = list(dict.fromkeys(free_names(formula)))
        types = UNIVERSE.variable_types(formula)
        for values in product(*(DOMAINS[types[name]] for name in names)):
            binding = dict(zip(names, values, strict=True))
            closed = with_terms(formula, {name: Constant(value) for name, value in binding.items()})
            assert list(free_names(closed)) == []
            for world in WORLDS:
                assert UNIVERSE.holds(closed, world, {}) == UNIVERSE.holds(formula, world, binding)

    @pytest.mark.parametrize(
        ("text", "closed"),
        [
            ("p(x) and (exists x: q(x))", 'p("c") and (exists x: q(x))'),
            ("exists y: r(x, y)", 'exists y: r("c", y)'),
            ("x != y and not x = x", '"c" != y and not "c" = "c"'),
            ('m(x) = x or m(y) in {"c"}', 'm("c") = "c" or m(y) in {"c"}'),
            ("true xor a", "true xor a"),
        ],
    )
    def test_a_constant_for_one_variable(self, text: str, closed: str) -> None:
        assert with_terms(parse_formula(text), {"x": Constant("c")}) == parse_formula(closed)
        assert show_formula(with_terms(parse_formula(text), {})) == text


class TestTypes:
    DECLARED = """
        type value = {"u", "v"}
        predicate p(a)
        predicate q(a, b)
        predicate m(b) in value
        predicate n in value
    """

    @pytest.mark.parametrize(
        ("text", "types"),
        [
            ("p(x)", {"x": "a"}),
            ("q(x, y)", {"x": "a", "y": "b"}),
            ("m(x) = v", {"x": "b", "v": "value"}),
            ('m(x) in {"u"}', {"x": "b"}),
            ("n = v", {"v": "value"}),
            ("p(x) and x != y", {"x": "a", "y": "a"}),
            ("x = y and y = z and p(z)", {"x": "a", "y": "a", "z": "a"}),
            ("z = y and y = x and x = w and p(z)", {"x": "a", "y": "a", "z": "a", "w": "a"}),
            ("p(x) and n = v and v != w", {"x": "a", "v": "value", "w": "value"}),
            ('p("c")', {}),
        ],
    )
    def test_by_the_positions_they_stand_in(self, text: str, types: dict[str, str]) -> None:
        signature = check(parse_theory(f"{self.DECLARED}\n1: {text}"))
        (statement,) = parse_theory(f"{self.DECLARED}\n1: {text}").formulas
        assert variable_types([Renaming().formula(statement.formula)], signature) == types

    def test_over_several_formulas(self) -> None:
        theory = parse_theory(f"{self.DECLARED}\n1: p(x) and q(z, y) where x != z and y = y")
        (statement,) = theory.formulas
        parts: list[Formula] = [statement.formula, *statement.where]
        assert variable_types(parts, check(theory)) == {"x": "a", "z": "a", "y": "b"}


@SOME
@given(formulas, st.data())
def test_substitution_touches_no_quantified_variable(formula: Formula, data: st.DataObject) -> None:
    names = sorted(set(occurrences(formula)))
    chosen = data.draw(st.sets(st.sampled_from(names))) if names else set()
    found = with_terms(formula, {name: Constant("here") for name in chosen})

    def inside(one: Formula, other: Formula, bound: frozenset[str]) -> None:
        if isinstance(one, Exists | Forall):
            assert isinstance(other, Exists | Forall) and one.variables == other.variables
            bound |= {variable.name for variable in one.variables}
        for was, now in zip(leaf_terms(one), leaf_terms(other), strict=True):
            put = isinstance(was, Variable) and was.name in chosen - bound
            assert now == (Constant("here") if put else was)
        for part, image in zip(children(one), children(other), strict=True):
            inside(part, image, bound)

    inside(formula, found, frozenset())
