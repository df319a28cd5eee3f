"""Python rows, facts of a theory and fact files of other systems that cannot be taken."""

from __future__ import annotations

import numpy as np
import pytest

import herbrand as hb
from herbrand.language.parse import parse_theory
from herbrand.language.signature import Predicate, Signature, Type
from herbrand.language.syntax import FactRows
from tests.facts.vocabulary import SIGNATURE, constants, load, message

CONSTANT = "\n  a constant is text or a number"

BAD = [
    (
        {"friends": [("a", "b"), ("a",), (), ("c", "d", "e")]},
        "friends, row 2: 1 value where 2 are expected\n"
        "friends, row 3: 0 values where 2 are expected\n"
        "friends, row 4: 3 values where 2 are expected",
    ),
    ({"friends": ["ab"]}, "friends, row 1: 1 value where 2 are expected"),
    (
        {"smokes": [{"person": "a"}, {"a"}, b"a", object]},
        f"smokes, row 1: column 1 holds \"{{'person': 'a'}}\" (dict), which is no constant{CONSTANT}\n"
        f"smokes, row 2: column 1 holds \"{{'a'}}\" (set), which is no constant{CONSTANT}\n"
        f"smokes, row 3: column 1 holds \"b'a'\" (bytes), which is no constant{CONSTANT}\n"
        f"smokes, row 4: column 1 holds \"<class 'object'>\" (type), which is no constant{CONSTANT}",
    ),
    (
        {"friends": [("a", None)]},
        "friends, row 1: column 2 is empty; expected a constant of type 'person'",
    ),
    (
        {"friends": [("a", True), ("b", 2**70), ("c", b"x"), ("d", "\ud800"), ("e", {1})]},
        f'friends, row 1: column 2 holds "True" (bool), which is no constant{CONSTANT}\n'
        "friends, row 2: column 2 holds 1180591620717411303424, a whole number of more than 64 bits, "
        f"which is no constant{CONSTANT}\n"
        f"friends, row 3: column 2 holds \"b'x'\" (bytes), which is no constant{CONSTANT}\n"
        f"friends, row 4: column 2 holds text that is not valid Unicode, which is no constant{CONSTANT}\n"
        f'friends, row 5: column 2 holds "{{1}}" (set), which is no constant{CONSTANT}',
    ),
    (
        {"friends": [("a", 10**5000)]},
        f"friends, row 1: column 2 holds a whole number of more than 64 bits, which is no constant{CONSTANT}",
    ),
    (
        {"friends": [("a", "b"), (1, "c")]},
        'friends, row 2: 1 is a number, but "a" (friends, row 1) is text; '
        "the constants of type 'person' must be all text or all numbers\n"
        "  if they are numbers, declare `type person = number`",
    ),
    (
        {"friends": [(1, 2)], "smokes": [("anna",)]},
        'friends, row 1: 1 is a number, but "anna" (smokes, row 1) is text; '
        "the constants of type 'person' must be all text or all numbers\n"
        "  if they are numbers, declare `type person = number`",
    ),
    (
        {"friends": [("a", "b"), (float("nan"), "c")]},
        "friends, row 2: column 1 is empty; expected a constant of type 'person'",
    ),
    (
        {"friends": [(float("nan"), "b"), ("a", "b"), (1, "c")]},
        'friends, row 3: 1 is a number, but "a" (friends, row 2) is text; '
        "the constants of type 'person' must be all text or all numbers\n"
        "  if they are numbers, declare `type person = number`",
    ),
    (
        {"friends": [{"a": "x", "b": "y"}]},
        "friends, row 1: 1 value where 2 are expected\n"
        "  a dict is no row: give its values as a tuple, or a DataFrame of the rows",
    ),
    (
        {"born": [("a", 1990), ("b", float("nan"))]},
        "born, row 2: column 2 holds nan; a constant is text or a finite number",
    ),
    (
        {"born": [("a", 2**60 + 1), ("b", 0.5)]},
        "born, row 1: column 2 holds 1152921504606846977 beside fractions; "
        "whole numbers beyond 2^53 cannot be kept exactly with them",
    ),
    ({"frends": [("a", "b")]}, "frends: there is no predicate 'frends'\n  did you mean 'friends'?"),
    ({"frends": []}, "frends: there is no predicate 'frends'\n  did you mean 'friends'?"),
]


