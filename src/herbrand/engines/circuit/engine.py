"""Engine ``circuit``: the ground program compiled once, then all marginals from one pass up and one down.

Guarantee: ``exact``, up to rounding; ``bound`` where the circuit is too large for the time or the memory, or
Ctrl-C ends it. It is the engine of theories with choices (``::``), and of weighted theories whose hard
statements leave few worlds: matchings, functions, orders. Its cost is the size of the circuit, which is not
known beforehand; the memory and the time of the call bound it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np

from herbrand.answers.explanation import Explanation, Proofs
from herbrand.answers.guarantee import Guarantee, PartitionGuarantee, Status
from herbrand.answers.marginals import AtomTable, Marginals, Row
from herbrand.answers.samples import Samples
from herbrand.budget import UNLIMITED, Budget
from herbrand.engines.circuit.apart import Apart
from herbrand.engines.circuit.bounds import EPSILON, Unfinished
from herbrand.engines.circuit.choices import ChoiceConstraints, impossible_evidence, share_of
from herbrand.engines.circuit.circuit import Circuit
from herbrand.engines.circuit.compile import is_possible
from herbrand.engines.circuit.elimination_samples import EliminationSamples
from herbrand.engines.circuit.explanation import attributed
from herbrand.engines.circuit.grounding import ANY
from herbrand.engines.circuit.likeliest_proofs import likeliest
from herbrand.engines.circuit.network import WeightedConstraints
from herbrand.engines.circuit.network_samples import NetworkSamples
from herbrand.engines.circuit.sampling import (
    CircuitSamples,
    Sampler,
    by_choices,
    by_circuit,
    drawn_atom,
    kept_worlds,
)
from herbrand.engines.circuit.whole_tables import WholeTables, in_whole_tables
from herbrand.engines.circuit.worlds import Worlds
from herbrand.engines.contradiction import (
    every_hard_statement,
    hard_statements,
    naming,
    only_hard,
    smallest_in_cells,
)
from herbrand.engines.engine import Cost, Prepared, Refusal, Settings
from herbrand.engines.reading import ExplainedAtom, listed_tables, queried_codes
from herbrand.engines.smallest_set import smallest
from herbrand.errors import BudgetError, ContradictionError, UnsupportedError
from herbrand.factors.graph import FactorGraph
from herbrand.language.collection import collector_paused
from herbrand.language.show import show_formula
from herbrand.language.syntax import Choice
from herbrand.program.evidence import Evidence
from herbrand.program.expansion import instances
from herbrand.program.ground import MOST_GROUNDINGS, Ground, ground, refuse_long_answer
from herbrand.program.lower import cell_count, in_cells, refuse_many_cells
from herbrand.program.normal_form import has_many_cases
from herbrand.program.program import Program
from herbrand.program.question import Question
from herbrand.quick_values import quickly_made
from herbrand.row_keys import places_among

MOST_LISTED = 1_000_000
"""Derived predicates with more atoms list only those that may hold; all others have probability 0."""

TRIED_ROWS, TRIED_WORK = 3_000, 100_000_000
"""Most groundings of a statement, and most work of the search, for which ``auto`` tries the engine on a
theory without choices: about a second. It tries only where most groundings are of hard statements."""

TRIED_ENTRIES = 2**27
"""Entries that the sums of an elimination may be of for samples, before a circuit is tried: a second."""

PATIENCE, EARLY = 5.0, 0.25
"""Seconds, or the share of the time left if that is less, for which a circuit is compiled before bounds
begin."""

BLAMING = 5.0
"""Seconds for the search for a smallest set of hard statements that contradict each other."""


@quickly_made
@dataclass(frozen=True, slots=True, eq=False)
class CircuitState:
    """A ground program and its question; after the one step also the shares and the total of its circuit.

    ``listed``: the predicates asked for and the codes of their atoms; ``queried``: the latent ones among
    these; ``formulas``: texts and literals of the instances of formulas.
    """

    worlds: Worlds
    question: Question
    listed: tuple[tuple[str, np.ndarray], ...]
    queried: tuple[int, ...]
    formulas: tuple[tuple[str, int], ...]
    shares: np.ndarray | None = None
    total: float = -math.inf
    unfinished: Unfinished | None = None
    apart: Apart | None = None
    """The compilations for each of several queries, beside the unfinished one for all."""
    reach: np.ndarray | None = None
    """Half the distance between the bounds of each share, where the circuit is not compiled yet."""

    @property
    def certified(self) -> bool:
        """Whether there are bounds, which hold whenever the engine is stopped."""
        return self.reach is not None

    @property
    def settled(self) -> bool:
        """Whether all answers are exact."""
        return self.shares is not None and self.reach is None

    @property
    def literals(self) -> list[int]:
        """The literals of all that is asked for."""
        literals = [literal for axis in self.queried for literal in self.worlds.axis(axis)]
        return literals + [literal for _, literal in self.formulas]

    @property
    def constant(self) -> float:
        """Part of every world's log-weight that no literal carries."""
        return self.worlds.made.constant + _left_out(self, False)

    def begun(self) -> Unfinished:
        """The compilation of all that is asked for, not begun."""
        return Unfinished.of(self.worlds.made.task(self.literals), self.worlds.budget)

    def begun_apart(self) -> Apart | None:
        """A compilation for each query, none begun; ``None`` where there is one query."""
        literals = {literal & ~1 for literal in self.literals if literal >= 0}
        return Apart(self.worlds.made, sorted(literals), self.worlds.budget) if len(literals) > 1 else None

    def with_counts(self, total: float, shares: np.ndarray) -> CircuitState:
        """The state with exact probabilities. Raises ``ContradictionError`` where no world has weight."""
        if total == -math.inf:
            raise _contradiction(self.worlds)
        total += self.constant
        return replace(self, shares=shares, total=total, unfinished=None, apart=None, reach=None)


