"""What relations refuse, what they hold, and what they leave behind."""

from __future__ import annotations

import gc
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from herbrand.budget import Budget
from herbrand.errors import BudgetError, HerbrandError
from herbrand.relations.database import DuckDB
from herbrand.relations.dialects import SPARK
from herbrand.relations.expression import (
    Expression,
    cast,
    choose,
    column,
    evaluated,
    every,
    exp,
    literal,
    written,
)
from herbrand.relations.fold import count, largest, log_sum, some, total
from herbrand.relations.memory import Memory
from herbrand.relations.relation import Relation
from herbrand.relations.stored import Scratch


@pytest.fixture
def database() -> Iterator[DuckDB]:
    with DuckDB() as found:
        yield found


@pytest.fixture(params=["memory", "database"])
def small(request: pytest.FixtureRequest, database: DuckDB) -> Relation:
    memory = Memory.of(a=[1, 1, 2], t=["x", "y", "x"], w=[0.5, math.inf, -1.0])
    return memory if request.param == "memory" else Scratch(database).put(memory)


def tables(database: DuckDB) -> set[str]:
    return {name for (name,) in database.rows("SELECT table_name FROM duckdb_tables()")}


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda r: r.where(column("a") + 1), "true or false"),
        (lambda r: r.let(b=column("t") + 1), r"'\+' is not for a text"),
        (lambda r: r.let(b=column("a") == column("t")), "which differ"),
        (lambda r: r.let(b=column("z")), "no column 'z'"),
        (lambda r: r.let(B=1), "lower case"),
        (lambda r: r.only("a", "a"), "named twice"),
        (lambda r: r.renamed(a="t"), "both be called a"),
        (lambda r: r.join(r, ["a"]), "both relations have a column 't'"),
        (lambda r: r.join(r.select(a=column("t")), ["a"]), "never equals"),
        (lambda r: r.left_join(r.select(a=column("a"), u=1), ["a"]), "needs a value for each"),
        (lambda r: r.left_join(r.select(a=column("a"), u=1), ["a"], u="x"), "no value of the column 'u'"),
        (lambda r: r.stack(r.only("a")), "do not go below"),
        (lambda r: r.group(["a"], a=count()), "both a column of groups and a fold"),
        (lambda r: r.group([], n=total(column("t"))), "no fold of values of kind text"),
        (lambda r: r.let(b=column("a") // 0), "positive whole number"),
        (lambda r: r.let(b=None), "no value that relations have"),
    ],
)
def test_refusals(small: Relation, wrong: Any, words: str) -> None:
    with pytest.raises(HerbrandError, match=words):
        wrong(small)


def test_nulls_are_refused_where_data_come_in() -> None:
    with pytest.raises(HerbrandError, match="no nulls"):
        Memory.of(a=[1, None])
    with pytest.raises(HerbrandError, match="no nulls"):
        Memory.of(t=["x", None])


def test_an_expression_has_no_truth_value() -> None:
    with pytest.raises(TypeError, match="no truth value"):
        bool(column("a") < 1)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda r: r.let(b=column("a") * 2**62),
        lambda r: r.let(b=column("a") + (2**63 - 1)),
        lambda r: r.let(b=-(column("a") * 0 - (2**63 - 1) - 1)),
        lambda r: r.group([], n=total(column("a") * 0 + 2**62)),
    ],
)
def test_what_does_not_fit_in_64_bits_is_an_error(small: Relation, wrong: Any) -> None:
    with pytest.raises(HerbrandError, match="64 bits"):
        wrong(small).rows()


def test_folds_of_nothing(small: Relation) -> None:
    nothing = small.where(column("a") > 5)
    assert nothing.count() == 0
    assert nothing.scalar(total(column("a"))) == 0
    assert nothing.scalar(total(column("w"))) == 0.0
    assert nothing.scalar(largest(column("w"))) == nothing.scalar(log_sum(column("w"))) == -math.inf
    assert nothing.scalar(largest(column("a"))) is None
    assert nothing.scalar(some(column("a") == 1)) is False
    assert nothing.group([], n=count()).rows() == []
    assert nothing.group(["t"], n=count()).rows() == []


def test_folds_of_no_rows_keep_their_kinds(small: Relation) -> None:
    folds = {"n": count(), "a": total(column("a")), "w": total(column("w")), "l": log_sum(column("w"))}
    folds |= {"most": largest(column("w")), "one": some(column("w") < 1)}
    some_rows, no_rows = small.group(["t"], **folds), small.where(column("a") > 9).group(["t"], **folds)
    assert no_rows.rows() == []
    assert no_rows.kinds == some_rows.kinds


