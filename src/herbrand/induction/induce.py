"""Rule induction from a user's example worlds: the Python side of ``herbrand induce``.

Clauses are searched for and evaluated exactly on every world. If the search leaves errors and worlds are
small, a machine is trained on them; if it makes no error, it ranks the predicates for another search. One
world in five, if there are five, is held out from all of this, to measure how well the rules carry over. The
budget is counted in steps of work; the clock only ends what a slow machine could not finish."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from herbrand.errors import HerbrandError, UnsupportedError, counted
from herbrand.induction.cover import Errors
from herbrand.induction.database import Database, Rows, World
from herbrand.induction.evaluation import Clause, covered, derived, evaluated
from herbrand.induction.examples import Examples
from herbrand.induction.extraction import focused_search, relevance
from herbrand.induction.given_sample import by_arity, known_rows, sample_of
from herbrand.induction.given_worlds import GivenWorld, GivenWorlds, read_worlds
from herbrand.induction.journal import Journal, journal_at
from herbrand.induction.limits import NOISE, Effort, Limits
from herbrand.induction.saved_machine import About, save
from herbrand.induction.search import SearchResult
from herbrand.induction.target import TargetMachine
from herbrand.induction.task import Sample, Task
from herbrand.induction.training import Plan, Training
from herbrand.induction.weighted import weighted
from herbrand.language.show import statement_text
from herbrand.language.syntax import FactRows, PredicateDeclaration, Statement
from herbrand.language.theory import Theory, refuse_no_theory, show
from herbrand.options.kinds import check_functions
from herbrand.options.table import check, check_all

LARGEST = 60
"""Most objects of a world for training a machine, since its tensors grow with the cube; larger worlds are
only searched."""

MOST_EXAMPLES = 2_000_000
"""Negative tuples above which the search has a sample of them; errors are counted over all."""

STEPS_A_MINUTE = 28_000.0
"""Steps of work in a minute of the budget; present computers do up to twice as many."""

ENGINES = ("auto", "search", "nlm")

Watch = Callable[[str, float], None]


@dataclass(frozen=True)
class RuleReport:
    """Counts of a rule of the target in the training worlds: it derives ``support`` true tuples and ``wrong``
    false ones. ``coverage``: share of all true tuples that it derives; ``confidence``: share of true ones
    among what it derives. ``held_out_wrong``: false tuples that it derives in the held-out worlds.
    ``alternatives``: rules that the examples do not distinguish from this one, but other worlds would."""

    rule: str
    support: int
    wrong: int
    coverage: float
    confidence: float
    held_out_wrong: int | None
    alternatives: tuple[str, ...] = ()

    @property
    def weight(self) -> float:
        """Confidence with one more tuple of each kind (Laplace's estimate): a rule that was never wrong is
        not certain."""
        return (self.support + 1) / (self.support + self.wrong + 2)

    @property
    def text(self) -> str:
        """The rule with its counts, and rules that the examples do not distinguish from it."""
        parts = [f"{self.support} right, {self.wrong} wrong", f"coverage {self.coverage:.0%}"]
        parts.append(f"confidence {self.confidence:.0%}")
        if self.held_out_wrong is not None:
            parts.append(f"{self.held_out_wrong} wrong in worlds kept back")
        lines = [f"{self.rule}: {', '.join(parts)}"]
        return "\n".join([*lines, *(f"  or, by these examples: {other}" for other in self.alternatives)])


@dataclass(frozen=True, repr=False)
class Induced:
    """Result of induction. ``errors``: tuples on which the rules are wrong in the training worlds,
    ``held_out_errors`` in those held out (``None``: there were none); ``machine`` is ``None`` if none was
    trained."""

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
    steps: int = 0
    reports: tuple[RuleReport, ...] = ()
    about: About | None = field(default=None, repr=False)

    @property
    def perfect(self) -> bool:
        """Whether the rules make no error, in held-out worlds either."""
        return not self.errors and not self.held_out_errors

    @property
    def text(self) -> str:
        """The theory, as a file of the language."""
        return show(self.theory)

    def __repr__(self) -> str:
        return "\n".join([self.title, *(report.text for report in self.reports)])

    @property
    def title(self) -> str:
        """Number of rules, and their errors."""
        rules, errors, worlds = (len(self.rules), "rule"), (self.errors, "error"), (self.worlds, "world")
        parts = [f"{counted(*rules)}, {counted(*errors)} in {counted(*worlds)}"]
        if self.held_out_errors is not None:
            errors, worlds = counted(self.held_out_errors, "error"), counted(self.held_out, "world")
            parts.append(f"{errors} in {worlds} kept back")
        if self.machine_accuracy is not None:
            ended = "without errors" if self.machine_graduated else f"{self.machine_accuracy:.2%} right"
            parts.append(f"the machine ended {ended} after {self.examples:,} examples")
        return "; ".join(parts)

    def to_json(self) -> str:
        """The text of ``to_dict``."""
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False)

    def save(self, path: str | Path) -> None:
        """Save the trained machine for :func:`herbrand.conclude`; raise UnsupportedError if there is none."""
        if self.machine is None or self.about is None:
            raise UnsupportedError(
                "no machine was trained, so there is none to save",
                hint=f"--engine nlm trains one, in worlds of at most {LARGEST} objects",
            )
        save(path, self.machine, self.about)

    def to_dict(self) -> dict[str, Any]:
        """The JSON object of the command line."""
        return {
            "seconds": self.seconds,
            "iterations": self.steps,
            "metrics": {
                "rules": len(self.rules),
                "rule_reports": [asdict(report) for report in self.reports],
                "machine_examples": self.examples,
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
    engine: str = "auto",
    noise: float = NOISE,
    weights: str | None = None,
    seed: int = 0,
    resume: str | Path | None = None,
    watch: Watch | None = None,
    note: Callable[[str], None] | None = None,
) -> Induced:
    """Learn rules for ``target`` from a folder of worlds, within ``budget`` minutes.

    ``theory``: declarations, facts that hold in every world, and rules that derive more predicates to learn
    from; the result keeps all but the facts. ``facts``: tables of facts that hold in every world, as a model
    takes them. ``noise``: share of the target's labels that may be wrong; 0 asks for rules without errors.
    ``engine``: ``search``; ``nlm`` trains a machine first; ``auto`` does so only if the search leaves errors.
    ``weights``: rules of the target get weights, as ``proofs`` (``head :- body @ weight``) or as
    ``probabilities`` (``weight :: head :- body``). ``resume``: a file that keeps the run, piece by piece; if
    it exists, the run resumes from it. ``header`` and ``note`` are those of a model. ``seed``: of all random
    choices. ``watch`` is called after each step."""
    check_all("induce", {"engine": engine, "target": target, "worlds": worlds})
    if engine not in ENGINES:
        raise UnsupportedError(f"there is no engine '{engine}' for induce", hint=" or ".join(ENGINES))
    check_all("induce", {"budget": budget, "noise": noise, "seed": seed})
    check("induce", {"weights": weights, "resume": resume})
    check_functions(watch=watch, note=note)
    began = time.monotonic()
    theory = Theory() if theory is None else theory
    refuse_no_theory("induce", theory)
    given = read_worlds(theory, target, worlds, watch, facts, header, note)
    kept, held_out = _split(given.worlds, seed)
    options = {"target": target, "engine": engine, "seed": seed, "noise": noise, "budget": budget}
    effort = Effort(most=STEPS_A_MINUTE * budget * (0.6 if engine == "auto" else 1.0))
    with journal_at(resume, lambda: {**options, "theory or worlds": _digest(theory, given)}) as journal:
        tables = _WorldTables.of(given, kept)
        run = _Run(given, kept, tables, engine, noise, budget, seed, began, effort, watch, journal)
        learned, trained = run.found()
    if not learned.clauses:
        raise HerbrandError(
            f"no rule for '{target}' was found in {budget:g} minutes",
            hint="more --budget, more worlds, or more predicates to predict it from",
        )
    clauses = learned.clauses
    here = tables.with_derived(clauses)
    back = _WorldTables.of(given, held_out).with_derived(clauses) if held_out else None
    reports = _reports(target, here, back, learned, seed)
    return Induced(
        _result(theory, given, clauses, reports, weights),
        clauses,
        trained.machine,
        time.monotonic() - began,
        trained.examples,
        len(kept),
        here.errors(target),
        len(held_out),
        None if back is None else back.errors(target),
        trained.accuracy,
        trained.graduated,
        trained.relevance,
        int(effort.done),
        reports,
        About(target, theory, by_arity(given.predicates), trained.examples, trained.accuracy),
    )


@dataclass(frozen=True)
class _Run:
    """One call of :func:`induce`: its inputs and limits; ``began``: start time by ``time.monotonic``."""

    given: GivenWorlds
    kept: Sequence[GivenWorld]
    tables: _WorldTables
    engine: str
    noise: float
    budget: float
    seed: int
    began: float
    effort: Effort
    watch: Watch | None
    journal: Journal | None

    def found(self) -> tuple[SearchResult, _Trained]:
        """Learn by a search, by a machine and another search, or by the better of both."""
        small = max(len(world.objects) for world in self.kept) <= LARGEST
        database, examples = self.tables.database, _examples(self.given, self.tables, self.seed)
        everything = dict.fromkeys(self.given.predicates, 1.0)
        trained, theory = _Trained(), SearchResult((), len(examples.rows), 0)
        if self.engine != "nlm" or not small:
            # half of the budget is for the search, however long reading took
            theory = self._searched(examples, database, everything, 30)
        unexplained = self.engine == "auto" and not _explains(theory, examples, self.noise)
        if small and (self.engine == "nlm" or unexplained):
            # half of what is left is for the machine; a tenth remains for the search, however slow a step was
            left = self.began + 60 * self.budget - time.monotonic()
            trained = _trained(self.given, self.kept, self.seed, left * 0.5, self.watch, self.journal)
            if self.engine == "nlm" or trained.graduated:
                self.effort.most = self.effort.done + STEPS_A_MINUTE * self.budget * 0.4
                other = self._searched(examples, database, trained.relevance or everything, 6)
                theory = min(theory, other, key=lambda one: one.errors)
        return theory, trained

    def _searched(
        self, examples: Examples, database: Database, matters: dict[str, float], share: float
    ) -> SearchResult:
        """Search within the time left, or within ``share`` seconds for each minute of the budget if that is
        more."""
        if self.watch is not None:
            self.watch("searching for rules", 0.5)
        until = max(self.began + 60 * self.budget, time.monotonic() + share * self.budget)
        limits = Limits(noise=self.noise, effort=self.effort, until=until, journal=self.journal)
        return focused_search(examples, database, matters, limits)


def _digest(theory: Theory, given: GivenWorlds) -> str:
    """Digest of the theory and the worlds, which identifies the input of a run."""
    digest = hashlib.sha256(show(theory).encode())
    for world in given.worlds:
        known = [f"{name} {rows.shape} {rows.tobytes().hex()}" for name, rows in sorted(world.facts.items())]
        false = None if world.false is None else world.false.tobytes().hex()
        parts = (world.name, world.objects, known, world.true.tobytes().hex(), false)
        digest.update(repr(parts).encode())
    return digest.hexdigest()[:16]


def _explains(theory: SearchResult, examples: Examples, noise: float) -> bool:
    """Whether the rules are right up to the noise."""
    positives = int(examples.positive.sum())
    covered = positives - theory.missed + theory.wrong
    return Errors(theory.missed, theory.wrong, covered, positives, len(examples.rows)).within(noise)


def _split(worlds: Sequence[GivenWorld], seed: int) -> tuple[tuple[GivenWorld, ...], tuple[GivenWorld, ...]]:
    """Split the worlds into training worlds and held-out worlds, one in five; hold out none if no positive
    were left to learn from."""
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
    given: GivenWorlds,
    kept: Sequence[GivenWorld],
    seed: int,
    seconds: float,
    watch: Watch | None,
    journal: Journal | None,
) -> _Trained:
    """Train a machine on the given worlds. ``journal``: its end is recorded there, and after each exam the
    training is saved in a file beside it."""
    task = _task(given, kept)
    plan = Plan(
        exam_every=400, batch=8, rate=0.005, exam_worlds=(len(kept), 1), rebuild_widest=True, margin=0.0
    )
    training = Training(task, plan, seed)
    aside = None if journal is None else journal.path.with_name(journal.path.name + ".machine")
    done = None if journal is None else journal.taken("machine")
    if aside is not None and (done is not None or aside.exists()):
        training.resume(aside)
    accuracy = None
    for progress in training.run(seconds) if done is None else ():
        accuracy = progress.accuracy
        if aside is not None:
            training.save(aside)
        if watch is not None:
            watch(f"accuracy {accuracy:.4f}", 0.5 * min(progress.examples / task.examples, 1))
    if done is not None:
        accuracy = done["accuracy"]
    elif journal is not None:
        journal.add("machine", {"accuracy": accuracy})
    end = training.progress()
    every = task.draw(np.random.default_rng(seed), len(kept), task.final_size)
    return _Trained(
        training.machine,
        end.examples,
        accuracy,
        end.graduated,
        relevance(task, training.conclude, every) if end.graduated else {},
    )


def _task(given: GivenWorlds, kept: Sequence[GivenWorld]) -> Task:
    """Task over the given worlds: a draw is a random choice of them, or all if as many are asked for."""
    vocabulary = by_arity(given.predicates)
    largest = max(len(world.objects) for world in kept)
    whole = sample_of(kept, vocabulary, given.arity)

    def draw(rng: np.random.Generator, worlds: int, objects: int) -> Sample:
        if worlds >= len(kept):
            return whole
        return whole.take(rng.choice(len(kept), worlds, replace=False))

    breadth = min(max(3, given.widest), 4)
    return Task(
        f"{given.target} of the worlds {_digest(Theory(), given)}",
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


# The rules


def _world(world: GivenWorld) -> World:
    constants = tuple(value for *_, value in world.objects)
    return World(len(world.objects), world.facts, constants, tuple(name for name, *_ in world.objects))


def _reports(
    target: str, here: _WorldTables, back: _WorldTables | None, theory: SearchResult, seed: int
) -> tuple[RuleReport, ...]:
    """Report on each rule of the target, with others that the examples do not distinguish from it; ``here``
    are the training worlds, with all derived rows, and ``back`` the held-out ones."""
    clauses = theory.clauses
    shuffled = evaluated(clauses, _shuffled(here.database.without(target), seed))
    reports = []
    for clause in clauses:
        if clause.head != target:
            continue
        right = int(covered(clause, here.database, here.true).sum())
        wrong = int(covered(clause, here.database, here.false).sum())
        own = derived(clause, shuffled)
        ties = [
            other
            for other in theory.ties.get(clause, ())
            if not np.array_equal(own, derived(other, shuffled))
        ]
        reports.append(
            RuleReport(
                _shown(clause),
                right,
                wrong,
                right / max(len(here.true), 1),
                right / max(right + wrong, 1),
                None if back is None else int(covered(clause, back.database, back.false).sum()),
                tuple(_shown(other) for other in ties),
            )
        )
    return tuple(reports)


def _shown(clause: Clause) -> str:
    return statement_text(clause.to_rule())


def _shuffled(database: Database, seed: int) -> Database:
    """Random worlds of the same objects: half of the rows of each table, with columns shuffled within each
    world. Rules that derive the same there are taken to be equivalent."""
    rng = np.random.default_rng(seed)
    for name, rows in list(database.tables.items()):
        if database.arities[name] and len(rows):
            rows = rows[rng.random(len(rows)) < 0.5]
            for column in range(1, rows.shape[1]):
                order = np.lexsort((rng.random(len(rows)), database.world_of[rows[:, 0]]))
                places = np.argsort(database.world_of[rows[:, 0]], kind="stable")
                mixed = rows[:, column].copy()
                mixed[places] = rows[order, column]
                rows = np.column_stack([rows[:, :column], mixed, rows[:, column + 1 :]])
        database = database.with_table(name, rows, database.arities[name])
    return database


@dataclass(frozen=True, eq=False)
class _WorldTables:
    """Worlds as a database, with the rows of the target that are known to be ``true`` and ``false`` there."""

    database: Database
    true: Rows
    false: Rows

    @classmethod
    def of(cls, given: GivenWorlds, worlds: Sequence[GivenWorld]) -> _WorldTables:
        database = Database.of([_world(world) for world in worlds])
        true, false = [], []
        for number, world in enumerate(worlds):
            start = number if given.arity == 0 else int(database.starts[number])
            true.append(_placed(world.true, start))
            known = np.concatenate([_placed(rows, start) for rows in known_rows(world, given.arity)])
            codes = database.codes(known)
            false.append(known[~np.isin(codes, database.codes(true[-1]))])
        return cls(database, np.concatenate(true), np.concatenate(false))

    def with_derived(self, clauses: Sequence[Clause]) -> _WorldTables:
        """The same worlds with all rows that clauses derive."""
        return replace(self, database=evaluated(clauses, self.database))

    def errors(self, target: str) -> int:
        """Number of known tuples of the target on which the derived rows are wrong."""
        rows = self.database.tables.get(target)
        if rows is None:
            return len(self.true)
        codes = self.database.codes(rows)
        missed = (~np.isin(self.database.codes(self.true), codes)).sum()
        return int(missed + np.isin(self.database.codes(self.false), codes).sum())


def _placed(rows: Rows, start: int) -> Rows:
    """Renumber rows of a world by objects of all worlds; for a target without arguments, by the world's
    number."""
    return rows + start if rows.shape[1] else np.full((len(rows), 1), start)


def _examples(given: GivenWorlds, tables: _WorldTables, seed: int) -> Examples:
    """Examples of a search: all positives, and at most ``MOST_EXAMPLES`` random negatives."""
    negatives = tables.false
    if len(negatives) > MOST_EXAMPLES:
        chosen = np.random.default_rng(seed).choice(len(negatives), MOST_EXAMPLES, replace=False)
        negatives = negatives[np.sort(chosen)]
    rows = np.concatenate([tables.true, negatives])
    return Examples(given.target, rows, np.arange(len(rows)) < len(tables.true), given.arity == 0)


def _result(
    theory: Theory,
    given: GivenWorlds,
    clauses: Sequence[Clause],
    reports: Sequence[RuleReport],
    weights: str | None,
) -> Theory:
    """Theory of the result: the given one without facts, declarations of invented predicates if it declares
    any, and the rules. With ``weights``, rules of the target are weighted by ``reports``, which are in their
    order."""
    statements: list[Statement] = [s for s in theory.statements if not isinstance(s, FactRows)]
    if theory.predicates:
        types = {p.name: p.types for p in theory.predicates}
        for clause in clauses:
            if clause.head not in types:
                types[clause.head] = types.get(given.target, ())
                statements.append(PredicateDeclaration(clause.head, types[clause.head]))
    counted = iter(reports)
    for clause in clauses:
        rule = clause.to_rule()
        if weights is None or clause.head != given.target:
            statements.append(rule)
        else:
            statements.append(weighted(rule, next(counted).weight, weights))
    return Theory(tuple(statements))
