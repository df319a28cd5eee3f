"""TensorLog's rules and facts: read as documented, added up as a plain loop does, written to read back."""

from __future__ import annotations

from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from herbrand.errors import LanguageError, Source, UnsupportedError
from herbrand.language.check import check
from herbrand.language.dialects import read_theory_text, write, write_facts
from herbrand.language.dialects.tensorlog.facts import read_cfacts
from herbrand.language.parse import parse_theory
from herbrand.language.syntax import FactRows, PredicateDeclaration, Rule
from herbrand.language.theory import Theory, show
from tests.language.dialects.generators import tensorlog_rules, tensorlog_text


def ppr(text: str) -> str:
    return show(read_theory_text(text, "ppr", "t.ppr")).rstrip()


def tlog(text: str) -> str:
    return show(read_theory_text(text, "tlog", "t.tlog")).rstrip()


def cfacts(text: str) -> str:
    return show(read_theory_text(text, "cfacts", "t.cfacts")).rstrip()


# Rules


@given(st.lists(tensorlog_rules, max_size=3), st.sampled_from([", ", ",", " ,\n  "]))
def test_printed_rules_read_back(rules: list[Rule], comma: str) -> None:
    theory = Theory(tuple(rules))
    text = "".join(tensorlog_text(rule, " :- ", comma, ".\n") for rule in rules)
    assert read_theory_text(text, "ppr") == theory
    text = "".join(tensorlog_text(rule, " <= ", comma.replace(",", "&"), "\n") for rule in rules)
    assert read_theory_text(text, "tlog") == theory


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("p(X,Y) :- q(X,Z), r(Z,Y).", "p(X, Y) :- q(X, Z), r(Z, Y)"),
        ("p(X,Y):-q(X,Y) {r1}.", 'p(X, Y) :- q(X, Y), weighted("r1")'),
        ("p(X) :- q(X) {f(W): g(X,Z), h(Z,W)}.", "p(X) :- q(X), g(X, Z), h(Z, W), f(W)"),
        ("p(X) :- q(X) {f(X)}.", "p(X) :- q(X), f(X)"),
        ("p(X) :- q(X) {r : g(X)}.", 'p(X) :- q(X), g(X), weighted("r")'),
        ("p(X,Y) :- q(X), assign(Y,yes).", 'p(X, Y) :- q(X), Y = "yes"'),
        ("p(X,Y) :- q(X), assign(Y,yes,label).", 'p(X, Y) :- q(X), Y = "yes"'),
        ("p(X,Y) :- q(X,Y), assign(W,yes).", "p(X, Y) :- q(X, Y)"),
        ("p(X,Y) :- assign(Y,yes).", 'p(X, Y) :- Y = "yes"'),
        ("p(X,Y) :- .", "p(X, Y) :- true"),
        ("p(X) :- q(X,_).", "p(X) :- q(X, _)"),
        ("p(X) :- q(X,_), r(_).", "p(X) :- q(X, _1), r(_1)"),
        ("p(X,_) :- q(X,_1).", "p(X, _11) :- q(X, _1)"),
        ("p(X,Y) :- q(X,_), r(_,Y).", "p(X, Y) :- q(X, _1), r(_1, Y)"),
        ("p(X,Y) :- q(X,_), r(X,Y), q(X,_).", "p(X, Y) :- q(X, _), r(X, Y), q(X, _)"),
        ("p(X,Y) :- q(X,Y), r(_,_).", "p(X, Y) :- q(X, Y), r(_, _)"),
        ("p(X) :- q(X,c3), r(X,'Big One').", 'p(X) :- q(X, "c3"), r(X, "Big One")'),
        ("# said\np(P) # so\n :-\n q(P). s(X) :- p(X).", "p(`P`) :- q(`P`)\ns(X) :- p(X)"),
        ("# :- p(doc)\n# :- trainable(q,2)\n# :- q(doc,word)\np(X) :- q(X,Y).",
         "predicate p(doc)\npredicate q(doc, word): learned\np(X) :- q(X, Y)"),
        ("# :- p(doc)\np(X) :- q(X,Y).", "p(X) :- q(X, Y)"),
    ],
)  # fmt: skip
def test_clauses(text: str, shown: str) -> None:
    assert ppr(text) == shown


def test_more_digits_than_a_number_of_arguments_has_are_none() -> None:
    theory = read_theory_text(f"# :- trainable(p,{'9' * 5000})\np(X) :- q(X).", "ppr")
    assert [rule.head.predicate for rule in theory.rules] == ["p"]