@dataclass(frozen=True)
class CircuitEngine:
    """Knowledge compilation within a budget."""

    budget: Budget = UNLIMITED
    name: str = field(default="circuit", init=False)
    whole_tables: bool = field(default=True, init=False)

    @classmethod
    def with_settings(cls, settings: Settings) -> CircuitEngine:
        return cls(settings.budget)

    def prepare(
        self, program: Program, question: Question, within: Budget
    ) -> Prepared[CircuitState | WholeTables]:
        trial = _Trial(self, program, question, within)
        return Prepared(trial.begin, trial.cost)

    def started(self, program: Program, question: Question) -> CircuitState:
        """The first state."""
        whole = question.most_probable and not question.summed_out
        return self._started(program, question, whole)

    def _started(self, program: Program, question: Question, whole: bool) -> CircuitState:
        """The first state; ``whole``: single worlds are wanted, not sums over them."""
        return self._over(program, question, ChoiceConstraints(whole))

    @collector_paused()
    def _over(self, program: Program, question: Question, constraints: ChoiceConstraints) -> CircuitState:
        """Express the program and the question as constraints."""
        refuse_many_cells(program)
        worlds = Worlds(ground(program, self.budget, MOST_GROUNDINGS), self.budget, constraints)
        evidence = worlds.ground.evidence
        refuse_long_answer(evidence, question, self.budget, _sparse(evidence, worlds.derived))
        worlds.solve([*worlds.stated, *_patterns(worlds, question)])  # once: each call visits all instances
        worlds.add_formulas()
        for name in sorted(worlds.derived):
            if program.facts.tables[name].world == "closed":  # by --closed: what no fact lists is false
                worlds.close(name)
        if constraints.whole:
            worlds.solve_choices()
        listed, queried = _asked(worlds, question)
        closed = [one for formula in question.formulas for one in instances(formula, program)]
        literals = worlds.formulas([one.closed for one in closed])
        shown = (show_formula(one.written) for one in closed)
        return CircuitState(worlds, question, listed, queried, tuple(zip(shown, literals, strict=True)))

    def step(self, state: CircuitState | WholeTables) -> CircuitState | WholeTables:
        if isinstance(state, WholeTables) or state.settled:
            return state
        if not state.question.most_probable:
            return self._gone_on(state)
        worlds, summed = state.worlds, bool(state.question.summed_out)
        circuit, weights = worlds.made.circuit(state.literals, worlds.budget, summed, summed)
        chosen, total = circuit.best(weights, summed)
        shares = np.stack([chosen > 0, chosen <= 0], axis=1).reshape(-1).astype(float)
        if total == -math.inf:
            raise _contradiction(worlds)
        return replace(
            state, shares=shares, total=total + worlds.made.constant + _left_out(state, not summed)
        )

    def _gone_on(self, state: CircuitState) -> CircuitState:
        """Compile for a while; narrow bounds beside a compilation that takes longer, and bounds alone where
        memory has run out."""
        left = state.unfinished or state.begun()
        seconds = max(min(PATIENCE, EARLY * self.budget.seconds_left), left.elapsed / 2)
        counted = left.solved(seconds)
        if counted is not None:
            return state.with_counts(*counted)
        found, apart = left.narrowed(seconds / 2), state.apart or state.begun_apart()
        if apart is not None and not found.done:
            found = found.met(apart.narrowed(seconds))
        if found.done:
            return state.with_counts(found.log_total, found.lower)
        # each end of a bound is the middle and the reach, whose rounding must not move it inward
        return replace(
            state,
            shares=(found.lower + found.upper) / 2,
            total=float(np.nextafter(found.log_total + state.constant, -math.inf)),
            unfinished=left,
            apart=apart,
            reach=np.where(found.lower < found.upper, (found.upper - found.lower) / 2 + EPSILON, 0.0),
        )

    def sample(self, program: Program, question: Question, count: int, seed: int) -> Samples:
        """Worlds drawn from the distribution that the marginals describe."""
        began = time.perf_counter()
        sampler = next(sampler for sampler in self._samplers(program, question) if sampler is not None)
        worlds = kept_worlds(sampler.worlds(count, seed, self.budget), count, self.budget)
        status = Status(True, 1, time.perf_counter() - began)
        return Samples(sampler.engine, Guarantee.EXACT, status, worlds, dict(sampler.atoms.values()))

    def _samplers(self, program: Program, question: Question) -> Iterator[Sampler | None]:
        """Samplers in the order in which they are tried, or None where one does not serve. A circuit may be
        small where elimination takes long, and take very long where elimination takes a minute."""
        yield NetworkSamples.of(program)
        yield EliminationSamples.of(program, self.budget, TRIED_ENTRIES)
        if not program.uncertain:
            with suppress(BudgetError):
                yield self._by_circuit(program, question, TRIED_WORK)
            yield EliminationSamples.of(program, self.budget)
        yield self._by_circuit(program, question)

    def _by_circuit(
        self, program: Program, question: Question, most_work: float = math.inf
    ) -> CircuitSamples:
        """Sampler by a circuit, or by its choices alone."""
        state = self._started(program, question, whole=True)
        worlds = state.worlds
        assigned = by_choices(worlds) or by_circuit(worlds, self._telling(state, most_work))
        atoms = {axis: drawn_atom(worlds.program, *worlds.atom(axis)) for axis in state.queried}
        return CircuitSamples(worlds, atoms, assigned)

    def _telling(self, state: CircuitState, most_work: float) -> Circuit:
        """The circuit with the literals of every choice; raises ``ContradictionError`` where no world is
        left."""
        constraints = state.worlds.made
        circuit = constraints.telling(state.literals, state.worlds.budget, most_work=most_work)
        if circuit.total(constraints.log_weights()) == -math.inf:
            raise _contradiction(state.worlds)
        return circuit

    def residual(self, state: CircuitState | WholeTables) -> float:
        """The widest distance between the bounds of an answer; 0 once the circuit is compiled."""
        if isinstance(state, WholeTables) or state.reach is None:
            return 0.0
        return 2 * max((_reach_of(state.reach, literal) for literal in state.literals), default=math.inf)

    def read(self, state: CircuitState | WholeTables, status: Status) -> Marginals:
        if isinstance(state, WholeTables):
            return self._read_tables(state, status)
        assert state.shares is not None
        likeliest, shares, reach = state.question.most_probable, state.shares, state.reach
        tables = self._tables(state, lambda literal: share_of(shares, literal))
        exact, has_total = reach is None, not likeliest and state.total > -math.inf
        if reach is not None:
            apart = self._tables(state, lambda literal: _reach_of(reach, literal))
            tables = [replace(t, reach=a.probabilities) for t, a in zip(tables, apart, strict=True)]
        rows = (
            Row(text, None, (), share_of(shares, one), None, None if reach is None else _reach_of(reach, one))
            for text, one in state.formulas
        )
        return Marginals(
            self.name,
            Guarantee.EXACT if exact else Guarantee.BOUND,
            status,
            tuple(tables),
            tuple(rows),
            state.total if has_total else None,
            (PartitionGuarantee.EXACT if exact else PartitionGuarantee.LOWER) if has_total else None,
            likeliest,
            state.total if likeliest else None,
        )

    def _read_tables(self, state: WholeTables, status: Status) -> Marginals:
        """The marginals of a question answered by whole tables."""
        evidence, question = state.evidence, state.question
        sparse = _sparse(evidence, state.possible)
        refuse_long_answer(evidence, question, self.budget, sparse)
        short = sparse | evidence.program.signature.calls.keys() & state.possible.keys()
        queried = queried_codes(evidence, question, {name: state.possible[name][0] for name in short})
        tables = _marked(listed_tables(evidence, state.look_up, queried), question, sparse)
        return Marginals(
            self.name, Guarantee.EXACT, status, tables, (), state.total, PartitionGuarantee.EXACT
        )

    def _tables(self, state: CircuitState, number_of: Callable[[int], float]) -> list[AtomTable]:
        """The tables asked for, with ``number_of`` each literal; for atoms without a variable this is 1 or
        0."""
        ground, places = state.worlds.ground, np.array(sorted(state.queried), np.int64)
        widest = max((ground.program.value_count(name) for name, _ in state.listed), default=1)
        numbers = np.zeros((len(places) + 1, widest))  # the last is of atoms that are impossible
        for place, axis in enumerate(places.tolist()):
            for value, literal in enumerate(state.worlds.axis(axis)):
                numbers[place, value] = number_of(literal)

        def look_up(predicate: str, codes: np.ndarray) -> np.ndarray:
            own = numbers[:, : ground.program.value_count(predicate)]
            return own[places_among(places, ground.atoms.numbers(predicate, codes))]

        tables = listed_tables(ground.evidence, look_up, state.listed)
        return list(_marked(tables, state.question, _sparse(ground.evidence, state.worlds.derived)))

    def explain(self, state: CircuitState | WholeTables, status: Status) -> Explanation:
        """Share out the probability of the queried atom among the choices that it depends on."""
        state = self._drawn(state)
        ground = state.worlds.ground
        uncertain = ground.program.uncertain
        if not any(isinstance(statement, Choice) for statement in uncertain):
            counts = "no engine explains counts of what is uncertain; infer gives the probability"
            raise UnsupportedError(
                "the engine circuit explains by choices (::), and this theory has none",
                hint=counts if uncertain else "explain runs with --engine exact or gibbs",
            )
        scaled = self._over(ground.program, state.question, ChoiceConstraints(scaled=True))
        queried = ExplainedAtom.of(state.question, ground.evidence)
        axis = queried.axis(ground.atoms)
        shared_out = attributed(scaled.worlds, scaled.worlds.axis(axis)[queried.value])
        numbers = shared_out.reasons, shared_out.base, shared_out.remainder
        return Explanation(
            queried.text, "probability", shared_out.value, self.name, Guarantee.EXACT, *numbers
        )

    def _drawn(self, state: CircuitState | WholeTables) -> CircuitState:
        """The state with choices and literals; made now if the question was answered by whole tables."""
        if isinstance(state, CircuitState):
            return state
        return self.started(state.evidence.program, state.question)

    def proofs(self, state: CircuitState | WholeTables, most: int) -> Proofs:
        """At most ``most`` proofs of the one queried atom, the likeliest first."""
        state = self._drawn(state)
        worlds = state.worlds
        queried = ExplainedAtom.of(state.question, worlds.ground.evidence)
        return likeliest(worlds, (queried.predicate, queried.row), most)


