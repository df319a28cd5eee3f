"""The rows of what a theory computes: arithmetic and aggregates evaluated over the facts, before all else.

A definition's body is joined as that of any rule; its tests are then expressions over the rows. Where facts
that it reads are uncertain, all that may hold is taken, so that each row that any world needs is there.
Predicates are completed one after the other, each after those that it rests on; numbers that are new become
constants of their types.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from herbrand.budget import Budget
from herbrand.errors import HerbrandError, LanguageError, Mistake, Span, UnsupportedError
from herbrand.facts.arrays import text_array
from herbrand.facts.column import simplest_numbers
from herbrand.facts.domain import Domain
from herbrand.facts.facts import Facts
from herbrand.facts.table import FactTable
from herbrand.language.computed import (
    Definition,
    Test,
    aggregates,
    assigned,
    in_order,
    outer_variables,
    tests_of,
    variables_of,
    with_inner,
)
from herbrand.language.formulas import (
    OF_TEXTS,
    Aggregate,
    Arithmetic,
    Atom,
    Comparison,
    Constant,
    Formula,
    Not,
    ValueIn,
    ValueIs,
    Variable,
    walk,
)
from herbrand.language.formulas import (
    Expression as Value,
)
from herbrand.language.names import is_made, shown_constant, shown_name
from herbrand.language.scope import variable_types, written
from herbrand.language.show import show_expression
from herbrand.language.signature import Signature
from herbrand.language.syntax import Choice, Rule
from herbrand.program.body_rows import columns_of
from herbrand.program.clause_rows import ClauseRows, complete_rows, least_model
from herbrand.program.clauses import ORDERS
from herbrand.program.derive import FactRelations
from herbrand.program.lower_rules import goal_clause, rule_clause
from herbrand.program.strata import body_predicates
from herbrand.program.text_functions import TEXT_FUNCTIONS
from herbrand.relations.expression import Expression, Kind, cast, column, greater, lesser, literal, magnitude
from herbrand.relations.fold import count, largest, least, total
from herbrand.relations.memory import Memory
from herbrand.relations.relation import Relation


def with_computed(
    definitions: Sequence[Definition],
    statements: Sequence[Rule | Choice],
    signature: Signature,
    facts: Facts,
    budget: Budget,
) -> tuple[Facts, tuple[Rule, ...]]:
    """The facts with a table for each definition, and the numbers that these make among the constants; and
    rules in place of tables where what is counted is uncertain."""
    source = _Growing(signature, facts, budget)
    computation = Computation(definitions, statements, signature, facts, source)
    return source.grown(computation.rows()), tuple(computation.counting)


class _Growing(FactRelations):
    """Facts in memory over types that may get more constants, behind those that they have."""

    def __init__(self, signature: Signature, facts: Facts, budget: Budget) -> None:
        super().__init__(signature, facts, budget)
        self.budget = budget
        self._numbers: dict[str, Memory] = {}

    def numbers(self, type_name: str) -> Memory:
        if type_name not in self._numbers:
            self._numbers[type_name] = super().numbers(type_name)
        return self._numbers[type_name]

    def size(self, type_name: str) -> int:
        known = self._numbers.get(type_name)
        return super().size(type_name) if known is None else known.length

    def made(self) -> int:
        """How many constants the types of numbers in use have, those that were made among them."""
        return sum(known.length for known in self._numbers.values())

    def indexed(self, rows: Relation, values: str, index: str, type_name: str, new: bool) -> Relation:
        """The rows with the index of each value as a constant of this type, of ``new`` ones too, if the type
        is open."""
        known = self.numbers(type_name)
        distinct = rows.only(values).distinct().arrays()[values]
        if not known.length:
            known = Memory.of(id=np.empty(0, np.int64), value=distinct[:0])
        before = known.data["value"]
        if distinct.dtype == before.dtype:
            pass
        elif (
            distinct.dtype.kind == "f"
            and (distinct == np.floor(distinct)).all()
            and (np.abs(distinct) < 2**53).all()
        ):
            arrays = rows.arrays()
            rows = Memory.of(self._budget, **{**arrays, values: arrays[values].astype(np.int64)})
            distinct = distinct.astype(np.int64)
        elif before.dtype.kind == "i" and distinct.dtype.kind == "f":
            if (np.abs(before) > 2**53).any():
                raise UnsupportedError(f"type {type_name} would hold fractions and whole numbers beyond 2^53")
            known = known.let(value=cast(column("value"), "float"))
        elif before.dtype.kind == "f" and distinct.dtype.kind == "i":
            rows = rows.let(**{values: cast(column(values), "float")})
            distinct = distinct.astype(np.float64)
        else:
            raise UnsupportedError(f"type {type_name} would hold text and numbers")
        if new and self._signature.types[type_name].values is None:
            more = distinct[~np.isin(distinct, known.data["value"])] if len(known.data["value"]) else distinct
            if len(more):
                numbered = np.arange(known.length, known.length + len(more))
                known = known.stack(Memory.of(id=numbered, value=more))
        self._numbers[type_name] = known
        return rows.join(known.renamed(**{values: "value", index: "id"}), [values])

    def grown(self, found: Mapping[str, Relation]) -> Facts:
        """The facts over the types as they are now, each in its order, and the tables that were computed."""
        domains, moved = dict(self._facts.domains), dict[str, np.ndarray]()
        for name, known in self._numbers.items():
            if known.length > len(domains[name]):
                values = known.data["value"]
                text = values.dtype.kind == "T"
                array = text_array(values.tolist()) if text else pa.array(values)
                array = simplest_numbers(array) if values.dtype.kind == "f" else array
                domains[name] = Domain.merged(name, [array])
                moved[name] = domains[name].indices_of(array).astype(np.int64)
        tables = {
            name: table
            if is_made(name)
            else _moved(table, self._signature.predicates[name].column_types, moved)
            for name, table in self._facts.tables.items()
        }
        for name, rows in found.items():
            if is_made(name):
                true = self.table_rows(name, rows)
                empty = FactTable.empty(true.shape[1], "closed")
                tables[name] = _moved(
                    replace(empty, true=true), self._signature.predicates[name].types, moved
                )
        return replace(self._facts, domains=domains, tables=tables)


def _keeps_order(moved: np.ndarray, before: np.ndarray) -> bool:
    """Whether indices that are used are in the same order after they have moved."""
    return bool((np.diff(moved[: int(before.max(initial=-1)) + 1]) > 0).all())


def _moved(table: FactTable, types: Sequence[str], moved: Mapping[str, np.ndarray]) -> FactTable:
    """A table over types whose constants have other indices."""
    if not moved.keys() & set(types):
        return table

    def rows(before: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        found = np.empty(before.shape, before.dtype, order="F")
        for place, name in enumerate(types):
            found[:, place] = moved[name][before[:, place]] if name in moved else before[:, place]
        if not len(types) or all(
            _keeps_order(moved[x], before[:, n]) for n, x in enumerate(types) if x in moved
        ):
            return found, np.arange(len(found))
        order = np.lexsort(found.T[::-1])
        return np.asfortranarray(found[order]), order

    true, order = rows(table.true)
    false, _ = rows(table.false)
    soft, opinions = rows(table.soft)
    weights = None if table.weights is None else table.weights[order]
    return FactTable(
        true, false, soft, table.probabilities[opinions], table.log_odds[opinions], weights, table.world
    )


@dataclass(eq=False)
class Computation:
    """Completes, one after the other, the predicates that definitions rest on, and lists the definitions."""

    definitions: Sequence[Definition]
    statements: Sequence[Rule | Choice]
    signature: Signature
    facts: Facts
    source: Any
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
        self._reached = {name: self._reach(name) for name in self._needs}
        chosen = {r.head.predicate for s in self.statements if isinstance(s, Choice) for r in _rules_of(s)}
        open_ones = {name for name, table in self.facts.tables.items() if table.world == "open"}
        unsure = chosen | {name for name in open_ones if name not in self._needs}
        self._open = open_ones - self._needs.keys()
        self.uncertain = unsure | {name for name, reached in self._reached.items() if reached & unsure}
        self.counting = list[Rule]()
        self._own = self._certain(self.definitions)

    def _certain(self, definitions: Iterable[Definition]) -> dict[str, Definition]:
        """Those that have rows, and not rules that count what is uncertain."""
        found: dict[str, Definition] = {}
        for definition in definitions:
            one = definition.counting
            if one is None or not any(name in self.uncertain for name, _ in definition.aggregated()):
                found[definition.head.predicate] = definition
                continue
            self._refuse_own_count(definition)
            self.counting += [one.rule, *one.members]
            self._open.add(definition.head.predicate)
            found.update(self._certain(one.definitions))
        return found

    def _reach(self, name: str) -> set[str]:
        reached, waiting = set[str](), [name]
        while waiting:
            for other in self._needs.get(waiting.pop(), set()) - reached:
                reached.add(other)
                waiting.append(other)
        return reached

    def rows(self) -> Mapping[str, Relation]:
        """All that may hold of each definition."""
        self._refuse_cycles()
        needed = set(self._own).union(*(self._reached[name] for name in self._own)) & self._needs.keys()
        # Members of a cycle reach themselves: counting each itself puts what only reads a cycle behind it.
        # What no rule reads, formulas do: these look up constants, and so come when all have been made.
        read = set[str]().union(*self._needs.values())
        left = sorted(needed, key=lambda name: (name not in read, len(self._reached[name] | {name}), name))
        while left:
            first = left[0]
            group = [name for name in left if name == first or self._together(name, first)]
            left = [name for name in left if name not in group]
            self._complete(group)
        return self._tables

    def _together(self, one: str, other: str) -> bool:
        return one in self._reached[other] and other in self._reached[one]

    def _complete(self, group: Sequence[str]) -> None:
        """Complete what rests on each other: a definition again once there is more of what it reads, and the
        rules over what that made anew."""
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
        found = []
        for rule in self._rules:
            if rule.head.predicate == name:
                body = tuple(literal for literal in rule.body if self._counts(literal))
                clause = rule_clause(replace(rule, body=body), self.signature, self.facts)
                found += [] if clause is None else [clause]
        return found

    def _counts(self, literal: Formula) -> bool:
        """Whether a literal may be relied on: an absence of what is certain, an atom that is not free."""
        atoms = [x.atom if isinstance(x, ValueIs | ValueIn) else x for x in walk(literal)]
        names = {x.predicate for x in atoms if isinstance(x, Atom)}
        return not names & (self.uncertain if isinstance(literal, Not) else self._open)

    def _refuse_cycles(self) -> None:
        """Raise where an aggregate rests on itself or on what is uncertain, or values have no end."""
        mistakes = [
            mistake
            for name, definition in self._own.items()
            for called, one in definition.aggregated()
            if (mistake := self._wrong_aggregate(name, called, one)) is not None
        ]
        for definition in () if mistakes else self.definitions:
            name = definition.head.predicate
            types = dict(zip(_names(definition), self.signature.predicates[name].types, strict=True))
            mistakes += [
                Mistake(
                    f"this rule makes new values of {shown_name(written(made))} without end: "
                    f"{self._cycle(name, name)}",
                    definition.span,
                    "declare their type with a range, such as: type steps = 0..100; or count in whole "
                    "numbers towards a limit, such as: x > 0, y = x - 1",
                )
                for made in sorted(definition.made & types.keys())
                if name in self._reached[name]
                and self.signature.types[types[made]].values is None
                and not _has_end(made, definition)
            ]
        if mistakes:
            raise LanguageError(mistakes)

    def _wrong_aggregate(self, name: str, called: str, one: Aggregate) -> Mistake | None:
        if name in self._reached.get(called, ()):
            cycle = self._cycle(called, name)
            message = f"{shown_name(called)} depends on its own {one.function}: {cycle}"
            return Mistake(message, one.span, "an aggregate is over predicates that are complete without it")
        if called in self.uncertain:
            message = f"{one.function} is over {shown_name(called)}, which is uncertain"
            hint = (
                f"of what is uncertain only counts and sums are taken, and compared, as in "
                f"count(...) >= 2; else declare {called} observed, or --closed {called}"
            )
            return Mistake(message, one.span, hint)
        return None

    def _refuse_own_count(self, definition: Definition) -> None:
        for called, one in definition.aggregated():
            if definition.head.predicate in self._reached.get(called, ()):
                mistake = self._wrong_aggregate(definition.head.predicate, called, one)
                raise LanguageError([] if mistake is None else [mistake])

    def _cycle(self, first: str, last: str) -> str:
        """The predicates of a cycle through both, as the user named them."""
        members = [
            name
            for name in self._needs
            if not is_made(name) and last in self._reached[name] and name in {first, *self._reached[first]}
        ]
        return " -> ".join([*map(shown_name, members), *map(shown_name, members[:1])])

    def of(self, definition: Definition) -> Relation:
        """The rows of one definition, a column of indices for each argument."""
        types = variable_types([definition.head, *definition.typing.body], self.signature)
        names = _names(definition)
        context = [x for x in definition.body if self._counts(x)]
        bodies = _BodyRows(self, types, definition.span)
        try:
            rows = bodies.of(context, definition.tests, names, {})
            for name in names:
                if name in rows.values and name not in rows.indices:
                    rows = replace(
                        rows,
                        relation=self.source.indexed(
                            rows.relation,
                            rows.values[name],
                            f"i_{rows.values[name]}",
                            types[name],
                            name in definition.made,
                        ),
                        indices={**rows.indices, name: f"i_{rows.values[name]}"},
                    )
        except HerbrandError as error:
            raise _placed(error, definition) from None
        chosen = {c: column(rows.indices[n]) for c, n in zip(columns_of(len(names)), names, strict=True)}
        return rows.relation.select(**chosen).distinct()

    def clause_rows(
        self, body: Sequence[Formula], names: Sequence[str], types: Mapping[str, str]
    ) -> Relation:
        """The rows of a conjunction of atoms, a column ``a0``, ``a1``, ... for each of these variables."""
        if not body:
            rows = self.source.unit()
            for place, name in enumerate(names):
                rows = rows.join(self.source.domain(types[name]).renamed(**{f"a{place}": "id"}), [])
            return rows.only(*columns_of(len(names)))
        goal = Rule(Atom("`goal", tuple(map(Variable, names))), tuple(body))  # type: ignore[arg-type]
        clause = goal_clause(goal, self.signature, self.facts)
        missing = [name for name in names if name not in clause.types]
        clause = replace(clause, types={**clause.types, **{name: types[name] for name in missing}})
        rows = ClauseRows(self.source, partial(complete_rows, self.source, dict(self._tables)))
        return rows.of(clause, self._tables)


def _has_end(made: str, definition: Definition) -> bool:
    """Whether a value is made by whole steps towards a limit: ``x > 0, y = x - 1``. Where all rules of a
    cycle make theirs so, all values are whole steps from the first ones, within fixed limits."""
    bound = variables_of(definition.body).keys() - {made}
    for test in definition.tests:
        match assigned(test, bound):
            case name, Arithmetic(
                sign="+" | "-" as sign, operands=(Variable(name=old), Constant(value=int(step)))
            ) if name == made:
                falls = (step < 0) == (sign == "+")
                if any(_limits(part, {made, old}, falls) for part in (*definition.body, *definition.tests)):
                    return True
    return False


def _limits(part: Formula, names: Collection[str], below: bool) -> bool:
    """Whether a comparison with a constant keeps one of these variables above it, or below it."""
    if not isinstance(part, Comparison) or part.operator not in ("<", "<=", ">", ">="):
        return False
    least = (part.left, part.right) if part.operator in (">", ">=") else (part.right, part.left)
    free, limit = least if below else least[::-1]
    return isinstance(free, Variable) and free.name in names and isinstance(limit, Constant)


def _names(definition: Definition) -> list[str]:
    return [term.name for term in definition.head.arguments if isinstance(term, Variable)]


def _rules_of(statement: Rule | Choice) -> list[Rule]:
    if isinstance(statement, Rule):
        return [statement]
    heads = (a.head for a in statement.alternatives)
    named = (
        Atom(h.atom.predicate, (*h.atom.arguments, h.value)) if isinstance(h, ValueIs) else h for h in heads
    )
    return [Rule(head, statement.body, span=statement.span) for head in named]


def _placed(error: HerbrandError, definition: Definition) -> HerbrandError:
    """The error with the place of the statement that computes, which is what is wrong unless a limit is."""
    kind = LanguageError if type(error) is HerbrandError else type(error)
    return kind([replace(one, span=one.span or definition.span) for one in error.mistakes])


@dataclass(frozen=True)
class _Rows:
    """``indices``: the column of the index of a variable's constant; ``values``: that of its value."""

    relation: Relation
    indices: Mapping[str, str]
    values: Mapping[str, str]


