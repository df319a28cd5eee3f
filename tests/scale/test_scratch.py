"""Facts or joins that memory does not hold: answered on a scratch database, which is told and removed."""

from __future__ import annotations

import tempfile
from pathlib import Path

import duckdb
import pytest

import herbrand as hb
from herbrand.engines.engine import Cost, Refusal
from herbrand.errors import BudgetError, HerbrandError, Mistake

THEORY = """
predicate friends(person, person): observed
predicate smokes(person)
0.4: smokes(x) and friends(x, y) => smokes(y)
-0.7: smokes(x)
"""
RULES = "path(x, y) :- friends(x, y)\npath(x, z) :- friends(x, y), friends(y, z)"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Facts as a DuckDB file and as Parquet; scratch databases go to a folder that is watched."""
    with duckdb.connect(str(tmp_path / "world.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE friends AS SELECT range % 50 AS a, (range * 7 + 3) % 50 AS b FROM range(120)"
        )
        connection.execute(f"COPY friends TO '{tmp_path / 'friends.parquet'}'")
    (tmp_path / "scratch").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "scratch"))
    monkeypatch.setattr("herbrand.facts.load.BYTES_A_CELL", 10**6)  # so that 240 cells need 240 MB
    return tmp_path


def left_over(folder: Path) -> list[Path]:
    return list((folder / "scratch").glob("herbrand-*"))


@pytest.mark.parametrize("name", ["world.duckdb", "friends.parquet"])
def test_facts_larger_than_memory(folder: Path, name: str) -> None:
    model, notes = hb.Model(hb.parse(THEORY), str(folder / name)), []
    found = model.infer(memory="100MB", note=notes.append, iterations=3)
    assert "need about 228.9 MB in memory, and 100.0 MB are allowed" in notes[0]
    assert str(folder / "scratch") in notes[0] and "--on duckdb:FILE" in notes[0]
    assert found.to_dict()["where"].startswith("a scratch database")
    expected = hb.Model(hb.parse(THEORY), str(folder / name)).infer(engine="mean-field", iterations=3)
    assert not expected.status.where
    assert {row.text: row.probability for row in found.rows()} == pytest.approx(
        {row.text: row.probability for row in expected.rows()}, abs=1e-9
    )
    assert not left_over(folder)


def test_goals(folder: Path) -> None:
    model = hb.Model(hb.parse(RULES), str(folder / "world.duckdb"))
    found = model.query("path(1, y)", memory="100MB")
    assert found.status.where
    rows = {row.bindings["y"]: row.weight for row in found.rows()}
    assert rows == {row.bindings["y"]: row.weight for row in model.query("path(1, y)").rows()}
    assert not left_over(folder)


BOUNDS = """
predicate friends(person, person): observed
predicate smokes(person)
P(smokes(y) | smokes(x) and friends(x, y)) in [0.4, 0.7]
P(smokes(1)) in [0.6, 0.8]
"""


def test_intervals(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("herbrand.facts.load.BYTES_A_CELL", 10**7)  # workers alone take 250 MB each
    model, notes = hb.Model(hb.parse(BOUNDS), str(folder / "friends.parquet")), []
    options = {"engine": "ariel", "independence": "none"}
    found = model.bound(memory="1GB", note=notes.append, **options)
    assert notes[0].startswith("the facts need about 2.2 GB") and "--on duckdb:FILE" in notes[0]
    assert found.status.where.startswith("a scratch database")
    expected = model.bound(**options)
    assert not expected.status.where
    assert list(found.queries) == list(expected.queries)
    assert found.lower == pytest.approx(expected.lower, abs=1e-6)
    assert found.upper == pytest.approx(expected.upper, abs=1e-6)
    assert not left_over(folder)


def test_weights(folder: Path) -> None:
    theory = hb.parse(THEORY.replace("0.4:", "?:").replace("-0.7:", "?:") + "smokes(1)\nsmokes(8)\nsmokes(4)")
    model, notes = hb.Model(theory, str(folder / "friends.parquet")), []
    found, expected = (
        model.learn("pseudo-likelihood", **limits)
        for limits in ({"memory": "100MB", "note": notes.append}, {})
    )
    assert "running on a scratch database" in notes[0]
    assert found.status.where.startswith("a scratch database") and not expected.status.where
    assert [w.weight for w in found.weights] == pytest.approx([w.weight for w in expected.weights], abs=1e-7)
    assert not left_over(folder)


def test_worlds_are_measured_together(folder: Path) -> None:
    """Two that would fit one by one do not fit side by side."""
    model = hb.Model(hb.parse(THEORY.replace("0.4:", "?:")))
    one = str(folder / "friends.parquet")
    model.learn(worlds=[one], memory="300MB")
    with pytest.raises(
        BudgetError, match=r"457\.8 MB in memory, and 300\.0 MB are allowed; on a database learn"
    ):
        model.learn(worlds=[one, one], memory="300MB")


def test_check_tells_where_it_would_run(folder: Path) -> None:
    report = hb.size_report(hb.Model(hb.parse(THEORY), str(folder / "world.duckdb")), "100MB")
    assert report.auto is not None and report.auto.name == "mean-field"
    assert "228.9 MB" in report.to_dict()["where"]
    assert isinstance(report.engines["exact"], Refusal) and isinstance(report.engines["bp"], Cost)
    assert hb.size_report(hb.Model(hb.parse(THEORY), str(folder / "world.duckdb"))).where is None


def test_engines_that_need_memory_say_so(folder: Path) -> None:
    model = hb.Model(hb.parse(THEORY), str(folder / "world.duckdb"))
    with pytest.raises(BudgetError, match="gibbs runs in memory only"):
        model.infer(engine="gibbs", memory="100MB")
    with pytest.raises(HerbrandError, match="most probable world"):
        model.infer(map=True, memory="100MB")
    with pytest.raises(BudgetError, match=r"100\.0 MB are allowed; explain runs in memory only"):
        model.explain("smokes(1)", memory="100MB")
    with pytest.raises(
        BudgetError, match=r"100\.0 MB are allowed; layers does not run on a database"
    ) as refused:
        model.learn("layers", memory="100MB")
    assert refused.value.mistakes[0].hint == "allow more by --memory"
    with pytest.raises(BudgetError, match=r"100\.0 MB are allowed; exact does not bound on a database"):
        hb.Model(hb.parse(BOUNDS), str(folder / "world.duckdb")).bound(engine="exact", memory="100MB")
    assert not left_over(folder)


def test_a_disk_that_is_too_small(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("herbrand.facts.load.DISK_A_CELL", 10**13)
    with pytest.raises(BudgetError, match=r"of disk, and .* are free"):
        hb.Model(hb.parse(THEORY), str(folder / "world.duckdb")).infer(memory="100MB")
    assert not left_over(folder)


def test_an_interrupted_run_leaves_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("herbrand.scale.mean_field.StoredMeanField.step", interrupted)
    with pytest.raises(KeyboardInterrupt):
        hb.Model(hb.parse(THEORY), str(folder / "world.duckdb")).infer(memory="100MB")
    assert not left_over(folder)


class TestJoins:
    """Where no engine can run in memory."""

    @pytest.fixture
    def notes(self, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        def refused(*_: object) -> None:
            hints = "rest", "allow more by --memory, or keep them on disk by --on duckdb:FILE"
            raise BudgetError(
                [Mistake("a join does not fit", hint=hints[0]), Mistake("nor does another", hint=hints[1])]
            )

        monkeypatch.setattr("herbrand.engines.choice.choose", refused)
        return []

    def test_a_join_larger_than_memory(self, folder: Path, notes: list[str]) -> None:
        facts = {"friends": [(a, (a * 7 + 3) % 50) for a in range(50)]}
        model = hb.Model(hb.parse(THEORY), facts)
        found = model.infer(iterations=3, note=notes.append)
        assert notes[0].startswith("no engine can run it within the memory allowed: running on a scratch")
        expected = hb.Model(hb.parse(THEORY), facts, on=f"duckdb:{folder / 'w.duckdb'}").infer(iterations=3)
        assert found.log_partition == pytest.approx(expected.log_partition, rel=1e-12)
        assert found.status.where
        assert not left_over(folder)
        with pytest.raises(BudgetError, match="a join does not fit"):
            model.infer(engine="exact")

    def test_what_would_take_days_is_not_begun(self, folder: Path, notes: list[str]) -> None:
        theory = hb.parse(
            "predicate e(t, t): observed\npredicate p(t, t)\n0.3: p(x, y) and p(y, z) => p(x, z)"
        )
        with pytest.raises(BudgetError, match=r"nor does it run on a database: .* rows a step") as refused:
            hb.Model(theory, {"e": [(place, place + 1) for place in range(1500)]}).infer(top=1)
        hints = [mistake.hint for mistake in refused.value.mistakes]
        assert hints[:2] == ["rest", "allow more by --memory"]  # a database was tried
        assert not left_over(folder)
