"""A theory and its facts, read and lowered as each call needs them.

>>> from herbrand.language.parse import parse_theory
>>> theory = parse_theory('1.5: smokes(x) and friends(x, y) => smokes(y)')
>>> knowledge = Knowledge(theory, {"friends": [("anna", "bob")]})
>>> len(knowledge.program().templates)
2
>>> knowledge.states("bounds")
False
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar, cast

from herbrand.budget import UNLIMITED, Budget
from herbrand.errors import ContradictionError, LanguageError, UnsupportedError, nearest
from herbrand.extras import later
from herbrand.facts.facts import Facts, FactTable
from herbrand.facts.load import Reads, load_facts
from herbrand.facts.source import FactSource, fact_sources
from herbrand.language.check import check
from herbrand.language.computed import Definition, plain_variables, separated, tests_of
from herbrand.language.network_statements import with_network_tables
from herbrand.language.parse import parse_literal
from herbrand.language.show import show_atom
from herbrand.language.signature import Signature
from herbrand.language.syntax import (
    And,
    Atom,
    Choice,
    FactRows,
    Formula,
    Rule,
    Theory,
    Value,
    WeightedFormula,
    formulas_in,
    predicates_in,
    walk,
)
from herbrand.options.kinds import texts
from herbrand.program.dependencies import (
    derived_by,
    refuse_weighted,
    resting_on_choices,
    resting_on_weights,
    unusable_by,
    weighted_predicates,
)
from herbrand.program.lower import in_cells, lower
from herbrand.program.program import Program
from herbrand.program.remarks import may_be_new, new_constants, remarks
from herbrand.program.usable import IGNORABLE, KINDS, refuse_unusable

_Asked = TypeVar("_Asked", WeightedFormula, Rule)

_with_computed = later("herbrand.program.computed_rows:with_computed")
_derived = later("herbrand.program.derive:derived")
"""For theories that compute, and that have rules."""

MOST_WORLDS = 16
"""So many programs are kept, each with other evidence; the one not asked for the longest goes first."""


@dataclass(frozen=True)
class _World:
    """Which facts hold in one call: what is given beside those that are known, and what is asked for."""

    given: tuple[str, ...]
    queried: frozenset[str]
    derived: bool


@dataclass(frozen=True)
class _Lowered:
    """``resting``: why predicates rest on weights of proofs."""

    program: Program
    resting: Mapping[str, str]

    @cached_property
    def in_cells(self) -> Program:
        """The program with a template for each cell of a network's tables."""
        return in_cells(self.program)


