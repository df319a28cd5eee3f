"""``.mln`` files: every formula reads back, every oddity is settled, every mistake has its message."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given

import herbrand as hb
from herbrand.errors import LanguageError
from herbrand.language.dialects import read_theory_file, read_theory_text
from herbrand.language.syntax import (
    And,
    Atom,
    Comparison,
    Constant,
    Exists,
    Formula,
    Hard,
    Implies,
    Learned,
    Not,
    Or,
    PredicateDeclaration,
    TypeDeclaration,
    ValueIs,
    Variable,
    WeightedFormula,
)
from herbrand.language.theory import Theory
from tests.language.dialects.generators import alchemy_formulas, alchemy_text, weighted

X, Y = Variable("x"), Variable("y")


def read(text: str) -> Theory:
    return read_theory_text(text, "mln", "t.mln")


def only_formula(text: str) -> Formula:
    return read(f"1 {text}").formulas[0].formula


@given(alchemy_formulas)
def test_a_printed_formula_reads_back(formula: Formula) -> None:
    assert read(f"1.5 {alchemy_text(formula)}") == Theory((weighted(formula),))


def test_weights() -> None:
    said = read(
        "1.5 P(x)\n-2 P(x)\n1e-3 P(x)\n.5 P(x)\nP(x) => P(x)\nP(x) v P(x).\nlogx(0.5) P(x)\nlog(8/4) P(x)"
    )
    weights = [formula.weight for formula in said.formulas]
    assert weights[:6] == [1.5, -2.0, 1e-3, 0.5, Learned(), Hard()]
    assert weights[6:] == pytest.approx([-0.6931471805599453, 0.6931471805599453])


def test_declarations() -> None:
    theory = read(
        'person = {Anna, "New York", bob}\nsize := {1, ..., 4}\nFriends(person, person)\nAlarm\nWide(size)'
    )
    anna, york, bob = (Constant(name) for name in ("Anna", "New York", "bob"))
    assert theory.statements == (
        TypeDeclaration("person", (anna, york, bob)),
        TypeDeclaration("size", tuple(map(Constant, "1234"))),
        PredicateDeclaration("Friends", ("person", "person")),
        PredicateDeclaration("Alarm"),
        PredicateDeclaration("Wide", ("size",)),
    )


def test_a_type_may_be_declared_in_parts_and_over_lines() -> None:
    theory = read("person = {\n  Anna,\n  Bob\n}\nperson = {Bob, Carl}")
    assert theory.types == (TypeDeclaration("person", tuple(map(Constant, ("Anna", "Bob", "Carl")))),)


def test_a_bare_atom_declares_once_and_is_a_formula_of_unknown_weight_then() -> None:
    assert read("Smokes(person)\nSmokes(x)\nAlarm\nAlarm").statements == (
        PredicateDeclaration("Smokes", ("person",)),
        WeightedFormula(Learned(), Atom("Smokes", (X,))),
        PredicateDeclaration("Alarm"),
        WeightedFormula(Learned(), Atom("Alarm")),
    )


def test_an_argument_with_a_mark_is_a_value() -> None:
    theory = read("Area(paper, topic!)\n1 Area(x, AI) => Area(y, t)")
    assert theory.predicates == (PredicateDeclaration("Area", ("paper",), "topic"),)
    assert theory.formulas[0].formula == Implies(
        ValueIs(Atom("Area", (X,)), Constant("AI")), ValueIs(Atom("Area", (Y,)), Variable("t"))
    )


def test_a_mark_elsewhere_becomes_hard_formulas() -> None:
    theory = read("Sits(person!, chair)")
    sits = Atom("Sits", (Variable("a1"), Variable("a2")))
    other = Atom("Sits", (Variable("b1"), Variable("a2")))
    same = Comparison("=", Variable("a1"), Variable("b1"))
    assert theory.statements == (
        PredicateDeclaration("Sits", ("person", "chair")),
        WeightedFormula(Hard(), Exists((Variable("a1"),), sits)),
        WeightedFormula(Hard(), Implies(And((sits, other)), same)),
    )


def test_equal_connectives_group_to_the_left() -> None:
    a, b, c = Atom("A"), Atom("B"), Atom("C")
    assert only_formula("A => B => C") == Implies(Implies(a, b), c)
    assert only_formula("A v B ^ C v A") == Or((a, And((b, c)), a))


def test_a_quantifier_reaches_as_far_right_as_it_can() -> None:
    body = Or((Atom("P", (X,)), Atom("Q", (X,))))
    assert only_formula("EXIST x P(x) v Q(x)") == Exists((X,), body)
    assert only_formula("!Exist x P(x) v Q(x)") == Not(Exists((X,), body))
    assert only_formula("A ^ exist x P(x) v Q(x)") == And((Atom("A"), Exists((X,), body)))


def test_v_is_a_disjunction_only_where_a_connective_can_stand() -> None:
    v = Variable("v")
    assert only_formula("v = v v P(v) v v != v") == Or(
        (Comparison("=", v, v), Atom("P", (v,)), Comparison("!=", v, v))
    )


def test_a_lower_case_name_that_a_type_lists_is_a_constant_unless_it_is_quantified() -> None:
    theory = read("person = {anna}\n1 P(anna) ^ (EXIST anna P(anna))")
    bound = Variable("anna")
    expected = And((Atom("P", (Constant("anna"),)), Exists((bound,), Atom("P", (bound,)))))
    assert theory.formulas[0].formula == expected


def test_a_blank_is_a_name_like_any_other() -> None:
    formula = only_formula("P(_) ^ Q(_)")
    assert formula == And((Atom("P", (Variable("_0"),)), Atom("Q", (Variable("_0"),))))


def test_plus_marks_matter_only_without_a_weight() -> None:
    atom = Atom("Has", (X, Y))
    assert read("Has(+x, +y) ^ Has(x, +y)").formulas[0].weight == Learned((X, Y))
    assert read("2 Has(x, +y)") == Theory((WeightedFormula(2.0, atom),))


def test_stars_give_every_pattern_of_signs() -> None:
    p, q = Atom("P", (X,)), Atom("Q")
    patterns = [(p, q), (p, Not(q)), (Not(p), q), (Not(p), Not(q))]
    assert [f.formula for f in read("*P(x) ^ *Q : x != A").formulas] == [And(pair) for pair in patterns]


def test_a_star_before_a_declaration_is_a_closed_world() -> None:
    """As in Tuffy; where the predicate is known, or in a formula, it is every pattern of signs."""
    theory = read("*F(p, p)\n*A(p, t!)\n*Rain\nS(p)\n*S(x)\n*Rain\n1 *F(x, y) => S(x)\n*S(x) ^ Rain")
    assert theory.predicates == (
        PredicateDeclaration("F", ("p", "p"), role="observed"),
        PredicateDeclaration("A", ("p",), "t", role="observed"),
        PredicateDeclaration("Rain", role="observed"),
        PredicateDeclaration("S", ("p",)),
    )
    assert len(theory.formulas) == 8


def test_a_file_with_stars_before_declarations_says_what_is_open() -> None:
    theory = read_theory_text("*F(p, p)\nS(p)\n1 S(x) ^ F(x, y) => S(y)", "mln")
    assert all(predicate.tells_world for predicate in theory.predicates)
    model = hb.Model(theory, {"F": [("a", "b")], "S": ["a"]})
    tables = model.program.facts.tables
    assert (tables["F"].world, tables["S"].world) == ("closed", "open")
    without = hb.Model(read_theory_text("F(p, p)\nS(p)\n1 S(x) ^ F(x, y) => S(y)", "mln"), {"S": ["a"]})
    assert without.program.facts.tables["S"].world == "closed"


def test_where() -> None:
    said = read("1 F(x,y) : x != y, y = Anna and x != y\nF(x,y) : x != y.")
    assert said.formulas[0].where == (
        Comparison("!=", X, Y),
        Comparison("=", Y, Constant("Anna")),
        Comparison("!=", X, Y),
    )
    assert said.formulas[1].weight == Hard() and len(said.formulas[1].where) == 1


def test_comments_and_lines() -> None:
    text = "// a\n# b\n1 P(x) ^ // c\n   /* d\n e */ Q(x) v\n\n R(x,\n y)"
    assert only_formula("P(x) ^ Q(x) v R(x, y)") == read(text).formulas[0].formula


@pytest.mark.parametrize("text", ["", "\n\n", "// nothing", "/* nothing */", "\ufeff", "# nothing\r\n"])
def test_files_that_say_nothing(text: str) -> None:
    assert read(text) == Theory()


def test_line_ends_marks_and_letters() -> None:
    expected = read("1 Größe(x) => P(x)\nP(人)\n")
    assert read("\ufeff1 Größe(x) => P(x)\r\nP(人)") == expected
    assert read("1 P(x)\r2 P(x)") == read("1 P(x)\n2 P(x)\n")


def test_a_very_long_line() -> None:
    text = "1 " + " v ".join(f"P{i}(x)" for i in range(20_000))
    formula = read(text).formulas[0].formula
    assert isinstance(formula, Or) and len(formula.operands) == 20_000


MISTAKES = {
    "1 P(x) -> Q(x)": "t.mln:1:8: expected the end of the line, found '-'",
    "1 P(x) and Q(x)": "t.mln:1:8: expected the end of the line, found 'and'",
    "1 P(x": "t.mln:1:6: expected ',' or ')', found the end of the text",
    "1 P(x) ^": "t.mln:1:9: expected a formula, found the end of the text",
    "1 (P(x) v Q(x)": "t.mln:1:15: expected ')', found the end of the text",
    "1 P(x).": "t.mln:1:7: a formula with a full stop is hard and takes no weight",
    "1: P(x)": "t.mln:1:2: a colon behind a weight",
    "1e999 P(x)": "t.mln:1:1: the number 1e999 is too large",
    "1 x < y": "t.mln:1:3: nothing says what type 'x' has",
    "P(a)\n1 P(F(x))": "t.mln:2:5: 'F' is used as a function",
    "1 F(x) = y": "t.mln:1:3: 'F' is used as a function",
    "a F(a)\na F(a)": "t.mln:2:3: 'F' is declared twice",
    "P(a)\nP(a)": "t.mln:2:1: 'P' is declared twice",
    "1 P(x)\nP(a!)": "t.mln:2:1: 'P' is used before it is declared",
    "1 EXIST Anna P(Anna)": "t.mln:1:9: 'Anna' cannot be quantified",
    "P(+Anna) v P(x)": "t.mln:1:3: '+' goes before a free variable",
    "a = {}": "t.mln:1:5: a type needs at least one constant",
    "a = {A": "t.mln:1:5: this '{' is never closed",
    "a = {3, ..., 1}": "t.mln:1:14: the range from 3 to 1 is empty",
    "a = {A, ..., 9}": "t.mln:1:9: a range is written {first, ..., last} with two whole numbers",
    '1 P("Anna)': "t.mln:1:5: this string is never closed",
    "1 P(x) /* so": "t.mln:1:8: this comment is never closed",
    "#uniq x": "t.mln:1:1: there is no directive '#uniq'",
    '#include "a.mln"': "t.mln:1:10: a text that is no file cannot include 'a.mln'",
    "1 P(?)": "t.mln:1:5: expected a variable or a constant, found '?'",
    "A(a!)\n1 A()": "t.mln:2:3: 'A' is many-valued and has no value here",
    "log(0) P(x)": "t.mln:1:1: this logarithm is no finite number",
    "1 P(x) : x < y": "t.mln:1:12: expected '=' or '!=', found '<'",
    "1 *(P(x))": "t.mln:1:4: expected a predicate behind '*', found '('",
    "1 " + " v ".join(["*P(x)"] * 11): (
        "t.mln:1:88: a formula with '*' and '|' stands for more than 1024 formulas"
    ),
    "1 " + "!" * 300 + "P(x)": "t.mln:1:203: the formula is nested more than 200 levels deep",
    "1 " + "(" * 300 + "P(x)" + ")" * 300: "t.mln:1:203: the formula is nested more than 200 levels deep",
    "1 " + "P => " * 300 + "P": "t.mln:1:3: the formula is nested more than 200 levels deep",
    "1 P(\0)": "t.mln:1:5: a NUL byte: this is not a text file",
}


@pytest.mark.parametrize("text", MISTAKES, ids=range(len(MISTAKES)))
def test_mistakes(text: str) -> None:
    with pytest.raises(LanguageError) as raised:
        read(text)
    assert str(raised.value).split("\n")[0] == MISTAKES[text]


def test_a_whole_message() -> None:
    with pytest.raises(LanguageError) as raised:
        read("Friends(person, person)\n1.5 Friends(Mother(x), y)\n2 Friends(x, y) or Friends(y, x)")
    assert str(raised.value) == (
        "t.mln:2:13: 'Mother' is used as a function\n"
        "  1.5 Friends(Mother(x), y)\n"
        "              ^^^^^^\n"
        "  declare it above, as in: person Mother(person)\n"
        "t.mln:3:17: expected the end of the line, found 'or'\n"
        "  2 Friends(x, y) or Friends(y, x)\n"
        "                  ^^\n"
        "  write ' v '"
    )


def includes(folder: Path, line: str) -> Theory:
    (folder / "main.mln").write_text(f"1 P(x)\n{line}\n")
    return read_theory_file(folder / "main.mln")


def test_include(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.mln").write_text('Area(paper, topic!)\n#include "b.mln"\n#include "facts.db"\n')
    (tmp_path / "sub" / "b.mln").write_text("2 Q(x)")
    (tmp_path / "sub" / "facts.db").write_text("Q(Anna)\nArea(P1, AI)\n")
    theory = includes(tmp_path, '#include "sub/a.mln"')
    assert [formula.weight for formula in theory.formulas] == [1.0, 2.0]
    assert [(rows.predicate, rows.valued) for rows in theory.facts] == [("Q", False), ("Area", True)]


def test_an_include_stays_in_its_folder(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "secret.mln").write_text("1 P(x)")
    (home / "link.mln").symlink_to(tmp_path / "secret.mln")
    (home / "again.mln").write_text('#include "main.mln"')
    absolute = f"{tmp_path}/secret.mln"
    refused = {
        '#include "../secret.mln"': "'../secret.mln' lies outside the folder of the including file",
        f'#include "{absolute}"': f"'{absolute}' lies outside the folder of the including file",
        '#include "C:\\\\x.mln"': "'C:\\x.mln' lies outside the folder of the including file",
        '#include "link.mln"': "'link.mln' lies outside the folder of the including file",
        '#include "main.mln"': "'main.mln' has already been read",
        '#include "again.mln"': "'main.mln' has already been read",
        '#include "functions.cpp"': "linked-in functions and predicates are not supported",
        '#include "gone.mln"': f"there is no file '{home}/gone.mln'",
        "#include more": "expected a file name in double quotes, found 'more'",
    }
    for line, message in refused.items():
        with pytest.raises(LanguageError) as raised:
            includes(home, line)
        assert [mistake.message for mistake in raised.value.mistakes] == [message]


def test_mistakes_of_included_files_are_told_together(tmp_path: Path) -> None:
    (tmp_path / "a.mln").write_text("1 P(\n")
    with pytest.raises(LanguageError) as raised:
        includes(tmp_path, '#include "a.mln"\n2 Q(')
    assert [m.span and m.span.place for m in raised.value.mistakes] == [
        f"{tmp_path}/a.mln:1:5",
        f"{tmp_path}/main.mln:3:5",
    ]