@pytest.mark.parametrize(
    ("calendar", "example"),
    [("date", "2026-11-22"), ("time", "2026-11-22T00:00:00, to the microsecond")],
)
def test_a_number_where_a_type_holds_dates(calendar: str, example: str) -> None:
    theory = hb.parse(f"type day = {calendar}\npredicate due(order, day)\n1: due(x, d)")
    with pytest.raises(hb.HerbrandError) as refused:
        hb.Model(theory, {"due": [("a", 20261122)]}).infer()
    expected = (
        f"due, row 1: 20261122 in column 2 is a number; type 'day' holds {calendar}s\n  such as {example}"
    )
    assert str(refused.value) == expected


def test_a_large_whole_number_that_a_float_holds_may_stand_beside_fractions() -> None:
    """3e17 is beyond 2^53. It was refused, with no row that could be named."""
    rows = {"born": [("a", 3 * 10**17), ("b", 0.5)]}
    assert set(constants(load(rows), "born")) == {("a", 3e17), ("b", 0.5)}


@pytest.mark.parametrize(("facts", "expected"), BAD)
def test_rows(facts, expected):
    assert message(facts) == expected


def test_three_values_of_one_atom_are_two_contradictions():
    told = message({"area": [("p1", "ai"), ("p1", "db"), ("p1", "theory")]})
    assert told == (
        'area, row 1: area("p1") is "ai", but area, row 3 says that it is "theory"\n'
        'area, row 2: area("p1") is "db", but area, row 1 says that it is "ai"'
    )


def test_rows_of_numpy_values():
    rows = [(np.str_("a"), np.int64(1990)), (np.str_("b"), np.float64(0.5))]
    assert constants(load({"born": rows}), "born") == [("a", 1990), ("b", 0.5)]
    assert constants(load({"friends": np.array([["a", "b"]])}), "friends") == [("a", "b")]
    assert constants(load({"smokes": {"a"}}), "smokes") == [("a",)]


def test_a_type_that_mixes_beyond_what_floats_keep():
    facts = {"born": [("a", 2**60 + 1)], "made": [("b", 0.5)]}
    predicates = {"born": SIGNATURE.predicates["born"], "made": Predicate("made", ("person", "year"))}
    assert message(facts, Signature(SIGNATURE.types, predicates)) == (
        "type 'year' mixes fractions with whole numbers beyond 2^53; they cannot be kept exactly together"
    )


def test_fractions_stand_beside_large_whole_numbers_that_are_floats():
    """In one column they did; in two, or in a table and a theory, the type was refused."""
    facts = {"born": [("a", 2**60)], "made": [("b", 0.5)]}
    predicates = {"born": SIGNATURE.predicates["born"], "made": Predicate("made", ("person", "year"))}
    loaded = load(facts, Signature(SIGNATURE.types, predicates))
    assert list(loaded.domains["year"]) == [0.5, 2**60]


def theory(text: str) -> tuple[FactRows, ...]:
    return parse_theory(text, "t.hb").facts


THEORIES = [
    (
        'friends("a", "b")\nnot friends("a", "b")',
        't.hb:2:1: friends("a", "b") is false, but t.hb:1:1 says that it is true\n'
        '  not friends("a", "b")\n'
        "  ^^^^^^^^^^^^^^^^^^^^^",
    ),
    (
        'friends("a", "b") @ 2\nfriends("a", "b") @ 2\nfriends("a", "b") @ 3',
        't.hb:3:1: friends("a", "b") has the weight 3, but t.hb:1:1 says that it has the weight 2\n'
        '  friends("a", "b") @ 3\n'
        "  ^^^^^^^^^^^^^^^^^^^^^",
    ),
    (
        'knows("a", "b") ~ 0.5',
        "t.hb:1:1: 'knows' is closed (what is not listed is false), so it takes no soft evidence\n"
        '  knows("a", "b") ~ 0.5\n'
        "  ^^^^^^^^^^^^^^^^^^^^^\n"
        "  declare `predicate knows(person, person)` without `: observed`",
    ),
    (
        'area("p") = "ai"\nnot area("p") = "ai"',
        't.hb:2:1: area("p") is not "ai", but t.hb:1:1 says that it is "ai"\n'
        '  not area("p") = "ai"\n'
        "  ^^^^^^^^^^^^^^^^^^^^",
    ),
]


