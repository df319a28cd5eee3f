"""Values over the rows of a body: arithmetic, functions and aggregates as expressions of relations.

:class:`Values` applies the tests of a body to its rows one after the other. An equation whose variable has no
value yet assigns it; all other tests filter the rows.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce

import numpy as np

from herbrand.errors import UnsupportedError
from herbrand.language.comparisons import (
    Test,
    assigned,
    equated,
    in_order,
    outer_variables,
    tests_of,
    variables_of,
    with_assigned,
)
from herbrand.language.formulas import (
    ARITHMETIC,
    OF_NUMBERS,
    OF_TEXTS,
    ORDERS,
    Aggregate,
    Arithmetic,
    Constant,
    Formula,
    Not,
    Variable,
)
from herbrand.language.formulas import Expression as Value
from herbrand.language.names import shown_constant
from herbrand.language.scope import written
from herbrand.language.show import show_expression
from herbrand.program.bindings import columns_of
from herbrand.program.growing_facts import GrowingFacts
from herbrand.program.text_functions import TEXT_FUNCTIONS, Array
from herbrand.relations.exact_order import in_exact_order
from herbrand.relations.expression import (
    MICROSECONDS,
    Expression,
    Kind,
    Kinds,
    choose,
    column,
    either,
    greater,
    kind_of,
    lesser,
    literal,
    magnitude,
)
from herbrand.relations.fold import Fold, count, largest, least, total
from herbrand.relations.memory import Memory
from herbrand.relations.relation import Relation

SMALLER = 2.0**-64
"""Factor of numbers whose sum is beyond the largest float, which no sum of a machine's rows is then."""

FIRST, LAST = -719_162, 2_932_897
"""Days from 1970 to 0001-01-01, and to the day after 9999-12-31: as texts, dates of other years would not
sort by time."""


def _of_floats(function: Callable[..., Array]) -> Callable[..., Array]:
    def of(*numbers: Array) -> Array:
        with np.errstate(all="ignore"):
            return function(*(each.astype(np.float64) for each in numbers))

    return of


def _rounded(numbers: Array) -> Array:
    """The nearest whole numbers. Those that are whole already are kept: beyond 2^53 a float has no room."""
    return numbers if numbers.dtype.kind == "i" else np.rint(numbers)


_FUNCTIONS: Mapping[str, Callable[..., Array]] = {
    **TEXT_FUNCTIONS,
    "exp": _of_floats(np.exp),
    "log": _of_floats(np.log),
    "sqrt": _of_floats(np.sqrt),
    "round": _rounded,
    "power": _of_floats(np.power),
}
BodyRows = Callable[[Sequence[Formula], Sequence[str]], Relation]
"""Computes the distinct rows of a conjunction of atoms, with columns ``a0``, ``a1``, ... for some
variables."""


@dataclass(frozen=True)
class ValuedRows:
    """Rows of a body. ``indices``: for each variable the column of its constant's index; ``values``: the
    column of its value."""

    relation: Relation
    indices: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, str] = field(default_factory=dict)

    def let(self, name: str, value: Expression) -> ValuedRows:
        """The rows with one more column."""
        return replace(self, relation=self.relation.let(**{name: value}))

    def known(self) -> set[str]:
        """Variables that have a constant or a value."""
        return {*self.indices, *self.values}


