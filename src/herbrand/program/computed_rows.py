"""Rows of a theory's definitions: arithmetic and aggregates evaluated over the facts, before all inference.

A definition's body is joined like that of any rule; its tests are then expressions over the rows. If facts
that it reads are uncertain, all rows that may hold are taken, so that every row that any world needs is
included. Predicates are completed in order of dependency; new numbers become constants of their types.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from herbrand.budget import Budget
from herbrand.errors import EndlessError, HerbrandError, LanguageError, Mistake, UnsupportedError
from herbrand.facts.facts import Facts
from herbrand.graphs import is_without_circle, reached
from herbrand.language.comparisons import aggregates, bound_variables, variables_of
from herbrand.language.computed import Definition, with_inner
from herbrand.language.formulas import (
    Aggregate,
    AnyAtom,
    Atom,
    Comparison,
    Formula,
    Not,
    Variable,
    predicates_in,
)
from herbrand.language.names import shown_name
from herbrand.language.scope import variable_types, written
from herbrand.language.signature import Signature
from herbrand.language.syntax import BodyLiteral, Choice, Rule
from herbrand.program.bindings import columns_of
from herbrand.program.clause_rows import ClauseRows, complete_rows, least_model
from herbrand.program.clauses import Clause
from herbrand.program.computed_values import ValuedRows, Values, assigned_by
from herbrand.program.dependencies import (
    Depth,
    as_rules,
    body_predicates,
    derived_by,
    negated_in,
    weighted_predicates,
)
from herbrand.program.derive import FactRelations
from herbrand.program.few_rows import MOST_BESIDE_ROUNDS, MOST_WORK, Derivation, FewRows, NotFewError
from herbrand.program.growing_facts import GrowingFacts, with_new_constants
from herbrand.program.lower_rules import goal_clause, rule_clause
from herbrand.program.rounds import Rounds, has_end
from herbrand.program.unused_types import NoRowsError, UnusedTypes
from herbrand.relations.expression import column, literal
from herbrand.relations.relation import Relation
from herbrand.row_keys import SPREAD


def with_computed(
    definitions: Sequence[Definition],
    statements: Sequence[Rule | Choice],
    signature: Signature,
    facts: Facts,
    budget: Budget,
    complete: bool = True,
    depth: Depth | None = None,
) -> tuple[Facts, tuple[Rule, ...]]:
    """Add a table for each definition to facts in memory, and its new numbers to the constants; also return
    rules in place of tables where uncertain atoms are counted. ``complete``: raise if a many-valued predicate
    has an atom without a value. ``depth``: where recursion ends that no rule bounds."""
    known = FactRelations(signature, facts, budget, complete)
    source = GrowingFacts(known, signature, lambda rows: rows, budget)
    computation = Computation(definitions, statements, signature, facts, source, depth)
    few = computation.few()
    if few is not None:
        rows = {name: few.array(name) for name in computation.listed()}
        grown = {name: pa.array(values, pa.int64()) for name, values in few.made.items()}
    else:
        rows = {name: known.table_rows(name, own) for name, own in computation.rows().items()}
        grown = source.grown()
    return with_new_constants(facts, signature, grown, rows), tuple(computation.counting)


Part = TypeVar("Part", bound=Formula)

_LIMITS = (
    "declare their type with a range, such as: type steps = 0..100; or count in whole numbers towards a "
    "limit, such as: x > 0, y = x - 1; or divide: y = x // 2; or go along a relation without circles"
)
_OR_A_DEPTH = "; or give query a --depth, where neither 'not' nor an aggregate needs all values"


@dataclass(frozen=True)
class _Endless:
    """A definition for which no rule implies that its values are bounded; its facts may."""

    name: str
    rounds: Rounds | None
    mistake: Mistake


@dataclass(eq=False)
class Computation:
    """Completes, in order of dependency, the predicates that definitions depend on, and lists the
    definitions' rows; those of recursion whose values no rule bounds, to a ``depth``."""

    definitions: Sequence[Definition]
    statements: Sequence[Rule | Choice]
    signature: Signature
    facts: Facts
    source: GrowingFacts
    depth: Depth | None = None
    _tables: dict[str, Relation] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._rules = [rule for statement in self.statements for rule in _rules_of(statement)]
        self._own = {one.head.predicate: one for one in with_inner(self.definitions)}
        for definition in self._own.values():
            if (one := definition.counting) is not None:
                self._rules += one.members
        self._needs: dict[str, set[str]] = {}
        for rule in self._rules:
            self._needs.setdefault(rule.head.predicate, set()).update(
                name for name, _ in body_predicates(rule)
            )
        for name, definition in self._own.items():
            self._needs[name] = {*definition.called(), *(called for called, _ in definition.aggregated())}
        self._need_makers()
        self._reached = {
            name: set(reached(needs, lambda other: self._needs.get(other, ())))
            for name, needs in self._needs.items()
        }
        chosen = derived_by(one for one in self.statements if isinstance(one, Choice))
        open_ones = {name for name, table in self.facts.tables.items() if table.world == "open"}
        unsure = chosen | {name for name in open_ones if name not in self._needs}
        self._open = open_ones - self._needs.keys()
        self.uncertain = self._resting_on(unsure)
        weighted = {
            *weighted_predicates(self.facts),
            *(r.head.predicate for r in self._rules if r.weight is not None),
        }
        self._doubted = self._resting_on(unsure | weighted)
        self.counting = list[Rule]()
        self._endless = list[_Endless]()
        self._own = self._certain(self.definitions)
        own = self._own.values()
        self._aggregated = self._with_reached(name for one in own for name, _ in one.aggregated())
        self._refuse_cycles()

    def _resting_on(self, names: Set[str]) -> Set[str]:
        return names | {name for name, below in self._reached.items() if below & names}

    def _with_reached(self, names: Iterable[str]) -> Set[str]:
        """The predicates and all that they depend on."""
        return {other for name in names for other in (name, *self._reached.get(name, ()))}

    def _need_makers(self) -> None:
        """Make rules whose variables range over a type depend on all definitions that add constants to it."""
        makers: dict[str, set[str]] = {}
        for name, definition in self._own.items():
            for computed, type_name in self._types_made(definition).items():
                if computed in definition.made:
                    makers.setdefault(type_name, set()).add(name)
        for rule in self._rules if makers else ():
            for type_name in self._ranging(rule):
                self._needs[rule.head.predicate] |= makers.get(type_name, set())

    def _types_made(self, definition: Definition) -> dict[str, str]:
        """Types of the arguments of the definition's head, where these are open types."""
        types = zip(
            _names(definition), self.signature.predicates[definition.head.predicate].types, strict=True
        )
        return {name: one for name, one in types if self.signature.types[one].values is None}

    def _ranging(self, rule: Rule) -> set[str]:
        """Types of the head's variables that the body does not bind."""
        free = variables_of(rule.head).keys() - bound_variables(rule.body)
        if not free:
            return set()
        types = variable_types([rule.head, *rule.body], self.signature)
        return {types[name] for name in free if name in types}

    def _certain(self, definitions: Iterable[Definition]) -> dict[str, Definition]:
        """Definitions that have rows, by predicate; those that count uncertain atoms become rules in
        ``counting``."""
        certain: dict[str, Definition] = {}
        for definition in definitions:
            one = definition.counting
            if one is None or not any(name in self.uncertain for name, _ in definition.aggregated()):
                certain[definition.head.predicate] = definition
                continue
            self._refuse_own_count(definition)
            self.counting += [one.rule, *one.members]
            self._open.add(definition.head.predicate)
            certain.update(self._certain(one.definitions))
        return certain

    def rows(self) -> Mapping[str, Relation]:
        """All rows that may hold for each definition. Predicates that rules derive are left out: their atoms
        would be unknown, and each of these doubles the number of worlds."""
        for group in self._groups():
            self._complete(group)
        known = self._tables
        return {name: known[name] if name in known else self._empty(name) for name in self.listed()}

    def listed(self) -> Iterator[str]:
        """Predicates of definitions whose rows are returned: those that no rule derives."""
        ruled = derived_by((*self.counting, *self.statements))
        predicates = self.signature.predicates
        return (name for name in self._needs if name not in ruled and predicates[name].computed)

    def few(self) -> FewRows | None:
        """Evaluate by plain loops; ``None`` if there are too many rows, or on an error, which evaluation by
        columns then reports."""
        groups, endless = list(self._groups()), {one.name for one in self._endless}
        work = MOST_BESIDE_ROUNDS if any(len(group) > 1 for group in groups) else MOST_WORK
        few = FewRows(self.signature, self.facts, self.source.budget, work)
        try:
            for group in groups:
                if not endless.isdisjoint(group):
                    return None
                few.complete([one for name in group for one in self._derivations(name)])
        except (NotFewError, HerbrandError):
            return None
        return few

    def _derivations(self, name: str) -> list[Derivation]:
        """Derivations that list a predicate's rows."""
        if name not in self._own:
            return [Derivation(clause) for clause in self._clauses(name)]
        definition = self._own[name]
        if any(one for test in definition.tests for one in aggregates(test)):
            raise NotFewError
        types = variable_types([definition.head, *definition.typing.body], self.signature)
        body = self._certain_part(definition.body, self._doubted)
        names = _bound_names(definition, body, types)
        clause = self._goal(body, names, types)
        called = dict(zip(names, clause.head, strict=True))
        head = tuple(_names(definition))
        return [Derivation(clause, name, head, definition.tests, called, definition.made)]

    def _groups(self) -> Iterator[list[str]]:
        """Yield the predicates that definitions depend on, in order of dependency, grouped by mutual
        dependency."""
        needed = set(self._own).union(*(self._reached[name] for name in self._own)) & self._needs.keys()
        # Members of a cycle reach themselves: counting each itself sorts predicates that only read a cycle
        # behind it. Predicates that only formulas read look up constants, and so come last, when all have
        # been made.
        read = set[str]().union(*self._needs.values())
        left = sorted(needed, key=lambda name: (name not in read, len(self._reached[name] | {name}), name))
        while left:
            first = left[0]
            group = [name for name in left if name == first or self._together(name, first)]
            left = [name for name in left if name not in group]
            yield group

    def _together(self, one: str, other: str) -> bool:
        return one in self._reached[other] and other in self._reached[one]

    def _complete(self, group: Sequence[str]) -> None:
        """Complete a group of mutually dependent predicates: evaluate a definition again once what it reads
        has grown, and then the rules over its new rows."""
        self._refuse_endless(group)
        derived = [name for name in group if name not in self._own]
        own = [name for name in group if name in self._own]
        for name in derived:
            self._tables[name] = self.source.facts(name).only(*columns_of(self._arity(name)))
        for name in own:
            self._tables[name] = self._empty(name)
        clauses = {name: self._clauses(name) for name in derived}
        ranging = any(clause.ranging() for own in clauses.values() for clause in own)
        read, constants = dict[str, object](), -1
        for _ in self._rounds_of(group):
            fresh = dict[str, Relation]()
            for name in own:
                state = self._read(name, group)
                if read.get(name) != state:
                    read[name], before = state, self._tables[name]
                    self._tables[name] = self.of(self._own[name]).kept()
                    fresh[name] = self._tables[name].without(before, before.columns).kept()
            fresh = {name: rows for name, rows in fresh.items() if rows.count()}
            first, grown, constants = constants < 0, constants != self.source.made(), self.source.made()
            if len(group) == len(own) == 1 or not (fresh or grown):
                return
            if clauses:
                every = first or (grown and ranging)
                rows = ClauseRows(self.source, partial(complete_rows, self.source, dict(self._tables)))
                model = least_model(clauses, rows, self._tables, fresh=None if every else fresh)
                self._tables.update(model.tables)

    def _rounds_of(self, group: Sequence[str]) -> Iterable[int]:
        """The rounds after which a group is complete, or may be cut: in the first, what has no call in it
        holds."""
        cut = any(one.name in group and self._is_cut(one.name) for one in self._endless)
        return range(self.depth.calls + 1) if cut and self.depth is not None else itertools.count()

    def _read(self, name: str, group: Sequence[str]) -> object:
        """Sizes of all that a definition reads, which only grow: of its tables, and of all types together."""
        return self.source.made(), [self._tables[p].count() for p in group if p in self._needs[name]]

    def _arity(self, name: str) -> int:
        return len(self.signature.predicates[name].column_types)

    def _empty(self, name: str) -> Relation:
        columns = {c: literal(0) for c in columns_of(self._arity(name))}
        return self.source.unit().select(**columns).where(literal(1) == literal(0))

    def _clauses(self, name: str) -> list[Any]:
        clauses = []
        for rule in self._rules:
            if rule.head.predicate == name:
                body = self._relied_on(rule)
                relied_on = rule if len(body) == len(rule.body) else replace(rule, body=body)
                clause = rule_clause(relied_on, self.signature, self.facts)
                clauses += [] if clause is None else [clause]
        return clauses

    def _relied_on(self, rule: Rule) -> tuple[BodyLiteral, ...]:
        """Body literals that may be relied on, without comparisons of variables that only other literals
        bind."""
        # Weights are no probabilities where aggregates are computed: their rows must be exact.
        exact = rule.head.predicate in self._aggregated
        body = self._certain_part(rule.body, self.uncertain if exact else self._doubted)
        if not any(isinstance(literal, Comparison) for literal in body):
            return tuple(body)
        typed = variable_types([rule.head, *body], self.signature)
        return tuple(
            x for x in body if not isinstance(x, Comparison) or variables_of(x).keys() <= typed.keys()
        )

    def _certain_part(self, body: Sequence[Part], doubted: Set[str]) -> list[Part]:
        """Body literals that may be relied on, without negated ones over variables that only the others bind,
        as these would range over all constants. ``doubted``: predicates whose negation may not be relied
        on."""
        kept = [literal for literal in body if self._counts(literal, doubted)]
        if not any(isinstance(literal, Not) for literal in kept):
            return kept
        bound, every = (
            variables_of([literal for literal in part if isinstance(literal, AnyAtom)]).keys()
            for part in (kept, body)
        )
        return [x for x in kept if not isinstance(x, Not) or (variables_of(x).keys() & every) <= bound]

    def _counts(self, literal: Formula, doubted: Set[str]) -> bool:
        """Whether a literal may be relied on: a negated one if its predicates are certain, also where weights
        are probabilities; a positive one if they are not open."""
        doubtful = doubted if isinstance(literal, Not) else self._open
        return doubtful.isdisjoint(predicates_in(literal))

    def _refuse_cycles(self) -> None:
        """Raise LanguageError if an aggregate depends on itself or on uncertain atoms, or values are
        unbounded."""
        mistakes = [
            mistake
            for name, definition in self._own.items()
            for called, one in definition.aggregated()
            if (mistake := self._wrong_aggregate(name, called, one)) is not None
        ]
        if mistakes:
            raise LanguageError(mistakes)
        self._endless = [one for definition in self.definitions for one in self._without_end(definition)]
        mistakes = [x.mistake for x in self._endless if x.rounds is None and not self._is_cut(x.name)]
        if mistakes:
            raise EndlessError(mistakes)

    def _is_cut(self, name: str) -> bool:
        """Whether the values of a predicate may end at the depth: not where ``not`` or an aggregate needs
        all."""
        return self.depth is not None and name not in self._needed_whole

    @cached_property
    def _needed_whole(self) -> Set[str]:
        """Predicates of which ``not`` or an aggregate needs all values."""
        asked = frozenset[str]() if self.depth is None else self.depth.negated
        negated = (one for rule in self._rules for part in rule.body for one in negated_in(part))
        return self._with_reached({*negated, *asked}) | self._aggregated

    def _without_end(self, definition: Definition) -> Iterator[_Endless]:
        """Yield the values that a definition makes from its own and that no rule bounds."""
        name = definition.head.predicate
        others = self._others(definition)
        if (
            name not in self._reached[name]
            or variables_of(definition.tests).keys() - definition.made <= others
        ):
            return
        new = sorted(definition.made & self._types_made(definition).keys())
        growing = [computed for computed in new if not has_end(computed, definition, others)]
        rounds = self._rounds(name) if growing else None
        for computed in growing if rounds is None or not rounds.count else ():
            message = (
                f"this rule makes new values of {shown_name(written(computed))} without end: "
                f"{self._cycle(name, name)}"
            )
            yield _Endless(name, rounds, Mistake(message, definition.span, _LIMITS + _OR_A_DEPTH))

    def _group(self, name: str) -> frozenset[str]:
        """A predicate and those that are mutually dependent with it."""
        known = self._reached[name] & self._reached.keys()
        return frozenset(other for other in known if self._together(other, name))

    def _others(self, definition: Definition) -> set[str]:
        """Variables of a definition that range over predicates which do not depend on it."""
        group = self._group(definition.head.predicate)
        free = [
            x
            for x in definition.body
            if isinstance(x, Atom) and x.predicate not in group and self._counts(x, self._doubted)
        ]
        return set(variables_of(free))

    def _rounds(self, name: str) -> Rounds | None:
        """The recursion that a definition is part of, if it counts or is of one predicate; else ``None``."""
        group = self._group(name)
        derived = group - self._own.keys()
        rules = [rule for rule in self._rules if rule.head.predicate in derived]
        atoms = [part for rule in rules for part in rule.body if isinstance(part, Atom)]
        if any(map(self._ranging, rules)) or not all(self._counts(x, self._doubted) for x in atoms):
            return None
        rounds = Rounds.of(rules, group, self._own)
        return rounds if rounds is not None and (rounds.count or len(derived) == 1) else None

    def _refuse_endless(self, group: Sequence[str]) -> None:
        """Raise LanguageError if a group makes values without end. All that it depends on is complete, so its
        rounds may be checked to follow an acyclic relation."""
        mistakes = [
            endless.mistake
            for endless in self._endless
            if endless.name in group
            and not self._is_cut(endless.name)
            and not (endless.rounds and self._follows(endless.rounds))
        ]
        if mistakes:
            raise EndlessError(mistakes)

    def _follows(self, rounds: Rounds) -> bool:
        """Whether some argument of each round is linked to that of the round before by an acyclic
        relation."""
        (predicate,) = rounds.predicates
        types = self.signature.predicates[predicate].column_types
        return any(self._is_without_circle(rounds, place, types[place]) for place in range(len(types)))

    def _is_without_circle(self, rounds: Rounds, place: int, type_name: str) -> bool:
        links = []
        for rule, own, called in rounds.calls(place):
            linking = [atom for atom in rounds.free(rule) if {own, called} <= variables_of(atom).keys()]
            if own == called or not linking:
                return False
            types = variable_types([rule.head, *rule.body], self.signature)
            rows = self._body_rows(types, linking, [own, called]).arrays()
            links.append(np.stack([rows[name] for name in columns_of(2)], 1))
        size = self.source.size(type_name)
        return is_without_circle(size, np.concatenate([np.empty((0, 2), np.int64), *links]))

    def _wrong_aggregate(self, name: str, called: str, one: Aggregate) -> Mistake | None:
        if name in self._reached.get(called, ()):
            cycle = self._cycle(called, name)
            message = f"{self.signature.shown(called)} depends on its own {one.function}: {cycle}"
            return Mistake(message, one.span, "an aggregate is over predicates that are complete without it")
        if called in self.uncertain:
            message = f"{one.function} is over {self.signature.shown(called)}, which is uncertain"
            hint = "of what is uncertain only counts and sums are taken, and compared, as in count(...) >= 2"
            if called in self._open:
                hint += f"; else declare {called} observed, or --closed {called}"
            return Mistake(message, one.span, hint)
        if twice := self._with_reached([called]) & self._read_in_two_ways:
            message = (
                f"{one.function} is over {self.signature.shown(called)}, and a body that computes reads "
                f"{self.signature.shown(min(twice))} too, which negates what has weights"
            )
            hint = f"give one of them rules of its own that derive the same as {min(twice)}"
            return Mistake(message, one.span, hint)
        return None

    @cached_property
    def _read_in_two_ways(self) -> Set[str]:
        """Predicates that negate atoms with weights and are read by bodies that compute. There the negation
        is not relied on, as weights may be probabilities, while aggregates use it as it is."""
        weighted = self._doubted - self.uncertain
        read = self._with_reached(name for one in self._own.values() for name in one.called())
        return {
            rule.head.predicate
            for rule in self._rules
            if rule.head.predicate in read
            for literal in rule.body
            if isinstance(literal, Not) and not weighted.isdisjoint(predicates_in(literal))
        }

    def _refuse_own_count(self, definition: Definition) -> None:
        for called, one in definition.aggregated():
            if definition.head.predicate in self._reached.get(called, ()):
                mistake = self._wrong_aggregate(definition.head.predicate, called, one)
                raise LanguageError([] if mistake is None else [mistake])

    def _cycle(self, first: str, last: str) -> str:
        """Predicates of a cycle through both, as the user named them, joined by arrows."""
        about = {first, *self._reached[first]} & self.signature.named.keys()
        members = [name for name in self._needs if name in about and last in self._reached[name]]
        shown = list(dict.fromkeys(map(self.signature.shown, members)))
        return " -> ".join([*shown, *shown[:1]])

    def of(self, definition: Definition) -> Relation:
        """Rows of one definition, a column of indices for each argument."""
        types = variable_types([definition.head, *definition.typing.body], self.signature)
        values = Values(self.source, types, partial(self._body_rows, types))
        try:
            definition = self._of_used_types(definition, types)
            if (rows := self._of_all(definition, values)) is None:
                rows = self._of_body(definition, values)
        except NoRowsError:
            return self._empty(definition.head.predicate)
        except HerbrandError as error:
            raise _placed(error, definition) from None
        names = _names(definition)
        chosen = {c: column(rows.indices[n]) for c, n in zip(columns_of(len(names)), names, strict=True)}
        return rows.relation.select(**chosen).distinct()

    def _of_used_types(self, definition: Definition, types: Mapping[str, str]) -> Definition:
        """Replace aggregates over empty types; raise :class:`NoRowsError` if the definition has no rows."""

        def unused(name: str) -> bool:
            known = types.get(name)
            return (
                known is not None and self.signature.types[known].kind is None and not self.source.size(known)
            )

        if any(map(unused, _bound_names(definition, definition.body, types))):
            raise NoRowsError
        return replace(definition, tests=tuple(UnusedTypes(unused).tests(definition.tests)))

    def _of_body(self, definition: Definition, values: Values) -> ValuedRows:
        """Rows of the body that pass the tests, with an index for each argument."""
        body = self._certain_part(definition.body, self._doubted)
        rows = values.tested(
            values.rows(body, _bound_names(definition, body, values.types)), definition.tests
        )
        for name in _names(definition):
            if name in rows.values and name not in rows.indices:
                rows = values.with_index(rows, name, name in definition.made)
        return rows

    def _of_all(self, definition: Definition, values: Values) -> ValuedRows | None:
        """Test all combinations of constants that occur in atoms of the body, if these are fewer
        than its rows would be. A test may hold for combinations outside the body: rules join with both.
        ``None`` if there are not fewer, if a value would be made, or on an error, which may only concern
        combinations outside the body.
        """
        body = [x for x in definition.body if isinstance(x, Atom) and self._counts(x, self._doubted)]
        names = _bound_names(definition, body, values.types)
        having = [next((x for x in body if name in variables_of(x)), None) for name in names]
        most = max((self._count(x.predicate) for x in body), default=0)
        if (
            definition.made
            or not {*_names(definition)} <= {*names}
            or any(set(names) <= variables_of(x).keys() for x in body)
            or math.prod(self.source.size(values.types[name]) for name in names) > SPREAD * most
        ):
            return None
        rows = ValuedRows(self.source.unit())
        for name, atom in zip(names, having, strict=True):
            if atom is None:
                return None
            one = values.rows([atom], [name])
            rows = ValuedRows(rows.relation.join(one.relation), {**rows.indices, **one.indices})
        try:
            return values.tested(rows, definition.tests)
        except UnsupportedError:
            return None

    def _count(self, predicate: str) -> int:
        known = self._tables.get(predicate)
        return self.source.rows(predicate) if known is None else known.count()

    def _body_rows(self, types: Mapping[str, str], body: Sequence[Formula], names: Sequence[str]) -> Relation:
        """Rows of a conjunction of atoms, with columns ``a0``, ``a1``, ... for these variables."""
        known = {name: types[name] for name in (*names, *variables_of(list(body))) if name in types}
        clause = self._goal(body, names, known)
        rows = ClauseRows(self.source, partial(complete_rows, self.source, dict(self._tables)))
        return rows.of(clause, self._tables)

    def _goal(self, body: Sequence[Formula], names: Sequence[str], types: Mapping[str, str]) -> Clause:
        """The conjunction as a clause whose head has these variables."""
        goal = Rule(Atom("`goal", tuple(map(Variable, names))), tuple(body))  # type: ignore[arg-type]
        return goal_clause(goal, self.signature, self.facts, types)


