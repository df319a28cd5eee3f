"""``.db`` files: columns as a plain loop finds them, by the fast way and the slow one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from herbrand.errors import LanguageError, Source
from herbrand.language.dialects.alchemy.facts import facts_of, read_db
from herbrand.language.syntax import FactRows, TypeDeclaration

constants = st.sampled_from(
    ["Anna", "bob", "7", "-2.5", "O'Brien-2", "Ü_1", '"New York"', '"a, (b) // c"', '"\\"q\\""']
)
facts = st.one_of(
    st.tuples(st.booleans(), st.just("Smokes"), st.tuples(constants)),
    st.tuples(st.booleans(), st.just("Friends"), st.tuples(constants, constants)),
)
VALUES = {'"New York"': "New York", '"a, (b) // c"': "a, (b) // c", '"\\"q\\""': '"q"'}


def read(text: str) -> tuple[FactRows, ...]:
    return facts_of(Source("t.db", text))


def text_of(said: list[tuple[bool, str, tuple[str, ...]]], comma: str, ending: str) -> str:
    return "".join(f"{'!' if no else ''}{name}({comma.join(terms)}){ending}\n" for no, name, terms in said)


def by_loop(said: list[tuple[bool, str, tuple[str, ...]]]) -> dict[tuple[str, str], list[tuple[str, ...]]]:
    found: dict[tuple[str, str], list[tuple[str, ...]]] = {}
    for negated, name, terms in said:
        row = tuple(VALUES.get(term, term) for term in terms)
        found.setdefault((name, "false" if negated else "true"), []).append(row)
    return found


def as_rows(read_rows: tuple[FactRows, ...]) -> dict[tuple[str, str], list[tuple[object, ...]]]:
    return {(r.predicate, r.kind): [r.row(i) for i in range(r.row_count)] for r in read_rows}


@given(
    st.lists(facts, max_size=12),
    st.sampled_from([",", ", ", " ,  ", "  "]),
    st.sampled_from(["", " ", " // said", " /* a\n b */"]),
)
def test_facts_are_what_a_loop_finds(
    said: list[tuple[bool, str, tuple[str, ...]]], comma: str, ending: str
) -> None:
    rows = read(text_of(said, comma, ending))
    assert as_rows(rows) == by_loop(said)
    assert list(as_rows(rows)) == list(by_loop(said))


def test_every_row_knows_its_place() -> None:
    smokes, friends = read('Smokes(Anna)\nFriends(Anna, "B c")\n\n  Smokes(Carl) Smokes(Dora)\n')
    assert [smokes.row_span(i).place for i in range(3)] == ["t.db:1:1", "t.db:4:3", "t.db:4:16"]  # type: ignore[union-attr]
    assert friends.row_span(0).text == 'Friends(Anna, "B c")'  # type: ignore[union-attr]


def test_atoms_without_arguments_and_several_facts_a_line() -> None:
    rows = read("Alarm\n! Alarm() !Smokes(A) Smokes( B )")
    assert as_rows(rows) == {
        ("Alarm", "true"): [()],
        ("Alarm", "false"): [()],
        ("Smokes", "false"): [("A",)],
        ("Smokes", "true"): [("B",)],
    }


def test_values_of_many_valued_predicates() -> None:
    (rows,) = read_db(Source("t.db", "Area(P1, AI)\n"), {"Area"})
    assert isinstance(rows, FactRows) and rows.valued and rows.columns == (("P1",), ("AI",))


def test_soft_evidence_values_of_functions_and_constants_of_types() -> None:
    text = '0.7 Smokes(Anna) // so\nSmokes(Bob) .25\nCarl = Father(Anna)\nFather(Bob) = "De Lux"\n'
    types, soft, father = read_db(Source("t.db", f"{text}person = {{Anna, Bob}}\nperson={{Eve}}\n---\n"))
    assert isinstance(types, TypeDeclaration) and isinstance(soft, FactRows) and isinstance(father, FactRows)
    assert [constant.value for constant in types.values or ()] == ["Anna", "Bob", "Eve"]
    assert (soft.kind, soft.columns, soft.numbers) == ("soft", (("Anna", "Bob"),), (0.7, 0.25))
    assert father.columns == (("Anna", "Bob"), ("Carl", "De Lux"))


@pytest.mark.parametrize("line", ["0.7 Alarm", "Alarm .7 // so", "0.7 Alarm()", " Alarm  0.7"])
def test_soft_evidence_for_an_atom_without_arguments(line: str) -> None:
    (soft,) = read_db(Source("t.db", f"{line}\n"))
    assert isinstance(soft, FactRows)
    assert (soft.predicate, soft.kind, soft.columns, soft.numbers) == ("Alarm", "soft", (), (0.7,))


@pytest.mark.parametrize("text", ["", "\n \n", "// nothing", "/* nothing\n */", "# nothing"])
def test_files_that_say_nothing(text: str) -> None:
    assert read(text) == ()


def test_a_very_long_line() -> None:
    (rows,) = read(" ".join(f"P(A{i})" for i in range(20_000)))
    assert rows.row_count == 20_000


MISTAKES = {
    "Smokes(Anna": "t.db:1:12: expected ',' or ')', found the end of the text",
    "Smokes(Anna,)": "t.db:1:13: expected a constant, found ')'",
    "Smokes(Anna) v Smokes(Bob)": "t.db:1:16: expected '(', found 'Smokes'",
    "(Anna)": "t.db:1:1: expected a predicate, found '('",
    'Smokes("Anna)': "t.db:1:8: this string is never closed",
    "Smokes(Anna) /* so": "t.db:1:14: this comment is never closed",
    "Smokes(Anna)\nSmokes(Anna, Bob)": "t.db:2:1: 'Smokes' has 2 arguments here and 1 before",
    "?Smokes(Anna)": "t.db:1:1: '?' marks an atom as unknown; a fact is true or false",
    "Age(Anna) 3.5": "t.db:1:1: 3.5 is no probability: soft evidence lies between 0 and 1",
    "0.7 !Alarm": "t.db:1:1: a probability goes with an atom without '!'",
    "Alarm 0.7 Fire": "t.db:1:7: expected '(', found '0.7'",
    "Carl = Father(Anna": "t.db:1:6: expected '(', found '='",
    "person = {}": "t.db:1:10: a type needs at least one constant",
    "Smokes(x=y)": "t.db:1:9: expected ',' or ')', found '='",
    "Smokes(Anna)x": "t.db:1:13: expected the end of the line, found 'x'",
    "!!Smokes(Anna)": "t.db:1:2: expected a predicate, found '!'",
}


@pytest.mark.parametrize("text", MISTAKES, ids=range(len(MISTAKES)))
def test_mistakes(text: str) -> None:
    with pytest.raises(LanguageError) as raised:
        read(text)
    assert str(raised.value).split("\n")[0] == MISTAKES[text]


def test_all_mistakes_of_a_file_are_told_together() -> None:
    with pytest.raises(LanguageError) as raised:
        read("Smokes(Anna\nSmokes(Bob)\nSmokes(Carl, Dora)\n?Smokes(Eve)\n")
    assert [m.span and m.span.line for m in raised.value.mistakes] == [1, 3, 4]
    assert "  before: t.db:2:1" in str(raised.value)


def test_words_of_other_signs_and_comments_without_a_blank() -> None:
    """As pracmln's files have them: senses of words, times, addresses."""
    types, rows = read_db(
        Source("t.db", "s = {run.v.01, 3-PRT, a/b}\n#so\nIs(run.v.01, 10:30) #here\nIs(a/b, me@x) //there\n")
    )
    assert isinstance(types, TypeDeclaration) and isinstance(rows, FactRows)
    assert [c.value for c in types.values or ()] == ["run.v.01", "3-PRT", "a/b"]
    assert rows.columns == (("run.v.01", "a/b"), ("10:30", "me@x"))
