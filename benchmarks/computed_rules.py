"""Rules with arithmetic and aggregates over a million rows, beside DuckDB's own SQL on one thread.

python -m benchmarks computed_rules

Ours is a whole question: facts that are Arrow tables are numbered, the rule is run, and its answers become an
Arrow table. DuckDB has its tables already; the first row tells what reading and numbering them takes alone,
and a second row of each rule what the question takes beyond that.
Seconds are the processor's, of all threads.
"""

from __future__ import annotations

import time
from dataclasses import replace

import duckdb
import numpy as np

import herbrand as hb
from benchmarks.measurement import Measurement, race

PEOPLE, PAYMENTS, MOST = 100_000, 1_000_000, 1_000
HEAD = f"""
type person = 0..{PEOPLE - 1}
type amount = number
predicate pays(person, person, amount): observed
predicate person(person): observed
"""
AMOUNTS = "predicate r(person, amount)\n"
CASES = {
    "v = a * 2 + 1, a > 500": (
        AMOUNTS + "r(x, v) :- pays(x, y, a), v = a * 2 + 1, a > 500",
        "select distinct x, a * 2 + 1 from pays where a > 500",
    ),
    "sum by person": (
        AMOUNTS + "r(x, s) :- person(x), s = sum(a, y: pays(x, y, a))",
        "select p.x, coalesce(sum(a), 0) from person p left join (select distinct x, y, a from pays) q "
        "on p.x = q.x group by p.x",
    ),
    "count by person": (
        AMOUNTS + "r(x, n) :- person(x), n = count(y: pays(x, y, _))",
        "select p.x, count(y) from person p left join (select distinct x, y from pays) q on p.x = q.x "
        "group by p.x",
    ),
    "max by person": (
        AMOUNTS + "r(x, m) :- person(x), m = max(a: pays(x, _, a))",
        "select p.x, max(a) from person p join pays q on p.x = q.x group by p.x",
    ),
    "two payments, a + b > 1900": (
        "predicate r(person, person)\nr(x, z) :- pays(x, y, a), pays(y, z, b), a + b > 1900",
        "select distinct p.x, q.y from pays p join pays q on p.y = q.x where p.a + q.a > 1900",
    ),
}


def measure() -> list[Measurement]:
    database = duckdb.connect()
    database.execute("set threads = 1")
    rng = np.random.default_rng(1)
    columns = [rng.integers(0, PEOPLE, PAYMENTS), rng.integers(0, PEOPLE, PAYMENTS)]
    columns.append(rng.integers(1, MOST, PAYMENTS))
    database.execute(
        "create table pays as select distinct "
        "unnest($1)::bigint x, unnest($2)::bigint y, unnest($3)::bigint a",
        [column.tolist() for column in columns],
    )
    database.execute(f"create table person as select range::bigint x from range({PEOPLE})")
    facts = {name: database.table(name).to_arrow_table() for name in ("pays", "person")}
    reading = _reading(database, facts)
    wholes = [_race(database, facts, name) for name in CASES]
    return [reading, *(row for whole in wholes for row in (whole, _beyond(reading, whole)))]


def _beyond(reading: Measurement, whole: Measurement) -> Measurement:
    """What a question takes beyond reading its facts."""
    return replace(whole, what=f"{whole.what}, beyond reading", ours=whole.ours - reading.ours)


def _reading(database: duckdb.DuckDBPyConnection, facts: dict[str, object]) -> Measurement:
    theory = hb.parse(HEAD)
    distinct = "select distinct x, y, a from pays"
    return race(
        "reading alone",
        f"{PAYMENTS:,} rows",
        lambda: hb.Model(theory, facts).program,
        "DuckDB's distinct rows",
        lambda: database.sql(distinct).to_arrow_table(),
        repeats=7,
        clock=time.process_time,
    )


def _race(database: duckdb.DuckDBPyConnection, facts: dict[str, object], name: str) -> Measurement:
    rules, query = CASES[name]
    theory = hb.parse(HEAD + rules)

    def ours() -> object:
        return hb.Model(theory, facts).query("r(x, z)").to_arrow()

    def theirs() -> object:
        return database.sql(query).to_arrow_table()

    assert len(ours()) == len(theirs())  # type: ignore[arg-type]
    return race(name, f"{PAYMENTS:,} rows", ours, "DuckDB's SQL", theirs, repeats=7, clock=time.process_time)