def test_relations_without_columns(small: Relation) -> None:
    assert small.only().count() == 3
    assert small.only().distinct().count() == 1
    assert small.where(column("a") > 5).only().distinct().count() == 0
    assert small.only().join(small.only()).count() == 9


def test_wide_keys_of_several_columns(small: Relation) -> None:
    del small
    rng = np.random.default_rng(0)
    names = [f"c{i}" for i in range(5)]
    columns = {name: rng.integers(-(2**61), 2**61, 50) for name in names}
    columns = {name: np.concatenate([values, values]) for name, values in columns.items()}
    found = Memory.of(**columns).group(names, n=count())
    assert found.arrays()["n"].tolist() == [2] * 50


def test_a_join_claims_its_rows_first() -> None:
    many = Memory.of(Budget(memory=10_000_000), a=np.zeros(50_000, np.int64))
    with pytest.raises(BudgetError, match=r"a join of 2,500,000,000 rows needs"):
        many.join(many, ["a"])


def test_tables_are_dropped_when_nothing_reads_them(database: DuckDB) -> None:
    with Scratch(database) as scratch:
        found = scratch.put(Memory.of(a=[1, 2, 3]))
        for _ in range(5):
            found = found.let(a=column("a") + 1).kept()
        gc.collect()
        found = found.kept()
        assert found.rows() == [(6,), (7,), (8,)]
        assert len(tables(database)) <= 3
        lazy = found.where(column("a") > 6)
        del found
        scratch.put(Memory.of(b=[1]))
        assert lazy.rows() == [(7,), (8,)]
        scratch.database.make("stays", lazy.text)
    assert tables(database) == {"stays"}


def test_temporary_tables_are_in_no_file(tmp_path: Path) -> None:
    with DuckDB(tmp_path / "file.duckdb") as database, Scratch(database, temporary=True) as scratch:
        kept = scratch.put(Memory.of(a=[1, 2])).let(b=column("a") + 1).kept()
        temporary = database.rows("SELECT temporary FROM duckdb_tables()")
        assert temporary == [(True,), (True,)] and kept.rows() == [(1, 2), (2, 3)]
        kept.kept_as("stays")
    with DuckDB(tmp_path / "file.duckdb") as database:
        assert tables(database) == {"stays"}


def test_a_checkpoint_stays_under_its_name(database: DuckDB) -> None:
    with Scratch(database) as scratch:
        scratch.put(Memory.of(a=[1, 2])).let(b=column("a") * 0.5).kept_as("checkpoint")
    with Scratch(database) as scratch:
        assert scratch.table("checkpoint", a="int", b="float").rows() == [(1, 0.5), (2, 1.0)]


def test_a_condition_of_several() -> None:
    found = evaluated(every(column("a") > 0, column("a") < 3, True), {"a": np.array([0, 1, 3])}, 3)
    assert found.tolist() == [False, True, False]
    assert evaluated(every(), {}, 2).tolist() == [True, True]


def test_the_words_of_spark() -> None:
    kinds = {"order": "int", "t": "text"}
    text = written(choose(exp(column("order")) / 0 > 1, column("t"), "it's"), kinds, SPARK)  # type: ignore[arg-type]
    assert "`order`" in text and "CASE WHEN" in text and "'it''s'" in text
    assert written(cast(column("t"), "text"), kinds, SPARK) == "CAST(`t` AS STRING)"  # type: ignore[arg-type]


def test_fractions_and_times_are_the_same_in_both(database: DuckDB) -> None:
    """Remainders have the divisor's sign; times have one form, with six digits of a second or none."""
    a, b, i = column("a"), column("b"), column("i")
    numbers = Memory.of(
        a=[7.5, -7.5, 1.0, -1.0, 2.0, 0.5],
        b=[0.3, 0.3, 0.1, 1e-300, -0.3, -1e300],
        i=[1, -1, 86_400_000_000 * 19_000 + 250_000, 86_400_000_000, 5, 7],
    )
    parts = {"whole": Expression("whole part", (a, b)), "rest": Expression("rest", (a, b))}
    found = [
        relation.select(**parts, time=Expression("time", (i,)), ratio=Expression("ratio", (i, literal(7))))
        for relation in (numbers, Scratch(database).put(numbers))
    ]
    assert sorted(found[0].rows()) == sorted(found[1].rows())
    back = [relation.select(i=Expression("microseconds", (column("time"),))) for relation in found]
    assert sorted(back[0].rows()) == sorted(back[1].rows()) == sorted(numbers.only("i").rows())