@dataclass(frozen=True, eq=False)
class Values:
    """Evaluates tests and aggregates. ``types``: types of the variables of one statement; ``body_rows`` joins
    the bodies of its aggregates."""

    source: GrowingFacts
    types: Mapping[str, str]
    body_rows: BodyRows
    _numbers: itertools.count[int] = field(default_factory=itertools.count)

    def rows(self, body: Sequence[Formula], names: Sequence[str]) -> ValuedRows:
        """Rows of a conjunction of atoms, with a column of indices for each of these variables."""
        indices = {name: self._new() for name in names}
        valued = self.body_rows(body, names)
        chosen = {indices[n]: column(c) for n, c in zip(names, columns_of(len(names)), strict=True)}
        return ValuedRows(valued.select(**chosen), indices)

    def tested(self, rows: ValuedRows, tests: Sequence[Test]) -> ValuedRows:
        """Apply the tests in order: equations assign values, other tests filter the rows."""
        for test in tests:
            given = assigned(test, rows.known())
            if given is not None:
                rows = self._assigned(rows, *given)
                continue
            rows, left = self._valued(rows, test.left)
            rows, right = self._valued(rows, test.right)
            holds = _compared(test.operator, left, right, rows.relation.kinds)
            rows = replace(rows, relation=rows.relation.where(holds))
        return rows

    def with_index(self, rows: ValuedRows, name: str, new: bool) -> ValuedRows:
        """Add the index of a variable's value as a constant of its type; see
        :meth:`~herbrand.program.growing_facts.GrowingFacts.indexed`."""
        index = self._new()
        indexed = self.source.indexed(rows.relation, rows.values[name], index, self.types[name], new)
        return replace(rows, relation=indexed, indices={**rows.indices, name: index})

    def _new(self) -> str:
        return f"c{next(self._numbers)}"

    def _assigned(self, rows: ValuedRows, name: str, value: Value) -> ValuedRows:
        if isinstance(value, Variable) and value.name in rows.indices:
            return replace(rows, indices={**rows.indices, name: rows.indices[value.name]})
        rows, result = self._valued(rows, value)
        new = self._new()
        return replace(rows.let(new, result), values={**rows.values, name: new})

    def _valued(self, rows: ValuedRows, value: Value) -> tuple[ValuedRows, Expression]:
        """The value as an expression over the rows, to which columns may be added for it."""
        match value:
            case Constant(value=constant):
                return rows, literal(constant)
            case Variable(name=name):
                rows = self._looked_up(rows, name)
                return rows, column(rows.values[name])
            case Aggregate():
                return self._aggregated(rows, value)
            case Arithmetic():
                return self._arithmetic(rows, value)
        raise AssertionError(value)

    def _looked_up(self, rows: ValuedRows, name: str) -> ValuedRows:
        """Add the column of a variable's value, looked up by its index."""
        if name in rows.values:
            return rows
        index, new = rows.indices[name], self._new()
        numbers = self.source.numbers(self.types[name]).renamed(**{index: "id", new: "value"})
        return replace(rows, relation=rows.relation.join(numbers, [index]), values={**rows.values, name: new})

    # Arithmetic

    def _arithmetic(self, rows: ValuedRows, value: Arithmetic) -> tuple[ValuedRows, Expression]:
        parts: list[str] = []
        for operand in value.operands:
            rows, part = self._valued(rows, operand)
            parts.append(self._new())
            rows = rows.let(parts[-1], part)
        kinds: list[Kind] = [rows.relation.kinds[part] for part in parts]
        if value.sign in OF_TEXTS:
            return self._of_texts(rows, value, parts, kinds)
        _refuse_kinds(value, kinds)
        if value.sign in OF_NUMBERS:
            return self._in_memory(rows, value, parts)
        if value.sign in ("/", "//", "%"):
            self._refuse_zero(rows, value, parts[1])
        if value.sign in "+-" and len(parts) == 2 and kinds[0] == "text":
            return self._moved(rows, value, parts, kinds)
        return rows, _computed(value.sign, parts, kinds)

    def _moved(
        self, rows: ValuedRows, value: Arithmetic, parts: Sequence[str], kinds: Sequence[Kind]
    ) -> tuple[ValuedRows, Expression]:
        """The time between two dates or times, in days, or a date or time moved by days."""
        texts = [part for part, kind in zip(parts, kinds, strict=True) if kind == "text"]
        # Texts longer than a date have a time of day; one such row makes all of them count in microseconds.
        hours = either(*(Expression("length", (column(text),)) > len("2026-11-22") for text in texts))
        timed = bool(rows.relation.where(hours).count())
        unit, a_day = ("microseconds", MICROSECONDS) if timed else ("days", 1)
        first, second = Expression(unit, (column(parts[0]),)), column(parts[1])
        if kinds[1] == "text":
            apart = first - Expression(unit, (second,))
            return rows, Expression("ratio", (apart, literal(a_day))) if timed else apart
        moved = first + second * a_day if value.sign == "+" else first - second * a_day
        rows = rows.let(new := self._new(), moved)
        if rows.relation.where(either(column(new) < FIRST * a_day, column(new) >= LAST * a_day)).count():
            raise UnsupportedError(
                "a date that is computed lies outside of the years 1 to 9999", span=value.span
            )
        return rows, Expression("time" if timed else "date", (column(new),))

    def _of_texts(
        self, rows: ValuedRows, value: Arithmetic, parts: Sequence[str], kinds: Sequence[Kind]
    ) -> tuple[ValuedRows, Expression]:
        """Apply a function of texts; raise UnsupportedError if an operand has the wrong kind."""
        expected = ["text", "int"] if value.sign == "prefix" else ["text"] * len(parts)
        for operand, kind, needed in zip(value.operands, kinds, expected, strict=True):
            if kind != needed:
                is_not = "a whole number" if needed == "int" else "text"
                raise UnsupportedError(
                    f"{show_expression(_as_written(operand))} is not {is_not}, as '{value.sign}' needs",
                    span=value.span,
                )
        return self._in_memory(rows, value, parts)

    def _in_memory(
        self, rows: ValuedRows, value: Arithmetic, parts: Sequence[str]
    ) -> tuple[ValuedRows, Expression]:
        """Apply a function in memory to each distinct choice of its arguments, and join the results to the
        rows, which may be in a database."""
        arrays, new = rows.relation.only(*dict.fromkeys(parts)).distinct().arrays(), self._new()
        results = _FUNCTIONS[value.sign](*(arrays[part] for part in parts))
        if results.dtype.kind == "f" and not (finite := np.isfinite(results)).all():
            first = np.flatnonzero(~finite)[0]
            of = ", ".join(shown_constant(arrays[part][first].item()) for part in parts)
            hint = f"leave such rows out before {value.sign}"
            raise UnsupportedError(f"{value.sign}({of}) is no finite number", span=value.span, hint=hint)
        every = self.source.put(Memory.of(self.source.budget, **{**arrays, new: results}))
        return replace(rows, relation=rows.relation.join(every, list(arrays))), column(new)

    def _refuse_zero(self, rows: ValuedRows, value: Arithmetic, divisor: str) -> None:
        wrong = rows.relation.where(column(divisor) == literal(0))
        if not wrong.count():
            return
        shown = []
        for name, at in rows.indices.items():
            if name in self.types and not name.startswith("`"):
                numbers = self.source.numbers(self.types[name])
                one = wrong.only(at).distinct().join(numbers.renamed(**{at: "id", "found": "value"}), [at])
                values = wrong.count() == 1 and one.only("found").rows()
                if values:
                    shown.append(f"{written(name)} = {shown_constant(values[0][0])}")
        where = f" for {', '.join(shown)}" if shown else f" in {wrong.count():,} rows"
        shown_divisor = show_expression(_as_written(value.operands[1]))
        hint = f"leave such rows out: {shown_divisor} != 0" if shown_divisor != "0" else ""
        raise UnsupportedError(f"division by zero{where}", span=value.span, hint=hint)

    # Aggregates

    def _aggregated(self, rows: ValuedRows, one: Aggregate) -> tuple[ValuedRows, Expression]:
        inside = variables_of(one)
        fixed = {name: rows.indices[name] for name in inside if name in rows.indices}
        carried = {n: rows.values[n] for n in inside if n in rows.values and n not in rows.indices}
        keys = list(dict.fromkeys([*fixed.values(), *carried.values()]))
        outer = ValuedRows(rows.relation.only(*keys).distinct(), fixed, carried)
        inner = self._inner(outer, one)
        inner, terms = self._terms(inner, one)
        tuples = inner.relation.select(**{key: column(key) for key in keys}, **terms)
        named = {term.name for term in one.terms if isinstance(term, Variable)}
        # Rows are distinct, and constants differ in their values: so tuples of all variables are distinct
        # too.
        apart = one.function in ("min", "max") or named.issuperset(inner.indices.keys() - fixed.keys())
        folded = self._folded(tuples if apart else tuples.distinct(), keys, one, new := self._new())
        if one.function not in ("count", "sum"):
            return replace(rows, relation=rows.relation.join(folded, keys)), column(new)
        zero = 0.0 if folded.kinds[new] == "float" else 0
        if not keys and not folded.count():
            folded = self.source.unit().select(**{new: literal(zero)})
        joined = rows.relation.left_join(folded, keys, **{new: zero}) if keys else rows.relation.join(folded)
        return replace(rows, relation=joined), column(new)

    def _inner(self, outer: ValuedRows, one: Aggregate) -> ValuedRows:
        """Rows that an aggregate ranges over, for each choice of the variables outside."""
        plain, tests = tests_of(one.body)
        plain, late = _late(plain, tests, outer)
        bound = variables_of(plain)
        for name in outer.values.keys() & bound.keys() - outer.indices.keys():
            outer = self.with_index(outer, name, new=False)
        tests = in_order(
            tests, {*bound, *outer.known()}, outer_variables([*plain, *map(Variable, outer.known())], tests)
        )
        # Variables that only occur behind `not` are existentially quantified there: they get no column.
        used = variables_of([*one.terms, *tests, *(x for x in plain if not isinstance(x, Not))]).keys()
        named = [n for n in variables_of(one) if n in bound and (n in used or n in outer.known())]
        inner = self.rows(plain, [name for name in named if name in self.types])
        shared = {index: outer.indices[n] for n, index in inner.indices.items() if n in outer.indices}
        relation = inner.relation.renamed(**{outside: index for index, outside in shared.items()})
        on = list(shared.values())
        if on and {*on}.issuperset(outer.relation.columns):  # the outer rows add no column: a filter suffices
            relation = relation.matching(outer.relation, on)
        else:
            relation = outer.relation.join(relation, on)
        rows = self.tested(ValuedRows(relation, {**inner.indices, **outer.indices}, outer.values), tests)
        return reduce(self._without, late, rows)

    def _without(self, rows: ValuedRows, atom: Formula) -> ValuedRows:
        """Remove the rows for which an atom holds; it cannot hold for a value that is no constant."""
        names = [name for name in variables_of(atom) if name in rows.known()]
        held = rows
        for name in names:
            if name not in held.indices:
                held = self.with_index(held, name, new=False)
        listed = self.rows([atom], names)
        shared = {held.indices[name]: index for name, index in listed.indices.items()}
        relation = held.relation.matching(listed.relation.renamed(**shared), list(shared))
        keys = [rows.indices.get(name) or rows.values[name] for name in names]
        return replace(rows, relation=rows.relation.without(relation.only(*keys), keys))

    def _terms(self, inner: ValuedRows, one: Aggregate) -> tuple[ValuedRows, dict[str, Expression]]:
        """Expressions of what is counted; for other functions the first is the value that is aggregated.
        Indices where they suffice."""
        terms: dict[str, Expression] = {}
        for place, term in enumerate(one.terms):
            index = inner.indices.get(term.name) if isinstance(term, Variable) else None
            if index is not None and (place or one.function == "count"):
                terms[f"t{place}"] = column(index)
            else:
                inner, terms[f"t{place}"] = self._valued(inner, term)
        return inner, terms

    def _folded(self, tuples: Relation, keys: Sequence[str], one: Aggregate, new: str) -> Relation:
        first = column("t0")
        if tuples.kinds["t0"] == "text" and one.function in ("sum", "avg"):
            raise UnsupportedError(
                f"{one.function} is of numbers, and {show_expression(_as_written(one.terms[0]))} is text",
                span=one.span,
                hint="declare the type of numbers: type amount = number",
            )
        if one.function == "avg":
            return _means(tuples, keys, new)
        folds: dict[str, Callable[[], Fold]] = {
            "count": count,
            "sum": lambda: total(first),
            "min": lambda: least(first),
            "max": lambda: largest(first),
        }
        return tuples.group(keys, **{new: folds[one.function]()})