def test_clauses_of_the_other_syntax() -> None:
    text = "p(X,Y) <= q(X,Z) & r(Z,Y) // r1\n\np(X,Y) <= s(X,Y)\np(X,Y) <= q(X,Y) // f(W) | g(X,Z) & h(Z,W)\n"
    assert tlog(text) == (
        'p(X, Y) :- q(X, Z), r(Z, Y), weighted("r1")\n'
        "p(X, Y) :- s(X, Y)\n"
        "p(X, Y) :- q(X, Y), g(X, Z), h(Z, W), f(W)"
    )


@pytest.mark.parametrize("text", ["", "\n", "# nothing", "\ufeff# nothing\r\n"])
def test_files_that_say_nothing(text: str) -> None:
    assert ppr(text) == tlog(text) == cfacts(text) == ""


RULE_MISTAKES = {
    "p(a,b).": "t.ppr:1:7: a clause needs a body",
    "p(X) :- q(X)": "t.ppr:1:13: expected '.', found the end of the text",
    "p(X) :- q(X), .": "t.ppr:1:15: expected a goal such as p(X,Y), found '.'",
    "p(X) :- !q(X).": "t.ppr:1:9: expected a goal such as p(X,Y), found '!'",
    "p(X :- q(X).": "t.ppr:1:5: expected ',' or ')', found ':-'",
    "p(X) :- q().": "t.ppr:1:11: expected a variable or a constant, found ')'",
    "p(X) <= q(X).": "t.ppr:1:6: expected ':-', found '<='",
    "p(X) :- assign(a,b).": "t.ppr:1:9: assign takes a variable and a constant",
    "p(X) :- q(X) {a,b}.": "t.ppr:1:16: a clause has at most one feature",
    "p(X) :- q(X) {a.": "t.ppr:1:16: expected '}', found '.'",
    "p(X) :- q('a).": "t.ppr:1:11: expected a variable or a constant, found '''",
    "# :- p(a)\np(X,Y) :- q(X).": "t.ppr:2:1: 'p' has 2 arguments here and is declared with 1",
    "# :- p(a\np(X) :- q(X).": "t.ppr:1:1: this is no declaration",
    "# :- p(a)\n# :- p(b)": "t.ppr:2:1: 'p' is declared in two ways",
}


@pytest.mark.parametrize("text", RULE_MISTAKES, ids=range(len(RULE_MISTAKES)))
def test_mistakes_in_rules(text: str) -> None:
    with pytest.raises(LanguageError) as raised:
        ppr(text)
    assert str(raised.value).split("\n")[0] == RULE_MISTAKES[text]


def test_all_mistakes_are_told_together_and_good_clauses_are_no_mistakes() -> None:
    with pytest.raises(LanguageError) as raised:
        ppr("p(X) :- q(X.\nok(X) :- q(X).\n!.\nok(X) :- q(X).\np(X) :- q(X")
    assert [m.span and m.span.line for m in raised.value.mistakes] == [1, 3, 5]
    with pytest.raises(LanguageError) as raised:
        tlog("p(X) <= q(X) & // f\np(X) <= q(X)\np(X) <= q(X) r(X)\np(X) :- q(X)\n")
    assert [str(m).split("\n")[0] for m in raised.value.mistakes] == [
        "t.tlog:1:16: expected a goal such as p(X,Y), found '//'",
        "t.tlog:3:14: expected '&' or a new line, found 'r'",
        "t.tlog:4:6: expected '<=', found ':-'",
    ]


# Facts

cells = st.sampled_from(["a", "b", "New York", "x-1", "1,1"])
weights = st.sampled_from([None, "0.5", "2", "1e-1", "-1"])
weighted_rows = st.lists(st.tuples(st.sampled_from(["edge", "near by"]), cells, cells, weights), max_size=15)


