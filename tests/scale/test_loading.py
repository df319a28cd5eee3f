"""Facts numbered in a database against dictionaries and sets, whatever format they come in."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings

import herbrand as hb
from herbrand.errors import FactsError
from herbrand.facts.facts import Worlds
from herbrand.facts.source import fact_sources
from herbrand.language.signature import Predicate, Signature, Type
from herbrand.language.syntax import FactRows
from herbrand.relations.database import DuckDB
from herbrand.scale import loading
from herbrand.scale.facts import KEPT, FactRequest, StoredFacts, kept_facts, stored_facts
from herbrand.scale.loading import LOADING
from herbrand.scale.sources import StoreOf
from tests.facts import formats
from tests.facts.formats import Table
from tests.facts.test_against_oracle import fact_rows, signature_of, tables
from tests.facts.vocabulary import PREDICATES, SIGNATURE, TYPES, unique
from tests.laws import tries
from tests.oracles.facts import Constant, ContradictionError, Known
from tests.oracles.facts import load as load_by_hand

SOME = settings(max_examples=4, deadline=None)
WRITERS = [
    write for write in formats.MARKED if write not in (formats.duckdb_relation, formats.duckdb_connection)
]
"""An open connection cannot be read by another database; that it is refused is tested with the models."""


def stored(
    database: DuckDB,
    signature: Signature,
    facts: Any = None,
    rows: Sequence[FactRows] = (),
    header: bool | None = True,
    resume: bool = False,
    worlds: Worlds | None = None,
) -> tuple[Signature, StoredFacts]:
    sources = fact_sources(facts)
    with StoreOf(database.connection, sources) as store:
        wanted = FactRequest(signature, rows, sources=sources, worlds=worlds or Worlds(), header=header)
        return stored_facts(database, store, wanted, resume=resume)


def known(signature: Signature, found: StoredFacts) -> dict[str, Known]:
    """What the tables say, as constants; a row that stands twice is an error."""
    told = {}
    for name, named in found.tables.items():
        types = signature.predicates[name].column_types
        columns = [f"a{place}" for place in range(len(types))]
        domains = [found.facts.domains[kind] for kind in types]

        def rows(table: str, *more: str, names=columns, of=domains) -> list[tuple[Any, ...]]:
            listed = found.database.rows(f"SELECT {', '.join((*names, *more)) or '1'} FROM {table}")
            return [
                (*(domain.value(i) for domain, i in zip(of, row, strict=False)), *row[len(of) :])
                for row in listed
            ]

        weights = rows(named.true, "w") if named.weighted else []
        told[name] = Known(
            unique(rows(named.true)),
            unique(rows(named.false)),
            {row[:-1]: row[-1] for row in rows(named.soft, "p")},
            {row[:-1]: row[-1] for row in weights},
        )
        assert named.counts == (len(told[name].true), len(told[name].false), len(told[name].soft))
    return told


def domains(found: StoredFacts) -> dict[str, list[Constant]]:
    return {name: list(domain) for name, domain in found.facts.domains.items()}


def agree(table: Table, facts: Any = None, rows: Sequence[FactRows] | None = None) -> None:
    signature = signature_of(table)
    closed = {name: kind.values for name, kind in signature.types.items() if kind.values}
    said = [*(table.said() if facts is not None else ()), *(table.statements() if rows is not None else ())]
    with DuckDB() as database:
        try:
            expected = load_by_hand(said, {table.predicate: table.types}, closed, ("area",))
        except ContradictionError:
            with pytest.raises(FactsError, match="is stated to"):
                stored(database, signature, facts, rows or ())
            return
        signature, found = stored(database, signature, facts, rows or ())
        assert domains(found) == expected[0]
        (mine,), (theirs,) = known(signature, found).values(), expected[1].values()
        assert (mine.true, mine.false) == (theirs.true, theirs.false)
        assert mine.soft == pytest.approx(theirs.soft, rel=1e-9)
        if table.mark == "weight" and table.rows:
            assert mine.weights == theirs.weights


@pytest.mark.parametrize("write", WRITERS)
def test_random_tables(write: Callable[[Table, Path], Any]) -> None:
    @given(table=tables(marked=True))
    def check(table: Table) -> None:
        with tempfile.TemporaryDirectory() as folder:
            agree(table, write(table, Path(folder)))

    settings(SOME)(check)()


@given(table=tables(marked=True) | tables(marked=False))
@settings(SOME, max_examples=tries(12))
def test_facts_of_a_theory(table: Table) -> None:
    agree(table, rows=fact_rows(table))


@given(table=tables(marked=True))
@settings(SOME, max_examples=tries(12))
def test_a_theory_and_an_equal_table(table: Table) -> None:
    agree(table, {table.predicate: table.arrow()}, fact_rows(table))


@given(table=tables(marked=False))
@settings(SOME, max_examples=6)
def test_large_tables_are_numbered_in_parts(table: Table) -> None:
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setattr(loading, "ROWS_AT_A_TIME", 2)
        agree(table, formats.parquet(table, Path(folder)))


def people(rows: Sequence[tuple[str, ...]], name: str = "friends") -> dict[str, pa.Table]:
    columns = zip(*rows, strict=True)
    return {name: pa.table({f"c{place}": list(column) for place, column in enumerate(columns)})}


def of(*names: str) -> Signature:
    predicates = {name: PREDICATES[name] for name in names}
    kinds = {kind for predicate in predicates.values() for kind in predicate.column_types}
    return Signature({kind: TYPES[kind] for kind in TYPES if kind in kinds}, predicates, strict=True)


CONTRADICTIONS: list[tuple[str, Mapping[str, list[Any]], str]] = [
    ("smokes", {"a": ["x", "x"], "truth": [True, False]}, r'smokes\("x"\) is stated to be true and false'),
    ("smokes", {"a": ["x", "x"], "weight": [1.0, 2.0]}, r'smokes\("x"\) is stated to have two weights'),
    ("area", {"a": ["p", "p"], "v": ["ai", "db"]}, r'area\("p"\) is stated to have two values'),
    (
        "area",
        {"a": ["p"] * 3, "v": ["ai", "db", "theory"], "truth": [False] * 3},
        r'area\("p"\) .* none of its',
    ),
    (
        "area",
        {"a": ["p", "p"], "v": ["ai", "ai"], "truth": [True, False]},
        r'area\("p"\) = "ai" is stated to be true and false',
    ),
    ("alarm", {"truth": [True, False]}, "alarm is stated to be true and false"),
    ("alarm", {"weight": [0.5, 0.6]}, "alarm is stated to have two weights"),
]


def test_contradictions_have_their_places(tmp_path: Path) -> None:
    on = f"duckdb:{tmp_path / 'one.duckdb'}"
    theory = 'predicate p(t)\np("b")\np("a")\nnot p("c")\nnot p("a")\n1: p(x)'
    with pytest.raises(FactsError) as stated:
        hb.Model(hb.parse(theory, "one.hb"), on=on).infer()
    assert str(stated.value).startswith(
        'one.hb:3:1: p("a") is stated to be true and false, together with one.hb:5:1'
    )
    table = pa.table({"t": ["b", "a"], "truth": [True, False]})
    with pytest.raises(FactsError, match=r"one\.hb:3:1: .* is stated to .*false, together with p\b"):
        hb.Model(hb.parse(theory.replace('not p("a")\n', ""), "one.hb"), {"p": table}, on=on).infer()


@pytest.mark.parametrize(("name", "columns", "said"), CONTRADICTIONS)
@pytest.mark.parametrize("in_place", [True, False])
def test_contradictions_name_the_atom(
    tmp_path: Path, name: str, columns: Mapping[str, list[Any]], said: str, in_place: bool
) -> None:
    table = pa.table(dict(columns))
    facts: Any = {name: table}
    if in_place:
        pa.parquet.write_table(table, tmp_path / f"{name}.parquet")
        facts = tmp_path
    with DuckDB() as database, pytest.raises(FactsError, match=said):
        stored(database, of(name), facts)


@pytest.mark.parametrize("mark", [None, "truth", "probability", "weight"])
def test_a_predicate_without_arguments(mark: str | None) -> None:
    columns = {} if mark is None else {mark: {"truth": [True], "probability": [0.25], "weight": [3.0]}[mark]}
    rows = [] if columns else [FactRows("alarm", (), 1)]
    with DuckDB() as database:
        facts = {"alarm": pa.table(columns)} if columns else None
        _, found = stored(database, of("alarm"), facts, rows)
        counts = {"probability": (0, 0, 1)}.get(mark or "", (1, 0, 0))
        assert found.tables["alarm"].counts == counts


@pytest.mark.parametrize("kind", [pa.null(), pa.string(), pa.int64()])
def test_an_empty_table_says_nothing_of_its_constants(tmp_path: Path, kind: pa.DataType) -> None:
    """Beside rows of the other kind, in memory as in the database."""
    empty = pa.table({"a": pa.array([], kind), "b": pa.array([], kind)})
    pa.parquet.write_table(empty, tmp_path / "friends.parquet")
    pa.parquet.write_table(empty, tmp_path / "born.parquet")
    facts = {"friends": str(tmp_path / "friends.parquet"), "born": str(tmp_path / "born.parquet")}
    rows = [FactRows("born", (("x",), (1999,)), 1)]
    with DuckDB() as database:
        _, found = stored(database, of("friends", "born"), facts, rows, header=None)
        assert domains(found) == {"person": ["x"], "year": [1999]}
        assert found.tables["born"].counts == (1, 0, 0)
        assert found.tables["friends"].counts == (0, 0, 0)


def test_a_constant_outside_a_closed_type(tmp_path: Path) -> None:
    table = pa.table({"a": ["x", "y", "z"], "b": ["junior", "boss", "chief"]})
    pa.parquet.write_table(table, tmp_path / "rank.parquet")
    with DuckDB() as database, pytest.raises(FactsError) as caught:
        stored(database, of("rank"), tmp_path)
    outside = "a constant in column 2 that is not in type 'level', such as \"boss\""
    assert str(caught.value) == f"rank.parquet: 2 rows have {outside}"
    with DuckDB() as database, pytest.raises(FactsError, match=f"rank.parquet: 1 row has {outside}"):
        pa.parquet.write_table(table.slice(0, 2), tmp_path / "rank.parquet")
        stored(database, of("rank"), tmp_path)


@pytest.mark.parametrize("numbers", [[1.0, 0.0], [1.0, 0.0, 0.5], [0.5]])
def test_probabilities_leave_a_predicate_open_as_in_memory(numbers: list[float]) -> None:
    undeclared = Signature({"thing": Type("thing")}, {"p": Predicate("p", ("thing",))})
    facts = {"p": pa.table({"a": list("abc")[: len(numbers)], "probability": numbers})}
    with DuckDB() as database:
        stored(database, undeclared, facts)
        with StoreOf(database.connection, fact_sources(facts)) as store:
            again = kept_facts(
                database, store, FactRequest(undeclared, sources=fact_sources(facts), header=True)
            )
    assert again is not None and again[1].facts.tables["p"].world == "open"


def test_soft_facts_of_an_observed_predicate() -> None:
    facts = {"knows": pa.table({"a": ["x"], "b": ["y"], "probability": [0.5]})}
    with DuckDB() as database, pytest.raises(FactsError, match=r"'knows' is observed.*1 row gives") as caught:
        stored(database, of("knows"), facts)
    assert "--open knows" in str(caught.value)
    with DuckDB() as database:
        _, found = stored(database, of("knows"), facts, worlds=Worlds(open=("knows",)))
        assert found.tables["knows"].counts == (0, 0, 1)


class TestGoingOn:
    """A load that was cut off, and one that was done."""

    FACTS = people([("a", "b"), ("b", "c"), ("a", "b")])

    def test_what_is_whole_is_not_made_again(self, monkeypatch: pytest.MonkeyPatch) -> None:
        made: list[str] = []
        make = DuckDB.make

        def counted(self: DuckDB, table: str, query: str, temporary: bool = False) -> None:
            made.append(table)
            make(self, table, query, temporary)

        with DuckDB() as database:
            with monkeypatch.context() as patch:
                patch.setattr(loading.Loading, "_make_facts", lambda *_: _cut_off())
                with pytest.raises(KeyboardInterrupt):
                    stored(database, of("friends"), self.FACTS)
            assert not database.has(KEPT) and database.noted(LOADING)["made"] == ["domain_0"]
            monkeypatch.setattr(DuckDB, "make", counted)
            _, found = stored(database, of("friends"), self.FACTS, resume=True)
            assert "domain_0" not in made
            assert found.tables["friends"].counts == (2, 0, 0)
            assert database.has(KEPT) and not database.has(LOADING)

    def test_a_load_of_other_sources_is_begun_anew(self) -> None:
        with DuckDB() as database:
            database.keep(LOADING, json.dumps({"sources": ["others"], "made": ["domain_0", "true_0"]}))
            _, found = stored(database, of("friends"), self.FACTS, resume=True)
            assert domains(found) == {"person": ["a", "b", "c"]}

    def test_nothing_but_the_tables_is_left(self) -> None:
        with DuckDB() as database:
            stored(database, of("friends", "born"), self.FACTS)
            names = {name for (name,) in database.rows("SELECT table_name FROM duckdb_tables()")}
            assert names == {
                "domain_0", "domain_1", "true_0", "false_0", "soft_0", "true_1", "false_1", "soft_1", "facts",
            }  # fmt: skip

    def test_what_was_kept_is_found_again(self) -> None:
        signature = of("friends", "rank", "born")
        facts = {**self.FACTS, "born": pa.table({"a": ["a"], "b": [1999], "weight": [2.0]})}
        with DuckDB() as database:
            told, found = stored(database, signature, facts)
            sources = fact_sources(facts)
            with StoreOf(database.connection, sources) as store:
                again = kept_facts(database, store, FactRequest(signature, sources=sources, header=True))
            assert again is not None
            assert domains(again[1]) == domains(found) and again[1].tables == found.tables
            assert known(*again) == known(told, found)
            assert again[0] == told

    @pytest.mark.parametrize("kept", [None, "not json", '{"types": {}, "tables": {}}'])
    def test_what_is_of_another_theory_is_not(self, kept: str | None) -> None:
        with DuckDB() as database:
            if kept is not None:
                database.keep(KEPT, kept)
            with StoreOf(database.connection, ()) as store:
                assert kept_facts(database, store, FactRequest(SIGNATURE)) is None


IMMENSE = 2**53 + 1  # a float would make it 2**53


@pytest.mark.parametrize("place", ["memory", "database", "in place"])
@pytest.mark.parametrize(
    "other",
    ["owes(x, a)", "a > 1.5", "a > 2", "a < 2", f"a > {IMMENSE - 1}", f"a > {IMMENSE}", f"{IMMENSE} <= a"],
)
def test_whole_numbers_that_floats_round(place: str, other: str, tmp_path: Path) -> None:
    """They are kept as they are, or refused beside fractions, wherever facts are."""
    theory = hb.parse(
        "type amount = number\npredicate pays(person, amount): observed\npredicate owes(person, amount): "
        f"observed\npredicate much(person)\nmuch(x) :- pays(x, a), {other}"
    )
    file = tmp_path / "bank.duckdb"
    with duckdb.connect(str(file)) as connection:
        connection.execute(f"CREATE TABLE pays AS SELECT 'anna' AS person, {IMMENSE} AS amount")
        connection.execute("CREATE TABLE owes AS SELECT 'anna' AS person, CAST(0.5 AS DOUBLE) AS amount")
        if "owes" not in other:
            connection.execute("DELETE FROM owes")
    on = {"memory": None, "database": f"duckdb:{tmp_path}/other.duckdb", "in place": f"duckdb:{file}"}[place]
    model = hb.Model(theory, None if place == "in place" else file, on=on)
    if other != "owes(x, a)":
        answers = model.query("pays(x, a)").to_dict()["answers"]
        assert [one["bindings"] for one in answers] == [{"x": "anna", "a": IMMENSE}]
        held = bool(eval(other, {"a": IMMENSE}))
        for goal in ("much(x)", f"pays(x, a) and {other}"):
            assert bool(model.query(goal).to_dict()["answers"]) == held
        return
    with pytest.raises(FactsError, match="mixes fractions with whole numbers beyond"):
        model.query("pays(x, a)")


@pytest.mark.parametrize(
    ("declared", "cell", "said"),
    [
        ("type t = -5..5", "'1'", "mixes text"),
        ("type t = -5..5", "'a'", "mixes text"),
        ('type t = {"1", "2"}', "1", "mixes text"),
        ('type t = {"a", "b"}', "0.5", "mixes text"),
        (f"type t = {{{IMMENSE}, 1}}", f"CAST({IMMENSE - 1} AS DOUBLE)", "whole numbers beyond"),
    ],
)
def test_constants_of_a_closed_type_are_compared_as_they_are(
    declared: str, cell: str, said: str, tmp_path: Path
) -> None:
    """The database itself takes '1' for 1, and 2^53 as a float for 2^53 + 1."""
    theory = hb.parse(f"{declared}\npredicate p(t): observed\npredicate q(t)\n0.7: p(x) => q(x)")
    file = tmp_path / "world.duckdb"
    with duckdb.connect(str(file)) as connection:
        connection.execute(f"CREATE TABLE p AS SELECT {cell} AS a")
    with pytest.raises(FactsError):
        hb.Model(theory, file).infer()
    with pytest.raises(FactsError, match=said):
        hb.Model(theory, on=f"duckdb:{file}").infer()


@pytest.mark.parametrize("kind", ["FLOAT", "DOUBLE", "ENUM('0', '1')"])
def test_cells_of_special_columns_have_any_kind(kind: str, tmp_path: Path) -> None:
    theory = hb.parse("predicate p(t)\npredicate q(t)\n0.7: p(x) => q(x)")
    file = tmp_path / "world.duckdb"
    with duckdb.connect(str(file)) as connection:
        connection.execute(f"CREATE TABLE p (a VARCHAR, truth {kind})")
        connection.execute("INSERT INTO p VALUES ('x', '1'), ('y', '0')")
        connection.execute(f"CREATE TABLE q (a VARCHAR, probability {kind})")
        connection.execute("INSERT INTO q VALUES ('x', '0')")
    for model in (hb.Model(theory, file), hb.Model(theory, on=f"duckdb:{file}")):
        found = model.infer(engine="bp")
        assert {row.text: row.probability for row in found.rows()} == pytest.approx({'q("y")': 0.5})


def _cut_off() -> None:
    raise KeyboardInterrupt
