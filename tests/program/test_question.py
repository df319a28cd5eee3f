"""What is asked: read against the vocabulary and the constants, every mistake told, verbatim."""

from __future__ import annotations

import pytest

import herbrand as hb
from herbrand.errors import BudgetError, HerbrandError
from herbrand.language.parse import parse_formula
from herbrand.language.show import show_formula
from herbrand.program import expansion as of_instances
from herbrand.program.expansion import instances
from herbrand.program.question import AtomPattern, Question, queried_predicates, read_explained, read_question

TEXT = """\
type person = {"anna", "bob", "東京"}
type number = 1..3
predicate smokes(person)
predicate friends(person, person)
predicate age(person, number)
predicate rain
type thing
predicate likes(thing)
likes("trust")
predicate area(person) in {"ai", "db"}
1.0: smokes(x) and friends(x, y) => smokes(y)
"""


@pytest.fixture(scope="module")
def program():
    return hb.Model(hb.parse(TEXT)).program


PATTERNS = {
    "smokes": AtomPattern("smokes", ("x0",), latent=True),
    "friends": AtomPattern("friends", ("x0", "x1"), latent=True),
    "area": AtomPattern("area", ("x0",), latent=True),
    "rain": AtomPattern("rain", ()),
    'smokes("bob")': AtomPattern("smokes", (1,)),
    'smokes("東京")': AtomPattern("smokes", (2,)),
    "smokes(x)": AtomPattern("smokes", ("x",)),
    "friends(x, x)": AtomPattern("friends", ("x", "x")),
    "friends(_, _)": AtomPattern("friends", ("_0", "_1")),
    'age("anna", 3)': AtomPattern("age", (0, 2)),
    "area(x)": AtomPattern("area", ("x",)),
    'area("bob")': AtomPattern("area", (1,)),
    "  smokes ( x )  # aside": AtomPattern("smokes", ("x",)),
}


@pytest.mark.parametrize("text", PATTERNS)
def test_atoms(program, text: str) -> None:
    question = read_question([text], program.signature, program.facts)
    assert question == Question((PATTERNS[text],)) and not question.everything


@pytest.mark.parametrize(
    "text",
    [
        "not rain",
        'area("bob") = "ai"',
        'area(x) in {"ai", "db"}',
        "rain and rain",
        "exists x: smokes(x)",
        "true",
    ],
)
def test_formulas(program, text: str) -> None:
    question = read_question([text], program.signature, program.facts)
    assert question.formulas == (parse_formula(text, valued=program.signature.valued_names),)
    assert question.atoms == ()


def test_nothing_asked_is_everything(program) -> None:
    assert read_question([], program.signature, program.facts).everything
    both = read_question(["rain", "not rain", "smokes"], program.signature, program.facts, True)
    assert (len(both.atoms), len(both.formulas), both.most_probable) == (2, 1, True)


EXPECTED = "expected a connective (and, or, xor, =>, <=>) or the end of the formula"
WRONG = {
    'smokes("anne")': ('1:8: "anne" is not a person', 'did you mean "anna"?'),
    "age(x, 7)": ("1:8: 7 is not a number", "expected a value of 1..3"),
    'age("anna", "1")': ('1:13: "1" is not a number', "write 1"),
    'likes("rust")': ('1:7: "rust" is no constant of type thing', "did you mean 'trust'?"),
    "likes(1)": ("1:7: 1 is no constant of type thing", ""),
    "smoke": ("1:1: there is no predicate 'smoke'", "did you mean 'smokes'?"),
    "smokes(x, y)": ("1:1: smokes takes 1 argument, not 2", ""),
    "friends(x, y) and age(x, y)": ("1:26: y stands for a person and for a number", ""),
    'area("bob") = "os"': ('1:15: "os" is not a value of area', 'expected "ai" or "db"'),
    "": ("1:1: no formula", ""),
    "smokes(": ("1:7: the formula ends too early; expected a name, a number or text in double quotes", ""),
    "rain smokes(y)": (f"1:6: unexpected 'smokes'; {EXPECTED}", "arguments stand in brackets: rain(...)"),
    "rain\nrain": (f"2:1: unexpected 'rain'; {EXPECTED}", "arguments stand in brackets: rain(...)"),
    "\udc80": ("1:1: half a character: this is not valid Unicode", ""),
    "P(rain)": (
        "1:1: unexpected 'P'; expected a formula",
        "P( ) is a query of bound, and here stands what is inside; "
        "a predicate named P stands in back-quotes: `P`",
    ),
    "rain = true": (
        "1:8: unexpected 'true'; expected a name, a number or text in double quotes",
        "an atom that is true stands by itself, one that is false behind 'not'",
    ),
}


@pytest.mark.parametrize("text", WRONG)
def test_mistakes(program, text: str) -> None:
    with pytest.raises(HerbrandError) as caught:
        read_question([text], program.signature, program.facts)
    (mistake,) = caught.value.mistakes
    assert mistake.span is not None
    assert (f"{mistake.span.place}: {mistake.message}", mistake.hint) == (
        f"<query>:{WRONG[text][0]}",
        WRONG[text][1],
    )


