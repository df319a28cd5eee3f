"""Rules for a predicate from the user's own worlds: the Python side of ``herbrand induce``.

A machine is trained on the worlds until it makes no error on them; it tells which predicates matter; then
clauses are searched for and evaluated exactly on every world. One world in five is kept back from both, if
there are five, and tells how well the rules carry over."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from herbrand.errors import HerbrandError, UnsupportedError
from herbrand.induction.checkpoint import save_machine
from herbrand.induction.database import Database, World
from herbrand.induction.evaluation import Clause, evaluated
from herbrand.induction.examples import Examples
from herbrand.induction.extraction import focused_search, relevance
from herbrand.induction.given_worlds import GivenWorld, GivenWorlds, read_worlds
from herbrand.induction.search import Limits
from herbrand.induction.target import TargetMachine
from herbrand.induction.training import Plan, Progress, Training
from herbrand.induction.worlds.task import Sample, Task
from herbrand.language.show import show
from herbrand.language.syntax import PredicateDeclaration, Statement, Theory
from herbrand.options.table import check

LARGEST = 60
"""Worlds with more objects are searched without a machine: its tensors grow with the cube."""

MOST_EXAMPLES = 400_000
"""Above so many negative tuples, a sample of them guides the search; the check is over all."""

ROUNDS = 4
"""How often tuples that rules derive wrongly are added to a sample and the search begins again."""

Watch = Callable[[str, float], None]


@dataclass(frozen=True)
class Induced:
    """What was learned. ``errors`` are tuples on which the rules are wrong in the worlds learned from,
    ``held_out_errors`` in those kept back (``None``: there were none); ``machine`` is ``None`` where worlds
    are too large for one."""

    theory: Theory
    rules: tuple[Clause, ...]
    machine: TargetMachine | None
    seconds: float
    examples: int
    worlds: int
    errors: int
    held_out: int
    held_out_errors: int | None
    machine_accuracy: float | None
    machine_graduated: bool
    relevance: dict[str, float] = field(default_factory=dict)

    @property
    def perfect(self) -> bool:
        return not self.errors and not self.held_out_errors

    @property
    def text(self) -> str:
        """The theory, as a file of the language."""
        return show(self.theory)

    @property
    def title(self) -> str:
        parts = [f"{len(self.rules)} rules, {self.errors} errors in {self.worlds} worlds"]
        if self.held_out_errors is not None:
            parts.append(f"{self.held_out_errors} errors in {self.held_out} worlds kept back")
        if self.machine is None:
            parts.append("no machine was trained: the worlds are too large for one")
        elif self.machine_accuracy is not None:
            ended = "without errors" if self.machine_graduated else f"{self.machine_accuracy:.2%} right"
            parts.append(f"the machine ended {ended} after {self.examples:,} examples")
        return "; ".join(parts)

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False)

    def save(self, path: str | Path) -> None:
        """Keeps the trained machine; raises where there is none."""
        if self.machine is None:
            raise UnsupportedError("no machine was trained, so there is none to save")
        save_machine(path, self.machine, {"examples": self.examples, "accuracy": self.machine_accuracy})

    def to_dict(self) -> dict[str, Any]:
        """The JSON object of the command line."""
        return {
            "seconds": self.seconds,
            "iterations": self.examples,
            "metrics": {
                "rules": len(self.rules),
                "worlds": self.worlds,
                "errors": self.errors,
                "held_out_worlds": self.held_out,
                "held_out_errors": self.held_out_errors,
                "machine_accuracy": self.machine_accuracy,
                "machine_graduated": self.machine_graduated,
                "relevance": self.relevance,
            },
        }


def induce(
    theory: Theory | None = None,
    *,
    target: str,
    worlds: str | Path,
    facts: Any = None,
    header: bool | None = None,
    budget: float = 5.0,
    engine: str = "nlm",
    seed: int = 0,
    watch: Watch | None = None,
    note: Callable[[str], None] | None = None,
) -> Induced:
    """Rules for ``target`` from a folder of worlds, within ``budget`` minutes.

    ``theory``: declarations, facts that hold in every world, and rules that derive more predicates to learn
    from. ``facts``: tables of facts that hold in every world, as a model takes them. ``header``
    and ``note`` are those of a model too."""
    if engine not in ("auto", "nlm"):
        raise UnsupportedError(f"there is no engine '{engine}' for induce", hint="nlm")
    check("induce", {"budget": budget, "seed": seed})
    began = time.monotonic()
    until = began + 60 * budget
    theory = theory or Theory()
    given = read_worlds(theory, target, worlds, watch, facts, header, note)
    kept, held_out = _split(given.worlds, seed)
    # half of the time is for the machine; a tenth at least remains for the search, however slow a step was
    trained = _trained(given, kept, seed, (until - time.monotonic()) * 0.5, watch)
    if watch is not None:
        watch("searching for rules", 0.5)
    matters = trained.relevance or dict.fromkeys(given.predicates, 1.0)
    clauses = _clauses(given, kept, matters, seed, max(until, time.monotonic() + 6 * budget))
    if not clauses:
        raise HerbrandError(
            f"no rule for '{target}' was found in {budget:g} minutes",
            hint="more --budget, more worlds, or more predicates to tell it from",
        )
    return Induced(
        _result(theory, given, clauses),
        clauses,
        trained.machine,
        time.monotonic() - began,
        trained.examples,
        len(kept),
        _errors(given, kept, clauses),
        len(held_out),
        _errors(given, held_out, clauses) if held_out else None,
        trained.accuracy,
        trained.graduated,
        trained.relevance,
    )


def _split(worlds: Sequence[GivenWorld], seed: int) -> tuple[tuple[GivenWorld, ...], tuple[GivenWorld, ...]]:
    """One world in five is kept back; the others keep some positive."""
    order = np.random.default_rng(seed).permutation(len(worlds))
    back = {int(i) for i in order[: len(worlds) // 5]}
    kept = tuple(w for i, w in enumerate(worlds) if i not in back)
    if not any(len(world.true) for world in kept):
        return tuple(worlds), ()
    return kept, tuple(w for i, w in enumerate(worlds) if i in back)


# The machine


@dataclass(frozen=True)
class _Trained:
    machine: TargetMachine | None = None
    examples: int = 0
    accuracy: float | None = None
    graduated: bool = False
    relevance: dict[str, float] = field(default_factory=dict)


def _trained(
    given: GivenWorlds, kept: Sequence[GivenWorld], seed: int, seconds: float, watch: Watch | None
) -> _Trained:
    if max(len(world.objects) for world in kept) > LARGEST:
        return _Trained()
    task = _task(given, kept)
    plan = Plan(
        exam_every=400, batch=8, rate=0.005, exam_worlds=(len(kept), 1), rebuild_widest=True, margin=0.0
    )
    training = Training(task, plan, seed)
    last: Progress | None = None
    for last in training.run(seconds):
        if watch is not None:
            watch(f"accuracy {last.accuracy:.4f}", 0.5 * min(last.examples / task.examples, 1))
    assert last is not None
    every = task.draw(np.random.default_rng(seed), len(kept), task.final_size)
    return _Trained(
        training.machine,
        last.examples,
        last.accuracy,
        last.graduated,
        relevance(task, training.conclude, every) if last.graduated else {},
    )


def _task(given: GivenWorlds, kept: Sequence[GivenWorld]) -> Task:
    """The worlds as a task: a draw is a choice among them; all of them where as many are asked for."""
    vocabulary: dict[int, tuple[str, ...]] = {}
    for name, arity in given.predicates.items():
        vocabulary[arity] = (*vocabulary.get(arity, ()), name)
    largest = max(len(world.objects) for world in kept)
    whole = _sample(given, kept, vocabulary, largest)

    def draw(rng: np.random.Generator, worlds: int, objects: int) -> Sample:
        if worlds >= len(kept):
            return whole
        return whole.take(rng.choice(len(kept), worlds, replace=False))

    breadth = min(max(3, given.widest), 4)
    return Task(
        given.target,
        given.target,
        given.arity,
        vocabulary,
        draw,
        (largest, largest),
        largest,
        50_000,
        4,
        breadth,
    )


def _sample(
    given: GivenWorlds, kept: Sequence[GivenWorld], vocabulary: dict[int, tuple[str, ...]], largest: int
) -> Sample:
    count = len(kept)
    predicates = {
        arity: torch.zeros(count, *[largest] * arity, len(names)) for arity, names in vocabulary.items()
    }
    shape = (count, *[largest] * given.arity)
    target, known = torch.zeros(shape), torch.zeros(shape, dtype=torch.bool)
    present = torch.zeros(count, largest, dtype=torch.bool)
    for number, world in enumerate(kept):
        present[number, : len(world.objects)] = True
        for arity, names in vocabulary.items():
            for channel, name in enumerate(names):
                rows = world.facts.get(name)
                if rows is not None and len(rows):
                    predicates[arity][(number, *rows.T, channel)] = 1.0
        if len(world.true):
            target[(number, *world.true.T)] = 1.0
        for rows in _known(world, given.arity):
            known[(number, *rows.T)] = True
    return Sample(predicates, target, present, known)


def _known(world: GivenWorld, arity: int) -> list[np.ndarray]:
    """Tuples of which the target is known."""
    if world.false is not None:
        return [world.true, world.false]
    if arity == 0:
        return [np.zeros((1, 0), np.int64)]
    axes = np.meshgrid(*[np.flatnonzero(fits) for fits in world.typed], indexing="ij")
    return [np.stack([axis.ravel() for axis in axes], 1)]


# The rules


def _clauses(
    given: GivenWorlds, kept: Sequence[GivenWorld], matters: dict[str, float], seed: int, until: float
) -> tuple[Clause, ...]:
    database, examples, whole = _database(given, kept, seed)
    best: tuple[int, tuple[Clause, ...]] | None = None
    for _ in range(ROUNDS):
        found = focused_search(examples, database, matters, Limits(until=until))
        errors = _errors(given, kept, found.clauses) if found.clauses else whole
        if best is None or errors < best[0]:
            best = errors, found.clauses
        more = _wrongly(given, kept, database, examples, found.clauses)
        if not errors or not len(more) or time.monotonic() > until:
            break
        rows = np.concatenate([examples.rows, more])
        positive = np.concatenate([examples.positive, np.zeros(len(more), bool)])
        examples = replace(examples, rows=rows, positive=positive)
    assert best is not None
    return best[1]


def _database(given: GivenWorlds, kept: Sequence[GivenWorld], seed: int) -> tuple[Database, Examples, int]:
    """The worlds as tables, the examples to search with, and how many positives there are."""
    database = Database.of([World(len(world.objects), world.facts) for world in kept])
    positives, negatives = _truth(given, kept, database)
    if len(negatives) > MOST_EXAMPLES:
        chosen = np.random.default_rng(seed).choice(len(negatives), MOST_EXAMPLES, replace=False)
        negatives = negatives[np.sort(chosen)]
    rows = np.concatenate([positives, negatives])
    positive = np.arange(len(rows)) < len(positives)
    return database, Examples(given.target, rows, positive, given.arity == 0), len(positives)


def _truth(
    given: GivenWorlds, worlds: Sequence[GivenWorld], database: Database
) -> tuple[np.ndarray, np.ndarray]:
    """Rows of the target that are true, and that are known to be false."""
    true, false = [], []
    for number, world in enumerate(worlds):
        start = number if given.arity == 0 else int(database.starts[number])
        width = max(given.arity, 1)

        def placed(rows: np.ndarray, start: int = start, width: int = width) -> np.ndarray:
            return rows + start if rows.shape[1] else np.full((len(rows), width), start)

        true.append(placed(world.true))
        known = np.concatenate([placed(rows) for rows in _known(world, given.arity)])
        codes = database.codes(known)
        false.append(known[~np.isin(codes, database.codes(true[-1]))])
    return np.concatenate(true), np.concatenate(false)


def _wrongly(
    given: GivenWorlds,
    kept: Sequence[GivenWorld],
    database: Database,
    examples: Examples,
    clauses: Sequence[Clause],
) -> np.ndarray:
    """Tuples known to be false that the clauses derive and the examples do not hold yet."""
    found = evaluated(clauses, database).tables.get(given.target)
    if found is None:
        return examples.rows[:0]
    _, negatives = _truth(given, kept, database)
    codes = database.codes(found)
    wrong = np.isin(codes, database.codes(negatives)) & ~np.isin(codes, database.codes(examples.rows))
    return found[wrong]


def _errors(given: GivenWorlds, worlds: Sequence[GivenWorld], clauses: Sequence[Clause]) -> int:
    """Known tuples on which the clauses are wrong, evaluated exactly."""
    database = Database.of([World(len(world.objects), world.facts) for world in worlds])
    true, false = _truth(given, worlds, database)
    found = evaluated(clauses, database).tables.get(given.target)
    if found is None:
        return len(true)
    codes = database.codes(found)
    missed = (~np.isin(database.codes(true), codes)).sum()
    return int(missed + np.isin(database.codes(false), codes).sum())


def _result(theory: Theory, given: GivenWorlds, clauses: Sequence[Clause]) -> Theory:
    """The given theory without facts, declarations of invented predicates if it has any, and the rules."""
    statements: list[Statement] = [s for s in theory.statements if s not in theory.facts]
    if theory.predicates:
        types = {p.name: p.types for p in theory.predicates}
        for clause in clauses:
            if clause.head not in types:
                types[clause.head] = types.get(given.target, ())
                statements.append(PredicateDeclaration(clause.head, types[clause.head]))
    return Theory((*statements, *(clause.to_rule() for clause in clauses)))
