"""The parts of bounding on a database: pipes of workers, memory, sweeps as rows, queries beside loops."""

from __future__ import annotations

import io
import itertools
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.budget import UNLIMITED, bytes_of
from herbrand.engines.credal.ariel.independence import Links
from herbrand.engines.credal.ariel.message_part import MessagePart, independences_of
from herbrand.engines.credal.ariel.messages import single_atoms
from herbrand.engines.credal.ariel.scopes import scopes_of
from herbrand.engines.credal.lowering import credal_network
from herbrand.engines.credal.network import Network
from herbrand.engines.credal.question import BoundSettings
from herbrand.engines.registry import DATABASE, engine_named
from herbrand.errors import BudgetError, UnsupportedError
from herbrand.relations.database import DuckDB
from herbrand.scale.bounds import intervals, parts, sentences, solving, workers
from herbrand.scale.bounds.parts import Shelves, links_of, shelved
from herbrand.scale.bounds.sentences import Sentences, StoredLowering
from herbrand.scale.bounds.solving import database_memory, worker_count
from herbrand.scale.bounds.sweeping import NONE_FAILED, SOLVED_SCHEMA, swept, swept_each
from herbrand.scale.bounds.workers import Workers, _read, _write
from herbrand.scale.place import opened, place_of
from tests.engines.credal.ariel.networks import bayesian, independent

some = settings(deadline=None, max_examples=8)
few = settings(deadline=None, max_examples=5)
seeds = st.integers(0, 2**32 - 1)


