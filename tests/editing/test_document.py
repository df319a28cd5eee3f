"""Hover, definition, rename, completion, outline and quick fixes of a theory text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.editing.document import Document
from herbrand.editing.fixes import fixes
from tests.conftest import ROOT
from tests.laws import tries

TEXT = """\
# who knows whom
predicate friends(person, person): observed
predicate smokes(person)  # daily
type level = {"low", "high"}
predicate rank(person) in level
predicate close(person, person)

1.5: smokes(x) and friends(x, y) => smokes(y)
0.5: smokes(x) => rank(x) = "high"
[peer] hard: forall y: friends(x, y) => not friends(y, x)
close(x, y) :- friends(x, z), friends(z, y)
friends("anna", "bob")
friends("bob", "carl")
smokes("anna")
"""
DOCUMENT = Document(TEXT)


def at(part: str, after: int = 0) -> int:
    return TEXT.index(part) + after


def test_the_text_of_these_tests_has_no_mistake() -> None:
    assert DOCUMENT.mistakes == ()


@pytest.mark.parametrize(
    ("place", "says"),
    [
        (at("friends(x, y) =>"), ["predicate friends(person, person): observed", "who knows whom"]),
        (at("smokes(y)"), ["predicate smokes(person)", "daily", "open"]),
        (at("level\n"), ['type level = {"low", "high"}']),
        (at("close(x"), ["derived by 1 rule"]),
        (at("x) and"), ["variable `x` of type `person`"]),
        (at('"anna"'), ["constant of type `person`"]),
        (at("forall"), ["every constant"]),
    ],
)
def test_hover_says_what_a_word_means(place: int, says: list[str]) -> None:
    found = DOCUMENT.hover(place)
    assert found is not None
    assert not [each for each in says if each not in found], found


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("0.3 :: rain", "derived by 1 choice"),
        ("0.3 :: rain; 0.2 :: snow\n0.1 :: rain\nrain :- cloud\ncloud", "derived by 1 rule and 2 choices"),
    ],
)
def test_hover_says_which_statements_derive_a_predicate(text: str, says: str) -> None:
    assert says in (Document(text).hover(text.index("rain")) or "")


def test_rename_refuses_a_mistake_beside_another_one() -> None:
    text = 'predicate season in {"a", "b"}\npredicate p(t)\n1: p(x)\n1: unknown'
    with pytest.raises(hb.HerbrandError, match="'season' would be a mistake here"):
        Document(text).renamed(text.index("x"), "season")
    again = 'predicate season in {"a", "b"}\npredicate p(t)\n1: p(x)\n1: p(season)'
    with pytest.raises(hb.HerbrandError, match="'season' would be a mistake here"):
        Document(again).renamed(again.index("x"), "season")  # the mistake of the last line once more
    known = "predicate p(t)\n1: p(x)\n1: unknown(x)"
    changed = Document(known).renamed(known.index("unknown"), "other")
    assert [new for _, new in changed] == ["other"]


def test_hover_over_signs_and_blanks_says_nothing() -> None:
    assert DOCUMENT.hover(at("=>")) is None
    assert DOCUMENT.hover(at("\n\n") + 1) is None


def test_a_definition_is_the_declaration_or_the_head_of_a_rule() -> None:
    declared = DOCUMENT.definition(at("friends(z"))
    assert declared is not None and declared.start == at("friends(person")
    derived = Document("1: b(x)\na(x) :- c(x)\n1: a(x) => b(x)")
    head = derived.definition(derived.text.rindex("a(x)"))
    assert head is not None and head.start == derived.text.index("a(x) :-")
    variable = DOCUMENT.definition(at("z), friends(z", 12))
    assert variable is not None and variable.start == at("z), friends")


def test_rename_changes_a_predicate_everywhere_and_nothing_else() -> None:
    changes = DOCUMENT.renamed(at("friends(x, y) =>"), "knows")
    assert len(changes) == 8 and {word.text for word, _ in changes} == {"friends"}
    text = TEXT
    for word, new in reversed(changes):
        text = text[: word.start] + new + text[word.end :]
    assert text == TEXT.replace("friends", "knows")


def test_rename_of_a_variable_stays_in_its_statement() -> None:
    changes = DOCUMENT.renamed(at("x) and"), "who")
    assert [TEXT.count("\n", 0, word.start) for word, _ in changes] == [7, 7]


def test_rename_quotes_a_name_that_needs_it() -> None:
    changes = DOCUMENT.renamed(at("smokes(y)"), "smokes daily")
    assert {new for _, new in changes} == {"`smokes daily`"}


@pytest.mark.parametrize(
    ("place", "name", "says"),
    [
        (at("smokes(y)"), "friends", "already"),
        (at("x) and"), "y", "already"),
        (at("x) and"), "not", "no name"),
        (at("x) and"), "_", "no name"),
        (at("smokes(y)"), "", "no name"),
        (at("=>"), "arrow", "no name to change"),
    ],
)
def test_rename_refuses_what_would_change_the_meaning(place: int, name: str, says: str) -> None:
    with pytest.raises(hb.HerbrandError, match=says):
        DOCUMENT.renamed(place, name)


def completed(text: str) -> dict[str, str]:
    """What can stand at the ``|`` of a text, by kind."""
    offset = text.index("¦")
    return {each.text: each.kind for each in Document(text.replace("¦", "")).completions(offset)}


def test_completion_offers_what_can_stand_there() -> None:
    formula = completed(TEXT + "1.0: sm¦")
    assert {"smokes": "predicate", "exists": "keyword"}.items() <= formula.items()
    assert "type" not in formula
    terms = completed(TEXT + "1.0: smokes(x) => friends(x, ¦)")
    assert {"x": "variable", '"anna"': "constant", '"bob"': "constant"}.items() <= terms.items()
    assert "smokes" not in terms and '"high"' not in terms
    assert {"person", "level"} <= completed(TEXT + "predicate new(per¦)").keys()
    assert completed(TEXT + "predicate new(person): obs¦").keys() == {"observed", "learned"}
    assert completed(TEXT + 'smokes("ca¦')["carl"] == "constant"
    assert {"predicate", "type", "smokes"} <= completed(TEXT + "¦").keys()
    assert completed(TEXT + "# com¦") == {}


def test_the_outline_has_every_statement_and_facts_by_runs() -> None:
    found = [(symbol.kind, symbol.name) for symbol in DOCUMENT.symbols()]
    assert found[:4] == [
        ("predicate", "friends"), ("predicate", "smokes"), ("type", "level"), ("predicate", "rank"),
    ]  # fmt: skip
    assert [kind for kind, _ in found[5:9]] == ["formula", "formula", "formula", "rule"]
    assert found[9:] == [("facts", "friends"), ("facts", "smokes")]


MENDED = {
    "1.5: smokes(x) -> cancer(x)": "1.5: smokes(x) => cancer(x)",
    "1.5: smokes(x) & cancer(x)": "1.5: smokes(x) and cancer(x)",
    "1.5: a&b": "1.5: a and b",
    "1.5: a AND b": "1.5: a and b",
    "1.5: !a": "1.5: not a",
    "1.5: a == b": None,
    "smokes('anna')": 'smokes("anna")',
    "smokes(anna)": 'smokes("anna")',
    "smokes(“anna”)": 'smokes("anna")',
    'smokes("anna").': 'smokes("anna")',
    "1.5: smokes(x": "1.5: smokes(x)",
    "1 smokes(x)": "1: smokes(x)",
    'friends("a" "b")': 'friends("a", "b")',
    'friends("a", "b",)': 'friends("a", "b")',
    "1: rain() => wet": "1: rain => wet",
    "predicate smokes(person)\n1: smoks(x)": "predicate smokes(person)\n1: smokes(x)",
    "predicat smokes(person)": "predicate smokes(person)",
    "% a comment\n1: a": "# a comment\n1: a",
    "// a comment\n1: a": "# a comment\n1: a",
    "predicate a(t)\n1: a(x) => b(x)": "predicate a(t)\npredicate b(t)\n1: a(x) => b(x)",
    "P(a) ≤ 0.5": "P(a) <= 0.5",
}


@pytest.mark.parametrize("text", MENDED)
def test_advice_can_be_applied(text: str) -> None:
    document = Document(text)
    assert document.mistakes
    offered = [fix.applied(text) for fix in fixes(document, document.mistakes[0])]
    if MENDED[text] is not None:
        assert MENDED[text] in offered
        assert Document(MENDED[text] or "").mistakes == ()


DAMAGED = st.tuples(
    st.sampled_from([path.read_text()[:1500] for path in sorted((ROOT / "examples").rglob("*.hb"))]),
    st.integers(0, 1499),
    st.sampled_from(["", "(", ")", '"', "->", "&", "x", "\n", "[", "not ", ": ", "’", ", ,", "`"]),
    st.integers(0, 4),
)


@settings(max_examples=tries(60), deadline=None)
@given(DAMAGED)
def test_damaged_text_never_fails_and_a_fix_always_helps(damage: tuple[str, int, str, int]) -> None:
    base, place, inserted, removed = damage
    document = Document(base[:place] + inserted + base[place + removed :])
    for mistake in document.mistakes[:5]:
        for fix in fixes(document, mistake):
            after = document.changed(fix.applied(document.text)).mistakes
            assert len(after) <= len(document.mistakes)
    offset = min(place, len(document.text))
    document.hover(offset), document.completions(offset), document.definition(offset), document.symbols()