@dataclass(eq=False)
class _BodyRows:
    """Evaluates bodies with tests, each variable in columns of its own."""

    computation: Computation
    types: Mapping[str, str]
    span: Span | None
    _made: int = 0

    def of(
        self, plain: Sequence[Formula], tests: Sequence[Test], wanted: Sequence[str], outer: Mapping[str, Any]
    ) -> _Rows:
        needed = dict.fromkeys([*wanted, *(v for t in tests for v in self._bindable(t))])
        bound = set(variables_of(list(plain)))
        assigned_ones = _assigned_by(
            tests, {v for v in needed if v in self.types and v in bound} | set(outer)
        )
        names = [name for name in needed if name in self.types and name not in assigned_ones]
        found = self.computation.clause_rows(plain, names, self.types)
        indices = {name: self._new() for name in names}
        chosen = {indices[n]: column(c) for n, c in zip(names, columns_of(len(names)), strict=True)}
        return self.tested(_Rows(found.select(**chosen), indices, {}), tests)

    def _bindable(self, test: Test) -> Iterable[str]:
        outside = set(variables_of(test))
        for one in aggregates(test):
            outside -= {n for n in variables_of(one) if "`" in n}
        return outside

    def tested(self, rows: _Rows, tests: Sequence[Test]) -> _Rows:
        for test in tests:
            given = assigned(test, {*rows.indices, *rows.values})
            if given is not None:
                name, value = given
                if isinstance(value, Variable) and value.name in rows.indices:
                    rows = replace(rows, indices={**rows.indices, name: rows.indices[value.name]})
                    continue
                rows, made = self._valued(rows, value)
                new = self._new()
                rows = replace(
                    rows, relation=rows.relation.let(**{new: made}), values={**rows.values, name: new}
                )
                continue
            rows, left = self._valued(rows, test.left)
            rows, right = self._valued(rows, test.right)
            rows = replace(rows, relation=rows.relation.where(ORDERS[test.operator](left, right)))
        return rows

    def _new(self) -> str:
        self._made += 1
        return f"c{self._made}"

    def _valued(self, rows: _Rows, value: Value) -> tuple[_Rows, Expression]:
        """A value as an expression over the rows, which may get columns for it."""
        match value:
            case Constant(value=constant):
                return rows, literal(constant)
            case Variable(name=name):
                rows = self._looked_up(rows, name)
                return rows, column(rows.values[name])
            case Aggregate():
                return self._aggregated(rows, value)
            case Arithmetic(sign=sign, operands=operands):
                parts: list[str] = []
                for operand in operands:
                    rows, part = self._valued(rows, operand)
                    new = self._new()
                    rows = replace(rows, relation=rows.relation.let(**{new: part}))
                    parts.append(new)
                kinds: list[Kind] = [rows.relation.kinds[part] for part in parts]
                if sign in OF_TEXTS:
                    return self._of_texts(rows, value, parts, kinds)
                self._refuse_kinds(value, kinds)
                if sign in ("/", "//", "%"):
                    self._refuse_zero(rows, value, parts[1])
                return rows, _computed(sign, parts, kinds)
        raise AssertionError(value)

    def _of_texts(
        self, rows: _Rows, value: Arithmetic, parts: Sequence[str], kinds: Sequence[Kind]
    ) -> tuple[_Rows, Expression]:
        """A function of texts, whose values are a column of the rows."""
        wanted = ["text", "int"] if value.sign == "prefix" else ["text"] * len(parts)
        for operand, kind, needed in zip(value.operands, kinds, wanted, strict=True):
            if kind != needed:
                is_not = "a whole number" if needed == "int" else "text"
                raise UnsupportedError(
                    f"{show_expression(_as_written(operand))} is not {is_not}, as '{value.sign}' needs",
                    span=value.span,
                )
        arrays, new = rows.relation.arrays(), self._new()
        found = TEXT_FUNCTIONS[value.sign](*(arrays[part] for part in parts))
        relation = Memory.of(self.computation.source.budget, **{**arrays, new: found})
        return replace(rows, relation=relation), column(new)

    def _looked_up(self, rows: _Rows, name: str) -> _Rows:
        """The rows with the value of a variable's constant."""
        if name in rows.values:
            return rows
        numbers, new = self.computation.source.numbers(self.types[name]), self._new()
        renamed = numbers.renamed(**{rows.indices[name]: "id", new: "value"})
        return replace(
            rows,
            relation=rows.relation.join(renamed, [rows.indices[name]]),
            values={**rows.values, name: new},
        )

    def _refuse_kinds(self, value: Arithmetic, kinds: Sequence[Kind]) -> None:
        texts = [o for o, kind in zip(value.operands, kinds, strict=True) if kind == "text"]
        dates = (value.sign == "-" and len(texts) == 2) or (value.sign in "+-" and kinds == ["text", "int"])
        if texts and value.sign not in ("min", "max") and not dates:
            raise UnsupportedError(
                f"{show_expression(_as_written(texts[0]))} is text, and '{value.sign}' is for numbers",
                span=value.span,
                hint="declare the type of numbers: type amount = number",
            )
        if texts and value.sign in ("min", "max") and len(texts) < len(kinds):
            raise UnsupportedError(f"{value.sign} of text and a number", span=value.span)

    def _refuse_zero(self, rows: _Rows, value: Arithmetic, divisor: str) -> None:
        wrong = rows.relation.where(column(divisor) == literal(0))
        if not wrong.count():
            return
        shown = []
        for name, at in rows.indices.items():
            if name in self.types and not name.startswith("`"):
                numbers = self.computation.source.numbers(self.types[name])
                one = wrong.only(at).distinct().join(numbers.renamed(**{at: "id", "found": "value"}), [at])
                values = wrong.count() == 1 and one.only("found").rows()
                if values:
                    shown.append(f"{written(name)} = {shown_constant(values[0][0])}")
        where = f" for {', '.join(shown)}" if shown else f" in {wrong.count():,} rows"
        raise UnsupportedError(
            f"division by zero{where}",
            span=value.span,
            hint=f"leave such rows out: {show_expression(_as_written(value.operands[1]))} != 0",
        )

    def _aggregated(self, rows: _Rows, one: Aggregate) -> tuple[_Rows, Expression]:
        inside = variables_of(one)
        fixed = [name for name in inside if name in rows.indices]
        carried = [name for name in inside if name in rows.values and name not in rows.indices]
        keys = [*(rows.indices[n] for n in fixed), *(rows.values[n] for n in carried)]
        keys = list(dict.fromkeys(keys))
        outer = rows.relation.only(*keys).distinct()
        plain, tests = tests_of(one.body)
        for literal_ in plain:
            if not self.computation._counts(literal_):
                raise UnsupportedError("an aggregate is over what is known", span=literal_.span)
        local = [name for name in inside if name not in fixed and name not in carried]
        bound = {*variables_of(plain), *fixed, *carried}
        outside = outer_variables([*plain, *map(Variable, [*fixed, *carried])], tests)
        tests = in_order(tests, bound, outside)
        names = [n for n in (*fixed, *local) if n in variables_of(plain)]
        found = self.computation.clause_rows(plain, names, self.types)
        indices = {n: rows.indices[n] if n in fixed else self._new() for n in names}
        found = found.select(
            **{indices[n]: column(c) for n, c in zip(names, columns_of(len(names)), strict=True)}
        )
        shared = [n for n in found.columns if n in keys]
        every = {n: rows.indices[n] for n in fixed} | indices
        inner = _Rows(outer.join(found, shared), every, {n: rows.values[n] for n in carried})
        inner = self.tested(inner, tests)
        columns = []
        for place, term in enumerate(one.terms):
            if (
                isinstance(term, Variable)
                and term.name in inner.indices
                and (place or one.function == "count")
            ):
                columns.append(column(inner.indices[term.name]))
                continue
            inner, value = self._valued(inner, term)
            columns.append(value)
        terms = {f"t{place}": value for place, value in enumerate(columns)}
        distinct = inner.relation.select(**{key: column(key) for key in keys}, **terms).distinct()
        new = self._new()
        folded = self._folded(distinct, keys, one, new)
        if one.function in ("count", "sum"):
            zero = 0.0 if folded.kinds[new] == "float" else 0
            if keys:
                return replace(rows, relation=rows.relation.left_join(folded, keys, **{new: zero})), column(
                    new
                )
            folded = (
                folded if folded.count() else self.computation.source.unit().select(**{new: literal(zero)})
            )
        return replace(rows, relation=rows.relation.join(folded, keys)), column(new)

    def _folded(self, distinct: Relation, keys: Sequence[str], one: Aggregate, new: str) -> Relation:
        first = column("t0")
        kind = distinct.kinds["t0"]
        if kind == "text" and one.function in ("sum", "avg"):
            raise UnsupportedError(
                f"{one.function} is of numbers, and {show_expression(_as_written(one.terms[0]))} is text",
                span=one.span,
                hint="declare the type of numbers: type amount = number",
            )
        if one.function == "avg":
            both = distinct.group(keys, summed=total(cast(first, "float")), many=count())
            mean = column("summed") / cast(column("many"), "float")
            return both.select(**{key: column(key) for key in keys}, **{new: mean})
        folds = {"count": count(), "sum": total(first), "min": least(first), "max": largest(first)}
        return distinct.group(keys, **{new: folds[one.function]})