@given(weighted_rows)
def test_facts_add_up_as_in_a_loop(rows: list[tuple[str, str, str, str | None]]) -> None:
    text = "".join("\t".join(filter(None, row)) + "\n" for row in rows)
    totals: dict[tuple[str, ...], float] = defaultdict(float)
    for functor, first, second, weight in rows:
        totals[functor, first, second] += float(weight or 1)
    found: dict[tuple[object, ...], float] = {}
    for fact_rows in read_cfacts(Source("t.cfacts", text)):
        for i in range(fact_rows.row_count):
            assert fact_rows.row_span(i) is not None
            number = fact_rows.numbers[i] if fact_rows.kind == "weighted" else 1.0
            assert (number == 1.0) == (fact_rows.kind == "true")
            found[fact_rows.predicate, *fact_rows.row(i)] = number
    assert found == pytest.approx(dict(totals))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("p\ta\tb", 'p("a", "b")'),
        ("p\ta\tb\t", 'p("a", "b")'),
        ("p a   b 2\np a c", 'p("a", "b") @ 2.0\np("a", "c")'),
        ("p\ta\t0.2\np\tb\t3", 'p("a") @ 0.2\np("b") @ 3.0'),
        ("person\t1\nperson\t22", 'person("1")\nperson("22")'),
        ("has\td\t10\nhas\td\tx", 'has("d", "10")\nhas("d", "x")'),
        ("# :- has(doc,word)\nhas\td\t10\nhas\te\t7\t2", 'has("d", "10")\nhas("e", "7") @ 2.0'),
        ("# :- trainable(has,2)\nhas\td\t10", 'has("d", "10")'),
        ("p\t1\t2\np\t1\t2\t3", 'p("1", "2") @ 4.0'),
        ("p\ta\np\ta\nq\tb\nq\tc\t0.5\nq\tc\t0.5", 'p("a") @ 2.0\nq("b")\nq("c")'),
        ("fixed\nflag\nflag", "fixed\nflag @ 2.0"),
        ("has word\ta", '`has word`("a")'),
        ("buys\tann\tmilk\tshop", 'buys("ann", "milk", "shop")'),
        ("p\tnan\np\tinf", 'p("nan")\np("inf")'),
        ("p\ta b\tc", 'p("a b", "c")'),
        ("\t# :- has(d,w)\n\t\n  has\td\t10\n", 'has("d", "10")'),
    ],
)
def test_facts(text: str, shown: str) -> None:
    assert cfacts(text) == shown


def test_every_row_knows_its_place() -> None:
    plain, summed = read_cfacts(Source("t.cfacts", "q\ta\nq\tb\nq\tb\n\nq\tc\n"))
    assert [plain.row_span(i).place for i in range(2)] == ["t.cfacts:1:1", "t.cfacts:5:1"]  # type: ignore[union-attr]
    assert summed.row_span(0).place == "t.cfacts:2:1"  # type: ignore[union-attr]


FACT_MISTAKES = {
    "p\ta\t\tb": "t.cfacts:1:1: a cell is empty",
    "p(a,b)": "t.cfacts:1:1: 'p(a,b)' is no name of a predicate",
    "q\ta\nq\ta\tb": "t.cfacts:2:1: 'q' has 1 argument, and 2 columns follow it here",
    "q\ta\tb\nq\ta\tb\t2\nq\ta\tb\tc": "t.cfacts:3:1: 'q' has 2 arguments, and 3 columns follow it here",
    "# :- q(t,t)\nq\ta": "t.cfacts:2:1: 'q' has 2 arguments, and 1 column follow it here",
    "r\ta\t1e999": "t.cfacts:1:1: this weight is too large",
    "# :- p": "t.cfacts:1:1: this is no declaration",
    "# :- p(a)\n# :- p(a,b)": "t.cfacts:2:1: 'p' is declared in two ways",
    "p\ta\0": "t.cfacts:1:4: a NUL byte: this is not a text file",
}


@pytest.mark.parametrize("text", FACT_MISTAKES, ids=range(len(FACT_MISTAKES)))
def test_mistakes_in_facts(text: str) -> None:
    with pytest.raises(LanguageError) as raised:
        read_theory_text(text, "cfacts", "t.cfacts")
    assert str(raised.value).split("\n")[0] == FACT_MISTAKES[text]


# Writing


@given(st.lists(tensorlog_rules, max_size=3))
def test_written_rules_read_back(rules: list[Rule]) -> None:
    theory = Theory(tuple(rules))
    try:
        signature = check(theory)
    except LanguageError:
        return
    text = write(theory, signature, "ppr")
    assert read_theory_text(text, "ppr") == theory


def test_a_whole_theory_reads_back() -> None:
    theory = parse_theory(
        "predicate p(a, b)\npredicate likes(a, b): learned\npredicate weighted(r)\npredicate go\n"
        'p(X, Y) :- likes(X, Y), Y = "c"\np(X, Y) :- likes(X, Y), weighted("r1")\ngo :- weighted("Big")\n'
    )
    text = write(theory, check(theory), "ppr")
    assert text.endswith("p(X,Y) :- likes(X,Y) {r1}.\ngo :- weighted('Big').\n")
    again = read_theory_text(text, "ppr")
    assert (again.rules, again.predicates) == (theory.rules, theory.predicates)