@dataclass(eq=False)
class _Trial:
    """A run that reuses the circuit compiled, if any, when its cost was estimated."""

    engine: CircuitEngine
    program: Program
    question: Question
    within: Budget
    tried: CircuitState | None = None

    def begin(self) -> CircuitState | WholeTables:
        if self.tried is None and self.program.uncertain:
            tables = in_whole_tables(self.program, self.question, self.engine.budget)
            if tables is not None:
                return tables
        return self.tried or self.engine.started(self.program, self.question)

    def cost(self) -> Cost | Refusal:
        """Cost of the run, or a refusal.

        With choices, counts of uncertain atoms, or queries that other engines would split into too many
        cases, this engine is taken at whatever cost, as it is not known beforehand. Other theories are
        compiled with little work to see whether that is enough.
        """
        if self.program.uncertain or any(map(has_many_cases, self.question.formulas)):
            return Cost(guarantee=Guarantee.EXACT)
        if self.question.most_probable or not self.program.states_laws:
            return _only_by_name("only compiling shows how large its circuit becomes")
        if self.question.explained:
            return _only_by_name("it explains by choices alone")
        try:
            if cell_count(self.program) > TRIED_ROWS:
                return _only_by_name("its tables have many cells")
            if not self._is_mostly_hard():
                return _only_by_name("weighted groundings are more than hard ones")
            state = replace(self.engine, budget=self.within).started(self.program, self.question)
            compilation = state.begun()
            circuit = compilation.advanced(TRIED_WORK)
        except BudgetError as error:
            return Refusal(error)
        if circuit is None:
            return _only_by_name("its circuit is not compiled with little work")
        state.worlds.budget = self.engine.budget  # the run begins, the estimate is over
        self.tried = state.with_counts(*compilation.counted(circuit))
        return Cost(float(circuit.size), 16.0 * circuit.size, Guarantee.EXACT)

    def _is_mostly_hard(self) -> bool:
        rows = ground(in_cells(self.program), self.within, TRIED_ROWS).templates
        hard = sum(len(one.conjunction) for one in rows if one.template.weight is None)
        return 2 * hard >= sum(len(one.conjunction) for one in rows)


