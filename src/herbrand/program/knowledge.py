"""A theory with its facts, read and lowered on demand for each call.

>>> from herbrand.language.parse import parse_theory
>>> theory = parse_theory('1.5: smokes(x) and friends(x, y) => smokes(y)')
>>> knowledge = Knowledge(theory, {"friends": [("anna", "bob")]})
>>> len(knowledge.program().templates)
2
>>> knowledge.states("bounds")
False
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence, Set
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar, cast

from herbrand.budget import UNLIMITED, Budget
from herbrand.errors import ContradictionError, LanguageError, UnsupportedError, nearest
from herbrand.extras import later
from herbrand.facts.facts import Facts, Worlds
from herbrand.facts.load import Reads, load_facts
from herbrand.facts.source import FactSource, fact_sources
from herbrand.language.check import check
from herbrand.language.comparisons import computes, plain_variables, tests_of
from herbrand.language.computed import Definition, separated, with_inner
from herbrand.language.formulas import And, Atom, Constant, Formula, Value
from herbrand.language.names import is_made
from herbrand.language.network_choices import with_network_tables
from herbrand.language.parse import parse_literal
from herbrand.language.show import show_atom
from herbrand.language.signature import Predicate, Signature
from herbrand.language.syntax import (
    Bound,
    Choice,
    FactRows,
    NetworkTable,
    Rule,
    WeightedFormula,
    formulas_in,
    predicates_of,
)
from herbrand.language.theory import Theory
from herbrand.options.kinds import texts
from herbrand.program.dependencies import (
    Depth,
    as_rules,
    derived_by,
    refuse_weighted,
    resting_on_choices,
    resting_on_weights,
    unusable_by,
    weighted_predicates,
)
from herbrand.program.lower import in_cells, lower
from herbrand.program.program import Program
from herbrand.program.question import named_atoms, refuse_uncalled
from herbrand.program.remarks import may_be_new, new_constants, new_predicates, remarks
from herbrand.program.usable import IGNORABLE, KINDS, refuse_unusable

_Asked = TypeVar("_Asked", WeightedFormula, Rule, Bound)
_Found = TypeVar("_Found")
_Key = TypeVar("_Key", bound=Hashable)

_with_computed = later("herbrand.program.computed_rows:with_computed")
_derived = later("herbrand.program.derive:derived")
"""Loaded only for theories that compute, and for those that have rules."""

MOST_WORLDS = 16
"""Most programs kept, each with different evidence; the least recently used one is dropped first."""


def latest(kept: dict[_Key, _Found], key: _Key, make: Callable[[], _Found]) -> _Found:
    """Program that is ``kept`` for some evidence, or is made and kept from now on.

    >>> kept = {}
    >>> [latest(kept, number % 20, lambda: number) for number in (3, 4, 23)], [*kept]
    ([3, 4, 3], [4, 3])
    """
    program = kept.pop(key) if key in kept else make()
    if len(kept) >= MOST_WORLDS:
        del kept[next(iter(kept))]
    kept[key] = program  # the most recently used one is last
    return program


@dataclass(frozen=True)
class _World:
    """Key of a lowered program: the evidence ``given`` in a call, the ``queried`` predicates, and whether
    rules are applied (``derived``) and formulas of too many cases ``divided``."""

    given: tuple[str, ...]
    queried: frozenset[str]
    derived: bool
    divided: bool = False


@dataclass(frozen=True)
class _Loaded:
    """Signature and facts of one call. ``counting``: rules that count over uncertain predicates, so that no
    table could hold their results."""

    signature: Signature
    facts: Facts
    counting: tuple[Rule, ...] = ()

    def certain(self) -> tuple[Signature, Facts]:
        """Signature and facts, for commands that cannot use counting rules; raise UnsupportedError if there
        are any."""
        for rule in self.counting[:1]:
            raise unusable_by("this command", rule, self.signature)
        return self.signature, self.facts


@dataclass(frozen=True)
class _Lowered:
    """A lowered program; ``resting`` gives the reason for each predicate that depends on weights of
    proofs."""

    program: Program
    resting: Mapping[str, str]

    @cached_property
    def in_cells(self) -> Program:
        """The program with a template for each cell of a network's tables."""
        return in_cells(self.program)


