"""Interval messages on DuckDB against the same sweeps in memory, and against what the intervals must hold."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.answers.bounds import Bounds
from herbrand.budget import UNLIMITED
from herbrand.engines.credal.ariel.independence import Links
from herbrand.engines.credal.ariel.message_part import MessagePart, independences_of
from herbrand.engines.credal.ariel.messages import single_atoms
from herbrand.engines.credal.ariel.scopes import Scope, scopes_of
from herbrand.engines.credal.lowering import credal_network
from herbrand.engines.credal.network import SentenceGroup
from herbrand.errors import BudgetError, ContradictionError, HerbrandError, UnsupportedError
from herbrand.language import syntax as s
from herbrand.language.theory import Theory
from herbrand.relations.database import DuckDB
from herbrand.scale.bounds import intervals, parts, sentences, solving
from herbrand.scale.bounds.sentences import StoredLowering
from herbrand.scale.bounds.sweeping import swept
from herbrand.scale.bounds.workers import Workers
from herbrand.scale.place import opened, place_of
from tests import program_generators as generators
from tests.engines.credal.ariel.networks import Hidden, bayesian, independent
from tests.engines.credal.test_lowering import CLOSED, FORMULAS, PREDICATES
from tests.laws import law, tries
from tests.oracles.worlds import Universe

SOME = settings(
    max_examples=8,
    deadline=None,
    phases=[Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


class Here:
    """In place of worker processes, whose start takes seconds: the same function, in this process."""

    def __init__(self, function: str, count: int) -> None:
        self.count = count

    def worked(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return map(swept, batches)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        pass


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solving, "Workers", Here)


def on_duckdb(text: str, *queries: str, facts: Any = None, **options: Any) -> Bounds:
    with tempfile.TemporaryDirectory() as folder:
        model = hb.Model(hb.parse(text), facts, on=f"duckdb:{folder}/w.duckdb")
        return model.bound(list(queries), **options)


def by_hand(text: str, size: int, sweeps: int, markov: bool) -> tuple[np.ndarray, np.ndarray]:
    """The same schedule in memory: parts by the order of atoms, all told what the sweep before has left."""
    network = credal_network(hb.Model(hb.parse(text)).program)
    scopes = scopes_of(network)
    lower, upper = single_atoms(scopes, len(network.atoms))
    rows = sorted(
        (tuple(atoms), k, f) for k, s in enumerate(scopes) for f, atoms in enumerate(s.atoms.tolist())
    )
    links = Links.of(network) if markov else None
    kept: dict[int, list[tuple[int, int]]] = {}
    before = 0
    for atoms, k, factor in rows:
        if len(atoms) > 1:
            kept.setdefault(before // size, []).append((k, factor))
            before += len(scopes[k].sentences(factor))
    made = [_part(scopes, chosen, links) for chosen in kept.values()]
    moved = np.ones(len(lower), bool)
    for _ in range(sweeps):
        low, high = lower.copy(), upper.copy()
        for part in made:
            if moved[part.atoms].any():
                least, most = part.swept(lower[part.atoms], upper[part.atoms])
                low[part.atoms] = np.maximum(low[part.atoms], least)
                high[part.atoms] = np.minimum(high[part.atoms], most)
        low, high = np.minimum(low, high), np.maximum(low, high)
        moved = np.maximum(low - lower, upper - high) > intervals.THRESHOLD
        lower, upper = low, high
    return lower, upper


def _part(scopes: tuple[Scope, ...], chosen: list[tuple[int, int]], links: Links | None) -> MessagePart:
    own = []
    for k, scope in enumerate(scopes):
        mask = np.zeros(len(scope), bool)
        mask[[factor for number, factor in chosen if number == k]] = True
        if mask.any():
            own.append(scope.part(mask))
    return MessagePart.of(own, None if links is None else independences_of([own], links)[0])


def hidden_network(seed: int) -> Hidden:
    return bayesian(seed, 6, most_parents=3) if seed % 2 else independent(seed, 5, 6)


@law(st.integers(0, 10_000), st.sampled_from([1, 3, 1000]), st.integers(1, 3), st.booleans())
def check_sweeps(seed: int, size: int, sweeps: int, markov: bool) -> None:
    text = hidden_network(seed).text
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts, "SENTENCES_A_PART", size)
        patch.setattr(parts, "PARTS_A_SHELF", 2)
        patch.setattr(solving, "Workers", Here)
        chosen = {"independence": "markov" if markov else "none"}
        found = on_duckdb(text, iterations=sweeps, tolerance=0, **chosen)
    lower, upper = by_hand(text, size, found.status.iterations, markov)
    np.testing.assert_allclose(found.lower, lower, atol=1e-9)
    np.testing.assert_allclose(found.upper, upper, atol=1e-9)


def test_sweeps_are_those_of_memory() -> None:
    check_sweeps.holds(SOME, max_examples=4)


@pytest.mark.slow
def test_more_sweeps() -> None:
    check_sweeps.holds(SOME, max_examples=150)


@pytest.mark.parametrize("seed", [1, 2])
def test_at_rest_and_on_the_way(seed: int, here: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """At rest intervals are those of the engine in memory; stopped anywhere they hold the hidden truth."""
    monkeypatch.setattr(parts, "SENTENCES_A_PART", 2)
    hidden = hidden_network(seed)
    expected = hidden.bound()
    found = on_duckdb(hidden.text)
    assert found.status.converged and found.guarantee is expected.guarantee
    assert list(found.queries) == list(expected.queries)
    np.testing.assert_allclose(found.lower, expected.lower, atol=1e-6)
    np.testing.assert_allclose(found.upper, expected.upper, atol=1e-6)
    stopped = on_duckdb(hidden.text, iterations=1)
    for bounds in (found, stopped):
        for row in bounds.rows():
            assert row.lower - 1e-9 <= hidden.chance(row.query) <= row.upper + 1e-9
    assert stopped.status.converged or "allow more" in stopped.status.advice


def rows_of(groups: Iterable[SentenceGroup]) -> set[tuple[object, ...]]:
    """What ground sentences say, whatever they are called and however often they are said."""
    return {
        (
            tuple(atoms),
            (group.event_table & group.given_table).tobytes(),
            group.given_table.tobytes(),
            group.independent,
            float(lower),
            float(upper),
        )
        for group in groups
        for atoms, lower, upper in zip(group.atoms.tolist(), group.lower, group.upper, strict=True)
    }


@law(FORMULAS, st.one_of(st.none(), FORMULAS), st.data())
def check_grounding(event: s.Formula, condition: s.Formula | None, data: st.DataObject) -> None:
    facts = [
        s.FactRows(name, tuple((a,) for a in arguments), 1)
        for name, arguments in Universe(generators.DOMAINS, PREDICATES, closed=CLOSED).atoms()
        if name in CLOSED and data.draw(st.booleans())
    ]
    declared = (
        *(
            s.TypeDeclaration(n, tuple(map(s.Constant, v)))
            for n, v in generators.DOMAINS.items()
            if " " not in n
        ),
        *(
            s.PredicateDeclaration(n, types, None, "observed" if n in CLOSED else None)
            for n, (types, _) in PREDICATES.items()
        ),
    )
    theory = Theory((*declared, *facts, s.Bound(event, condition, 0.2, 0.9)))
    try:
        expected = rows_of(credal_network(hb.Model(theory).program).groups)
    except HerbrandError as error:
        expected = type(error)
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(sentences, "BATCH", 3)
        place = f"duckdb:{folder}/w.duckdb"
        with opened(place_of(place)) as database:
            evidence = hb.Model(theory, on=place).stored.evidence_of(database)
            lowering = StoredLowering.of(evidence, UNLIMITED)
            if isinstance(expected, type):
                with pytest.raises(expected):
                    list(lowering.batches())
            else:
                assert rows_of(group for batch in lowering.batches() for group in batch.groups()) == expected


def test_ground_sentences_are_those_of_memory() -> None:
    check_grounding.holds(SOME, max_examples=tries(10))


@pytest.mark.slow
def test_more_ground_sentences() -> None:
    check_grounding.holds(SOME, max_examples=300)


PEOPLE = """
predicate friends(person, person): observed
predicate smokes(person)
predicate coughs(person)
P(smokes(x) | smokes(y) and friends(x, y)) in [0.5, 0.7]
P(smokes(x)) in [0.1, 0.5]
P(coughs(x) | smokes(x)) >= 0.7
P(coughs(x) | not smokes(x)) <= 0.2
P(smokes("a")) >= 0.4
"""
FRIENDS = {"friends": [("a", "b"), ("b", "c"), ("c", "d"), ("e", "a")]}


def people(place: Path | None = None, text: str = PEOPLE, **options: Any) -> Bounds:
    on = None if place is None else f"duckdb:{place / 'w.duckdb'}"
    return hb.Model(hb.parse(text), FRIENDS, on=on).bound(**options)


def agree(found: Bounds, expected: Bounds) -> None:
    ends = {row.query: (row.lower, row.upper) for row in expected.rows()}
    for row in found.rows():
        assert (row.lower, row.upper) == pytest.approx(ends[row.query], abs=1e-6)


class TestRuns:
    @pytest.mark.slow
    def test_a_killed_worker_changes_nothing(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(parts, "SENTENCES_A_PART", 3)
        worked, killed = Workers.worked, []

        def kill_one(self: Workers, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for number, batch in enumerate(worked(self, batches)):
                if not killed and number == 1:
                    killed.append(self.processes[0])
                    os.kill(killed[0], signal.SIGKILL)
                yield batch

        monkeypatch.setattr(Workers, "worked", kill_one)
        found = people(tmp_path)
        assert killed
        agree(found, people(engine="ariel"))
        assert "worker processes" in found.status.where and "parts" in found.status.where

    def test_a_run_that_was_cut_off(
        self, tmp_path: Path, here: None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """In the middle of the second sweep; then the notes of the first one hold."""
        monkeypatch.setattr(parts, "SENTENCES_A_PART", 2)
        monkeypatch.setattr(parts, "PARTS_A_SHELF", 1)
        whole, store_solved, told = people(tmp_path), solving.PoolSolver.store_solved, []

        def cut(self: Any, table: str, query: str) -> None:
            told.append(table)
            if told.count("solved_0") == 2 and table == "solved_2":
                raise KeyboardInterrupt
            store_solved(self, table, query)

        with monkeypatch.context() as patch:
            patch.setattr(solving.PoolSolver, "store_solved", cut)
            with pytest.raises(KeyboardInterrupt):
                people(tmp_path)
        notes: list[str] = []
        found = people(tmp_path, resume=True, note=notes.append)
        assert "going on after sweep 1" in notes
        assert found.status.iterations == whole.status.iterations
        np.testing.assert_array_equal(found.lower, whole.lower)
        np.testing.assert_array_equal(found.upper, whole.upper)

    def test_sweeps_of_both_calls_count(self, tmp_path: Path, here: None) -> None:
        assert not people(tmp_path, iterations=1).status.converged
        found = people(tmp_path, resume=True)
        assert found.status.converged and found.status.iterations == people(tmp_path).status.iterations

    def test_another_run_is_not_gone_on_with(self, tmp_path: Path, here: None) -> None:
        with pytest.raises(UnsupportedError, match="keeps no run"):
            people(tmp_path, resume=True)
        people(tmp_path, iterations=1)
        with pytest.raises(UnsupportedError, match="keeps no run"):
            people(tmp_path, resume=True, independence="none")
        with pytest.raises(UnsupportedError, match="only a run on a database"):
            people(resume=True)

    def test_out_of_time_is_sound(self, tmp_path: Path, here: None, monkeypatch: pytest.MonkeyPatch) -> None:
        """A sweep that is cut off by the clock keeps what was told, and is gone on with."""
        monkeypatch.setattr(parts, "SENTENCES_A_PART", 2)
        monkeypatch.setattr(parts, "PARTS_A_SHELF", 1)
        expected = people(engine="ariel")
        step = intervals.StoredAriel.step

        def late(self: Any, state: Any) -> Any:
            object.__setattr__(self, "deadline", 0.0)
            return step(self, state)

        with monkeypatch.context() as patch:
            patch.setattr(intervals.StoredAriel, "step", late)
            stopped = people(tmp_path, time_limit=0.5, iterations=1)
        assert not stopped.status.converged
        assert (stopped.lower <= expected.lower + 1e-9).all()
        agree(people(tmp_path, resume=True), expected)

    def test_progress_and_queries(self, tmp_path: Path, here: None) -> None:
        said: list[str] = []
        found = people(tmp_path, query="P(smokes(x))", progress=lambda what, share: said.append(what))
        assert [row.query for row in found.rows()] == [f'smokes("{name}")' for name in "abcde"]
        agree(found, people(engine="ariel"))
        assert any("ground sentences" in text for text in said) and any("sweep 1" in text for text in said)


class TestRefusals:
    def test_open_values_are_refused_where_no_row_chooses_them_too(self, here: None) -> None:
        text = 'predicate e(t): observed\npredicate c(t) in {"a", "b"}\nP(p(x) | e(x) and c(x) = "a") = 0.3\n'
        with pytest.raises(UnsupportedError, match="c is many-valued"):
            on_duckdb(f"{text}predicate p(t)")

    @pytest.mark.parametrize(
        ("statement", "options", "said"),
        [
            ("", {"engine": "exact"}, "exact does not bound on a database"),
            ("", {"mode": "paper"}, "not as published"),
            ("", {"query": 'P(smokes("a") | smokes("b"))'}, "single atoms"),
            ("", {"query": 'P(smokes("a") and smokes("b"))'}, "single atoms"),
            ("", {"given": 'smokes("b")'}, "no facts of open predicates"),
            ('not coughs("b")', {}, "no facts of open predicates"),
        ],
    )
    def test_what_is_not_served_is_named(
        self, statement: str, options: dict[str, Any], said: str, tmp_path: Path, here: None
    ) -> None:
        with pytest.raises(UnsupportedError, match=said):
            people(tmp_path, PEOPLE + statement, **options)

    @pytest.mark.parametrize(
        ("statement", "said"),
        [
            ('P(smokes("d")) <= 0.05', 'nothing is left for P.smokes."d"'),
            ('P(coughs("d")) >= 0.9', "this cannot hold with the other bounds on"),
            ('P(friends("a", "b")) <= 0.5', "the observed facts determine"),
        ],
    )
    def test_contradictions(self, statement: str, said: str, tmp_path: Path, here: None) -> None:
        with pytest.raises(ContradictionError, match=said):
            people(tmp_path, PEOPLE + statement)

    def test_what_does_not_fit(self, tmp_path: Path, here: None, monkeypatch: pytest.MonkeyPatch) -> None:
        with pytest.raises(BudgetError, match="a worker process takes about"):
            people(tmp_path, memory="300MB")
        with monkeypatch.context() as patch:
            patch.setattr(parts, "BYTES_A_LINK", 10**12)
            with pytest.raises(BudgetError, match="links between 10 atoms"):
                people(tmp_path)
            people(tmp_path, independence="none")
        monkeypatch.setattr("herbrand.scale.reading.BYTES_A_ROW", 10**12)
        with pytest.raises(BudgetError, match="the answer would have 10 rows"):
            people(tmp_path)

    def test_a_worker_that_always_dies(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("herbrand.scale.bounds.workers.PROGRAM", "import os; os._exit(9)")
        with Workers("herbrand.scale.bounds.workers:echoed", 1) as workers:
            batch = pa.RecordBatch.from_pydict({"a": [1]})
            with pytest.raises(BudgetError, match="died one after another"):
                list(workers.worked([batch]))

    def test_a_worker_that_complains(self) -> None:
        with Workers("operator:neg", 1) as workers:
            batch = pa.RecordBatch.from_pydict({"a": [1]})
            with pytest.raises(HerbrandError, match="a worker failed: TypeError"):
                list(workers.worked([batch]))


def test_a_killed_worker_is_replaced() -> None:
    """While batches are on their way; every batch is answered, in its order."""
    killed = []

    def batches(workers: Workers) -> Iterator[pa.RecordBatch]:
        for number in range(6):
            if number == 3:
                killed.append(workers.processes[0])
                os.kill(killed[0], signal.SIGKILL)
            yield pa.RecordBatch.from_pydict({"a": [number] * 10_000})

    with Workers("herbrand.scale.bounds.workers:echoed", 2) as workers:
        found = [batch["a"][0].as_py() for batch in workers.worked(batches(workers))]
        assert found == list(range(6))
        assert killed[0] not in workers.processes


def test_nothing_but_the_run_is_left(tmp_path: Path, here: None) -> None:
    people(tmp_path)
    with DuckDB(tmp_path / "w.duckdb", schema="herbrand") as database:
        names = {name for (name,) in database.rows("SELECT table_name FROM duckdb_tables()")}
    left = {"single", "link", "told", "scope", "sorted", "asked"}
    assert not {name for name in names if name.split("_")[0] in left}