def _only_by_name(why: str) -> Refusal:
    return Refusal(UnsupportedError(f"{why}; --engine circuit tries it"))


def _reach_of(reach: np.ndarray, literal: int) -> float:
    """Distance of a literal's probability from its share, at most; 0 for constant literals, which have no
    variable."""
    return float(reach[literal]) if literal >= 0 else 0.0


def _asked(worlds: Worlds, question: Question) -> tuple[tuple[tuple[str, np.ndarray], ...], tuple[int, ...]]:
    """The atoms that a question names, and the latent ones among them; makes their literals."""
    ground, axes = worlds.ground, list[int]()
    sparse = _sparse(ground.evidence, worlds.derived)
    short = {pattern.predicate for pattern in question.atoms if pattern.possible}
    short |= worlds.program.signature.calls.keys()  # of which nothing else is known
    possible = {name: worlds.possible(name) for name in sparse | short & worlds.derived}
    listed = list(queried_codes(ground.evidence, question, possible))
    for predicate, codes in listed:
        latent = ground.evidence.known(predicate).latent(codes)
        if predicate in worlds.derived - sparse:  # all others have probability 0
            latent = latent[places_among(worlds.possible(predicate), latent) >= 0]
        if len(latent):
            axes.extend(ground.atoms.numbers(predicate, latent).tolist())
    for axis in axes:
        worlds.axis(axis)
    return tuple(listed), tuple(axes)