def test_a_predicate_without_arguments_that_no_rule_names_stays_declared() -> None:
    theory = parse_theory("predicate p(a)\npredicate q(a)\npredicate on\np(X) :- q(X)\n")
    again = read_theory_text(write(theory, check(theory), "ppr"), "ppr")
    assert again.predicates == theory.predicates
    assert again.rules == theory.rules


def test_variables_are_renamed_apart() -> None:
    theory = parse_theory("p(x, X) :- q(x, X, _, _), r(`1`, `1`), s(_)")
    assert write(theory, check(theory), "ppr") == "p(X1,X) :- q(X1,X,Any,Any1), r(V1,V1), s(Any2).\n"


def test_facts_read_back() -> None:
    theory = parse_theory('q("a", "10")\nq("b c", "x") @ 2.5\nflag\none("y") @ 0.5\n')
    text = write_facts(theory, check(theory), "ppr")
    assert text.startswith("# :- q(q_1,q_2)\n# :- one(one_1)\n")
    assert read_theory_text(text, "cfacts") == theory


def test_facts_that_are_said_twice_are_one() -> None:
    """In the file they would add up: a proof by one would count twice."""
    theory = parse_theory('e("a")\ne("b")\nf("a")\ne("a") @ 2.5\ne("b")\ne("a")\ne("a") @ 2.5\non\non @ 1\n')
    text = write_facts(theory, check(theory), "ppr")
    assert sorted(text.splitlines()) == ["e\ta\t2.5", "e\tb", "f\ta", "on"]


def test_a_label_that_looks_like_a_declaration_is_none() -> None:
    theory = parse_theory('["as :- p(a, b) says"] r(x) :- p(x)')
    text = write(theory, check(theory), "ppr")
    assert text == "# as : - p(a, b) says\nr(X) :- p(X).\n"
    assert read_theory_text(text, "ppr").predicates == ()


def test_what_a_ppr_file_cannot_say() -> None:
    theory = parse_theory(
        'predicate area(a) in {"x"}\npredicate p(a)\npredicate q(`a b`)\ntype t = {"a"}\np(x) :- p(x) @ 2\n'
        "p(x) :- p(x), not p(x)\np(x) :- p(x), p(y), x != y\n1.0: p(x)\nP(p(x)) = 0.3\n"
        'p(x) :- p(x), x = "two\\nlines"\n',
        "t.hb",
    )
    with pytest.raises(UnsupportedError) as raised:
        write(theory, check(theory), "ppr")
    assert [f"{m.span.line}: {m.message}" for m in raised.value.mistakes if m.span] == [
        "1: a .ppr file has no many-valued predicates",
        "3: 'a b' is no name of a .ppr file",
        "4: a .ppr file has no closed types",
        "5: a .ppr file has no weight behind a rule",
        "6: the body of a .ppr rule holds atoms only, none negated or many-valued",
        "7: a .ppr file has no comparison but of a variable with a constant by '='",
        "8: a .ppr file has no weighted formulas",
        "9: a .ppr file has no probability bounds",
        "10: a constant of a .ppr file stands on one line",
    ]


def test_what_a_cfacts_file_cannot_say() -> None:
    theory = parse_theory(
        'predicate area(a) in {"x"}\npredicate p(a)\npredicate `p q`(a)\npredicate on\n'
        'not p("a")\np("a") ~ 0.5\narea("a") = "x"\np(" a")\n`p q`("a")\non @ 2\n',
        "t.hb",
    )
    with pytest.raises(UnsupportedError) as raised:
        write_facts(theory, check(theory), "cfacts")
    assert [f"{m.span.line}: {m.message}" for m in raised.value.mistakes if m.span] == [
        "5: a .cfacts file has no false facts",
        "6: a .cfacts file has no soft facts",
        "7: a .cfacts file has no many-valued facts",
        "8: ' a' is no constant of a .cfacts file",
        "9: 'p q' is no name of a .cfacts file",
        "10: a .cfacts file has no weight of a fact without arguments",
    ]


def test_a_fact_with_two_weights_is_refused() -> None:
    theory = parse_theory('e("a") @ 2\ne("b") @ 3\ne("a") @ 3', "t.hb")
    with pytest.raises(UnsupportedError, match="3:1: this fact has another weight above"):
        write_facts(theory, check(theory), "ppr")


def test_a_declaration_is_kept_only_with_all_others() -> None:
    theory = read_theory_text("# :- p(doc)\np(X) :- go.\n", "ppr")
    assert theory.predicates == (PredicateDeclaration("p", ("doc",)), PredicateDeclaration("go"))
    assert all(isinstance(rows, FactRows) for rows in theory.facts)
