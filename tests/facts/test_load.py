"""What loading gives beyond the sets: worlds, the grown signature, headers, order, immutability, progress."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from herbrand.errors import FactsError
from herbrand.facts.load import load_facts
from herbrand.facts.source import fact_sources
from herbrand.language.signature import Predicate, Signature, Type
from herbrand.language.syntax import FactRows
from tests.facts.vocabulary import ANYTHING, SIGNATURE, constants, load, message

UNDECLARED = Signature(
    {"thing": Type("thing")}, {name: Predicate(name, ("thing",)) for name in ("p", "q", "r", "s")}
)


def worlds(facts, **options) -> dict[str, str]:
    loaded = load(facts, UNDECLARED, **options)
    return {name: table.world for name, table in loaded.tables.items()}


def test_a_declared_predicate_is_open_unless_observed_or_learned():
    predicates = {
        role or "none": Predicate(role or "none", ("person",), role=role, declared=True)
        for role in (None, "observed", "learned")
    }
    signature = Signature(SIGNATURE.types, predicates, strict=True)
    facts = load({name: [("a",)] for name in predicates}, signature)
    assert {name: table.world for name, table in facts.tables.items()} == {
        "none": "open", "observed": "closed", "learned": "closed",
    }  # fmt: skip


def test_an_undeclared_predicate_is_closed_by_facts_unless_derived_or_queried():
    given = {name: [("a",)] for name in "pqr"}
    assert worlds(given, rule_heads=["q"], queried=["r"]) == {
        "p": "closed", "q": "open", "r": "open", "s": "open",
    }  # fmt: skip


def test_soft_evidence_alone_leaves_a_predicate_open_whatever_its_probabilities():
    soft = [FactRows("p", (("a",),), 1, "soft", (0.5,)), FactRows("q", (("a",),), 1, "soft", (1.0,))]
    false = [FactRows("r", (("a",),), 1, "false")]
    assert worlds(None, rows=soft + false) == {"p": "open", "q": "open", "r": "closed", "s": "open"}


def test_a_table_of_probabilities_may_hold_some_that_are_0_or_1():
    """They settle atoms and close nothing: the other rows were refused, as of a closed predicate."""
    read = load({"p": pd.DataFrame({"thing": list("abc"), "probability": [1.0, 0.0, 0.5]})}, UNDECLARED)
    table = read.tables["p"]
    assert (table.world, len(table.true), len(table.false), len(table.soft)) == ("open", 1, 1, 1)


def test_open_and_closed_have_the_last_word():
    assert worlds({"p": [("a",)]}, open=["p"], closed=["q"], queried=["q"])["p"] == "open"
    assert worlds({"p": [("a",)]}, closed=["q"])["q"] == "closed"
    assert load({"knows": []}, open=["knows"]).tables["knows"].world == "open"
    assert load(closed=["smokes"]).tables["smokes"].world == "closed"


def test_soft_evidence_of_a_predicate_that_its_facts_close():
    rows = [FactRows("p", (("a",),), 1), FactRows("p", (("b",),), 1, "soft", (0.5,))]
    assert message(None, UNDECLARED, rows) == (
        "facts of p, row 1: 'p' is closed (what is not listed is false), so it takes no soft evidence\n"
        "  say open=['p'] (--open p)"
    )
    assert len(load(None, UNDECLARED, rows, open=["p"]).tables["p"].soft) == 1


def test_unknown_names_in_options():
    assert message({}, open=["smoks"], closed=["nothing"]) == (
        "--open: there is no predicate 'smoks'\n  did you mean 'smokes'?\n"
        "--closed: there is no predicate 'nothing'"
    )
    assert message({}, open=["smokes"], closed=["smokes"]) == "'smokes' is given as both open and closed"


def test_the_signature_grows_by_what_only_tables_know():
    rows = [FactRows("colour", (("a",), ("red",)), 1, valued=True)]
    sources = fact_sources({"edge": [(1, "a")]})
    signature, facts = load_facts(rows, ANYTHING, sources)
    assert signature.predicates["edge"] == Predicate("edge", ("edge_1", "edge_2"))
    assert signature.predicates["colour"] == Predicate("colour", ("colour_1",), "colour_2")
    assert {name: known.kind for name, known in signature.types.items()} == {
        "edge_1": "number", "edge_2": "text", "colour_1": "text", "colour_2": "text",
    }  # fmt: skip
    assert facts.tables["edge"].world == "closed"


def test_a_table_that_nothing_else_knows_may_have_a_special_column(tmp_path):
    (tmp_path / "edge.csv").write_text("from,to,weight\na,b,2\n")
    signature, facts = load_facts((), ANYTHING, fact_sources(tmp_path))
    assert signature.predicates["edge"].arity == 2
    weights = facts.tables["edge"].weights
    assert weights is not None and weights.tolist() == [2.0]


def test_an_empty_table_of_an_unknown_predicate(tmp_path):
    (tmp_path / "edge.csv").write_text("\n")
    expected = "the table is empty, so the number of columns of 'edge' is not known\n"
    expected += "  declare `predicate edge(...)`"
    assert message(tmp_path, ANYTHING) == f"edge.csv: {expected}"
    assert message({"edge": []}, ANYTHING) == f"edge: {expected}"


def test_every_predicate_has_a_table_and_every_type_a_domain():
    facts = load()
    assert facts.tables.keys() == SIGNATURE.predicates.keys()
    assert facts.domains.keys() == SIGNATURE.types.keys()
    assert list(facts.domains["level"]) == ["junior", "senior"]
    assert list(facts.domains["area value"]) == ["theory", "ai", "db"]
    assert facts.domains["year"].kind == "number" and facts.domains["person"].kind == "text"
    assert facts.tables["area"].true.shape == (0, 2)


def test_constants_that_formulas_mention():
    facts = load({"smokes": [("bob",)]}, mentioned={"person": ["anna", "bob"], "year": [1990]})
    assert list(facts.domains["person"]) == ["anna", "bob"] and list(facts.domains["year"]) == [1990]
    assert facts.tables["smokes"].true.tolist() == [[1]]


def test_a_predicate_without_arguments():
    assert load({"alarm": [()]}).tables["alarm"].true.shape == (1, 0)
    assert load({"alarm": [(), ()]}).tables["alarm"].true.shape == (1, 0)
    assert load(None, SIGNATURE, [FactRows("alarm", (), 1, "soft", (0.5,))]).tables["alarm"].soft.shape == (
        1,
        0,
    )
    rows = [FactRows("alarm", (), 1), FactRows("alarm", (), 1, "false")]
    assert message(None, SIGNATURE, rows) == (
        "facts of alarm, row 1: alarm is false, but facts of alarm, row 1 says that it is true"
    )


def test_a_fact_without_a_weight_has_weight_one_among_others():
    rows = [
        FactRows("smokes", (("a", "b"),), 2),
        FactRows("smokes", (("b", "c"),), 2, "weighted", (2.5, 0.0)),
    ]
    weights = load(None, SIGNATURE, rows).tables["smokes"].weights
    assert weights is not None and weights.tolist() == [1.0, 2.5, 0.0]


def test_several_tables_of_one_predicate_are_one(tmp_path):
    (tmp_path / "a.csv").write_text("anna,bob\n")
    (tmp_path / "b.csv").write_text("anna,bob\nbob,anna\n")
    facts = load([f"friends={tmp_path / name}" for name in ("a.csv", "b.csv")])
    assert constants(facts, "friends") == [("anna", "bob"), ("bob", "anna")]


def test_facts_cannot_be_changed():
    facts = load({"friends": [("a", "b")]})
    table = facts.tables["friends"]
    with pytest.raises(ValueError, match="read-only"):
        table.true[0, 0] = 1
    with pytest.raises(TypeError):
        facts.tables["friends"] = table  # type: ignore[index]
    assert table.true[:, 0].flags["C_CONTIGUOUS"] and table.true.dtype == np.int32


def test_words():
    facts = load({"friends": [("a", "b")]})
    assert repr(facts) == "Facts(48 constants of 6 types, 1 fact of 8 predicates)"
    assert repr(facts.table("friends")) == "FactTable(1 true, 0 false, 0 soft, open)"
    with pytest.raises(FactsError, match="there is no predicate 'frends'"):
        facts.table("frends")


HEADERS = [
    ("person,person\na,b\n", None, [("a", "b")]),
    ("person,Person\na,b\n", None, [("a", "b"), ("person", "Person")]),
    ("from,to\na,b\n", None, [("a", "b"), ("from", "to")]),
    ("from,to\na,b\n", True, [("a", "b")]),
    ("person,person\na,b\n", False, [("a", "b"), ("person", "person")]),
    ("x,y,truth\na,b,true\nb,a,0\n", None, [("a", "b")]),
    ("truth,weight\n", False, [("truth", "weight")]),
]


@pytest.mark.parametrize(("text", "header", "rows"), HEADERS)
def test_headers(tmp_path, text, header, rows):
    (tmp_path / "friends.csv").write_text(text)
    assert constants(load(tmp_path, header=header), "friends") == rows


def test_a_column_may_be_named_like_a_special_one_where_its_type_is(tmp_path):
    types = {"person": Type("person", declared=True), "weight": Type("weight", None, "number", True)}
    signature = Signature(types, {"heavy": Predicate("heavy", ("person", "weight"), declared=True)}, True)
    (tmp_path / "heavy.csv").write_text("person,weight\nanna,61.5\n")
    assert constants(load(tmp_path, signature), "heavy", signature=signature) == [("anna", 61.5)]
    (tmp_path / "heavy.csv").write_text("person,weight,weight\nanna,61.5,2\n")
    weights = load(tmp_path, signature).tables["heavy"].weights
    assert weights is not None and weights.tolist() == [2.0]


def test_numbers_in_text_files_are_text_unless_the_type_is_numeric(tmp_path):
    (tmp_path / "born.csv").write_text("1, 1990\n1,1990.0\n2,1e3\n")
    assert constants(load(tmp_path), "born") == [("1", 1990), ("2", 1000)]


def test_progress_is_told_in_order():
    told: list[tuple[str, float]] = []
    load({"friends": [("a", "b")]}, progress=lambda message, done: told.append((message, done)))
    assert told[0] == ("reading friends", 0.0) and told[-1] == ("facts loaded", 1.0)
    assert ("sorting friends", 0.8) in told
    assert [done for _, done in told] == sorted(done for _, done in told)


def test_progress_of_a_file(tmp_path):
    (tmp_path / "friends.csv").write_text("".join(f"p{i},q{i}\n" for i in range(100_000)))
    told: list[float] = []
    facts = load(tmp_path, progress=lambda _, done: told.append(done))
    assert len(facts.tables["friends"].true) == 100_000
    assert len(told) > 4 and told == sorted(told) and told[-1] == 1.0


def test_an_interrupted_load_leaves_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "spill"))
    (tmp_path / "spill").mkdir()
    (tmp_path / "friends.csv").write_text("a,b\n")

    def stop(message: str, done: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        load(tmp_path / "friends.csv", progress=stop)
    load(tmp_path / "friends.csv")
    assert list(Path(tmp_path / "spill").iterdir()) == []


def test_many_rows_of_one_theory():
    count = 200_000
    names = tuple(f"p{i % 5000}" for i in range(count))
    facts = load(None, SIGNATURE, [FactRows("friends", (names, names[::-1]), count)])
    assert len(facts.domains["person"]) == 5000
    assert constants(facts, "friends") == sorted(set(zip(names, names[::-1], strict=True)))
