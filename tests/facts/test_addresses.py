"""Facts by address: tables and columns by name, conditions, views of a theory, empty cells by rule."""

from __future__ import annotations

import csv
import datetime
import decimal
import json
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import herbrand as hb
from herbrand.errors import FactsError, HerbrandError
from herbrand.facts.address import Selection, parse_address
from herbrand.facts.sources import text as text_files
from herbrand.facts.store import Store
from herbrand.language.theory import show

COLUMNS = ("id", "sender", "receiver", "amount")
ROWS = [(1, "ann", "bob", 10.5), (2, "bob", "carl", 3.0), (3, "ann", "dora", 40.0), (4, "carl", "ann", 4.0)]
THEORY = hb.parse(
    "type amount = number\npredicate pays(person, person, amount): observed\npredicate fraud(person)"
)


def arrow() -> pa.Table:
    return pa.table(dict(zip(COLUMNS, map(list, zip(*ROWS, strict=True)), strict=True)))


def text(path: Path, delimiter: str) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerows([COLUMNS, *ROWS])
    return path


def lines(path: Path) -> Path:
    path.write_text("".join(json.dumps(dict(zip(COLUMNS, row, strict=True))) + "\n" for row in ROWS))
    return path


def in_duckdb(path: Path) -> Path:
    with duckdb.connect(str(path)) as connection:
        given = arrow()
        connection.register("given", given)
        connection.execute("CREATE TABLE transactions AS FROM given")
        connection.execute("CREATE TABLE junk AS SELECT 1 AS a, TRUE AS b, NULL AS c")
    return path


def in_sqlite(path: Path) -> Path:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE transactions(id INTEGER, sender TEXT, receiver TEXT, amount REAL)")
    connection.execute("CREATE TABLE junk(a INTEGER, b BLOB)")
    connection.executemany("INSERT INTO transactions VALUES (?, ?, ?, ?)", ROWS)
    connection.commit()
    connection.close()
    return path


def parquet(path: Path) -> Path:
    pq.write_table(arrow(), path)
    return path


def feather(path: Path) -> Path:
    pyarrow.feather.write_feather(arrow(), str(path))
    return path


FILES: dict[str, Callable[[Path], str]] = {
    "csv": lambda f: str(text(f / "tx.csv", ",")),
    "tsv": lambda f: str(text(f / "tx.tsv", "\t")),
    "brackets": lambda f: str(text(f / "tx [1] (2).csv", ",")),
    "parquet": lambda f: str(parquet(f / "tx.parquet")),
    "jsonl": lambda f: str(lines(f / "tx.jsonl")),
    "arrow": lambda f: str(feather(f / "tx.feather")),
    "duckdb": lambda f: f"{in_duckdb(f / 'bank.duckdb')}:transactions",
    "sqlite": lambda f: f"{in_sqlite(f / 'bank.sqlite')}:transactions",
    "sqlite as .db": lambda f: f"{in_sqlite(f / 'bank.db')}:transactions",
}
DATA: dict[str, Callable[[], Any]] = {
    "pandas": lambda: arrow().to_pandas(),
    "polars": lambda: pl.from_arrow(arrow()),
    "arrow": arrow,
    "relation": lambda: duckdb.connect().from_arrow(arrow()),
}
files = pytest.mark.parametrize("made", FILES.values(), ids=list(FILES))
data = pytest.mark.parametrize("made", DATA.values(), ids=list(DATA))


def pays(facts: Any, theory: Any = THEORY, **options: Any) -> set[tuple[Any, ...]]:
    """The facts of `pays`, as constants."""
    program = hb.Model(theory, facts, **options).program
    domains = [program.facts.domains[name] for name in program.signature.predicates["pays"].types]
    rows = program.facts.tables["pays"].true
    return {tuple(d.value(int(i)) for d, i in zip(domains, row, strict=True)) for row in rows}


def chosen(test: Callable[[Any], bool] = lambda row: True) -> set[tuple[Any, ...]]:
    return {(sender, receiver, amount) for id, sender, receiver, amount in ROWS if test((id, amount))}