def _assigned_by(tests: Sequence[Test], known: set[str]) -> set[str]:
    found: set[str] = set()
    for test in tests:
        given = assigned(test, known | found)
        if given is not None:
            found.add(given[0])
    return found


def _as_written(value: Value) -> Value:
    return Variable(written(value.name)) if isinstance(value, Variable) else value


def _computed(sign: str, parts: Sequence[str], kinds: Sequence[Kind]) -> Expression:
    """The operation over columns of these kinds; texts are dates or times."""
    first, *others = map(column, parts)
    if sign in "+-" and len(parts) == 2 and kinds[0] == "text":
        if kinds[1] == "text":
            return Expression("days", (first,)) - Expression("days", (others[0],))
        days = Expression("days", (first,))
        return Expression("date", (days + others[0] if sign == "+" else days - others[0],))
    simple: Mapping[str, Callable[..., Expression]] = {
        "+": lambda a, b: a + b,
        "-": lambda a, b: a - b,
        "*": lambda a, b: a * b,
        "/": lambda a, b: cast(a, "float") / cast(b, "float"),
        "negative": lambda a: -a,
        "abs": magnitude,
        "min": lesser,
        "max": greater,
    }
    if sign in simple:
        return simple[sign](first, *others)
    if set(kinds) == {"int"}:
        return Expression(sign, (first, others[0]))
    whole = Expression("floor", (first / others[0],))
    return whole if sign == "//" else first - whole * others[0]