def batch(**columns: list[object]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(columns)


# Workers


@some
@given(st.lists(st.lists(st.integers(-5, 5), max_size=4), max_size=4))
def test_batches_go_through_a_pipe_one_after_another(several: list[list[int]]) -> None:
    pipe = io.BytesIO()
    for values in several:
        _write(pipe, pa.RecordBatch.from_arrays([pa.array(values, pa.int64())], ["a"]))
    pipe.seek(0)
    read = []
    while (found := _read(pipe)) is not None:
        read.append(found["a"].to_pylist())
    assert read == several


def test_a_pipe_that_ends_within_a_batch_has_no_more() -> None:
    pipe = io.BytesIO()
    _write(pipe, batch(a=[1, 2, 3]))
    whole = pipe.getvalue()
    for kept in (0, 3, 8, len(whole) - 1):
        assert _read(io.BytesIO(whole[:kept])) is None
    found = _read(io.BytesIO(whole))
    assert found is not None and found.to_pydict() == {"a": [1, 2, 3]}


def test_workers_answer_in_order_and_are_gone_afterwards() -> None:
    """More batches than workers, empty ones among them; a second round uses the same workers."""
    sizes = [0, 1, 5000, 3, 0, 2, 1]
    with Workers("herbrand.scale.bounds.workers:echoed", 2) as pool:
        for _ in range(2):
            given_ones = [pa.RecordBatch.from_arrays([pa.array(range(n), pa.int64())], ["a"]) for n in sizes]
            assert [len(found) for found in pool.worked(given_ones)] == sizes
            started = set(pool.processes)
            assert 1 <= len(started) <= 2
        assert list(pool.worked([])) == [] and set(pool.processes) == started
    assert pool.processes == []


@pytest.mark.parametrize(
    ("memory", "processors", "count"),
    [("64GB", 4, 4), ("64GB", 1, 1), ("1GB", 8, 1), ("2GB", 8, 3), ("2GB", None, 1), ("700MB", 8, 1)],
)
def test_there_are_as_many_workers_as_there_is_room_for(
    memory: str, processors: int | None, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: processors)
    assert worker_count(bytes_of(memory)) == count


def test_too_little_memory_for_a_worker_is_refused() -> None:
    with pytest.raises(BudgetError) as raised:
        worker_count(400 << 20)
    told = str(raised.value)
    assert told.startswith(
        "a worker process takes about 250.0 MB, and the workers may use 160.0 MB of 400.0 MB"
    )
    assert "allow more by --memory" in told


def test_workers_share_the_memory_with_a_database_that_is_here() -> None:
    assert database_memory("duckdb", 1000) == 600
    assert database_memory("spark", 1000) == 1000
    assert pytest.approx(1.0) == solving.SHARE_FOR_WORKERS + 0.6


# A sweep as rows


def parts_of(text: str, markov: bool = True) -> tuple[Network, MessagePart]:
    network = credal_network(hb.Model(hb.parse(text)).program)
    scopes = tuple(scope for scope in scopes_of(network) if scope.arity > 1)
    known = independences_of([scopes], Links.of(network))[0] if markov else None
    return network, MessagePart.of(scopes, known)


def members(part: MessagePart, lower: np.ndarray, upper: np.ndarray) -> list[dict[str, object]]:
    rows = zip(itertools.count(), part.atoms.tolist(), lower.tolist(), upper.tolist())
    return [{"place": p, "atom": a, "lower": low, "upper": high} for p, a, low, high in rows]


@some
@given(seeds, st.booleans())
def test_rows_say_what_the_parts_find(seed: int, markov: bool) -> None:
    rows, expected = [], []
    for hidden in (bayesian(seed, 4), independent(seed + 1, 4, 4)):
        network, part = parts_of(hidden.text, markov)
        lower, upper = single_atoms(scopes_of(network), len(network.atoms))
        lower, upper = lower[part.atoms], upper[part.atoms]
        rows.append((part.to_bytes(), members(part, lower, upper)))
        expected += zip(
            part.atoms.tolist(), *(ends.tolist() for ends in part.swept(lower, upper)), strict=True
        )
    asked = batch(data=[data for data, _ in rows], members=[told for _, told in rows])
    found = swept(asked)
    assert found.schema == SOLVED_SCHEMA and set(found["failed"].to_pylist()) == {NONE_FAILED}
    told = zip(found["atom"].to_pylist(), found["lower"].to_pylist(), found["upper"].to_pylist(), strict=True)
    assert list(told) == expected
    (again,) = swept_each(iter([asked]))
    assert again.equals(found)


def test_a_part_that_contradicts_itself_says_which_sentence_and_no_more() -> None:
    """Beside a good one in the same batch, whose rows stay."""
    good, bad = parts_of("P(a or b) <= 0.5"), parts_of("P(a) <= 0.1\nP(a or b) <= 0.2\nP(b) >= 0.5")
    rows = []
    for network, part in (good, bad):
        lower, upper = single_atoms(scopes_of(network), len(network.atoms))
        rows.append((part.to_bytes(), members(part, lower[part.atoms], upper[part.atoms])))
    found = swept(batch(data=[data for data, _ in rows], members=[told for _, told in rows]))
    assert found["failed"].to_pylist()[:2] == [NONE_FAILED] * 2 and len(found) == 3
    network = bad[0]
    number = found["failed"].to_pylist()[2]
    starts = np.cumsum([0, *map(len, network.groups)])
    group = int(np.searchsorted(starts, number, side="right")) - 1
    assert network.sentence_text(group, number - starts[group]) == "P(a or b) <= 0.2"


def test_no_rows_are_no_rows() -> None:
    network, part = parts_of("P(a or b) <= 0.5")
    none = batch(data=[part.to_bytes()], members=[members(part, np.zeros(2), np.ones(2))]).slice(0, 0)
    found = swept(none)
    assert found.schema == SOLVED_SCHEMA and len(found) == 0 and len(network) == 1


# The queries


@few
@given(seeds, st.booleans())
def test_intervals_are_met_as_by_a_loop(seed: int, cut_off: bool) -> None:
    """Several tables tell of atoms, repeatedly or not at all; ends may cross; a failed row tells none."""
    rng = np.random.default_rng(seed)
    count = 6
    lower, upper = np.sort(rng.random((2, count)).round(3), axis=0)
    moved = rng.integers(0, 2, count)
    told = []
    for _ in range(2):
        atoms = rng.integers(0, count, 5)
        ends = np.sort(rng.random((5, 2)).round(3), axis=1)
        failed = np.where(rng.random(5) < 0.2, 7, NONE_FAILED)
        told.append((atoms, ends[:, 0], ends[:, 1], failed))
    with DuckDB() as database:
        before = {"atom": np.arange(count), "lower": lower, "upper": upper, "moved": moved}
        database.put("before", pa.table(before))
        names = []
        for number, columns in enumerate(told):
            names.append(f"solved_{number}")
            database.put(
                names[-1],
                pa.table(dict(zip(SOLVED_SCHEMA.names, columns, strict=True)), schema=SOLVED_SCHEMA),
            )
        database.make("after", intervals._met("before", names, cut_off))
        found = database.rows("SELECT atom, lower, upper, moved, low, high, change FROM after ORDER BY atom")
    for atom, low, high, woken, kept_low, kept_high, change in found:
        least, most = float(lower[atom]), float(upper[atom])
        for atoms, lows, highs, failed in told:
            for place in range(5):
                if atoms[place] == atom and failed[place] == NONE_FAILED:
                    least, most = max(least, lows[place]), min(most, highs[place])
        assert (kept_low, kept_high) == (least, most)
        assert (low, high) == (min(least, most), max(least, most))
        assert change == pytest.approx(max(low - lower[atom], upper[atom] - high))
        assert woken == int(change > intervals.THRESHOLD or (cut_off and moved[atom] == 1))
    assert [row[0] for row in found] == list(range(count))


def test_shelves_name_and_drop_their_tables() -> None:
    shelves = Shelves(2, 17)
    assert (shelves.piece(1), shelves.member(0)) == ("piece_1", "member_0")
    with DuckDB() as database:
        for name in ("piece_0", "member_0", "piece_1", "member_1", "piece_10"):
            database.put(name, pa.table({"a": [1]}))
        shelves.clear(database)
        assert [database.has(name) for name in ("piece_0", "member_1", "piece_10")] == [False, False, True]


def no_report(what: str, share: float) -> None:
    pass


@few
@given(seeds, st.booleans(), st.sampled_from([1, 4, 1000]))
def test_every_factor_is_in_one_part_with_all_its_sentences(seed: int, markov: bool, size: int) -> None:
    """And the parts of all shelves together hold what the network holds, whatever their size is."""
    text = (bayesian(seed, 5) if seed % 2 else independent(seed, 4, 5)).text
    network = credal_network(hb.Model(hb.parse(text)).program)
    expected = {}
    for scope in scopes_of(network):
        for factor, atoms in enumerate(scope.atoms.tolist()):
            if scope.arity > 1:
                expected[tuple(atoms)] = len(scope.sentences(factor))
    with pytest.MonkeyPatch.context() as patch, DuckDB() as database:
        patch.setattr(parts, "SENTENCES_A_PART", size)
        patch.setattr(parts, "PARTS_A_SHELF", 2)
        place = hb.Model(hb.parse(text)).program
        lowering = StoredLowering(place, credal_network(place).atoms)
        made = Sentences(database, lowering, markov)
        made._add(network)
        links = links_of(made, 10**9)
        whole = Links.of(network)
        if markov:
            for one, other in zip(links.arrows, whole.arrows, strict=True):
                np.testing.assert_array_equal(one, other)
        shelves = shelved(made, 10**9, no_report)
        found: dict[tuple[int, ...], int] = {}
        for shelf in range(shelves.count):
            for number, data in database.rows(f"SELECT part, data FROM {shelves.piece(shelf)}"):
                part = MessagePart.from_bytes(data)
                assert (part.independences is not None) == markov
                listed = database.rows(
                    f"SELECT atom FROM {shelves.member(shelf)} WHERE part = {number} ORDER BY place"
                )
                assert [atom for (atom,) in listed] == part.atoms.tolist()
                for scope in part.scopes:
                    for factor, places in enumerate(scope.atoms.tolist()):
                        atoms = tuple(part.atoms[places].tolist())
                        assert atoms not in found
                        found[atoms] = len(scope.sentences(factor))
        assert found == expected
        assert shelves.count == -(-shelves.parts // 2)
        if markov:
            with pytest.raises(BudgetError, match="of memory while the network is shared out"):
                links_of(made, 10)


def test_a_theory_without_sentences_has_no_parts() -> None:
    with DuckDB() as database:
        program = hb.Model(hb.parse("predicate a\nP(true) <= 1")).program
        made = Sentences(database, StoredLowering(program, credal_network(program).atoms), True)
        assert shelved(made, 10**6, no_report) == Shelves(0, 0)
        assert made.all_of("stated", "atoms") == "" and made.count == 0


def test_sentences_are_rows_and_those_about_one_atom_intervals() -> None:
    text = "P(a) <= 0.5\nP(not a) <= 0.7\nP(b | a) >= 0.2\nP(b | not a) >= 0.2\nP(a or b) <= 0.9"
    program = hb.Model(hb.parse(text)).program
    network = credal_network(program)
    with DuckDB() as database:
        made = Sentences(database, StoredLowering(program, network.atoms), True)
        made._add(network)
        rows = database.rows(
            f"SELECT * FROM ({made.all_of('stated', 'atoms, arity, lower, upper, statement')}) s"
        )
        assert sorted(rows, key=lambda row: row[4]) == [
            ([0], 1, 0.0, 0.5, 0),
            ([0], 1, 0.0, 0.7, 1),
            ([0, 1], 2, 0.2, 1.0, 2),
            ([0, 1], 2, 0.2, 1.0, 3),
            ([0, 1], 2, 0.0, 0.9, 4),
        ]
        single = database.rows(made.all_of("single", "atom, lower, upper"))
        assert [(atom, round(low, 9), round(high, 9)) for atom, low, high in single] == [(0, 0.3, 0.5)]
        assert all(low <= 0.3 and high >= 0.5 for _, low, high in single), "rounded outward"
        assert database.rows(made.all_of("link", "source, target")) == [(0, 1)]
        # one pattern for a row and another for its negation; equal ones share a number
        assert len(made.patterns) == 5 and made.count == 5
        made._add(network)
        assert len(made.patterns) == 5 and made.count == 10
        made.clear()
        assert not database.has("single_0") and not database.has("link_0") and database.has("stated_0")


# What is asked, and what is refused


@pytest.mark.parametrize("engine", ["exact", "simplex", "bp"])
def test_engines_that_no_database_serves(engine: str) -> None:
    with pytest.raises(UnsupportedError) as raised:
        engine_named("bound", engine, BoundSettings(), DATABASE)
    assert str(raised.value) == f"{engine} does not bound on a database\n  --engine ariel, or leave out --on"


def test_modes_that_no_database_serves() -> None:
    for engine in ("auto", "ariel"):
        assert engine_named("bound", engine, BoundSettings(), DATABASE).name == "ariel"
        with pytest.raises(UnsupportedError, match="messages are bounds, not as published"):
            engine_named("bound", engine, BoundSettings(mode="paper"), DATABASE)


def test_more_atoms_than_can_be_numbered(tmp_path: object) -> None:
    theory = hb.parse("type t = 1..60000\npredicate r(t, t, t, t)\nP(r(1, 2, 3, 4)) <= 0.5")
    place = f"duckdb:{tmp_path}/w.duckdb"
    with opened(place_of(place)) as database:
        evidence = hb.Model(theory, on=place).stored.evidence_of(database)
        with pytest.raises(BudgetError, match=r"1\.3e\+19 open ground atoms, more than 64 bits can number"):
            StoredLowering.of(evidence, UNLIMITED)


def test_choices_of_constants_are_those_of_memory(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """A join for observed atoms, all constants for the rest; with constants and repeated variables."""
    monkeypatch.setattr(sentences, "BATCH", 2)
    theory = (
        'type p = {"a", "b", "c"}\npredicate f(p, p): observed\npredicate g(p): observed\npredicate s(p)\n'
        'f("a", "b")\nf("b", "b")\nf("c", "a")\ng("b")\ng("a")\n'
    )
    bounds = [
        "P(s(x) | f(x, y) and s(y)) <= 0.5",
        "P(s(x) | f(x, x)) <= 0.4",
        'P(s(x) | f(x, "b") and g(x)) <= 0.3',
        'P(s("c") | f(y, x) and g(y) and f(x, y)) <= 0.3',
        "P(s(x) or s(y)) <= 0.9",
        'P(s(x) | f("a", "c")) <= 0.2',
    ]
    for number, bound in enumerate(bounds):
        parsed = hb.parse(theory + bound)
        expected = credal_network(hb.Model(parsed).program)
        place = f"duckdb:{tmp_path}/w{number}.duckdb"
        with opened(place_of(place)) as database:
            evidence = hb.Model(parsed, on=place).stored.evidence_of(database)
            batches = list(StoredLowering.of(evidence, UNLIMITED).batches())
        rows = [
            sorted({(g.event, g.given, tuple(row)) for g in found for row in g.atoms.tolist()}, key=repr)
            for found in ([group for batch in batches for group in batch.groups()], expected.groups)
        ]
        assert rows[0] == rows[1], bound


def test_the_schedule_is_told() -> None:
    assert intervals.schedule(Shelves(1, 1)) == "in place"
    assert intervals.schedule(Shelves(2, 1200)) == "1,200 parts in place, synchronous between them"
    nothing: Any = None
    states = (intervals.IntervalState(nothing, nothing, Shelves(1, 1), step=step) for step in (0, 3))
    assert [state.table for state in states] == ["interval_0", "interval_1"]
    assert workers.MOST_DEATHS > 1
