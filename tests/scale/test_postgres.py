"""Facts from a real PostgreSQL server, started for the tests from Debian's packages."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import herbrand as hb
from herbrand.errors import FactsError, HerbrandError

pytestmark = pytest.mark.slow
ROWS = "(1, 'ann', 'bob', 10.5, DATE '2026-11-22'), (2, 'bob', 'carl', 3, NULL), (3, 'ann', 'dora', 40, NULL)"
AMOUNTS = (
    "('whole', 'a', 9007199254740993), ('whole', 'a', 9007199254740992), ('whole', 'a', -3.00),"
    "('some', 'a', 67.21), ('some', 'a', 3), ('some', 'a', NULL), ('none', 'a', NULL)"
)
TABLE = (
    "CREATE TABLE transactions(id int, sender text, receiver text, amount numeric(10, 2), day date);"
    f"INSERT INTO transactions VALUES {ROWS};"
    "CREATE TABLE amounts(kind text, sort text, x numeric);"
    f"INSERT INTO amounts VALUES {AMOUNTS};"
    "CREATE TABLE junk(a int, b bytea);"
    "CREATE SEQUENCE s;"
)
PAYS = "type amount = number\npredicate pays(person, person, amount): observed"


def programs() -> Path:
    pytest.importorskip("adbc_driver_postgresql", reason="the extra 'postgresql' is not installed")
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not found:
        pytest.skip("PostgreSQL is not installed (Debian: postgresql)")
    return found[-1].parent


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    folder = programs()
    as_user = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"] if os.geteuid() == 0 else []
    if as_user and shutil.which("setpriv") is None:
        pytest.skip("PostgreSQL does not run as root, and there is no setpriv")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # The folder of temporary files of the tests is root's own; the server runs as somebody else.
    with TemporaryDirectory(dir="/var/tmp" if as_user else None) as place:
        if as_user:
            shutil.chown(place, "nobody", "nogroup")

        def run(*command: str) -> None:
            done = subprocess.run(
                [*as_user, str(folder / command[0]), *command[1:]], capture_output=True, text=True, cwd="/"
            )
            assert done.returncode == 0, done.stderr

        data = f"{place}/data"
        run("initdb", "-D", data, "-A", "trust", "-U", "ann")
        run("pg_ctl", "-D", data, "-o", f"-p {port} -k {place}", "-l", f"{place}/log", "-w", "start")
        try:
            run("psql", "-h", "127.0.0.1", "-p", str(port), "-U", "ann", "-d", "postgres", "-c", TABLE)
            yield f"postgresql://ann@127.0.0.1:{port}/postgres"
        finally:
            run("pg_ctl", "-D", data, "-m", "immediate", "stop")


def pays(address: str, theory: str = PAYS) -> set[tuple[object, ...]]:
    program = hb.Model(hb.parse(theory), address).program
    domains = [program.facts.domains[name] for name in program.signature.predicates["pays"].types]
    rows = program.facts.tables["pays"].true
    return {tuple(d.value(int(i)) for d, i in zip(domains, row, strict=True)) for row in rows}


def test_tables_columns_and_conditions(server: str) -> None:
    table = f"pays={server}:transactions(sender, receiver, amount)"
    assert pays(table) == {("ann", "bob", 10.5), ("bob", "carl", 3), ("ann", "dora", 40)}
    assert pays(f"{table} where amount > 5 and sender ~ '^a'") == {("ann", "bob", 10.5), ("ann", "dora", 40)}
    dated = hb.parse("type day = date\npredicate pays(person, day): observed")
    model = hb.Model(dated, f"pays={server}:transactions(sender, day) nulls drop")
    assert list(model.program.facts.domains["day"]) == ["2026-11-22"]
    assert "2 of 3 rows have an empty cell and were left out" in " ".join(model.notes)


def test_a_query_of_a_theory(server: str) -> None:
    query = "SELECT sender, 'all', sum(amount) FROM transactions GROUP BY sender"
    theory = f'type amount = number\npredicate pays(person, person, amount): from "{query}"'
    assert pays(server, theory) == {("ann", "all", 50.5), ("bob", "all", 3)}


@pytest.mark.parametrize(
    ("kind", "kept"),
    [("whole", {9007199254740993, 9007199254740992, -3}), ("some", {67.21, 3}), ("none", set[float]())],
)
def test_numeric_keeps_what_it_writes(server: str, kind: str, kept: set[float]) -> None:
    table = f"pays={server}:amounts(kind, sort, x) where kind = '{kind}' nulls drop"
    assert {amount for _, _, amount in pays(table)} == kept


def test_whole_numbers_beyond_64_bits_are_refused(server: str) -> None:
    query = "SELECT 'a', 'b', 100000000000000000000::numeric"
    theory = f'type amount = number\npredicate pays(person, person, amount): from "{query}"'
    with pytest.raises(FactsError, match="column 3 holds a whole number of more than 64 bits"):
        pays(server, theory)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT 'a', 'b', 1; DROP TABLE transactions",
        "DELETE FROM transactions RETURNING sender, receiver, amount",
        "SELECT sender, receiver, nextval('s') FROM transactions",
        "SELECT sender, receiver, setval('s', 3) FROM transactions",
    ],
)
def test_a_query_cannot_write(server: str, query: str) -> None:
    theory = f'type amount = number\npredicate pays(person, person, amount): from "{query}"'
    with pytest.raises(FactsError):
        pays(server, theory)
    assert len(pays(f"pays={server}:transactions(sender, receiver, amount)")) == 3


def test_what_cannot_be_read_is_told_without_the_password(server: str) -> None:
    wrong = server.replace("ann@", "ann:secret@").replace("/postgres", "/nothing")
    with pytest.raises(HerbrandError) as caught:
        pays(f"pays={wrong}:transactions(sender, receiver, amount)")
    assert "secret" not in str(caught.value)
    with pytest.raises(FactsError, match="holds no table 'transaction'"):
        pays(f"pays={server}:transaction(sender, receiver, amount)")


def test_tables_of_the_server_itself_are_not_among_the_databases(server: str) -> None:
    with pytest.raises(FactsError) as error:
        _ = hb.Model(hb.parse("predicate loves(person, person)"), server).program
    assert error.value.mistakes[0].message.endswith("it holds amounts, junk, transactions")


def test_rows_that_have_changed_are_not_gone_on_with(server: str, tmp_path: Path) -> None:
    """As many of them."""
    theory = hb.parse(
        "predicate meets(person, person): observed\npredicate ill(person)\n1: meets(x, y) => ill(y)"
    )
    model = hb.Model(theory, f"meets={server}:meets", on=f"duckdb:{tmp_path / 'w'}")
    execute(server, "CREATE TABLE meets AS SELECT 'ann' AS x, 'bob' AS y")
    model.infer()
    model.infer(resume=True)
    execute(server, "UPDATE meets SET x = 'bob', y = 'ann'")
    with pytest.raises(HerbrandError, match="keeps no run"):
        model.infer(resume=True)
    execute(server, "DROP TABLE meets")


def execute(server: str, statement: str) -> None:
    adbc = pytest.importorskip("adbc_driver_postgresql.dbapi")
    with adbc.connect(server, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute(statement)