def test_every_mistake_is_told_in_one_go(program) -> None:
    with pytest.raises(HerbrandError) as caught:
        read_question(['likes("x") and likes("y")'], program.signature, program.facts)
    assert [mistake.message for mistake in caught.value.mistakes] == [
        '"x" is no constant of type thing',
        '"y" is no constant of type thing',
    ]


def test_queried_predicates_are_those_named_outright(program) -> None:
    texts = ["smokes", 'friends("anna", x)', "not rain", 'area("bob") = "ai"', "smokes and rain"]
    assert queried_predicates(texts, program.signature) == {"smokes", "friends"}
    assert queried_predicates([], program.signature) == frozenset()


EXPLAINED = {
    "rain": (AtomPattern("rain", ()), 1),
    'smokes("bob")': (AtomPattern("smokes", (1,)), 1),
    'area("bob") = "db"': (AtomPattern("area", (1,)), 1),
    'area("bob") = "ai"': (AtomPattern("area", (1,)), 0),
}
NOT_ONE = {
    text: f"an explanation is of one ground atom, and this is not one: {text}"
    for text in (
        "smokes",
        "smokes(x)",
        "friends(_, _)",
        "not rain",
        "area",
        "area(x)",
        "area(x) = v",
        'area(x) = "db"',
        'area("bob") in {"ai"}',
    )
} | {'area("bob")': 'name the value to explain, as in area("bob") = ...'}


@pytest.mark.parametrize("text", [*EXPLAINED, *NOT_ONE])
def test_what_can_be_explained(program, text: str) -> None:
    if text in EXPLAINED:
        found = read_explained(text, program.signature, program.facts)
        assert (*found.atoms, found.value) == EXPLAINED[text]
        return
    with pytest.raises(HerbrandError) as caught:
        read_explained(text, program.signature, program.facts)
    assert caught.value.mistakes[0].message == NOT_ONE[text]


def test_instances_in_the_order_of_domains_and_of_appearance(program) -> None:
    formula = parse_formula('friends(y, x) and not smokes("bob") or (exists x: smokes(x))')
    found = [show_formula(one.written) for one in instances(formula, program)]
    names = ('"anna"', '"bob"', '"東京"')
    assert found == [
        f'friends({y}, {x}) and not smokes("bob") or (exists x: smokes(x))' for y in names for x in names
    ]
    (one,) = instances(parse_formula("rain and rain"), program)
    assert show_formula(one.written) == "rain and rain" and one.closed == one.written


def test_each_anonymous_variable_has_every_constant(program) -> None:
    found = [show_formula(one.written) for one in instances(parse_formula("smokes(_) or smokes(_)"), program)]
    names = ('"anna"', '"bob"', '"東京"')
    assert found == [f"smokes({a}) or smokes({b})" for a in names for b in names]


def test_what_only_a_comparison_gave_a_type_is_written_out(program, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once x is a constant nothing says what y ranges over."""
    formula = parse_formula("smokes(x) and exists y: y != x")
    first, *_ = instances(formula, program)
    assert show_formula(first.written) == 'smokes("anna") and (exists y: y != "anna")'
    names = ('"anna"', '"bob"', '"東京"')
    cases = " or ".join(f'{name} != "anna"' for name in names)
    assert show_formula(first.closed) == f'smokes("anna") and ({cases})'
    monkeypatch.setattr(of_instances, "MOST_INSTANCES", 3)
    with pytest.raises(BudgetError, match="'y' ranges over 3 constants, and the formula has"):
        list(instances(parse_formula("smokes(x) and exists y: y != x and y = x"), program))


def test_too_many_instances_are_refused(program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(of_instances, "MOST_INSTANCES", 8)
    assert len(list(instances(parse_formula("smokes(x) or rain"), program))) == 3
    with pytest.raises(BudgetError) as caught:
        list(instances(parse_formula("friends(x, y) or rain"), program))
    assert "the queried formula has 9 instances; at most 8 are answered" in str(caught.value)
    assert str(caught.value).endswith("put constants for some of its variables")


def test_no_constants_at_all() -> None:
    model = hb.Model(hb.parse("predicate p(t)\n1.0: p(x)"))
    assert (
        len(model.infer()) == 0 and len(model.infer("p(x)")) == 0 and len(model.infer("p(x) and p(y)")) == 0
    )
    with pytest.raises(HerbrandError) as caught:
        model.infer('p("a")')
    assert str(caught.value).endswith("type t has no constants at all")
    assert [r.probability for r in model.infer("exists x: p(x)").rows()] == [0.0]
    assert [r.probability for r in model.infer("forall x: p(x)").rows()] == [1.0]


@pytest.mark.parametrize(
    "query", ["rain", "not rain", "rain and not sun", "exists x: p(x)", "count(x: p(x)) > 1"]
)
def test_where_nothing_is_stated_no_predicate_is_known(query: str) -> None:
    """Formulas had ended in an error of Python, and counts were answered."""
    with pytest.raises(HerbrandError, match="there is no predicate"):
        hb.Model(hb.parse("")).infer(query)


def test_what_is_counted_is_known() -> None:
    """A name that was misspelt was a new predicate without atoms."""
    model = hb.Model(hb.parse('1: smokes(x)\nsmokes("anna") ~ 0.3'))
    with pytest.raises(HerbrandError, match="1:10: there is no predicate 'smoke'"):
        model.infer("count(x: smoke(x)) > 1")