class Knowledge:
    """A theory with its facts, which are read on first use, and only once for all evidence given beside them.

    ``open``, ``closed`` and ``header`` are those of :func:`~herbrand.facts.load.load_facts`; ``ignored``:
    kinds of statements (``IGNORABLE``) that are left out.
    """

    def __init__(
        self,
        theory: Theory,
        facts: Any = None,
        *,
        open: str | Iterable[str] = (),
        closed: str | Iterable[str] = (),
        header: bool | None = None,
        ignored: str | Iterable[str] = (),
        progress: Callable[[str, float], None] | None = None,
        note: Callable[[str], None] | None = None,
    ) -> None:
        self.theory = theory
        self.separated = separated(theory)
        self.signature: Signature = check(theory, self.separated)
        self.sources: tuple[FactSource, ...] = fact_sources(facts)
        self.open, self.closed = texts(open), texts(closed)
        self.header, self.progress = header, progress
        self.notes: dict[str, None] = {}
        self._note = note
        self._ignored = frozenset(texts(ignored))
        self._asked, self._questions = frozenset[str](), Theory(())
        self._programs: dict[_World, _Lowered] = {}
        self._reads = Reads()
        self.depth: Depth | None = None
        unknown = self._ignored - set(IGNORABLE)
        if unknown:
            raise UnsupportedError(f"cannot ignore '{min(unknown)}'", hint=f"one of {', '.join(IGNORABLE)}")

    @cached_property
    def used(self) -> Theory:
        """The theory without ignored statements; choices that make up a Bayesian network are converted to its
        tables."""
        used = self._with_helpers(self._without_ignored(self.separated.theory))
        return with_network_tables(used, self.signature) if used.choices or used.tables else used

    @property
    def used_as_written(self) -> Theory:
        """The theory without ignored statements, with its computations, and choices as they are written."""
        return self._without_ignored(self.theory)

    def _without_ignored(self, theory: Theory) -> Theory:
        if not self._ignored:
            return theory
        dropped = tuple(kind for name in self._ignored for kind in KINDS[name])
        return replace(theory, statements=tuple(s for s in theory.statements if not isinstance(s, dropped)))

    def _with_helpers(self, theory: Theory) -> Theory:
        """Add the helper rules that derive atoms which its statements, or questions, name."""
        if self._ignored and self.separated.helpers:
            named = self._asked.union(*map(predicates_of, theory.statements))
            generated = {name for name in named if is_made(name)}
            helpers = (x for x in self.separated.helpers if not generated.isdisjoint(predicates_of(x)))
            return theory + Theory(tuple(helpers))
        return theory + Theory(self.separated.helpers) if self.separated.helpers else theory

    @property
    def definitions(self) -> tuple[Definition, ...]:
        """Definitions of what the statements in use compute."""
        if not self._ignored:
            return self.separated.definitions
        named = self._asked.union(*map(predicates_of, self.used.statements))
        return tuple(one for one in self.separated.definitions if one.head.predicate in named)

    def opening(self, predicates: Collection[str]) -> Knowledge:
        """A copy with these predicates open, so that computations do not rely on the facts of their
        tables."""
        if not self.definitions or not predicates:
            return self
        known = copy(self)
        known.open, known._programs = (*self.open, *predicates), {}
        return known

    def to_depth(self, depth: Depth) -> Knowledge:
        """A copy in which recursion that makes values without end ends there."""
        known = copy(self)
        known.depth, known._programs = depth, {}
        return known

    def asking(self, queries: Sequence[Formula]) -> tuple[Knowledge, tuple[Formula, ...]]:
        """A copy that computes what queries contain in separate tables, and the queries rewritten over these;
        queries without computation stay as they are."""
        asked = tuple(WeightedFormula(0.0, query, span=query.span) for query in queries if computes(query))
        if not asked:
            return self, tuple(queries)
        known, formulas = self._with_asked(asked, lambda statement: statement.formula)
        over_tables = iter(formulas)
        return known, tuple(next(over_tables) if computes(query) else query for query in queries)

    def asking_probabilities(self, queries: tuple[Bound, ...]) -> tuple[Knowledge, tuple[Bound, ...]]:
        """As ``asking``, for probabilities with computed values, each given as a bound from 0 to 1."""
        return self._with_asked(queries, lambda bound: bound) if queries else (self, ())

    def asking_goal(
        self, literals: Sequence[Formula], computed: Collection[str]
    ) -> tuple[Knowledge, Formula]:
        """As ``asking``, for a goal of rules, whose variables may get their values by equations; ``computed``
        variables are not part of the answer."""
        compared = {name: x for test in tests_of(literals)[1] for name, x in plain_variables(test).items()}
        head = Atom("`goal`", tuple(x for name, x in compared.items() if name not in computed))
        goal_rule = Rule(head, tuple(literals), span=literals[0].span)  # type: ignore[arg-type]
        known, (formula,) = self._with_asked((goal_rule,), lambda rule: And(rule.body, rule.span))
        return known, formula

    def _with_asked(
        self, asked: tuple[_Asked, ...], formula_of: Callable[[_Asked], _Found]
    ) -> tuple[Knowledge, tuple[_Found, ...]]:
        questions = Theory(asked)
        theory = self.theory + questions
        signature = check(theory)
        if not signature.strict:
            known, named = self.facts()[0].predicates, signature.named
            for atom in named_atoms(f for one in asked for f in formulas_in(one)):
                name = atom.predicate
                if name in named and name not in known:
                    hint = nearest(name, known)
                    raise LanguageError(f"there is no predicate '{name}'", span=atom.span, hint=hint)
        whole = separated(theory)
        own = self.separated.theory
        known = copy(self)
        known.__dict__.pop("used", None)
        known.separated = replace(whole, theory=own)
        known.signature = replace(signature, mentioned=self.signature.mentioned)
        known._asked = frozenset(
            one.head.predicate for one in whole.definitions[len(self.separated.definitions) :]
        )
        known._questions = questions
        known._programs = {}
        stated = whole.theory.statements[len(own.statements) :]
        return known, tuple(formula_of(cast(_Asked, statement)) for statement in stated)

    @cached_property
    def _declared(self) -> bool:
        """Whether declarations give every predicate its world, so that no query can change any."""
        return self.signature.strict and all(declared.tells_world for declared in self.theory.predicates)

    @property
    def _in_tables(self) -> set[str]:
        """Variables whose choices were converted to tables, so that nothing derives them."""
        return {table.scope[-1] for table in self.used.tables if table.conditional}

    @property
    def _derived_names(self) -> set[str]:
        """Predicates that rules and choices derive, those of generated rules included."""
        helpers = self.separated.helpers
        return self.theory.derived.keys() | (Theory(helpers).derived.keys() if helpers else ())

    @property
    def rules(self) -> Sequence[Rule]:
        """Rules of the theory, unless they are ignored."""
        return self.used.rules

    def states(self, *names: str) -> bool:
        """Whether some statement in use is of one of these kinds."""
        kinds = tuple(kind for name in names for kind in KINDS[name])
        return any(isinstance(statement, kinds) for statement in self.used.statements)

    @property
    def draws(self) -> bool:
        """Whether statements sample worlds: choices, or tables of conditional probabilities, to which the
        choices of a whole network are converted."""
        return any(
            isinstance(statement, Choice) or (isinstance(statement, NetworkTable) and statement.conditional)
            for statement in self.used.statements
        )

    def refuse_unusable(self, command: str, *usable: str) -> None:
        """Raise UnsupportedError if statements in use are of kinds that the command cannot use."""
        if self.states(*(name for name in KINDS if name not in usable)):
            refuse_unusable(self.used.statements, command, *usable)

    def program(
        self,
        given: Sequence[str] = (),
        queried: Collection[str] = (),
        *,
        derived: bool = True,
        whole_tables: bool = False,
        divided: bool = False,
        budget: Budget = UNLIMITED,
    ) -> Program:
        """Lower the theory over its facts and what is ``given``; ``derived``: with what its rules derive.

        ``whole_tables``: keep tables of networks whole; otherwise each cell becomes a template. ``divided``:
        add latent atoms for parts of formulas of too many cases.
        """
        lowered = self._known(given, queried, derived, divided, budget)
        return lowered.program if whole_tables else lowered.in_cells

    def resting_on_weights(
        self, given: Sequence[str] = (), queried: Collection[str] = ()
    ) -> Mapping[str, str]:
        """Reasons for the predicates of the same program that depend on weights of proofs."""
        return self._known(given, queried, True, True).resting

    def _known(
        self,
        given: Sequence[str],
        queried: Collection[str],
        derived: bool,
        divided: bool,
        budget: Budget = UNLIMITED,
    ) -> _Lowered:
        named = frozenset[str]() if self._declared else frozenset(queried)
        world = _World(tuple(given), named, derived, divided)
        return latest(self._programs, world, lambda: self._lowered(world, budget))

    def facts(self, given: Sequence[str] = (), budget: Budget = UNLIMITED) -> tuple[Signature, Facts]:
        """Signature and facts, before rules derive more; computations are over the listed facts, in open
        worlds too."""
        rows, signature = self.with_given(given)
        return self._listed(rows, signature, None, budget)

    def facts_with_derived(self, budget: Budget) -> tuple[Signature, Facts]:
        """Signature and facts with all that rules derive, whatever the weights of proofs."""
        signature, facts = self.facts((), budget)
        return signature, _derived(self.rules, signature, facts, budget)

    def facts_apart(self, given: Sequence[str], budget: Budget = UNLIMITED) -> tuple[Signature, Facts]:
        """Signature and facts without the evidence ``given`` as true or false, over domains with its
        constants."""
        rows, signature = self.with_given(given)
        evidence = self.evidence(given)
        others = [row for row in rows if row not in evidence]
        return self._listed(others, signature, mentioned_with(signature, evidence), budget)

    def evidence(self, given: Sequence[str]) -> tuple[FactRows, ...]:
        """Evidence that is given as true or false."""
        return evidence_of(given, self.signature)

    def open_facts(
        self, more: Sequence[FactSource] = (), budget: Budget = UNLIMITED
    ) -> tuple[Signature, Facts]:
        """Signature and facts with ``more`` tables, all predicates open: what no table lists is unknown."""
        signature, worlds = self.signature, Worlds(open=self.signature.predicates)
        loaded = self._loaded((), signature, worlds, more, listed=signature.observed, budget=budget)
        certain, facts = loaded.certain()
        self.refuse_unknown_worlds(certain)
        return certain, facts

    def refuse_unknown_worlds(self, signature: Signature) -> None:
        """Raise an error if a predicate set open or closed does not exist."""
        self._worlds.check(signature.predicates)

    def _listed(
        self,
        rows: Sequence[FactRows],
        signature: Signature,
        mentioned: Mapping[str, Sequence[Value]] | None,
        budget: Budget,
    ) -> tuple[Signature, Facts]:
        worlds, listed = self._worlds, signature.predicates
        loaded = self._loaded(
            rows, signature, worlds, mentioned=mentioned, listed=listed, complete=False, budget=budget
        )
        return loaded.certain()

    @property
    def _worlds(self) -> Worlds:
        return Worlds(open=self.open, closed=self.closed)

    def _lowered(self, world: _World, budget: Budget) -> _Lowered:
        rows, signature = self.with_given(world.given)
        uncertain = resting_on_choices(self.used.choices, self.rules) if world.derived else ()
        chosen = derived_by(uncertain)
        apart = self._on_certain(world, chosen)
        loaded = self._loaded_beside(apart, world, rows, signature, budget)
        more = self._uncertain_with(loaded, uncertain, chosen)
        if more != uncertain:
            uncertain, chosen = more, derived_by(more)
            apart = self._on_certain(world, chosen)
            loaded = self._loaded_beside(apart, world, rows, signature, budget)
        facts = loaded.facts
        resting = self._resting(weighted_predicates(facts))
        rules = [rule for rule in self.rules if rule.head.predicate not in chosen] if world.derived else []
        if rules:
            refuse_weighted("this command", [row.predicate for row in apart], resting)
            facts = self._derived(rules, loaded, resting, budget)
        if loaded.signature.calls and world.derived:
            _refuse_uncalled(rows, chosen, loaded.signature, facts)
        for row in apart:
            refuse_disagreeing(row, _holds(row, loaded.signature, facts))
        refuse_weighted("this command", chosen, resting, beside_choices=True)
        facts = facts.opened(chosen.difference(self.closed))
        lowered = lower(
            self.used, loaded.signature, facts, uncertain=uncertain, final=True, divided=world.divided
        )
        return _Lowered(lowered, resting)

    def _resting(self, weighted: Sequence[str]) -> dict[str, str]:
        """Reasons for predicates that depend on weights: of facts of ``weighted`` predicates, or of rules."""
        if not weighted and all(rule.weight is None for rule in self.rules):
            return {}
        computing = (one.typing for one in with_inner(self.definitions))
        return resting_on_weights((*self.rules, *as_rules(self.used.choices), *computing), weighted)

    def _on_certain(self, world: _World, chosen: Set[str]) -> list[FactRows]:
        """Evidence on derived predicates that are not ``chosen``: it is no fact, as rules alone decide what
        holds."""
        if not world.derived or not world.given:
            return []
        heads = {rule.head.predicate for rule in self.rules} - chosen
        return [row for row in self.evidence(world.given) if row.predicate in heads]

    def _loaded_beside(
        self,
        apart: Sequence[FactRows],
        world: _World,
        rows: Sequence[FactRows],
        signature: Signature,
        budget: Budget,
    ) -> _Loaded:
        """Load the facts of one call without the evidence in ``apart``, over domains that include its
        constants."""
        heads = self._derived_names - self._in_tables
        unclosed = world.queried | self._open_without(rows, world.queried)
        worlds = Worlds(heads, unclosed, self.open, self.closed)
        others = [row for row in rows if row not in apart]
        mentioned = mentioned_with(signature, apart)
        return self._loaded(others, signature, worlds, mentioned=mentioned, budget=budget)

    def _uncertain_with(
        self, loaded: _Loaded, uncertain: tuple[Choice | Rule, ...], chosen: Set[str]
    ) -> tuple[Choice | Rule, ...]:
        """The uncertain statements with all rules that depend on open predicates, or count over uncertain
        ones.

        Facts of derived predicates are evidence beside choices, so no rule derives these predicates with
        certainty."""
        if not uncertain and not loaded.counting:
            return uncertain
        derived = self._derived_names
        unknown = {
            name
            for name, table in loaded.facts.tables.items()
            if name not in chosen and (table.fact_count if name in derived else table.world == "open")
        }
        if not unknown and not loaded.counting:
            return uncertain
        rules = (*self.rules, *dict.fromkeys(loaded.counting))
        return resting_on_choices(self.used.choices, rules, unknown)

    def _derived(
        self, rules: Sequence[Rule], loaded: _Loaded, resting: Mapping[str, str], budget: Budget
    ) -> Facts:
        try:
            return _derived(rules, loaded.signature, loaded.facts, budget)
        except ContradictionError:
            # An atom whose proofs have weights may be false: that is evidence, not a contradiction.
            heads = {rule.head.predicate for rule in self.rules}
            denied = [name for name in heads if len(loaded.facts.tables[name].false)]
            refuse_weighted("this command", denied, resting)
            raise

    def with_given(self, given: Sequence[str]) -> tuple[tuple[FactRows, ...], Signature]:
        """Evidence as rows of facts, and the signature extended by what it names."""
        rows = _literals(given, self.signature)
        if not rows:
            return rows, self.signature
        signature = check(self.theory + Theory(rows))
        if not self._asked:
            return rows, signature
        # Computations of questions have separate predicates; constants that only questions name do not count.
        whole = check(self.theory + self._questions + Theory(rows))
        return rows, replace(whole, mentioned=signature.mentioned)

    def _loaded(
        self,
        rows: Sequence[FactRows],
        signature: Signature,
        worlds: Worlds,
        more: Sequence[FactSource] = (),
        *,
        mentioned: Mapping[str, Sequence[Value]] | None = None,
        listed: Collection[str] = (),
        complete: bool = True,
        budget: Budget = UNLIMITED,
    ) -> _Loaded:
        """Load facts and compute definitions. ``listed``: predicates over whose listed rows values are
        computed, also in open worlds; ``complete``: raise if a many-valued one among them has an atom without
        a value."""
        signature, facts = load_facts(
            self.theory.facts,
            signature,
            (*self.sources, *more),
            given=rows,
            reads=None if more else self._reads,
            mentioned=mentioned,
            worlds=worlds,
            header=self.header,
            progress=self.progress,
            budget=budget,
        )
        loaded = _Loaded(signature, facts)
        if self.definitions:
            loaded = self._computed(loaded, listed, complete, budget)
        self.tell(loaded.facts.notes)
        if not more:  # a remark may be wrong for all worlds together
            self.tell(remarks(self.theory, signature, loaded.facts))
        if rows and may_be_new(rows, loaded.facts, signature, self.signature):
            before = self._loaded((), self.signature, worlds, budget=budget)
            self.tell(new_predicates(rows, before.facts.tables))
            self.tell(new_constants(rows, before.facts, signature))
        return loaded

    def _computed(self, loaded: _Loaded, listed: Collection[str], complete: bool, budget: Budget) -> _Loaded:
        """Add the rows that the theory's definitions compute; each predicate keeps its world."""
        signature, before = loaded.signature, loaded.facts.tables
        statements = (*self.used.rules, *self.used.choices)
        stated = _closed(loaded.facts, listed)
        facts, counting = _with_computed(
            self.definitions, statements, signature, stated, budget, complete, self.depth
        )
        worlds = {
            name: replace(table, world=before[name].world)
            for name, table in facts.tables.items()
            if not signature.predicates[name].computed and table.world != before[name].world
        }
        return _Loaded(signature, replace(facts, tables={**facts.tables, **worlds}), counting)

    def origin(
        self, predicate: Predicate, row: Sequence[int], holds: bool, given: Sequence[str], facts: Facts
    ) -> str:
        """Explanation why the truth value of an atom is known; the ``row`` of indices may end in its
        value."""
        constants = tuple(
            facts.domains[name].value(i) for name, i in zip(predicate.column_types, row, strict=True)
        )
        for one in self.evidence(given):
            if (one.predicate, one.row(0), one.kind == "true") == (predicate.name, constants, holds):
                return "is given by --given"
        place = self._reads.place_of(predicate, row, holds, facts.domains)
        if place is not None:
            return f"is given: {place}"
        if predicate.name in self.theory.derived:
            return "follows by rules from what is given" if holds else "holds, as no rule derives the atom"
        if holds or facts.tables[predicate.name].world == "open":
            return "is given by a fact"
        return f"holds, as no fact lists the atom and {predicate.name} is closed"

    def tell(self, notes: Iterable[str]) -> None:
        """Report each note once, however often facts are loaded."""
        for text in notes:
            if text not in self.notes:
                self.notes[text] = None
                if self._note is not None:
                    self._note(text)

    def _open_without(self, given: Sequence[FactRows], queried: frozenset[str]) -> frozenset[str]:
        """Undeclared predicates that only the evidence would close: evidence closes no world, so they stay
        open."""
        declared = {p.name for p in self.theory.predicates if p.tells_world}
        undeclared = {rows.predicate for rows in given} - declared
        if not undeclared:
            return frozenset()
        tables = self.program(queried=queried, divided=True).facts.tables
        return frozenset(p for p in undeclared if p not in tables or tables[p].world == "open")


