"""Evaluate clauses, and their least model, over relations in memory or a database, in any semiring.

A literal becomes a relation with a column for each variable, a test a condition on these columns, and
:class:`~herbrand.program.bindings.Body` joins them. The least model is computed semi-naively: each round
joins only the new rows of the round before. Rows of a predicate have the columns :func:`columns_of` its
arity.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Protocol

from herbrand.contraction.algebra import Algebra
from herbrand.errors import BudgetError
from herbrand.language.formulas import ORDERS
from herbrand.program.bindings import TRUTH, WEIGHT, Body, BodyRelation, Condition, columns_of, fitting
from herbrand.program.clauses import (
    Absence,
    Clause,
    Compared,
    Literal,
    Lookup,
    Measured,
    Never,
    OneOf,
)
from herbrand.program.join_order import DERIVED_SHARE
from herbrand.relations.expression import Expression, cast, column, literal
from herbrand.relations.relation import Relation

Tables = Mapping[str, Relation]
Clauses = Mapping[str, Sequence[Clause]]
Refuse = Callable[[Clause, Relation], None]
"""Checks the heads that a clause derives, and may raise."""
FALSE = literal(1) == literal(0)


class Source(Protocol):
    """Facts and constants as relations, in memory or in a database."""

    def facts(self, predicate: str) -> Relation:
        """Facts of a predicate, with :data:`WEIGHT` where their weights count."""
        ...

    def rows(self, predicate: str) -> int:
        """Number of facts of a predicate."""
        ...

    def domain(self, type_name: str) -> Relation:
        """All indices of a type's constants, in the column ``id``."""
        ...

    def numbers(self, type_name: str) -> Relation:
        """Constants of an ordered type: columns ``id`` and ``value``."""
        ...

    def size(self, type_name: str) -> int:
        """Number of constants of a type."""
        ...

    def unit(self) -> Relation:
        """One row without columns."""
        ...


@dataclass(frozen=True, eq=False)
class ClauseRows:
    """Evaluates clauses. ``complete`` gives all provable atoms of a predicate, for negation; ``weights`` are
    those of the weighted rules, each a number or the variable that holds it, which is also in the rule's
    head."""

    source: Source
    complete: Callable[[str], Relation]
    semiring: Algebra = TRUTH
    weights: Sequence[float | str] = ()

    def of(self, clause: Clause, tables: Tables, instead: Mapping[int, Relation] | None = None) -> Relation:
        """Distinct heads of a clause: ⊕ over all other variables of the ⊗ of the body.

        ``tables``: rows of derived predicates; ``instead``: rows to use for the literals at these places of
        the body.
        """
        reading = _Reading(self, clause, tables, instead or {})
        parts = [reading.part(n, x) for n, x in enumerate(clause.body) if isinstance(x, Lookup)]
        conditions = [reading.condition(x) for x in clause.body if not isinstance(x, Lookup)]
        outputs = tuple(dict.fromkeys(reading.name(x) for x in clause.head if reading.is_free(x)))
        parts = parts or [BodyRelation(self.source.unit(), 1)]
        try:
            rows = Body(parts, conditions, reading.domain, reading.size, outputs, self.semiring).rows()
        except BudgetError as error:
            raise _at_rule(error, clause) from None
        return self._headed(clause, reading, rows)

    def predicate(self, clauses: Sequence[Clause], tables: Tables) -> Relation:
        """Rows that the clauses of one predicate derive, added up."""
        parts = [self.of(clause, tables) for clause in clauses]
        return parts[0] if len(parts) == 1 else self.added(parts[0].stack(*parts[1:]))

    def added(self, rows: Relation) -> Relation:
        """Merge equal rows, adding up their weights."""
        if not self.semiring.weighs:
            return rows.distinct()
        by = [name for name in rows.columns if name != WEIGHT]
        return rows.group(by, **{WEIGHT: self.semiring.fold(column(WEIGHT))})

    def _headed(self, clause: Clause, reading: _Reading, rows: Relation) -> Relation:
        """Turn rows of a body into rows of the head, and multiply by the rule's weight."""
        terms: dict[str, Expression] = dict(
            zip(columns_of(len(clause.head)), map(reading.term, clause.head), strict=True)
        )
        if self.semiring.weighs:
            weight = column(WEIGHT) if WEIGHT in rows.columns else self.semiring.constant(self.semiring.one)
            own = None if clause.weight is None else self.weights[clause.weight]
            if isinstance(own, str):
                rows = reading.with_number(rows, own, "number")
                weight = self.semiring.times(weight, cast(column("number"), "float"))
            elif own is not None and own != self.semiring.one:
                weight = self.semiring.times(weight, self.semiring.constant(own))
            terms[WEIGHT] = weight
        return rows.select(**terms)


