"""The rows of what a theory computes: arithmetic and aggregates evaluated over the facts, before all else.

A definition's body is joined as that of any rule; its tests are then expressions over the rows. Where facts
that it reads are uncertain, all that may hold is taken, so that each row that any world needs is there.
Predicates are completed one after the other, each after those that it rests on; numbers that are new become
constants of their types.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from herbrand.budget import Budget
from herbrand.errors import HerbrandError, LanguageError, Mistake, UnsupportedError
from herbrand.facts.facts import Facts
from herbrand.graphs import is_without_circle, reached
from herbrand.language.comparisons import aggregates, variables_of, with_assigned
from herbrand.language.computed import Definition, with_inner
from herbrand.language.formulas import (
    Aggregate,
    Atom,
    Comparison,
    Computed,
    Formula,
    Not,
    Variable,
)
from herbrand.language.names import shown_name
from herbrand.language.scope import variable_types, written
from herbrand.language.signature import Signature
from herbrand.language.syntax import AnyAtom, BodyLiteral, Choice, Rule, predicates_in
from herbrand.program.bindings import columns_of
from herbrand.program.clause_rows import ClauseRows, complete_rows, least_model
from herbrand.program.clauses import Clause
from herbrand.program.computed_values import ValuedRows, Values, assigned_by
from herbrand.program.dependencies import as_rules, body_predicates, derived_by, weighted_predicates
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
) -> tuple[Facts, tuple[Rule, ...]]:
    """The facts in memory with a table for each definition, and the numbers that these make among the
    constants; and rules in place of tables where what is counted is uncertain. ``complete``: many-valued
    predicates have to have a value for each atom."""
    known = FactRelations(signature, facts, budget, complete)
    source = GrowingFacts(known, signature, lambda rows: rows, budget)
    computation = Computation(definitions, statements, signature, facts, source)
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


@dataclass(frozen=True)
class _Endless:
    """A definition of which no rule says that its values have an end; its facts may."""

    name: str
    rounds: Rounds | None
    mistake: Mistake


@dataclass(eq=False)
class Computation:
    """Completes, one after the other, the predicates that definitions rest on, and lists the definitions."""

    definitions: Sequence[Definition]
    statements: Sequence[Rule | Choice]
    signature: Signature
    facts: Facts
    source: GrowingFacts
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
        """The predicates and all that they rest on."""
        return {other for name in names for other in (name, *self._reached.get(name, ()))}

    def _need_makers(self) -> None:
        """What ranges over a type rests on all definitions that make constants of it."""
        makers: dict[str, set[str]] = {}
        for name, definition in self._own.items():
            for made, type_name in self._types_made(definition).items():
                if made in definition.made:
                    makers.setdefault(type_name, set()).add(name)
        for rule in self._rules if makers else ():
            for type_name in self._ranging(rule):
                self._needs[rule.head.predicate] |= makers.get(type_name, set())

    def _types_made(self, definition: Definition) -> dict[str, str]:
        """Of the arguments of its head, where that is an open type."""
        types = zip(
            _names(definition), self.signature.predicates[definition.head.predicate].types, strict=True
        )
        return {name: one for name, one in types if self.signature.types[one].values is None}

    def _ranging(self, rule: Rule) -> set[str]:
        """The types of those variables of its head to which the body gives no values."""
        known = variables_of([part for part in rule.body if isinstance(part, AnyAtom)])
        free = variables_of(rule.head).keys() - known.keys()
        if not free:
            return set()
        free -= with_assigned([part for part in rule.body if isinstance(part, Comparison | Computed)], known)
        types = variable_types([rule.head, *rule.body], self.signature)
        return {types[name] for name in free if name in types}

    def _certain(self, definitions: Iterable[Definition]) -> dict[str, Definition]:
        """Those that have rows, and not rules that count what is uncertain."""
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
        """All that may hold of each definition; nothing of what was made to count what is known: these atoms
        would else be unknown, and each double the worlds."""
        for group in self._groups():
            self._complete(group)
        known = self._tables
        return {name: known[name] if name in known else self._empty(name) for name in self.listed()}

    def listed(self) -> Iterator[str]:
        """The predicates whose rows are wanted: of definitions that no rule derives."""
        ruled = derived_by((*self.counting, *self.statements))
        predicates = self.signature.predicates
        return (name for name in self._needs if name not in ruled and predicates[name].computed)

    def few(self) -> FewRows | None:
        """The same in plain loops; ``None`` where the rows are not few, and where something is wrong, which
        the columns put into words."""
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
        """What lists a predicate's rows."""
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
        """The predicates that definitions rest on, each after those that it rests on, and together with those
        that rest on it as well."""
        needed = set(self._own).union(*(self._reached[name] for name in self._own)) & self._needs.keys()
        # Members of a cycle reach themselves: counting each itself puts what only reads a cycle behind it.
        # What no rule reads, formulas do: these look up constants, and so come when all have been made.
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
        """Complete what rests on each other: a definition again once there is more of what it reads, and the
        rules over what that made anew."""
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
        while True:
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

    def _read(self, name: str, group: Sequence[str]) -> object:
        """What a definition can read, by sizes, which only grow: of tables, and of all types together."""
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
        """The literals of a body that may be relied on, but for comparisons of what only other ones bind."""
        # Weights are no chances where aggregates are taken: what these are over has to be exact.
        exact = rule.head.predicate in self._aggregated
        body = self._certain_part(rule.body, self.uncertain if exact else self._doubted)
        if not any(isinstance(literal, Comparison) for literal in body):
            return tuple(body)
        typed = variable_types([rule.head, *body], self.signature)
        return tuple(
            x for x in body if not isinstance(x, Comparison) or variables_of(x).keys() <= typed.keys()
        )

    def _certain_part(self, body: Sequence[Part], doubted: Set[str]) -> list[Part]:
        """The literals of a body that may be relied on, but for absences of what only the others bind: these
        would be of any constant. ``doubted``: predicates whose absences may not."""
        kept = [literal for literal in body if self._counts(literal, doubted)]
        if not any(isinstance(literal, Not) for literal in kept):
            return kept
        bound, every = (
            variables_of([literal for literal in part if isinstance(literal, AnyAtom)]).keys()
            for part in (kept, body)
        )
        return [x for x in kept if not isinstance(x, Not) or (variables_of(x).keys() & every) <= bound]

    def _counts(self, literal: Formula, doubted: Set[str]) -> bool:
        """Whether a literal may be relied on: an absence of what is certain, also where weights are
        probabilities; an atom that is not free."""
        doubtful = doubted if isinstance(literal, Not) else self._open
        return doubtful.isdisjoint(predicates_in(literal))

    def _refuse_cycles(self) -> None:
        """Raise where an aggregate rests on itself or on what is uncertain, or values have no end."""
        mistakes = [
            mistake
            for name, definition in self._own.items()
            for called, one in definition.aggregated()
            if (mistake := self._wrong_aggregate(name, called, one)) is not None
        ]
        if mistakes:
            raise LanguageError(mistakes)
        self._endless = [one for definition in self.definitions for one in self._without_end(definition)]
        mistakes = [endless.mistake for endless in self._endless if endless.rounds is None]
        if mistakes:
            raise LanguageError(mistakes)

    def _without_end(self, definition: Definition) -> Iterator[_Endless]:
        """The values that a definition makes of its own ones for which no rule has a limit."""
        name = definition.head.predicate
        others = self._others(definition)
        if (
            name not in self._reached[name]
            or variables_of(definition.tests).keys() - definition.made <= others
        ):
            return
        new = sorted(definition.made & self._types_made(definition).keys())
        growing = [made for made in new if not has_end(made, definition, others)]
        rounds = self._rounds(name) if growing else None
        for made in growing if rounds is None or not rounds.count else ():
            message = (
                f"this rule makes new values of {shown_name(written(made))} without end: "
                f"{self._cycle(name, name)}"
            )
            yield _Endless(name, rounds, Mistake(message, definition.span, _LIMITS))

    def _group(self, name: str) -> frozenset[str]:
        """A predicate and those that rest on each other with it."""
        known = self._reached[name] & self._reached.keys()
        return frozenset(other for other in known if self._together(other, name))

    def _others(self, definition: Definition) -> set[str]:
        """The variables of a definition that range over predicates which do not rest on it."""
        group = self._group(definition.head.predicate)
        free = [
            x
            for x in definition.body
            if isinstance(x, Atom) and x.predicate not in group and self._counts(x, self._doubted)
        ]
        return set(variables_of(free))

    def _rounds(self, name: str) -> Rounds | None:
        """The recursion that a definition is part of: of predicates that count, or of one alone."""
        group = self._group(name)
        derived = group - self._own.keys()
        rules = [rule for rule in self._rules if rule.head.predicate in derived]
        atoms = [part for rule in rules for part in rule.body if isinstance(part, Atom)]
        if any(map(self._ranging, rules)) or not all(self._counts(x, self._doubted) for x in atoms):
            return None
        rounds = Rounds.of(rules, group, self._own)
        return rounds if rounds is not None and (rounds.count or len(derived) == 1) else None

    def _refuse_endless(self, group: Sequence[str]) -> None:
        """Raise for what a group makes without end. All is known that it rests on: its rounds may follow a
        relation without circles."""
        mistakes = [
            endless.mistake
            for endless in self._endless
            if endless.name in group and not (endless.rounds and self._follows(endless.rounds))
        ]
        if mistakes:
            raise LanguageError(mistakes)

    def _follows(self, rounds: Rounds) -> bool:
        """Whether one argument of each round is linked to that of the round before without a circle."""
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
            hint = (
                f"of what is uncertain only counts and sums are taken, and compared, as in "
                f"count(...) >= 2; else declare {called} observed, or --closed {called}"
            )
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
        """What negates atoms with weights, and is read by bodies that compute, where their absence is left
        open, as weights may be probabilities; aggregates take them as they are."""
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
        """The predicates of a cycle through both, as the user named them."""
        about = {first, *self._reached[first]} & self.signature.named.keys()
        members = [name for name in self._needs if name in about and last in self._reached[name]]
        shown = list(dict.fromkeys(map(self.signature.shown, members)))
        return " -> ".join([*shown, *shown[:1]])

    def of(self, definition: Definition) -> Relation:
        """The rows of one definition, a column of indices for each argument."""
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
        """The definition without aggregates of nothing; raises :class:`NoRowsError` where it has no rows."""

        def unused(name: str) -> bool:
            known = types.get(name)
            return (
                known is not None and self.signature.types[known].kind is None and not self.source.size(known)
            )

        if any(map(unused, _bound_names(definition, definition.body, types))):
            raise NoRowsError
        return replace(definition, tests=tuple(UnusedTypes(unused).tests(definition.tests)))

    def _of_body(self, definition: Definition, values: Values) -> ValuedRows:
        """The body's rows that pass the tests, an index for each argument."""
        body = self._certain_part(definition.body, self._doubted)
        rows = values.tested(
            values.rows(body, _bound_names(definition, body, values.types)), definition.tests
        )
        for name in _names(definition):
            if name in rows.values and name not in rows.indices:
                rows = values.with_index(rows, name, name in definition.made)
        return rows

    def _of_all(self, definition: Definition, values: Values) -> ValuedRows | None:
        """The same for all choices of constants that atoms of the body have, where these are fewer than its
        rows would be. What a test says beyond the body does not matter: rules join both. None where there are
        not fewer, and where a value would be made, or where something is wrong, perhaps only beyond the body.
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
        """The rows of a conjunction of atoms, a column ``a0``, ``a1``, ... for each of these variables."""
        known = {name: types[name] for name in (*names, *variables_of(list(body))) if name in types}
        clause = self._goal(body, names, known)
        rows = ClauseRows(self.source, partial(complete_rows, self.source, dict(self._tables)))
        return rows.of(clause, self._tables)

    def _goal(self, body: Sequence[Formula], names: Sequence[str], types: Mapping[str, str]) -> Clause:
        """A conjunction as a clause whose head has these variables."""
        goal = Rule(Atom("`goal", tuple(map(Variable, names))), tuple(body))  # type: ignore[arg-type]
        return goal_clause(goal, self.signature, self.facts, types)


def _bound_names(definition: Definition, body: Sequence[Formula], types: Mapping[str, str]) -> list[str]:
    """The variables that the tests and the head need and that no test gives a value."""
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
    return [statement] if isinstance(statement, Rule) else as_rules([statement])


def _placed(error: HerbrandError, definition: Definition) -> HerbrandError:
    """The error with the place of the statement that computes, which is what is wrong unless a limit is."""
    kind = LanguageError if type(error) is HerbrandError else type(error)
    return kind([replace(one, span=one.span or definition.span) for one in error.mistakes])
