"""Mean field on DuckDB against mean field in memory: the same theory, the same facts, the same numbers."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, Phase, settings

import herbrand as hb
from herbrand.answers.marginals import Marginals
from herbrand.errors import BudgetError, ContradictionError, FactsError, UnsupportedError
from herbrand.language import syntax as s
from herbrand.language.show import show_formula
from herbrand.language.theory import Theory
from herbrand.relations.database import DuckDB
from herbrand.scale import loading, mean_field
from herbrand.scale.beliefs import Others
from herbrand.scale.place import place_of
from tests.laws import law, long
from tests.program_generators import models

SOME = settings(
    deadline=None,
    phases=[Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow],
)


def on_duckdb(theory: Theory, facts: Any = None, **options: Any) -> Marginals:
    with tempfile.TemporaryDirectory() as folder:
        return hb.Model(theory, facts, on=f"duckdb:{folder}/world.duckdb").infer(**options)


def agree(found: Marginals, expected: Marginals) -> None:
    rows = {row.text: row.probability for row in found.rows()}
    assert rows == pytest.approx({row.text: row.probability for row in expected.rows()}, abs=1e-9)
    assert found.log_partition == pytest.approx(expected.log_partition, abs=1e-9)
    assert found.status.iterations == expected.status.iterations


def without_quantifiers(theory: Theory) -> Theory:
    def is_plain(statement: s.Statement) -> bool:
        if not isinstance(statement, s.WeightedFormula):
            return True
        return not any(isinstance(part, s.Exists | s.Forall) for part in s.walk(statement.formula))

    return Theory(tuple(filter(is_plain, theory.statements)))


@law(models())
def check_random_model(model: tuple[Theory, Any]) -> None:
    theory = without_quantifiers(model[0])
    expected = hb.Model(theory).infer(engine="mean-field", iterations=5)
    agree(on_duckdb(theory, iterations=5), expected)


def test_random_models() -> None:
    check_random_model.holds(SOME, max_examples=3)


BALANCED = """
type t = {"c1", "c2"}
predicate p(t)
predicate q(t)
predicate f(t, t): observed
p("c1") ~ 0.567944672307541
q("c1") ~ 0.5475884033604059
q("c2") ~ 0.2877081141076185
f("c1", "c1")
1.472: (p(x) or not p(x)) and (p(y) or not p(y)) and not (f(x, y) xor q("c2") xor p(x))
0.093: (p(x) or not p(x)) and (p(y) or not p(y)) and (f(x, y) xor q("c2") xor p(x))
"""


@pytest.mark.parametrize("iterations", long([2, 20, 3, 4, 6], 2))
def test_a_slope_of_nothing_but_rounding_shortens_no_stride(iterations: int) -> None:
    """What moved first is where it should be, and the order of sums alone would tell which way it errs."""
    theory = hb.parse(BALANCED)
    agree(
        on_duckdb(theory, iterations=iterations),
        hb.Model(theory).infer(engine="mean-field", iterations=iterations),
    )


def test_atoms_without_rows_count_one_by_one() -> None:
    one, many = (Others(count, z=0.5, q=0.7, b=0.4).slope(0.3) for count in (1, 1_000))
    assert one.value == pytest.approx((0.3 - 0.5) * (0.7 - 0.4))
    assert one.size == pytest.approx(0.3 * (1 + 0.5 + 0.2))
    assert (many.value, many.size) == pytest.approx((1_000 * one.value, 1_000 * one.size))


@pytest.mark.slow
def test_more_random_models() -> None:
    check_random_model.holds(SOME, max_examples=200)


SMOKERS = """
predicate friends(person, person): observed
predicate smokes(person)
predicate cancer(person)
1.5: smokes(x) and friends(x, y) => smokes(y)
0.8: smokes(x) => cancer(x)
-0.7: smokes(x)
"""


@pytest.fixture
def links() -> list[tuple[str, str]]:
    chosen = random.Random(0)
    names = [f"p{number}" for number in range(60)]
    return sorted({(chosen.choice(names), chosen.choice(names)) for _ in range(150)})


def smokers(links: list[tuple[str, str]], place: str | None = None, facts: Any = None) -> hb.Model:
    return hb.Model(hb.parse(SMOKERS), {"friends": links} if facts is None else facts, on=place)


class TestTables:
    def test_exceptions_stand_for_all_others(self, tmp_path: Path) -> None:
        """A latent predicate over 70² pairs of which few are told anything of their own."""
        theory = hb.parse(
            "predicate met(t, t): observed\npredicate likes(t, t)\npredicate good(t)\n"
            "1.2: met(x, y) => likes(x, y)\n-1.0: likes(x, y)\n0.5: met(x, y) and likes(x, y) => good(y)"
        )
        facts = {"met": [(a, (a * a + 1) % 70) for a in range(70)]}
        expected = hb.Model(theory, facts).infer(engine="mean-field", iterations=6)
        model = hb.Model(theory, facts, on=f"duckdb:{tmp_path}/world.duckdb")
        agree(model.infer(iterations=6), expected)
        some = model.infer(["likes(3, y)", "good(1)"], iterations=6)
        assert len(some) == 71
        for row in some.rows():
            assert row.probability == pytest.approx(expected[row.atom], abs=1e-9)

    def test_facts_stay_where_they_are(self, tmp_path: Path, links: list[tuple[str, str]]) -> None:
        """In the database itself, in another one, in Parquet and in text: one answer."""
        expected = smokers(links).infer(engine="mean-field", iterations=3)
        rows = pa.table({"a": [a for a, _ in links], "b": [b for _, b in links]})
        world, other = tmp_path / "world.duckdb", tmp_path / "other.duckdb"
        for path in (world, other):
            with duckdb.connect(str(path)) as connection:
                connection.register("given", rows)
                connection.execute("CREATE TABLE friends AS SELECT * FROM given")
        pyarrow.parquet.write_table(rows, tmp_path / "friends.parquet")
        (tmp_path / "friends.csv").write_text("".join(f"{a},{b}\n" for a, b in links))
        agree(smokers([], f"duckdb:{world}", ()).infer(iterations=3), expected)
        for name in ("other.duckdb", "friends.parquet", "friends.csv"):
            model = smokers([], f"duckdb:{tmp_path / 'work.duckdb'}", str(tmp_path / name))
            agree(model.infer(iterations=3), expected)

    def test_large_tables_are_numbered_in_parts(
        self, links: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(loading, "ROWS_AT_A_TIME", 40)
        expected = smokers(links).infer(engine="mean-field")
        agree(on_duckdb(hb.parse(SMOKERS), {"friends": [*links, *links[:9]]}), expected)

    def test_rows_are_cut_in_the_database(self, tmp_path: Path, links: list[tuple[str, str]]) -> None:
        place = f"duckdb:{tmp_path / 'w.duckdb'}"
        expected = smokers(links).infer(engine="mean-field", top=7, min=0.2)
        found = smokers(links, place).infer(top=7, min=0.2)
        assert [row.text for row in found.rows()] == [row.text for row in expected.rows()]
        assert found.to_dict()["where"].startswith(place)

    def test_hard_statements_among_facts_are_checked(self, links: list[tuple[str, str]]) -> None:
        theory = hb.parse(f"{SMOKERS}\nhard: friends(x, y) => friends(y, x)")
        both = [*links, *((b, a) for a, b in links)]
        agree(on_duckdb(theory, {"friends": both}), smokers(both).infer(engine="mean-field"))
        with pytest.raises(ContradictionError, match="break this hard statement"):
            on_duckdb(theory, {"friends": links})


class TestGoingOn:
    def test_a_run_that_was_cut_off_ends_in_the_same_answer(
        self, tmp_path: Path, links: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Cut off in the middle of a step, after the first of its tables was made."""
        place = f"duckdb:{tmp_path / 'w.duckdb'}"
        whole = smokers(links).infer(engine="mean-field")
        with monkeypatch.context() as patch:
            _cut_off_after(5, patch)
            with pytest.raises(KeyboardInterrupt):
                smokers(links, place).infer()
        found = smokers(links, place).infer(resume=True)
        agree(found, whole)
        agree(smokers(links, place).infer(resume=True), whole)

    def test_iterations_of_both_calls_count(self, tmp_path: Path, links: list[tuple[str, str]]) -> None:
        place = f"duckdb:{tmp_path / 'w.duckdb'}"
        assert not smokers(links, place).infer(iterations=3).status.converged
        expected = smokers(links).infer(engine="mean-field", iterations=9)
        agree(smokers(links, place).infer(iterations=9, resume=True), expected)
        told = smokers(links, place).infer(iterations=11, resume=True, tolerance=1e-300)
        assert told.status.iterations == 11 and told.status.advice.startswith("stopped after 11 iterations")

    def test_a_load_that_was_cut_off(
        self, tmp_path: Path, links: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        place, make, made = f"duckdb:{tmp_path / 'w.duckdb'}", loading.Loading.make, []

        def cut(self: Any, table: str, query: str) -> None:
            if len(made) == 2:
                raise KeyboardInterrupt
            made.append(table)
            make(self, table, query)

        with monkeypatch.context() as patch:
            patch.setattr(loading.Loading, "make", cut)
            with pytest.raises(KeyboardInterrupt):
                smokers(links, place).infer()
        first = made.copy()
        with monkeypatch.context() as patch:
            build = DuckDB.make
            patch.setattr(DuckDB, "make", lambda *a: (made.append(a[1]), build(*a)))
            agree(smokers(links, place).infer(resume=True), smokers(links).infer(engine="mean-field"))
        assert made.count(first[0]) == 1

    def test_another_run_is_not_gone_on_with(self, tmp_path: Path, links: list[tuple[str, str]]) -> None:
        place = f"duckdb:{tmp_path / 'w.duckdb'}"
        with pytest.raises(UnsupportedError, match="keeps no run"):
            smokers(links, place).infer(resume=True)
        smokers(links, place).infer(iterations=3)
        with pytest.raises(UnsupportedError, match="keeps no run"):
            smokers(links, place).infer(resume=True, damping=0.5)
        with pytest.raises(UnsupportedError, match="only a run on a database"):
            smokers(links).infer(resume=True)

    def test_facts_that_have_changed_are_not_gone_on_with(
        self, tmp_path: Path, links: list[tuple[str, str]]
    ) -> None:
        """In a file, in memory or in the database itself; nor is it as if they had not changed."""
        file, database = tmp_path / "friends.csv", tmp_path / "own.duckdb"
        file.write_text("a,b\nb,c\n")
        with duckdb.connect(str(database)) as connection:
            connection.execute("CREATE TABLE friends AS SELECT 'a' AS x, 'b' AS y")

        def from_file(**options: Any) -> Marginals:
            return smokers(links, f"duckdb:{tmp_path / 'f.duckdb'}", str(file)).infer(iterations=1, **options)

        def from_memory(**options: Any) -> Marginals:
            return smokers(links, f"duckdb:{tmp_path / 'm.duckdb'}").infer(iterations=1, **options)

        def from_database(**options: Any) -> Marginals:
            return smokers(links, f"duckdb:{database}", {}).infer(iterations=1, **options)

        for run in (from_file, from_memory, from_database):
            run()
            run(resume=True)
        file.write_text("a,b\nb,d\n")
        os.utime(file, ns=(1, 1))
        links[0] = ("p1", "another")
        with duckdb.connect(str(database)) as connection:
            connection.execute("INSERT INTO friends VALUES ('b', 'c')")
        for run, said in (
            (from_file, 'smokes("d")'),
            (from_memory, 'smokes("another")'),
            (from_database, 'smokes("c")'),
        ):
            with pytest.raises(UnsupportedError, match="keeps no run of this theory with these facts"):
                run(resume=True)
            assert said in {row.text for row in run().rows()}
            run(resume=True)

    @pytest.mark.slow
    def test_a_killed_process(self, tmp_path: Path, links: list[tuple[str, str]]) -> None:
        (tmp_path / "friends.csv").write_text("".join(f"{a},{b}\n" for a, b in links))
        (tmp_path / "smokers.hb").write_text(SMOKERS)
        place = f"duckdb:{tmp_path / 'w.duckdb'}"
        killed = [sys.executable, "-c", KILLED_AFTER_FOUR, str(tmp_path), place]
        assert subprocess.run(killed, capture_output=True).returncode == -signal.SIGKILL
        found = smokers([], place, str(tmp_path / "friends.csv")).infer(resume=True)
        agree(found, smokers(links).infer(engine="mean-field"))


KILLED_AFTER_FOUR = """
import os, signal, sys
import herbrand as hb
from herbrand.scale import loading
from herbrand.scale import mean_field
step, made = mean_field.StoredMeanField.step, mean_field.moved
def counted(self, state):
    if state.step == 4:
        def killed(*arguments):
            made(*arguments)
            os.kill(os.getpid(), signal.SIGKILL)
        mean_field.moved = killed
    return step(self, state)
mean_field.StoredMeanField.step = counted
folder, place = sys.argv[1:]
hb.Model(hb.read(f"{folder}/smokers.hb"), f"{folder}/friends.csv", on=place).infer()
"""


def _cut_off_after(tables: int, patch: pytest.MonkeyPatch) -> None:
    made = mean_field.moved
    left = [tables]

    def cut(*arguments: Any) -> Any:
        found = made(*arguments)
        left[0] -= 1
        if not left[0]:
            raise KeyboardInterrupt
        return found

    patch.setattr(mean_field, "moved", cut)


@law(models())
def check_random_formulas(model: tuple[Theory, Any]) -> None:
    """Each weighted formula is asked for, under its own theory's marginals."""
    theory = without_quantifiers(model[0])
    queries = [show_formula(one.formula) for one in theory.formulas]
    expected = hb.Model(theory).infer(queries, engine="mean-field", iterations=3)
    found = on_duckdb(theory, query=queries, iterations=3)
    assert [row.text for row in found.formulas] == [row.text for row in expected.formulas]
    probabilities = [row.probability for row in expected.formulas]
    assert [row.probability for row in found.formulas] == pytest.approx(probabilities, abs=1e-9)


class TestFormulas:
    def test_random_ones(self) -> None:
        check_random_formulas.holds(SOME, max_examples=4)

    @pytest.mark.slow
    def test_more_random_ones(self) -> None:
        check_random_formulas.holds(SOME, max_examples=150)

    def test_few_instances_are_answered(
        self, links: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("herbrand.scale.formulas.MOST_INSTANCES", 10)
        with pytest.raises(BudgetError, match="at most 10 instances"):
            on_duckdb(hb.parse(SMOKERS), {"friends": links}, query="smokes(x) and cancer(x)")


class TestRefusals:
    @pytest.mark.parametrize(
        ("statement", "options", "said"),
        [
            (
                "1.0: exists y: friends(x, y) and smokes(y)",
                {},
                r"quantifier inside a formula: 1\.0: exists y: friends",
            ),
            (
                "type n = 0..3\npredicate step(n)\n1.0: step(x) => step(x + 1)",
                {},
                "no computed argument inside a formula",
            ),
            (
                "hard: smokes(x) => cancer(x)",
                {"engine": "mean-field"},
                "no hard statements about latent atoms",
            ),
            ("hard: exists y: friends(x, y) and smokes(y)", {}, "no quantifier inside a formula"),
            ("", {"schedule": "sequential"}, "is parallel"),
            ("", {"starts": 3}, "one start"),
            ("", {"map": True}, "most probable world"),
            ("", {"query": "exists x: smokes(x)"}, "no quantifiers: exists x: smokes(.|\n)*leave out --on"),
            ("", {"query": "forall x: smokes(x) => cancer(x)"}, "no quantifiers"),
            ("", {"query": "smokes(x) => (exists y: friends(x, y) and smokes(y))"}, "no quantifiers"),
            ("", {"engine": "bp", "query": "smokes(x) and cancer(x)"}, "not of formulas"),
            ("", {"engine": "exact"}, "does not run on a database"),
            ("", {"query": "friends"}, "no latent atom"),
        ],
    )
    def test_what_is_not_served_is_named(
        self, statement: str, options: dict[str, Any], said: str, links: list[tuple[str, str]]
    ) -> None:
        with pytest.raises(UnsupportedError, match=said):
            on_duckdb(hb.parse(SMOKERS + statement), {"friends": links}, **options)

    def test_other_commands_do_not_overlook_the_database(self) -> None:
        model = hb.Model(hb.parse("1.0: p(x)"), {"p": [("a",)]}, on="duckdb:w.duckdb")
        for ask in (lambda: model.explain('p("a")'), lambda: model.program):
            with pytest.raises(
                UnsupportedError, match="only check, infer, query, bound, learn and compare run on duckdb"
            ):
                ask()

    def test_places(self) -> None:
        with pytest.raises(UnsupportedError, match="no place to run on"):
            place_of("postgres://here")
        with pytest.raises(UnsupportedError, match="there is no folder"):
            hb.Model(hb.parse(SMOKERS), on="duckdb:/no/such/folder/w.duckdb").infer()

    def test_an_answer_too_large_is_told_before_the_work(
        self, links: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("herbrand.scale.reading.BYTES_A_ROW", 10**12)
        with pytest.raises(BudgetError, match="the answer would have 118 rows"):
            on_duckdb(hb.parse(SMOKERS), {"friends": links})

    def test_too_little_memory_for_a_database(self, links: list[tuple[str, str]]) -> None:
        with pytest.raises(BudgetError, match="a database needs at least"):
            on_duckdb(hb.parse(SMOKERS), {"friends": links}, memory="1MB")

    def test_wrong_facts_are_named(self, tmp_path: Path) -> None:
        world = tmp_path / "w.duckdb"
        for rows, said in (
            ("SELECT 'a' AS x, NULL AS y", "column 2 is empty in 1 row;"),
            ("SELECT 'a' AS x, 1 AS y", "mixes text"),
            ("SELECT 'a' AS x", "takes 2 columns"),
        ):
            with duckdb.connect(str(world)) as connection:
                connection.execute(f"CREATE OR REPLACE TABLE friends AS {rows}")
            with pytest.raises(FactsError, match=said):
                smokers([], f"duckdb:{world}", ()).infer()
        theory = hb.parse('predicate p(t)\n1.0: p(x)\np("a")\nnot p("a")')
        with pytest.raises(FactsError, match="true and false"):
            on_duckdb(theory)