@dataclass(frozen=True, eq=False)
class _Reading:
    """Translates one clause: each variable to a column, its literals to relations and conditions over
    these."""

    evaluation: ClauseRows
    clause: Clause
    tables: Tables
    instead: Mapping[int, Relation]

    def name(self, variable: str) -> str:
        """Column of a variable; names of clauses may contain characters that no database accepts."""
        return self._names[variable]

    @cached_property
    def _names(self) -> dict[str, str]:
        return {variable: f"x{place}" for place, variable in enumerate(self.clause.types)}

    def is_free(self, variable: str) -> bool:
        return variable not in self.clause.constants

    def term(self, variable: str) -> Expression:
        if self.is_free(variable):
            return column(self.name(variable))
        return literal(self.clause.constants[variable])

    def domain(self, name: str) -> Relation:
        """All constants of a column's type."""
        return self.evaluation.source.domain(self._types[name]).renamed(**{name: "id"})

    def size(self, name: str) -> int:
        """Number of constants of a column's type."""
        return self.evaluation.source.size(self._types[name])

    @cached_property
    def _types(self) -> dict[str, str]:
        """Type of each column."""
        return {self._names[variable]: kind for variable, kind in self.clause.types.items()}

    def part(self, place: int, atom: Lookup) -> BodyRelation:
        source, name = self.evaluation.source, atom.predicate
        if place in self.instead:
            return BodyRelation(self._fitting(atom, self.instead[place]), 1.0)
        if not atom.stated and name in self.tables:
            sizes = [source.size(self.clause.types[x]) for x in atom.arguments]
            return BodyRelation(
                self._fitting(atom, self.tables[name]), max(1.0, DERIVED_SHARE * math.prod(sizes))
            )
        return BodyRelation(self._fitting(atom, source.facts(name)), max(1, source.rows(name)))

    def _fitting(self, atom: Lookup | Absence, rows: Relation) -> Relation:
        """Rows that match an atom's constants and repeated variables, with a column for each variable."""
        constants = self.clause.constants
        rows, first = fitting(rows, [constants.get(name, name) for name in atom.arguments])
        chosen = {self.name(variable): column(name) for variable, name in first.items()}
        if WEIGHT in rows.columns and self.evaluation.semiring.weighs and isinstance(atom, Lookup):
            chosen[WEIGHT] = column(WEIGHT)
        return rows.select(**chosen)

    def condition(self, test: Literal) -> Condition:
        match test:
            case Never():
                return Condition.that(frozenset(), FALSE)
            case OneOf(variable=variable, allowed=allowed):
                term = self.term(variable)
                either = reduce(operator.or_, (term == index for index in allowed), FALSE)
                return Condition.that(self._bound(test.arguments), either)
            case Compared(operator="!=" | "=" as sign, left=left, right=right):
                compared = ORDERS[sign](self.term(left), self.term(right))
                return Condition.that(self._bound(test.arguments), compared)
            case Compared(operator=sign):
                return self._ordered(test.arguments, ORDERS[sign](column("value0"), column("value1")))
            case Measured(variable=variable, operator=sign, number=number):
                value = column("value") if isinstance(number, int) else cast(column("value"), "float")
                return self._measured(variable, ORDERS[sign](value, number))
            case Absence():
                return self._absent(test)
        raise AssertionError(test)

    def _bound(self, variables: Iterable[str]) -> frozenset[str]:
        return frozenset(self.name(variable) for variable in variables if self.is_free(variable))

    def _ordered(self, variables: Sequence[str], compared: Expression) -> Condition:
        """Condition that the numbers of the variables' constants satisfy a comparison."""

        def kept(rows: Relation) -> Relation:
            before = rows.columns
            for place, variable in enumerate(variables):
                rows = self.with_number(rows, variable, f"value{place}")
            return rows.where(compared).only(*before)

        return Condition(self._bound(variables), kept)

    def with_number(self, rows: Relation, variable: str, name: str) -> Relation:
        """Add the value of a variable's constant as a column of this name."""
        numbers = self.evaluation.source.numbers(self.clause.types[variable])
        key = f"{name}_key"
        return rows.let(**{key: self.term(variable)}).join(
            numbers.renamed(**{key: "id", name: "value"}), [key]
        )

    def _measured(self, variable: str, compared: Expression) -> Condition:
        """Condition that the value of a variable's constant satisfies a comparison with a number."""

        def kept(rows: Relation) -> Relation:
            numbers = self.evaluation.source.numbers(self.clause.types[variable]).where(compared)
            if self.is_free(variable):
                name = self.name(variable)
                return rows.matching(numbers.select(**{name: column("id")}), [name])
            own = rows.let(key=self.term(variable))
            return own.matching(numbers.select(key=column("id")), ["key"]).only(*rows.columns)

        return Condition(self._bound((variable,)), kept)

    def _absent(self, atom: Absence) -> Condition:
        """Condition that the atom has no proof, for any value of variables that occur only in it."""
        shared = sorted(self._bound(set(atom.arguments) & set(self.clause.variables())))

        def kept(rows: Relation) -> Relation:
            atoms = self._fitting(atom, self.evaluation.complete(atom.predicate))
            return rows.without(atoms, shared)

        return Condition(frozenset(shared), kept)