class Knowledge:
    """Facts are read when first needed, and once for whatever is given beside them.

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
        unknown = self._ignored - set(IGNORABLE)
        if unknown:
            raise UnsupportedError(f"cannot ignore '{min(unknown)}'", hint=f"one of {', '.join(IGNORABLE)}")

    @cached_property
    def used(self) -> Theory:
        """The theory without what is ignored; choices that make up a Bayesian network are its tables."""
        dropped = tuple(kind for name in self._ignored for kind in KINDS[name])
        stated = self.separated.theory.statements
        kept = Theory(tuple(s for s in stated if not isinstance(s, dropped)))
        return with_network_tables(kept, self.signature)

    @property
    def definitions(self) -> tuple[Definition, ...]:
        """What the statements that are used compute."""
        if not self._ignored:
            return self.separated.definitions
        used = (formula for statement in self.used.statements for formula in formulas_in(statement))
        named = self._asked.union(*map(predicates_in, used))
        return tuple(one for one in self.separated.definitions if one.head.predicate in named)

    def asking(self, queries: Sequence[Formula]) -> tuple[Knowledge, tuple[Formula, ...]]:
        """The same with what queries compute in tables of their own, and the queries over these."""
        asked = tuple(WeightedFormula(0.0, query, span=query.span) for query in queries)
        return self._with_asked(asked, lambda statement: statement.formula)

    def asking_goal(self, literals: Sequence[Formula]) -> tuple[Knowledge, Formula]:
        """The same for a goal of rules, whose variables an equation may give their values."""
        compared = {name: x for test in tests_of(literals)[1] for name, x in plain_variables(test).items()}
        head = Atom("`goal`", tuple(compared.values()))
        asked = Rule(head, tuple(literals), span=literals[0].span)  # type: ignore[arg-type]
        known, (found,) = self._with_asked((asked,), lambda rule: And(rule.body, rule.span))
        return known, found

    def _with_asked(
        self, asked: tuple[_Asked, ...], formula_of: Callable[[_Asked], Formula]
    ) -> tuple[Knowledge, tuple[Formula, ...]]:
        questions = Theory(asked)
        theory = self.theory + questions
        signature = check(theory)
        if not signature.strict:
            known, named = self.facts()[0].predicates, signature.named
            for part in (p for one in asked for f in formulas_in(one) for p in walk(f)):
                if isinstance(part, Atom) and part.predicate in named and part.predicate not in known:
                    name = part.predicate
                    hint = nearest(name, known)
                    raise LanguageError(f"there is no predicate '{name}'", span=part.span, hint=hint)
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
        """Whether declarations give every predicate its world, so that no query decides any."""
        return self.signature.strict and all(declared.tells_world for declared in self.theory.predicates)

    @property
    def _in_tables(self) -> set[str]:
        """Variables whose choices are kept as tables: nothing derives them."""
        return {table.scope[-1] for table in self.used.tables if table.conditional}

    @property
    def rules(self) -> Sequence[Rule]:
        """Its rules, unless they are ignored."""
        return self.used.rules

    def states(self, *names: str) -> bool:
        """Whether some statement that is used is of one of these kinds."""
        kinds = tuple(kind for name in names for kind in KINDS[name])
        return any(isinstance(statement, kinds) for statement in self.used.statements)

    def refuse_unusable(self, command: str, *usable: str) -> None:
        """Statements of a kind that a command cannot use are errors, unless they are ignored."""
        if self.states(*(name for name in KINDS if name not in usable)):
            refuse_unusable(self.used.statements, command, *usable)

    def program(
        self,
        given: Sequence[str] = (),
        queried: Collection[str] = (),
        *,
        derived: bool = True,
        whole_tables: bool = False,
        budget: Budget = UNLIMITED,
    ) -> Program:
        """The theory lowered over its facts and what is ``given``, with what its rules derive, or without.

        ``whole_tables``: tables of networks are kept whole; else each cell is a template.
        """
        found = self._known(given, queried, derived, budget)
        return found.program if whole_tables else found.in_cells

    def resting_on_weights(
        self, given: Sequence[str] = (), queried: Collection[str] = ()
    ) -> Mapping[str, str]:
        """Why predicates of the same program rest on weights of proofs."""
        return self._known(given, queried, True).resting

    def _known(
        self, given: Sequence[str], queried: Collection[str], derived: bool, budget: Budget = UNLIMITED
    ) -> _Lowered:
        world = _World(tuple(given), frozenset() if self._declared else frozenset(queried), derived)
        found = self._programs.pop(world, None) or self._lowered(world, budget)
        if len(self._programs) >= MOST_WORLDS:
            del self._programs[next(iter(self._programs))]
        self._programs[world] = found  # the last one asked for stands last
        return found

    def facts(self, given: Sequence[str] = (), budget: Budget = UNLIMITED) -> tuple[Signature, Facts]:
        """The vocabulary and the facts, before rules derive more; what is computed is of what is listed."""
        rows, signature = self._with(given)
        return self._loaded(
            rows,
            signature,
            open=self.open,
            closed=self.closed,
            listed=signature.predicates,
            complete=False,
            budget=budget,
        )

    def facts_with_derived(self, budget: Budget) -> tuple[Signature, Facts]:
        """The same with all that rules derive, whatever weights their proofs have."""
        signature, facts = self.facts((), budget)
        return signature, _derived(self.rules, signature, facts, budget)

    def facts_apart(self, given: Sequence[str], budget: Budget = UNLIMITED) -> tuple[Signature, Facts]:
        """The same without what is ``given`` as true or false, over domains that have its constants."""
        rows, signature = self._with(given)
        evidence = self.evidence(given)
        others = [row for row in rows if row not in evidence]
        mentioned = mentioned_with(signature, evidence)
        return self._loaded(
            others,
            signature,
            open=self.open,
            closed=self.closed,
            mentioned=mentioned,
            listed=signature.predicates,
            complete=False,
            budget=budget,
        )

    @staticmethod
    def evidence(given: Sequence[str]) -> tuple[FactRows, ...]:
        """What is given as true or false."""
        return tuple(row for row in map(parse_literal, given) if row.kind in ("true", "false"))

    def open_facts(
        self, more: Sequence[FactSource] = (), budget: Budget = UNLIMITED
    ) -> tuple[Signature, Facts]:
        """The same with those of ``more`` tables, and no world closed: what no table lists is unknown."""
        names = self.signature.predicates
        return self._loaded(
            (), self.signature, more, open=names, listed=self.signature.observed, budget=budget
        )

    def _lowered(self, world: _World, budget: Budget) -> _Lowered:
        rows, signature = self._with(world.given)
        counting = list[Rule]()
        uncertain = resting_on_choices(self.used.choices, self.rules) if world.derived else ()
        signature, facts, on_derived = self._facts_of(world, rows, signature, uncertain, counting, budget)
        if uncertain or counting:
            # Facts of what rules derive are evidence beside choices, and so not for :func:`derived`.
            derived = self.theory.derived
            unknown = {
                name
                for name, table in facts.tables.items()
                if (_stated(table) if name in derived else table.world == "open")
            }
            rules = (*self.rules, *dict.fromkeys(counting))
            more = resting_on_choices(self.used.choices, rules, unknown) if unknown or counting else uncertain
            if more != uncertain:
                uncertain = more
                signature, facts, on_derived = self._facts_of(world, rows, signature, uncertain, [], budget)
        chosen = derived_by(uncertain)
        rules = [r for r in self.rules if r.head.predicate not in chosen] if world.derived else []
        resting = resting_on_weights(self.rules, weighted_predicates(facts))
        if rules:
            refuse_weighted("this command", [row.predicate for row in on_derived], resting)
            facts = self._derived(rules, signature, facts, resting, budget)
            for row in on_derived:
                refuse_disagreeing(row, _holds(row, signature, facts))
        refuse_weighted("this command", chosen, resting)
        opened = {name: replace(facts.tables[name], world="open") for name in chosen}
        facts = replace(facts, tables={**facts.tables, **opened})
        return _Lowered(lower(self.used, signature, facts, uncertain=uncertain), resting)

    def _facts_of(
        self,
        world: _World,
        rows: Sequence[FactRows],
        signature: Signature,
        uncertain: Sequence[Choice | Rule],
        counting: list[Rule],
        budget: Budget,
    ) -> tuple[Signature, Facts, list[FactRows]]:
        """The facts without evidence on what is derived for certain, and that evidence."""
        heads = (
            {r.head.predicate for r in self.rules} - derived_by(uncertain) if world.derived else set[str]()
        )
        on_derived = [row for row in self.evidence(world.given) if row.predicate in heads]
        signature, facts = self._loaded(
            [row for row in rows if row not in on_derived],
            signature,
            mentioned=mentioned_with(signature, on_derived),
            rule_heads=self.theory.derived.keys() - self._in_tables,
            queried=world.queried | self._open_without(rows),
            open=self.open,
            closed=self.closed,
            counting=counting,
            budget=budget,
        )
        return signature, facts, on_derived

    def _derived(
        self,
        rules: Sequence[Rule],
        signature: Signature,
        facts: Facts,
        resting: Mapping[str, str],
        budget: Budget,
    ) -> Facts:
        try:
            return _derived(rules, signature, facts, budget)
        except ContradictionError:
            # What has a proof with a weight may be false: that is evidence, and no contradiction.
            heads = {rule.head.predicate for rule in self.rules}
            refuse_weighted(
                "this command", [name for name in heads if len(facts.tables[name].false)], resting
            )
            raise

    def _with(self, given: Sequence[str]) -> tuple[tuple[FactRows, ...], Signature]:
        rows = tuple(map(parse_literal, given))
        if not rows:
            return rows, self.signature
        signature = check(self.theory + Theory(rows))
        if not self._asked:
            return rows, signature
        # What questions compute has predicates of its own; constants that they alone name are no constants.
        whole = check(self.theory + self._questions + Theory(rows))
        return rows, replace(whole, mentioned=signature.mentioned)

    def _loaded(
        self,
        rows: Sequence[FactRows],
        signature: Signature,
        more: Sequence[FactSource] = (),
        *,
        open: Collection[str],
        closed: Collection[str] = (),
        rule_heads: Collection[str] = (),
        queried: Collection[str] = (),
        mentioned: Mapping[str, Sequence[Value]] | None = None,
        counting: list[Rule] | None = None,
        listed: Collection[str] = (),
        complete: bool = True,
        budget: Budget = UNLIMITED,
    ) -> tuple[Signature, Facts]:
        """``counting`` gets the rules that count what is uncertain; without it these are refused.
        ``listed``: predicates of which values are computed by what tables list, in open worlds too;
        ``complete``: where they are many-valued, only with a value for each atom."""
        signature, facts = load_facts(
            self.theory.facts,
            signature,
            (*self.sources, *more),
            given=rows,
            reads=None if more else self._reads,
            mentioned=mentioned,
            rule_heads=rule_heads,
            queried=queried,
            open=open,
            closed=closed,
            header=self.header,
            progress=self.progress,
            budget=budget,
        )
        if self.definitions:
            statements = (*self.used.rules, *self.used.choices)
            stated = _closed(facts, listed)
            stating = (self.definitions, statements, signature, stated)
            computed, rules = _with_computed(*stating, budget, complete)
            tables = {
                name: table
                if signature.predicates[name].computed
                else replace(table, world=facts.tables[name].world)
                for name, table in computed.tables.items()
            }
            facts = replace(computed, tables=tables)
            if counting is not None:
                counting += rules
            elif rules:
                raise unusable_by("this command", rules[0], signature)
        self.tell(facts.notes)
        if not more:  # what one world lacks another one may have
            self.tell(remarks(self.theory, signature, facts))
        if rows and self._note is not None and may_be_new(rows, facts, signature):
            # Only its constants are read, so that rules that count may stay as they are.
            _, before = self._loaded(
                (), self.signature, open=self.open, closed=self.closed, counting=[], budget=budget
            )
            self.tell(new_constants(rows, before, signature))
        return signature, facts

    def tell(self, notes: Iterable[str]) -> None:
        """Each note once, whatever is loaded again."""
        for text in notes:
            if text not in self.notes:
                self.notes[text] = None
                if self._note is not None:
                    self._note(text)

    def _open_without(self, given: Sequence[FactRows]) -> frozenset[str]:
        """Predicates of untold worlds that only what is given would close: evidence closes no world."""
        declared = {p.name for p in self.theory.predicates if p.tells_world}
        undeclared = {rows.predicate for rows in given} - declared
        if not undeclared:
            return frozenset()
        tables = self.program().facts.tables
        return frozenset(p for p in undeclared if p not in tables or tables[p].world == "open")


def _closed(facts: Facts, names: Collection[str]) -> Facts:
    """The facts where all but opinions is known of these predicates."""
    tables = {
        name: replace(table, world="closed") if name in names and not len(table.soft) else table
        for name, table in facts.tables.items()
    }
    return replace(facts, tables=tables)


def _stated(table: FactTable) -> bool:
    return bool(len(table.true) or len(table.false) or len(table.soft))


def mentioned_with(signature: Signature, rows: Sequence[FactRows]) -> dict[str, list[Value]]:
    """The constants of formulas, and those of facts that are kept apart, by type."""
    found = {name: list(values) for name, values in signature.mentioned.items()}
    for row in rows:
        types = signature.predicates[row.predicate].column_types
        for name, column in zip(types, row.columns, strict=True):
            found.setdefault(name, []).extend(column)
    return found


def _holds(given: FactRows, signature: Signature, facts: Facts) -> bool:
    """Whether the facts list the atom of what is given."""
    types = signature.predicates[given.predicate].column_types
    row = [facts.domains[name].index_of(value) for name, value in zip(types, given.row(0), strict=True)]
    return bool((facts.tables[given.predicate].true == row).all(axis=1).any())


def refuse_disagreeing(given: FactRows, holds: bool) -> None:
    """What rules derive of known facts is certain: raise where what is given of it does not agree."""
    if holds != (given.kind == "true"):
        atom = show_atom(given.predicate, given.row(0))
        raise ContradictionError(
            f"the evidence has probability 0: {atom} is given as {'false' if holds else 'true'}, and the "
            f"rules {'derive it' if holds else 'do not derive it'}",
            span=given.span,
            hint="give facts of what the rules derive it from",
        )
