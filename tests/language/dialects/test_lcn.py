"""``.lcn`` files: formulas in all spellings, lines of one shape, messages for every other."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from herbrand.errors import LanguageError, UnsupportedError
from herbrand.language.check import check
from herbrand.language.dialects import read_theory_text, write
from herbrand.language.parse import parse_formula, parse_theory
from herbrand.language.syntax import Atom, Bound, Formula, Iff, Not, Or
from herbrand.language.theory import Theory
from tests.language.dialects.generators import holds, lcn_formulas, lcn_text, same_truth

A, B, C = Atom("a"), Atom("b"), Atom("c")


def read(text: str) -> Theory:
    return read_theory_text(text, "lcn", "t.lcn")


def event(text: str) -> Formula:
    return read(f"s1: 0 <= P({text}) <= 1").bounds[0].event


@given(lcn_formulas, lcn_formulas, st.data())
def test_a_printed_bound_reads_back(said: Formula, given_that: Formula, data: st.DataObject) -> None:
    def pick(choices: list[str]) -> str:
        return data.draw(st.sampled_from(choices))

    text = f"s1: 0.25 <= P({lcn_text(said, pick)} | {lcn_text(given_that, pick)}) <= .5"
    assert read(text) == Theory((Bound(said, given_that, 0.25, 0.5, label="s1"),))


@pytest.mark.parametrize(
    ("text", "means"),
    [
        ("a nor b", lambda a, b, c: not (a or b)),
        ("a ↓ b † c", lambda a, b, c: not ((not (a or b)) or c)),
        ("a nand b", lambda a, b, c: not (a and b)),
        ("a / b ↑ c", lambda a, b, c: not ((not (a and b)) and c)),
        ("a xnor b = c", lambda a, b, c: (a == b) == c),
        ("(nor a b c)", lambda a, b, c: not (a or b or c)),
        ("(nand a !b c)", lambda a, b, c: not (a and not b and c)),
        ("(xor a b c)", lambda a, b, c: a ^ b ^ c),
        ("(xnor a (or b c))", lambda a, b, c: a == (b or c)),
        ("a nor b xnor c nand a or b xor c and not a",
         lambda a, b, c: not (a or (b == (not (c and (a or (b ^ (c and not a)))))))),
        ("¬a ∧ b ∨ c ⊕ ⊤", lambda a, b, c: (not a and b) or (c ^ True)),
        ("a and (b or c) & 1", lambda a, b, c: a and (b or c)),
    ],
)  # fmt: skip
def test_connectives_mean_what_the_format_says(text: str, means: object) -> None:
    formula = event(text)
    for a in (True, False):
        for b in (True, False):
            for c in (True, False):
                assert holds(formula, {A: a, B: b, C: c}) == means(a, b, c)  # type: ignore[operator]


def test_labels_bounds_and_flags() -> None:
    text = "# said\n\n s1 : 1e-1<=P(a)<=.5 ; True\ns-2:0 <= P ( a | b ) <= 1;\ns3: 0 <= P(a) <= 1 ; False"
    assert read(text).bounds == (
        Bound(A, None, 0.1, 0.5, True, "s1"),
        Bound(A, B, 0.0, 1.0, False, "s-2"),
        Bound(A, None, 0.0, 1.0, True, "s3"),
    )


def test_every_part_knows_its_place() -> None:
    bound = read("s1: 0 <= P(a | !x1 and !  x2) <= 1").bounds[0]
    assert bound.given is not None and bound.given.span is not None
    assert bound.given.span.text == "!x1 and !  x2"
    assert bound.event.span is not None and bound.event.span.text == "a"


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing", "\ufeff# nothing\r\n"])
def test_files_that_say_nothing(text: str) -> None:
    assert read(text) == Theory()


def test_a_very_long_line() -> None:
    formula = event(" or ".join(f"x{i}" for i in range(20_000)))
    assert isinstance(formula, Or) and len(formula.operands) == 20_000


SHAPE = "a line reads 's1: 0.2 <= P(a | b) <= 0.4'"
MISTAKES = {
    "s1: 0.5 <= P(a) <= 0.2": "t.lcn:1:5: the lower bound 0.5 is above the upper bound 0.2",
    "s1: 0 <= P(a) <= 1\ns1: 0 <= P(b) <= 1": "t.lcn:2:1: the label 's1' is given twice",
    "s1: 0 <= P(a -> b) <= 1": "t.lcn:1:14: expected a connective in this formula, found '-'",
    "s1: 0 <= P(a b) <= 1": "t.lcn:1:14: expected a connective in this formula, found 'b'",
    "s1: 0 <= P(p(x)) <= 1": "t.lcn:1:13: atoms have no arguments in an .lcn file",
    "s1: 0 <= P(a | b | c) <= 1": "t.lcn:1:18: expected a connective in this formula, found '|'",
    "s1: 0 <= P((a|b)) <= 1": "t.lcn:1:14: expected a connective or ')' in this formula, found '|'",
    "s1: 0 <= P() <= 1": "t.lcn:1:12: expected an atom in this formula, found its end",
    "s1: 0 <= P(a | ) <= 1": "t.lcn:1:16: expected an atom in this formula, found its end",
    "s1: 0 <= P(a and or b) <= 1": "t.lcn:1:18: expected an atom in this formula, found 'or'",
    "s1: 0 <= P(2) <= 1": "t.lcn:1:12: expected an atom in this formula, found '2'",
    "s1: 0 <= P((a and b) <= 1": "t.lcn:1:12: this '(' is never closed",
    "s1: 0 <= P(a)) <= 1": "t.lcn:1:13: expected a connective in this formula, found ')'",
    "s1: 0 <= P((xnor a b c)) <= 1": "t.lcn:1:13: 'xnor' before its operands takes two operands",
    "s1: 0 <= P((and a)) <= 1": "t.lcn:1:13: 'and' before its operands takes at least two operands",
    "s1: 0 <= P(a) <= 2": "t.lcn:1:18: '2' is not a probability",
    "s1: 0.1_0 <= P(a) <= 1": "t.lcn:1:5: '0.1_0' is not a probability",
    "s1: nan <= P(a) <= 1": "t.lcn:1:5: 'nan' is not a probability",
    "0 <= P(a) <= 1": "t.lcn:1:1: expected a label and ':', found '0'",
    "s1: P(a) <= 1": "t.lcn:1:5: expected the lower bound, found 'P'",
    "s1: 0 <= Q(a) <= 1": "t.lcn:1:10: expected 'P(', found 'Q'",
    "s1: 0 <= P(a": "t.lcn:1:12: expected ')', found 'a'",
    "s1: 0 <= P(a) >= 1": "t.lcn:1:15: expected '<=', found '>='",
    "s1: 0 <= P(a) <=": "t.lcn:1:17: expected the upper bound, found the end of the line",
    "s1: 0 <= P(a) <= 1 True": "t.lcn:1:20: expected ';' or the end of the line, found 'True'",
    "s1: 0 <= P(" + "!" * 300 + "a) <= 1": "t.lcn:1:213: the formula is nested more than 200 levels deep",
    "s1: 0 <= P(" + "(" * 300 + "a" + ")" * 300 + ") <= 1": (
        "t.lcn:1:213: the formula is nested more than 200 levels deep"
    ),
    "s1: 0 <= P(" + "a nor " * 300 + "a) <= 1": "t.lcn:1:12: the formula is nested more than 200 levels deep",
    "s1: 0 <= P(a\0) <= 1": "t.lcn:1:13: a NUL byte: this is not a text file",
}


@pytest.mark.parametrize("text", MISTAKES, ids=range(len(MISTAKES)))
def test_mistakes(text: str) -> None:
    with pytest.raises(LanguageError) as raised:
        read(text)
    assert str(raised.value).split("\n")[0] == MISTAKES[text]


def test_all_mistakes_of_a_file_are_told_together() -> None:
    with pytest.raises(LanguageError) as raised:
        read("s1: 0 <= P(a) <= 1\nnothing\ns2: 0 <= P(-) <= 1\ns1: 0 <= P(a) <= 1\n")
    assert str(raised.value) == (
        "t.lcn:2:1: expected a label and ':', found 'nothing'\n  nothing\n  ^^^^^^^\n  " + SHAPE + "\n"
        "t.lcn:3:12: expected an atom in this formula, found '-'\n  s2: 0 <= P(-) <= 1\n             ^\n"
        "  there is no arrow: write 'not a or b' for 'a implies b'\n"
        "t.lcn:4:1: the label 's1' is given twice\n  s1: 0 <= P(a) <= 1\n  ^^\n  first here: t.lcn:1:1"
    )


# Writing


def written(theory: Theory) -> str:
    return write(theory, check(theory), "lcn")


@given(lcn_formulas, lcn_formulas)
def test_a_written_bound_reads_back(said: Formula, given_that: Formula) -> None:
    theory = Theory((Bound(said, given_that, 0.25, 0.5, True, "s1"), Bound(said, None, 0.0, 0.1, label="x")))
    assert read(written(theory)) == theory


def test_arrows_are_put_into_or() -> None:
    theory = parse_theory("P(a => b <=> (c => a)) = 0.5")
    assert same_truth(read(written(theory)).bounds[0].event, parse_formula("a => b <=> (c => a)"))


def test_labels_are_made_where_there_are_none() -> None:
    theory = parse_theory("P(a) = 0.5\n[s1] P(b) = 0.5\nP(c) = 0.5")
    assert [bound.label for bound in read(written(theory)).bounds] == ["s11", "s1", "s3"]


def test_atoms_that_are_declared_alone_are_kept() -> None:
    """Without a line an atom would be lost, and `bound` would answer for one atom less."""
    theory = parse_theory("predicate q\npredicate a\nP(a) <= 0.5\npredicate r\nP(b | r) = 1\npredicate b")
    assert written(theory) == "s1: 0.0 <= P(q) <= 1.0\ns2: 0.0 <= P(a) <= 0.5\ns3: 1.0 <= P(b | r) <= 1.0\n"


def test_what_an_lcn_file_cannot_say() -> None:
    theory = parse_theory(
        "predicate p(person)\npredicate q: observed\npredicate `x or y`\ntype person\n"
        "1.0: q\nq\nq :- `x or y`\n"
        'P(p("a")) = 0.5\nP(exists x: p(x)) = 0.5\nP(`x or y`) = 0.5\n["a b"] P(q) = 0.5\n',
        "t.hb",
    )
    with pytest.raises(UnsupportedError) as raised:
        written(theory)
    assert [f"{m.span.line}: {m.message}" for m in raised.value.mistakes if m.span] == [
        "1: an .lcn file declares nothing and has atoms without arguments only",
        "2: an .lcn file declares nothing and has atoms without arguments only",
        "4: an .lcn file declares nothing and has atoms without arguments only",
        "5: an .lcn file has no weighted formulas",
        "6: an .lcn file has no facts",
        "7: an .lcn file has no rules",
        "8: an .lcn file has atoms without arguments only",
        "9: an .lcn file has no quantifiers",
        "10: 'x or y' is no name of an .lcn file",
        "11: 'a b' is no label of an .lcn file",
    ]


def test_negations_and_equivalences_stay_as_they_are() -> None:
    assert event("!(a or b)") == Not(Or((A, B))) == event("a nor b")
    assert event("a = b = c") == Iff(Iff(A, B), C)
