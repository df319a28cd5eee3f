"""A run of induce that is cut off goes on where it was, and ends as if it had not been."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import herbrand as hb
from herbrand.errors import HerbrandError
from herbrand.induction import induce as induce_module
from herbrand.induction import mining
from herbrand.induction.beam import Beam
from herbrand.induction.evaluation import Clause, Condition, Literal
from herbrand.induction.journal import Journal
from herbrand.induction.pool import Pool
from herbrand.induction.training import Training
from tests.conftest import ROOT, Outcome

Run = Callable[..., Outcome]
STEPS_A_MINUTE = 700.0
SEARCH: dict[str, Any] = {"target": "goes", "budget": 1, "engine": "search"}


@pytest.fixture
def worlds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Worlds of one's own; a search that no clock ends."""
    monkeypatch.setattr(induce_module, "STEPS_A_MINUTE", STEPS_A_MINUTE)
    return drawn(tmp_path)


def drawn(place: Path) -> Path:
    """Random graphs, and a target with wrong labels that many beams look at."""
    rng = np.random.default_rng(5)
    for number in range(5):
        edge = (rng.random((7, 7)) < 0.25) & ~np.eye(7, dtype=bool)
        red = rng.random(7) < 0.4
        goes = (edge & red).any(1) ^ (rng.random(7) < 0.2)
        folder = place / "worlds" / f"w{number}"
        folder.mkdir(parents=True)
        (folder / "edge.csv").write_text("".join(f"n{x},n{y}\n" for x, y in np.argwhere(edge)))
        (folder / "red.csv").write_text("".join(f"n{x}\n" for x in np.flatnonzero(red)))
        (folder / "goes.csv").write_text("".join(f"n{x}\n" for x in np.flatnonzero(goes)))
    return place / "worlds"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The search that nothing cuts off, of the same worlds in another folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(induce_module, "STEPS_A_MINUTE", STEPS_A_MINUTE)
        return hb.induce(**SEARCH, worlds=drawn(tmp_path_factory.mktemp("whole")))


def told(found: Any) -> tuple[Any, ...]:
    """All that a run gives but its seconds."""
    return found.text, {name: value for name, value in found.to_dict().items() if name != "seconds"}


class Cut(BaseException):
    """Stands for what ends a process."""