@files
def test_columns_by_name_in_any_order_and_others_left_out(tmp_path: Path, made: Any) -> None:
    where = made(tmp_path)
    assert pays(f"pays={where}(sender, receiver, amount)") == chosen()
    turned = hb.parse("type amount = number\npredicate pays(amount, person, person): observed")
    expected = {(amount, receiver, sender) for sender, receiver, amount in chosen()}
    assert pays(f"pays={where}(Amount, receiver, SENDER)", turned) == expected


def test_a_column_may_be_chosen_twice(tmp_path: Path) -> None:
    """In a file of one column an empty line is no row."""
    (tmp_path / "people.csv").write_text("who\nann\n\nbob\n")
    program = hb.Model(
        hb.parse("predicate same(person, person)"), f"same={tmp_path}/people.csv(who, who)"
    ).program
    assert program.facts.tables["same"].true.tolist() == [[0, 0], [1, 1]]


def test_columns_of_a_small_file_are_chosen_without_duckdb(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its start takes longer than reading the file."""
    path = text(tmp_path / "bank.csv", ",")
    address = f"pays={path}(receiver, sender, amount)"
    turned = {(receiver, sender, amount) for sender, receiver, amount in chosen()}
    assert pays(address) == turned
    monkeypatch.setattr(text_files, "SMALL_FILE", path.stat().st_size)
    monkeypatch.delattr(Store, "connection")
    assert pays(address) == turned


def test_a_condition_may_be_longer_than_a_name_of_a_file(tmp_path: Path) -> None:
    """The system was asked for a file of the whole address."""
    (tmp_path / "t.csv").write_text("a\n1\n500\n")
    wanted = " or ".join(f"a = {number}" for number in range(100))
    theory = hb.parse("type n = number\npredicate q(n)")
    program = hb.Model(theory, f"q={tmp_path}/t.csv(a) where {wanted}").program
    assert program.facts.tables["q"].true.tolist() == [[0]]


@pytest.mark.parametrize("facts", ["a" * 300, {"q": "a" * 300 + ".csv"}], ids=["path", "table"])
def test_a_name_that_no_file_can_have_is_refused(facts: Any) -> None:
    with pytest.raises(FactsError, match=r"^'a{57}\.\.\.' cannot be a file: File name too long$"):
        hb.Model(hb.parse("predicate q(n)"), facts)


@files
def test_a_condition_chooses_rows(tmp_path: Path, made: Any) -> None:
    address = f"pays={made(tmp_path)}(sender, receiver, amount)"
    assert pays(f"{address} where amount > 3.5 and id <> 3") == chosen(lambda r: r[1] > 3.5 and r[0] != 3)
    assert pays(f"{address} WHERE sender = 'ann'") == {row for row in chosen() if row[0] == "ann"}


CONDITIONS = [
    (["0.5", "1e-9", "2.25"], "c < 1.0", ["0.5", "1e-9"]),
    (["19.6", "19.4", "20.4"], "c < 20", ["19.4", "19.6"]),
    (["0.25", "0", "-0.25"], "c > 0", ["0.25"]),
    (["9007199254740993", "9007199254740992"], "c > 9007199254740992", ["9007199254740993"]),
    (["2026-11-22T10:30:00", "2026-11-22T08:00:00"], "c > '2026-11-22 09:00:00'", ["2026-11-22T10:30:00"]),
    (["2026-11-22", "2026-11-23"], "c - date '2026-11-22' = 1", ["2026-11-23"]),
    (
        ["2026-11-22T10:30:00+02:00", "2026-11-22T08:15:00", "2026-11-22T09:00Z"],
        "c > '2026-11-22 08:20:00'",
        ["2026-11-22T09:00Z", "2026-11-22T10:30:00+02:00"],
    ),
    (
        ["2026-11-22T00:00:00+02:00", "2026-11-22T12:00:00Z"],
        "c < '2026-11-22'",
        ["2026-11-22T00:00:00+02:00"],
    ),
]


@pytest.mark.parametrize("on", [False, True])
@pytest.mark.parametrize(("cells", "condition", "kept"), CONDITIONS)
def test_a_condition_sees_a_cell_as_it_is_written(
    cells: list[str], condition: str, kept: list[str], on: bool, tmp_path: Path
) -> None:
    """A column of fractions was rounded to whole numbers, one of times was cut to its days, and a zone was
    left out: rows that meet the condition were missing, and others were there."""
    (tmp_path / "t.csv").write_text("\n".join(["c", *cells]))
    place = f"duckdb:{tmp_path / 'w.duckdb'}" if on else None
    model = hb.Model(
        hb.parse("predicate q(cell): observed"), f"q={tmp_path}/t.csv(c) where {condition}", on=place
    )
    assert sorted(row.bindings["x"] for row in model.query("q(x)")) == kept


@data
def test_tables_in_memory_are_chosen_from_by_the_name(made: Any) -> None:
    assert pays({"pays(sender, receiver, amount)": made()}) == chosen()
    over = pays({"pays(sender, receiver, amount) where amount > 4": made()})
    assert over == chosen(lambda row: row[1] > 4)


@files
def test_a_column_may_be_called_what_it_counts_as(tmp_path: Path, made: Any) -> None:
    theory = hb.parse("predicate fraud(person)\n0: fraud(x)")
    address = f"fraud={made(tmp_path)}(sender, amount as probability) where id = 2"
    with pytest.raises(FactsError, match="not a probability"):
        hb.Model(theory, address).infer()


def test_soft_evidence_by_name(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_text("score,who\n0.9,ann\n0.2,bob\n")
    theory = hb.parse("predicate fraud(person)")
    found = hb.Model(theory, f"fraud={path}(who, score as probability)").infer(query="fraud")
    assert found['fraud("ann")'] == pytest.approx(0.9)
    assert found['fraud("bob")'] == pytest.approx(0.2)


@given(st.integers(0, 12), st.sampled_from(["<", ">=", "="]), st.permutations(range(3)))
def test_random_choices_are_those_of_python(limit: int, sign: str, order: list[int]) -> None:
    names = ("sender", "receiver", "amount")
    theory = hb.parse(
        "type amount = number\n"
        f"predicate pays({', '.join(['person', 'amount'][names[i] == 'amount'] for i in order)}): observed"
    )
    test = {"<": float.__lt__, ">=": float.__ge__, "=": float.__eq__}[sign]
    expected = {tuple(row[i] for i in order) for row in chosen(lambda r: test(float(r[1]), float(limit)))}
    columns = ", ".join(names[i] for i in order)
    assert pays({f"pays({columns}) where amount {sign} {limit}": arrow()}, theory) == expected


def test_on_a_database_addresses_choose_the_same(tmp_path: Path) -> None:
    theory = hb.parse(
        "type amount = number\npredicate pays(person, person, amount): observed\npredicate fraud(person)\n"
        "1.2: fraud(x) and pays(x, y, a) => fraud(y)"
    )
    rows, options = [row for row in chosen() if row[2] < 20], {"query": "fraud", "iterations": 3}
    here = hb.Model(theory, {"pays": rows}).infer(engine="mean-field", **options)
    for number, made in enumerate(FILES.values()):
        address = f"pays={made(tmp_path)}(sender, receiver, amount) where amount < 20"
        on = f"duckdb:{tmp_path / f'{number}.duckdb'}"
        there = hb.Model(theory, address, on=on).infer(engine="mean-field", **options)
        assert {r.atom: r.probability for r in there.rows()} == pytest.approx(
            {r.atom: r.probability for r in here.rows()}, abs=1e-6
        )


# Databases with more tables than predicates


@pytest.mark.parametrize("made", [in_duckdb, in_sqlite])
def test_other_tables_of_a_database_are_left_alone_and_noted(tmp_path: Path, made: Any) -> None:
    path = made(tmp_path / "bank.duckdb" if made is in_duckdb else tmp_path / "bank.db")
    theory = hb.parse("type n = number\npredicate transactions(n, person, person, n): observed")
    notes: list[str] = []
    model = hb.Model(theory, path, note=notes.append)
    assert len(model.program.facts.tables["transactions"].true) == len(ROWS)
    assert notes[0] == f"{path.name}: left alone, as no predicate has these names: junk"


def test_a_database_without_a_table_of_a_predicate_is_refused(tmp_path: Path) -> None:
    path = in_duckdb(tmp_path / "bank.duckdb")
    with pytest.raises(
        FactsError, match="holds no table of a predicate; it holds junk, transactions"
    ) as error:
        hb.Model(hb.parse("predicate fraud(person)"), path).infer()
    hint = error.value.mistakes[0].hint
    assert hint == f"name one, and its columns: --facts 'fraud={path}:junk(column)'"


def test_advice_for_databases_that_no_file_names(tmp_path: Path) -> None:
    path = in_duckdb(tmp_path / "bank.duckdb")
    theory = hb.parse("predicate likes(person, person): observed")
    with duckdb.connect(str(path)) as connection:
        with pytest.raises(FactsError) as error:
            hb.Model(theory, connection).infer()
        hint = 'name one: {"likes": connection.sql("SELECT column, column FROM transactions")}'
        assert error.value.mistakes[0].hint == hint.replace("transactions", "junk")
        rows = connection.sql("SELECT sender, receiver FROM transactions")
        assert len(hb.Model(theory, {"likes": rows}).program.facts.tables["likes"].true) == 4
    with pytest.raises(FactsError) as error:
        hb.Model(theory, on=f"duckdb:{path}").query("likes(x, y)")
    assert (
        error.value.mistakes[0].hint
        == "make a view there: CREATE VIEW likes AS SELECT column, column FROM junk"
    )
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE VIEW likes AS SELECT sender, receiver FROM transactions")
    assert hb.Model(theory, on=f"duckdb:{path}").query("likes(x, y)")


QUERY = "SELECT sender, receiver, sum(amount) AS amount FROM transactions GROUP BY sender, receiver"
VIEW = f'type amount = number\npredicate pays(person, person, amount): from "{QUERY}"'


@pytest.mark.parametrize("made", [in_duckdb, in_sqlite])
def test_a_query_of_a_theory_is_a_predicate(tmp_path: Path, made: Any) -> None:
    path = made(tmp_path / ("bank.duckdb" if made is in_duckdb else "bank.db"))
    theory = hb.parse(VIEW)
    assert hb.parse(show(theory)) == theory
    assert theory.predicates[0].query == QUERY
    assert pays(path, theory) == chosen()


def test_a_query_on_a_database_finds_the_users_tables(tmp_path: Path) -> None:
    theory = hb.parse(VIEW + "\npredicate fraud(person)\n1.2: fraud(x) and pays(x, y, a) => fraud(y)")
    path, options = in_duckdb(tmp_path / "bank.duckdb"), {"query": "fraud", "iterations": 3}
    expected = hb.Model(theory, path).infer(engine="mean-field", **options).to_dict()["marginals"]
    for model in (
        hb.Model(theory, path, on=f"duckdb:{tmp_path / 'ours.duckdb'}"),
        hb.Model(theory, on=f"duckdb:{path}"),
    ):
        found = model.infer(engine="mean-field", **options).to_dict()["marginals"]
        assert [row["probability"] for row in found] == pytest.approx(
            [row["probability"] for row in expected], abs=1e-6
        )


def test_a_query_needs_a_database() -> None:
    with pytest.raises(HerbrandError, match="'pays' is from a query, and no database is given as facts"):
        hb.Model(hb.parse(VIEW)).infer()


def test_two_databases_that_answer_a_query_are_refused(tmp_path: Path) -> None:
    paths = [in_duckdb(tmp_path / "a.duckdb"), in_duckdb(tmp_path / "b.duckdb")]
    with pytest.raises(HerbrandError, match="2 databases that answer it"):
        hb.Model(hb.parse(VIEW), paths).infer()


@pytest.mark.parametrize(
    "query",
    [
        "SELECT content, content, 1 FROM read_text('{secret}')",
        "SELECT a, a, 1 FROM '{secret}'",
        "SELECT 'a', 'b', 1; DROP TABLE transactions",
        "DROP TABLE transactions",
        "COPY transactions TO '{secret}'",
        "ATTACH '{secret}' AS other",
        "INSERT INTO transactions VALUES (9, 'x', 'y', 1) RETURNING sender, receiver, amount",
        "SELECT 'a', 'b', 1) UNION (SELECT content, content, 1 FROM read_text('{secret}')",
    ],
)
@pytest.mark.parametrize("made", [in_duckdb, in_sqlite])
def test_a_query_reads_its_database_and_nothing_else(tmp_path: Path, made: Any, query: str) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("top secret\n")
    path = made(tmp_path / ("bank.duckdb" if made is in_duckdb else "bank.db"))
    before = path.read_bytes()
    theory = hb.parse(
        "type amount = number\npredicate pays(person, person, amount): "
        f"from {json.dumps(query.format(secret=secret))}"
    )
    with pytest.raises(FactsError) as caught:
        hb.Model(theory, path).infer()
    assert "top secret" not in str(caught.value)
    assert path.read_bytes() == before
    assert secret.read_text() == "top secret\n"


@files
@pytest.mark.parametrize(
    "condition",
    [
        "EXISTS (SELECT * FROM read_text('{secret}'))",
        "amount IN (SELECT length(content) FROM read_text('{secret}'))",
        "TRUE); DROP TABLE transactions; SELECT (1",
    ],
)
def test_a_condition_reads_its_table_and_nothing_else(tmp_path: Path, made: Any, condition: str) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("top secret\n")
    with pytest.raises(FactsError):
        pays(f"pays={made(tmp_path)}(sender, receiver, amount) where {condition.format(secret=secret)}")


# Dates, decimals, empty cells


MOMENT = datetime.datetime(2026, 11, 22, 9, 30)


def test_dates_times_and_decimals_of_tables_are_constants(tmp_path: Path) -> None:
    theory = hb.parse(
        "type day = date\ntype moment = time\ntype amount = number\n"
        "predicate paid(day, moment, amount): observed"
    )
    row = (datetime.date(2026, 11, 22), MOMENT, decimal.Decimal("1.50"))
    columns = {"d": [row[0]], "t": [row[1]], "a": [row[2]]}
    with duckdb.connect(str(tmp_path / "w.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE paid AS SELECT DATE '2026-11-22' AS d, TIMESTAMP '2026-11-22 09:30' AS t, 1.50 AS a"
        )
    pq.write_table(pa.table(columns), tmp_path / "paid.parquet")
    (tmp_path / "paid.csv").write_text("20261122,2026-11-22 09:30,1.50\n")
    for facts in (
        {"paid": [row]},
        {"paid": pa.table(columns)},
        {"paid": pd.DataFrame(columns)},
        tmp_path / "w.duckdb",
        tmp_path / "paid.parquet",
        tmp_path / "paid.csv",
    ):
        domains = hb.Model(theory, facts).program.facts.domains
        assert {name: list(domain) for name, domain in domains.items()} == {
            "day": ["2026-11-22"], "moment": ["2026-11-22T09:30:00"], "amount": [1.5],
        }  # fmt: skip


LARGE = [9_007_199_254_740_993, 9_007_199_254_740_992]
"""Two numbers that are one float."""


def test_decimals_without_places_are_whole_numbers_by_every_way(tmp_path: Path) -> None:
    theory = hb.parse("type key = number\npredicate known(key): observed")
    rows = [decimal.Decimal(number) for number in LARGE]
    table = pa.table({"k": pa.array(rows, pa.decimal128(38, 0))})
    with duckdb.connect(str(tmp_path / "w.duckdb")) as connection:
        connection.register("given", table)
        connection.execute("CREATE TABLE known AS FROM given")
    pq.write_table(table, tmp_path / "known.parquet")
    for facts in (
        {"known": rows},
        {"known": table},
        {"known": table.to_pandas()},
        {"known": pl.from_arrow(table)},
        tmp_path / "w.duckdb",
        tmp_path / "known.parquet",
    ):
        assert sorted(hb.Model(theory, facts).program.facts.domains["key"]) == sorted(LARGE)
    stored = hb.Model(theory, tmp_path / "known.parquet", on=f"duckdb:{tmp_path}/on.duckdb")
    found = [answer["bindings"]["x"] for answer in stored.query("known(x)").to_dict()["answers"]]
    assert sorted(found) == sorted(LARGE)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([1, 10**30], f"row 2: column 1 holds {10**30}, a whole number of more than 64 bits"),
        ([LARGE[0], "0.5"], "row 1: column 1 holds 9007199254740993 beside fractions"),
        ([1, "1E+999999"], "row 2: column 1 holds inf"),
        (["sNaN"], "row 1: column 1 holds nan"),
    ],
)
def test_decimals_that_no_constant_keeps(rows: list[int | str], said: str) -> None:
    theory = hb.parse("type key = number\npredicate known(key): observed")
    with pytest.raises(hb.HerbrandError, match=re.escape(said)):
        _ = hb.Model(theory, {"known": [decimal.Decimal(row) for row in rows]}).program


def test_moments_of_numpy_are_those_of_its_units() -> None:
    """The list of an array of nanoseconds has whole numbers."""
    theory = hb.parse("predicate seen(moment): observed")
    for unit in ("s", "us", "ns"):
        given = np.array(["2026-11-22T09:30:00"], f"datetime64[{unit}]")
        for rows in (given, list(given), given.reshape(1, 1)):
            moments = hb.Model(theory, {"seen": rows}).program.facts.domains["moment"]
            assert list(moments) == [MOMENT.isoformat()]
    days = np.array(["2026-11-22"], "datetime64[D]")
    assert list(hb.Model(theory, {"seen": days}).program.facts.domains["moment"]) == ["2026-11-22"]
    for kind, said in (("datetime64[ns]", "to the microsecond"), ("timedelta64[ns]", "no constant")):
        with pytest.raises(hb.HerbrandError, match=said):
            _ = hb.Model(theory, {"seen": np.array([1], kind)}).program


BEYOND = [
    np.array(["20000-01-01"], "datetime64[D]"),
    np.array(["-0044-03-15"], "datetime64[s]"),
    np.array(["300000-01-01"], "datetime64[Y]"),
]


@pytest.mark.parametrize("days", BEYOND, ids=str)
def test_dates_of_other_years_than_a_constant_has(days: npt.NDArray[np.datetime64]) -> None:
    """A list of them held whole numbers, and a data frame of them ended in a traceback."""
    theory = hb.parse("predicate seen(moment): observed")
    with pytest.raises(hb.HerbrandError, match=r"no constant\n  dates are of the years 1 to 9999"):
        _ = hb.Model(theory, {"seen": list(days)}).program
    seconds = pa.array(days.astype("datetime64[s]"))
    for column in (seconds, seconds.cast(pa.timestamp("s", "UTC")), seconds.cast(pa.date64())):
        with pytest.raises(hb.HerbrandError, match="column 1 holds a date outside the years 1 to 9999"):
            _ = hb.Model(theory, {"seen": pa.table({"t": column})}).program


def test_a_condition_on_columns_that_duckdb_does_not_have() -> None:
    halves = pa.table({"k": pa.array(np.array([0.5], np.float16))})
    with pytest.raises(hb.HerbrandError, match="known cannot be read"):
        _ = hb.Model(hb.parse("predicate known(key): observed"), {"known(k) where k > 0": halves}).program


@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin"])
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_times_of_any_unit_and_zone_are_times_in_utc(tmp_path: Path, unit: str, zone: str | None) -> None:
    """Data frames keep times in nanoseconds."""
    theory = hb.parse("type moment = time\npredicate seen(moment): observed")
    table = pa.table({"t": pa.array([MOMENT], pa.timestamp(unit, zone))})
    pq.write_table(table, tmp_path / "seen.parquet")
    for facts in ({"seen": table}, tmp_path / "seen.parquet"):
        assert list(hb.Model(theory, facts).program.facts.domains["moment"]) == ["2026-11-22T09:30:00"]


def test_times_at_midnight_are_dates(tmp_path: Path) -> None:
    """Data frames keep days so; a time of the day is still no date."""
    theory = hb.parse("type day = date\npredicate due(thing, day): observed")
    days = [datetime.datetime(2026, 11, 22), datetime.datetime(2026, 11, 23)]
    frame = pd.DataFrame({"thing": ["a", "b"], "day": pd.to_datetime(days)})
    with duckdb.connect(str(tmp_path / "w.duckdb")) as connection:
        connection.execute("CREATE TABLE due AS SELECT * FROM frame")
    (tmp_path / "due.csv").write_text("a,2026-11-22 00:00:00\nb,2026-11-23T00:00:00.000\n")
    for facts in ({"due": frame}, tmp_path / "w.duckdb", tmp_path / "due.csv"):
        domain = hb.Model(theory, facts).program.facts.domains["day"]
        assert list(domain) == ["2026-11-22", "2026-11-23"]
    frame.loc[1, "day"] = MOMENT
    with pytest.raises(FactsError, match=r'due, row 2: "2026-11-22T09:30:00" in column 2 is no date'):
        hb.Model(theory, {"due": frame}).infer()


def test_text_that_is_no_date_is_refused_with_its_row(tmp_path: Path) -> None:
    (tmp_path / "due.csv").write_text("a,2026-11-22\nb,22.11.2026\n")
    theory = hb.parse("type day = date\npredicate due(thing, day): observed")
    with pytest.raises(FactsError, match=r'due.csv, row 2: "22.11.2026" in column 2 is no date'):
        hb.Model(theory, tmp_path / "due.csv").infer()


SURVEY = "person,level\nann,high\nbob,\ncarl,low\n"
LEVELS = (
    'predicate answer(person) in {"low", "high"}\npredicate seen(person): observed\n0.5: answer(x) = "low"'
)


def test_empty_cells_are_refused_left_out_or_unknown(tmp_path: Path) -> None:
    path, theory = tmp_path / "survey.csv", hb.parse(LEVELS)
    path.write_text(SURVEY)
    with pytest.raises(FactsError, match="column 2 is empty"):
        hb.Model(theory, f"answer={path}(person, level)").infer()
    notes: list[str] = []
    left = hb.Model(theory, f"answer={path}(person, level) nulls drop", note=notes.append)
    assert list(left.program.facts.domains["person"]) == ["ann", "carl"]
    assert "survey.csv: 1 of 3 rows has an empty cell and was left out" in notes
    unknown = hb.Model(theory, f"answer={path}(person, level) nulls unknown").infer()
    assert len(unknown) == 2
    assert unknown['answer("bob")']["low"] == pytest.approx(0.6224593)
    stored = hb.Model(
        theory, f"answer={path}(person, level) nulls unknown", on=f"duckdb:{tmp_path / 'o.duckdb'}"
    )
    with pytest.raises(FactsError, match="in memory"):
        stored.infer()


def test_unknown_rows_of_an_observed_predicate_are_refused(tmp_path: Path) -> None:
    frame = pd.DataFrame({"who": ["ann", None]})
    theory = hb.parse("predicate seen(person): observed")
    with pytest.raises(FactsError, match="never unknown"):
        hb.Model(theory, {"seen(who) nulls unknown": frame}).infer()


# What cannot be read


@pytest.mark.parametrize(
    ("ending", "message"),
    [
        ("(sender, reciever, amount)", "no column 'reciever'"),
        ("()", "lists no columns"),
        ("(sender,, amount)", "lists no columns"),
        ("(sender, receiver", "opens a bracket that it does not close"),
        ("(sender, receiver, amount) where", "no condition behind its 'where'"),
        ("(sender, receiver)", "2 columns"),
        ("(sender, receiver, amount) where nothing > 3", "nothing"),
        ("(sender, receiver, amount) where amount >", "parser|syntax|Parser|read"),
    ],
)
@files
def test_wrong_addresses_are_refused(tmp_path: Path, made: Any, ending: str, message: str) -> None:
    with pytest.raises(FactsError, match=message):
        pays(f"pays={made(tmp_path)}{ending}")


def test_a_table_that_is_not_there(tmp_path: Path) -> None:
    path = in_duckdb(tmp_path / "bank.duckdb")
    with pytest.raises(FactsError, match=r"holds no table 'transaction'\n  did you mean 'transactions'"):
        pays(f"pays={path}:transaction(sender, receiver, amount)")
    with pytest.raises(FactsError, match="is one table, so it holds no table 'other'"):
        pays(f"pays={parquet(tmp_path / 'tx.parquet')}:other(sender, receiver, amount)")
    with pytest.raises(FactsError, match="there is no file"):
        pays(f"pays={tmp_path}/bnk.duckdb:transactions(sender, receiver, amount)")


def test_columns_without_names(tmp_path: Path) -> None:
    path = text(tmp_path / "tx.csv", ",")
    with pytest.raises(FactsError, match="without a header"):
        pays(f"pays={path}(sender, receiver, amount)", header=False)
    path.write_text("ann,bob,3\nbob,carl,4\n")
    with pytest.raises(FactsError, match="its columns are ann, bob, 3, as its first row names them"):
        pays(f"pays={path}(sender, receiver, amount)")
    with pytest.raises(FactsError, match="no names"):
        pays({"pays(sender, receiver, amount)": [("a", "b", 1)]})


def test_a_file_that_looks_like_an_address_is_a_file(tmp_path: Path) -> None:
    path = text(tmp_path / "tx(a, b) where x.csv", ",")
    assert parse_address(str(path)).selection == Selection()
    assert parse_address(f"p={path}").location == str(path)
