"""A world to learn from in a database: where literals hold, what is refused, what is too large to begin."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet
import pytest

import herbrand as hb
from herbrand.budget import Budget
from herbrand.errors import BudgetError, HerbrandError, Mistake, UnsupportedError
from herbrand.facts.load import BYTES_A_CELL, DISK_A_CELL, TooLarge, facts_too_large
from herbrand.facts.source import fact_sources
from herbrand.program.program import Literal
from herbrand.relations.database import DuckDB
from herbrand.scale import scratch
from herbrand.scale.learning.lesson import StoredExample
from herbrand.scale.place import DatabasePlace
from tests.scale.test_counts import example_in

THEORY = """
type t = {"a", "b", "c"}
predicate f(t, t): observed
predicate p(t)
predicate rain
predicate m(t) in {"x", "y", "z"}
?: p(x) and f(x, y) => m(y) = "x"
0.2: rain
f("a", "b")
f("b", "b")
p("a")
m("a") = "y"
m("b") = "x"
m("c") = "z"
"""
TRUE = {("f", 0, 1), ("f", 1, 1), ("p", 0)}
VALUES = {("m", 0): 1, ("m", 1): 0, ("m", 2): 2}


@pytest.fixture(scope="module")
def lesson() -> Iterator[StoredExample]:
    with DuckDB() as database:
        yield example_in(database, hb.parse(THEORY), ("m",))


def holds(literal: Literal, row: tuple[int, ...]) -> bool:
    atom = (literal.predicate, *row)
    return VALUES.get(atom, int(atom in TRUE)) in literal.allowed


@pytest.mark.parametrize(
    ("predicate", "arguments", "allowed"),
    [
        *(
            ("f", arguments, (value,))
            for value in (0, 1)
            for arguments in (("x", "y"), ("x", 1), (0, "y"), (1, 1), ("x", "x"))
        ),
        *(("p", (argument,), (value,)) for value in (0, 1) for argument in ("x", 0, 2)),
        *(("m", ("x",), allowed) for allowed in ((0,), (1, 2), (0, 1, 2), ())),
        *(("rain", (), (value,)) for value in (0, 1)),
    ],
)
def test_literals_hold_where_facts_say_so(
    lesson: StoredExample, predicate: str, arguments: tuple[Any, ...], allowed: tuple[int, ...]
) -> None:
    literal = Literal(predicate, arguments, allowed)
    axes, told = lesson.indicator(literal)
    assert axes == tuple(dict.fromkeys(a for a in arguments if isinstance(a, str)))
    arrays = told.rows.arrays()
    values = arrays["v"].tolist() if "v" in arrays else [1.0] * told.rows.count()
    named = [arrays[name].tolist() for name in told.columns]
    listed = {tuple(column[row] for column in named): value for row, value in enumerate(values)}
    for places in itertools.product(range(3), repeat=len(axes)):
        at = dict(zip(axes, places, strict=True))
        row = tuple(at[a] if isinstance(a, str) else a for a in arguments)
        found = listed.get(places, told.background or 0.0)
        assert found == float(holds(literal, row)), row


class TestRefusals:
    @pytest.mark.parametrize(
        ("text", "said"),
        [
            (
                'predicate m(t) in {"x", "y"}\ntype t = 1..3\n?: m(w) = "x"\nm(1) = "x"',
                "m has no value for 2 atoms\n"
                "  list one for each, or say that what is not listed is not known: --latent m",
            ),
            (
                "predicate p(t)\n?: p(x)\np(1)\np(2) ~ 0.25",
                "p(2) ~ 0.25 is soft evidence; labels are true or false\n"
                "  say which it is, or that it is not known: --latent p",
            ),
            (
                "predicate p(t)\n?: p(x)",
                "there is nothing to learn p from: type t has no constants\n"
                "  point at facts, or declare its constants",
            ),
        ],
    )
    def test_facts_that_cannot_be_learned_from(self, text: str, said: str) -> None:
        with DuckDB() as database, pytest.raises(HerbrandError) as caught:
            example_in(database, hb.parse(text))
        assert str(caught.value) == said

    def test_quantifiers_are_shown_where_they_stand(self) -> None:
        text = "predicate p(t)\npredicate f(t, t): observed\n?: exists y: f(x, y) and p(y)\nf(1, 2)"
        with DuckDB() as database, pytest.raises(UnsupportedError) as caught:
            example_in(database, hb.parse(text))
        assert "on a database learn has no quantifier inside a formula: ?: exists y: f(x, y) and p(y)" in str(
            caught.value
        )
        assert "<text>:3:1" in str(caught.value) and "leave out --on" in str(caught.value)

    def test_a_computed_argument_is_named_as_it_is_written(self, tmp_path: Path) -> None:
        theory = hb.parse("predicate p(t)\ntype t = number\n?: p(x) => p(x + 1)\np(1)\np(2)")
        with pytest.raises(UnsupportedError, match="learn has no computed argument") as caught:
            hb.Model(theory, on=f"duckdb:{tmp_path / 'world.duckdb'}").learn("pseudo-likelihood")
        assert "exists" not in str(caught.value)

    def test_a_quantifier_that_bears_on_no_target_is_no_matter(self) -> None:
        declared = "predicate p(t)\npredicate q(t)\npredicate f(t, t): observed\n"
        text = declared + "?: p(x)\n0.5: exists y: f(x, y) and q(y)\nf(1, 2)"
        with DuckDB() as database:
            assert example_in(database, hb.parse(text), ("p",)).targets == ("p",)


class TestTooLarge:
    @pytest.fixture
    def files(self, tmp_path: Path) -> Path:
        table = pa.table({"a": list(range(1000)), "b": list(range(1000))})
        pyarrow.parquet.write_table(table, tmp_path / "friends.parquet")
        with duckdb.connect(str(tmp_path / "w.duckdb")) as connection:
            connection.register("given", table)
            connection.execute("CREATE TABLE friends AS FROM given")
            connection.execute("CREATE TABLE knows AS SELECT a FROM given")
        (tmp_path / "smokes.csv").write_text("1\n" * 10_000)
        (tmp_path / "broken.parquet").write_bytes(b"PAR1")
        return tmp_path

    @pytest.mark.parametrize(
        ("names", "cells"),
        [
            (["friends.parquet"], 2000),
            (["w.duckdb"], 3000),
            (["friends.parquet", "w.duckdb"], 5000),
            (["smokes.csv"], 0),
            (["broken.parquet"], 0),
        ],
    )
    def test_rows_times_columns_are_known_without_reading(
        self, files: Path, names: list[str], cells: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Of text they are not; what cannot be read is left to loading, which says why."""
        sources = fact_sources([str(files / name) for name in names])
        monkeypatch.setattr("herbrand.facts.load.holds_database", lambda memory: True)
        told = sum(source.cells(None) for source in sources)
        assert facts_too_large(told, Budget(max(cells * BYTES_A_CELL, 1))) is None
        found = facts_too_large(told, Budget(max(cells * BYTES_A_CELL - 1, 1)))
        assert (found is not None) == (cells > 0)
        if found is not None:
            assert found.disk == cells * DISK_A_CELL
            assert found.why.startswith("the facts need about ") and found.why.endswith(" are allowed")

    @pytest.mark.parametrize(
        ("text", "address", "cells"),
        [
            ("predicate likes(t, t): observed\npredicate s(t)\n1: likes(x, y) => s(x)", "w.duckdb", 20),
            ("1: likes(x, y) => s(x)", "w.duckdb", 3020),
            ("1: p(x, y) => s(x)", "p=w.duckdb:friends(a, b)", 2000),
            ("1: p(x) => s(x)", "p=w.duckdb:friends(a)", 1000),
        ],
    )
    def test_only_what_is_read_counts(
        self, tmp_path: Path, text: str, address: str, cells: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Other tables of a database, and columns that no address names, take no memory."""
        with duckdb.connect(str(tmp_path / "w.duckdb")) as connection:
            connection.execute(
                "CREATE TABLE friends AS SELECT i AS a, i + 1 AS b, i AS c FROM range(1000) t(i)"
            )
            connection.execute("CREATE TABLE likes AS SELECT i AS a, i AS b FROM range(10) t(i)")
        name, _, file = address.rpartition("=")
        model = hb.Model(hb.parse(text), [f"{name}{'=' if name else ''}{tmp_path}/{file}"])
        monkeypatch.setattr("herbrand.facts.load.holds_database", lambda memory: True)
        assert facts_too_large(model.cells, Budget(cells * BYTES_A_CELL)) is None
        assert facts_too_large(model.cells, Budget(cells * BYTES_A_CELL - 1)) is not None

    def test_never_where_no_database_could_be_opened_either(self, files: Path) -> None:
        (source,) = fact_sources(str(files / "friends.parquet"))
        assert facts_too_large(source.cells(None), Budget(1 << 20)) is None


class TestScratch:
    def test_the_folder_is_there_for_the_time_and_no_longer(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        with scratch.scratch(TooLarge("too much")) as place:
            assert place.scratch and place.kind == "duckdb" and Path(place.target).parent.is_dir()
        assert not list(tmp_path.iterdir())
        with pytest.raises(ValueError, match="oops"), scratch.scratch(TooLarge("too much")):
            raise ValueError("oops")
        dear = scratch.scratch(TooLarge("too much", disk=1e30))
        with pytest.raises(BudgetError, match="too much; a database of them needs about"), dear:
            pytest.fail("the disk has no room for it")
        assert not list(tmp_path.iterdir())

    def test_what_is_told_before(self) -> None:
        assert scratch.notice(TooLarge("no room"), DatabasePlace("duckdb", "/x/scratch.duckdb", True)) == (
            "no room: running on a scratch database, /x/scratch.duckdb, which is removed at the end; "
            "to keep it, and to be able to go on with --resume, name one: --on duckdb:FILE"
        )

    def test_hints_that_do_not_fit_a_scratch_database_are_others(self) -> None:
        """Nobody said --on, and nothing can be resumed."""
        lasting = scratch._lasting(
            BudgetError([Mistake("full", None, "go on by --resume"), Mistake("b", None, "c")])
        )
        assert [one.hint for one in lasting.mistakes] == [scratch.WITHOUT_RESUME, "c"]
        needed = scratch._needed(
            UnsupportedError("no map", hint="leave out --map, or --on"), TooLarge("too much")
        )
        assert isinstance(needed, BudgetError)
        assert str(needed) == "too much; no map\n  allow more by --memory"
        other = UnsupportedError("no map", hint="ask for less")
        assert scratch._needed(other, TooLarge("too much")) is other
