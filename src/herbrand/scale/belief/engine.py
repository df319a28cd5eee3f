"""Belief propagation over tables of a database: the engine ``bp``, its messages as rows of factors.

The rounds are those of :mod:`herbrand.engines.belief.parallel_rounds`, between atoms or, if colour refinement
merges enough of them, between classes. Guarantee: ``exact`` if the ground factor graph is a forest, else
``approximation``. Cost of a round: for each atom of each factor a join and a grouped sum. A round is kept in
the database as soon as it is complete.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from herbrand.answers.explanation import Explanation
from herbrand.answers.guarantee import Guarantee, PartitionGuarantee, Status
from herbrand.answers.marginals import Marginals
from herbrand.budget import UNLIMITED, Budget
from herbrand.engines.belief.engine import refuse_what_is_no_marginal
from herbrand.engines.belief.pace import BEGUN, Pace
from herbrand.engines.belief.parallel_rounds import Family, Rounds, probabilities
from herbrand.engines.contradiction import every_hard_statement
from herbrand.engines.engine import Cost, Prepared, Refusal, Settings
from herbrand.engines.loop import Resumed
from herbrand.errors import HerbrandError
from herbrand.program.evidence import LATENT
from herbrand.program.question import Question
from herbrand.relations.database import Database
from herbrand.relations.expression import Kind, cast, choose, column
from herbrand.relations.stored import Stored
from herbrand.scale.atoms import StoredAtoms
from herbrand.scale.belief.colours import COLOURS, lifted
from herbrand.scale.belief.factor_families import names
from herbrand.scale.belief.factor_tables import expected_size, factor_tables
from herbrand.scale.belief.forests import is_forest
from herbrand.scale.evidence import StoredEvidence
from herbrand.scale.operands import Marginals as Table
from herbrand.scale.reading import queried_tables
from herbrand.scale.run import StoredProgram, explained_in_memory, refuse_foreign_settings

AT_REST = 1e-9
"""A residual that is rounding error: a database adds up in any order."""


RESTLESS = (
    "these probabilities are not to be relied on; leave out --on, where factors can be taken one after "
    "another, or raise --damping"
)
GENTLER = (0.5, 0.9)
"""Dampings with which diverging messages are restarted, one after another."""


@dataclass(frozen=True, eq=False)
class StoredBeliefState(Resumed):
    """State after ``step`` rounds, whose messages are in :func:`message_table`."""

    stored: StoredProgram
    question: Question
    atoms: StoredAtoms
    sizes: tuple[int, ...]
    rounds: Rounds
    constant: float
    forest: bool
    step: int = 0
    pace: Pace = BEGUN

    @property
    def evidence(self) -> StoredEvidence:
        return self.stored.evidence

    @property
    def moved(self) -> float:
        return self.pace.moved

    @property
    def rest(self) -> float:
        """Largest residual at which a forest counts as exact: its messages converge without damping."""
        return AT_REST if self.forest else math.inf


@dataclass(frozen=True)
class StoredBeliefPropagation:
    """Belief propagation on a database. ``damping``: share of the old log-message that is kept, raised
    automatically when rounds do not converge unless it is given; ``lift``: pass messages between classes, if
    there are fewer of these than atoms."""

    damping: float | None = None
    lift: bool = True
    budget: Budget = UNLIMITED
    name: str = field(default="bp", init=False)

    @classmethod
    def with_settings(cls, settings: Settings) -> StoredBeliefPropagation:
        """Build the engine; refuse unsupported settings."""
        refuse_foreign_settings(settings, "belief propagation")
        return cls(settings.damping, budget=settings.budget)

    def prepare(
        self, stored: StoredProgram, question: Question, within: Budget
    ) -> Prepared[StoredBeliefState] | Refusal:
        try:
            messages, disk = expected_size(StoredAtoms(stored.evidence))
        except HerbrandError as error:  # including facts that contradict each other
            return Refusal(error)
        return Prepared(partial(self._begun, stored, question), lambda: Cost(messages, 0.0, disk=disk))

    def _begun(self, stored: StoredProgram, question: Question) -> StoredBeliefState:
        """The first state, or the last one that is kept if the run is resumed."""
        refuse_what_is_no_marginal(question, self.name)
        evidence, run, database = stored.evidence, stored.run, stored.database
        if run.resume:
            return self._resumed(stored, question)
        run.begin()
        graph = factor_tables(StoredAtoms(evidence), run.room)
        self._refuse_impossible(graph.sizes, evidence)
        forest = is_forest(graph.families, database)
        classes = lifted(graph, database) if self.lift else None
        families = (classes or graph).families
        rounds = Rounds(families, classes is not None, graph.barring)
        for family in families:
            factors = evidence.queries.query(f"SELECT * FROM {family.table}", kinds_of(rounds, family))
            rounds.first(family, factors).kept_as(message_table(family, 0))
            database.drop(family.table)
        _put_potentials(families, database)
        pace = Pace(self.damping or 0.0)
        state = StoredBeliefState(
            stored, question, graph.atoms, graph.sizes, rounds, graph.constant, forest, pace=pace
        )
        self._keep(state)
        return state

    def step(self, state: StoredBeliefState) -> StoredBeliefState:
        totals, before = self._made_totals(state), self._messages(state)
        fresh = {}
        for family in state.rounds.families:
            number = family.number
            kinds = self._kinds(state).get(number)
            after = state.rounds.after(family, before[number], totals, state.pace.damping, kinds)
            fresh[number] = after.kept_as(message_table(family, state.step + 1))
        moved = state.rounds.moved(fresh)
        if math.isnan(moved):
            raise every_hard_statement(state.evidence.program)
        # A forest needs no damping: its messages converge without.
        gentler = () if self.damping is not None or state.forest else GENTLER
        given = 0.0 if state.forest else self.damping
        pace, again = state.pace.after(moved, given, gentler)
        if again:
            for family in state.rounds.families:
                first = state.rounds.first(family, before[family.number])
                first.kept_as(message_table(family, state.step + 1))
        after_round = replace(state, step=state.step + 1, pace=pace)
        self._keep(after_round)
        return after_round

    def residual(self, state: StoredBeliefState) -> float:
        return state.moved

    def read(self, state: StoredBeliefState, status: Status) -> Marginals:
        totals = self._made_totals(state)
        bethe = self._bethe(state, totals)
        count = state.evidence.program.value_count
        beliefs = {name: self._marginals(name, state, totals[count(name)]) for name in state.atoms.starts}
        exact = state.forest and state.moved <= AT_REST
        return Marginals(
            self.name,
            Guarantee.EXACT if exact else Guarantee.APPROXIMATION,
            _with_note(status),
            queried_tables(state.stored, beliefs, state.question),
            log_partition=bethe,
            log_partition_guarantee=PartitionGuarantee.EXACT if exact else PartitionGuarantee.APPROXIMATION,
        )

    def _bethe(self, state: StoredBeliefState, totals: Mapping[int, Stored]) -> float:
        energy = state.rounds.bethe(self._axes(state), self._messages(state), totals, self._kinds(state))
        if energy == -math.inf:
            raise every_hard_statement(state.evidence.program)
        return state.constant + energy

    def _axes(self, state: StoredBeliefState) -> dict[int, Stored]:
        counts: dict[str, Kind] = {"n": "float"} if state.rounds.lifted else {}
        tables = {}
        for size in state.sizes:
            own: dict[str, Kind] = dict.fromkeys(names("u", size), "float")
            tables[size] = state.evidence.queries.query(
                f"SELECT * FROM axes_{size}", {"atom": "int", **own, **counts}
            )
        return tables

    def _messages(self, state: StoredBeliefState) -> dict[int, Stored]:
        tables = {}
        for family in state.rounds.families:
            values: dict[str, Kind] = dict.fromkeys((*family.all_names("m"), "d"), "float")
            query = f"SELECT * FROM {message_table(family, state.step)}"
            tables[family.number] = state.evidence.queries.query(
                query, {**kinds_of(state.rounds, family), **values}
            )
        return tables

    def _kinds(self, state: StoredBeliefState) -> dict[int, Stored]:
        tables = {}
        for family in state.rounds.families:
            if len(family.potentials) > 1:
                entries: dict[str, Kind] = dict.fromkeys(names("t", family.potentials[0].size), "float")
                query = f"SELECT * FROM potentials_{family.number}"
                tables[family.number] = state.evidence.queries.query(query, {"kind": "int", **entries})
        return tables

    def _made_totals(self, state: StoredBeliefState) -> dict[int, Stored]:
        totals = state.rounds.totals(self._axes(state), self._messages(state))
        return {size: one.kept_as(f"totals_{size}") for size, one in totals.items()}

    def explain(self, state: StoredBeliefState, status: Status) -> Explanation:
        raise explained_in_memory()

    def _refuse_impossible(self, sizes: tuple[int, ...], evidence: StoredEvidence) -> None:
        """Raise an error if an atom's own weights exclude all of its values."""
        for size in sizes:
            lost = " AND ".join(f"u{value} = CAST('-inf' AS DOUBLE)" for value in range(size))
            if evidence.database.number(f"SELECT COUNT(*) FROM axes_{size} WHERE {lost}"):
                raise every_hard_statement(evidence.program)

    def _marginals(self, name: str, state: StoredBeliefState, totals: Stored) -> Table:
        """Marginals of a predicate's atoms, settled ones included."""
        evidence, size = state.evidence, state.evidence.program.value_count(name)
        columns = evidence.columns(name)
        log_beliefs = dict(zip(names("b", size), state.rounds.log_beliefs(size), strict=True))
        shares = dict(zip(names("p", size), probabilities(list(map(column, log_beliefs))), strict=True))
        by_atom = totals.let(**log_beliefs).select(atom=column("atom"), **shares)
        rows = evidence.every_atom(name).left_join(evidence.settled(name), columns, value=LATENT)
        rows = rows.let(atom=state.atoms.number(name, list(map(column, columns))))
        if state.rounds.lifted:
            classes = evidence.queries.table(COLOURS, atom="int", c="int")
            rows = rows.left_join(classes, ["atom"], c=LATENT).let(atom=column("c"))
        rows = rows.left_join(by_atom, ["atom"], **dict.fromkeys(shares, 0.0))
        rows = rows.let(latent=column("value") == LATENT)
        if not evidence.is_valued(name):
            q = choose(column("latent"), column("p1"), cast(column("value"), "float"))
            return Table(rows.let(q=q).only(*columns, "q", "latent"), 0)
        first, *others = (
            rows.where(column("latent") | (column("value") == value))
            .let(val=value, q=choose(column("latent"), column(f"p{value}"), 1.0))
            .only(*columns, "val", "q", "latent")
            for value in range(size)
        )
        return Table(first.stack(*others), 0)

    def _keep(self, state: StoredBeliefState) -> None:
        families = [
            [one.number, one.sizes, [p.tolist() for p in one.potentials]] for one in state.rounds.families
        ]
        state.stored.run.keep(
            {
                "families": families,
                "lifted": state.rounds.lifted,
                "barring": state.rounds.barring,
                "sizes": state.sizes,
                "constant": state.constant,
                "forest": state.forest,
                "step": state.step,
                "pace": asdict(state.pace),
            }
        )

    def _resumed(self, stored: StoredProgram, question: Question) -> StoredBeliefState:
        kept = stored.run.kept()
        families = tuple(map(_family, kept["families"]))
        return StoredBeliefState(
            stored,
            question,
            StoredAtoms(stored.evidence),
            tuple(kept["sizes"]),
            Rounds(families, kept["lifted"], kept["barring"]),
            kept["constant"],
            kept["forest"],
            kept["step"],
            Pace(**kept["pace"]),
        )


def _put_potentials(families: tuple[Family, ...], database: Database) -> None:
    for family in families:
        if len(family.potentials) > 1:
            database.put(f"potentials_{family.number}", pa.table(family.kinds()))


def message_table(family: Family, step: int) -> str:
    """Name of a round's table. Two names alternate, so that one table is complete while the other is made."""
    return f"messages_{family.number}_{step % 2}"


def kinds_of(rounds: Rounds, family: Family) -> dict[str, Kind]:
    """Columns of a family's factors, without their messages."""
    whole: dict[str, Kind] = dict.fromkeys((*family.slots, "kind"), "int")
    counts = ["n", *(f"x{slot}" for slot in range(family.width))] if rounds.lifted else []
    return {**whole, **dict.fromkeys(counts, "float")}


def _with_note(status: Status) -> Status:
    """Extend the advice of a status that has not converged."""
    return status if status.converged else replace(status, advice=f"{status.advice}; {RESTLESS}")


def _family(kept: list[Any]) -> Family:
    number, sizes, potentials = kept
    return Family(number, tuple(sizes), tuple(np.array(one, dtype=float) for one in potentials))