def _patterns(worlds: Worlds, question: Question) -> Iterator[tuple[str, Sequence[int]]]:
    """The patterns to solve: derived atoms that may be asked for."""
    signature = worlds.program.signature
    predicates = signature.predicates
    if question.everything:
        stated = sorted(name for name in worlds.derived if name in signature.listed)
        yield from ((name, (ANY,) * len(predicates[name].column_types)) for name in stated)
    for pattern in question.atoms:
        if pattern.predicate in worlds.derived:
            arguments = [a if isinstance(a, int) else ANY for a in pattern.arguments]
            valued = predicates[pattern.predicate].value_type is not None
            yield pattern.predicate, [*arguments, ANY] if valued else arguments


def _sparse(evidence: Evidence, derived: Iterable[str]) -> set[str]:
    """The derived predicates that list only atoms that may hold, as all would be too many."""
    return {name for name in derived if evidence.known(name).latent_count() > MOST_LISTED}


def _marked(
    tables: Iterable[AtomTable], question: Question, sparse: Collection[str]
) -> tuple[AtomTable, ...]:
    """The tables, marked where they list only atoms that may hold."""
    if not sparse:
        return tuple(tables)
    short = {name for name in sparse if question.lists(name)}
    return tuple(replace(t, only_possible=True) if t.predicate in short else t for t in tables)