def cut_off(monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    """Nothing is done any more after so many beams."""
    explored, left = Beam._explore, [after]

    def explore(self: Beam, root: Any) -> None:
        if not left[0]:
            raise Cut
        left[0] -= 1
        explored(self, root)

    monkeypatch.setattr(Beam, "_explore", explore)


def test_a_search_that_was_cut_off_ends_as_if_it_had_not_been(
    worlds: Path, tmp_path: Path, whole: Any
) -> None:
    """Twice cut off, once in the midst of a record; then all is known, and nothing is looked for any more."""
    kept = tmp_path / "run"

    def run(**options: Any) -> Any:
        return hb.induce(**SEARCH, worlds=worlds, **options)

    with pytest.MonkeyPatch.context() as patch, pytest.raises(Cut):
        cut_off(patch, 4)
        run(resume=kept)
    size = kept.stat().st_size
    with pytest.MonkeyPatch.context() as patch, pytest.raises(Cut):
        cut_off(patch, 3)
        run(resume=kept)
    assert kept.stat().st_size > size
    os.truncate(kept, kept.stat().st_size - 5)
    assert told(run(resume=kept)) == told(whole)
    with pytest.MonkeyPatch.context() as patch:
        cut_off(patch, 0)
        assert told(run(resume=kept)) == told(whole)


KILLED_ON_THE_WAY = """
import os, signal, sys
from herbrand.cli.app import main
from herbrand.induction import induce
from herbrand.induction.beam import Beam
explored, kept = Beam._explore, sys.argv[sys.argv.index("--resume") + 1]
def explore(beam, root):
    if os.stat(kept).st_size > 1_500:
        os.kill(os.getpid(), signal.SIGKILL)
    explored(beam, root)
induce.STEPS_A_MINUTE, Beam._explore = 700.0, explore
main()
"""
"""Killed as soon as the file has some records; who watched it from outside might come too late."""


def test_a_killed_process_goes_on(worlds: Path, tmp_path: Path, herbrand: Run, whole: Any) -> None:
    """Killed by the system, so that nothing is cleaned up. We go on."""
    kept, text = tmp_path / "run", tmp_path / "rules.hb"
    command = [
        sys.executable, "-c", KILLED_ON_THE_WAY, "induce", "--target", "goes", "--worlds", str(worlds),
        "--budget", "1", "--engine", "search", "--resume", str(kept), "-o", str(text),
    ]  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    killed = subprocess.run(command, env=environment, capture_output=True)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert kept.exists() and not text.exists()
    herbrand(*command[3:])
    assert text.read_text() == whole.text


def test_what_the_clock_cut_short_is_not_kept(worlds: Path, tmp_path: Path, whole: Any) -> None:
    """A run out of time gives what it has; with its file, another run goes on to the end."""
    kept = tmp_path / "run"
    with pytest.MonkeyPatch.context() as patch:
        beams, late = [0], induce_module.Limits.late

        def out_of_time(self: Any) -> bool:
            return beams[0] > 3 or late.fget(self)  # type: ignore[attr-defined]

        explored = Beam._explore

        def explore(self: Beam, root: Any) -> None:
            beams[0] += 1
            explored(self, root)

        patch.setattr(Beam, "_explore", explore)
        patch.setattr(induce_module.Limits, "late", property(out_of_time))
        early = hb.induce(**SEARCH, worlds=worlds, resume=kept)
    assert early.steps < whole.to_dict()["iterations"]
    assert told(hb.induce(**SEARCH, worlds=worlds, resume=kept)) == told(whole)


def test_a_training_goes_on_too(worlds: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut off after an exam; then the training ends, and a third run does not train again."""
    kept = tmp_path / "run"
    exams: list[int] = []
    run = Training.run

    def one_exam(self: Training, seconds: float | None = None) -> Any:
        for _, progress in zip(range(1), run(self), strict=False):
            exams.append(progress.examples)
            yield progress
            if len(exams) == 1:
                raise Cut

    monkeypatch.setattr(Training, "run", one_exam)

    def induced() -> Any:
        return hb.induce(target="goes", worlds=worlds, budget=0.5, engine="nlm", resume=kept)

    with pytest.raises(Cut):
        induced()
    found = induced()
    assert exams == [200, 400] and found.examples == 400
    again = induced()
    assert exams == [200, 400] and told(again) == told(found)


def test_two_runs_keep_no_file_together(worlds: Path, tmp_path: Path) -> None:
    """Their pieces went into it by turns, and no later run could go on from them."""
    kept = tmp_path / "run"
    asked = {**SEARCH, "worlds": worlds, "resume": kept}
    with pytest.MonkeyPatch.context() as patch, pytest.raises(Cut):
        cut_off(patch, 1)
        hb.induce(**asked)
    held = kept.read_bytes()
    first = subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(kept)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert first.stdout is not None and first.stdout.readline() == "held\n"
        with pytest.raises(HerbrandError, match="is in use by another run"):
            hb.induce(**asked)
    finally:
        first.communicate("done")
    assert kept.read_bytes() == held
    hb.induce(**asked)


def test_a_full_disk_is_told() -> None:
    """By its name, also where what could not be written is still to be written when the file is closed."""
    if not Path("/dev/full").exists():
        pytest.skip("there is no device that is always full")
    full = Path("/dev/full")
    with (
        pytest.raises(HerbrandError, match="No space left"),
        closing(Journal(full, full.open("ab"))) as journal,
    ):
        journal.add([1], "found")


HOLDS = """
import sys
from herbrand.files import is_taken
file = open(sys.argv[1], "ab")
assert not is_taken(file.fileno())
print("held", flush=True)
sys.stdin.read()
"""


def test_a_machine_of_another_run_is_not_trained_on(worlds: Path, tmp_path: Path) -> None:
    """Its run was deleted, and begun anew with other worlds; nor is one that was trained done without."""
    kept, aside = tmp_path / "run", tmp_path / "run.machine"
    asked = {"target": "goes", "worlds": worlds, "budget": 0.02, "engine": "nlm", "resume": kept}
    hb.induce(**asked)
    trained = aside.read_bytes()
    aside.unlink()
    with pytest.raises(HerbrandError, match=r"no file '.*run\.machine'"):
        hb.induce(**asked)
    aside.write_bytes(trained)
    kept.unlink()
    (worlds / "w0" / "red.csv").write_text("n1\n")
    with pytest.raises(HerbrandError, match=r"run\.machine' was saved with another task") as caught:
        hb.induce(**asked)
    assert "delete the file" in str(caught.value)
    assert aside.read_bytes() == trained


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"seed": 1}, "saved with another seed: 0"),
        ({"noise": 0.1}, "saved with another noise: 0.3"),
        ({"target": "red"}, "saved with another target: goes"),
        ({"budget": 2}, "saved with another budget: 1"),
        ({"theory": hb.parse("far(x, y) :- edge(x, z), edge(z, y)")}, "saved with another theory or worlds"),
    ],
)
def test_only_the_same_run_goes_on(
    changed: dict[str, Any], message: str, worlds: Path, tmp_path: Path
) -> None:
    asked = {**SEARCH, "worlds": worlds, "resume": tmp_path / "run"}
    with pytest.MonkeyPatch.context() as patch, pytest.raises(Cut):
        cut_off(patch, 1)
        hb.induce(**asked)
    with pytest.raises(HerbrandError, match=message):
        hb.induce(**{**asked, **changed})
    (worlds / "w0" / "red.csv").write_text("n1\n")
    with pytest.raises(HerbrandError, match="saved with another theory or worlds"):
        hb.induce(**asked)


def test_other_files_are_left_as_they_are(worlds: Path, tmp_path: Path, herbrand: Run) -> None:
    other = tmp_path / "notes.txt"
    other.write_text("my own")
    outcome = herbrand("induce", "--target", "goes", "--worlds", worlds, "--resume", other)
    assert outcome.status == 1 and "keeps no run of induce" in outcome.err
    assert other.read_text() == "my own"
    assert herbrand("induce", "--target", "goes", "--worlds", worlds, "--resume", tmp_path).status == 1


def test_mined_relations_are_not_mined_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    pairs = {name: {(f"e{x}", f"e{y}") for x, y in rng.integers(12, size=(40, 2))} for name in "rst"}
    facts = {name: sorted(rows) for name, rows in pairs.items()}
    whole = hb.mine(facts=facts, length=2, seed=2)
    proposed, asked = mining.proposed, list[int]()

    def cut(graph: Any, head: int, *rest: Any) -> Any:
        if len(asked) == 2:
            raise Cut
        asked.append(head)
        return proposed(graph, head, *rest)

    with monkeypatch.context() as patch, pytest.raises(Cut):
        patch.setattr(mining, "proposed", cut)
        hb.mine(facts=facts, length=2, seed=2, resume=tmp_path / "run")
    asked.clear()
    with monkeypatch.context() as patch:
        patch.setattr(mining, "proposed", cut)
        found = hb.mine(facts=facts, length=2, seed=2, resume=tmp_path / "run")
        assert asked == [2]
        again = hb.mine(facts=facts, length=2, seed=2, resume=tmp_path / "run")
        assert asked == [2]
    for other in (found, again):
        assert other.rules == whole.rules and other.text == whole.text
    with pytest.raises(HerbrandError, match="saved with another length: 2"):
        hb.mine(facts=facts, length=3, seed=2, resume=tmp_path / "run")


def test_a_pool_is_changed_as_it_was() -> None:
    clause = Clause("t", (0,), (Literal("p", (0, 1)), Literal("q", (0, -1), True)), ((0, 1),))
    conditions = (Condition("<", 1, None, 2.5), Condition("=", 0, 1))
    longer = Clause("t", (0,), (Literal("p", (0, 1)),), (), conditions)
    pool = Pool(5)
    pool.add(b"\x80", 3.0, clause)
    before = pool.copy()
    pool.add(b"\x01", 9.5, longer)
    pool.add(b"\x80", 2.0, longer)
    pool.add_wide(b"\x11", 4.0, 1.0, clause)
    again = before.copy()
    again.change(pool.changes(before))
    assert again == pool and list(again._clauses) == list(pool._clauses) and again != before
    assert pool.changes(pool.copy()) == {"clauses": [], "wide": []}


def test_records_of_another_way_are_refused(tmp_path: Path) -> None:
    journal = Journal.opened(tmp_path / "run", {})
    journal.add([1.0], "found")
    journal.close()
    again = Journal.opened(tmp_path / "run", {})
    with pytest.raises(HerbrandError, match="kept by another version of the search"):
        again.taken([2.0])
