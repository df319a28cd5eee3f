"""What is kept on a database is gone on with only over the very facts and vocabulary that it was made of."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pytest

import herbrand as hb
from herbrand.errors import FactsError, HerbrandError, UnsupportedError
from herbrand.scale import loading

THEORY = """
predicate friends(person, person): observed
predicate smokes(person)
0.4: smokes(x) and friends(x, y) => smokes(y)
-0.7: smokes(x)
"""
BEFORE, AFTER = [("a", "b"), ("b", "c"), ("c", "d")], [("a", "b"), ("b", "c"), ("d", "c")]
Facts = Callable[[list[tuple[str, str]]], Any]


def table(rows: list[tuple[str, str]]) -> pa.Table:
    return pa.table({f"c{place}": list(column) for place, column in enumerate(zip(*rows, strict=True))})


def coded(rows: list[tuple[str, str]]) -> pa.Table:
    """Equal codes of a chain; their dictionaries differ."""
    names = ["a", "b", "c", "d"] if rows is BEFORE else ["a", "b", "d", "c"]
    codes = {"x": [0, 1, 2], "y": [1, 2, 3]}
    return pa.table(
        {name: pa.DictionaryArray.from_arrays(pa.array(each), names) for name, each in codes.items()}
    )


FACTS: dict[str, Facts] = {
    "rows": lambda rows: {"friends": rows},
    "a frame": lambda rows: {"friends": pd.DataFrame(rows)},
    "Arrow": lambda rows: {"friends": table(rows)},
    "categories": lambda rows: {"friends": coded(rows)},
    "chosen": lambda rows: {"friends(c0, c1) where c0 <> 'z'": table(rows)},
    "a theory": lambda rows: hb.parse("\n".join(f'friends("{a}", "{b}")' for a, b in rows)),
}


Inferred = Callable[..., dict[str, float]]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Inferred:
    """Answers of runs that nothing cut off, over ``BEFORE`` and who smokes: once for each theory."""

    @cache
    def run(theory: str = THEORY, smokes: tuple[str, ...] = (), **options: Any) -> dict[str, float]:
        facts = {"friends": BEFORE} | ({"smokes": list(smokes)} if smokes else {})
        return inferred(tmp_path_factory.mktemp("whole") / "w.duckdb", facts, theory, **options)

    return run


def inferred(place: object, facts: Any, theory: str = THEORY, **options: Any) -> dict[str, float]:
    header = options.pop("header", None)
    model = hb.Model(hb.parse(theory), facts, on=f"duckdb:{place}", header=header)
    return {row.text: row.probability for row in model.infer(**options).rows()}


@pytest.mark.parametrize("engine", ["bp", "mean-field"])
@pytest.mark.parametrize("kind", FACTS)
def test_facts_in_memory_that_have_changed(tmp_path: Path, kind: str, engine: str, whole: Inferred) -> None:
    """As many rows over the same constants."""
    place, facts, expected = tmp_path / "w.duckdb", FACTS[kind], whole(engine=engine)
    inferred(place, facts(BEFORE), engine=engine, iterations=1)
    with pytest.raises(UnsupportedError, match="keeps no run of this theory with these facts"):
        inferred(place, facts(AFTER), engine=engine, resume=True)
    assert inferred(place, facts(BEFORE), engine=engine, resume=True) == pytest.approx(expected, abs=1e-12)


def test_facts_of_the_database_that_have_changed(tmp_path: Path) -> None:
    place = tmp_path / "w.duckdb"
    with duckdb.connect(str(place)) as connection:
        connection.execute("CREATE TABLE friends AS SELECT 'a' AS x, 'b' AS y UNION ALL SELECT 'b', 'c'")
    inferred(place, None, iterations=1)
    inferred(place, None, iterations=1, resume=True)
    with duckdb.connect(str(place)) as connection:
        connection.execute("UPDATE friends SET x = 'c', y = 'b' WHERE x = 'b'")
    with pytest.raises(UnsupportedError, match="keeps no run"):
        inferred(place, None, resume=True)


def test_opinions_that_have_changed(tmp_path: Path) -> None:
    def facts(p: float) -> Any:
        return {"friends": BEFORE, "smokes": pd.DataFrame({"person": ["a"], "probability": [p]})}

    inferred(tmp_path / "w.duckdb", facts(0.3), iterations=1)
    with pytest.raises(UnsupportedError, match="keeps no run"):
        inferred(tmp_path / "w.duckdb", facts(0.9), resume=True)


def test_a_file_that_is_read_with_a_header(tmp_path: Path) -> None:
    (tmp_path / "friends.csv").write_text("p,q\na,b\n")
    inferred(tmp_path / "w.duckdb", tmp_path / "friends.csv", header=False, iterations=1)
    with pytest.raises(UnsupportedError, match="keeps no run"):
        inferred(tmp_path / "w.duckdb", tmp_path / "friends.csv", header=True, resume=True)


def test_a_log_beside_a_file_of_facts(tmp_path: Path) -> None:
    """What SQLite has not yet written into its file counts."""
    (tmp_path / "friends.csv").write_text("a,b\n")
    inferred(tmp_path / "w.duckdb", tmp_path / "friends.csv", iterations=1)
    (tmp_path / "friends.csv-wal").write_text("b,c\n")
    with pytest.raises(UnsupportedError, match="keeps no run"):
        inferred(tmp_path / "w.duckdb", tmp_path / "friends.csv", resume=True)


def test_a_view_whose_rows_cannot_be_read(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "w.duckdb")) as connection:
        connection.execute("CREATE TABLE t AS SELECT 'a' AS x, 'b' AS y")
        connection.execute("CREATE VIEW friends AS SELECT x, y::INT AS y FROM t")
    with pytest.raises(FactsError, match=r"table friends.*Could not convert string 'b'"):
        inferred(tmp_path / "w.duckdb", None)


def _cut_off_after(count: int, patch: pytest.MonkeyPatch) -> None:
    make, made = loading.Loading.make, []

    def cut(self: Any, *said: str) -> None:
        if len(made) == count:
            raise KeyboardInterrupt
        made.append(said)
        make(self, *said)

    patch.setattr(loading.Loading, "make", cut)


CHANGES = {
    "facts": (THEORY + 'friends("a", "b")', THEORY + 'friends("b", "a")'),
    "a constant": (THEORY + '1: smokes("a")', THEORY + '1: smokes("zed")'),
    "predicates": (THEORY, "predicate ill(thing)\n1: ill(u)\n" + THEORY),
    "values": ('type person = {"a", "b", "c", "d"}' + THEORY, 'type person = {"d", "c", "b", "a"}' + THEORY),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("count", range(6))
def test_a_load_that_was_cut_off_before_the_theory_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str, count: int, whole: Inferred
) -> None:
    before, after = CHANGES[change]
    facts = {"friends": BEFORE, "smokes": ["d"]}
    with monkeypatch.context() as patch:
        _cut_off_after(count, patch)
        with pytest.raises(KeyboardInterrupt):
            inferred(tmp_path / "w.duckdb", facts, before)
            raise KeyboardInterrupt
    expected = whole(after, ("d",))
    try:
        assert inferred(tmp_path / "w.duckdb", facts, after, resume=True) == pytest.approx(
            expected, abs=1e-12
        )
    except UnsupportedError as refused:
        assert "keeps no run" in str(refused)


LEARNED = """
predicate friends(person, person): observed
predicate smokes(person)
predicate ill(person)
?: smokes(x) and friends(x, y) => smokes(y)
?: smokes(x) => ill(x)
"""


def test_counts_of_other_facts_are_not_taken(tmp_path: Path) -> None:
    """As many of them: the weights were those of the facts before."""

    def learned(name: str, smokes: list[str], ill: list[str], **options: Any) -> list[float]:
        facts = {"friends": [*BEFORE, ("d", "e")], "smokes": smokes, "ill": ill}
        model = hb.Model(hb.parse(LEARNED), facts, on=f"duckdb:{tmp_path / name}")
        return [each.weight for each in model.learn(l2=0.1, **options).weights]

    kept = str(tmp_path / "weights")
    expected = learned("other.duckdb", ["a", "c", "e"], ["b", "d"])
    first = learned("w.duckdb", ["a", "b", "c"], ["a", "b"], iterations=1, save=kept)
    with pytest.raises(HerbrandError, match="another theory or other facts"):
        learned("w.duckdb", ["a", "c", "e"], ["b", "d"], resume=kept)
    assert learned("w.duckdb", ["a", "c", "e"], ["b", "d"]) == pytest.approx(expected, abs=1e-6)
    assert first != pytest.approx(expected, abs=0.1)