@dataclass(frozen=True)
class LeastModel:
    """A fixpoint. ``tables``: all rows of the clauses' predicates; ``rounds``: number of rounds that derived
    new rows."""

    tables: Tables
    rounds: int


def accept(clause: Clause, heads: Relation) -> None:
    """Accept all heads that a clause derives."""


def complete_rows(source: Source, derived: Tables, predicate: str) -> Relation:
    """All rows of a complete predicate, derived or not, without weights."""
    rows = derived[predicate] if predicate in derived else source.facts(predicate)
    return rows.only(*columns_in(rows))


def least_model(
    clauses: Clauses,
    rows: ClauseRows,
    tables: Tables,
    refuse: Refuse = accept,
    fresh: Tables | None = None,
) -> LeastModel:
    """Compute all that the clauses of one stratum derive. ``tables``: rows of all derived predicates so far,
    those of the stratum included. ``fresh``: the rows among them that the clauses have not joined yet;
    ``None``: all.
    """
    read = {x.predicate for own in clauses.values() for one in own for x in one.body if isinstance(x, Lookup)}
    every, rounds = {name: tables[name] for name in (*clauses, *read) if name in tables}, 0
    while True:
        derived = {name: _derived(own, rows, every, fresh, refuse) for name, own in clauses.items()}
        new = {
            name: rows.added(one).without(every[name], columns_in(one)).kept()
            for name, one in derived.items()
            if one is not None
        }
        fresh = {name: one for name, one in new.items() if one.count()}
        if not fresh:
            return LeastModel({name: every[name] for name in clauses}, rounds)
        rounds += 1
        for name, one in fresh.items():
            every[name] = every[name].stack(one).kept()


def _derived(
    clauses: Sequence[Clause],
    rows: ClauseRows,
    every: Tables,
    fresh: Tables | None,
    refuse: Refuse,
) -> Relation | None:
    """Rows that one round derives for a predicate: from fresh rows, or from all rows in the first round."""
    parts = []
    for clause in clauses:
        for instead in _choices(clause, fresh):
            heads = rows.of(clause, every, instead)
            refuse(clause, heads)
            parts.append(heads)
    return parts[0].stack(*parts[1:]) if parts else None


def _choices(clause: Clause, fresh: Tables | None) -> list[dict[int, Relation]]:
    """For each literal of a predicate with fresh rows, these rows in its place."""
    if fresh is None:
        return [{}]
    return [
        {place: fresh[part.predicate]}
        for place, part in enumerate(clause.body)
        if isinstance(part, Lookup) and not part.stated and part.predicate in fresh
    ]


def _at_rule(error: BudgetError, clause: Clause) -> BudgetError:
    """The error with the position of the rule whose join is too large."""
    return type(error)([replace(one, span=one.span or clause.span) for one in error.mistakes])


def columns_in(rows: Relation) -> list[str]:
    """Columns of rows, without their weight."""
    return [name for name in rows.columns if name != WEIGHT]