def _closed(facts: Facts, names: Collection[str]) -> Facts:
    """The facts with these predicates closed, except those with soft evidence."""
    tables = {
        name: replace(table, world="closed") if name in names and not len(table.soft) else table
        for name, table in facts.tables.items()
    }
    return replace(facts, tables=tables)


def mentioned_with(signature: Signature, rows: Sequence[FactRows]) -> dict[str, list[Value]]:
    """Constants of formulas, and those of facts that are kept apart, by type."""
    mentioned = {name: list(values) for name, values in signature.mentioned.items()}
    for row in rows:
        types = signature.predicates[row.predicate].column_types
        for name, column in zip(types, row.columns, strict=True):
            mentioned.setdefault(name, []).extend(column)
    return mentioned


def _holds(given: FactRows, signature: Signature, facts: Facts) -> bool:
    """Whether the facts list the atom of a row of evidence."""
    row = facts.indices(signature.predicates[given.predicate].column_types, given.row(0))
    return bool((facts.tables[given.predicate].true == row).all(axis=1).any())


def _refuse_uncalled(given: Sequence[FactRows], chosen: Set[str], signature: Signature, facts: Facts) -> None:
    """Raise LanguageError for evidence on atoms that no query of their file calls: it is ``given``, or among
    the facts of ``chosen`` predicates."""
    told = [(row.predicate, row.row(0)) for row in given]
    for name in sorted(chosen & signature.calls.keys()):
        for listed in (facts.tables[name].true, facts.tables[name].false):
            told += [(name, row) for row in facts.rows(signature.predicates[name], listed)]
    for name, row in told:
        refuse_uncalled(Atom(name, tuple(map(Constant, row))), signature, facts)


def refuse_disagreeing(given: FactRows, holds: bool) -> None:
    """Raise ContradictionError if evidence disagrees with what rules derive from certain facts."""
    if holds != (given.kind == "true"):
        atom = show_atom(given.predicate, given.row(0))
        raise ContradictionError(
            f"the evidence has probability 0: {atom} is given as {'false' if holds else 'true'}, and the "
            f"rules {'derive it' if holds else 'do not derive it'}",
            span=given.span,
            hint="give facts of what the rules derive it from",
        )


def evidence_of(given: Sequence[str], signature: Signature) -> tuple[FactRows, ...]:
    """Evidence that is given as true or false."""
    return tuple(row for row in _literals(given, signature) if row.kind in ("true", "false"))


def _literals(given: Sequence[str], signature: Signature) -> tuple[FactRows, ...]:
    """Parse evidence, with overloaded predicate names resolved by arity."""
    rows = map(parse_literal, given)
    return tuple(
        replace(row, predicate=own)
        if (own := signature.of_arity(row.predicate, len(row.columns))) != row.predicate and not row.valued
        else row
        for row in rows
    )