def _means(tuples: Relation, keys: Sequence[str], new: str) -> Relation:
    """The mean of the first values of each group. Where a sum of floats is beyond the largest float, it is
    that of values a power of two smaller, which are as exact."""
    first, many = column("t0"), column("many")
    if tuples.kinds["t0"] != "float":
        sums = tuples.group(keys, summed=total(first), many=count())
        mean = _quotient(column("summed"), many, [sums.kinds["summed"], "int"])
    else:
        sums = tuples.group(keys, summed=total(first), smaller=total(first * SMALLER), many=count())
        is_finite = magnitude(column("summed")) <= sys.float_info.max
        mean = choose(is_finite, column("summed") / many, column("smaller") / many / SMALLER)
    return sums.select(**{key: column(key) for key in keys}, **{new: mean})


def _late(
    plain: Sequence[Formula], tests: Sequence[Test], outer: ValuedRows
) -> tuple[list[Formula], list[Formula]]:
    """The literals that are joined, and the atoms of negated literals over values from tests or outer
    rows."""
    bound = {*variables_of([x for x in plain if not isinstance(x, Not)]), *outer.indices}
    valued = with_assigned(tests, {*bound, *outer.values}) - bound
    late = [x for x in plain if isinstance(x, Not) and not valued.isdisjoint(variables_of(x))]
    return [x for x in plain if x not in late], [x.operand for x in late]


