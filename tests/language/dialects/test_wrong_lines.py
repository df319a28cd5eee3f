"""What a user reads who slips in another format, line by line: where, what was expected, and what to do."""

from __future__ import annotations

import pytest

from herbrand.errors import LanguageError
from herbrand.language.check import check
from herbrand.language.dialects import read_theory_text

MLN = {
    "5: P(x)": "1:2: a colon behind a weight",
    "+x P(x)": "1:4: expected '=' or '!=', found 'P'",
    "0.5 P(x).": "1:9: a formula with a full stop is hard and takes no weight",
    "1e999 P(x)": "1:1: the number 1e999 is too large",
    "log(0) P(x)": "1:1: this logarithm is no finite number",
    "log(1/0) P(x)": "1:1: this weight is no finite number",
    "9**999 P(x)": "1:1: this weight is no finite number",
    "$w P(x)": "1:1: '$w' has no weight yet",
    "$w = \n1 P(x)": "1:6: expected a weight, found the end of the line",
    "log(1 P(x)": "1:7: expected ',' or ')', found 'P'",
    "1": "1:2: expected a formula, found the end of the text",
    "1 =>": "1:3: expected a formula, found '=>'",
    "P(x) =>": "1:8: expected a formula, found the end of the text",
    "{": "1:1: expected a formula, found '{'",
    "1 P(x": "1:6: expected ',' or ')', found the end of the text",
    "1 P(x))": "1:7: expected the end of the line, found ')'",
    "1 (P(x)": "1:8: expected ')', found the end of the text",
    "1 [P(x))": "1:8: expected ']', found ')'",
    "1 P(x,)": "1:7: expected a variable or a constant, found ')'",
    "1 P(,x)": "1:5: expected a variable or a constant, found ','",
    "1 P(? x)": "1:5: expected a variable or a constant, found '?'",
    "P(a)\n1 P(f(x))": "2:5: 'f' is used as a function",
    "a f(a)\n1 f(x)": "2:3: 'f' is a function and has no truth",
    "a f(a)\n1 f(x, x) = x": "2:3: 'f' takes 1 argument, not 2",
    "a = {B}\nP(a)\n1 P(x++)": "3:5: arithmetic needs the numbers of type 'a'",
    "1 P(x++)": "1:5: arithmetic needs a predicate that is declared",
    "1 P(x + y)": "1:9: expected a whole number, found 'y'",
    "1 P(x) = Q(x)": "1:3: 'P' is used as a function",
    "P(x) := Q(x).": "1:6: Tuffy's scoping rules are not supported",
    "P(Q(x)) = 0.3": "1:1: probabilities of formulas are not supported in .mln files",
    "w: P(x, w)": "1:1: nothing says what type 'w' has",
    "a = {1}\nP(a)\nw: P(w)": "3:1: the constants of 'a' are listed, and so are text and no weights",
    "P(a)\n1 count(P(x) | x) > 1": "2:3: every variable of this count is fixed",
    "P(a)\n1 count(P(x)) v P(A)": "2:15: a count is compared with a number",
    '[Label] "a" 1 P(x)': "1:1: labels are not supported",
    "FD: a -> b": "1:1: functional dependencies are not supported",
    "#fuzzy": "1:1: '#fuzzy': degrees of truth are not supported",
    "#unique{+?x,+?y}\n1 P(+?x) ^ P(+?y)": "1:1: '#unique' is only supported for weights that are 0",
    "P(a!, b?)": "1:1: 'P' has arguments with a '!' and with a '?'",
    "1 P(x), Q(x)": "1:7: a comma joins the premises of a '=>'",
    "#include <more.mln>": "1:10: files of a .pracmln project cannot be included",
    "1 P(x)\n  , Q(x)": "2:3: expected a formula, found ','",
    "1 P(a) and Q(a)": "1:8: expected the end of the line, found 'and'",
    "1 P(x) | Q(x)": "1:8: expected the end of the line, found '|'",
    "1 ~P(x)": "1:3: expected a formula, found '~'",
    "1 -P(x)": "1:3: expected a formula, found '-'",
    "1 x < y": "1:3: nothing says what type 'x' has",
    "1 P(x) : x < y": "1:12: expected '=' or '!=', found '<'",
    "1 EXIST X P(X)": "1:9: 'X' cannot be quantified",
    "1 EXIST P(x)": "1:9: 'P' cannot be quantified",
    "1 EXIST x,": "1:11: expected a variable, found the end of the text",
    "1 *(P(x))": "1:4: expected a predicate behind '*', found '('",
    "1 P(+Anna)": "1:5: '+' goes before a free variable",
    "1 EXIST x P(+x)": "1:13: '+' goes before a free variable",
    'P("abc': "1:3: this string is never closed",
    "1 P(x) /* c": "1:8: this comment is never closed",
    "#define A": "1:1: there is no directive '#define'",
    "#include more": "1:10: expected a file name in double quotes, found 'more'",
    '#include "x.mln"': "1:10: a text that is no file cannot include 'x.mln'",
    '#include "x.cpp"': "1:10: linked-in functions and predicates are not supported",
    "2*1" + "0" * 400 + " P(x)": f"1:1: the number 2*1{'0' * 34}... is too large",
    "@ ^ P(x)": "1:3: expected a formula, found '^'",
    "A = {}": "1:5: a type needs at least one constant",
    "A = {a, b": "1:5: this '{' is never closed",
    "A = {1, ..., x}": "1:14: expected the last number of the range, found 'x'",
    "A = {..., 3}": "1:6: a range is written {first, ..., last} with two whole numbers",
    "A = {1, ..., " + "9" * 5000 + "}": "1:9: a range is written {first, ..., last} with two whole numbers",
    "A = {5, ..., 3}": "1:14: the range from 5 to 3 is empty",
    "A = {1, ..., 2000000}": "1:14: the range from 1 to 2000000 has more than 1000000 numbers",
    "A = {a =}": "1:8: expected a constant or '}', found '='",
    "P(a)\nP(a)": "2:1: 'P' is declared twice",
    "1 P(x)\nP(a!)": "2:1: 'P' is used before it is declared",
    "P(a!)\n1 P": "2:3: 'P' is many-valued and has no value here",
    "P(a, b)\n1 P(x)": "2:3: `P` takes 2 arguments, not 1",
    "1 x = y": "1:3: nothing says what x ranges over: it occurs in no atom",
    "1 P(x) : x = z": "1:14: z is not a free variable of the formula",
}
PPR = {
    "p(X,Y).": "1:7: a clause needs a body",
    "p(X,Y) :- q(X,Y)": "1:17: expected '.', found the end of the text",
    "p(X,Y) :- q(X,Y": "1:16: expected ',' or ')', found the end of the text",
    "p(X Y) :- q(X,Y).": "1:5: expected ',' or ')', found 'Y'",
    "p(X,Y) <= q(X,Y)": "1:8: expected ':-', found '<='",
    "p(X,Y) :- q(X,-1).": "1:15: expected a variable or a constant, found '-1'",
    "p(0.5)": "1:3: expected a variable or a constant, found '0.5'",
    "p(X,Y) :- q(X,1.5).": "1:15: expected a variable or a constant, found '1.5'",
    "p(X,Y) :- \\+ q(X,Y).": "1:11: expected a goal such as p(X,Y), found '\\'",
    "p(X,Y) :- !q(X,Y).": "1:11: expected a goal such as p(X,Y), found '!'",
    "p(X,Y) :- q(X,Y) {a,b}.": "1:20: a clause has at most one feature",
    "p(X,Y) :- q(X,Y){}.": "1:18: expected a goal such as p(X,Y), found '}'",
    "p(X,Y) :- q(X,Y) {a.": "1:20: expected '}', found '.'",
    "p(X,Y) :- q(X,Y), {r}.": "1:19: expected a goal such as p(X,Y), found '{'",
    "p(X,Y) :- assign(Y,Z).": "1:11: assign takes a variable and a constant",
    "p(X,Y) :- assign(Y).": "1:11: assign takes a variable and a constant",
    "p(X,Y) :- assign(a,b).": "1:11: assign takes a variable and a constant",
    "p(X,Y) :- q(X,'it).": "1:15: expected a variable or a constant, found '''",
    "p(X,Y) :- q(X,Y). % c": "1:19: expected a goal such as p(X,Y), found '%'",
    "# :- q(t1)\np(X,Y) :- q(X,Y).": "2:11: 'q' has 2 arguments here and is declared with 1",
    "# :- q(t,\np(X) :- q(X).": "1:1: this is no declaration",
    "p(X) :- q(X).\np(X,Y) :- q(X), q(Y).": "2:1: p takes 1 argument, not 2",
}
TLOG = {
    "p(X,Y) :- q(X,Y).": "1:8: expected '<=', found ':-'",
    "p(X,Y) <= q(X,Y) r(X,Y)": "1:18: expected '&' or a new line, found 'r'",
    "p(X,Y) <= q(X,Y) &": "1:19: expected a goal such as p(X,Y), found the end of the text",
    "p(X,Y) <= q(X,Y) //": "1:20: expected a goal such as p(X,Y), found the end of the text",
    "p(X,Y)": "1:7: expected '<=', found the end of the text",
    "p(X,Y) <= q(X,Y) // a & b": "1:23: a clause has at most one feature",
}
LCN = {
    "0.2 <= P(a) <= 0.4": "1:1: expected a label and ':', found '0'",
    "s1 0.2 <= P(a) <= 1": "1:1: expected a label and ':', found 's1'",
    "s1: P(a) <= 0.2": "1:5: expected the lower bound, found 'P'",
    "s1: 0 = P(a) <= 1": "1:5: expected the lower bound, found '0'",
    "s1: 0 <= p(a) <= 1": "1:10: expected 'P(', found 'p'",
    "s1: 0 <= P(a;b) <= 1": "1:12: expected ')', found 'a'",
    "s1: 0.2 <= P(a)": "1:16: expected '<=', found the end of the line",
    "s1: 0 <= P(a) < 1": "1:15: expected '<=', found '<'",
    "s1: 0 <= P(a) <= 1 # x": "1:20: expected ';' or the end of the line, found '#'",
    "s1: 0.4 <= P(a) <= 0.2": "1:5: the lower bound 0.4 is above the upper bound 0.2",
    "s1: 0.2 <= P(a) <= 1.2": "1:20: '1.2' is not a probability",
    "s1: -1 <= P(a) <= 1": "1:5: '-1' is not a probability",
    "s1: nan <= P(a) <= 1": "1:5: 'nan' is not a probability",
    "s1: x <= P(a) <= 1": "1:5: 'x' is not a probability",
    "s1: 0 <= P() <= 1": "1:12: expected an atom in this formula, found its end",
    "s1: 0 <= P(a|) <= 1": "1:14: expected an atom in this formula, found its end",
    "s1: 0 <= P(|a) <= 1": "1:12: expected an atom in this formula, found '|'",
    "s1: 0 <= P(a|b|c) <= 1": "1:15: expected a connective in this formula, found '|'",
    "s1: 0 <= P(a b) <= 1": "1:14: expected a connective in this formula, found 'b'",
    "s1: 0 <= P(a -> b) <= 1": "1:14: expected a connective in this formula, found '-'",
    "s1: 0 <= P(~a) <= 1": "1:12: expected an atom in this formula, found '~'",
    "s1: 0 <= P(a(b)) <= 1": "1:13: atoms have no arguments in an .lcn file",
    "s1: 0 <= P((a) <= 1": "1:12: this '(' is never closed",
    "s1: 0 <= P(a)) <= 1": "1:13: expected a connective in this formula, found ')'",
    "s1: 0 <= P(and) <= 1": "1:12: expected an atom in this formula, found 'and'",
    "s1: 0 <= P((and a)) <= 1": "1:13: 'and' before its operands takes at least two operands",
    "s1: 0 <= P((xnor a b c)) <= 1": "1:13: 'xnor' before its operands takes two operands",
    "s1: 0 <= P(a) <= 1\ns1: 0 <= P(b) <= 1": "2:1: the label 's1' is given twice",
}
FACTS = {
    "Smokes(Anna": "1:12: expected ',' or ')', found the end of the text",
    "Smokes Anna)": "1:8: expected '(', found 'Anna'",
    "?Smokes(Anna)": "1:1: '?' marks an atom as unknown; a fact is true or false",
    "1.7 Smokes(Anna)": "1:1: 1.7 is no probability: soft evidence lies between 0 and 1",
    "0.7 !Smokes(Anna)": "1:1: a probability goes with an atom without '!'",
    "!Smokes(Anna) 0.7": "1:1: a probability goes with an atom without '!'",
    "person = {Anna": "1:10: this '{' is never closed",
    "person = {Anna} Bob": "1:17: expected the end of the line, found 'Bob'",
    "P(A)\n---\nP(B)": "2:4: this file holds 2 databases, kept apart by lines of '---'",
    "P(A)\nP(A, B)": "2:1: 'P' has 2 arguments here and 1 before",
    'P("A)': "1:3: this string is never closed",
}
CFACTS = {
    "p\ta\t\tb": "1:1: a cell is empty",
    "p(a)\tb": "1:1: 'p(a)' is no name of a predicate",
    "p\ta\tb\t1e999": "1:1: this weight is too large",
    "p\ta\tb\np\ta\tb\tc\td": "2:1: 'p' has 2 arguments, and 4 columns follow it here",
    "# :- p(t)\np\ta\tb": "2:1: 'p' has 1 argument, and 2 columns follow it here",
    "# :- p(t,t)\n# :- p(t,u)\np\ta\tb": "2:1: 'p' is declared in two ways",
}
EVERY = {"mln": MLN, "ppr": PPR, "tlog": TLOG, "lcn": LCN, "db": FACTS, "cfacts": CFACTS}
HINTS = {
    ("mln", "1 P(a) and Q(a)"): "write '^'",
    ("mln", "1 ~P(x)"): "write '!'",
    ("mln", "1 P(x) | Q(x)"): "write ' v '",
    ("mln", "P(a)\n1 P(f(x))"): "declare it above, as in: person Mother(person)",
    ("mln", "A = {1, ..., " + "9" * 5000 + "}"): "each has at most 18 digits",
    ("mln", "1 x < y"): "numbers are compared and counted on for variables of declared predicates",
    ("mln", "a = {B}\nP(a)\n1 P(x) ^ x < 3"): "list them in this file, a = {1, ..., 100}, or list none",
    ("ppr", "p(X,Y)."): "facts belong in a .cfacts file",
    ("ppr", "p(X,Y) :- !q(X,Y)."): "TensorLog has no negation",
    ("lcn", "s1: 0 <= P(a -> b) <= 1"): "there is no arrow: write 'not a or b' for 'a implies b'",
    ("lcn", "s1: 0 <= P(a(b)) <= 1"): "name each ground atom: smokes_anna",
    ("db", "0.7 !Smokes(Anna)"): "give the atom that is not negated 1 minus it",
}