@pytest.mark.parametrize(("text", "expected"), THEORIES)
def test_facts_of_a_theory(text, expected):
    assert message(None, SIGNATURE, theory(text)) == expected


def test_a_table_against_a_theory(tmp_path):
    (tmp_path / "friends.csv").write_text("b,c\na,b\n")
    rows = theory('not friends("a", "b")')
    assert message(tmp_path, SIGNATURE, rows) == (
        't.hb:1:1: friends("a", "b") is false, but friends.csv, row 2 says that it is true\n'
        '  not friends("a", "b")\n'
        "  ^^^^^^^^^^^^^^^^^^^^^"
    )


def test_text_in_a_table_against_numbers_in_a_theory_with_an_inferred_type(tmp_path):
    signature = Signature(
        {"node": Type("node", kind="number")}, {"edge": Predicate("edge", ("node", "node"))}
    )
    (tmp_path / "edge.csv").write_text("1,2\n")
    assert message(tmp_path, signature, theory("edge(1, 3)")) == (
        't.hb:1:1: 1 is a number, but "1" (edge.csv, row 1) is text; '
        "the constants of type 'node' must be all text or all numbers\n"
        "  edge(1, 3)\n"
        "  ^^^^^^^^^^\n"
        "  if they are numbers, declare `type node = number`"
    )


def test_text_in_a_table_against_a_number_in_a_formula():
    signature = Signature({"node": Type("node")}, {"edge": Predicate("edge", ("node", "node"))})
    assert message({"edge": [("1", "2")]}, signature, mentioned={"node": [1]}) == (
        'a formula: 1 is a number, but "1" (edge, row 1) is text; '
        "the constants of type 'node' must be all text or all numbers\n"
        "  if they are numbers, declare `type node = number`"
    )


DATABASES = [
    ("friends(A, B)\nfrends(A, B)\n", "2:1: there is no predicate 'frends'", "did you mean 'friends'?"),
    ("friends(A)\n", "1:1: 1 column, but 'friends' takes 2 columns (person, person)", ""),
    ("friends(A, B)\n!friends(A, B)\n", '2:1: friends("A", "B") is false, but', ""),
    ('area(P1, "ai")\narea(P1, "db")\n', '2:1: area("P1") is "db", but', ""),
    ('rank(A, "boss")\n', "1:1: \"boss\" in column 2 is not in type 'level'", ""),
    ('born(A, "x")\n', "1:1: \"x\" in column 2 is not a number; type 'year' holds numbers", ""),
]


@pytest.mark.parametrize(("text", "expected", "hint"), DATABASES)
def test_alchemy_facts(tmp_path, text, expected, hint):
    path = tmp_path / "world.db"
    path.write_text(text)
    told = message(path)
    assert told.startswith(f"{path}:{expected}") and told.endswith(hint), told


def test_alchemy_facts_that_cannot_be_read_are_told_with_the_rest(tmp_path):
    path = tmp_path / "world.db"
    path.write_text("friends(A\n")
    (tmp_path / "smokes.csv").write_text("person,truth\na,perhaps\n")
    told = message(tmp_path)
    assert str(path) in told
    assert "smokes.csv, row 2: 'perhaps' is not a truth value; expected true or false" in told


def test_tensorlog_facts(tmp_path):
    path = tmp_path / "world.cfacts"
    path.write_text("friends\ta\tb\nfriends\ta\tc\t0.5\n")
    facts = load(path)
    assert constants(facts, "friends") == [("a", "b"), ("a", "c")]
    weights = facts.tables["friends"].weights
    assert weights is not None and weights.tolist() == [1.0, 0.5]
    assert message(f"knows={path}") == "world.cfacts holds no fact of 'knows'"
