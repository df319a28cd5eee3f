"""The Python interface: a theory and its facts, with a method for each command.

>>> import herbrand as hb
>>> theory = hb.parse('1.5: smokes(x) and friends(x, y) => smokes(y)')
>>> model = hb.Model(theory, {"friends": [("anna", "bob")]})
>>> round(model.infer(given=['smokes("anna")'])['smokes("bob")'], 4)
0.8176
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from functools import cached_property, partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Unpack, cast, overload

from herbrand.answers.guarantee import Status
from herbrand.budget import UNLIMITED, Budget, budget_of, holds_database
from herbrand.engines.engine import Call, Settings, first_state, settings_from
from herbrand.engines.loop import run
from herbrand.engines.registry import engine_named, refuse_in_memory_only, refuse_unused, runs_on_database
from herbrand.errors import BudgetError, EndlessError, OutOfTimeError, UnsupportedError
from herbrand.extras import imported, member
from herbrand.facts.load import facts_too_large
from herbrand.facts.source import FactSource
from herbrand.language.arguments import in_formula
from herbrand.language.files import Paths, theory_of
from herbrand.language.parse import is_probability, parse_formula
from herbrand.language.show import show_formula
from herbrand.language.signature import Signature
from herbrand.language.syntax import (
    Atom,
    Bound,
    Query,
    Rule,
    Value,
)
from herbrand.language.theory import Theory
from herbrand.options.kinds import Text, check_functions, texts
from herbrand.options.table import COMMANDS, check, options_of, refuse_unknown
from herbrand.program.dependencies import Depth, refuse_resting, refuse_weighted
from herbrand.program.expansion import ManyInstancesError
from herbrand.program.knowledge import Knowledge, latest
from herbrand.program.program import Program
from herbrand.program.question import (
    Question,
    computing_goal,
    named_predicates,
    queried_predicates,
    read_explained,
    read_question,
    refuse_uncalled,
    with_own_names,
)
from herbrand.program.remarks import question_remarks

if TYPE_CHECKING:
    from herbrand.answers.bindings import Bindings
    from herbrand.answers.bounds import Bounds
    from herbrand.answers.explanation import Explanation, IntervalExplanation
    from herbrand.answers.marginals import Marginals
    from herbrand.answers.samples import Samples
    from herbrand.engines.choice import LatestChoice, Settled
    from herbrand.engines.circuit.engine import CircuitEngine
    from herbrand.engines.proof.engine import Goals
    from herbrand.learning.learned import Learning
    from herbrand.options.keywords import (
        BoundOptions,
        ExplainOptions,
        InferOptions,
        LearnOptions,
        QueryOptions,
        SampleOptions,
    )
    from herbrand.scale.inference import StoredModel
Texts = str | Iterable[str]
LEAVE_OUT_ON = "leave out on (--on), and give the facts by facts (--facts)"


class Model:
    """A theory with its facts. The facts are read once, when they are first needed.

    ``theory``: a theory, or the paths of theory files.
    ``facts``: paths, DataFrames, Arrow tables, a DuckDB connection, or lists of tuples by predicate.
    ``open`` and ``closed`` override the world assumption of predicates; ``header`` says whether text tables
    have one. ``on``: a database that holds the facts and does the work, such as ``duckdb:world.duckdb``.
    ``ignore``: kinds of statements to leave out, such as ``bounds``. ``note`` is called with each remark and
    ``progress`` with what is being read and how much of it.
    """

    def __init__(
        self,
        theory: Theory | Paths,
        facts: Any = None,
        *,
        open: Texts = (),
        closed: Texts = (),
        header: bool | None = None,
        ignore: Texts = (),
        on: str | None = None,
        progress: Callable[[str, float], None] | None = None,
        note: Callable[[str], None] | None = None,
    ) -> None:
        self._knowledge = Knowledge(
            theory_of(theory),
            facts,
            open=open,
            closed=closed,
            header=header,
            ignored=ignore,
            progress=progress,
            note=note,
        )
        if on is not None:
            Text(path=False).check("--on", on)
        check_functions(note=note, progress=progress)
        self._on = on
        self._progress = progress
        self._unconditioned: Any = None
        self._queried: dict[tuple[tuple[str, ...], bool], Any] = {}

    def __repr__(self) -> str:
        count = len(self.theory.statements)
        on = f" on {self._on}" if self._on is not None else ""
        return f"<Model of {count:,} statement{'' if count == 1 else 's'}{on}>"

    @cached_property
    def _latest(self) -> LatestChoice:
        """Cache of the engine that was chosen for the latest question of ``infer``."""
        return member("herbrand.engines.choice:LatestChoice")()

    @cached_property
    def _own_queries(self) -> dict[str, Query]:
        """Queries of the theory's file, by their texts."""
        return {show_formula(each.formula): each for each in self.theory.queries}

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on the facts: how tables were read, predicates without facts, constants that look alike.

        Complete once facts are read; ``note`` is called with each as soon as it is known."""
        return tuple(self._knowledge.notes)

    @property
    def theory(self) -> Theory:
        """The theory, with the statements that are ignored."""
        return self._knowledge.theory

    @property
    def signature(self) -> Signature:
        """The types and predicates of the theory."""
        return self._knowledge.signature

    @property
    def program(self) -> Program:
        """The theory lowered over its facts and the atoms that its rules derive from them."""
        self._refuse_on()
        return self._knowledge.program()

    def with_derived(self, within: Budget) -> Model:
        """A model with all derivable atoms listed once, over which goals of ``query`` are answered.

        Useful for many goals under ``--algebra boolean``: weights of proofs are left out.
        ``within``: the time and memory that deriving may take.
        """
        facts = self._knowledge.facts_with_derived(within)
        model = copy(self)
        model._unconditioned = _proof().of((), *facts)
        return model

    def restated(self, theory: Theory) -> Model:
        """A model of another theory over the same facts, with the same open and closed predicates."""
        known = self._knowledge
        return Model(theory, list(known.sources), open=known.open, closed=known.closed, header=known.header)

    @property
    def stated_program(self) -> Program:
        """The theory lowered over its stated facts, without rules."""
        return self.measured_program(UNLIMITED, derived=False)

    def stated_with_open(self, predicates: Sequence[str]) -> Program:
        """The same as :attr:`stated_program`, where no computed value may use facts of these predicates, as
        they take scores."""
        self._refuse_on()
        return self._knowledge.opening(predicates).program(derived=False)

    def measured_program(
        self, budget: Budget, derived: bool = True, given: Texts = (), queried: Collection[str] = ()
    ) -> Program:
        """The theory lowered within a ``budget``, with the evidence ``given``. ``derived``: whether with the
        atoms that its rules derive. ``queried``: predicates of the queries. Parts of formulas of many cases
        have atoms."""
        self._refuse_on()
        return self._knowledge.program(texts(given), queried, derived=derived, divided=True, budget=budget)

    def measured(
        self, budget: Budget, query: tuple[str, ...], given: tuple[str, ...], derived: bool = True
    ) -> tuple[Program, Question]:
        """The program of :meth:`measured_program` (``budget``, ``given`` and ``derived`` as there), and the
        question that ``query`` asks of ``infer``; an empty question if the theory states bounds.
        """
        if not self._knowledge.states("bounds"):
            return self._asked(query, given, False, budget, derived=derived)
        asking = importlib.import_module("herbrand.engines.credal.bounding")
        named = asking.queried_predicates(query, self.signature)
        return self.measured_program(budget, derived, given, named), Question()

    def infer(
        self,
        query: Texts = (),
        *,
        given: Texts = (),
        engine: str = "auto",
        map: bool = False,
        of: Texts = (),
        log_partition: bool = False,
        top: int | None = None,
        min: float | None = None,
        resume: bool = False,
        note: Callable[[str], None] | None = None,
        within: Budget | None = None,
        **options: Unpack[InferOptions],
    ) -> Marginals:
        """Marginal probabilities of latent atoms, or of what is queried here or by the theory's file.

        With ``map`` the most probable world, or the most probable values of some predicates and atoms,
        ``of``, with the rest summed out.

        ``query``: predicates, atoms or formulas. ``given``: evidence for this call, such as ``not rain``.
        ``engine``: its name, or ``auto``. ``log_partition``: the log of the sum over worlds is wanted too.
        ``top``: only so many atoms, the likeliest first. ``min``: only atoms of at least this probability.
        ``note`` is called with each remark.

        ``resume``: on a database, go on from the last step of a run that was cut off. ``within``: time and
        memory of which a part is used already; else the clock starts now. ``options``: how much the call may
        take and how the engine steps, as on the command line; one that the engine does not use is refused.
        Raises :class:`~herbrand.errors.HerbrandError` where the input is wrong or the work would not fit.
        """
        named = {"engine": engine, "map": map, "log_partition": log_partition}
        check("infer", {**named, "top": top, "min": min, "resume": resume})
        check_functions(note=note)
        refuse_unknown("infer", options)
        self._knowledge.refuse_unusable("infer", "weights", "rules", "choices")
        settings = settings_from(options, within)
        asked, chosen = texts(query), texts(of)
        own = {} if asked or chosen else {shown: each.text for shown, each in self._own_queries.items()}
        call = Call(asked or tuple(own), texts(given), engine, settings, map, top, min, resume, note)
        if chosen:
            return self._best_of(chosen, call)
        marginals = self._marginals(call)
        if not own:
            return marginals
        whole = not map and top is None and min is None
        marginals = marginals.with_unanswered(self._own_queries.values()) if whole else marginals
        return marginals.respelled(self.theory.spelled, own)

    def _marginals(self, call: Call) -> Marginals:
        """Compute the answer of :meth:`infer`."""
        budget = call.settings.budget
        if self._on is None:
            refuse_unused("infer", call.engine, call.settings)
        with self._elsewhere(budget, call.note, resume=call.resume, engine=call.engine) as there:
            if there is not None:
                return there.infer(call)
        try:
            question = self._asked(call.query, call.given, call.most_probable, budget)
            settled = self._settled(*question, call.engine, call.settings, call.note)
        except (OutOfTimeError, ManyInstancesError):
            raise
        except BudgetError as error:
            if not (runs_on_database("infer", call.engine) and holds_database(budget.bytes)):
                raise
            with _scratch().instead(self.stored_at, error, call.note) as there:
                return there.infer(call)
        return _read(settled, call.note).filtered(call.top, call.least)

    def _best_of(self, of: tuple[str, ...], call: Call) -> Marginals:
        """The most probable values of some atoms, the rest summed out."""
        if not call.most_probable:
            raise UnsupportedError(
                "--of names the atoms of a most probable world, and --map is missing",
                hint="infer --map --of PRED; map=True from Python and in a request",
            )
        if call.query:
            raise UnsupportedError(
                "--of and --query both name the atoms of a most probable world",
                hint="name them by --of, which sums the others out, or by --query, which does not",
            )
        drawing = member("herbrand.engines.choice:CHOICES")
        if call.engine not in ("auto", drawing):
            raise UnsupportedError(f"{call.engine} does not use --of", hint=f"--engine {drawing} does")
        if self._on is not None:
            raise UnsupportedError("--of runs in memory alone", hint=LEAVE_OUT_ON)
        _refuse_resuming(call.resume)
        refuse_unused("infer", drawing, call.settings)
        program, question = self._asked(of, call.given, True, call.settings.budget)
        if question.formulas:
            raise UnsupportedError(
                f"--of names predicates and atoms, and not formulas: {show_formula(question.formulas[0])}",
                hint="define a predicate by a rule and name it",
            )
        summed = replace(question, summed_out=True)
        settled = self._settled(program, summed, drawing, call.settings, call.note)
        return _read(settled, call.note).filtered(call.top, call.least)

    @property
    def on(self) -> str | None:
        """The database that the model is on, if any."""
        return self._on

    @property
    def stored(self) -> Any:
        """The model on its database."""
        return self.stored_at(importlib.import_module("herbrand.scale.place").place_of(self._on))

    @property
    def sources(self) -> tuple[FactSource, ...]:
        """Sources of the facts."""
        return self._knowledge.sources

    @property
    def tables_read(self) -> frozenset[str] | None:
        """Tables that are read from databases: those of declared predicates; None for all tables."""
        signature = self._knowledge.signature
        return frozenset(signature.predicates) if signature.strict else None

    @cached_property
    def cells(self) -> int:
        """Number of cells of the facts, as far as it is known without reading them."""
        return self._cells_in(self.sources)

    def _cells_in(self, sources: Iterable[FactSource]) -> int:
        read = self.tables_read
        return sum(source.cells(read) for source in sources)

    def stored_at(self, place: Any) -> Any:
        """The model on the database at ``place``."""
        return importlib.import_module("herbrand.scale.inference").StoredModel(place, self._knowledge)

    def bound(
        self,
        query: Texts = (),
        *,
        given: Texts = (),
        engine: str = "auto",
        resume: bool = False,
        note: Callable[[str], None] | None = None,
        progress: Callable[[str, float], None] | None = None,
        within: Budget | None = None,
        **options: Unpack[BoundOptions],
    ) -> Bounds:
        """Lower and upper probabilities of ``P(q | e)`` for every grounding, or of every atom.

        ``query``: atoms, formulas or ``P(q | e)``. ``given``: evidence for this call. ``engine``: its name,
        or ``auto``. ``note`` is called with each remark, ``progress`` with what is done and how much of it.
        ``within``: time and memory of which a part is used already.
        ``resume``: on a database, go on from the last sweep of a run that was cut off.
        ``options``: as on the command line; one that the engine does not use is refused.
        """
        asking = importlib.import_module("herbrand.engines.credal.bounding")
        refuse_unknown("bound", options)
        self._knowledge.refuse_unusable("bound", "bounds", "rules")
        check("bound", {"engine": engine, "resume": resume})
        check_functions(note=note, progress=progress)
        queries, chosen = texts(query), asking.bound_settings(options, within)
        refuse_unused("bound", engine, chosen)
        with self._elsewhere(chosen.budget, note, resume=resume) as there:
            if there is not None:
                return there.bound(queries, texts(given), engine, chosen, resume, note, progress)
        program, asked = self._with_tables(queries, texts(given), chosen.budget)
        return asking.bounded(program, asked, engine, replace(chosen, progress=progress), note)

    def explain(
        self,
        query: str,
        *,
        given: Texts = (),
        engine: str = "auto",
        top: int | None = None,
        note: Callable[[str], None] | None = None,
        within: Budget | None = None,
        **options: Unpack[ExplainOptions],
    ) -> Explanation | IntervalExplanation:
        """Explain an answer by the statements and groundings that contributed to it, heaviest first.

        An atom: its log-odds, or, where rules derive it, its weight by its proofs. ``P(q | e)``, and an atom
        of a theory of bounds: both ends of its interval. ``options`` are those of ``infer``, ``query`` or
        ``bound``, whichever explains.

        ``query``: one ground atom, a value of one, or ``P(q | e)``. ``given``: evidence for this call.
        ``engine``: the one whose answer is explained, or ``auto``. ``top``: only so many reasons. ``note`` is
        called with each remark. ``within``: time and memory of which a part is used already.
        """
        refuse_unknown("explain", options)
        check("explain", {**options, "engine": engine, "top": top})
        Text(path=False).check("--query", query)
        check_functions(note=note)
        chosen = {name: value for name, value in options.items() if value is not None}
        limits = budget_of(chosen) if within is None else within
        self._refuse_on()
        too_large = facts_too_large(self.cells, limits)
        if too_large is not None:
            raise BudgetError(f"{too_large.why}; explain runs in memory only", hint="allow more by --memory")
        asked = query.strip()
        derived = self.theory.derived.keys()
        self._knowledge.refuse_unusable("explain", "weights", "bounds", "rules", "choices")
        by_proofs = not is_probability(asked) and not self._knowledge.draws
        if by_proofs and queried_predicates((asked,), self.signature) & derived:
            _refuse_of_others("query", chosen)
            request = importlib.import_module("herbrand.engines.proof.request").Request.of(
                chosen | {"top": top}, limits
            )
            if self._knowledge.states("weights", "bounds"):  # refuses rules over what these leave open
                self.measured_program(limits, given=given)
            prover, goals = engine_named("query", engine, request), _goals(asked)
            begun = first_state(prover, self._rules(texts(given), limits), goals)
            return prover.explain(begun, Status(False, 0)).respelled(self.theory.spelled)
        bounds_only = self._knowledge.states("bounds") and not self._knowledge.states("weights")
        explained = self._explained_bounds if is_probability(asked) or bounds_only else self._explained_atom
        explanation = explained(asked, texts(given), engine, note, chosen, limits)
        explanation = explanation.respelled(self.theory.spelled)
        return explanation if top is None else explanation.top(top)

    def _explained_atom(
        self,
        query: str,
        given: tuple[str, ...],
        engine: str,
        note: Callable[[str], None] | None,
        options: Mapping[str, Any],
        budget: Budget,
    ) -> Explanation:
        self._knowledge.refuse_unusable("infer", "weights", "rules", "choices")
        kept = dict(options)
        proofs = kept.pop("proofs", None)
        _refuse_of_others("infer", kept)
        chosen = settings_from(kept, budget)
        refuse_unused("infer", engine, chosen)
        named = queried_predicates((query,), self.signature)
        program = self.measured_program(budget, given=given, queried=named)
        question = read_explained(query, program.signature, program.facts)
        origin = partial(self._knowledge.origin, given=given, facts=program.facts)
        known = member("herbrand.engines.reading:known_fact")(program, question, origin)
        if known is not None and not (program.uncertain or program.states_laws):
            return known
        settled = self._settled(program, question, engine, chosen, note)  # refuses what holds in no world
        return settled.explain(proofs) if known is None else known

    def _explained_bounds(
        self,
        query: str,
        given: tuple[str, ...],
        engine: str,
        note: Callable[[str], None] | None,
        options: Mapping[str, Any],
        budget: Budget,
    ) -> IntervalExplanation:
        self._knowledge.refuse_unusable("bound", "bounds", "rules")
        _refuse_of_others("bound", options)
        asking = importlib.import_module("herbrand.engines.credal.bounding")
        chosen = asking.bound_settings(options, budget)
        refuse_unused("bound", engine, chosen)
        program, (asked,) = self._with_tables((query,), given, budget)
        watched = replace(chosen, progress=self._progress)
        return asking.explained_bounds(program, asked, engine, watched, note)

    def _with_tables(
        self, queries: Sequence[str], given: tuple[str, ...], budget: Budget
    ) -> tuple[Program, tuple[str | Bound, ...]]:
        """The program of bounds, with tables for the values that queries compute, and the queries. Raises an
        error if these depend on weights of proofs."""
        self._refuse_on()
        asking = importlib.import_module("herbrand.engines.credal.bounding")
        named = asking.queried_predicates(queries, self.signature)
        knowledge, asked = asking.with_tables(queries, self._knowledge)
        program = knowledge.program(given, named, budget=budget)
        refuse_resting(program, "bound")
        if resting := self._knowledge.resting_on_weights(given, named):
            refuse_weighted("bound", asking.named_in(queries, self.signature), resting)
        return program, asked

    @overload
    def query(
        self,
        goal: str,
        *,
        bindings: Mapping[str, Sequence[Value]] | None = None,
        given: Texts = (),
        engine: str = "auto",
        within: Budget | None = None,
        **options: Unpack[QueryOptions],
    ) -> Bindings: ...

    @overload
    def query(
        self,
        goal: list[str] | tuple[str, ...],
        *,
        bindings: None = None,
        given: Texts = (),
        engine: str = "auto",
        within: Budget | None = None,
        **options: Unpack[QueryOptions],
    ) -> tuple[Bindings, ...]: ...

    def query(
        self,
        goal: str | list[str] | tuple[str, ...],
        *,
        bindings: Mapping[str, Sequence[Value]] | None = None,
        given: Texts = (),
        engine: str = "auto",
        within: Budget | None = None,
        **options: Unpack[QueryOptions],
    ) -> Bindings | tuple[Bindings, ...]:
        """The answers of a goal by the rules, heaviest first: constants for its variables, and a weight.

        ``goal``: a conjunction, ``path("a", x) and not closed(x)``. A list of goals gives a tuple of
        answers; ``bindings`` gives constants for some variables, a list each. ``given``: evidence for this
        call. ``engine``: its name, or ``auto``. ``within``: time and memory of which a part is used already.
        ``options``: as on the command line.
        """
        check("query", {"engine": engine})
        refuse_unknown("query", options)
        goals = _goals(goal, bindings)
        if self._knowledge.draws:
            return self._chosen(goals, given, engine, options, within)
        self._knowledge.refuse_unusable("query", "rules")
        request = importlib.import_module("herbrand.engines.proof.request").Request.of(options, within)
        if self.signature.calls:
            self._refuse_uncalled(goals, texts(given), request.budget)
        prover = engine_named("query", engine, request)
        several = () if isinstance(goal, str) else tuple(map(str, goals.each))
        if any(computing_goal(one, self.signature.valued_names) for one in several):
            within = request.budget  # each such goal has rules of its own
            result = (
                self.query(one, given=given, engine=engine, within=within, **options) for one in several
            )
            return tuple(result)
        asked = partial(self._proved, goal, goals, bindings, texts(given), prover, request)
        try:
            return asked(self._knowledge)
        except EndlessError:
            if "depth" not in options or isinstance(request.depth, str):
                raise
        depth = Depth(request.depth, goals.negated(self.signature))
        found = asked(self._knowledge.to_depth(depth))
        guarantee = request.guarantee(truncated=True)
        cut = [
            replace(one, truncated=True, guarantee=guarantee)
            for one in ((found,) if isinstance(goal, str) else found)
        ]
        return cut[0] if isinstance(goal, str) else tuple(cut)

    def _refuse_uncalled(self, goals: Goals, given: tuple[str, ...], budget: Budget) -> None:
        """Raise LanguageError for goals that the rules of a file derive only where its queries call them."""
        program = self._knowledge.program(given, budget=budget)
        for goal in map(str, goals.each):
            formula = parse_formula(goal, "<query>", self.signature.valued_names, computes=True)
            refuse_uncalled(with_own_names(formula, self.signature), program.signature, program.facts)

    def _proved(
        self,
        goal: Any,
        goals: Any,
        bindings: Mapping[str, Sequence[Value]] | None,
        evidence: tuple[str, ...],
        prover: Any,
        request: Any,
        knowledge: Knowledge,
    ) -> Any:
        """The answers of a goal, or of several, by proofs."""
        apart, own = request.algebra == "probability", knowledge is self._knowledge
        computing = computing_goal(goal, self.signature.valued_names) if isinstance(goal, str) else None
        if computing is not None:
            literals = [with_own_names(one, self.signature) for one in computing.literals]
            knowledge, asked = knowledge.asking_goal(literals, computing.made)
            goals = _goals(asked, bindings)
        result: Any
        with self._elsewhere(request.budget) as there:
            if there is not None:
                result = there.of(knowledge).query(goals, evidence, request)
            elif own and computing is None:
                result = run(prover, self._rules(evidence, request.budget, apart), goals)
            else:
                rules = _planned(knowledge, evidence, request.budget, apart and bool(evidence))
                result = run(prover, rules, goals)
        return result if computing is None else result.without(computing.made)

    def _chosen(
        self,
        goals: Goals,
        given: Texts,
        engine: str,
        options: Mapping[str, Any],
        within: Budget | None,
    ) -> Any:
        """Answers of a goal under choices: the marginals of the goal's atoms by ``infer``, as bindings; on a
        database, the results of joins."""
        drawn = importlib.import_module("herbrand.engines.circuit.answers")
        if goals.bindings is not None:
            raise UnsupportedError(
                "bindings do not go with choices (::)", hint="put the constants into the goal"
            )
        request, kept = drawn.request_of(options)
        if self._on is not None:
            self._knowledge.refuse_unusable("query", "rules", "choices")
            refuse_in_memory_only("query", engine)
            asked = {drawn.goal_atom(goal, self.signature).predicate for goal in goals.each}
            return self.stored.query(goals, texts(given), request, asked)

        def answers(goal: Any) -> Bindings:
            atom, rules = drawn.read_goal(goal, self.signature)
            model, asked = (self._deriving(atom, rules), ()) if rules else (self, goal)
            marginals = model.infer(asked, given=given, engine=engine, within=within, **kept)
            return drawn.answers(atom, marginals, request)

        bindings = tuple(map(answers, goals.each))
        return bindings if isinstance(goals.asked, tuple) else bindings[0]

    def _deriving(self, goal: Atom, rules: tuple[Rule, ...]) -> Model:
        """The model with rules for one atom, and that atom as its only query."""
        theory = self.theory + Theory(rules)
        return self.restated(replace(theory, queries=(Query(goal, show_formula(goal)),)))

    def sample(
        self,
        worlds: int = 1,
        *,
        given: Texts = (),
        within: Budget | None = None,
        **options: Unpack[SampleOptions],
    ) -> Samples:
        """Independent worlds from the distribution whose marginals ``infer`` gives, drawn exactly.

        Each of the ``worlds`` has the latent atoms that are true, what choices and rules derive among them.
        ``given``: evidence for this call. Equal seeds draw equal worlds. ``within``: time and memory of which
        a part is used already. ``options``: as on the command line.
        """
        refuse_unknown("sample", options)
        check("sample", options)
        options_of("sample")["worlds"].kind.check("--worlds", worlds)
        self._knowledge.refuse_unusable("sample", "weights", "rules", "choices")
        self._refuse_on()
        chosen = settings_from(options, within)
        program, question = self._asked((), texts(given), False, chosen.budget)
        engine = cast("CircuitEngine", engine_named("infer", "circuit", chosen))
        return engine.sample(program, question, worlds, chosen.seed)

    def _rules(self, given: tuple[str, ...], budget: Budget, apart: bool = False) -> Any:
        """The rules over the facts; their plans are kept for other goals. ``apart``: the literals given are
        evidence for conditioning and not among the facts."""
        if given:
            planned = partial(_planned, self._knowledge, given, budget, apart)
            return latest(self._queried, (given, apart), planned)
        if self._unconditioned is None:
            self._unconditioned = _planned(self._knowledge, (), budget, False)
        return self._unconditioned

    def learn(
        self,
        method: str = "auto",
        *,
        target: Texts = (),
        latent: Texts = (),
        worlds: Any = (),
        held_out: Any = None,
        watch: Callable[[Any], None] | None = None,
        note: Callable[[str], None] | None = None,
        within: Budget | None = None,
        **options: Unpack[LearnOptions],
    ) -> Learning:
        """The theory with weights in place of its ``?``, learned from the facts.

        Every predicate is closed unless it is ``latent``; ``target``: what is to be predicted. ``worlds``: a
        folder that holds a folder of facts for each world, or a list of facts; the model's own hold in all.
        ``held_out``: worlds likewise, to measure the weights on. ``method``: its name, or ``auto``.
        ``watch`` is called after each step, ``note`` with each remark. ``within``: time and memory of which a
        part is used already.
        ``options``: as on the command line; one that the method does not use is refused.
        """
        check("learn", {"method": method})
        check_functions(watch=watch, note=note)
        methods = imported("herbrand.learning.methods")
        choices = methods.choices_to_learn(self._knowledge.used_as_written, options.get("relearn", False))
        if method in ("auto", "likelihood") and choices is not None:
            chosen = replace(methods.settings_from(options, within), watch=watch)
            methods.refuse_unused("likelihood", chosen)
            unused = {
                "target": target,
                "latent": latent,
                "held-out": held_out,
                "l2": chosen.l2,
                "l1": chosen.l1,
            }
            self._refuse_on()
            return methods.learned_choices(choices, self._knowledge, worlds, unused, chosen)
        aim = (texts(target), (*texts(latent), *self._knowledge.open))
        chosen = replace(methods.settings_from(options, within), watch=watch, held_out=held_out)
        methods.refuse_unused(method, chosen)
        self._knowledge.refuse_unusable("learn", "weights", "rules")
        own = methods.separate_facts(worlds) if self._on is None else ()
        separate = methods.sources_apart(self._knowledge, own or [()])
        with self._elsewhere(chosen.budget, note, chain.from_iterable(separate)) as there:
            if there is not None:
                return there.learn(method, *aim, worlds, chosen)
        return methods.learned(method, self._knowledge, separate, aim, chosen)

    def _settled(
        self,
        program: Program,
        question: Question,
        name: str,
        settings: Settings,
        note: Callable[[str], None] | None,
    ) -> Settled:
        """The chosen engine with its final state."""
        if note is not None:
            for text in question_remarks(program, question, self._knowledge.used):
                note(text)
        return self._latest.settled(name, settings, program, question, note, self._progress)

    def _asked(
        self,
        query: Sequence[str],
        given: Sequence[str],
        map: bool,
        budget: Budget,
        *,
        derived: bool = True,
    ) -> tuple[Program, Question]:
        self._refuse_on()
        valued, knowledge = self.signature.valued_names, self._knowledge
        own = self._own_queries
        parsed = (
            own[text].formula
            if text in own
            else with_own_names(parse_formula(text, "<query>", valued, computes=True), self.signature)
            for text in query
        )
        queries = tuple(in_formula(formula) for formula in parsed)
        named, asked = queried_predicates(queries, self.signature), named_predicates(queries)
        knowledge, queries = knowledge.asking(queries)
        program = knowledge.program(
            given, named, derived=derived, whole_tables=True, divided=True, budget=budget
        )
        possible = all(text in own for text in query)
        question = read_question(queries, program.signature, program.facts, map, possible)
        if asked:
            draws, resting = self._knowledge.draws, knowledge.resting_on_weights(given, named)
            refuse_weighted("this command" if draws else "infer", asked, resting, beside_choices=draws)
        return program, question

    def _repr_svg_(self) -> str:
        """The theory, drawn in a notebook."""
        return member("herbrand.language.drawing:drawn")(self._knowledge.used).svg

    @contextmanager
    def _elsewhere(
        self,
        budget: Budget,
        note: Callable[[str], None] | None = None,
        sources: Iterable[FactSource] = (),
        *,
        resume: bool = False,
        engine: str = "auto",
    ) -> Generator[StoredModel | None, None, None]:
        """The model on its database, or on a scratch database where the facts, ``sources`` among them, are
        too large for memory; None where memory does. ``engine``: that of ``infer``."""
        if self._on is not None:
            yield self.stored
            return
        _refuse_resuming(resume)
        cells = self.cells + self._cells_in(sources)
        too_large = facts_too_large(cells, budget) if cells else None
        if too_large is None:
            yield None
            return
        with _scratch().scratch_model(self.stored_at, too_large, note, engine) as there:
            yield there

    def _refuse_on(self) -> None:
        """Raise an error if the facts are on a database; for commands that run in memory only."""
        if self._on is not None:
            raise UnsupportedError(
                f"only check, infer, query, bound, learn and compare run on {self._on}",
                hint=LEAVE_OUT_ON,
            )


def _refuse_of_others(command: str, options: Iterable[str]) -> None:
    """Raise UnsupportedError for an option of ``explain`` that the command which explains does not take."""
    for name in options:
        if name not in options_of(command):
            takers = ", ".join(
                other for other in COMMANDS if other != "explain" and name in options_of(other)
            )
            hint = (
                f"{f'it is an option of {takers}; ' if takers else ''}{command} explains this: leave it out"
            )
            raise UnsupportedError(f"{command} has no option '{name}'", hint=hint)


def _refuse_resuming(resume: bool) -> None:
    if resume:
        raise UnsupportedError(
            "only a run on a database can be resumed", hint="name one by on (--on duckdb:FILE)"
        )


def _read(settled: Settled, note: Callable[[str], None] | None) -> Marginals:
    """Read the answer from an engine's final state, and call ``note`` with its notes."""
    answer = settled.read()
    if note is not None:
        for text in answer.notes:
            note(text)
    return answer


def _planned(knowledge: Knowledge, given: tuple[str, ...], budget: Budget, apart: bool) -> Any:
    """The rules over the facts, with plans for goals."""
    facts = knowledge.facts_apart(given, budget) if apart else knowledge.facts(given, budget)
    return _proof().of(knowledge.rules, *facts, knowledge.evidence(given))


def _proof() -> Any:
    return importlib.import_module("herbrand.engines.proof.query").Proof


def _goals(goal: Any, bindings: Mapping[str, Sequence[Value]] | None = None) -> Any:
    """The question of ``query``: its goals and their bindings."""
    return importlib.import_module("herbrand.engines.proof.engine").Goals.of(goal, bindings)


def _scratch() -> Any:
    """Module for runs that do not fit into memory; imported late, as most calls never need it."""
    return importlib.import_module("herbrand.scale.scratch")