def told(text: str, dialect: str) -> str:
    with pytest.raises(LanguageError) as refused:
        check(read_theory_text(text, dialect, "t"))
    return str(refused.value)


@pytest.mark.parametrize("dialect", EVERY)
def test_every_slip_is_told_where_it_is(dialect: str) -> None:
    found = {text: told(text, dialect).splitlines()[0] for text in EVERY[dialect]}
    assert found == {text: f"t:{message}" for text, message in EVERY[dialect].items()}


def test_what_to_do_is_told_below() -> None:
    for (dialect, text), hint in HINTS.items():
        assert told(text, dialect).splitlines()[-1] == f"  {hint}", text


@pytest.mark.parametrize("dialect", EVERY)
def test_a_slip_hides_no_other(dialect: str) -> None:
    """Two wrong lines are two mistakes, and a good line between them none."""
    wrong = {
        "mln": ("1 P(? x)", "1 P(x)", "1 ~P(x)"), "ppr": ("p(X,Y) :- !q(X,Y).", "p(X) :- q(X).", "r(X)."),
        "tlog": ("p(X Y) <= q(X)", "p(X) <= q(X)", "r(X) :- q(X)"), "db": ("?P(A)", "P(A)", "7 P(A)"),
        "lcn": ("s1: x <= P(a) <= 1", "s2: 0 <= P(a) <= 1", "s3: 0 <= P(~a) <= 1"),
        "cfacts": ("p(a)\tb", "q\ta", "r\ta\t\tb"),
    }  # fmt: skip
    with pytest.raises(LanguageError) as refused:
        read_theory_text("\n".join(wrong[dialect]), dialect, "t")
    assert [mistake.span.line for mistake in refused.value.mistakes if mistake.span] == [1, 3]
