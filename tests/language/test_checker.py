"""Inference of types against a naive fixpoint, and what a signature tells."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from herbrand import Model
from herbrand.errors import LanguageError
from herbrand.language.check import check, check_all
from herbrand.language.parse import parse_theory, read_theory
from herbrand.language.signature import Predicate, Type
from tests.laws import tries

ARITIES = {"p": 1, "q": 2, "r": 3, "a": 0, "s": 2}
TYPES = ["person", "paper"]


@dataclass(frozen=True)
class Use:
    """An atom or a comparison of one statement, as names and variables."""

    predicate: str
    variables: tuple[str, ...]

    def __str__(self) -> str:
        if self.predicate in ("=", "!="):
            return f" {self.predicate} ".join(self.variables)
        return f"{self.predicate}({', '.join(self.variables)})" if self.variables else self.predicate


variables = st.sampled_from("xyz")
uses = st.one_of(
    st.sampled_from(sorted(ARITIES)).flatmap(
        lambda name: st.builds(Use, st.just(name), st.tuples(*[variables] * ARITIES[name]))
    ),
    st.builds(Use, st.sampled_from(["=", "!="]), st.tuples(variables, variables)),
)
bodies = st.lists(st.lists(uses, min_size=1, max_size=4), min_size=1, max_size=5)
declarations = st.one_of(
    st.none(),
    st.fixed_dictionaries(
        {name: st.tuples(*[st.sampled_from(TYPES)] * arity) for name, arity in ARITIES.items()}
    ),
)


def groups(body_lists: list[list[Use]]) -> list[set[object]]:
    """Positions and variables that must share a type: sets merged as long as two of them meet."""
    found: list[set[object]] = []
    for number, body in enumerate(body_lists):
        for use in body:
            named = [(number, variable) for variable in use.variables]
            if use.predicate in ("=", "!="):
                found.append(set(named))
            else:
                found += [{(use.predicate, i), one} for i, one in enumerate(named)]
    merging = True
    while merging:
        merging = False
        for left, right in combinations(found, 2):
            if left & right:
                found.remove(right)
                left |= right
                merging = True
                break
    return found


@settings(max_examples=tries(300), deadline=None)
@given(bodies, declarations)
def test_types_agree_with_a_naive_fixpoint(body_lists: list[list[Use]], declared: dict | None) -> None:
    head = [f"predicate {Use(name, types)}" for name, types in (declared or {}).items()]
    text = "\n".join([*head, *(f"1: {' and '.join(map(str, body))}" for body in body_lists)])
    classes = groups(body_lists)
    known = [
        {declared[node[0]][node[1]] for node in one if isinstance(node[0], str)} if declared else set()
        for one in classes
    ]
    homeless = any(all(isinstance(node[0], int) for node in one) for one in classes)
    if homeless or any(len(types) > 1 for types in known):
        with pytest.raises(LanguageError):
            check(parse_theory(text))
        return
    signature = check(parse_theory(text))
    typed = {(name, i): t for name, p in signature.predicates.items() for i, t in enumerate(p.types)}
    for left, right in combinations(typed, 2):
        if declared is None:
            together = any(left in one and right in one for one in classes)
            assert (typed[left] == typed[right]) == together
    if declared is not None:
        assert typed == {(name, i): t for name, types in declared.items() for i, t in enumerate(types)}


def test_undeclared_types_are_open_and_inferred_names_are_made() -> None:
    signature = check(parse_theory('1: p(x) and q(x, y) => p(y)\nq("a", "b")'))
    assert signature.predicates["q"].types == ("thing", "thing")
    assert signature.types == {"thing": Type("thing", None, "text")}
    several = check(parse_theory("1: p(x)\n1: q(x, y)"))
    assert [p.types for p in several.predicates.values()] == [("p_1",), ("q_1", "q_2")]


def test_declared_types_reach_through_variables() -> None:
    text = "predicate p(person)\npredicate q(person, paper)\n1: p(x) and q(y, z) and x = y"
    assert check(parse_theory(text)).predicates["q"].column_types == ("person", "paper")


def test_many_valued_predicates_have_a_type_of_values() -> None:
    text = 'type topic = {"ai", "db"}\npredicate area(paper) in topic\npredicate grade(paper) in {1, 2}\n'
    signature = check(parse_theory(text + '1: area(p) = v and area(q) != v\narea(1) = "ai"'))
    assert signature.predicates["area"].column_types == ("paper", "topic")
    assert signature.predicates["grade"].value_type == "grade value"
    assert tuple(signature.types["grade value"].values or ()) == (1, 2)
    assert signature.types["paper"].kind == "number"
    assert str(signature.predicates["area"]) == "area(paper)"


def test_a_type_of_values_never_takes_a_written_name() -> None:
    text = "predicate grade(`grade value`) in {1, 2}\ntype other = {3}"
    signature = check(parse_theory(text))
    assert signature.predicates["grade"].column_types == ("grade value", "grade value_")
    assert signature.types["grade value"].values is None


def test_constants_of_formulas_belong_to_their_types() -> None:
    text = 'predicate p(person)\n1: p("b") or p("a") or p("b")\n1: p(x) and x != "c"'
    assert check(parse_theory(text)).mentioned == {"person": ("b", "a", "c")}


@pytest.mark.parametrize("limit", ["3", "2.5", '"m"'])
@pytest.mark.parametrize("sign", ["<", "<=", ">", ">="])
def test_what_comes_before_or_after_a_limit_makes_it_no_constant(sign: str, limit: str) -> None:
    signature = check(parse_theory(f"low(x) :- v(x), x {sign} {limit}\nlow(x) :- v(x), {limit} {sign} x"))
    assert signature.mentioned == {}


def test_a_limit_of_a_closed_type_need_not_be_among_its_values() -> None:
    text = "type n = 0..3\npredicate v(n): observed\npredicate low(n)\nv(2)\nv(3)\nlow(x) :- v(x), x <= 2.5"
    found = Model(parse_theory(text)).query("low(x)").to_dict()["answers"]
    assert [row["bindings"] for row in found] == [{"x": 2}]


def test_a_variable_used_once_is_legal() -> None:
    signature = check(parse_theory("1: friends(x, y) => smokes(x)"))
    assert signature.predicates["friends"] == Predicate("friends", ("friends_1", "friends_2"))


def test_numbers_in_a_row_are_a_range_however_far_apart_others_are() -> None:
    for written, values in (
        ("{1, 2, 3}", range(1, 4)),
        ("{3, 1, 2}", (3, 1, 2)),
        ("{0, 1e300}", (0, 1e300)),
        ("{0.5, 1.5}", (0.5, 1.5)),
        ("{0, 999999999999999999}", (0, 999999999999999999)),
    ):
        assert check(parse_theory(f"type t = {written}\npredicate p(t)")).types["t"].values == values


def test_kinds_and_numbers() -> None:
    text = "type age = number\ntype year = 1990..1992\npredicate p(age, year)\np(1.5, 1990)\np(-2, 1992.0)"
    signature = check(parse_theory(text))
    assert tuple(signature.types["year"].values or ()) == (1990, 1991, 1992)
    assert signature.types["age"].kind == "number"


def test_names_in_back_quotes_never_meet_made_names() -> None:
    text = (
        "predicate p(a)\npredicate q(b)\n1: q(`x#1`) and (exists x: p(x)) and (exists y: q(y) and `x#1` = y)"
    )
    assert check(parse_theory(text)).strict
    with pytest.raises(LanguageError, match=r"^<text>:3:19: `x#1` stands for a b and for a a"):
        check(parse_theory("predicate p(a)\npredicate q(b)\n1: q(`x#1`) and p(`x#1`)"))


def test_all_mistakes_of_all_files_come_in_one_go() -> None:
    files = {
        "a.hb": "predicate smokes(person)\nsmokes(anna)\n1: smoks(x)\n",
        "b.hb": "predicate cancer(person, person\n1: cancer(x) and smokes(x, y)\ntype t\ntype t\n",
    }
    with pytest.raises(LanguageError) as error:
        check_all(read_theory(text, name) for name, text in files.items())
    assert [mistake.span.place for mistake in error.value.mistakes] == [
        *["a.hb:2:8", "a.hb:3:4"],
        *["b.hb:1:17", "b.hb:2:18", "b.hb:4:1"],
    ]


def test_a_file_that_cannot_be_read_at_all_is_not_held_against_the_others() -> None:
    with pytest.raises(LanguageError) as error:
        check_all([read_theory("predicate p(t)\n1: q(x)", "a.hb"), read_theory("\0", "b.hb")])
    assert [mistake.span.place for mistake in error.value.mistakes] == ["b.hb:1:1"]


def test_several_files_are_one_theory() -> None:
    theory, signature = check_all(
        [read_theory('predicate season in {"winter"}', "a.hb"), read_theory('1: season = "winter"', "b.hb")]
    )
    assert signature.valued_names == {"season"}
    assert len(theory.statements) == 2