def _bound_names(definition: Definition, body: Sequence[Formula], types: Mapping[str, str]) -> list[str]:
    """Variables that the tests and the head need and to which no test assigns a value."""
    needed = dict.fromkeys(_names(definition))
    for test in definition.tests:
        own = variables_of(test).keys()
        local = {n for one in aggregates(test) for n in variables_of(one) if "`" in n}
        needed |= dict.fromkeys(name for name in own if name not in local)
    bound = variables_of(list(body)).keys()
    known = {name for name in needed if name in types and name in bound}
    given = assigned_by(definition.tests, known, definition.made)
    return [name for name in needed if name in types and name not in given]


def _names(definition: Definition) -> list[str]:
    return [term.name for term in definition.head.arguments if isinstance(term, Variable)]


def _rules_of(statement: Rule | Choice) -> list[Rule]:
    """The statement as a rule for each head, of all rows that may hold. What is negated of variables of other
    heads is left out: without these heads it would say that no constant has it."""
    if isinstance(statement, Rule):
        return [statement]
    named = variables_of([one.head for one in statement.alternatives]).keys()
    return [replace(rule, body=_of_own_head(rule, named)) for rule in as_rules([statement])]


def _of_own_head(rule: Rule, named: Set[str]) -> tuple[BodyLiteral, ...]:
    others = named - variables_of(rule.head).keys() - bound_variables(rule.body)
    return tuple(x for x in rule.body if not isinstance(x, Not) or others.isdisjoint(variables_of(x)))


def _placed(error: HerbrandError, definition: Definition) -> HerbrandError:
    """The error with the statement's position, if it has none; a limit exceeded keeps its class."""
    kind = LanguageError if type(error) is HerbrandError else type(error)
    return kind([replace(one, span=one.span or definition.span) for one in error.mistakes])