def assigned_by(tests: Sequence[Test], known: Collection[str], computed: Collection[str]) -> set[str]:
    """Variables to which tests assign values, in order: none that a test needs before, and a ``computed``
    variable only if no atom binds it. The others range over the constants of their types."""
    have, assigned_names = set(known), set[str]()
    for test in tests:
        for name, value in equated(test):
            needs = variables_of(value).keys()
            if name not in {*have, *needs} and needs & computed <= have:
                assigned_names.add(name)
                break
        have |= variables_of(test).keys()
    return assigned_names


def _as_written(value: Value) -> Value:
    return Variable(written(value.name)) if isinstance(value, Variable) else value


def _refuse_kinds(value: Arithmetic, kinds: Sequence[Kind]) -> None:
    texts = [o for o, kind in zip(value.operands, kinds, strict=True) if kind == "text"]
    dates = (value.sign == "-" and len(texts) == 2) or (value.sign in "+-" and kinds == ["text", "int"])
    if texts and value.sign not in ("min", "max") and not dates:
        raise UnsupportedError(
            f"{show_expression(_as_written(texts[0]))} is text, and '{value.sign}' is for numbers",
            span=value.span,
            hint="declare the type of numbers: type amount = number; to a date whole numbers are added",
        )
    if texts and value.sign in ("min", "max") and len(texts) < len(kinds):
        raise UnsupportedError(f"{value.sign} of text and a number", span=value.span)


def _compared(sign: str, left: Expression, right: Expression, kinds: Kinds) -> Expression:
    """The comparison, without rounding a whole number beside a fraction."""
    order = ORDERS[sign]
    match kind_of(left, kinds), kind_of(right, kinds):
        case "int", "float":
            return in_exact_order(order, left, right)
        case "float", "int":
            return in_exact_order(lambda whole, fraction: order(fraction, whole), right, left)
    return order(left, right)


def _computed(sign: str, parts: Sequence[str], kinds: Sequence[Kind]) -> Expression:
    """The operation as an expression over columns of these kinds."""
    first, *others = map(column, parts)
    simple: Mapping[str, Callable[..., Expression]] = {
        **ARITHMETIC,
        "/": lambda a, b: _quotient(a, b, kinds),
        "abs": magnitude,
        "min": lesser,
        "max": greater,
    }
    if sign in simple:
        return simple[sign](first, *others)
    if set(kinds) == {"int"}:
        return Expression(sign, (first, others[0]))
    return Expression("whole part" if sign == "//" else "rest", (first, others[0]))


def _quotient(first: Expression, second: Expression, kinds: Sequence[Kind]) -> Expression:
    return Expression("ratio", (first, second)) if set(kinds) == {"int"} else first / second