def _left_out(state: CircuitState, likeliest: bool) -> float:
    """Log-weight of latent atoms that have no literals, each with its number of values; 0 for the likeliest
    world."""
    if likeliest:
        return 0.0
    ground = state.worlds.ground
    return sum(
        math.log(ground.program.value_count(name)) * (count - state.worlds.named(name))
        for name, count in ground.atoms.counts.items()
        if name not in state.worlds.derived
    )


def _contradiction(worlds: Worlds) -> ContradictionError:
    """The error that names a minimal set of evidence, or of hard statements, that holds in no world; every
    hard statement if the search takes longer than ``BLAMING``."""
    needed = worlds.made.smallest_evidence(worlds.budget)
    if needed:
        return impossible_evidence(needed)
    grounded, budget = worlds.ground, worlds.budget.at_most(BLAMING)
    try:
        by_facts = smallest_in_cells(grounded, budget, _satisfiable(budget))
        return by_facts or _smallest_derived(grounded, budget)
    except BudgetError:
        return every_hard_statement(grounded.program)


def _smallest_derived(grounded: Ground, budget: Budget) -> ContradictionError:
    """The error that names a minimal set of hard statements that contradict each other where choices, rules
    and counts derive atoms; it names none where these leave no world by themselves."""

    def impossible(kept: Sequence[int]) -> bool:
        worlds = Worlds(only_hard(grounded, kept), budget)
        worlds.solve(worlds.stated)
        worlds.add_formulas()
        return not is_possible(worlds.net, budget)

    everything = hard_statements(grounded)
    needed = smallest(everything, impossible) if impossible(everything) else []
    if needed:
        return naming(grounded, needed, "the facts, choices and rules")
    return ContradictionError(
        "no world satisfies the hard statements together with the choices and what rules derive"
    )


def _satisfiable(budget: Budget) -> Callable[[FactorGraph, int], bool]:
    def satisfiable(graph: FactorGraph, _: int) -> bool:
        worlds = WeightedConstraints()
        worlds.add(graph, lambda axis: worlds.add_axis(int(graph.sizes[axis])), budget)
        return is_possible(worlds.net, budget)

    return satisfiable
