"""Results written into a database, and read back as facts by an address."""

from __future__ import annotations

from pathlib import Path

import pytest

import herbrand as hb

THEORY = """
predicate friends(person, person): observed
predicate smokes(person)
friends("anna", "bob")
smokes("anna") ~ 0.8
1.5: smokes(x) and friends(x, y) => smokes(y)
"""


@pytest.mark.parametrize(("kind", "file"), [("duckdb", "out.duckdb"), ("sqlite", "out.db")])
def test_results_are_read_back(herbrand, tmp_path: Path, kind: str, file: str) -> None:
    theory, place = tmp_path / "t.hb", tmp_path / file
    theory.write_text(THEORY)
    into = f"{kind}:{place}.found"
    done = herbrand("infer", theory, "--into", into)
    assert done.status == 0, done.err
    assert done.out == ""
    expected = hb.Model(hb.parse(THEORY)).infer()
    soft = hb.parse("predicate smokes(person)")
    address = f"smokes={place}:found(argument_1, probability) where predicate = 'smokes'"
    again = hb.Model(soft, address).infer(query="smokes")
    for row in expected.rows():
        assert again[row.atom] == pytest.approx(row.probability, abs=1e-9)
    twice = herbrand("infer", theory, "--into", into)
    assert twice.status == 1
    assert "already exists" in twice.err


@pytest.mark.parametrize(
    "into",
    [
        "out.duckdb",
        "duckdb:found",
        "sqlite:out.sqlite",
        "duckdb:out.db",
        "mysql:a.b",
        "duckdb:nowhere/out.duckdb.t",
    ],
)
def test_places_that_are_none(herbrand, tmp_path: Path, into: str) -> None:
    theory = tmp_path / "t.hb"
    theory.write_text(THEORY)
    done = herbrand("infer", theory, "--into", into)
    assert done.status == 1
    assert "Traceback" not in done.err


@pytest.mark.parametrize("more", [["-o", "out.csv"], ["--format", "json"]])
def test_a_result_goes_to_one_place(
    herbrand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: list[str]
) -> None:
    """A file that was named beside the database was never written."""
    monkeypatch.chdir(tmp_path)
    Path("t.hb").write_text(THEORY)
    done = herbrand("infer", "t.hb", "--into", "duckdb:out.duckdb.t", *more)
    assert done.status == 1 and "and nowhere else" in done.err
    assert [path.name for path in tmp_path.iterdir()] == ["t.hb"]
